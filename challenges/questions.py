"""Sheets of questions: the template, the learner's answers, and how each is held to its key.

A question stands in ``questions.toml`` with its two languages; its key is computed by ``keys`` in a
process of its own when the sheet is checked, and stored nowhere.
"""

import difflib
import tomllib
from dataclasses import dataclass, field

from . import files, forms, layout, sheet
from .files import Trouble

COLUMNS = 88
LETTERS = "ABCDEFGH"


@dataclass(frozen=True)
class Question:
    """One question, its kind of answer, and the mistakes that are known by their value."""

    id: str
    kind: str
    text: dict
    within: float = 0.0  # what a number may be off by
    options: dict = field(default_factory=dict)
    mistakes: tuple = ()
    symptom: str | None = None  # the key is the letters of the faults that were measured to show it


@dataclass(frozen=True)
class Mark:
    """What came of one answer: ``open``, ``right``, ``wrong``, or the id of a known mistake."""

    question: Question
    outcome: str
    given: object = None

    @property
    def right(self):
        return self.outcome == "right"

    def told(self, lang):
        """The sentence that belongs to a recognised mistake, or ""."""
        return next((m[lang] for m in self.question.mistakes if m["id"] == self.outcome), "")


def load(challenge):
    """The questions of a challenge, in their order; none when it has no sheet."""
    if challenge.questions is None:
        return []
    tables = tomllib.loads(challenge.questions.read_text(encoding="utf-8"))["question"]
    return [_question(table) for table in tables]


def _question(table):
    return Question(
        id=table["id"],
        kind=table["kind"],
        text={"en": table["en"], "ja": table["ja"]},
        within=table.get("within", 0.0),
        options=table.get("options", {}),
        mistakes=tuple(table.get("mistake", ())),
        symptom=table.get("symptom"),
    )


def template(say, challenge):
    """An empty answers sheet in the chosen language."""
    lines = [f"# {line}".rstrip() for line in say("answers.head", name=challenge.name).splitlines()]
    for number, question in enumerate(load(challenge), 1):
        text = question.text[say.lang]
        lines += ["", *layout.wrap(text, COLUMNS, f"# {number}. ", "#    ")]
        room = max((layout.width(word) for word in question.options), default=0)
        for word, meaning in question.options.items():
            lines.append(f"#      {layout.pad(word, room)}  {meaning[say.lang]}")
        lines += layout.wrap(_form(say, question), COLUMNS, "#    ", "#    ")
        lines.append(f'{question.id} = ""')
    return "\n".join(lines) + "\n"


def _form(say, question):
    if question.kind == "number" and question.within:
        return say("answers.form.number_within", within=f"{question.within:g}")
    return say(f"answers.form.{question.kind}")


def read(path, questions):
    """``{id: answer}`` as written, None where nothing is. Raises Trouble for unknown names."""
    table = sheet.load(path)
    known = [question.id for question in questions]
    for name in table:
        if name not in known:
            near = next(iter(difflib.get_close_matches(name, known, n=1, cutoff=0.5)), "")
            told = {"file": files.shown(path), "found": name, "near": near}
            raise Trouble("unknown_answer", **told, known=", ".join(known))
    found = {question.id: table.get(question.id) for question in questions}
    for question in questions:
        if found[question.id] not in (None, "", []):
            _readable(path, question, found[question.id])
    return {id: None if given in (None, "", []) else given for id, given in found.items()}


def _readable(path, question, given):
    try:
        value(question, given)
    except forms.Unreadable:
        told = {"file": files.shown(path), "field": question.id, "found": given}
        form = f"answers.form.{question.kind}"
        raise Trouble("answer_form", **told, form=form) from None


def value(question, given):
    """The answer as a value that can be compared. Raises forms.Unreadable."""
    if question.kind == "number":
        return forms.number(given)
    if question.kind in ("vector", "matrix"):
        return forms.tensor(given)
    if question.kind == "shape":
        return forms.shape(given)
    if question.kind == "letters":
        return forms.letters(given)
    words = forms.words(given)
    if not set(words) <= set(question.options) or (question.kind == "one_of" and len(words) != 1):
        raise forms.Unreadable
    return words


def mark_all(questions, given, told, symptoms):
    """Every answer held to its key: computed, or the letters of the faults that show a symptom."""
    keys = dict(told["keys"])
    for question in questions:
        if question.symptom:
            shown = [row[question.symptom]["shown"] for row in symptoms]
            keys[question.id] = [letter for letter, seen in zip(LETTERS, shown) if seen]
    mistakes = told["mistakes"]
    return [mark(q, given.get(q.id), keys[q.id], mistakes.get(q.id, {})) for q in questions]


def marked(questions, given, outcomes):
    """The marks of answers that have not changed since they were held to their keys."""
    return [Mark(q, outcomes.get(q.id, "open"), given.get(q.id)) for q in questions]


def mark(question, given, key, mistaken):
    """Hold one answer to its key and, when it is wrong, to the values of the known mistakes."""
    if given is None:
        return Mark(question, "open")
    answer = value(question, given)
    if _same(question, answer, key):
        return Mark(question, "right", given)
    for mistake in question.mistakes:
        if mistake["id"] in mistaken and _same(question, answer, mistaken[mistake["id"]]):
            return Mark(question, mistake["id"], given)
    return Mark(question, "wrong", given)


def _same(question, answer, key):
    if question.kind in ("number", "vector", "matrix"):
        (mine, shape), (right, wanted) = forms.flat(answer), forms.flat(key)
        close = (abs(a - b) <= max(question.within, 1e-9 * abs(b)) for a, b in zip(mine, right))
        return shape == wanted and all(close)
    if question.kind == "letters":
        return answer == frozenset(key)
    return list(answer) == list(key)
