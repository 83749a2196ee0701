"""One run of ``pytest challenges/…``: a hunt or a drill, and what is said when it must stop."""

import traceback

from . import drill, hunt, screens
from .files import Trouble
from .rounds import OUR_FAULT, SOLVED, UNSOLVED, Options, Outcome, Round

__all__ = ["OUR_FAULT", "SOLVED", "UNSOLVED", "Options", "Outcome", "Round", "run"]


def run(challenge, options, say):
    """One run; whatever goes wrong becomes an Outcome, and nothing that was there is lost."""
    try:
        return (hunt if challenge.levels else drill).run(challenge, options, say)
    except Trouble as trouble:
        return _stopped(challenge, trouble, say)
    except Exception:
        return _stopped(challenge, Trouble("our_fault", trace=traceback.format_exc()), say)


def _stopped(challenge, trouble, say):
    status = OUR_FAULT if trouble.message == "our_fault" else UNSOLVED
    text = screens.trouble(say, trouble, challenge)
    return Outcome(text, status, reason=say("trouble.nothing_lost"))
