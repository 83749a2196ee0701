"""The commands around the loop; each prints one screen and returns an exit status."""

import sys

from . import challenge as challenges
from . import drill, files, ledger, screens, workspace
from . import reveal as reveals
from . import status as statuses
from .desk import Round
from .files import Trouble
from .layout import Screen, tell_person, unbroken
from .progress import Progress, predictions_of

DECLINED = 1


def status(say, options):
    tell_person(statuses.overview(say))


def start(say, options):
    """Begin, or with a seed or a level begin another exercise of the challenge."""
    challenge = challenges.find(options.name)
    if options.level is not None or options.seed is not None:
        _refuse_drill(challenge)
    with files.lock(challenge.folder):
        wanted = {"level": options.level or 1, "seed": options.seed}
        if workspace.begin(challenge, say, **wanted):
            kept = None
        else:
            progress = Progress(challenge)
            if options.level is None and options.seed is None:
                tell_person(_first(say, progress))
                return 0
            challenges.choose(challenge, **wanted)  # refuse before asking
            done = progress.accepted is not None
            if not done and not _confirmed(say, "start", options, challenge):
                return DECLINED
            kept = workspace.renew(challenge, say, **wanted)
    _tell_backup(say, kept)
    tell_person(_first(say, Progress(challenge)))
    return 0


def reset(say, options):
    """Make the work anew, as it was handed out, after asking."""
    progress = _begun(options.name)
    if not _confirmed(say, "reset", options, progress.challenge):
        return DECLINED
    with files.lock(progress.challenge.folder):
        kept = workspace.renew(progress.challenge, say, progress.level, progress.seed)
    _tell_backup(say, kept)
    tell_person(_first(say, Progress(progress.challenge)))
    return 0


def _first(say, progress):
    """The first screen: that of a hunt, or that of a drill."""
    if progress.challenge.levels:
        return screens.first(say, progress)
    return drill.first(say, Round(progress.challenge, progress, []))


def _tell(text):
    """One sentence, wrapped to the width of the terminal."""
    screen = Screen()
    screen.add(text)
    tell_person(screen.text())


def _tell_backup(say, kept):
    if kept is not None:
        _tell(say("command.backup", folder=unbroken(files.shown(kept))) + "\n")


def _confirmed(say, word, options, challenge):
    """Whether the learner typed the word (or said --yes)."""
    if options.yes:
        return True
    _tell(say(f"command.ask_{word}", name=challenge.name, word=word))
    return _typed(say, word)


def _typed(say, word):
    try:
        typed = input("> ")
    except EOFError:
        typed = ""
    if typed.strip() == word:
        return True
    tell_person(say("command.declined"))
    return False


def _begun(name):
    """The progress of a challenge that has been started. Raises Trouble when it has not."""
    challenge = challenges.find(name)
    progress = Progress(challenge)
    if progress.start is None:
        raise Trouble("not_started", folder=files.shown(challenge.folder))
    return progress


def _hunted(name):
    """The progress of a hunt that has been started. Raises Trouble for a drill."""
    _refuse_drill(challenges.find(name))
    return _begun(name)


def _refuse_drill(challenge):
    if not challenge.levels:
        raise Trouble("a_drill", name=challenge.name, folder=files.shown(challenge.folder))


def _letter(progress, given):
    """The letter that was named. Raises Trouble when no line is marked so."""
    letter = (given or "").strip("()").upper()
    if not letter:
        command = f"python -m challenges give-up {progress.challenge.name} {progress.letters()[0]}"
        raise Trouble("which_letter", known=", ".join(progress.letters()), command=command)
    if letter not in list(progress.letters()):
        raise Trouble("no_letter", found=given, known=", ".join(progress.letters()))
    return letter


def hint(say, options):
    """The next rung for one fault: named, or the first whose rule did not hold."""
    progress = _hunted(options.name)
    letter = _letter(progress, options.letter) if options.letter else _unhealed(progress)
    fault = dict(zip(progress.letters(), progress.faults()))[letter]
    ladder = fault.hints(say.lang)
    with files.lock(progress.challenge.folder):
        step = Progress(progress.challenge).hints(letter) + 1
        if step <= len(ladder):  # the last one may be read again
            ledger.append(progress.challenge.ledger, "hint", letter=letter, step=step)
        step = min(step, len(ladder))
    screen = Screen()
    screen.add(say("command.hint", letter=letter, step=step, steps=len(ladder)), "title")
    screen.add(ladder[step - 1], first="  ")
    screen.add()
    name = progress.challenge.name
    command = unbroken(f"python -m challenges give-up {name} {letter}")
    last = step == len(ladder)
    screen.add(say("command.last_hint", command=command) if last else say("command.more_hints"))
    tell_person(screen.text())
    return 0


def _unhealed(progress):
    """The first letter whose fault's own rule did not hold in the last check.

    Two faults may break one rule: those of which all hints are known come last.
    """
    broken = progress.checks[-1]["broken"] if progress.checks else None
    faults = dict(zip(progress.letters(), progress.faults()))
    waiting = [x for x, fault in faults.items() if broken is None or fault.rule in broken]
    waiting = waiting or list(faults)
    fresh = [x for x in waiting if progress.hints(x) < len(faults[x].hints())]
    return (fresh or waiting)[0]


def give_up(say, options):
    """Show one fault, after a typed confirmation, and mark it as shown."""
    progress = _hunted(options.name)
    letter = _letter(progress, options.letter)
    _tell(say("command.ask_give_up", letter=letter))
    if not _typed(say, f"give up {letter}"):
        return DECLINED
    with files.lock(progress.challenge.folder):
        ledger.append(progress.challenge.ledger, "shown", letter=letter)
    screen = Screen()
    fault = dict(zip(progress.letters(), progress.faults()))[letter]
    reveals.one(say, screen, letter, fault, full=True)
    tell_person(screen.text())
    return 0


def reveal(say, options):
    """Everything about the faults, once the challenge is accepted or given up."""
    progress = _hunted(options.name)
    if progress.state not in ("accepted", "shown"):
        raise Trouble("not_accepted", name=progress.challenge.name)
    round = Round(progress.challenge, progress, progress.faults())
    round.predicted = predictions_of(progress.sealed, round.letters)
    tell_person(reveals.screen_of(say, round))
    return 0


def build(say, options):
    """Make the work of the named challenges, or of all, without running anything."""
    named = [challenges.find(name) for name in options.names]
    for challenge in named or challenges.all_in_order():
        with files.lock(challenge.folder):
            made = workspace.begin(challenge, say)
        path = files.shown(challenge.work)
        tell_person(say("command.made" if made else "command.there", folder=path))
    return 0


def watch(say, options):
    from . import watch as watching

    return watching.main(say, _begun(options.name).challenge)


def plot(say, options):
    from . import plot as plotting

    progress = _begun(options.name)
    if not any(progress.challenge.work.glob("*.py")):
        raise Trouble("no_picture", name=options.name)
    return plotting.main(say, progress)


def tell_trouble(say, trouble):
    text = screens.trouble(say, trouble)
    print(text, file=sys.stderr)
