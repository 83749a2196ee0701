"""Where a learner stands in a challenge, read from its ledger and from nowhere else."""

from . import challenge as challenges
from . import ledger, workspace
from .sheet import Prediction

STATES = ("untouched", "open", "started", "predicted", "accepted", "shown")


class Progress:
    """What the ledger tells of one challenge."""

    def __init__(self, challenge):
        self.challenge = challenge
        self.ledger = ledger.read(challenge.ledger)
        self.start = self.ledger.last("start")

    @property
    def level(self):
        return self.start["level"] if self.start else 1

    @property
    def seed(self):
        return self.start.get("seed") if self.start else None

    @property
    def choice(self):
        """Which exercise of the challenge this is: attempts and acceptance belong to it."""
        return self.start["faults"] if self.start else []

    def faults(self):
        """The planted faults, in the order of their letters."""
        return challenges.unseal(self.choice)

    def letters(self):
        return challenges.LETTERS[: len(self.choice)]

    def of(self, kind):
        """The entries of one kind since this exercise began."""
        begun = 0
        for i, entry in enumerate(self.ledger.entries):
            if entry["kind"] == "start" and entry["faults"] != self.choice:
                begun = i + 1
        return [entry for entry in self.ledger.entries[begun:] if entry["kind"] == kind]

    @property
    def attempt(self):
        """The number of the attempt that is open: 1, and one more for every ``--again``."""
        return 1 + len(self.of("again"))

    @property
    def sealed(self):
        """The first complete sheet of this attempt, or None: later ones are revisions."""
        return next((seal for seal in self.of("seal") if seal["attempt"] == self.attempt), None)

    @property
    def checks(self):
        return self.of("check")

    @property
    def checks_of_attempt(self):
        return [check for check in self.checks if check["attempt"] == self.attempt]

    @property
    def accepted(self):
        """The check that was accepted last, or None."""
        return next((check for check in reversed(self.checks) if check["accepted"]), None)

    @property
    def shown(self):
        """The letters whose fault was given up."""
        return {entry["letter"] for entry in self.of("shown")}

    def hints(self, letter):
        """How many hints of this fault have been read."""
        return sum(entry["letter"] == letter for entry in self.of("hint"))

    @property
    def scores(self):
        """Every [confidence, foreseen, located] that was scored, whatever the exercise was then."""
        rows = [row for entry in self.ledger.of("scored") for row in entry["rows"]]
        return [row for row in rows if isinstance(row, list) and len(row) == 3]

    @property
    def updated(self):
        """Whether the files that would be handed out today are others than those of the start."""
        try:
            return self.start is not None and workspace.given_hash(self) != self.start["given"]
        except workspace.CHANGED:
            return True

    @property
    def state(self):
        if self.start is None:
            return "untouched"
        if self.accepted is not None:
            return "accepted"
        if self.choice and self.shown == set(self.letters()):
            return "shown"
        if not self.challenge.levels:
            return "open"
        return "predicted" if self.sealed or self.checks else "started"


def predictions_of(seal, letters):
    """The sealed predictions as Prediction objects, whatever a hand has made of them."""
    given = seal["predictions"] if seal else {}
    return {letter: _prediction(given.get(letter)) for letter in letters}


def _prediction(table):
    table = table if isinstance(table, dict) else {}
    symptoms = table.get("symptoms")
    confidence = table.get("confidence")
    return Prediction(
        day=table.get("day"),
        symptoms=tuple(map(str, symptoms)) if isinstance(symptoms, list) else (),
        because=str(table.get("because", "")),
        confidence=confidence if confidence in (1, 2, 3, 4, 5) else None,
    )
