"""One run of ``pytest challenges/dayNN``: read, predict, seal, measure, judge, tell.

Nothing under test runs before the sheet is complete and sealed. The judged code and everything
that needs torch run in other processes.
"""

import functools
import os
import traceback
from dataclasses import dataclass, field

from buggy import overlay
from tests.rules.judge import LIMIT, judge

from . import files, ledger, questions, report, rulebook, screens, sheet, workspace
from .files import Trouble
from .layout import plain
from .measure import Measurements
from .progress import Progress, predictions_of

SOLVED, UNSOLVED, OUR_FAULT = 0, 1, 3


@dataclass
class Options:
    """What the learner asked for beside the challenge."""

    no_predictions: bool = False
    again: bool = False
    plots: bool = False
    verbose: bool = False
    selected: tuple | None = None  # rule ids, when -k or a node id leaves some out
    limit: float | None = None  # seconds a rule
    judge: object = None  # another judge with the arguments of tests.rules.judge.judge
    on_verdict: object = (
        None  # called with the round, the verdict, how many are done, and of how many
    )


@dataclass
class Outcome:
    """What a run came to: the text to show, the exit status, and a verdict for each rule."""

    text: str
    status: int
    verdicts: dict = field(default_factory=dict)
    reason: str = ""  # why a rule without a verdict has none


@dataclass
class Round:
    """Everything that the screens of one run tell of."""

    challenge: object
    progress: Progress
    faults: list
    predicted: dict = field(default_factory=dict)
    given: dict = field(default_factory=dict)
    judgement: object = None
    measured: dict | None = None
    accepted: bool = False
    pictures: list = field(default_factory=list)  # lines that name picture files

    @property
    def letters(self):
        return self.progress.letters()


def run(challenge, options, say):
    """One run; whatever goes wrong becomes an Outcome, and nothing that was there is lost."""
    try:
        return _run(challenge, options, say)
    except Trouble as trouble:
        return _stopped(challenge, trouble, say)
    except Exception:
        return _stopped(challenge, Trouble("our_fault", trace=traceback.format_exc()), say)


def _stopped(challenge, trouble, say):
    status = OUR_FAULT if trouble.message == "our_fault" else UNSOLVED
    text = screens.trouble(say, trouble, challenge)
    return Outcome(text, status, reason=say("trouble.nothing_lost"))


def _run(challenge, options, say):
    with files.lock(challenge.folder):
        made = workspace.begin(challenge, say)
        progress = Progress(challenge)
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
    round.predicted = predictions_of(round.progress.sealed, round.letters)
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


def check_files(round):
    """Every file that was handed out is there and can be read as a module of a GPT package."""
    gone = workspace.missing(round.challenge, workspace.modules(round.challenge, round.faults))
    if gone:
        folder = files.shown(round.challenge.work)
        raise Trouble("file_gone", file=gone[0], folder=folder, name=round.challenge.name)
    try:
        overlay.check(round.challenge.work)
    except overlay.Refused as refusal:
        raise Trouble("refused", refused=(refusal.message, refusal.found)) from None


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
            limit=options.limit or _limit(),
            on_verdict=options.on_verdict and functools.partial(options.on_verdict, round),
        )
        _check_judgement(round, options)
        if measuring is None and round.accepted:
            measuring = _measurements(round)
        if measuring is not None:
            round.measured = measuring.result()
    finally:
        if measuring is not None:
            measuring.close()
    _note(round)


def _limit():
    """Seconds a rule: more on a busy machine, so that no verdict depends on other work."""
    try:
        busy = os.getloadavg()[0] / (os.cpu_count() or 1)
    except (AttributeError, OSError):  # a system without load averages
        busy = 1.0
    return LIMIT * max(1.0, busy)


def _measurements(round):
    return Measurements(round.challenge, round.faults, round.challenge.work / workspace.MEASURED)


def _check_judgement(round, options):
    """Accept on positive evidence only: a verdict for every rule of the manifest, each holding."""
    judgement = round.judgement
    if judgement.refused:
        raise Trouble("refused", refused=judgement.refused)
    if judgement.status == OUR_FAULT:
        trace = judgement.first["trace"] if judgement.first else ""
        raise Trouble("our_fault", trace=trace or "")
    judged = {verdict["rule"] for verdict in judgement.verdicts}
    wanted = set(rulebook.ids() if options.selected is None else options.selected)
    if judged != wanted or len(judgement.verdicts) != len(wanted):
        raise Trouble("our_fault", trace=f"judged {len(judged)} rules of {len(wanted)}")
    whole = options.selected is None or wanted == set(rulebook.ids())
    round.accepted = whole and all(v["outcome"] == "holds" for v in judgement.verdicts)


def _note(round):
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
        from . import plot  # only here: it is the desk that plots build on

        round.pictures = plot.faults(say, round)
    full = screens.check(say, round, options, full=True)
    printed = report.printed(say, round)
    files.write(round.challenge.work / workspace.REPORT, plain(full) + printed + "\n")
    text = full if options.verbose else screens.check(say, round, options)
    verdicts = {verdict["rule"]: verdict for verdict in round.judgement.verdicts}
    reason = say("reason.not_selected")
    return Outcome(text, SOLVED if round.accepted else UNSOLVED, verdicts, reason)
