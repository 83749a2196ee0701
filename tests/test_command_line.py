"""What ``python -m reference`` says: one line for every mistake, in both languages."""

import errno
import os
import re
import sys
from pathlib import Path

import pytest
import torch

from reference import cli_train
from reference.__main__ import main
from reference.cli_options import COMMANDS, STYLES, parse
from reference.cli_words import Words
from reference.data import decode
from reference.model import GPT, GPTConfig

SHAPE = "--n-layer 1 --n-head 2 --d-model 8 --block-size 6 --batch-size 3"
TRAIN = f"train --text text.txt --out out --steps 4 --every 2 {SHAPE}"


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("BUGHUNT_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    Path("text.txt").write_text("A token sees itself and the tokens before it. " * 20)


@pytest.fixture
def pictures():
    """Ask for the picture and the sample after each run; here they take longer than training."""


@pytest.fixture(autouse=True)
def _no_pictures(request, monkeypatch):
    if "pictures" not in request.fixturenames:
        monkeypatch.setattr(cli_train, "draw", lambda *_: "")
        monkeypatch.setattr(cli_train, "write", lambda *_: None)


@pytest.fixture
def said(capsys):
    """Run a command line; returns its exit status, what it said, and what it complained of."""

    def run(line):
        status = main(line.split(" ") if line else [])
        return status, *capsys.readouterr()

    return run


MISTAKES = [
    ("dance", "dance: no such command. There are train, sample, ledger"),
    ("train --speed 3", "--speed: not an option of train."),
    ("train text.txt", "text.txt: not an option of train."),
    ("train -steps 3", "-steps: not an option of train."),
    ("ledger --text a", "--text: not an option of ledger."),
    ("train --steps", "--steps must be a whole number, 1 or more, found ''."),
    ("train --steps=2.5", "--steps must be a whole number, 1 or more, found '2.5'."),
    ("train --steps 0", "--steps must be a whole number, 1 or more, found '0'."),
    ("train --seed -1", "--seed must be a whole number, 0 or more, found '-1'."),
    ("sample --tokens -1", "--tokens must be a whole number, 0 or more, found '-1'."),
    ("sample --top-k 0", "--top-k must be a whole number, 1 or more, found '0'."),
    ("sample --temperature -0.1", "--temperature must be a number, 0 or more, found '-0.1'."),
    ("train --lr nan", "--lr must be a number, 0 or more, found 'nan'."),
    (f"train --seed {2**63}", f"--seed must be a whole number, 0 or more, found '{2**63}'."),
    (
        f"train --text text.txt --d-model {2**40}",
        "A model of 58,028,439,341,913,417,734,684,672 par",
    ),
    ("train --lr inf", "--lr must be a number, 0 or more, found 'inf'."),
    ("train --lang fr", "--lang must be one of en, ja, found 'fr'."),
    ("train --lang", "--lang must be one of en, ja, found ''."),
    ("train --style bert", "--style must be one of gpt2, llama, found 'bert'."),
    (
        "train --d-model 30 --n-head 4",
        "--d-model 30 cannot be shared out among --n-head 4: choose a multiple of 4.",
    ),
    (
        "ledger --style llama --d-model 12 --n-head 4",
        "Rotary positions turn pairs of channels: --d-model 12 over --n-head 4 gives 3 channels",
    ),
    ("train --text gone.txt", "--text gone.txt: no such file."),
    ("train --text .", "--text .: cannot be read (Is a directory)."),
    (
        "train --text text.txt --block-size 100",
        "The text has 920 bytes; a context of 100 needs 1010 or more, a tenth of them",
    ),
    ("train --text text.txt --out text.txt", "text.txt could not be written (File exists)."),
    ("sample", "run/checkpoint.pt: no checkpoint there. Train first: python -m reference train"),
]


@pytest.mark.parametrize(("line", "complaint"), MISTAKES, ids=[line for line, _ in MISTAKES])
def test_a_mistake_is_told_in_one_line(said, line, complaint):
    """Exit status 2, nothing on standard output, no traceback; Japanese has the same numbers."""
    status, out, err = said(line)
    assert (status, out) == (2, "")
    assert err.startswith(complaint)
    assert err.count("\n") == 1
    if "--lang" not in line:
        _, _, japanese = said(f"{line} --lang ja")
        assert japanese.count("\n") == 1
        assert re.search(r"[ぁ-ん]", japanese)
        assert re.findall(r"\d+", japanese) == re.findall(r"\d+", err)


def test_the_shortest_text_that_is_long_enough(said):
    """Ten windows of 92 bytes: the validation tenth holds exactly one."""
    status, _, _ = said(f"{TRAIN} --block-size 91 --steps 1")
    assert status == 0
    status, _, err = said(f"{TRAIN} --block-size 92 --out other")
    assert (status, "needs 930 or more" in err) == (2, True)


def test_the_checkpoint_of_another_config_is_named(said):
    assert said(TRAIN)[0] == 0
    status, _, err = said(f"{TRAIN} --d-model 16 --n-layer 2 --lr 0.5")
    assert status == 2
    assert "out/checkpoint.pt is the checkpoint of another run or config" in err
    assert "n_layer 1 -> 2, d_model 8 -> 16, lr 0.001 -> 0.5. Repeat its options" in err
    Path("text.txt").write_text("Something else. " * 60)
    status, _, err = said(TRAIN)
    assert (status, "text " in err) == (2, True)


@pytest.mark.parametrize("contents", [b"", b"not a checkpoint", None])
@pytest.mark.parametrize("command", [TRAIN, "sample --out out"])
def test_a_damaged_checkpoint_is_named(said, command, contents):
    assert said(TRAIN)[0] == 0
    path = Path("out/checkpoint.pt")
    path.write_bytes(path.read_bytes()[:-200] if contents is None else contents)
    status, out, err = said(command)
    assert (status, out) == (2, "")
    assert err.startswith("out/checkpoint.pt cannot be read as a checkpoint")
    assert said(f"{TRAIN} --fresh")[0] == 0


def test_a_checkpoint_of_something_else_is_named(said):
    for state in ({"weights": 1}, {"config": {"depth": 3}, "model": {}, "step": 1}):
        Path("out").mkdir(exist_ok=True)
        torch.save(state, "out/checkpoint.pt")
        status, _, err = said("sample --out out")
        assert (status, err[:17]) == (2, "out/checkpoint.pt")


@pytest.mark.parametrize("file", ["losses.csv", "settings.json"])
@pytest.mark.parametrize("contents", [None, "", "nonsense", "[1, 2]"])
def test_a_damaged_record_is_named(said, file, contents):
    assert said(TRAIN)[0] == 0
    path = Path("out", file)
    if contents is None:
        path.unlink()
    else:
        path.write_text(contents)
    status, out, err = said(TRAIN)
    assert (status, out) == (2, "")
    assert err.startswith(f"out/{file} is missing or damaged, so the run in out cannot go on")


@pytest.mark.parametrize(
    ("number", "start"),
    [
        (errno.ENOSPC, "The disk is full: out could not be written. What was saved before is"),
        (errno.EROFS, "out could not be written (Read-only file system). What was saved before"),
    ],
)
def test_a_disk_that_refuses_is_told_and_nothing_is_lost(said, monkeypatch, number, start):
    """The second save fails: the first stays, and the run goes on from it once there is room."""
    assert said(f"{TRAIN} --out whole")[0] == 0
    assert said(f"{TRAIN} --steps 2")[0] == 0
    saved = Path("out/checkpoint.pt").read_bytes()

    def refuse(*_):
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as broken:
        broken.setattr(Path, "write_bytes", refuse)
        status, _, err = said(TRAIN)
    assert status == 2
    assert err.startswith(start)
    assert err.count("\n") == 1
    assert Path("out/checkpoint.pt").read_bytes() == saved
    assert said(TRAIN)[0] == 0
    assert Path("out/losses.csv").read_bytes() == Path("whole/losses.csv").read_bytes()


def test_a_run_tells_what_it_does(said, pictures):
    status, out, err = said(TRAIN)
    assert (status, err) == (0, "")
    lines = out.splitlines()
    model = GPT(GPTConfig(256, 6, 1, 2, 8))
    count = sum(p.numel() for p in model.parameters())
    assert lines.pop(0) == f"A GPT of {count:,} parameters learns from 828 bytes of text."
    assert lines.pop(0) == "The run is kept in out; Ctrl-C saves and stops."
    assert re.fullmatch(r"step      2   loss \d\.\d{3}   validation \d\.\d{3}", lines[0])
    assert lines[1].startswith("step      4 ")
    assert lines[2] == "Done. The run is in out; the same command with more --steps goes on."
    assert lines[3] == "The loss curve is in out/losses.png."
    assert lines[4] == "What it writes by now:"
    assert Path("out/.gitignore").read_text() == "*\n"
    assert Path("out/losses.png").read_bytes().startswith(b"\x89PNG")


def test_a_run_without_matplotlib_says_how_to_get_the_picture(said, pictures, monkeypatch):
    monkeypatch.delitem(sys.modules, "reference.plotting", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    status, out, _ = said(TRAIN)
    assert status == 0
    assert "No picture: matplotlib is not installed. The losses are in out/losses.csv;" in out


def test_the_default_text_needs_no_file(said):
    status, out, _ = said(f"train --out out --steps 1 {SHAPE}")
    assert (status, "A GPT of " in out) == (0, True)


@pytest.mark.parametrize("style", STYLES)
def test_a_trained_model_writes(said, style):
    """The prompt and then as many bytes as asked; the same seed writes the same."""
    assert said(f"{TRAIN} --style {style}")[0] == 0
    line = "sample --out out --prompt def --tokens 5"
    first, again, other = said(line), said(line), said(f"{line} --seed 1 --temperature 9")
    assert first == again
    assert (first[0], first[1][:3], first[2]) == (0, "def", "")
    assert other[1] != first[1]
    greedy = [said(f"{line} --temperature 0 --seed {seed}")[1] for seed in (0, 1)]
    assert greedy[0] == greedy[1] == said(f"{line} --top-k 1")[1]
    assert said("sample --out out --prompt def --tokens 0")[1] == "def\n"


def test_a_run_that_diverged_writes_nothing(said):
    assert said(f"{TRAIN} --lr 1e15")[0] == 0
    status, out, err = said("sample --out out")
    assert (status, out) == (2, "")
    assert err.startswith("No token can be drawn: the model's numbers are not finite.")


def test_signs_that_steer_the_terminal_are_not_printed(said, monkeypatch):
    monkeypatch.setattr("reference.cli_sample.decode", lambda tokens: decode(tokens) + "\x1b[2Jend")
    assert said(TRAIN)[0] == 0
    assert said("sample --out out --prompt a --tokens 0")[1] == "a[2Jend\n"


def test_the_ledger_of_the_lessons(said):
    """Every account of both lessons stands in the output, in either language."""
    for line in ("ledger", "ledger --lang ja"):
        status, out, err = said(line)
        assert (status, err) == (0, "")
        for number in (
            *("32,768", "33,088", "32,832", "49,152", "2,362,368", "4,722,432", "7,087,872"),
            *("85,054,464", "38,597,376", "786,432", "124,439,808", "14,155,776", "3,145,728"),
            *("17,301,504", "54.5%", "66.7%", "576", "624", "12,416", "24,832", "3,712"),
            *("28,608", "3,200", "1,048,576", "524,288"),
        ):
            assert number in out, number
        assert max(len(row) for row in out.splitlines()) <= 80


def test_the_ledger_of_one_model(said):
    status, out, _ = said("ledger --vocab-size 100 --block-size 16 --n-layer 2 --d-model 32")
    assert (status, "28,608" in out, "T = 16" in out, "GPT-2" in out) == (0, True, True, False)


@pytest.mark.parametrize("lang", ["en", "ja"])
@pytest.mark.parametrize("command", COMMANDS)
def test_help_names_every_option(said, command, lang):
    for line in (f"{command} --help --lang {lang}", f"{command} -h --lang={lang}"):
        status, out, _ = said(line)
        assert status == 0
        listed = set(re.findall(r"--[a-z-]+", out)) - {"--lang"}
        assert listed == {f"--{name.replace('_', '-')}" for name in COMMANDS[command]}
        assert len(out.splitlines()) <= 30


def test_help_is_what_no_command_says(said):
    assert said("")[:2] == said("--help")[:2] == said("-h")[:2]
    assert all(command in said("")[1] for command in COMMANDS)


def test_help_tells_the_defaults():
    for command, options in COMMANDS.items():
        text = Words("en")(f"help.{command}")
        for name in ("steps", "batch_size", "lr", "every", "tokens", "temperature", "vocab_size"):
            if name in options:
                assert f"default: {options[name]}" in text.split(f"--{name.replace('_', '-')} ")[1]


def test_options_are_read_with_their_types():
    read = parse("train", ["--lr=0.5", "--steps", "3", "--text=a=b", "--fresh"])
    assert (read.lr, read.steps, read.text, read.fresh) == (0.5, 3, "a=b", True)
    assert (read.batch_size, read.given) == (16, {"lr", "steps", "text", "fresh"})
