"""An anchored edit: found exactly once, replaced, and never in silence."""

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from buggy import diffs, places, planting
from buggy.overlay import REFERENCE
from buggy.planting import Edit, StaleFault

SOURCE = "def f(x):\n    y = x + 1\n    return y\n\n\ndef g(x):\n    return x + 1\n"


@pytest.fixture
def start(tmp_path):
    """A tiny reference of one module."""
    folder = tmp_path / "start"
    folder.mkdir()
    (folder / "m.py").write_text(SOURCE, encoding="utf-8")
    return folder


def stale(edits, start):
    with pytest.raises(StaleFault) as caught:
        planting.plant(edits, start=start)
    return caught.value.message, caught.value.found


def test_the_planted_text_takes_the_place_of_the_correct_one(start, tmp_path):
    out = tmp_path / "out" / "deep"
    edits = [Edit("m", "y = x + 1", "y = x - 1")]
    planted = planting.plant(edits, out, start)
    assert planted == {"m": SOURCE.replace("y = x + 1", "y = x - 1")}
    assert (out / "m.py").read_bytes() == planted["m"].encode()
    assert sorted(path.name for path in out.iterdir()) == ["m.py"]
    assert (start / "m.py").read_text(encoding="utf-8") == SOURCE


@pytest.mark.parametrize(("correct", "count"), [("y = x + 2", 0), ("x + 1", 2), ("", 84)])
def test_an_anchor_must_occur_once(start, correct, count):
    """Not at all: the reference has moved on. Twice: which one was meant?"""
    message, found = stale([Edit("m", correct, "z")], start)
    assert message == "anchor"
    assert found["module"] == "m"
    assert found["correct"] == correct
    assert found["count"] == (count if correct else len(SOURCE) + 1)


@pytest.mark.parametrize(
    "planted",
    ["y = x + 1  # the next one", "y = x+1", "y = (x + 1)", "y = x + 1"],
)
def test_an_edit_that_changes_nothing_is_no_fault(start, planted):
    """A comment, a space or a pair of brackets plants nothing."""
    assert stale([Edit("m", "y = x + 1", planted)], start)[0] == "no_change"


def test_text_that_is_no_python_is_refused(start):
    message, found = stale([Edit("m", "return y", "return (y")], start)
    assert message == "not_python"
    assert found["module"] == "m"
    assert found["reason"]


def test_an_unknown_module_is_refused(start):
    assert stale([Edit("n", "a", "b")], start) == ("no_module", {"module": "n"})


def test_several_edits_of_one_module_all_stand(start):
    edits = [Edit("m", "y = x + 1", "y = x * 2"), Edit("m", "return x + 1", "return x")]
    source = planting.plant(edits, start=start)["m"]
    assert "y = x * 2" in source
    assert source.endswith("return x\n")


def test_a_later_edit_may_stand_on_an_earlier_one(start):
    edits = [Edit("m", "y = x + 1", "y = first(x)"), Edit("m", "first(x)", "second(x)")]
    assert "y = second(x)" in planting.plant(edits, start=start)["m"]


def test_edits_that_take_each_others_anchors_are_stale(start):
    edits = [Edit("m", "y = x + 1\n", "y = x\n"), Edit("m", "x + 1\n    return y", "0")]
    message, found = stale(edits, start)
    assert (message, found["count"]) == ("anchor", 0)


def test_edits_that_undo_each_other_are_no_fault(start):
    edits = [Edit("m", "y = x + 1", "y = x"), Edit("m", "y = x\n", "y = x + 1\n")]
    assert stale(edits, start)[0] == "no_change"


def test_every_module_must_change(start):
    (start / "n.py").write_text("z = 1\n", encoding="utf-8")
    edits = [Edit("m", "y = x + 1", "y = x"), Edit("n", "z = 1", "z = 1  # same")]
    message, found = stale(edits, start)
    assert (message, found["module"]) == ("no_change", "n")


def test_nothing_is_written_when_an_edit_is_stale(start, tmp_path):
    out = tmp_path / "out"
    right = Edit("m", "y = x + 1", "y = x")
    for wrong in (Edit("m", "nowhere", "z"), Edit("m", "return x + 1", "return (")):
        with pytest.raises(StaleFault):
            planting.plant([right, wrong], out, start)
        assert not out.exists()


def test_places_that_overlap_are_two(start):
    """Replacing "b b" in "b b b" would be a guess."""
    (start / "m.py").write_text("a = 1\nb = 2\nb = 2\nb = 2\n", encoding="utf-8")
    message, found = stale([Edit("m", "b = 2\nb = 2\n", "c = 3\n")], start)
    assert (message, found["count"]) == ("anchor", 2)


def test_planting_starts_from_the_reference():
    edit = Edit("attention", ".triu(diagonal=1)", ".triu(diagonal=0)")
    source = planting.plant([edit])["attention"]
    assert source.replace("diagonal=0", "diagonal=1") == (REFERENCE / "attention.py").read_text(
        encoding="utf-8"
    )


lines = st.lists(st.sampled_from(["a = 1\n", "b = 2\n", "c = 3\n", "d = 4\n"]), max_size=12)


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(before=lines, after=lines)
def test_edits_from_a_diff_lead_where_the_diff_led(before, after):
    """Whatever was changed, the anchors occur once and the result is the edited file."""
    before, after = "".join(before), "".join(after)
    if before == after:
        with pytest.raises(diffs.NoDiff):
            diffs.edits_between("m", before, after)
        return
    if not before:
        return  # an empty module has no place for an anchor
    source = before
    for edit in diffs.edits_between("m", before, after):
        source = planting.apply(edit, source)
    assert source == after


def test_edits_from_a_diff_are_as_short_as_they_can_be():
    before = SOURCE
    after = before.replace("return x + 1", "return x")
    assert diffs.edits_between("m", before, after) == [
        Edit("m", "    return x + 1\n", "    return x\n")
    ]
    twice = "a = 1\nb = 2\nc = 3\nb = 2\nd = 4\n"
    (edit,) = diffs.edits_between("m", twice, "a = 1\nb = 2\nc = 3\nb = 5\nd = 4\n")
    assert edit == Edit("m", "c = 3\nb = 2\n", "c = 3\nb = 5\n")


def test_an_edit_knows_the_function_it_stands_in():
    edits = [
        Edit("attention", ".triu(diagonal=1)", "x"),
        Edit("block", "return x + self.mlp(self.ln_2(x))", "x"),
        Edit("model", 'norm: str = "layernorm"', "x"),
    ]
    assert places.places(edits) == (
        "attention.causal_mask",
        "block.Block.forward",
        "model.GPTConfig",
    )


@pytest.mark.parametrize(
    ("after", "count"),
    [
        (SOURCE, 0),
        (SOURCE.replace("y = x + 1", "y = x"), 1),
        (SOURCE.replace("    y = x + 1\n    return y", "    return x"), 2),
        (SOURCE.replace("return x + 1", "x = x + 1\n    x = x * 2\n    return x"), 3),
        (SOURCE.replace("y = x + 1", "y = x + 1  # kept"), 0),
    ],
)
def test_changed_statements_are_counted(after, count):
    ast.parse(after)
    assert places.changed_statements(SOURCE, after) == count
