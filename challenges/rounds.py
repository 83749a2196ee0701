"""What one run of an exercise works with, and what hunts and drills share."""

import os
from dataclasses import dataclass, field

from buggy import overlay
from tests.rules.judge import LIMIT

from . import files, report, workspace
from .files import Trouble
from .progress import Progress

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
    on_verdict: object = None  # called with the round, the verdict, how many are done, of how many


@dataclass
class Outcome:
    """What a run came to: the text to show, the exit status, and a verdict for each rule."""

    text: str
    status: int
    failures: dict = field(default_factory=dict)  # by item: "" where it holds, else why not
    reason: str = ""  # why an item without a verdict has none


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
    revised: bool = False  # the sheet says something else than what was sealed
    accepted: bool = False
    pictures: list = field(default_factory=list)  # lines that name picture files

    @property
    def letters(self):
        return self.progress.letters()


def check_files(round):
    """Every file that was handed out is there and can be read as a module of a GPT package."""
    if not round.challenge.levels and not round.challenge.table.get("empty"):
        return  # a sheet alone
    gone = workspace.missing(round.challenge, workspace.modules(round.challenge, round.faults))
    if gone:
        folder = files.shown(round.challenge.work)
        raise Trouble("file_gone", file=gone[0], folder=folder, name=round.challenge.name)
    try:
        overlay.check(round.challenge.work)
    except overlay.Refused as refusal:
        raise Trouble("refused", refused=(refusal.message, refusal.found)) from None


def check_judgement(round, options):
    """Accept on positive evidence only: a verdict for every rule of the manifest, each holding."""
    judgement = round.judgement
    if judgement.refused:
        raise Trouble("refused", refused=judgement.refused)
    if judgement.status == OUR_FAULT:
        trace = judgement.first["trace"] if judgement.first else ""
        raise Trouble("our_fault", trace=trace or "")
    judged = {verdict["rule"] for verdict in judgement.verdicts}
    every = set(round.challenge.rules)
    wanted = every if options.selected is None else set(options.selected)
    if judged != wanted or len(judgement.verdicts) != len(wanted):
        raise Trouble("our_fault", trace=f"judged {len(judged)} rules of {len(wanted)}")
    held = all(verdict["outcome"] == "holds" for verdict in judgement.verdicts)
    round.accepted = held and wanted == every


def limit():
    """Seconds a rule: more on a busy machine, so that no verdict depends on other work."""
    try:
        busy = os.getloadavg()[0] / (os.cpu_count() or 1)
    except (AttributeError, OSError):  # a system without load averages
        busy = 1.0
    return LIMIT * max(1.0, busy)


def failures(say, round):
    """``{rule: "" or why it does not hold}``."""
    return {
        verdict["rule"]: "" if verdict["outcome"] == "holds" else report.in_words(say.lang, verdict)
        for verdict in round.judgement.verdicts
    }
