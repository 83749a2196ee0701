"""A fault as the text of its file: the one form in which all files of the catalogue are kept."""

from .faults import LANGUAGES


def as_toml(fault):
    """The catalogue file of a Fault; ``faults.read`` of it gives the fault back."""
    lines = [
        f"day = {_day(fault.day)}",
        f"rule = {quote(fault.rule)}",
        f"symptoms = [{', '.join(map(quote, fault.symptoms))}]",
        f"difficulty = {fault.difficulty}",
        f"sources = {_list(fault.sources)}",
    ]
    if fault.equivalent is not None:
        lines.append(f"equivalent = {quote(fault.equivalent)}")
    lines += [f"depends.{name} = {quote(note)}" for name, note in fault.depends.items()]
    for edit in fault.edits:
        lines += ["", "[[edit]]", f"module = {quote(edit.module)}"]
        lines += [f"correct = {block(edit.correct)}", f"planted = {block(edit.planted)}"]
    for lang in LANGUAGES:
        lines += ["", f"[{lang}]", f"title = {quote(fault.title(lang))}"]
        lines += [f"hints = {_list(fault.hints(lang))}"]
        lines += [f"explanation = {quote(fault.explanation(lang))}"]
    return "\n".join(lines) + "\n"


def quote(text):
    """A basic TOML string on one line."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\n", "\\n").replace("\t", "\\t") + '"'


def block(text):
    """Code: as it stands between three apostrophes when it has several lines or quotes."""
    if "'''" in text or not ("\n" in text or '"' in text or "\\" in text):
        return quote(text)
    return f"'''\n{text}'''"


def _day(day):
    return quote(day) if isinstance(day, str) else str(day)


def _list(items):
    if not items:
        return "[]"
    return "[\n" + "".join(f"  {quote(item)},\n" for item in items) + "]"
