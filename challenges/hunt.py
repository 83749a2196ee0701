"""One run of a hunt: read, predict, seal, measure, judge, tell.

Nothing under test runs before the sheet is complete and sealed. The judged code and everything
that needs torch run in other processes.
"""

import functools

from tests.rules.judge import judge

from . import files, ledger, plot, questions, report, scoring, screens, sheet, workspace
from .layout import plain
from .measure import Measurements
from .progress import Progress, predictions_of
from .rounds import SOLVED, UNSOLVED, Outcome, Round, check_files, check_judgement, failures, limit


def run(challenge, options, say):
    """One run, as desk.run."""
    with files.lock(challenge.folder):
        made = workspace.begin(challenge, say)
        progress = Progress(challenge)
        unread = progress.sealed is None and not options.no_predictions
        if not made and unread:
            made = workspace.retold(challenge, progress.faults(), say)
    if made:
        return Outcome(screens.first(say, progress), UNSOLVED, reason=say("reason.started"))
    round = Round(challenge, progress, progress.faults())
    missing = _read_sheets(round)
    sealed = progress.sealed is not None and not options.again
    if missing and not sealed and not options.no_predictions:
        text = screens.incomplete(say, round, missing)
        return Outcome(text, UNSOLVED, reason=say("reason.incomplete"))
    check_files(round)
    if not missing:
        _seal(round, options.again)
    sealed = predictions_of(round.progress.sealed, round.letters)
    round.revised = not missing and scoring.said(round.predicted) != scoring.said(sealed)
    round.predicted = sealed
    _judge(round, options)
    return _tell(round, options, say)


def _read_sheets(round):
    """Read both sheets into the round; returns what is still empty: [(file, place, fields)]."""
    work, letters = round.challenge.work, round.letters
    missing = []
    if letters:
        path = work / workspace.PREDICTIONS
        round.predicted, round.closed_book = sheet.predictions(path, letters)
        empty = {letter: p.missing for letter, p in round.predicted.items()}
        missing += [(path, f"({letter})", fields) for letter, fields in empty.items() if fields]
    asked = questions.load(round.challenge)
    if asked:
        path = work / workspace.ANSWERS
        round.given = questions.read(path, asked)
        missing += [(path, name, []) for name, given in round.given.items() if given is None]
    return missing


def _seal(round, again):
    """Put the complete sheet into the ledger before anything runs; a changed one is a revision."""
    path = round.challenge.ledger
    sealed = {
        "predictions": {letter: p.as_dict() for letter, p in round.predicted.items()},
        "closed_book": round.closed_book,
        "answers": round.given,
    }
    with files.lock(round.challenge.folder):
        progress = Progress(round.challenge)
        if again and progress.sealed:
            ledger.append(path, "again")
            progress = Progress(round.challenge)
        before = [seal for seal in progress.of("seal") if seal["attempt"] == progress.attempt]
        if not before or any(before[-1].get(name) != value for name, value in sealed.items()):
            prints = workspace.fingerprints(round.challenge)
            ledger.append(path, "seal", attempt=progress.attempt, files=prints, **sealed)
        round.progress = Progress(round.challenge)


def _judge(round, options):
    """Judge the work, and measure the faults beside it; note the check in the ledger."""
    measuring = None
    if round.progress.sealed:
        measuring = _measurements(round)
    try:
        round.judgement = (options.judge or judge)(
            round.challenge.work,
            rules=None if options.selected is None else list(options.selected),
            shrink=True,
            limit=options.limit or limit(),
            on_verdict=options.on_verdict and functools.partial(options.on_verdict, round),
        )
        check_judgement(round, options)
        note(round)
        if measuring is None and round.accepted:
            measuring = _measurements(round)
        if measuring is not None:
            round.measured = measuring.result()
            _score(round)
    finally:
        if measuring is not None:
            measuring.close()


def _score(round):
    """Match the predictions where no line is marked; note the first score of an attempt."""
    if round.progress.sealed is None or round.measured is None:
        return
    if not round.challenge.marked:
        round.predicted = scoring.matched(round)
    with files.lock(round.challenge.folder):
        scored = [entry["attempt"] for entry in Progress(round.challenge).of("scored")]
        if round.progress.attempt not in scored:
            ledger.append(round.challenge.ledger, "scored", **scoring.as_entry(round))


def _measurements(round):
    cache = round.challenge.work / workspace.MEASURED
    return Measurements(round.challenge, round.faults, round.given, cache)


def note(round):
    """Put the check into the ledger."""
    verdicts = round.judgement.verdicts
    broken = [verdict["rule"] for verdict in verdicts if verdict["outcome"] != "holds"]
    with files.lock(round.challenge.folder):
        ledger.append(
            round.challenge.ledger,
            "check",
            attempt=round.progress.attempt,
            held=len(verdicts) - len(broken),
            total=len(verdicts),
            broken=broken,
            accepted=round.accepted,
            files=workspace.fingerprints(round.challenge),
        )
        round.progress = Progress(round.challenge)


def _tell(round, options, say):
    if options.plots and round.measured:
        round.pictures = plot.faults(say, round)
    full = screens.check(say, round, options, full=True)
    printed = report.printed(say, round)
    files.write(round.challenge.work / workspace.REPORT, plain(full) + printed + "\n")
    text = full if options.verbose else screens.check(say, round, options)
    status = SOLVED if round.accepted else UNSOLVED
    return Outcome(text, status, failures(say, round), say("reason.not_selected"))
