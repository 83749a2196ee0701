"""``list`` and ``show``: the catalogue as a table, and one fault as a story."""

import difflib
import json

from rich.markup import escape

from tests.rules import tell

from . import faults, planting, telling
from .overlay import REFERENCE
from .wrapping import cut, pad, width, wrap

CONTEXT = 2  # lines of the reference around a change
SOURCE = 40  # columns for the first source of a fault,
ROOM_FOR_SOURCE = 120  # where there are so many in all


def chosen(day=None, symptom=None, difficulty=None, real=False):
    """The faults that fit all filters. Raises Trouble when there is none."""
    found = [
        fault
        for fault in faults.load_all()
        if (day is None or str(fault.day) == str(day))
        and (symptom is None or symptom in fault.symptoms)
        and (difficulty is None or fault.difficulty == difficulty)
        and (not real or fault.sources)
    ]
    if not found:
        raise telling.Trouble("error.nothing_left")
    return found


def table(say, found, columns):
    """One line of markup a fault, cut where it does not fit; the source where there is room."""
    room = max(width(fault.id) for fault in found)
    wide = columns >= ROOM_FOR_SOURCE
    left = columns - room - 14 - wide * (SOURCE + 2)  # 14: day, level, and the gaps
    rows = [[say(f"list.{name}") for name in ("day", "id", "difficulty", "symptoms", "source")]]
    for fault in found:
        first = telling.source(fault.sources[0]) if fault.sources else "-"
        more = f" +{len(fault.sources) - 1}" if len(fault.sources) > 1 else ""
        words = " ".join(fault.symptoms)
        rows.append([str(fault.day), fault.id, str(fault.difficulty), words, first + more])
    for i, (day, id, level, words, source) in enumerate(rows):
        line = f"{pad(day, 3)}  {pad(id, room)}  {pad(level, 5)}  "
        line += (
            f"{pad(cut(words, left), left)}  {cut(source, SOURCE)}" if wide else cut(words, left)
        )
        yield f"[bold]{escape(line)}[/]" if i == 0 else escape(line)


def as_dict(fault, lang):
    """A fault for ``--json``: without its hints, which are asked for one by one."""
    return {
        "id": fault.id,
        "day": fault.day,
        "title": fault.title(lang),
        "rule": fault.rule,
        "symptoms": list(fault.symptoms),
        "difficulty": fault.difficulty,
        "sources": list(fault.sources),
        "explanation": fault.explanation(lang),
        "diff": "".join(diff(fault)),
    }


def diff(fault):
    """The planted change as a unified diff of the reference."""
    for module, planted in planting.plant(fault.edits).items():
        right = (REFERENCE / f"{module}.py").read_text(encoding="utf-8")
        name = f"reference/{module}.py"
        before, after = right.splitlines(keepends=True), planted.splitlines(keepends=True)
        yield from difflib.unified_diff(before, after, name, f"planted/{module}.py", n=CONTEXT)


def story(say, fault, hints=False, columns=None):
    """Everything about one fault, as lines of markup, wrapped to so many columns."""

    def told(text, first="", rest="  "):
        lines = [first + text] if columns is None else wrap(text, columns, first, rest)
        return map(escape, lines)

    head = "show.day_x" if fault.day == "X" else "show.day"
    about = say(head, day=fault.day, difficulty=fault.difficulty)
    yield f"[bold]{escape(fault.title(say.lang))}[/]"
    yield f"{fault.id}  ({about})"
    yield ""
    yield from told(fault.explanation(say.lang), rest="")
    yield f"\n[bold]{say('show.planted')}[/]"
    yield from _coloured(fault)
    yield f"\n[bold]{say('show.rule')}[/]  {fault.rule}"
    if f"rule.{fault.rule}.law" in say:
        yield from told(tell.law(say, fault.rule), "  ")
    yield f"\n[bold]{say('show.symptoms')}[/]"
    for word in fault.symptoms:
        yield f"  {word}"
        yield from told(telling.symptom(word, say.lang), "    ", "    ")
    if fault.sources:
        yield f"\n[bold]{say('show.sources')}[/]"
        yield from (f"  {url}" for url in fault.sources)
    if fault.equivalent:
        yield f"\n[bold]{say('show.equivalent')}[/]"
        yield from told(fault.equivalent, "  ")
    yield f"\n[bold]{say('show.hints')}[/]" + ("" if hints else f"  {say('show.no_hints')}")
    if hints:
        for n, rung in enumerate(fault.hints(say.lang), 1):
            yield from told(rung, f"  {n}  ", " " * 5)


def _coloured(fault):
    styles = {"+": "green", "-": "red", "@": "dim"}
    for line in diff(fault):
        style = styles.get(line[0], "none")
        text = escape(line.rstrip("\n"))
        yield f"  [{style}]{text}[/]"


def as_json(items):
    return json.dumps(items, ensure_ascii=False, indent=1)
