"""The proof's worker, gate, matrix and report; what counts as a kill, and what does not."""

import json
import subprocess
import sys

import pytest

from buggy import faults as catalogue
from tests.mutation import faults as planted_faults
from tests.mutation import gate, matrix, mutants, report, survey
from tests.mutation import worker as mutation_worker
from tests.mutation.__main__ import MARKS, MESSAGES, into_readme, main, sentence
from tests.mutation.kinds import CLAIM, CRASH, REFUSAL, TIMEOUT, describe, kind
from tests.mutation.pool import ROOT, Pool, Worker, environment
from tests.mutation.results import Result
from tests.mutation.stock import _result
from tests.rules.claims import Broken
from tests.rules.manifest import RULES
from tests.rules.words import Words
from tests.wrong import WRONG

EN = Words("en", MESSAGES)


def refused():
    broken = Broken("raised", "an_answer")
    broken.__cause__ = ValueError("no")
    return broken


@pytest.mark.parametrize(
    ("error", "wanted"),
    [
        (Broken("differs", "rounding", difference=1.0), CLAIM),
        (AssertionError("x"), CLAIM),
        (ExceptionGroup("g", [Broken("shape", "shape")]), CLAIM),
        (ValueError("x"), REFUSAL),
        (refused(), REFUSAL),
        (TypeError("x"), CRASH),
        (Broken("other_error", "value_error"), CRASH),
    ],
)
def test_claims_refusals_and_crashes_are_told_apart(error, wanted):
    assert kind(error) == wanted
    assert describe(error)


@pytest.fixture(scope="module")
def worker(tmp_path_factory):
    crew = Worker(tmp_path_factory.mktemp("copy"))
    yield crew
    crew.stop()


def ask(worker, source, tests=(), module="attention"):
    request = {
        "sources": {module: source},
        "rules": {RULE: 0.0},
        "stop": True,
        "tests": list(tests),
    }
    return [tuple(killer[:2]) for killer in worker.ask(do="judge", **request)["killers"]]


def changed(before, after, module="attention"):
    source = (ROOT / "reference" / f"{module}.py").read_text(encoding="utf-8")
    assert before in source
    return source.replace(before, after)


RULE = "the_mask_hides_exactly_the_future"
START = "    return torch.ones(T, T"


@pytest.mark.parametrize(
    ("before", "after", "wanted"),
    [
        ("triu(diagonal=1)", "triu(diagonal=1)  # the same", []),
        ("triu(diagonal=1)", "triu(diagonal=2)", [(RULE, CLAIM)]),
        ("triu(diagonal=1)", "missing()", [(RULE, CRASH)]),
        ("dtype=torch.bool", "dtype=int('x')", [(RULE, REFUSAL)]),
        ("import math", "import nothing_like_it", [("import", CRASH)]),
        (START, f"    import os; os._exit(9)\n{START}", [("process", "died")]),
        (START, f"    while True: pass\n{START}", [(RULE, "timeout")]),
    ],
)
def test_a_worker_tells_what_came_of_a_mutant(worker, before, after, wanted):
    assert ask(worker, changed(before, after)) == wanted
    assert ask(worker, changed("import math", "import math")) == []  # and nothing stays


def test_the_other_tests_are_asked_when_no_rule_sees_a_mutant(worker):
    tests = ["tests/test_promises.py"]
    assert ask(worker, changed("import math", "import math"), tests) == []
    silent = changed("return self.dropout(self.out_proj(y))", "return self.out_proj(y)")
    [(test, how)] = ask(worker, silent, tests)
    assert "dropout" in test
    assert how == CLAIM


def test_an_endless_loop_is_not_waited_for_by_every_rule(monkeypatch):
    """Where every rule is asked, two that have run out of time speak for the others."""
    asked = []

    def attempt(rule, gpt, seconds):
        asked.append(rule.id)
        return ("claim", "") if rule.id == RULE else (TIMEOUT, "processor time")

    monkeypatch.setattr(mutation_worker, "_attempt", attempt)
    monkeypatch.setattr(survey, "package", lambda: None)
    limits = dict.fromkeys([RULE, *(rule for rule in RULES if rule != RULE)], 0.0)
    killers = mutation_worker.judge(limits, stop=False)
    assert len(asked) == 1 + mutation_worker.LOOPS
    assert [kind for _, kind, _ in killers] == ["claim", TIMEOUT, TIMEOUT]


def test_planted_faults_are_asked_of_all_workers_and_told_with_what_rejects_them(monkeypatch):
    class Answering:
        def __init__(self, name):
            self.name = name

        def ask(self, do, sources, rules, stop, tests):
            assert (do, stop, tests, list(rules)) == ("judge", False, [], [RULE])
            planted = next(iter(sources.values()))
            kind = CLAIM if "diagonal=1" not in planted else TIMEOUT
            return {"killers": [[RULE, kind, self.name]], "seconds": 0.0}

    crew = Pool(2)
    crew.workers = [Answering("a"), Answering("b")]
    crew.survey = {RULE: {"seconds": 0.1}}
    found = [catalogue.load("mask_shows_the_next_token"), catalogue.load("scores_not_scaled")]
    monkeypatch.setattr(catalogue, "load_all", lambda: found)
    done = []
    told = planted_faults.judge(crew, lambda fault, answer: done.append(fault.id))
    assert told[:2] == [("mask_shows_the_next_token", [(RULE, CLAIM)]), ("scores_not_scaled", [])]
    assert [id for id, _ in told[2:]] == [f"wrong/{rule}" for rule in WRONG]
    assert sorted(done) == sorted(id for id, _ in told)


def test_a_dead_worker_says_so(tmp_path):
    crew = Worker(tmp_path)
    crew.process.kill()
    crew.process.wait()
    with pytest.raises(RuntimeError):
        crew.ask(do="survey")
    crew.stop()


KEY = ("m", "f", "y = x + n", "y = x")


def mutant(key=KEY, origin="added"):
    module, function, removed, added = key
    return mutants.Mutant(module, origin, "o", function, None, removed, added, "pass", "name")


def killed(how=CLAIM, key=KEY, rules=("r",)):
    return Result(mutant(key), tuple((rule, how, "what") for rule in rules))


def messages(results, listed=(), whole=True):
    return [
        problem.message for problem in gate.problems(results, dict.fromkeys(listed, "why"), whole)
    ]


def test_the_gate_opens_for_kills_and_for_what_is_listed():
    others = [killed(key=("m", "g", str(i), "")) for i in range(60)]
    assert messages([killed(CLAIM), killed(REFUSAL), killed(CRASH)]) == []
    assert messages([*others, Result(mutant())], [KEY]) == []


def test_the_gate_shuts_for_everything_else():
    assert messages([Result(mutant())]) == ["survived"]
    assert messages([killed("timeout")]) == ["timeout"]
    assert messages([killed("died")]) == ["died"]
    assert messages([killed()], [KEY]) == ["listed_but_killed"]
    assert messages([], [KEY]) == ["listed_but_gone"]
    assert messages([], [KEY], whole=False) == []
    assert messages([Result(mutant()), killed(key=("m", "g", "", ""))], [KEY]) == [
        "too_many_listed"
    ]


def test_a_rule_that_ran_out_of_time_does_not_hide_a_kill():
    result = Result(mutant(), (("slow", "timeout", ""), ("r", CLAIM, "")))
    assert result.verdict == "killed"


def test_a_kill_of_mutmut_counts_only_with_the_test_that_failed():
    assert _result(mutant(), "killed", ("r", CLAIM, "")).verdict == "killed"
    assert _result(mutant(), "killed", None).verdict == "died"
    assert _result(mutant(), "survived", None).verdict == "survived"
    assert _result(mutant(), "no tests", None).verdict == "survived"
    assert _result(mutant(), "timeout", ("r", CLAIM, "")).verdict == "timeout"
    assert _result(mutant(), "segfault", None).verdict == "died"


def test_an_entry_of_the_list_needs_its_reason(tmp_path):
    path = tmp_path / "equivalent.toml"
    entry = '[[equivalent]]\nmodule = "m"\nfunction = "f"\nremoved = "a"\nadded = "b"\n'
    path.write_text(entry)
    with pytest.raises(gate.BadList, match="entry 1: reason is missing"):
        gate.read(path=path)
    path.write_text(entry + 'reason = "both are one"\n')
    assert gate.read(path=path) == {("m", "f", "a", "b"): "both are one"}
    assert gate.read(second=True, path=path) == {}
    path.write_text(entry + 'reason = "both are one"\nmutator = "second"\n')
    assert gate.read(path=path) == {}
    assert gate.read(second=True, path=path) == {("m", "f", "a", "b"): "both are one"}


SURVEY = {"first": {"day": 43}, "second": {"day": 44}, "idle": {"day": "X"}}


def test_the_matrix_counts_what_each_rule_is_worth():
    key = ("attention", "f", "", "")
    results = [
        killed(CLAIM, key, ("second", "first")),
        killed(CLAIM, key, ("second",)),
        killed(CRASH, key, ("first",)),
    ]
    planted = [("fault", [("second", CLAIM), ("idle", CRASH)])]
    first, second, idle = matrix.rows(results, SURVEY, planted)
    assert (first.first, first.alone, first.kinds[CLAIM], first.kinds[CRASH]) == (2, 1, 1, 1)
    assert (second.first, second.alone, second.by_module) == (1, 1, {"attention": 2})
    assert second.faults == second.leads == idle.faults == ["fault"]
    assert (idle.leads, idle.needed) == ([], False)
    found = list(matrix.problems([first, second, idle], {"attention": (10, 8)}))
    assert [message for message, _ in found] == ["no_claims", "not_needed", "weak_days"]
    assert list(matrix.problems([first, second], {"attention": (10, 9)})) == []


def test_the_days_of_a_module_are_held_to_mutants_that_do_not_merely_crash():
    results = [
        killed(CLAIM, ("attention", "f", "", ""), ("first",)),
        killed(CLAIM, ("attention", "f", "", ""), ("idle",)),
        killed(CRASH, ("attention", "f", "", ""), ("idle",)),
        killed(CLAIM, ("attention", "f", "", ""), ("tests/test_promises.py::test",)),
    ]
    assert matrix.by_day(results, SURVEY) == {"attention": (3, 1)}


def test_the_report_counts_by_origin_and_compares_two_runs(tmp_path):
    results = [killed(), killed(CRASH), Result(mutant()), Result(mutant(origin="stock"))]
    table = report.counts(results, {KEY: "why"})
    assert table["added"] == {"mutants": 3, CLAIM: 1, REFUSAL: 0, CRASH: 1, "listed": 1, "left": 0}
    before = report.as_json([Result(mutant())], {}, [], 1.0)
    assert report.different([Result(mutant())], before) == []
    assert [then for _, then, _ in report.different([killed()], before)] == ["survived"]
    rows = matrix.rows(results, {"r": {"day": 43}})
    report.save(tmp_path, EN, results, {}, [], 60.0, rows, {"attention": (3, 3)})
    assert json.loads((tmp_path / "matrix.json").read_text())[0]["claim"] == 1
    assert "| 43 | `r` | 1 | 0 | 1 |" in (tmp_path / "matrix.md").read_text()
    assert "| stock mutmut | 1 |" in (tmp_path / "proof.md").read_text()
    assert (tmp_path / "matrix.png").stat().st_size > 1000


def test_the_summary_goes_between_the_marks_of_the_readme(tmp_path):
    path = tmp_path / "README.md"
    path.write_text(f"a\n{MARKS[0]}\nold\n{MARKS[1]}\nb\n")
    into_readme("new", path)
    assert path.read_text() == f"a\n{MARKS[0]}\nnew\n{MARKS[1]}\nb\n"
    path.write_text("no marks\n")
    with pytest.raises(RuntimeError, match=r"README\.md"):
        into_readme("new", path)


ABOUT = {"mutant": mutant(), "by": "us", "what": "w"}
PROBLEMS = {
    "survived": ABOUT,
    "timeout": ABOUT,
    "died": ABOUT,
    "listed_but_killed": {"key": KEY},
    "listed_but_gone": {"key": KEY},
    "too_many_listed": {"listed": 3, "all": 9, "share": 1 / 3, "most": 0.02},
    "no_claims": {"rule": "r"},
    "not_needed": {"rule": "r"},
    "weak_days": {"module": "m", "judged": 3, "own": 1, "least": 0.9},
    "verdict_changed": {"id": "i", "then": "killed", "now": "survived"},
    "no_earlier_run": {"file": "f", "reason": "r"},
}


@pytest.mark.parametrize("lang", ["en", "ja"])
def test_every_problem_has_its_sentence(lang):
    for message, found in PROBLEMS.items():
        assert sentence(Words(lang, MESSAGES), gate.Problem(message, found))


def test_an_unknown_module_is_refused(capsys):
    with pytest.raises(SystemExit) as error:
        main(["--module", "nonsense"])
    assert error.value.code == 2
    assert "nonsense" in capsys.readouterr().err


RECORDED = """
import sys
sys.path.insert(0, {root!r})
from tests.mutation.recording import pytest_runtest_makereport
def pytest_configure(config):
    config.addinivalue_line("markers", "rule(id): x")
"""
FAILING = """
import pytest
from tests.rules.claims import Broken
from tests.rules.manifest import RULES
@pytest.mark.rule("a_law")
def test_a():
    raise Broken("differs", "rounding", difference=2.0)
def test_b():
    pass
"""


def test_under_mutmut_the_killer_is_written_down(tmp_path):
    (tmp_path / "conftest.py").write_text(RECORDED.format(root=str(ROOT)))
    (tmp_path / "test_it.py").write_text(FAILING)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"]
    for name in ("stats", "reference.m.x_f__mutmut_3"):  # the stats run kills nothing
        subprocess.run(
            command,
            cwd=tmp_path,
            env=environment() | {"MUTANT_UNDER_TEST": name},
            capture_output=True,
            check=False,
        )
    [line] = (tmp_path / "kills.jsonl").read_text().splitlines()
    line = json.loads(line)
    assert (line["mutant"], line["rule"], line["kind"]) == (
        "reference.m.x_f__mutmut_3",
        "a_law",
        CLAIM,
    )
