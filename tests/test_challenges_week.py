"""The whole week: every challenge can be begun, rejected in every partial state, and passed."""

import itertools
import re
import shutil
import string
import tomllib
from functools import cache

import pytest

from buggy import faults as catalogue
from buggy import overlay
from challenges import challenge as challenges
from challenges import handout, rulebook, words
from tests.rules.manifest import RULES, in_order, run
from tests.rules.words import LANGUAGES
from tests.scripted import ROOT, Learner, sheet

WEEK = challenges.all_in_order()
HUNTS = [challenge for challenge in WEEK if challenge.levels]
LEVELS = [
    pytest.param(challenge, level, id=f"{challenge.name}:{level}")
    for challenge in HUNTS
    for level in range(1, 1 + len(challenge.levels))
]
MESSAGES = tomllib.loads(words.MESSAGES.read_text(encoding="utf-8"))


def test_the_list_of_rules_without_torch_is_the_manifest():
    wanted = [(rule.id, rule.day, rule.entry) for rule in in_order()]
    assert [(rule.id, rule.day, rule.entry) for rule in rulebook.rules_in_order()] == wanted


def test_the_week_is_whole():
    names = [challenge.name for challenge in WEEK]
    days = [f"day{day}" for day in range(43, 50)]
    activities = [f"day47/activity{i}" for i in (1, 2, 3, 4)]
    activities += [f"day49/activity{i}" for i in (1, 2, 3)]
    assert set(names) == {*days, *activities, "final"}
    assert names[0] == "day43"
    assert names[-1] == "final"
    assert names.index("day47/activity4") < names.index("day47")


@cache
def planted(ids, tmp):
    """A package with these faults in it, loaded."""
    folder = tmp / "-".join(ids)
    folder.mkdir()
    for module, text in handout.sources([catalogue.load(id) for id in ids], marked=False).items():
        (folder / f"{module}.py").write_text(text, encoding="utf-8")
    return overlay.load(folder)


@pytest.mark.parametrize(("challenge", "level"), LEVELS)
def test_every_partial_fix_of_every_level_is_rejected(challenge, level, tmp_path):
    """By a rule that a fault that is left was made to be rejected by."""
    faults = challenges.choose(challenge, level)
    for count in range(1, len(faults) + 1):
        for left in itertools.combinations(faults, count):
            gpt = planted(tuple(fault.id for fault in left), tmp_path)
            verdicts = [run(RULES[fault.rule], gpt) for fault in left]
            assert any(v.outcome == "broken" for v in verdicts), [fault.id for fault in left]


@pytest.mark.parametrize(("challenge", "level"), LEVELS)
def test_every_level_is_handed_out_with_its_marks_and_tells_no_id(challenge, level):
    faults = challenges.choose(challenge, level)
    texts = handout.sources(faults, challenge.marked)
    whole = "\n".join(texts.values())
    for letter, fault in zip(challenges.LETTERS, faults):
        assert (f"# ({letter})" in whole) == challenge.marked
        assert fault.id not in whole
        assert fault.equivalent is None


@pytest.mark.parametrize("seed", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("challenge", HUNTS, ids=lambda challenge: challenge.name)
def test_a_seed_draws_faults_of_the_same_days_that_stand_together(challenge, seed):
    usual = challenges.choose(challenge)
    drawn = challenges.choose(challenge, seed=seed)
    assert drawn == challenges.choose(challenge, seed=seed)
    assert len({fault.id for fault in drawn}) == len(usual)
    handout.sources(drawn, challenge.marked)
    if "faults" in challenge.levels[0]:
        days = [sorted(str(fault.day) for fault in faults) for faults in (usual, drawn)]
        assert days[0] == days[1]


def test_every_challenge_speaks_both_languages():
    for challenge in WEEK:
        for name in ("title", "task"):
            english, japanese = challenge.text("en", name), challenge.text("ja", name)
            assert english.strip(), (challenge.name, name)
            assert re.search("[ぁ-んァ-ヶ一-龠]", japanese), (challenge.name, name)


def entries(table=None, path=""):
    """Every (key, {"en": ..., "ja": ...}) of the desk's messages."""
    for name, entry in (MESSAGES if table is None else table).items():
        key = f"{path}{name}"
        if set(entry) & set(LANGUAGES):
            yield key, entry
        else:
            yield from entries(entry, f"{key}.")


def placeholders(sentence):
    return {name for _, name, _, _ in string.Formatter().parse(sentence) if name is not None}


def test_every_message_stands_in_both_languages_with_the_same_placeholders():
    for key, both in entries():
        assert set(both) == set(LANGUAGES), key
        assert all(sentence.strip() for sentence in both.values()), key
        assert placeholders(both["en"]) == placeholders(both["ja"]), key


def test_every_message_is_said_somewhere():
    """Literally, or by the pattern of an f-string such as ``state.{...}``."""
    source = "\n".join(p.read_text(encoding="utf-8") for p in words.MESSAGES.parent.glob("*.py"))
    said = set(re.findall(r"""["']((?:\w+\.)+\w+)["']""", source))
    patterns = [
        re.sub(r"\\\{.*?\\\}", r"\\w+", re.escape(text))
        for text in re.findall(r'f"((?:\w+\.)+[^" ]*)"', source)
    ]
    troubles = set(re.findall(r'Trouble\(\s*"(\w+)"', source))
    troubles |= {"near", "where", "nothing_lost"}
    for key, _ in entries():
        by_pattern = any(re.fullmatch(pattern, key) for pattern in patterns)
        trouble = key.startswith("trouble.") and key.removeprefix("trouble.") in troubles
        assert key in said or trouble or (by_pattern and not key.startswith("trouble.")), key


READMES = [path.parent for path in sorted((ROOT / "challenges").rglob("README.md"))]


@pytest.mark.parametrize("folder", READMES, ids=lambda folder: folder.name)
def test_a_readme_and_its_twin_are_in_step(folder):
    """The same headings in number, the same commands, paths and words in code."""
    english = (folder / "README.md").read_text(encoding="utf-8")
    japanese = (folder / "README.ja.md").read_text(encoding="utf-8")
    for pattern in (r"^#+ ", r"^\d\. ", r"^- ", r"^\*\*"):
        counts = [len(re.findall(pattern, text, re.M)) for text in (english, japanese)]
        assert counts[0] == counts[1], pattern
    code = [
        sorted(set(re.findall(r"`([^`\n]+)`", text)) - {"README.md", "README.ja.md"})
        for text in (english, japanese)
    ]
    assert code[0] == code[1]
    commands = [re.findall(r"^(?:pytest|python) [^#\n]*", t, re.M) for t in (english, japanese)]
    assert [c.split() for c in commands[0]] == [c.split() for c in commands[1]]
    assert len(english.split("\n")) <= 60


def test_every_hunt_has_a_page():
    assert {challenge.folder for challenge in HUNTS} < set(READMES)


# The thorough form: a person at every challenge


ACCEPTED = ROOT / "tests" / "accepted"
OTHER_STYLE = {
    "attention": "attention_sdpa_is_causal",
    "normalization": "norm_var_mean",
    "feedforward": "ffn_erf_by_hand",
    "block": "block_sums_the_updates",
    "positions": "rotary_complex",
}


@pytest.mark.slow
@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize(("challenge", "level"), LEVELS)
def test_a_learner_passes_every_level_in_two_styles(challenge, level, lang, tmp_path):
    learner = Learner(tmp_path, lang)
    name = challenge.name
    assert learner.command("start", name, "--level", str(level)).returncode == 0
    faults = challenges.choose(challenge, level)
    said = {
        letter: (fault.day, list(fault.symptoms), 3)
        for letter, fault in zip(challenges.LETTERS, faults)
    }
    learner.predict(sheet(**said), name)
    if challenge.questions:
        learner.answer(
            name, nan_faults="B", nan_reason="row_without_keys", collapse_faults="D", first_loss=4.6
        )
    first = learner.pytest(name=name)
    assert first.returncode == 1
    assert len(first.stdout.splitlines()) <= 30
    for path in learner.work(name).glob("*.py"):
        shutil.copy(overlay.REFERENCE / path.name, path)
    done = learner.pytest(name=name)
    assert done.returncode == 0, done.stdout
    assert len(done.stdout.splitlines()) <= 30
    for path in learner.work(name).glob("*.py"):
        other = ACCEPTED / OTHER_STYLE.get(path.stem, "") / path.name
        if other.is_file():
            shutil.copy(other, path)
    assert learner.pytest(name=name).returncode == 0
