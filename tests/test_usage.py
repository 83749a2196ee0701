"""Every command line: help and usage errors in both languages, the language wherever it stands."""

import importlib
import re
import tomllib
import unicodedata

import pytest

from tests.rules.usage import ERRORS, SENTENCES
from tests.rules.words import LANGUAGES

TOOLS = ("challenges", "buggy", "tests.rules", "tests.mutation")
COMMANDS = {
    "challenges": [
        "status",
        "start",
        "hint",
        "give-up",
        "reset",
        "reveal",
        "watch",
        "plot",
        "build",
    ],
    "buggy": ["list", "show", "measure", "check", "new", "matrix"],
    "tests.rules": [],
    "tests.mutation": [],
}
PAGES = [(tool, *command) for tool in TOOLS for command in ((), *((c,) for c in COMMANDS[tool]))]
FILE = tomllib.loads(SENTENCES.read_text(encoding="utf-8"))


def run(capsys, tool, *arguments):
    """(exit status, standard output, standard error) of one command line."""
    main = importlib.import_module(f"{tool}.__main__").main
    try:
        status = main(list(arguments))
    except SystemExit as end:
        status = end.code or 0
    return (status, *capsys.readouterr())


def width(text):
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def test_every_sentence_stands_in_both_languages():
    for section, items in FILE.items():
        for name, both in items.items():
            assert list(both) == list(LANGUAGES), f"{section}.{name}"
            holes = [sorted(re.findall(r"\{(\w+)\}", both[lang])) for lang in LANGUAGES]
            assert holes[0] == holes[1], f"{section}.{name}"
            assert "%" not in both["en"] + both["ja"], "argparse would fill it in"


@pytest.mark.parametrize("page", PAGES, ids=" ".join)
def test_help_is_in_the_chosen_language_and_fits_80_columns(page, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    pages = {lang: run(capsys, *page, "--help", "--lang", lang) for lang in LANGUAGES}
    for status, out, err in pages.values():
        assert (status, err) == (0, "")
        assert max(map(width, out.splitlines())) <= 80
    words = FILE["usage"]
    for key in ("usage", "help", "lang", "options"):
        assert words[key]["en"] in pages["en"][1]
        assert words[key]["ja"] in pages["ja"][1]
        assert words[key]["en"] not in pages["ja"][1]
    options = r"^  (-[-\w]+(?:,| |$).*)$"
    shown = [re.findall(options, pages[lang][1], re.M) for lang in LANGUAGES]
    assert len(shown[0]) == len(shown[1]) >= 2
    for line in shown[1]:
        assert re.search("[ぁ-んァ-ヶ一-龠]", line), f"no Japanese: {line}"


def test_no_sentence_of_the_file_is_left_over(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    said = "\n".join(run(capsys, *page, "--help", "--lang", "ja")[1] for page in PAGES)
    for section, items in FILE.items():
        for name, both in items.items():
            assert name in ERRORS or name == "more" or both["ja"] in said, f"{section}.{name}"


WRONG = [
    ("unknown", ("buggy", "list", "--wat"), "--wat"),
    ("missing", ("challenges", "start"), "NAME"),
    ("missing", ("buggy",), "COMMAND"),
    ("choice", ("challenges", "nope"), "found nope"),
    ("choice", ("buggy", "list", "--difficulty", "9"), "1, 2, 3"),
    ("value", ("tests.mutation", "--out"), "--out"),
    ("whole", ("challenges", "start", "day43", "--seed", "x"), "found x"),
    ("number", ("tests.rules", "--limit", "soon"), "found soon"),
    ("positive", ("tests.rules", "--examples", "0"), "found 0"),
]


def test_every_kind_of_error_is_among_the_wrong_lines():
    assert {key for key, _, _ in WRONG} == set(ERRORS)


@pytest.mark.parametrize(("key", "line", "told"), WRONG, ids=lambda x: str(x)[:40])
def test_a_wrong_line_gets_one_sentence_and_the_help_in_either_language(key, line, told, capsys):
    status, out, err = run(capsys, *line, "--lang", "en")
    assert (status, out) == (2, "")
    sentence, help_line = err.splitlines()
    assert told in sentence
    assert help_line.startswith("The help: python -m ")
    start = re.escape(FILE["usage"][key]["ja"]).replace(r"\{", "{").replace(r"\}", "}")
    status, _, err = run(capsys, *line, "--lang", "ja")
    assert status == 2
    assert re.fullmatch(re.sub(r"\{\w+\}", ".+", start), err.splitlines()[0])


@pytest.mark.parametrize("given", [("--lang", "fr"), ("--lang",), ("--lang=de",)])
@pytest.mark.parametrize("tool", TOOLS)
def test_a_language_that_we_do_not_speak_is_refused(tool, given, capsys):
    status, out, err = run(capsys, tool, *given)
    assert (status, out) == (2, "")
    assert "--lang" in err
    assert len(err.splitlines()) == 1


def test_the_language_may_stand_before_or_after_the_command(capsys):
    before = run(capsys, "challenges", "--lang", "ja", "status")
    after = run(capsys, "challenges", "status", "--lang", "ja")
    assert before == after
    assert "今週" in before[1]
    for place in (("--lang", "ja", "list", "--day", "43"), ("list", "--day", "43", "--lang=ja")):
        status, out, _ = run(capsys, "buggy", *place)
        assert status == 0
        assert re.search("[ぁ-ん]", out)
