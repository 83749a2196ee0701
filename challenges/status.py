"""The week at a glance."""

from . import challenge as challenges
from . import files, reveal
from .layout import Screen, pad, width
from .progress import Progress

STYLES = {"accepted": "good", "predicted": "warn", "shown": "warn", "started": None}


def overview(say):
    """Every challenge with its state, attempts, hints, and the command that comes next."""
    screen = Screen()
    screen.add(say("status.title"), "title")
    screen.add()
    everyone = [Progress(challenge) for challenge in challenges.all_in_order()]
    room = max(width(progress.challenge.name) for progress in everyone)
    states = max(width(_state(say, progress)) for progress in everyone)
    for progress in everyone:
        state = pad(_state(say, progress), states)
        line = f"  {pad(progress.challenge.name, room)}  {state}  {_counts(say, progress)}"
        screen.raw(line.rstrip(), STYLES.get(progress.state))
    screen.add()
    scores = [row for progress in everyone for row in progress.scores]
    if scores:
        screen.add(reveal.calibration(say, scores))
    if any(map(_changed, everyone)):
        screen.add(say("status.changed"))
    screen.raw(say("status.next", command=_next(everyone)))
    return screen.text()


def _state(say, progress):
    state = say(f"state.{progress.state}")
    if len(progress.challenge.levels) > 1 and progress.start:
        state += say("status.level", level=progress.level)
    return state


def _counts(say, progress):
    if progress.start is None:
        return progress.challenge.text(say.lang, "title")
    hints = sum(progress.hints(letter) for letter in progress.letters())
    numbers = {"attempt": progress.attempt, "checks": len(progress.checks), "hints": hints}
    text = say("status.counts" if progress.choice else "status.checks", **numbers)
    last = progress.checks[-1] if progress.checks else None
    if last and not last["accepted"]:
        what = "held" if progress.challenge.levels else "right"
        text += say(f"status.{what}", held=last["held"], total=last["total"])
    if _changed(progress):
        text += say("status.updated")
    return text


def _changed(progress):
    return progress.accepted and progress.updated


def _next(everyone):
    """The first challenge under way, else the first that is untouched."""
    begun = [p for p in everyone if p.state in ("open", "started", "predicted")]
    fresh = [p for p in everyone if p.state == "untouched"]
    for progress in begun + fresh:
        return f"pytest {files.shown(progress.challenge.folder)}"
    return reveal.again(everyone[-1])
