"""``python -m buggy``: what it answers, and each verdict of ``check`` on a fault made for it."""

import dataclasses
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from buggy import check_command, checking, creating, faults, matrix, overlay, telling, writing
from buggy.checking import Checker
from buggy.planting import Edit
from tests.rules.words import LANGUAGES

ROOT = Path(__file__).resolve().parent.parent
GOOD = "scores_not_scaled"
SCALE = Edit("attention", "scores = q @ k.mT / math.sqrt(q.size(-1))", "scores = q @ k.mT")


def buggy(*arguments, given=None, cwd=ROOT, **environment):
    """The command as a person types it: (status, output, errors)."""
    done = subprocess.run(
        [sys.executable, "-m", "buggy", *arguments],
        cwd=cwd,
        env=os.environ | {"BUGHUNT_LANG": "en", "PYTHONDONTWRITEBYTECODE": "1"} | environment,
        input=given,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout, done.stderr


def test_list_filters_by_everything():
    status, out, _ = buggy("list", "--day", "44", "--difficulty", "1", "--real", "--json")
    found = json.loads(out)
    assert status == 0
    assert {fault["day"] for fault in found} == {44}
    assert {fault["difficulty"] for fault in found} == {1}
    assert all(fault["sources"] for fault in found)
    silent = json.loads(buggy("list", "--symptom", "no_visible_symptom", "--json")[1])
    assert all(fault["symptoms"] == ["no_visible_symptom"] for fault in silent)


def test_list_is_a_table_without_colours_for_a_file():
    _, out, _ = buggy("list", "--lang", "ja", FORCE_COLOR="")
    assert "\x1b" not in out
    assert str(len(faults.ids())) in out
    for id in faults.ids():
        assert id in out


def test_list_with_nothing_left_says_so():
    status, out, err = buggy("list", "--symptom", "moonlight")
    assert (status, out) == (2, "")
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("lang", LANGUAGES)
def test_show_tells_the_story_and_keeps_the_hints(lang):
    fault = faults.load(GOOD)
    _, out, _ = buggy("show", GOOD, "--lang", lang)
    flat = out.replace("\n", "")
    assert fault.title(lang) in flat
    assert fault.explanation(lang).replace("\n", "") in flat
    assert "-    scores = q @ k.mT / math.sqrt(q.size(-1))" in out
    assert "+    scores = q @ k.mT  #" in out
    assert all(source in out for source in fault.sources)
    assert not any(hint in flat for hint in fault.hints(lang))
    with_hints = buggy("show", GOOD, "--lang", lang, "--hints")[1].replace("\n", "")
    assert all(hint in with_hints for hint in fault.hints(lang))


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["show", "scores_not_scald"], "scores_not_scaled"),
        (["check", "zzzz"], "python -m buggy list"),
        (["measure", "no/such/folder"], "no/such/folder"),
        (["measure", "scores_not_scald"], "scores_not_scaled"),
        (["check"], "--all"),
        (["check", GOOD, "--all"], "--all"),
        (["new", "--from-diff"], "--id"),
        (["new", "--id", "Bad Name", "--module", "loss", "--correct", "a"], "Bad Name"),
        (["new", "--id", GOOD, "--module", "loss", "--correct", "a", "--planted", "b"], GOOD),
        (
            ["new", "--id", "a_b", "--module", "loss", "--correct", "zz", "--planted", "b"],
            "0 times",
        ),
    ],
)
def test_bad_input_gets_one_line(arguments, part):
    status, out, err = buggy(*arguments, given="")
    assert status == 2
    assert out == ""
    assert part in err
    assert len(err.splitlines()) == 1


def test_a_folder_with_a_misspelt_module_is_refused(tmp_path):
    (tmp_path / "atention.py").write_text("", encoding="utf-8")
    status, _, err = buggy("measure", str(tmp_path))
    assert status == 2
    assert "atention.py" in err


def test_measure_answers_in_json_whatever_the_code_prints(tmp_path):
    source = (overlay.REFERENCE / "attention.py").read_text(encoding="utf-8")
    noisy = source.replace("    if mask is None:", '    print("noise")\n    if mask is None:')
    (tmp_path / "attention.py").write_text(noisy, encoding="utf-8")
    status, out, _ = buggy("measure", "--json", "--many", str(tmp_path), GOOD)
    assert status == 0
    found = json.loads(out)
    assert list(found) == [str(tmp_path), GOOD]
    assert found[str(tmp_path)]["no_visible_symptom"]["shown"]
    assert found[GOOD]["attention_saturated"]["shown"]
    assert set(found[GOOD]["attention_saturated"]) == {"shown", "number", "text_en", "text_ja"}


@pytest.fixture
def catalogue(tmp_path, monkeypatch):
    """A catalogue of its own with one good fault; ``put`` adds another made from it."""
    folder = tmp_path / "catalogue"
    folder.mkdir()
    shutil.copy(faults.CATALOGUE / f"{GOOD}.toml", folder)
    good = faults.load(GOOD)
    monkeypatch.setattr(faults, "CATALOGUE", folder)

    def put(id, **changes):
        fault = dataclasses.replace(good, id=id, **changes)
        (folder / f"{id}.toml").write_text(writing.as_toml(fault), encoding="utf-8")
        return id

    return put


@pytest.fixture(scope="module")
def checker():
    """The rules, loaded once; symptoms are measured by the slow form of the catalogue's tests."""
    return Checker(thorough=False, seeds=4)


def verdict(checker, id):
    report = checker.check(id)
    if report.failure is not None:
        for lang in LANGUAGES:
            assert check_command.reason(telling.speaker(lang), report)
    return report.verdict


def test_accepted(checker, catalogue):
    assert verdict(checker, GOOD) == "ACCEPTED"


def test_survived_and_equivalent(checker, catalogue):
    """Nobody judges the wording of an error: only that it names the numbers."""
    words = Edit("model", "must be at least 1, found", "is at least 1, but found")
    assert verdict(checker, catalogue("says_it_otherwise", edits=(words,))) == "SURVIVED"
    reason = "the wording of an error is free"
    id = catalogue("says_it_otherwise", edits=(words,), equivalent=reason)
    assert verdict(checker, id) == "EQUIVALENT"
    assert verdict(checker, catalogue("is_no_equivalent", equivalent=reason)) == "INVALID"


def test_wrong_rule_and_wrong_day(checker, catalogue):
    id = catalogue("named_wrongly_here", rule="the_past_is_visible")
    assert verdict(checker, id) == "WRONG_RULE"
    hints = {
        lang: {"title": "x", "explanation": "x", "hints": ["a", "b", "c", last]}
        for lang, last in (("en", "Day 45: d"), ("ja", "45 日目：d"))
    }
    assert verdict(checker, catalogue("of_another_day", day=45, text=hints)) == "WRONG_RULE"


def test_crashes(checker, catalogue):
    fall = Edit("attention", SCALE.correct, "scores = (q @ k.mT).nothing()")
    assert verdict(checker, catalogue("falls_at_once", edits=(fall,))) == "CRASHES"
    importing = Edit("attention", "import math\n", "import math\nimport nothing_like_this\n")
    assert verdict(checker, catalogue("falls_at_import", edits=(importing,))) == "CRASHES"


def test_flaky(checker, catalogue):
    """Half of the seeds see it: the rule sets torch's generator to the seed."""
    text = "scores = q @ k.mT / math.sqrt(q.size(-1)) ** int(torch.initial_seed() % 2)"
    edit = Edit("attention", SCALE.correct, text)
    found = verdict(checker, catalogue("acts_now_and_then", edits=(edit,)))
    assert found == "FLAKY 2/4"


def test_stale_and_invalid(checker, catalogue):
    gone = Edit("attention", "scores = q @ k.T", "scores = q")
    assert verdict(checker, catalogue("has_moved_on", edits=(gone,))) == "STALE"
    same = Edit("attention", SCALE.correct, SCALE.correct + "  # yes")
    assert verdict(checker, catalogue("plants_a_comment", edits=(same,))) == "STALE"
    rewrite = "\n    ".join([SCALE.planted, *(f"x{i} = {i}" for i in range(9))])
    large = Edit("attention", SCALE.correct, rewrite)
    assert verdict(checker, catalogue("rewrites_a_lot", edits=(large,))) == "INVALID"
    (faults.CATALOGUE / "not_even_toml.toml").write_text("day =", encoding="utf-8")
    assert verdict(checker, "not_even_toml") == "INVALID"


@pytest.mark.parametrize(
    ("rung", "text"),
    [
        (0, "Look at line 41."),
        (1, "Look at attention.py."),
        (2, "It should read scores = q @ k.mT / math.sqrt(q.size(-1)) there."),
        (2, "Use math.sqrt(q.size(-1)) here."),
        (0, "Day 43: begin with the lesson."),
        (3, "The lesson."),
    ],
)
def test_hints_that_tell_too_much_are_invalid(checker, catalogue, rung, text):
    fault = faults.load(GOOD)
    hints = list(fault.hints("en"))
    hints[rung] = text
    told = fault.text | {"en": fault.text["en"] | {"hints": hints}}
    assert verdict(checker, catalogue("tells_too_much", text=told)) == "INVALID"


def test_duplicates_are_found_by_what_rules_see(checker, catalogue):
    """The same mistake in other words is the same fault; another scale is another."""
    other = Edit("attention", SCALE.correct, "scores = torch.matmul(q, k.mT)")
    third = Edit("attention", SCALE.correct, "scores = 2 * q @ k.mT")
    catalogue("scores_left_alone", edits=(other,))
    catalogue("scores_twice_as_large", edits=(third,))
    reports = [checker.check(id) for id in faults.ids()]
    assert {report.verdict for report in reports} == {"ACCEPTED"}
    pairs = checking.twins(reports)
    assert pairs == [("scores_left_alone", GOOD)]
    assert not checker.differ(*pairs[0], examples=1)
    assert checker.differ(GOOD, "scores_twice_as_large", examples=1)


def test_symptoms_must_be_those_that_are_measured(catalogue):
    measured = []
    checker = Checker(thorough=False, measure=lambda package: measured, seeds=1)
    measured[:] = ["attention_saturated"]
    assert verdict(checker, GOOD) == "ACCEPTED"
    for shown in ([], ["no_visible_symptom"], ["attention_saturated", "nan_on_first_forward"]):
        measured[:] = shown
        assert verdict(checker, GOOD) == "WRONG_SYMPTOMS"


def test_the_text_of_a_file_survives_reading_and_writing(catalogue):
    """Quotes, backslashes, tabs and three apostrophes in code and prose."""
    odd = Edit("m", "a = \"\\n\"\n\tb = '''x'''", "c = 'd'\n\n")
    text = {
        lang: {"title": 'a "b" \\ c', "hints": ["1\t", "2", "3", "4\n"], "explanation": "あ"}
        for lang in LANGUAGES
    }
    more = {"equivalent": 'because "so"', "depends": {"depth": "two blocks"}}
    id = catalogue("holds_odd_letters", edits=(odd, SCALE), text=text, sources=(), **more)
    fault = faults.load(id)
    assert fault.edits == (odd, SCALE)
    assert fault.text == text
    assert (fault.equivalent, fault.depends) == ('because "so"', {"depth": "two blocks"})


@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_drafted_story_is_a_ladder(lang, checker):
    """What ``new`` proposes passes the same check as what a person writes."""
    broken = checker.bench.rejections([SCALE], first=True)[0]
    rule = next(rule for rule in checker.bench.rules if rule.id == broken["rule"])
    told = creating.draft(lang, rule, broken)
    assert all(told["hints"])
    from buggy import hints

    assert hints.climbs(told["hints"], rule.day, lang)


def small_matrix():
    found = [dataclasses.replace(faults.load(GOOD), id=id) for id in ("a_a", "b_b")]
    columns = [("one", 43), ("two", 44)]
    first = {"a_a": "one", "b_b": "two"}
    return matrix.Matrix(found, columns, {"a_a": {"one", "two"}, "b_b": {"two"}}, first)


def test_a_matrix_counts_what_is_hit_first_and_alone():
    made = small_matrix()
    assert (made.hits("two"), made.alone("two"), made.leads("two")) == (
        ["a_a", "b_b"],
        ["b_b"],
        ["b_b"],
    )
    assert made.own_day() == 1


def test_a_matrix_is_written_in_every_form(tmp_path):
    made, say = small_matrix(), telling.speaker("en")
    assert matrix.as_csv(made) == "day,fault,one,two\n43,a_a,2,1\n43,b_b,0,2\n"
    assert "| 44 | `two` | 2 | 1 | 1 |" in matrix.as_markdown(made, say)
    symptoms = dataclasses.replace(made, first={})
    assert "| symptoms | fault |\n| --- | --- |\n| `one` | 1 |" in matrix.as_markdown(symptoms, say)
    page = matrix.as_html("title", made, "en")
    assert page.count('class="first"') == 2
    assert page.count('class="hit"') == 1
    matrix.as_picture("title", made, tmp_path / "m.png", say)
    assert (tmp_path / "m.png").read_bytes().startswith(b"\x89PNG")


def test_pairs_stand_together_only_where_their_edits_do_not_meet():
    by_id = {fault.id: fault for fault in faults.load_all()}
    scale, other = by_id[GOOD], by_id["scores_scaled_by_d_k_itself"]
    mask = by_id["mask_shows_the_next_token"]
    assert not matrix.compatible(scale, other)
    assert matrix.compatible(scale, mask)
    assert matrix.pairs([scale, other, mask]) == [(scale, mask), (other, mask)]


@pytest.fixture
def repository(tmp_path):
    """A small repository with our packages, for commands that read its history."""
    ignored = shutil.ignore_patterns("__pycache__", "accepted", "mutation", "benchmarks", "test_*")
    for name in ("reference", "buggy", "tests"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "all"]):
        subprocess.run(["git", *who, *command], cwd=tmp_path, check=True, capture_output=True)
    return tmp_path


def test_new_turns_an_uncommitted_edit_into_a_fault(repository):
    """The file is written with what was measured; the edit itself is left alone."""
    path = repository / "reference" / "loss.py"
    right = path.read_text(encoding="utf-8")
    wrong = right.replace("ignore_index=-100", "ignore_index=3")
    path.write_text(wrong, encoding="utf-8")
    status, out, err = buggy(
        "new", "--from-diff", "--id", "token_three_is_left_out", cwd=repository
    )
    assert (status, err) == (0, "")
    assert "token_three_is_left_out.toml" in out
    assert path.read_text(encoding="utf-8") == wrong
    fault = faults.read(repository / "buggy" / "catalogue" / "token_three_is_left_out.toml")
    assert (fault.day, fault.rule) == (49, "the_loss_is_the_surprise_at_the_targets")
    assert fault.symptoms == ("no_visible_symptom",)
    (edit,) = fault.edits
    assert right.replace(edit.correct, edit.planted) == wrong
    path.write_text(right, encoding="utf-8")
    again = buggy("new", "--from-diff", "--id", "nothing_was_changed", cwd=repository)
    assert again[0] == 2
    assert len(again[2].splitlines()) == 1


def test_new_asks_five_questions(repository):
    """Without flags: a name, a module, two texts, a source."""
    answers = [
        "every_second_loss_forgotten",
        "training",
        "mean_loss += loss.item()\n.",
        "mean_loss += loss.item() / 2\n.",
        "https://example.org/issues/1",
    ]
    status, _, err = buggy("new", given="\n".join(answers) + "\n", cwd=repository)
    assert status == 0
    assert [f"{n}/5" in err for n in range(1, 6)] == [True] * 5
    fault = faults.read(repository / "buggy" / "catalogue" / "every_second_loss_forgotten.toml")
    assert (fault.day, fault.rule) == ("X", "a_step_is_that_of_the_whole_batch")
    assert fault.sources == ("https://example.org/issues/1",)
    assert fault.edits[0].planted == "mean_loss += loss.item() / 2"
