"""``list`` and ``show``: the catalogue as a table, and one fault as a story."""

import difflib
import json

from rich.markup import escape
from rich.table import Table

from tests.rules import tell

from . import faults, planting, telling
from .overlay import REFERENCE

CONTEXT = 2  # lines of the reference around a change


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


def table(say, found):
    """One line a fault."""
    columns = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("day", "id", "symptoms", "difficulty", "source"):
        columns.add_column(say(f"list.{name}"), overflow="fold", no_wrap=name in ("day", "id"))
    for fault in found:
        first = telling.source(fault.sources[0]) if fault.sources else "-"
        more = f" +{len(fault.sources) - 1}" if len(fault.sources) > 1 else ""
        symptoms = " ".join(fault.symptoms)
        columns.add_row(str(fault.day), fault.id, symptoms, str(fault.difficulty), first + more)
    return columns


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


def story(say, fault, hints=False):
    """Everything about one fault, as lines of markup."""
    head = "show.day_x" if fault.day == "X" else "show.day"
    about = say(head, day=fault.day, difficulty=fault.difficulty)
    yield f"[bold]{escape(fault.title(say.lang))}[/]"
    yield f"{fault.id}  ({about})"
    yield ""
    yield escape(fault.explanation(say.lang))
    yield f"\n[bold]{say('show.planted')}[/]"
    yield from _coloured(fault)
    yield f"\n[bold]{say('show.rule')}[/]  {fault.rule}"
    if f"rule.{fault.rule}.law" in say:
        yield f"  {escape(tell.law(say, fault.rule))}"
    yield f"\n[bold]{say('show.symptoms')}[/]"
    yield from (f"  {word}: {escape(telling.symptom(word, say.lang))}" for word in fault.symptoms)
    if fault.sources:
        yield f"\n[bold]{say('show.sources')}[/]"
        yield from (f"  {url}" for url in fault.sources)
    if fault.equivalent:
        yield f"\n[bold]{say('show.equivalent')}[/]  {escape(fault.equivalent)}"
    yield f"\n[bold]{say('show.hints')}[/]  " + ("" if hints else say("show.no_hints"))
    if hints:
        yield from (f"  {n}  {escape(rung)}" for n, rung in enumerate(fault.hints(say.lang), 1))


def _coloured(fault):
    styles = {"+": "green", "-": "red", "@": "dim"}
    for line in diff(fault):
        style = styles.get(line[0], "none")
        text = escape(line.rstrip("\n"))
        yield f"  [{style}]{text}[/]"


def as_json(items):
    return json.dumps(items, ensure_ascii=False, indent=1)
