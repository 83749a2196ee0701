"""The sentences of the rules: complete in both languages, filled by what the sources pass."""

import ast
import dataclasses
import re
import string
import tomllib
import unicodedata
from pathlib import Path

import pytest

from buggy import overlay
from tests import told
from tests.rules import claims, engine, tell, worker
from tests.rules.manifest import RULES, in_order
from tests.rules.words import LANGUAGES

MESSAGES = tomllib.loads(tell.MESSAGES.read_text(encoding="utf-8"))
CLAIMED = ("observed", "allowed")
LABELS = ("tried", *CLAIMED)


def entries():
    """Every (key, {"en": ..., "ja": ...}) of the file."""
    for section, items in MESSAGES.items():
        for name, entry in items.items():
            for part, both in entry.items() if section == "rule" else [("", entry)]:
                yield f"{section}.{name} {part}", both


def placeholders(sentence):
    return {name for _, name, _, _ in string.Formatter().parse(sentence) if name is not None}


def test_every_sentence_stands_in_both_languages():
    for key, both in entries():
        assert set(both) == set(LANGUAGES), key
        assert all(sentence.strip() for sentence in both.values()), key
        assert both["ja"] == both["en"] or re.search("[、ぁ-んァ-ヶ一-龠]", both["ja"]), key


def test_both_languages_tell_the_same_numbers_as_they_come():
    for key, both in entries():
        assert placeholders(both["en"]) == placeholders(both["ja"]), key
        assert not re.search(r"\{\w*[:!]", both["en"] + both["ja"]), f"{key} formats a number"


def test_the_rules_are_those_of_the_manifest_in_its_order():
    assert list(MESSAGES["rule"]) == [rule.id for rule in in_order()]


def test_every_rule_has_a_title_a_law_and_an_experiment():
    for name, entry in MESSAGES["rule"].items():
        assert list(entry) == ["title", "law", "tried"], name


@pytest.mark.parametrize("rule", in_order(), ids=lambda rule: rule.id)
def test_an_experiment_is_told_with_numbers_that_the_rule_gives_on_every_path(rule):
    given = told.tried(rule.judge.__module__.rsplit(".", 1)[-1], rule.id)
    assert given, "it never says what it tries"
    assert placeholders(MESSAGES["rule"][rule.id]["tried"]["en"]) <= set.intersection(*given)
    assert all(given), "without any number the experiment is not told"


def test_every_claim_has_its_two_sentences_filled_by_the_numbers_it_passes():
    for pair, numbers in told.told():
        for section, key in pair:
            assert key in MESSAGES[section], f"{section}.{key}"
            assert placeholders(MESSAGES[section][key]["en"]) <= numbers, f"{section}.{key}"
            assert tell.words("en")(f"{section}.{key}", **dict.fromkeys(numbers, 1))


def test_every_refusal_has_a_sentence_filled_by_what_was_found():
    source = ast.parse(Path(overlay.__file__).read_text(encoding="utf-8"))
    refused = list(told.calls(source, "Refused"))
    assert {call.args[0].value for _, call in refused} == set(MESSAGES["refused"])
    for _, call in refused:
        sentence = MESSAGES["refused"][call.args[0].value]["en"]
        assert placeholders(sentence) <= {keyword.arg for keyword in call.keywords}


def test_no_sentence_is_missing_and_none_is_left_over():
    ids = told.outcomes() | {each for pair, _ in told.told() for each in pair}
    spoken = {section: {key for owner, key in ids if owner == section} for section in CLAIMED}
    spoken["what"] = told.spoken_of()
    spoken["axis"] = told.axes() | {"it", "comma"}
    outcomes = {engine.HOLDS, engine.BROKEN, engine.UNJUDGED, engine.ERROR}
    printed = re.findall(r"'cli\.(\w+)'", ast.unparse(told.SOURCES["__main__"]))
    spoken["cli"] = outcomes | {*LABELS, *printed}
    for section, keys in spoken.items():
        assert set(MESSAGES[section]) == keys, section


def test_no_sentence_holds_a_path_or_a_traceback():
    inner = re.compile(r"Traceback|File \"|\.py:|_gpt_|(^|\s)[~/\\]\w|\w[/\\]\w+[/\\]")
    for key, both in entries():
        assert not inner.search(both["en"] + "\n" + both["ja"]), key


def width(text):
    """Columns in a terminal: full-width characters take two."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


# Numbers of a usual length, and the longest places, names and errors (``claims.describe``).
USUAL = {"place": "batch 1, head 2, position 11, channel 15", "name": "blocks.0.attn.out_proj"}
ERROR = {"place": "normalization.py:100", "found": 100 * "e", "what": "load_checkpoint"}


def lines(section, key, lang, part=None):
    """Lines of 80 columns behind the label."""
    entry = MESSAGES[section][key]
    sentence = (entry if part is None else entry[part])[lang]
    error = section == "observed" and key in ("raised", "raised_at", "unusable")
    filled = dict.fromkeys(placeholders(sentence), "0.000123") | (ERROR if error else USUAL)
    columns = 80 - 4 - width(MESSAGES["cli"]["tried"][lang])
    return -(-width(sentence.format(**filled)) // columns)


@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_broken_rule_is_told_in_six_aligned_lines(lang):
    labels = {width(MESSAGES["cli"][label][lang]) for label in LABELS}
    assert len(labels) == 1, "the sentences start in one column"
    for name, entry in MESSAGES["rule"].items():
        assert width(entry["law"][lang]) <= 80, name
        assert width(entry["title"][lang]) <= 52, name
        assert lines("rule", name, lang, "tried") <= 2, name
    pairs = [pair for pair, _ in told.told()]
    pairs += [(("observed", key), ("allowed", "an_answer")) for key in ("raised_at", "unusable")]
    for pair in pairs:  # one line for the law and two for the experiment leave three
        assert sum(lines(section, key, lang) for section, key in pair) <= 3, pair


OTHERS = (
    "def parameter_ledger(config): return {}\ndef forward_flops_per_token(config, T): return '7'\n"
)
ENDINGS = {
    "not_written": "def batch_bytes(B, T, dtype): raise NotImplementedError",
    "missing": "",
    "exit": "def batch_bytes(B, T, dtype): raise SystemExit(3)",
    "fails": "def batch_bytes(B, T, dtype): return [][B]",
    "raised_at": "def batch_bytes(B, T, dtype): return 0 if (B, T) == (2, 3) else [][B]",
    "is": "def batch_bytes(B, T, dtype): return 0",
}


def ending(tmp_path, source, rule):
    """The verdict of one rule on a ledger of these lines."""
    (tmp_path / "ledger.py").write_text(OTHERS + source, encoding="utf-8")
    package = overlay.load(tmp_path)
    options = {"folder": str(tmp_path), "examples": 3, "seed": 0, "shrink": False}
    verdict = worker._verdict(rule, package, options, worker._smoke(package, rule.entry))
    overlay.unload(package)
    return verdict


def assert_told(verdict):
    """The verdict can be told in both languages, without our inner names."""
    for lang in LANGUAGES:
        sentences = tell.as_dict(tell.words(lang), verdict.as_dict())
        assert sentences["law"]
        assert sentences["observed"]
        assert not re.search(r"_gpt_|Traceback", str(sentences))


@pytest.mark.parametrize("observed", ENDINGS)
def test_every_ending_is_told(tmp_path, observed):
    verdict = ending(tmp_path, ENDINGS[observed], RULES["a_batch_is_two_tensors_of_tokens"])
    assert verdict.observed == observed
    assert_told(verdict)


def test_a_member_that_is_not_there_is_told(tmp_path):
    verdict = ending(tmp_path, "", RULES["the_ledger_counts_the_real_model"])
    assert (verdict.outcome, verdict.observed) == (engine.UNJUDGED, "lacking")
    assert_told(verdict)


def test_a_result_that_cannot_be_used_is_told(tmp_path):
    verdict = ending(tmp_path, "", RULES["flops_are_two_per_multiply_add"])
    assert (verdict.outcome, verdict.observed) == (engine.BROKEN, "unusable")
    assert_told(verdict)


def test_an_error_of_ours_is_told():
    def fail(gpt, **drawn):
        raise ValueError("a bug of the rule")

    rule = dataclasses.replace(RULES["a_batch_is_two_tensors_of_tokens"], judge=fail)
    verdict = engine.run(rule, overlay.load())
    assert (verdict.outcome, verdict.observed) == (engine.ERROR, "our_error")
    assert_told(verdict)


def test_an_error_is_told_in_one_line_that_ends_at_a_word():
    told = claims.describe(ValueError("word " * 40 + "\nmore"))
    assert told == "ValueError: " + "word " * 17 + "…"
    assert claims.describe(ValueError("short")) == "ValueError: short"
    assert claims.describe(SystemExit()) == "SystemExit"
