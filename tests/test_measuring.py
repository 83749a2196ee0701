"""Measuring has words for everything, disturbs nothing and survives every package."""

import functools
import json
import string
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from buggy import faults, overlay, planting, symptoms, vocabulary
from buggy.lab import SYMPTOMS, Lab

ROOT = Path(__file__).resolve().parent.parent


@functools.cache
def reference():
    return overlay.load()


def test_every_word_is_measured():
    assert set(SYMPTOMS) == set(vocabulary.words()) - {vocabulary.NOTHING}
    assert vocabulary.words()[-1] == vocabulary.NOTHING


def test_every_measurement_states_its_threshold_budget_and_margin():
    for word, symptom in SYMPTOMS.items():
        assert all([symptom.threshold, symptom.budget, symptom.margin]), word


def test_both_languages_say_the_same_things():
    def fields(text):
        return sorted({name for _, name, _, _ in string.Formatter().parse(text) if name})

    def entries(table, path=()):
        if set(table) == {"en", "ja"} and isinstance(table["en"], str):
            yield path, table
            return
        for name, inner in table.items():
            assert isinstance(inner, dict), (*path, name)
            yield from entries(inner, (*path, name))

    for path, entry in entries(vocabulary.tables()):
        assert fields(entry["en"]) == fields(entry["ja"]), path
        assert all(text.strip() for text in entry.values()), path


def test_reading_the_vocabulary_does_not_import_torch():
    code = "import sys, buggy.vocabulary as v; v.meaning(v.words()[0], 'ja'); print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert "buggy.vocabulary" in run.stdout.split()
    assert "torch" not in run.stdout.split()


def test_a_word_measures_the_same_alone_and_among_all():
    words = vocabulary.words()[:-1]
    together = symptoms.measure(reference(), 3)
    backwards = symptoms.measure(reference(), 3, words[::-1])
    assert [backwards[word] for word in words] == [together[word] for word in words]
    for word in ("first_loss_below_ln_v", "attention_saturated"):
        assert symptoms.measure(reference(), 3, [word])[word] == together[word]


def test_measuring_leaves_the_generators_alone():
    torch.manual_seed(5)
    before = torch.get_rng_state()
    symptoms.measure(reference(), 1, ["eval_not_deterministic", "crash_on_short_data"])
    assert torch.equal(before, torch.get_rng_state())


CRASHES = {
    "forward": ("model", "x = self.wte(idx)", "x = self.wte(idx)[None]", "crash_in_ordinary_use"),
    "training": ("training", "optimizer.step()", "optimizer.stride()", "crash_in_ordinary_use"),
    "exit": ("attention", "return softmax(scores)", "raise SystemExit #", "crash_in_ordinary_use"),
    "saving": ("training", "os.replace(part, path)", "raise OSError(28, 'full')", None),
    "ledger": ("ledger", "return sum(", "return sun(", None),
    "half": ("loss", "wide = torch", "assert logits.dtype != torch.half; wide = torch",
             "overflow_in_half_precision"),
}  # fmt: skip


@pytest.mark.parametrize("where", CRASHES)
def test_a_package_that_crashes_still_gives_every_measurement(where, tmp_path):
    module, correct, wrong, word = CRASHES[where]
    source = (overlay.REFERENCE / f"{module}.py").read_text(encoding="utf-8")
    assert correct in source
    (tmp_path / f"{module}.py").write_text(source.replace(correct, wrong, 1), encoding="utf-8")
    found = symptoms.measure(overlay.load(tmp_path))
    assert list(found) == vocabulary.words()
    crashed = [m for m in found.values() if str(m.number).startswith("raises ")]
    assert crashed
    assert all(symptoms.describe(found).values())
    if word:
        assert found[word].shown
        assert found[word].number.startswith("raises ")


def test_an_exception_is_kept_and_raised_again_not_measured_twice():
    lab, calls = Lab(reference()), []

    def fails():
        calls.append(1)
        raise ValueError("no")

    lab.made[("first_loss",)] = lab.attempt("first_loss", fails)
    for word in ("first_loss_below_ln_v", "first_loss_above_ln_v"):
        with pytest.raises(ValueError, match="no"):
            SYMPTOMS[word].measure(lab)
    assert len(calls) == 1


def test_the_command_measures_folders_as_json(tmp_path):
    fault = faults.load("windows_one_token_short")
    folder = tmp_path / "名前 with space"
    planting.plant(fault.edits, folder)
    command = [sys.executable, "-m", "buggy.symptoms", str(folder), "--json"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    rows = json.loads(run.stdout)[str(folder)]
    assert list(rows) == vocabulary.words()
    assert {word for word, row in rows.items() if row["shown"]} == set(fault.symptoms)
    assert all(row["text_en"] != row["text_ja"] for row in rows.values())
