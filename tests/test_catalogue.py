"""Every fault of the catalogue proves itself; ``python -m buggy check --all`` is the long form."""

import collections
import functools

import pytest

from buggy import faults, hints, overlay, places, planting, vocabulary, writing
from buggy.bench import Bench, crashed
from buggy.checking import STATEMENTS, Checker, mark, twins

FAULTS = {fault.id: fault for fault in faults.load_all()}
SEEDS = (0, 1, 2)
each_fault = pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)


@functools.cache
def bench():
    """The rules, loaded once for all tests of this process."""
    return Bench()


def test_the_catalogue_covers_every_day():
    """At least a hundred faults, ten a day and twelve of the training loop, most of them real."""
    days = collections.Counter(fault.day for fault in FAULTS.values())
    assert len(FAULTS) >= 100
    assert all(days[day] >= (12 if day == "X" else 10) for day in faults.DAYS), days
    assert sum(bool(fault.sources) for fault in FAULTS.values()) >= 50
    levels = collections.Counter(fault.difficulty for fault in FAULTS.values())
    assert min(levels[1], levels[2], levels[3]) >= 20, levels


def test_every_symptom_is_shown_and_a_quarter_of_the_faults_show_none():
    """The vocabulary is closed, each of its words has two faults, and silence is honest."""
    shown = collections.Counter(word for fault in FAULTS.values() for word in fault.symptoms)
    assert set(shown) == set(vocabulary.words())
    assert min(shown.values()) >= 2, shown
    assert shown[vocabulary.NOTHING] >= len(FAULTS) / 4
    silent = [f for f in FAULTS.values() if vocabulary.NOTHING in f.symptoms]
    assert all(fault.symptoms == (vocabulary.NOTHING,) for fault in silent)


def test_no_two_faults_are_the_same_edit():
    edits = collections.defaultdict(list)
    for fault in FAULTS.values():
        edits[tuple(sorted(planting.plant(fault.edits).items()))].append(fault.id)
    assert [ids for ids in edits.values() if len(ids) > 1] == []


def test_no_two_faults_tell_the_same_story():
    for lang in faults.LANGUAGES:
        titles = collections.Counter(fault.title(lang) for fault in FAULTS.values())
        assert [title for title, count in titles.items() if count > 1] == []
        told = collections.Counter(fault.explanation(lang) for fault in FAULTS.values())
        assert max(told.values()) == 1


@each_fault
def test_a_fault_is_a_small_slip_in_the_reference(fault):
    """Its anchors fit once, few statements change, and it stands in one place or two."""
    sources = planting.plant(fault.edits)
    count = 0
    for module, source in sources.items():
        before = (overlay.REFERENCE / f"{module}.py").read_text(encoding="utf-8")
        count += places.changed_statements(before, source)
    assert count <= STATEMENTS
    assert len(places.places(fault.edits)) <= 4
    assert all(len(line) <= 100 for source in sources.values() for line in source.split("\n"))


@each_fault
def test_the_file_of_a_fault_is_in_the_one_form(fault):
    """What ``new`` would write: a hand-made edit of the file changes nothing else by accident."""
    path = faults.CATALOGUE / f"{fault.id}.toml"
    assert path.read_text(encoding="utf-8") == writing.as_toml(fault)


@each_fault
def test_hints_climb_and_give_nothing_away(fault):
    """Four rungs in both languages; only the last names the lesson; no line, no answer."""

    class Failed(Exception):
        def __init__(self, verdict, message, **numbers):
            super().__init__(f"{message} {numbers}")

    hints.check(fault, Failed)
    for lang in faults.LANGUAGES:
        assert fault.id not in " ".join(fault.hints(lang))
        assert 1 <= fault.explanation(lang).count("。" if lang == "ja" else ".") <= 9
    assert _japanese(fault.title("ja") + fault.explanation("ja"))
    assert not _japanese(fault.title("en") + fault.explanation("en") + "".join(fault.hints("en")))


def _japanese(text):
    return any("぀" <= letter <= "ヿ" for letter in text)


@each_fault
def test_loading_the_weights_of_the_reference_does_not_heal_a_fault(fault):
    """A planted buffer that is saved would be cured by load_state_dict."""
    for edit in fault.edits:
        planted = edit.planted.count("register_buffer")
        assert planted == edit.planted.count("persistent=False")


@each_fault
def test_a_fault_is_rejected_by_its_own_rule_first(fault):
    """On several seeds, by a claim that fails; and no rule before it is broken."""
    own = next(rule for rule in bench().rules if rule.id == fault.rule)
    assert own.day == fault.day
    for seed in SEEDS:
        broken = bench().rejections(fault.edits, rules=[fault.rule], seed=seed)
        assert broken, f"{fault.rule} holds at seed {seed}"
        assert fault.crashes or not crashed(broken[0]), broken[0]
    before = [rule.id for rule in bench().rules if rule.order < own.order]
    earlier = bench().rejections(fault.edits, rules=before, examples=1)
    assert [verdict["rule"] for verdict in earlier] == []


@pytest.mark.slow
def test_every_fault_is_accepted_by_the_thorough_check():
    """All steps of ``check`` on each fault, symptoms and twenty seeds included; and no twins."""
    from buggy.check_command import shown

    checker = Checker(thorough=True, measure=shown)
    assert checker.reference() == []
    reports = [checker.check(id) for id in FAULTS]
    failed = {r.id: (r.verdict, r.failure) for r in reports if r.verdict != "ACCEPTED"}
    assert failed == {}
    assert [pair for pair in twins(reports) if not checker.differ(*pair)] == []


def test_marks_tell_faults_apart():
    """What a rule saw is compared by message and rounded numbers."""
    one, other = (
        bench().rejections(FAULTS[id].edits, rules=["scores_are_divided_by_sqrt_d_k"])[0]
        for id in ("scores_not_scaled", "scores_scaled_by_d_k_itself")
    )
    assert mark(one) == mark(dict(one, seconds=9.0, trace="other"))
    assert mark(one) != mark(other)
