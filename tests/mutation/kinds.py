"""How a mutant was rejected: by a claim, by a refusal, or by a mere crash."""

import traceback

from _pytest.outcomes import Failed

from tests.rules.claims import Broken

CLAIM, REFUSAL, CRASH, TIMEOUT, DIED = "claim", "refusal", "crash", "timeout", "died"


def cause(error):
    """The exception itself, where hypothesis wrapped it in a group."""
    return cause(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


def kind(error):
    """``claim``: a number, a shape or an effect was wrong; ``refusal``: the package raised
    ValueError at a legal input; ``crash``: it raised anything else.

    A claim that only reports an exception of the package counts as that exception.
    """
    error = cause(error)
    if isinstance(error, Broken) and error.observed in ("raised", "other_error"):
        error = error.__cause__
    if isinstance(error, (Broken, AssertionError, Failed)):
        return CLAIM
    return REFUSAL if isinstance(error, ValueError) else CRASH


def describe(error):
    """One line: the ids and numbers of a claim, the class and text of another exception."""
    error = cause(error)
    if isinstance(error, Broken):
        return f"{error.observed} {error.numbers}"[:200]
    text = " ".join("".join(traceback.format_exception_only(error)).split())
    return text[:200]
