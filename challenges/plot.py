"""Pictures: what the learner's GPT does beside the correct one, and what each fault alone does."""

from buggy import planting

from . import files
from .layout import Screen, tell_person
from .measure import Asking
from .rounds import Round, check_files

SECONDS = 180
# Which picture shows a symptom best; the others are seen in the loss.
KINDS = {
    "attention": "attention",
    "order": "who_moved",
    "identity": "gradient",
    "early": "gradient",
    "weights": "gradient",
}


def main(say, progress):
    """Draw the learner's own model: PNG files beside the work, sketches in the terminal."""
    if progress.sealed is None and not progress.checks:
        raise files.Trouble("predict_first", folder=files.shown(progress.challenge.folder))
    round = Round(progress.challenge, progress, progress.faults())
    check_files(round)
    drawn = _draw(say, progress.challenge.work, progress.challenge.work / "plots")
    tell_person("\n\n".join(drawn["sketches"].values()))
    screen = Screen()
    screen.add()
    for path in drawn["paths"]:
        screen.raw(files.shown(path))
    for sentence in drawn["tell"]:
        screen.add(sentence)
    tell_person(screen.text())
    return 0


def faults(say, round):
    """One picture a fault, planted alone: lines that name the files. For ``--plots``."""
    lines = []
    for letter, fault in zip(round.letters, round.faults):
        kind = next(
            (k for start, k in KINDS.items() if fault.symptoms[0].startswith(start)), "loss"
        )
        target = round.challenge.work / "plots" / letter
        with files.temporary() as folder:
            planting.plant(fault.edits, folder)
            drawn = _draw(say, folder, target, "--kind", kind)
        lines += [f"({letter}) {files.shown(path)}" for path in drawn["paths"]]
        lines += drawn["tell"]
    return list(dict.fromkeys(lines))


def _draw(say, folder, out, *more):
    command = ["buggy.plots", str(folder), "--out", str(out), "--lang", say.lang, "--json"]
    return Asking([*command, *more]).answer(SECONDS)
