"""A run that is stopped, killed or continued ends as if nothing had happened, bit for bit."""

import math
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from reference import cli_train, training
from reference.__main__ import main
from reference.cli_run import read_checkpoint
from reference.data import default_text, encode, train_val_split
from reference.loss import next_token_loss
from reference.model import GPT, GPTConfig

SHAPE = "--n-layer 1 --n-head 2 --d-model 8 --block-size 6 --batch-size 3"
ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BUGHUNT_LANG", "en")
    Path("text.txt").write_text("A token sees itself and the tokens before it. " * 20)
    # the picture and the sample come after the run and take longer than it
    monkeypatch.setattr(cli_train, "draw", lambda *_: "(picture)")
    monkeypatch.setattr(cli_train, "write", lambda *_: None)


def command(out, steps=7, every=3, more=""):
    line = f"train --text text.txt --out {out} --steps {steps} --every {every} {SHAPE} {more}"
    return line.split()


def same(left, right):
    """Both runs: the same losses, byte for byte, and the same weights, bit for bit."""
    losses = [Path(run, "losses.csv").read_bytes() for run in (left, right)]
    weights = [read_checkpoint(Path(run, "checkpoint.pt"))["model"] for run in (left, right)]
    equal = [torch.equal(weights[0][name], weights[1][name]) for name in weights[0]]
    return losses[0] == losses[1] and all(equal)


def killed_at(event, arguments, folder):
    """Run in a child that is killed at its ``event``-th file operation there; False if it ends."""
    child = os.fork()
    if child == 0:
        count = 0

        def hook(name, details):
            nonlocal count
            if name in ("open", "os.rename", "os.remove") and folder in str(details[0]):
                count += 1
                if count == event:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(hook)
        status = 70
        try:
            status = main(arguments)
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status)


def test_a_run_killed_at_any_file_operation_resumes_as_if_never_killed():
    """SIGKILL before each file is opened, moved or removed: every state of the disk is met."""
    assert main(command("whole")) == 0
    for event in range(1, 200):
        out = f"killed{event}"
        killed = killed_at(event, command(out), out)
        if not killed:
            break
        assert main(command(out)) == 0
        assert same("whole", out), f"killed at file operation {event}"
    assert event > 20  # seven lines of losses and three checkpoints alone need as many


def test_a_run_killed_from_outside_resumes_as_if_never_killed():
    """As a person would: kill -9 on the process, then the same command again."""
    assert main(command("whole", steps=40, every=10)) == 0
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    line = [sys.executable, "-m", "reference", *command("out", steps=40, every=10)]
    process = subprocess.Popen(line, env=environment, stdout=subprocess.PIPE, text=True)
    for said in process.stdout:
        if said.startswith("step     20"):
            process.kill()
    process.stdout.close()
    assert process.wait() in (-signal.SIGKILL, 0)  # 0: it was quicker than the kill
    again = subprocess.run(line, env=environment, capture_output=True, text=True, check=True)
    assert "after step" in again.stdout
    assert same("whole", "out")


def interrupt_at(monkeypatch, call, times):
    """Press Ctrl-C ``times`` times in the middle of the ``call``-th step."""
    real, calls = training.train_step, []

    def step(*arguments):
        calls.append(None)
        if len(calls) == call:
            for _ in range(times):
                signal.raise_signal(signal.SIGINT)
        return real(*arguments)

    monkeypatch.setattr(training, "train_step", step)


def test_ctrl_c_ends_the_step_saves_and_can_go_on(monkeypatch, capsys):
    assert main(command("whole")) == 0
    before = signal.getsignal(signal.SIGINT)
    interrupt_at(monkeypatch, call=5, times=1)
    assert main(command("out")) == 130
    assert signal.getsignal(signal.SIGINT) is before
    assert read_checkpoint(Path("out/checkpoint.pt"))["step"] == 5
    said = capsys.readouterr().out
    assert "Stopped and saved in out." in said
    assert said.endswith("(picture)\n")
    assert main(command("out")) == 0
    assert "after step 5" in capsys.readouterr().out
    assert same("whole", "out")


def test_a_second_ctrl_c_does_not_wait(monkeypatch, capsys):
    assert main(command("whole")) == 0
    interrupt_at(monkeypatch, call=5, times=2)
    assert main(command("out")) == 130
    assert capsys.readouterr().err == "Stopped at once. What was saved before is intact.\n"
    assert read_checkpoint(Path("out/checkpoint.pt"))["step"] == 3
    assert main(command("out")) == 0
    assert same("whole", "out")


def test_more_steps_continue_the_same_curve():
    """The rate is constant, so 7 steps and then 4 more are 11 steps."""
    assert main(command("whole", steps=11)) == 0
    assert main(command("out", steps=6)) == 0
    assert main(command("out", steps=11)) == 0
    assert same("whole", "out")


def test_what_was_written_after_the_checkpoint_is_done_again():
    """Even half a line of the step during which the kill came."""
    assert main(command("whole")) == 0
    assert main(command("out", steps=6)) == 0
    with Path("out/losses.csv").open("a") as file:
        file.write("7,2.25,\n8,2.1")
    assert main(command("out")) == 0
    assert same("whole", "out")


def test_fresh_starts_again(capsys):
    assert main(command("whole")) == 0
    assert main(command("out", more="--seed 5")) == 0
    assert not same("whole", "out")
    assert main(command("out", more="--fresh")) == 0
    assert same("whole", "out")
    assert "after step" not in capsys.readouterr().out


def test_a_finished_run_says_so_and_stays():
    assert main(command("whole")) == 0
    before = Path("whole/losses.csv").read_bytes()
    assert main(command("whole")) == 0
    assert Path("whole/losses.csv").read_bytes() == before


def test_the_losses_are_those_of_every_step():
    """One line a step, the first near ln 256, validation every third step and at the last."""
    assert main(command("out", steps=7)) == 0
    header, *lines = Path("out/losses.csv").read_text().splitlines()
    rows = [line.split(",") for line in lines]
    assert header == "step,training,validation"
    assert [row[0] for row in rows] == ["1", "2", "3", "4", "5", "6", "7"]
    assert [row[0] for row in rows if row[2]] == ["3", "6", "7"]
    assert abs(float(rows[0][1]) - math.log(256)) < 0.1  # std 0.02 leaves about 0.01


def test_training_and_validation_share_no_token():
    data = np.arange(1000)
    parts = train_val_split(data)
    assert [len(part) for part in parts] == [900, 100]
    assert np.array_equal(np.concatenate(parts), data)


def test_windows_are_spread_over_all_of_the_validation_text():
    data = np.arange(101)
    x, y = cli_train.windows(data, 10)
    assert x.shape == y.shape == (10, 10)
    assert torch.equal(y, x + 1)
    assert (x[0, 0], y[-1, -1]) == (0, 100)
    assert x.diff(dim=0).unique().tolist() == [10]
    x, y = cli_train.windows(np.arange(20_000), 10)
    assert (len(x), y[-1, -1]) == (1024, 19_999)


def test_the_validation_loss_is_the_mean_over_all_windows():
    """In eval mode, without random numbers; the model is left in training."""
    torch.manual_seed(0)
    model = GPT(GPTConfig(256, 6, 1, 2, 8, dropout=0.5)).train()
    x, y = pair = cli_train.windows(np.arange(600) % 256, 6)
    state = torch.get_rng_state()
    found = cli_train.validation_loss(model, pair)
    assert model.training
    assert torch.equal(torch.get_rng_state(), state)
    want = next_token_loss(model.eval()(x), y).item()
    assert math.isclose(found, want, rel_tol=1e-6)  # float32, summed in another order


def test_the_unigram_entropy_is_that_of_the_byte_frequencies():
    assert cli_train.unigram_entropy(encode("abab")) == pytest.approx(math.log(2))
    assert cli_train.unigram_entropy(encode("aaaa")) == 0
    assert 3.0 < cli_train.unigram_entropy(encode(default_text())) < 3.5


def run(tmp_path, steps, **more):
    torch.manual_seed(3)
    model = GPT(GPTConfig(11, 6, 1, 2, 8, dropout=0.2))
    path = tmp_path / "checkpoint.pt"
    data = np.arange(200) % 11
    knobs = {"steps": steps, "batch_size": 2, "decay_steps": 9, "warmup": 2, "checkpoint": path}
    return model, training.train(model, data, **knobs | more)


def test_the_optimizer_takes_the_step_in_one_pass():
    """On a CPU, torch's AdamW needs three times as long without it."""
    model = GPT(GPTConfig(11, 6, 1, 2, 8))
    optimizer = training.configure_optimizer(model, 1e-3, 0.1, (0.9, 0.95))
    assert all(group["fused"] for group in optimizer.param_groups)


def test_train_goes_on_from_its_checkpoint_bit_for_bit(tmp_path):
    """With dropout, warm-up, decay and accumulation: every source of difference is in the file."""
    model, losses = run(tmp_path, 9, accumulation=2, checkpoint=None)
    _, first = run(tmp_path, 9, accumulation=2, after_step=lambda step, loss: step == 4)
    assert (len(losses), len(first)) == (9, 4)
    again, rest = run(tmp_path, 9, accumulation=2)
    assert first + rest == losses
    for name, parameter in model.named_parameters():
        assert torch.equal(parameter, again.get_parameter(name)), name


def test_train_saves_when_due_at_the_end_and_when_asked_to_stop(tmp_path, monkeypatch):
    saved = []
    monkeypatch.setattr(training, "save_checkpoint", lambda *state: saved.append(state[3]))
    run(tmp_path, 7, checkpoint_every=3)
    assert saved == [3, 6, 7]
    saved.clear()
    run(tmp_path, 7, checkpoint_every=3, after_step=lambda step, loss: step == 4)
    assert saved == [3, 4]
    saved.clear()
    run(tmp_path, 7, checkpoint_every=1, checkpoint=None)
    assert saved == []


def test_train_follows_the_schedule_clips_and_trains(tmp_path, monkeypatch):
    """The rate of step i is learning_rate(i - 1); every step sees its batches in training mode."""
    seen = []
    real = training.train_step

    def step(model, optimizer, pairs, max_norm):
        rates = {group["lr"] for group in optimizer.param_groups}
        seen.append((rates, len(pairs), max_norm, model.training))
        return real(model, optimizer, pairs, max_norm)

    monkeypatch.setattr(training, "train_step", step)
    run(tmp_path, 5, accumulation=3, max_norm=0.5, max_lr=0.1, min_lr=0.01)
    knobs = {"warmup": 2, "decay_steps": 9, "max_lr": 0.1, "min_lr": 0.01}
    rates = [training.learning_rate(i, **knobs) for i in range(5)]
    assert seen == [({rate}, 3, 0.5, True) for rate in rates]
