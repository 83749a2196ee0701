"""The faults: one small file each in ``catalogue/``, whose name is the fault's id.

A file holds the edit that plants the fault, the day and the rule that rejects it first, the
symptoms that a person sees, where it happened to somebody, and its story in every language.
"""

import difflib
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from .planting import Edit

CATALOGUE = Path(__file__).with_name("catalogue")
DAYS = (43, 44, 45, 46, 47, 48, 49, "X")
LANGUAGES = ("en", "ja")
HINTS = 4  # an experiment to try, the component, the idea, the lesson

_ID = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)+")
_FIELDS = {
    "day": (int, str),
    "rule": str,
    "symptoms": list,
    "difficulty": int,
    "sources": list,
    "edit": list,
    "en": dict,
    "ja": dict,
}
_OPTIONAL = {"equivalent": str, "depends": dict}


class BadFault(Exception):
    """A fault file that cannot be used: a message id and what it speaks of."""

    def __init__(self, message, **found):
        self.message, self.found = message, found
        super().__init__(f"{message}: {found}")


@dataclass(frozen=True)
class Fault:
    """One thing that people get wrong, as edits of the reference."""

    id: str
    day: int | str
    rule: str
    symptoms: tuple
    difficulty: int
    sources: tuple
    edits: tuple
    text: dict = field(repr=False)
    equivalent: str | None = None
    depends: dict = field(default_factory=dict)

    def title(self, lang="en"):
        return self.text[lang]["title"]

    def hints(self, lang="en"):
        """Four rungs, from an experiment to try up to the lesson."""
        return self.text[lang]["hints"]

    def explanation(self, lang="en"):
        return self.text[lang]["explanation"]

    @property
    def crashes(self):
        """Whether the fault is meant to be seen as an error: its symptom is a crash."""
        return any(word.startswith("crash") for word in self.symptoms)


def ids():
    """The ids of all faults, in the order of the alphabet."""
    return sorted(path.stem for path in CATALOGUE.glob("*.toml"))


def load(id):
    """The fault of that id. Raises BadFault, which names the nearest ids when there is no such."""
    path = CATALOGUE / f"{id}.toml"
    if id not in ids():
        raise BadFault("unknown", id=id, near=", ".join(nearest(id)))
    return read(path)


def load_all():
    """Every fault of the catalogue, day by day."""
    faults = [read(CATALOGUE / f"{id}.toml") for id in ids()]
    return sorted(faults, key=lambda fault: (DAYS.index(fault.day), fault.difficulty, fault.id))


def nearest(id):
    """Up to three ids that look like ``id``, or that share a word with it."""
    known = ids()
    close = difflib.get_close_matches(id, known, n=3, cutoff=0.5)
    return close or [k for k in known if set(id.split("_")) & set(k.split("_"))][:3]


def well_named(id):
    """Two or more words of small letters, joined by _."""
    return _ID.fullmatch(id) is not None


def read(path):
    """A fault from its file. Raises BadFault when the file is ill-formed."""
    path = Path(path)
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadFault("not_toml", file=path.name, reason=str(error)) from None
    _check_fields(path, table)
    _check_values(path, table)
    return Fault(
        id=path.stem,
        edits=tuple(_edit(path, edit) for edit in table["edit"]),
        text={lang: _text(path, lang, table[lang]) for lang in LANGUAGES},
        symptoms=tuple(table["symptoms"]),
        sources=tuple(table["sources"]),
        **{name: table[name] for name in ("day", "rule", "difficulty")},
        **{name: table[name] for name in _OPTIONAL if name in table},
    )


def _check_fields(path, table):
    for name in table:
        if name not in _FIELDS | _OPTIONAL:
            known = ", ".join(_FIELDS | _OPTIONAL)
            raise BadFault("unknown_field", file=path.name, field=name, known=known)
    for name, kind in (_FIELDS | _OPTIONAL).items():
        if name not in table and name in _OPTIONAL:
            continue
        if not isinstance(table.get(name), kind):
            raise BadFault("field", file=path.name, field=name, wanted=_kind(kind))


def _check_values(path, table):
    wrong = None
    if not well_named(path.stem):
        wrong = ("id", path.stem)
    elif table["day"] not in DAYS:
        wrong = ("day", table["day"])
    elif table["difficulty"] not in (1, 2, 3):
        wrong = ("difficulty", table["difficulty"])
    elif not table["symptoms"] or len(set(table["symptoms"])) < len(table["symptoms"]):
        wrong = ("symptoms", table["symptoms"])
    elif not all(isinstance(s, str) and s.startswith("https://") for s in table["sources"]):
        wrong = ("sources", table["sources"])
    elif not table["edit"]:
        wrong = ("edit", table["edit"])
    if wrong:
        raise BadFault(f"value_{wrong[0]}", file=path.name, found=wrong[1])


def _edit(path, table):
    if set(table) != {"module", "correct", "planted"}:
        raise BadFault("edit_fields", file=path.name, found=", ".join(table))
    return Edit(**table)


def _text(path, lang, table):
    if set(table) != {"title", "hints", "explanation"}:
        raise BadFault("text_fields", file=path.name, lang=lang, found=", ".join(table))
    sentences = [table["title"], table["explanation"], *table["hints"]]
    if len(table["hints"]) != HINTS or not all(isinstance(s, str) and s.strip() for s in sentences):
        raise BadFault("text_empty", file=path.name, lang=lang, hints=HINTS)
    return table


def _kind(kind):
    kinds = kind if isinstance(kind, tuple) else (kind,)
    return " / ".join(k.__name__ for k in kinds)
