"""What a learner has survives: kills, two runs at once, edits by hand, updates, a full disk."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from challenges import challenge as challenges
from challenges import commands, desk, files, hunt, ledger, words, workspace
from challenges.progress import Progress
from tests.rules.judge import Judgement
from tests.scripted import Learner, own_challenge
from tests.test_challenges import ALL_RIGHT, CLOSING, FIXES, lines


@pytest.fixture
def day49(tmp_path, monkeypatch):
    """Day 49 in a folder of its own, untouched."""
    return own_challenge(tmp_path, monkeypatch)


@pytest.fixture
def say():
    return words.speaker("en")


def begin(challenge, say):
    with files.lock(challenge.folder):
        return workspace.begin(challenge, say)


class Killed(BaseException):
    """Stands for a kill: nothing of ours catches it but to clean up, as a kill would not."""


STEPS = ("replace", "rename", "fsync", "mkdir", "unlink", "open")


def kill_after(monkeypatch, count):
    """From the ``count``-th touch of the disk on, everything stops."""
    left = [count]

    def stopping(real):
        def step(*arguments, **keywords):
            left[0] -= 1
            if left[0] < 0:
                raise Killed
            return real(*arguments, **keywords)

        return step

    for name in STEPS:
        monkeypatch.setattr(os, name, stopping(getattr(os, name)))
    return left


def everything(challenge):
    """Every text that is kept anywhere below the challenge."""
    found = []
    for path in challenge.folder.rglob("*"):
        if path.is_file() and path.name != "challenge.toml":
            found.append(path.read_text(encoding="utf-8", errors="replace"))
    return found


def points(action, challenge, monkeypatch):
    """Kill the action at its first touch of the disk, then its second, …, until it gets through."""
    for count in range(200):
        with monkeypatch.context() as patched:
            left = kill_after(patched, count)
            try:
                action()
            except Killed:
                yield count
                continue
            assert left[0] >= 0
            return
    raise AssertionError("never got through")


def test_a_kill_at_any_moment_of_the_first_run_leaves_a_start(day49, say, monkeypatch):
    killed = list(points(lambda: begin(day49, say), day49, monkeypatch))
    assert len(killed) > 5  # the kills were real
    begin(day49, say)
    standing = Progress(day49)
    assert standing.state == "started"
    assert standing.ledger.torn == ()
    given = workspace.everything(day49, standing.faults(), say)
    for name, text in given.items():
        assert (day49.work / name).read_text(encoding="utf-8") == text
    leftovers = {path.name for path in day49.folder.iterdir()}
    assert leftovers == {"challenge.toml", "questions.toml", "work", ".lock"}


def test_a_kill_at_any_moment_of_a_reset_loses_nothing(day49, say, monkeypatch):
    begin(day49, say)
    mine = "# my own words\n"
    (day49.work / "attention.py").write_text(mine, encoding="utf-8")

    def reset():
        with files.lock(day49.folder):
            workspace.renew(day49, say)

    for _ in points(reset, day49, monkeypatch):
        assert mine in everything(day49)
    begin(day49, say)
    assert mine in everything(day49)
    standing = Progress(day49)
    given = workspace.modules(day49, standing.faults())
    assert (day49.work / "attention.py").read_text(encoding="utf-8") == given["attention"]
    assert standing.ledger.torn == ()
    assert not (day49.work / workspace.RENEWAL).exists()


def test_a_kill_at_any_moment_of_an_entry_keeps_the_chain(day49, say, monkeypatch):
    begin(day49, say)
    path = day49.ledger

    def note():
        with files.lock(day49.folder):
            ledger.append(path, "hint", letter="A", step=1)

    for _ in points(note, day49, monkeypatch):
        assert ledger.read(path).torn == ()
    assert [entry["kind"] for entry in ledger.read(path).entries][-1] == "hint"


@pytest.mark.skipif(os.name == "nt", reason="signals of this kind are not known there")
def test_a_real_kill_leaves_what_the_next_run_can_use(tmp_path):
    learner = Learner(tmp_path)
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "BUGHUNT_LANG": "en"}
    for pause in (0.15, 0.3, 0.45, 0.6):
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", "challenges/day49"],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.DEVNULL,
        )
        time.sleep(pause)
        process.send_signal(signal.SIGKILL)
        process.wait()
    done = learner.pytest()
    assert done.returncode == 1
    assert "predictions.toml" in done.stdout
    assert [entry["kind"] for entry in learner.ledger()] == ["start"]


def test_two_first_runs_at_once_make_one_start(tmp_path):
    learner = Learner(tmp_path)
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    both = [
        subprocess.Popen(
            [sys.executable, "-m", "pytest", "challenges/day49"],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.DEVNULL,
        )
        for _ in range(2)
    ]
    assert [process.wait() for process in both] == [1, 1]
    assert [entry["kind"] for entry in learner.ledger()] == ["start"]
    assert ledger.read(learner.work() / "ledger.jsonl").torn == ()


HANDS = {
    "a word changed": lambda data: data.replace(b'"confidence": 5', b'"confidence": 4'),
    "a line gone": lambda data: b"\n".join(data.split(b"\n")[1:]),
    "not JSON": lambda data: b"hello\n" + data,
    "bytes": lambda data: data + b"\xff\xfe\x00\n",
    "other types": lambda data: data.replace(b'"attempt": 1', b'"attempt": "one"'),
    "a list": lambda data: data + b"[1, 2]\n",
    "other predictions": lambda data: data.replace(b'{"A": {', b'{"A": 3, "Z": {'),
}


@pytest.fixture
def judged(monkeypatch):
    """The desk without its slow parts: the first rule is broken, nothing is measured."""
    from challenges import rulebook

    first = {"rule": "", "day": 49, "outcome": "broken", "tried": {}, "numbers": {}}
    first |= {"observed": None, "allowed": None, "seconds": 0.0, "trace": None}

    def judge(folder, **options):
        rules = options["rules"] or rulebook.ids()
        return Judgement([first | {"rule": rule} for rule in rules])

    class Nothing:
        def __init__(self, *arguments):
            pass

        def result(self):
            return None

        def close(self):
            pass

    monkeypatch.setattr(hunt, "judge", judge)
    monkeypatch.setattr(hunt, "Measurements", Nothing)


def fill_in(challenge):
    (challenge.work / "predictions.toml").write_text(ALL_RIGHT, encoding="utf-8")
    answers = "\n".join(f"{name} = {json.dumps(given)}" for name, given in CLOSING.items())
    (challenge.work / "answers.toml").write_text(answers, encoding="utf-8")


@pytest.mark.parametrize("hand", HANDS.values(), ids=HANDS)
def test_a_ledger_edited_by_hand_is_reported_and_used(day49, say, judged, hand):
    begin(day49, say)
    fill_in(day49)
    assert desk.run(day49, desk.Options(), say).status == 1
    day49.ledger.write_bytes(hand(day49.ledger.read_bytes()))
    outcome = desk.run(day49, desk.Options(), say)
    assert outcome.status == 1
    assert "does not fit the line before it" in outcome.text
    again = desk.run(day49, desk.Options(), say)
    assert "does not fit the line before it" in again.text  # nothing covers it up


def test_the_first_complete_sheet_counts_and_later_ones_are_revisions(day49, say, judged):
    begin(day49, say)
    fill_in(day49)
    desk.run(day49, desk.Options(), say)
    later = ALL_RIGHT.replace("confidence = 5", "confidence = 1")
    (day49.work / "predictions.toml").write_text(later, encoding="utf-8")
    revised = desk.run(day49, desk.Options(), say)
    assert "kept as a revision, not scored" in " ".join(revised.text.split())
    assert "--again" in revised.text
    desk.run(day49, desk.Options(), say)
    standing = Progress(day49)
    assert len(standing.of("seal")) == 2
    assert standing.sealed["predictions"]["A"]["confidence"] == 5
    fresh = desk.run(day49, desk.Options(again=True), say)
    assert "revision" not in fresh.text
    standing = Progress(day49)
    assert standing.attempt == 2
    assert standing.sealed["predictions"]["A"]["confidence"] == 1
    assert len(standing.of("seal")) == 3  # nothing was erased


def test_an_update_of_the_challenge_keeps_the_work_and_says_so(day49, say, judged, monkeypatch):
    begin(day49, say)
    fill_in(day49)
    before = (day49.work / "block.py").read_bytes()
    assert not Progress(day49).updated
    from challenges import handout

    real = handout.sources
    longer = {"text": "\n# a new line\n"}
    monkeypatch.setattr(
        handout, "sources", lambda *a: {m: t + longer["text"] for m, t in real(*a).items()}
    )
    outcome = desk.run(day49, desk.Options(), say)
    assert "has changed since you started" in outcome.text
    assert (day49.work / "block.py").read_bytes() == before


def test_a_fault_that_left_the_catalogue_is_told(day49, say):
    begin(day49, say)
    text = day49.ledger.read_text(encoding="utf-8")
    gone = text.replace(challenges.seal_id("block_is_post_ln"), "0123456789ab")
    day49.ledger.write_text(gone, encoding="utf-8")
    outcome = desk.run(day49, desk.Options(), say)
    assert outcome.status == 1
    assert "no longer holds" in outcome.text


def test_a_disk_that_cannot_be_written_gets_one_message(day49, say, monkeypatch):
    def refuse(*arguments, **keywords):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(os, "open", refuse)
    outcome = desk.run(day49, desk.Options(), say)
    assert outcome.status == 1
    assert len(lines(outcome.text)) <= 12
    assert "Read-only file system" in outcome.text


def test_a_disk_that_fills_up_while_writing_keeps_what_was_there(day49, say, monkeypatch):
    begin(day49, say)
    before = day49.ledger.read_bytes()

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with files.lock(day49.folder), pytest.raises(files.Trouble, match="disk"):
        ledger.append(day49.ledger, "again")
    assert day49.ledger.read_bytes() == before
    assert [path.name for path in day49.work.iterdir() if ".part" in path.name] == []


def test_a_fault_of_ours_is_no_verdict(day49, say, judged, monkeypatch):
    begin(day49, say)
    fill_in(day49)

    def crash(*arguments, **keywords):
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(hunt, "judge", crash)
    outcome = desk.run(day49, desk.Options(), say)
    assert outcome.status == 3
    assert "not your fault" in outcome.text
    assert "Traceback" not in outcome.text
    assert "ZeroDivisionError" in (day49.work / "our_fault.txt").read_text(encoding="utf-8")
    assert Progress(day49).sealed is not None


def test_fewer_verdicts_than_the_manifest_are_no_acceptance(day49, say, judged, monkeypatch):
    begin(day49, say)
    fill_in(day49)
    held = {"rule": "the_future_is_invisible", "outcome": "holds", "day": 44}
    monkeypatch.setattr(hunt, "judge", lambda folder, **options: Judgement([held]))
    assert desk.run(day49, desk.Options(), say).status == 3


# The commands


@pytest.fixture(scope="module")
def learner(tmp_path_factory):
    found = Learner(tmp_path_factory.mktemp("commands"))
    found.pytest()
    return found


def test_hints_climb_one_rung_a_call_and_are_recorded(learner):
    texts = [learner.command("hint", "day49", "b").stdout for _ in range(5)]
    for step, text in zip((1, 2, 3, 4, 4), texts):
        assert text.startswith(f"(B) hint {step} of 4")
    assert "give-up day49 B" in texts[3]
    assert sum(entry["kind"] == "hint" for entry in learner.ledger()) == 4  # read again, not new
    assert "(A) hint 1 of 4" in learner.command("hint", "day49").stdout


def test_hints_go_on_to_the_next_line_when_all_of_one_are_known(day49, say):
    workspace.begin(day49, say)
    for step in range(1, 5):
        assert commands._unhealed(Progress(day49)) == "A"
        ledger.append(day49.ledger, "hint", letter="A", step=step)
    assert commands._unhealed(Progress(day49)) == "B"


def test_a_drill_begins_with_its_own_screen(learner):
    for command in (("start", "day49/activity1"), ("reset", "day49/activity1", "--yes")):
        screen = learner.command(*command).stdout
        assert "8 questions in challenges/day49/activity1/work/answers.toml" in screen
        assert "predictions" not in screen


def test_a_drill_has_nothing_planted(learner):
    learner.pytest(name="day47/activity1")
    for more in (("start", "--seed", "7"), ("start", "--level", "1"), "hint", "give-up", "reveal"):
        command, *options = [more] if isinstance(more, str) else more
        done = learner.command(command, "day47/activity1", *options)
        assert (done.returncode, done.stdout) == (1, "")
        assert "day47/activity1 is a drill: nothing is planted in it" in done.stderr
    assert [entry["kind"] for entry in learner.ledger("day47/activity1")] == ["start"]


def test_to_give_up_is_to_name_the_fault(learner):
    learner.pytest()
    for given, told in ((), "Which of the faults A, B, C, D?"), (("AB",), "No line is marked (AB)"):
        done = learner.command("give-up", "day49", *given)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith(told)


def test_a_drill_without_a_model_has_no_picture(learner):
    learner.pytest(name="day47/activity1")
    done = learner.command("plot", "day47/activity1")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "day47/activity1 is a drill without a model: there is nothing to draw.\n"


def test_a_reader_who_has_seen_enough_ends_it_quietly(learner):
    """As with ``| head``: the pipe is closed before anything is written."""
    code = """
import os, sys
from challenges.__main__ import main
read, write = os.pipe()
os.close(read)
os.dup2(write, 1)
sys.exit(main([]))
"""
    (learner.root / "closed.py").write_text(code, encoding="utf-8")
    done = learner.type("closed")
    assert (done.returncode, done.stderr) == (0, "")


def test_giving_up_takes_the_typed_words(learner):
    declined = learner.command("give-up", "day49", "A", given="yes\n")
    assert declined.returncode == 1
    assert "math.sqrt" not in declined.stdout
    shown = learner.command("give-up", "day49", "A", given="give up A\n")
    assert shown.returncode == 0
    assert "+ scores = q @ k.mT / math.sqrt(q.size(-1))" in shown.stdout
    assert sum(entry["kind"] == "shown" for entry in learner.ledger()) == 1


def test_reset_asks_and_keeps_a_backup_and_the_ledger(learner):
    learner.edit(*FIXES["C"])
    before = len(learner.ledger())
    assert learner.command("reset", "day49", given="\n").returncode == 1
    assert "self.attn(self.ln_1(x))" in (learner.work() / "block.py").read_text(encoding="utf-8")
    assert learner.command("reset", "day49", given="reset\n").returncode == 0
    assert "# (C)" in (learner.work() / "block.py").read_text(encoding="utf-8")
    (kept,) = (learner.folder() / "backup").iterdir()
    assert "self.attn(self.ln_1(x))" in (kept / "block.py").read_text(encoding="utf-8")
    assert len(learner.ledger()) == before + 1


def test_a_seed_draws_other_faults_and_the_same_seed_the_same(learner):
    def texts():
        return {path.name: path.read_bytes() for path in learner.work().glob("*.py")}

    first = texts()
    assert learner.command("start", "day49", "--seed", "5", "--yes").returncode == 0
    drawn = texts()
    assert drawn != first
    assert learner.command("start", "day49", "--seed", "6", "--yes").returncode == 0
    assert learner.command("start", "day49", "--seed", "5", "--yes").returncode == 0
    assert texts() == drawn


WRONG = {
    ("hint", "day50"): "There is no challenge 'day50'",
    ("hint", "day49", "E"): "No line is marked (E)",
    ("reveal", "day49"): "revealed once it is accepted",
    ("start", "day49", "--level", "9"): "levels 1 to 1, not 9",
}


@pytest.mark.parametrize(("typed", "told"), WRONG.items(), ids=list(map(" ".join, WRONG)))
def test_a_command_that_cannot_be_gets_one_message(learner, typed, told):
    done = learner.command(*typed)
    assert done.returncode == 1
    assert told in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
