"""After acceptance: what was planted, why it is wrong, what the learner wrote, how well it was
foreseen."""

import difflib

from buggy.overlay import REFERENCE
from tests.rules import tell

from . import files, report, scoring, workspace
from .layout import Screen, unbroken

DIFF_LINES = 2  # of each side of a diff, on a screen that must stay short


def accepted(say, screen, round, full):
    """The screen of an accepted challenge; ``full`` adds why, where it happened, and own diffs."""
    total = len(round.judgement.verdicts)
    screen.add(say("accepted.rules", total=total), "good")
    for line in score(say, round):
        screen.add(line)
    if round.given and not full:
        report.answers_in_short(say, screen, round)
    else:
        screen.add()
    for letter, fault in zip(round.letters, round.faults):
        one(say, screen, letter, fault, full)
    if full:
        own(say, screen, round)
    name = round.challenge.name
    if not full:
        command = unbroken(f"python -m challenges reveal {name}")
        screen.add(say("accepted.more", command=command, file=files.shown(_report(round))))
    screen.add(say("accepted.next", command=unbroken(next_command(round))))


def _report(round):
    return round.challenge.work / workspace.REPORT


def score(say, round):
    """Predicted, located, fixed; and how sure the learner was of what was right."""
    progress, count = round.progress, len(round.letters)
    if not count:
        return []
    shown = len(progress.shown)
    hints = sum(progress.hints(letter) for letter in round.letters)
    numbers = {"count": count, "fixed": count - shown, "shown": shown, "hints": hints}
    if progress.sealed is None:
        return [say("accepted.unpredicted", **numbers)]
    rows = scoring.as_entry(round)["rows"]
    numbers["predicted"] = sum(row[1] for row in rows)
    numbers["located"] = sum(row[2] for row in rows)
    return [say("accepted.score", attempt=progress.attempt, **numbers), calibration(say, rows)]


def calibration(say, rows):
    """How sure, and how often right, in one line."""
    table = scoring.by_confidence(rows)
    parts = [say("accepted.sure", confidence=c, right=r, of=n) for c, (r, n) in table.items()]
    return say("accepted.calibration", parts=say("accepted.comma").join(parts))


def one(say, screen, letter, fault, full):
    """One fault: its name, what was planted, what is right; in full also why and where."""
    day = say("screen.day", day=fault.day)
    screen.add(f"{fault.title(say.lang)} ({day})", "title", first=f"({letter}) ")
    for edit in fault.edits:
        diff = list(lines(edit))
        for line in diff if full else _shortened(diff):
            screen.raw(f"    {line}", {"-": "bad", "+": "good"}.get(line[0]))
    if full:
        law = tell.words(say.lang)(f"rule.{fault.rule}.title")
        screen.add(say("accepted.law", law=law), first="    ")
        screen.add(fault.explanation(say.lang), first="    ")
        if fault.sources:
            screen.raw(f"    {say('accepted.source')}")
        for source in fault.sources:
            screen.raw(f"    {source}", "dim")
        screen.add()


def lines(edit):
    """The whole lines that the edit changes: ``- planted`` and ``+ correct``."""
    correct = (REFERENCE / f"{edit.module}.py").read_text(encoding="utf-8")
    planted = correct.replace(edit.correct, edit.planted)
    for line in difflib.ndiff(planted.split("\n"), correct.split("\n")):
        if line[0] in "-+":
            yield f"{line[0]} {line[2:].strip()}"


def _shortened(diff):
    kept = []
    for sign in "-+":
        side = [line for line in diff if line[0] == sign]
        kept += side[:DIFF_LINES]
        if len(side) > DIFF_LINES:
            kept.append(f"{sign} …")
    return kept


def own(say, screen, round):
    """What the learner changed in each file, against what was handed out."""
    if round.progress.updated:
        return
    given = workspace.modules(round.challenge, round.faults)
    screen.add(say("accepted.own"), "title")
    for module, before in given.items():
        path = round.challenge.work / f"{module}.py"
        after = path.read_bytes().decode("utf-8-sig", errors="replace").replace("\r\n", "\n")
        name = files.shown(path)
        before, after = before.split("\n"), after.split("\n")
        diff = difflib.unified_diff(before, after, name, name, n=0, lineterm="")
        for line in list(diff)[1:]:
            screen.raw(f"  {line}".rstrip(), {"-": "bad", "+": "good"}.get(line[:1]))
    screen.add()


def next_command(round):
    """What to do next: the next level of this challenge, or the status of the week."""
    progress = round.progress
    if progress.level < len(round.challenge.levels):
        return f"python -m challenges start {round.challenge.name} --level {progress.level + 1}"
    return "python -m challenges"


def again(progress):
    """The command for another choice of faults, when all is done."""
    seed = (progress.seed or 0) + 1
    return f"python -m challenges start {progress.challenge.name} --seed {seed}"


def screen_of(say, round):
    """The whole reveal on a screen of its own, for ``python -m challenges reveal``."""
    screen = Screen()
    for letter, fault in zip(round.letters, round.faults):
        one(say, screen, letter, fault, full=True)
    own(say, screen, round)
    command = unbroken(f"pytest {files.shown(round.challenge.folder)} --plots")
    screen.add(say("accepted.pictures", command=command))
    return screen.text()
