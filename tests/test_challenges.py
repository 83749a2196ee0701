"""The exercise from a learner's seat: typed commands in a clone, screens read as a person would."""

import json
from xml.etree import ElementTree

import pytest

from buggy.overlay import REFERENCE
from challenges import desk, rulebook, words
from tests.scripted import Learner, answers_text, own_challenge, plain, sheet

ALL_RIGHT = sheet(
    A=(43, ["attention_nearly_uniform"], 5),
    B=(44, ["nan_on_first_forward"], 5),
    C=(46, ["early_layers_starved_of_gradient"], 3),
    D=(49, ["loss_falls_below_the_data_floor"], 2),
)
CLOSING = {
    "nan_faults": "B",
    "nan_reason": "row_without_keys",
    "collapse_faults": ["D"],
    "first_loss": "ln(100)",
}
FIXES = {
    "A": ("attention", "/ (q.size(-1) * q.size(1))", "/ q.size(-1) ** 0.5"),
    "B": ("attention", "diagonal=0", "diagonal=1"),
    "C": ("block", "x = self.ln_1(x + self.attn(x))", "x = x + self.attn(self.ln_1(x))"),
    "D": ("data", "return chunk[:-1], chunk[:-1]", "return chunk[:-1], chunk[1:]"),
}


@pytest.fixture
def learner(tmp_path):
    """A learner whose folder has spaces and characters beyond ASCII in its name."""
    return Learner(tmp_path / "小さな GPT clone")


@pytest.fixture
def started(learner):
    assert learner.pytest().returncode == 1
    return learner


def lines(text):
    return plain(text).rstrip("\n").split("\n")


def calm(done):
    """At most 30 lines, none wider than 80 columns unless it is a path, and no traceback."""
    assert len(lines(done.stdout)) <= 30, done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    assert done.stderr == ""


# The first run


def test_the_first_run_hands_out_the_work_and_tells_the_four_steps(learner):
    done = learner.pytest()
    calm(done)
    assert done.returncode == 1
    for text in ("READ", "PREDICT", "FIX", "CHECK", "you are here", "day49/work/attention.py"):
        assert text in done.stdout.replace("work/ ", "work/attention.py "), text
    assert f"{len(rulebook.ids())} rules will judge" in done.stdout
    names = {path.name for path in learner.work().iterdir()}
    handed_out = {"attention.py", "block.py", "data.py"}
    assert names == handed_out | {"predictions.toml", "answers.toml", "ledger.jsonl"}
    text = "".join((learner.work() / name).read_text(encoding="utf-8") for name in handed_out)
    assert [text.count(f"# ({letter})") for letter in "ABCD"] == [1, 1, 1, 1]


@pytest.mark.parametrize("lang", ["en", "ja"])
def test_the_readme_shows_the_screen_as_it_is(learner, lang):
    name = "README.md" if lang == "en" else "README.ja.md"
    assert learner.pytest("--lang", lang).stdout in (REFERENCE.parent / name).read_text(
        encoding="utf-8"
    )


def test_words_that_select_nothing_are_told(started):
    done = started.pytest("-k", "moonlight")
    assert done.returncode == 1
    assert done.stdout == "-k moonlight selects none of the rules. Without -k all of them judge.\n"


def test_a_file_of_a_challenge_means_the_challenge(started):
    """As an editor runs the file that is open."""
    screen = started.pytest().stdout
    for path in ("challenges/day49/work/attention.py", "challenges/day49/work"):
        assert started.type("pytest", path).stdout == screen


def test_the_first_run_does_not_import_torch(learner):
    code = (  # twice, as from a notebook's kernel
        "import sys, pytest; pytest.main(['challenges/day49']);"
        "status = pytest.main(['challenges/day49']);"
        "sys.exit('torch' if 'torch' in sys.modules else int(status))"
    )
    script = learner.root / "typed.py"
    script.write_text(code, encoding="utf-8")
    done = learner.type("typed")
    assert done.returncode == 1
    assert done.stderr == ""
    assert "Nothing has run yet" in done.stdout


def test_nothing_runs_before_the_sheet_is_complete(started):
    (started.work() / "attention.py").write_text("print('ran'); 1 / 0", encoding="utf-8")
    started.predict(ALL_RIGHT.replace("confidence = 3", "confidence = 0"))
    done = started.pytest()
    calm(done)
    assert done.returncode == 1
    assert "(C) confidence" in " ".join(done.stdout.split())
    assert "(A)" not in done.stdout
    assert [entry["kind"] for entry in started.ledger()] == ["start"]


def test_the_other_language_starts_from_the_first_screen(started):
    """The first screen names the command for it; the untouched sheets are given in it, too."""
    japanese = started.pytest("--lang", "ja")
    calm(japanese)
    assert "day49/README.ja.md" in japanese.stdout
    for name, word in ("predictions.toml", "症状"), ("answers.toml", "損失"):
        assert word in (started.work() / name).read_text(encoding="utf-8")
    assert [entry["kind"] for entry in started.ledger()] == ["start"]
    assert "まだ何も動かしていません" in started.pytest("--lang", "ja").stdout


def test_both_languages_tell_the_same_screen(started):
    started.predict(ALL_RIGHT.replace("confidence = 3", "confidence = 0"))
    english, japanese = started.pytest(), started.pytest("--lang", "ja")
    assert "まだ何も動かしていません" in japanese.stdout
    assert len(lines(english.stdout)) == len(lines(japanese.stdout))
    assert "まだ何も動かしていません" in started.pytest(BUGHUNT_LANG="ja").stdout


# The loop


def test_a_learner_goes_from_wrong_predictions_to_acceptance(started):
    learner = started
    learner.predict(ALL_RIGHT.replace("nan_on_first_forward", "loss_stuck_at_ln_v"))
    learner.answer(**CLOSING | {"first_loss": "2"})
    first = learner.pytest("-k", "next_tokens or exactly_the_future")
    calm(first)
    assert first.returncode == 1
    for text in ("+ nan_on_first_forward", "- loss_stuck_at_ln_v", "(A) = attention_nearly"):
        assert text in first.stdout
    assert "that is log10(100)" in first.stdout
    assert "attempt 1, check 1" in first.stdout

    learner.predict(ALL_RIGHT)  # a revision: the first sheet still counts
    learner.answer(**CLOSING)
    for letter in "DBA":
        learner.edit(*FIXES[letter])
    second = learner.pytest()
    calm(second)
    assert second.returncode == 1
    assert "the residual path is the identity" in second.stdout
    assert "(C) early_layers_starved_of_gradient" in second.stdout

    learner.edit(*FIXES["C"])
    third = learner.pytest()
    calm(third)
    assert third.returncode == 0
    assert "ACCEPTED" in third.stdout
    assert f"All {len(rulebook.ids())} rules hold." in third.stdout
    assert "at 5, 1 of 2" in third.stdout  # (A) was foreseen; (B) was sealed wrong
    kinds = [entry["kind"] for entry in learner.ledger()]
    assert kinds == ["start", "seal", "check", "scored", "seal", "check", "check"]

    reveal = learner.command("reveal", "day49")
    assert "https://github.com/" in reveal.stdout
    assert "+    scores = q @ k.mT / q.size(-1) ** 0.5" in reveal.stdout
    status = learner.command()
    calm(status)
    assert "ACCEPTED" in status.stdout


@pytest.mark.slow
def test_an_acceptance_without_predictions_says_so(started):
    for letter in "ABCD":
        started.edit(*FIXES[letter])
    done = started.pytest("--no-predictions")
    calm(done)
    assert done.returncode == 0
    assert "without predictions" in done.stdout
    assert [entry["kind"] for entry in started.ledger()] == ["start", "check"]


# Ways to run it


def test_every_way_of_running_pytest_reaches_the_exercise(started):
    alone = started.pytest().stdout
    for more in (["-q"], ["-x"], ["-v"], ["-p", "no:cacheprovider"]):
        done = started.pytest(*more)
        assert done.stdout == alone, more
        assert done.returncode == 1
    inside = started.type("pytest", cwd=started.folder())
    assert inside.returncode == 1
    assert "challenges/" not in inside.stdout.split("\n\n")[2]  # paths as typed from here
    outside = started.type("pytest", str(started.folder()), cwd=started.root.parent)
    assert outside.returncode == 1
    assert "小さな GPT clone/challenges/day49/work/predictions.toml" in outside.stdout


def test_a_run_of_everything_leaves_the_exercises_alone(started):
    (started.root / "test_other.py").write_text("def test_other():\n    pass\n", encoding="utf-8")
    done = started.type("pytest", ".", "-q")
    assert done.returncode == 0
    assert "1 passed" in done.stdout


def test_xdist_judges_once_and_says_so(started):
    done = started.pytest("-n", "2")
    calm(done)
    assert done.returncode == 1
    assert "-n is not needed" in done.stdout


def test_junit_xml_carries_one_case_a_rule(started):
    path = started.root / "report.xml"
    started.pytest(f"--junitxml={path}")
    cases = list(ElementTree.parse(path).iter("testcase"))
    assert [case.get("name") for case in cases] == rulebook.ids()
    assert all(case.find("failure") is not None for case in cases)


def test_a_selection_is_judged_but_never_accepted(started):
    for letter in "ABCD":
        started.edit(*FIXES[letter])
    some = "the_mask_hides_exactly_the_future"
    done = started.pytest("--no-predictions", "-k", some)
    calm(done)
    assert done.returncode == 1
    assert f"Only 1 of {len(rulebook.ids())} rules were selected" in done.stdout


def test_the_whole_folder_shows_the_week(started):
    done = started.type("pytest", "challenges")
    calm(done)
    assert done.returncode == 1
    assert "day49" in done.stdout


def test_colour_is_for_terminals_only(started):
    assert "\x1b" not in started.pytest().stdout
    assert "\x1b" not in started.pytest(NO_COLOR="1", PY_COLORS="1").stdout


# What people type


BAD_SHEETS = {
    "not TOML": ("[A]\nday = 43\nsymptoms = [", "predictions.toml:3"),
    "no such word": (ALL_RIGHT.replace("nan_on_first", "nan_at_first"), "nan_on_first_forward?"),
    "no such line": (ALL_RIGHT + "[E]\nday = 43\n", "[A], [B], [C], [D]"),
    "no such field": (ALL_RIGHT.replace("because", "becuase"), "Did you mean because?"),
    "no such day": (ALL_RIGHT.replace("day = 44", "day = 42"), "[B] day is 42"),
    "too sure": (ALL_RIGHT.replace("confidence = 2", "confidence = 9"), "[D] confidence is 9"),
    "never closed": (ALL_RIGHT + "symptoms_of_c = [\n", "Found: symptoms_of_c = ["),
    "open to the end": ("[A", "Found: [A"),
    "not a list": (ALL_RIGHT.replace('["nan_on_first_forward"]', "7"), "[B] symptoms is 7"),
    "not a flag": ("closed_book = 3\n" + ALL_RIGHT, "closed_book is 3"),
    "both": (
        ALL_RIGHT.replace('["nan_on', '["no_visible_symptom", "nan_on'),
        "no_visible_symptom stands alone",
    ),
}
BAD_ANSWERS = {
    "no number": ({"first_loss": "about five"}, "first_loss is 'about five'"),
    "no such question": ({"first_los": "4.6"}, "Did you mean first_loss?"),
    "no such word": ({"nan_reason": "bad luck"}, "nan_reason is 'bad luck'"),
}


@pytest.fixture
def desk49(tmp_path, monkeypatch):
    """Day 49, started and filled in, and a run of the desk in this process: ``run() -> text``."""
    found = own_challenge(tmp_path, monkeypatch)
    say = words.speaker("en")

    def run():
        outcome = desk.run(found, desk.Options(), say)
        assert outcome.status == 1
        assert len(lines(outcome.text)) <= 30
        return " ".join(outcome.text.split())

    run()
    (found.work / "predictions.toml").write_text(ALL_RIGHT, encoding="utf-8")
    (found.work / "answers.toml").write_text(answers_text(**CLOSING), encoding="utf-8")
    return found, run


def nothing_ran(challenge):
    text = challenge.ledger.read_text(encoding="utf-8")
    return [json.loads(line)["kind"] for line in text.splitlines()] == ["start"]


@pytest.mark.parametrize(("text", "told"), BAD_SHEETS.values(), ids=BAD_SHEETS)
def test_a_bad_sheet_gets_one_clear_message(desk49, text, told):
    challenge, run = desk49
    (challenge.work / "predictions.toml").write_text(text, encoding="utf-8")
    screen = run()
    assert told in screen
    assert "Correct it and run again: pytest " in screen
    assert nothing_ran(challenge)


def test_an_entry_that_is_gone_is_told_with_the_way_back(desk49):
    challenge, run = desk49
    (challenge.work / "predictions.toml").write_text(ALL_RIGHT.split("[D]")[0], encoding="utf-8")
    (challenge.work / "answers.toml").write_text("", encoding="utf-8")
    screen = run()
    assert "No longer there at all: (D). " in screen
    assert f"No longer there at all: {', '.join(CLOSING)}. " in screen
    assert "python -m challenges reset day49" in screen
    assert nothing_ran(challenge)
    (challenge.work / "predictions.toml").write_text(ALL_RIGHT, encoding="utf-8")
    (challenge.work / "answers.toml").write_text(
        answers_text(**dict.fromkeys(CLOSING, "")), encoding="utf-8"
    )
    assert "No longer there" not in run()


@pytest.mark.parametrize(("answers", "told"), BAD_ANSWERS.values(), ids=BAD_ANSWERS)
def test_a_bad_answer_gets_one_clear_message(desk49, answers, told):
    challenge, run = desk49
    text = answers_text(**CLOSING | answers)
    (challenge.work / "answers.toml").write_text(text, encoding="utf-8")
    assert told in run()
    assert nothing_ran(challenge)


def test_a_sheet_in_another_encoding_is_named(desk49):
    challenge, run = desk49
    (challenge.work / "predictions.toml").write_bytes("# 予測\n".encode("cp932"))
    assert "not UTF-8" in run()


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    """One clone for the tests that damage a file and type one command."""
    learner = Learner(tmp_path_factory.mktemp("shared") / "clone")
    learner.pytest()
    return learner


@pytest.fixture
def shared(one):
    """The shared clone, its work as it was handed out before the test and after it."""
    before = {path.name: path.read_bytes() for path in one.work().iterdir()}
    yield one
    for path in one.work().iterdir():
        path.unlink()
    for name, data in before.items():
        (one.work() / name).write_bytes(data)


def test_typed_at_a_terminal_a_bad_sheet_is_told_the_same(shared):
    for text, told in (BAD_SHEETS["not TOML"], BAD_SHEETS["no such word"]):
        shared.predict(text)
        done = shared.pytest()
        calm(done)
        assert done.returncode == 1
        assert told in " ".join(done.stdout.split())


def write(name, text):
    return lambda work: (work / name).write_text(text, encoding="utf-8")


BAD_FILES = {
    "syntax error": (write("block.py", "class Block:\n  def f(:\n"), "block.py, line 2"),
    "misspelt": (write("atention.py", "x = 1"), "atention.py is no module"),
    "extra": (write("notes.py", "x = 1"), "notes.py is no module"),
    "a copy": (write("block.py.bak", "x = 1"), "block.py.bak is no module"),
    "deleted": (lambda work: (work / "block.py").unlink(), "block.py is gone"),
    "absolute": (write("block.py", "from reference.block import Block\n"), "importing reference"),
}


@pytest.mark.parametrize(("damage", "told"), BAD_FILES.values(), ids=BAD_FILES)
def test_a_bad_file_gets_one_clear_message(desk49, damage, told):
    challenge, run = desk49
    damage(challenge.work)
    assert told in run()
    assert nothing_ran(challenge)


def test_typed_at_a_terminal_a_bad_file_is_told_the_same(shared):
    damage, told = BAD_FILES["syntax error"]
    damage(shared.work())
    done = shared.pytest("--no-predictions")
    calm(done)
    assert done.returncode == 1
    assert told in " ".join(done.stdout.split())


MASK = "    return torch.ones(T, T, dtype=torch.bool, device=device).triu(diagonal=0)  # (B)"
BAD_CODE = {
    "renamed": ("def causal_mask", "def casual_mask", "causal_mask"),
    "wrong shape": (MASK, "    return torch.ones(T, 2, dtype=torch.bool)", "the shape is ("),
    "wrong dtype": (MASK, "    return torch.ones(T, T).triu(1)", "the dtype is float32"),
    "NaN": (MASK, "    return torch.full((T, T), float('nan'))", "the dtype is float32"),
    "endless": (MASK, "    while True:\n        pass", "no answer within 2 seconds"),
    "exit": (MASK, "    import sys\n    sys.exit()", "SystemExit"),
    "at import": ("import math\n", "import math\n1 / 0\n", "ZeroDivisionError"),
}


@pytest.mark.parametrize(("before", "after", "told"), BAD_CODE.values(), ids=BAD_CODE)
def test_bad_code_costs_a_verdict_and_nothing_else(shared, before, after, told):
    shared.edit("attention", before, after)
    rules = "the_mask_hides_exactly_the_future"
    limit = ["--limit", "2"] if "while True" in after else []  # the others may take their time
    done = shared.pytest("--no-predictions", *limit, "-k", rules)
    calm(done)
    assert done.returncode == 1
    assert told in " ".join(done.stdout.split())


def test_line_ends_and_byte_order_marks_of_windows_are_read(shared):
    for letter in "ABCD":
        shared.edit(*FIXES[letter])
    for path in (*shared.work().glob("*.py"), *shared.work().glob("*.toml")):
        text = path.read_text(encoding="utf-8").replace("\n", "\r\n")
        path.write_bytes(b"\xef\xbb\xbf" + text.encode("utf-8"))
    done = shared.pytest("--no-predictions", "-k", "the_mask_hides_exactly_the_future")
    calm(done)
    assert "1 of 1 rules hold" in done.stdout


def test_what_the_code_prints_is_kept_for_the_learner(shared):
    shared.edit("attention", MASK, "    print('mask', T)\n" + MASK)
    done = shared.pytest("--no-predictions", "-k", "the_mask_hides_exactly_the_future")
    assert "Your code printed" in done.stdout
    assert "mask 3" in (shared.work() / "report.txt").read_text(encoding="utf-8")
