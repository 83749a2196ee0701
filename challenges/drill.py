"""A drill: a sheet of questions, and sometimes a function to write from an empty body.

It may be answered a little at a time; every run tells what is right, what is not, what was
forgotten, and what is still open.
"""

from tests.rules.judge import Judgement, judge

from . import files, ledger, questions, report, screens, workspace
from .layout import Screen, unbroken, width
from .measure import Measurements
from .progress import Progress
from .rounds import SOLVED, UNSOLVED, Outcome, Round, check_files, check_judgement, failures, limit


def run(challenge, options, say):
    """One run of a drill, as desk.run."""
    with files.lock(challenge.folder):
        made = workspace.begin(challenge, say) or workspace.retold(challenge, [], say)
    round = Round(challenge, Progress(challenge), [])
    if made:
        return Outcome(first(say, round), UNSOLVED, reason=say("reason.started"))
    asked = questions.load(challenge)
    round.given = questions.read(challenge.work / workspace.ANSWERS, asked) if asked else {}
    check_files(round)
    _judge(round, options)
    _note(round)
    text = told(say, round, options)
    files.write(challenge.work / workspace.REPORT, text + report.printed(say, round) + "\n")
    status = SOLVED if round.accepted else UNSOLVED
    return Outcome(text, status, _failures(say, round), say("reason.not_selected"))


def _judge(round, options):
    """Hold the answers to their keys, and judge what was written."""
    challenge = round.challenge
    cache = challenge.work / workspace.MEASURED
    measuring = Measurements(challenge, [], round.given, cache)
    round.judgement = Judgement()
    rules = list(challenge.rules if options.selected is None else options.selected)
    try:
        if rules:
            round.judgement = (options.judge or judge)(
                challenge.work,
                rules=rules,
                shrink=True,
                limit=options.limit or limit(),
                on_verdict=None,
            )
        if challenge.rules and rules:
            check_judgement(round, options)
        round.measured = measuring.result()
    finally:
        measuring.close()
    holding = round.accepted or not challenge.rules
    whole = options.selected is None or options.selected == tuple(challenge.rules)
    round.accepted = holding and whole and all(mark.right for mark in report.marks(round))


def _note(round):
    marks, verdicts = report.marks(round), round.judgement.verdicts
    wrong = [mark.question.id for mark in marks if not mark.right]
    wrong += [verdict["rule"] for verdict in verdicts if verdict["outcome"] != "holds"]
    total = len(marks) + len(verdicts)
    with files.lock(round.challenge.folder):
        ledger.append(
            round.challenge.ledger,
            "check",
            attempt=round.progress.attempt,
            held=total - len(wrong),
            total=total,
            broken=wrong,
            accepted=round.accepted,
            answers=round.given,
        )
        round.progress = Progress(round.challenge)


def _failures(say, round):
    found = failures(say, round)
    for mark in report.marks(round):
        outcome = mark.outcome if mark.outcome in ("open", "wrong") else "wrong"
        told = mark.told(say.lang) or say(f"answer.{outcome}")
        found[mark.question.id] = "" if mark.right else told
    return found


def first(say, round):
    """The first screen of a drill: the sheet, the file to write, what will judge."""
    challenge, screen = round.challenge, Screen()
    screens.heading(say, screen, challenge, say("state.open"))
    report.torn(say, screen, round.progress)
    screen.add(challenge.text(say.lang, "task"))
    screen.add()
    rows, asked = [], questions.load(challenge)
    if asked:
        path = files.shown(challenge.work / workspace.ANSWERS)
        rows.append(("answer", say("drill.questions", count=len(asked), file=path)))
    for name in challenge.table.get("empty", []):
        module, function = name.split(".")
        path = files.shown(challenge.work / f"{module}.py")
        rows.append(("write", say("drill.write", function=function, file=path)))
    command = unbroken(f"pytest {files.shown(challenge.folder)}")
    rows.append(("check", say("drill.check", command=command, rules=len(challenge.rules))))
    labels = [f"{i} {say(f'step.{step}_word')}" for i, (step, _) in enumerate(rows, 1)]
    room = max(map(width, labels))
    for label, (_, text) in zip(labels, rows):
        screen.labelled(label, text, room)
    screen.add()
    screens.links(say, screen, challenge, room)
    return screen.text()


def told(say, round, options):
    """What a run of a drill has found."""
    screen, challenge = Screen(), round.challenge
    marks = report.marks(round)
    standing = ("state.accepted", "good") if round.accepted else ("state.open", None)
    screens.heading(say, screen, challenge, say(standing[0]), standing[1])
    report.torn(say, screen, round.progress)
    for note in report.notes(say, round, options):
        screen.add(note, "warn")
    report.answers(say, screen, round)
    if round.judgement.verdicts:
        report.rules(say, screen, round, None)
    if any(verdict["outcome"] != "holds" for verdict in round.judgement.verdicts):
        screen.lines += report.broken(say, round, screen)
    elif not round.accepted:
        path = files.shown(challenge.work / workspace.ANSWERS)
        screen.add(say("drill.go_on", file=path))
    else:
        screen.add(say("drill.done", count=len(marks), checks=len(round.progress.checks)), "good")
        screen.add(say("accepted.next", command=unbroken("python -m challenges")))
    return screen.text()
