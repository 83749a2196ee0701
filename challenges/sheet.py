"""The learner's sheets: TOML written for people, read with one clear message for what is wrong."""

import difflib
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from buggy import vocabulary

from . import files
from .files import Trouble

FIELDS = ("day", "symptoms", "because", "confidence")
DAYS = (43, 44, 45, 46, 47, 48, 49, "X")


@dataclass(frozen=True)
class Prediction:
    """What was said of one fault; ``None`` and ``()`` are still to be said."""

    day: int | str | None = None
    symptoms: tuple = ()
    because: str = ""
    confidence: int | None = None

    @property
    def missing(self):
        """The names of the fields that are still empty."""
        empty = {
            "day": self.day is None,
            "symptoms": not self.symptoms,
            "confidence": self.confidence is None,
        }
        return [name for name, is_empty in empty.items() if is_empty]

    def as_dict(self):
        return {
            "day": self.day,
            "symptoms": list(self.symptoms),
            "because": self.because,
            "confidence": self.confidence,
        }


def load(path):
    """The tables of a TOML file. Raises Trouble with the line for what cannot be read."""
    path = Path(path)
    name = files.shown(path)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise Trouble("no_sheet", file=name) from None
    except UnicodeDecodeError:
        raise Trouble("not_utf8", file=name) from None
    except OSError as error:
        raise Trouble("disk", path=name, reason=error.strerror) from error
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"line (\d+)", str(error))
        lines = text.split("\n")
        line = int(place.group(1)) if place else len(text.rstrip().split("\n"))  # the end of it
        found = lines[min(line, len(lines)) - 1].strip()
        reason = str(error).split(" (at")[0]
        raise Trouble("toml", file=f"{name}:{line}", found=found[:60], reason=reason) from None
    except RecursionError:
        raise Trouble("toml", file=name, found="[[[[", reason="nested too deeply") from None


def predictions(path, letters):
    """``({letter: Prediction}, closed_book)``. Raises Trouble for what cannot be understood."""
    table = load(path)
    name = files.shown(path)
    closed_book = table.pop("closed_book", None)
    if closed_book not in (None, True, False):
        wrong = {"field": "closed_book", "found": closed_book, "wanted": "true/false"}
        raise Trouble("field", file=name, **wrong)
    found = {}
    for letter, fields in table.items():
        if letter not in letters or not isinstance(fields, dict):
            known = ", ".join(f"[{known}]" for known in letters)
            raise Trouble("unknown_table", file=name, found=letter, known=known)
        found[letter] = _prediction(name, letter, fields)
    return {letter: found.get(letter, Prediction()) for letter in letters}, closed_book


def _prediction(file, letter, fields):
    for field in fields:
        if field not in FIELDS:
            told = {"file": file, "letter": letter, "found": field, "near": _near(field, FIELDS)}
            raise Trouble("unknown_field", **told, known=", ".join(FIELDS))
    return Prediction(
        day=_day(file, letter, fields.get("day")),
        symptoms=_symptoms(file, letter, fields.get("symptoms", [])),
        because=str(fields.get("because", "")).strip(),
        confidence=_confidence(file, letter, fields.get("confidence")),
    )


def _day(file, letter, given):
    """43 to 49 or X, as a number or a word; 0 and "" are still empty."""
    if given in (None, 0, "") and not isinstance(given, bool):
        return None
    for day in DAYS:
        if str(given).strip().upper() == str(day):
            return day
    raise Trouble("field", file=file, field=f"[{letter}] day", found=given, wanted='43 … 49, "X"')


def _symptoms(file, letter, given):
    given = [given] if isinstance(given, str) and given else given or []
    field = f"[{letter}] symptoms"
    if not isinstance(given, list) or not all(isinstance(word, str) for word in given):
        raise Trouble("field", file=file, field=field, found=given, wanted='["…", "…"]')
    known = vocabulary.words()
    for word in given:
        if word not in known:
            told = {"file": file, "field": field, "found": word, "near": _near(word, known)}
            raise Trouble("unknown_symptom", **told, known=", ".join(known))
    if vocabulary.NOTHING in given and len(set(given)) > 1:
        raise Trouble("nothing_and_something", file=file, field=field, word=vocabulary.NOTHING)
    return tuple(dict.fromkeys(given))


def _confidence(file, letter, given):
    if given in (None, 0, "") and not isinstance(given, bool):
        return None
    if isinstance(given, bool) or given not in (1, 2, 3, 4, 5):
        field = f"[{letter}] confidence"
        raise Trouble("field", file=file, field=field, found=given, wanted="1 … 5")
    return int(given)


def _near(word, known):
    """The closest known word, or "" when none is close."""
    return next(iter(difflib.get_close_matches(word, known, n=1, cutoff=0.5)), "")


def template(say, challenge, letters, lang):
    """An empty predictions sheet in the chosen language, with every symptom word explained."""
    lines = [f"# {line}".rstrip() for line in say("sheet.head", name=challenge.name).splitlines()]
    room = max(len(word) for word in vocabulary.words())
    for word in vocabulary.words():
        lines.append(f"#   {word:<{room}}  {vocabulary.meaning(word, lang)}")
    lines += ["", f"# closed_book = true    # {say('sheet.closed_book')}"]
    for letter in letters:
        lines += ["", f"[{letter}]", "day = 0", "symptoms = []", 'because = ""', "confidence = 0"]
    return "\n".join(lines) + "\n"
