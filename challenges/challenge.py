"""A challenge: the file that describes it, and the faults that it plants."""

import hashlib
import random
import tomllib
from dataclasses import dataclass
from pathlib import Path

from buggy import faults, overlay, planting

from . import handout, rulebook
from .files import Trouble

HERE = Path(__file__).resolve().parent
LETTERS = "ABCDEFGH"
DRAWS = 200  # draws of faults that can stand together, before giving up


@dataclass(frozen=True)
class Challenge:
    """What ``challenge.toml`` says, and where it stands."""

    folder: Path
    table: dict

    @property
    def name(self):
        """The name that commands take: ``day49``, ``day49/activity1``."""
        return self.folder.relative_to(HERE).as_posix()

    @property
    def work(self):
        return self.folder / "work"

    @property
    def ledger(self):
        return self.work / "ledger.jsonl"

    @property
    def levels(self):
        return self.table.get("level", [])

    @property
    def marked(self):
        """Whether the planted lines carry their letters."""
        return self.table.get("marked", True)

    @property
    def rules(self):
        """The ids of the rules that judge it: all in a hunt, those of ``judged`` in a drill."""
        return rulebook.ids(None if self.levels else self.table.get("judged", []))

    @property
    def questions(self):
        """The file with the sheet of questions, or None."""
        path = self.folder / "questions.toml"
        return path if path.is_file() else None

    def text(self, lang, name):
        return self.table[lang][name]


def find(name):
    """The challenge of that name. Raises Trouble, which lists the names, when there is none."""
    folder = HERE / name.strip("/").removeprefix("challenges/")
    if not (folder / "challenge.toml").is_file():
        known = ", ".join(challenge.name for challenge in all_in_order())
        raise Trouble("no_challenge", found=name, known=known)
    return read(folder)


def read(folder):
    """The challenge in that folder."""
    path = Path(folder) / "challenge.toml"
    return Challenge(Path(folder).resolve(), tomllib.loads(path.read_text(encoding="utf-8")))


def all_in_order():
    """Every challenge, day by day, activities before the hunt of their day, ``final`` last."""
    folders = [path.parent for path in HERE.glob("**/challenge.toml")]
    names = {folder: folder.relative_to(HERE).parts for folder in folders}
    last = "~"  # behind every name
    key = {f: (n[0] == "final", n[0], n[1] if len(n) > 1 else last) for f, n in names.items()}
    return [read(folder) for folder in sorted(folders, key=key.get)]


def choose(challenge, level=1, seed=None):
    """The faults of a level: those it names, or with a seed others of the same days.

    Raises Trouble when there is no such level.
    """
    if not challenge.levels:
        return []  # a drill
    if not 1 <= level <= len(challenge.levels):
        raise Trouble("no_level", level=level, levels=len(challenge.levels), name=challenge.name)
    table = challenge.levels[level - 1]
    if "draw" in table:
        return draw(challenge, [None] * table["draw"], seed or 0)
    named = [faults.load(id) for id in table["faults"]]
    return named if seed is None else draw(challenge, named, seed)


def draw(challenge, like, seed):
    """Faults of the catalogue that can stand together, each of the day of the one in ``like``."""
    dice = random.Random(seed)
    for _ in range(DRAWS):
        chosen = []
        for model in like:
            pool = [f for f in faults.load_all() if f not in chosen and _alike(f, model)]
            chosen.append(dice.choice(pool or [model]))
        if _fit(chosen, challenge.marked):
            return _by_place(chosen)
    raise Trouble("no_draw", seed=seed)


def _alike(fault, model):
    if fault.equivalent is not None:
        return False
    return model is None or fault.day == model.day


def _fit(chosen, marked):
    """Whether the faults can be planted together, each on lines of its own."""
    try:
        handout.sources(chosen, marked)
    except (planting.StaleFault, handout.NoPlace):
        return False
    return len({fault.id for fault in chosen}) == len(chosen)


def _by_place(chosen):
    """In the order of the data flow: as a reader meets them."""

    def place(fault):
        edit = fault.edits[0]
        text = (overlay.REFERENCE / f"{edit.module}.py").read_text(encoding="utf-8")
        return overlay.JUDGED.index(edit.module), text.find(edit.correct)

    return sorted(chosen, key=place)


def seal_id(id):
    """A fault's id as the ledger keeps it: it can be found again, and not be read."""
    return hashlib.sha256(f"gpt bug hunt {id}".encode()).hexdigest()[:12]


def unseal(sealed):
    """The faults behind sealed ids. Raises Trouble when the catalogue no longer has one."""
    known = {seal_id(id): id for id in faults.ids()}
    if not all(name in known for name in sealed):
        raise Trouble("fault_gone")
    return [faults.load(known[name]) for name in sealed]
