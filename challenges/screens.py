"""The screens of ``pytest challenges/dayNN``, each at most 30 lines unless the learner asks."""

from tests.rules import tell

from . import files, ledger, report, reveal, rulebook, sheet, workspace
from .layout import Screen, pad, unbroken, width

LINES = 30
SHEET = (  # what can be wrong with a sheet: it is corrected and run again
    "not_utf8",
    "toml",
    "field",
    "unknown_table",
    "unknown_field",
    "unknown_symptom",
    "nothing_and_something",
    "unknown_answer",
    "answer_form",
)


def heading(say, screen, challenge, right="", style=None):
    """The title line of every screen."""
    day = challenge.table.get("day")
    name = say("screen.day", day=day) if day else say("screen.final")
    title = f"{name}  {challenge.text(say.lang, 'title')}"
    screen.sides(title, right, style, "title")
    screen.add()


def first(say, progress):
    """What a learner sees first: what to read, the four steps, how many rules will judge."""
    challenge, screen = progress.challenge, Screen()
    heading(say, screen, challenge, say("state.started"))
    report.torn(say, screen, progress)
    screen.add(challenge.text(say.lang, "task"))
    screen.add()
    room = max(width(say(f"step.{step}")) for step in ("read", "predict", "fix", "check"))
    here = say("step.here")
    screen.labelled(say("step.read"), f"{files.shown(challenge.work)}/   {here}", room, "title")
    for name, size, letters, print_ in _handed_out(challenge, progress):
        lines = say("screen.lines", count=size)
        screen.raw(f"  {pad('', room)}    {name:<18}{lines:>10}   {print_}  {letters}".rstrip())
    path = files.shown(challenge.work / workspace.PREDICTIONS)
    screen.labelled(say("step.predict"), path, room)
    screen.labelled("", say("screen.predict"), room)
    if challenge.questions:
        path = files.shown(challenge.work / workspace.ANSWERS)
        screen.labelled("", say("screen.answers", file=path), room)
    screen.labelled(say("step.fix"), say("screen.fix"), room)
    command = f"pytest {files.shown(challenge.folder)}"
    screen.labelled(say("step.check"), unbroken(command), room)
    screen.labelled("", say("screen.rules", count=len(rulebook.ids())), room)
    screen.add()
    links(say, screen, challenge, room)
    return screen.text()


def _handed_out(challenge, progress):
    """(file, lines, marks, short hash) of each graded file."""
    rows = []
    for module, text in workspace.modules(challenge, progress.faults()).items():
        path = challenge.work / f"{module}.py"
        marks = [f"({letter})" for letter in progress.letters() if f"# ({letter})" in text]
        rows.append((path.name, text.count("\n"), " ".join(marks), _print(path)))
    return rows


def _print(path):
    return ledger.fingerprint(path.read_bytes())[:8]


def links(say, screen, challenge, room):
    """The README, and the same screen in the other language."""
    other = "ja" if say.lang == "en" else "en"
    name = "README.ja.md" if say.lang == "ja" else "README.md"
    for folder in (challenge.folder, challenge.folder.parent):
        if (folder / name).is_file():
            screen.labelled(say("screen.more"), files.shown(folder / name), room)
            break
    command = f"pytest {files.shown(challenge.folder)} --lang {other}"
    screen.labelled(say("screen.other_language"), unbroken(command), room)


def incomplete(say, round, missing):
    """Which entries of the sheets are still empty. Nothing has run."""
    challenge, screen = round.challenge, Screen()
    heading(say, screen, challenge, say("state.started"))
    report.torn(say, screen, round.progress)
    screen.add(say("screen.nothing_ran"))
    screen.add()
    room = max(width(place) for _, place, _ in missing)
    for path in dict.fromkeys(path for path, _, _ in missing):
        screen.raw(f"  {files.shown(path)}")
        for where, place, fields in missing:
            if where == path:
                screen.raw(f"    {pad(place, room)}  {', '.join(fields)}".rstrip())
    screen.add()
    _gone(say, screen, challenge, missing)
    command = f"pytest {files.shown(challenge.folder)}"
    screen.add(say("screen.fill_in", command=unbroken(command)))
    screen.add(say("screen.skip", command=unbroken(f"{command} --no-predictions")))
    return screen.text()


def _gone(say, screen, challenge, missing):
    """Say which entries are not empty but no longer there, and how to have them back."""
    for path in dict.fromkeys(path for path, _, _ in missing):
        there = sheet.load(path)
        names = [place for where, place, _ in missing if where == path]
        gone = [name for name in names if name.strip("()") not in there]
        if gone:
            command = unbroken(f"python -m challenges reset {challenge.name}")
            screen.add(say("screen.gone", names=", ".join(gone), command=command), "warn")
            screen.add()


def trouble(say, error, challenge=None):
    """One clear message: what was wanted, what was found, where, what to do next."""
    screen = Screen()
    if challenge is not None:
        heading(say, screen, challenge, say("state.stopped"), "bad")
    found = dict(error.found)
    if error.message == "refused":
        folder = files.shown(challenge.work)
        message, numbers = found["refused"]
        numbers = dict(numbers) | ({"folder": folder} if "folder" in numbers else {})
        screen.add(tell.refusal(tell.words(say.lang), (message, numbers)))
        screen.add(say("trouble.where", folder=folder))
    elif error.message == "our_fault":
        screen.add(say("trouble.our_fault", where=_keep_trace(challenge, found["trace"])))
    else:
        if found.get("form"):
            found["form"] = say(found["form"])
        if found.get("near"):
            found["near"] = say("trouble.near", word=found["near"])
        screen.add(say(f"trouble.{error.message}", **found))
    if challenge is not None:
        if error.message in SHEET:
            command = unbroken(f"pytest {files.shown(challenge.folder)}")
            screen.add(say("trouble.again", command=command))
        screen.add()
        screen.add(say("trouble.nothing_lost"))
    return screen.text()


def _keep_trace(challenge, trace):
    """Where the trace of a fault of ours was written; the trace itself when nowhere."""
    last = trace.strip().splitlines()[-1] if trace.strip() else ""
    if challenge is None:
        return last
    path = challenge.work / "our_fault.txt"
    try:
        files.write(path, trace + "\n")
        return files.shown(path)
    except files.Trouble:
        return last


def check(say, round, options, full=False):
    """What a check has found: predictions beside measurements, the rules, the first broken one."""
    if full:
        return _check(say, round, options, full=True).text()
    for brevity in range(4):
        screen = _check(say, round, options, brevity=brevity)
        if len(screen.lines) <= LINES:
            break
    return screen.text()


def _check(say, round, options, full=False, brevity=0):
    """The screen; the briefer, the more is left to ``-v``."""
    screen = Screen()
    heading(say, screen, round.challenge, *_standing(say, round))
    report.torn(say, screen, round.progress)
    for note in report.notes(say, round, options):
        screen.add(note, "warn")
    if round.accepted:
        reveal.accepted(say, screen, round, full)
        if full:
            report.measured(say, screen, round, brevity=0)
            report.answers(say, screen, round)
            report.rules(say, screen, round, None)
        return screen
    if full or len(round.progress.checks_of_attempt) < 2:
        report.measured(say, screen, round, brevity=0 if full else 1 + (brevity > 2))
        if brevity > 1:
            report.answers_in_short(say, screen, round)
        else:
            report.answers(say, screen, round, right_too=full)
    else:
        report.measured_in_short(say, screen, round)
        report.answers_in_short(say, screen, round)
    broken = report.broken(say, round, screen)
    room = LINES - len(screen.lines) - len(broken) - 1
    room = 0 if brevity or room < 6 else room  # a list of two lines would tell nothing
    report.rules(say, screen, round, None if full else room)
    screen.lines += broken
    return screen


def _standing(say, round):
    if round.accepted:
        return say("state.accepted"), "good"
    if round.progress.sealed is None:
        return say("state.unpredicted"), "warn"
    count = len(round.progress.checks)
    return say("screen.attempt", attempt=round.progress.attempt, check=count), "dim"
