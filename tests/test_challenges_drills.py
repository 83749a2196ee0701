"""The drills: keys equal the lessons' numbers, every known mistake is told what was forgotten."""

from functools import cache

import pytest

from challenges import challenge as challenges
from challenges import desk, drill, files, forms, keys, questions, words, workspace
from tests.rules.judge import Judgement
from tests.scripted import own_challenge

DRILLS = [c for c in challenges.all_in_order() if c.questions and not c.levels]
CLOSING = challenges.find("day49")


@cache
def sheet_of(name):
    return keys.keys(name)


def cases():
    """Every question of every drill, with its key and its known mistakes."""
    for challenge in DRILLS:
        for question in questions.load(challenge):
            yield pytest.param(challenge, question, id=f"{challenge.name}:{question.id}")


def written(question, value):
    """A key as a learner writes it."""
    if question.kind in ("one_of", "order"):
        return ", ".join(value)
    return value


def test_every_sheet_has_keys_and_every_key_a_question():
    for challenge in DRILLS:
        found, mistakes = sheet_of(challenge.name)
        asked = questions.load(challenge)
        assert {question.id for question in asked} == set(found), challenge.name
        for question in asked:
            known = {mistake["id"] for mistake in question.mistakes}
            assert known == set(mistakes.get(question.id, {})), (challenge.name, question.id)


@pytest.mark.parametrize(("challenge", "question"), list(cases()))
def test_the_key_is_right_and_each_known_mistake_is_told_apart(challenge, question):
    found, mistakes = sheet_of(challenge.name)
    key, known = found[question.id], mistakes.get(question.id, {})
    assert questions.mark(question, written(question, key), key, known).right
    for name, value in known.items():
        mark = questions.mark(question, written(question, value), key, known)
        assert mark.outcome == name
        assert mark.told("en")
        assert mark.told("ja")


@pytest.mark.parametrize(("challenge", "question"), list(cases()))
def test_a_question_stands_in_both_languages(challenge, question):
    assert question.text["en"] != question.text["ja"]
    sentences = [*question.options.values(), *question.mistakes]
    assert all(entry["en"].strip() and entry["ja"].strip() for entry in sentences)
    for lang in ("en", "ja"):
        say = words.speaker(lang)
        text = questions.template(say, challenge)
        assert f'{question.id} = ""' in text


LESSONS = {
    "day47/activity1": {
        "weights": 32_768,
        "with_biases": 33_088,
        "swiglu_width": 171,
        "swiglu_weights": 32_832,
    },
    "day47/activity2": {"z": [1, 4, 1], "y": [0, 5], "residual": [1, 7], "variant_y": [2, 0]},
    "day47/activity3": {"stream": [2, 4, 64], "scores": [2, 4, 4, 4], "hidden": [2, 4, 256]},
    "day47/activity4": {
        "attention": 2_359_296,
        "block": 7_087_872,
        "blocks": 85_054_464,
        "total": 124_439_808,
        "flops_of_weights": 14_155_776,
        "flops_of_scores": 3_145_728,
    },
    "day49/activity1": {"y": [1204, 33, 991, 88], "bytes_int64": 1_048_576, "window": 5},
    "day49/activity2": {"with_biases": 624, "without_biases": 576, "q_split": [2, 3, 5, 4]},
    "day49/activity3": {"block": 12_416, "embeddings": 3_712, "total": 28_608, "untied_adds": 3200},
}


@pytest.mark.parametrize("name", LESSONS)
def test_the_keys_are_the_numbers_of_the_lessons(name):
    found, _ = sheet_of(name)
    assert {id: found[id] for id in LESSONS[name]} == LESSONS[name]


FORMS = [
    (forms.number, 1_048_576, ["1_048_576", "1,048,576", "1 MiB", "1024 KiB", "2**20", "2^20"]),
    (forms.number, 2 / 3, ["2/3", "4718592 / 7077888"]),
    (forms.number, 4.605170185988092, ["ln(100)", "ln 100", "≈ 4.605170185988092"]),
    (forms.number, 14_155_776, ["14155776 FLOPs", "2 * 7,077,888"]),
    (forms.number, -0.5, ["-0.5", "−1/2", "-50%"]),
    (forms.shape, (2, 4, 64), [[2, 4, 64], "(2, 4, 64)", "2x4x64", "2 × 4 × 64", "(2，4，64)"]),
    (forms.tensor, [[1, 0], [0.5, 2]], [[[1, 0], ["1/2", 2]], "[[1,0],[1/2,2]]", "1, 0; 0.5, 2"]),
    (forms.tensor, [1, 4, 1], [[1, 4, 1], "[1, 4, 1]", "1 4 1", "(1, 4, 1)"]),
    (forms.letters, frozenset("BD"), [["B", "D"], "B, D", "(D) and (B)", "d b"]),
    (forms.letters, frozenset(), ["none"]),
    (forms.words, ("a", "b"), [["a", "b"], "a, b", "a -> b", "a → b"]),
]


@pytest.mark.parametrize(("read", "value", "texts"), FORMS)
def test_answers_are_read_as_people_write_them(read, value, texts):
    for text in texts:
        assert read(text) == value, text


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (forms.number, "about five"),
        (forms.number, "__import__('os')"),
        (forms.number, "9**9**9"),
        (forms.number, "1/0"),
        (forms.number, True),
        (forms.tensor, "[[1], [1, 2]]"),
        (forms.tensor, "[1, 2"),
        (forms.tensor, "[]"),
        (forms.shape, "(2, 4.5)"),
        (forms.letters, "AB"),
        (forms.words, 3),
    ],
)
def test_what_cannot_be_read_is_refused(read, text):
    with pytest.raises(forms.Unreadable):
        read(text)


@pytest.fixture
def drilled(tmp_path, monkeypatch):
    """A drill in a folder of its own, started; its keys come from this process."""

    def begin(name):
        found = own_challenge(tmp_path, monkeypatch, name)
        assert desk.run(found, desk.Options(), words.speaker("en")).status == 1
        return found

    class Here:
        """The measuring process, without the process."""

        def __init__(self, challenge, faults, given, cache):
            self.challenge, self.given = challenge, given

        def result(self):
            found, mistakes = sheet_of(self.challenge.name)
            told = {"keys": found, "mistakes": mistakes}
            asked = questions.load(self.challenge)
            return {"symptoms": [], "marks": questions.mark_all(asked, self.given, told, [])}

        def close(self):
            pass

    monkeypatch.setattr(drill, "Measurements", Here)
    return begin


def fill_in(challenge, answers):
    lines = [f"{id} = {_toml(given)}" for id, given in answers.items()]
    files.write(challenge.work / workspace.ANSWERS, "\n".join(lines))


def _toml(given):
    return str(given) if isinstance(given, (int, float, list)) else f'"{given}"'


@pytest.mark.parametrize("name", ["day47/activity1", "day49/activity3"])
def test_a_drill_is_answered_a_little_at_a_time(drilled, name):
    say = words.speaker("en")
    challenge = drilled(name)
    asked = questions.load(challenge)
    found, mistakes = sheet_of(name)
    right = {q.id: written(q, found[q.id]) for q in asked}
    some = dict(list(right.items())[:2])
    fill_in(challenge, some)
    outcome = desk.run(challenge, desk.Options(), say)
    assert outcome.status == 1
    assert f"Answers: 2 of {len(asked)} right" in outcome.text
    assert len(outcome.text.splitlines()) <= 30
    slipped = next(q for q in asked if mistakes.get(q.id))
    mistake = next(iter(mistakes[slipped.id]))
    fill_in(challenge, right | {slipped.id: written(slipped, mistakes[slipped.id][mistake])})
    outcome = desk.run(challenge, desk.Options(), say)
    assert outcome.status == 1
    assert next(m["en"] for m in slipped.mistakes if m["id"] == mistake)[:30] in outcome.text
    fill_in(challenge, right)
    outcome = desk.run(challenge, desk.Options(), say)
    assert outcome.status == 0
    assert "Everything is right" in outcome.text
    assert set(outcome.failures.values()) == {""}


def test_a_function_is_written_from_an_empty_body(drilled, monkeypatch):
    say = words.speaker("ja")
    challenge = drilled("day49/activity1")
    text = (challenge.work / "data.py").read_text(encoding="utf-8")
    assert "raise NotImplementedError" in text
    assert "def get_batch" in text
    found, _ = sheet_of(challenge.name)
    asked = questions.load(challenge)
    fill_in(challenge, {q.id: written(q, found[q.id]) for q in asked})
    judged = []

    def judge(folder, *, rules, **options):
        judged.append(rules)
        outcome = "cannot_be_judged" if "NotImplementedError" in text else "holds"
        blank = {"tried": {}, "observed": None, "allowed": None, "numbers": {}, "day": 49}
        return Judgement([blank | {"rule": rule, "outcome": outcome} for rule in rules])

    monkeypatch.setattr(drill, "judge", judge)
    assert desk.run(challenge, desk.Options(), say).status == 1
    text = text.replace("raise NotImplementedError", "return written_by_the_learner()")
    assert desk.run(challenge, desk.Options(), say).status == 0
    assert judged[0] == challenge.rules
    assert "batches_are_windows_of_the_data" in challenge.rules


def test_no_key_is_kept_beside_the_work(drilled):
    challenge = drilled("day47/activity4")
    desk.run(challenge, desk.Options(), words.speaker("en"))
    kept = "".join(path.read_text(encoding="utf-8") for path in challenge.work.iterdir())
    assert "124439808" not in kept
