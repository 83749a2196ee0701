"""What came of a mutant."""

from dataclasses import dataclass

from .kinds import DIED, TIMEOUT

SURVIVED, KILLED = "survived", "killed"


@dataclass(frozen=True)
class Result:
    """A mutant and its ``killers``, (rule, kind, what) triples, the first killer first.

    ``by``: what judged it, "rules" (our worker) or "mutmut". ``seconds``: processor time.
    """

    mutant: object
    killers: tuple = ()
    by: str = "rules"
    seconds: float = 0.0

    @property
    def verdict(self):
        """killed, survived, timeout or died. An endless loop or a dead process is no kill."""
        kinds = [kind for _, kind, _ in self.killers]
        real = [kind for kind in kinds if kind not in (TIMEOUT, DIED)]
        if real:
            return KILLED
        return kinds[0] if kinds else SURVIVED

    def rules(self, *kinds):
        """The rules that rejected it in one of these ways, or in any."""
        return [rule for rule, kind, _ in self.killers if not kinds or kind in kinds]


def result(mutant, answer):
    """From a worker's answer."""
    return Result(mutant, tuple(map(tuple, answer["killers"])), "rules", answer["seconds"])
