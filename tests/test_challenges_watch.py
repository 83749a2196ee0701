"""Watching: the warm interpreter gives the verdicts of a cold one, from memory where it may."""

import os
import subprocess
import sys
import threading
import time

import pytest

from buggy import overlay
from challenges import warm, watch
from tests.rules.manifest import RULES, run
from tests.scripted import Learner
from tests.test_challenges import ALL_RIGHT, CLOSING, FIXES

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
SOME = ("targets_are_the_next_tokens", "the_mask_hides_exactly_the_future", "a_token_sees_itself")


def source(module):
    return (overlay.REFERENCE / f"{module}.py").read_text(encoding="utf-8")


@pytest.fixture
def folder(tmp_path):
    """Attention and data as in the reference, the shift missing."""
    (tmp_path / "attention.py").write_text(source("attention"), encoding="utf-8")
    wrong = source("data").replace("return chunk[:-1], chunk[1:]", "return chunk[:-1], chunk[:-1]")
    (tmp_path / "data.py").write_text(wrong, encoding="utf-8")
    return tmp_path


def judged(server, folder, limit=20.0, rules=SOME):
    """({rule: verdict}, how many came from a fork, what the server said at the end)."""
    found, real = {}, warm._Fork
    forked = []

    class Counted(real):
        def __init__(self, rules, *more):
            forked.extend(rules)
            super().__init__(rules, *more)

    warm._Fork = Counted
    try:
        order = {"folder": str(folder), "rules": list(rules), "limit": limit}
        order |= {"seed": 0, "shrink": True}
        end = server.judge(order, lambda verdict: found.update({verdict["rule"]: verdict}))
    finally:
        warm._Fork = real
    return found, forked, end


def test_warm_verdicts_are_those_of_a_cold_judge(folder):
    found, _, _ = judged(warm.Server(), folder)
    gpt = overlay.load(folder)
    for rule in SOME:
        cold = run(RULES[rule], gpt, shrink=True)
        assert (found[rule]["outcome"], found[rule]["numbers"]) == (
            cold.outcome,
            {name: list(n) if isinstance(n, tuple) else n for name, n in cold.numbers.items()},
        )
    outcomes = [found[rule]["outcome"] for rule in SOME]
    assert outcomes == ["broken", "holds", "holds"]


def test_a_verdict_is_remembered_until_a_module_that_it_touches_changes(folder):
    server = warm.Server()
    assert sorted(judged(server, folder)[1]) == sorted(SOME)
    assert judged(server, folder)[1] == []
    (folder / "data.py").write_text(source("data"), encoding="utf-8")
    found, forked, _ = judged(server, folder)
    assert forked == ["targets_are_the_next_tokens"]
    assert found["targets_are_the_next_tokens"]["outcome"] == "holds"
    changed = source("attention").replace("triu(diagonal=1)", "triu(diagonal=0)")
    (folder / "attention.py").write_text(changed, encoding="utf-8")
    found, forked, _ = judged(server, folder)
    assert sorted(forked) == sorted(SOME[1:])
    assert found["a_token_sees_itself"]["outcome"] == "broken"


def test_a_module_that_an_imported_module_imports_counts_too():
    sources = {
        "a": b"from .b import x\n",
        "b": b"def f():\n    from . import c\n",
        "c": b"import os\n",
        "d": b"from .a import y\n",
    }
    assert warm._closure({"a"}, sources) == {"a", "b", "c"}


def test_an_endless_loop_costs_its_verdict_and_is_not_remembered(folder):
    server = warm.Server()
    loop = source("data").replace("return chunk[:-1], chunk[1:]", "while True:\n        pass")
    (folder / "data.py").write_text(loop, encoding="utf-8")
    rules = SOME[:1]
    found, _, _ = judged(server, folder, limit=1.0, rules=rules)
    assert found[rules[0]]["observed"] == "time_limit"
    (folder / "data.py").write_text(source("data"), encoding="utf-8")
    assert judged(server, folder, rules=rules)[0][rules[0]]["outcome"] == "holds"


def test_a_death_costs_its_verdict_and_what_is_printed_is_kept(folder):
    text = source("data").replace("return chunk[:-1]", "print('seen')\n    return chunk[:-1]")
    (folder / "data.py").write_text(text, encoding="utf-8")
    _, _, end = judged(warm.Server(), folder)
    assert "seen" in end["printed"]
    death = source("data").replace("return chunk[:-1]", "__import__('os')._exit(3)\n    return 1")
    (folder / "data.py").write_text(death, encoding="utf-8")
    found, _, _ = judged(warm.Server(), folder, rules=SOME[:1])
    assert found[SOME[0]]["observed"] == "died"


def test_a_folder_that_cannot_be_laid_over_is_refused(folder):
    (folder / "data.py").write_text("def f(:", encoding="utf-8")
    assert judged(warm.Server(), folder)[2]["refused"][0] == "syntax"


def test_saves_are_seen_without_watchfiles(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    monkeypatch.setattr(watch, "EVERY", 0.02)
    (tmp_path / "data.py").write_text("x = 1", encoding="utf-8")

    def save():
        time.sleep(0.2)
        (tmp_path / "ledger.jsonl").write_text("{}", encoding="utf-8")
        (tmp_path / "data.py").write_text("x = 12", encoding="utf-8")

    thread = threading.Thread(target=save)
    thread.start()
    assert next(iter(watch.saves(tmp_path))) == ["data.py"]
    thread.join()


@pytest.mark.slow
def test_a_learner_watches_until_acceptance(tmp_path):
    learner = Learner(tmp_path)
    learner.pytest()
    learner.predict(ALL_RIGHT)
    learner.answer(**CLOSING)
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "BUGHUNT_LANG": "en"}
    watching = subprocess.Popen(
        [sys.executable, "-u", "-m", "challenges", "watch", "day49"],
        cwd=tmp_path,
        env=environment | {"OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    told = []

    def until(text):
        for line in watching.stdout:
            told.append(line)
            if text in line:
                return

    until("rules hold (")
    for letter in "DBCA":
        learner.edit(*FIXES[letter])
        until("rules hold (" if letter != "A" else "All ")
    assert watching.wait() == 0
    text = "".join(told)
    assert "holds now: targets_are_the_next_tokens" in text
    assert "\x1b[2J" not in text
    assert learner.ledger()[-1]["accepted"]
