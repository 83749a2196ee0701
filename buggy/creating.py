"""``new``: a catalogue file from five questions, from flags, or from an edit of the reference.

What can be measured is filled in: the rule that rejects first, its day, the symptoms. What only a
person knows is drafted from the rule's own sentences, in both languages, for the author to reword.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.rules import tell

from . import faults, overlay, planting, telling, vocabulary, writing
from .bench import Bench, crashed
from .diffs import NoDiff, edits_between
from .telling import Trouble


def run(say, options):
    """Write ``catalogue/<id>.toml`` and say what was filled in."""
    start = overlay.REFERENCE
    with tempfile.TemporaryDirectory() as before:
        id = _id(say, options)
        path = faults.CATALOGUE / f"{id}.toml"
        if path.exists():
            raise Trouble("new.exists", id=id, path=f"buggy/catalogue/{id}.toml")
        if options.from_diff:
            start = Path(before)
            edits = _from_diff(start)
        else:
            edits = _edits(say, options)
        sources = _sources(say, options)
        planting.plant(edits, start=start)
        fault = _measured(id, edits, start, sources, options)
    try:
        path.write_text(writing.as_toml(fault), encoding="utf-8", newline="\n")
    except OSError as error:
        raise Trouble("error.unwritable", path=str(path), reason=error.strerror) from None
    _tell(say, fault, options.from_diff)


def _ask(sentence):
    """One line of standard input; the question goes to standard error."""
    print(sentence, end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip()


def _ask_lines(sentence):
    print(sentence, file=sys.stderr, flush=True)
    lines = []
    for line in sys.stdin:
        if line.strip() == ".":
            break
        lines.append(line.rstrip("\n"))
    return "\n".join(lines)


def _id(say, options):
    id = options.id or (None if options.from_diff else _ask(say("new.ask_id")))
    if not id:
        raise Trouble("new.no_id")
    if not faults.well_named(id):
        raise Trouble("bad_fault.value_id", file="--id", found=id)
    return id


def _edits(say, options):
    known = ", ".join(overlay.JUDGED)
    module = options.module or _ask(say("new.ask_module", known=known))
    correct = options.correct or _ask_lines(say("new.ask_correct"))
    planted = options.planted
    if planted is None:
        planted = _ask_lines(say("new.ask_planted"))
    return [planting.Edit(module, correct, planted)]


def _sources(say, options):
    if options.source is not None:
        found = options.source
    elif options.from_diff or options.correct:
        found = []
    else:
        found = _ask(say("new.ask_source")).split()
    if not all(source.startswith("https://") for source in found):
        raise Trouble("bad_fault.value_sources", file="--source", found=" ".join(found))
    return tuple(found)


def _from_diff(before):
    """The edits that lead from the last commit to the files as they are; writes the former."""
    known = ", ".join(f"{name}.py" for name in overlay.JUDGED)
    for name in _git("diff", "--name-only", "--relative", "HEAD", "--", ".").split():
        if Path(name).stem not in overlay.JUDGED or Path(name).suffix != ".py":
            raise Trouble("new.foreign", file=f"reference/{name}", known=known)
    edits = []
    for module in overlay.JUDGED:
        source = _git("show", f"HEAD:./{module}.py")
        (before / f"{module}.py").write_text(source, encoding="utf-8", newline="\n")
        after = (overlay.REFERENCE / f"{module}.py").read_text(encoding="utf-8")
        try:
            edits += edits_between(module, source, after)
        except NoDiff:
            continue
    if not edits:
        raise Trouble("new.no_diff")
    return edits


def _git(*arguments):
    command = ["git", "-C", str(overlay.REFERENCE), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=True)
    except FileNotFoundError:
        raise Trouble("new.no_git", reason="git") from None
    except subprocess.CalledProcessError as error:
        reason = (error.stderr.strip().splitlines() or ["git"])[-1]
        raise Trouble("new.no_git", reason=reason) from None
    return done.stdout


def _measured(id, edits, start, sources, options):
    """The Fault with its rule, day and symptoms as measured, and a draft of its story."""
    bench = Bench()
    with tempfile.TemporaryDirectory() as folder:
        modules = planting.plant(edits, folder, start)
        broken = bench.folder_rejections(folder, modules, first=True)
        if not broken:
            raise Trouble("new.survived")
        first = broken[0]
        if crashed(first):
            raise Trouble("new.crashed", found=first["numbers"].get("found", first["observed"]))
        package = overlay.load(folder)
        from . import check_command

        symptoms = check_command.shown(package)
    rule = next(rule for rule in bench.rules if rule.id == first["rule"])
    titles = {"en": options.title, "ja": options.title_ja}
    text = {lang: draft(lang, rule, first, titles[lang]) for lang in faults.LANGUAGES}
    plain = options.difficulty, sources, tuple(edits), text
    return faults.Fault(id, rule.day, rule.id, tuple(symptoms), *plain)


def draft(lang, rule, verdict, title=None):
    """Title, hints and explanation from the sentences of the rule that rejects it."""
    say, law = telling.speaker(lang), tell.law(telling.speaker(lang), rule.id)
    name = say(f"rule.{rule.id}.title")
    lesson = "draft.lesson_x" if rule.day == "X" else "draft.lesson"
    return {
        "title": title or say("draft.title", title=name),
        "hints": [
            say("draft.try", tried=tell.tried(say, verdict)),
            say("draft.component", entry=rule.entry.split(".")[0]),
            say("draft.idea", law=law),
            say(lesson, day=rule.day, title=name),
        ],
        "explanation": say("draft.explanation", law=law, observed=tell.observed(say, verdict)),
    }


def _tell(say, fault, from_diff):
    symptoms = ", ".join(word for word in vocabulary.words() if word in fault.symptoms)
    path = f"buggy/catalogue/{fault.id}.toml"
    print(say("new.written", path=path, rule=fault.rule, day=fault.day, symptoms=symptoms))
    if from_diff:
        print(say("new.restore"))
    print(say("new.check", id=fault.id))
