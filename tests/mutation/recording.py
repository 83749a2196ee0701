"""Under ``mutmut run``: one line in kills.jsonl for every test that fails, the killer's name.

mutmut itself keeps only an exit status; a status without such a line is no kill.
"""

import json
import os

import pytest

from .kinds import describe, kind

KILLS = "kills.jsonl"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    mutant = os.environ.get("MUTANT_UNDER_TEST", "")
    if report.failed and "__mutmut_" in mutant:
        error = call.excinfo.value
        marker = item.get_closest_marker("rule")
        rule = marker.args[0] if marker else item.nodeid.split("/")[-1]
        line = {"mutant": mutant, "rule": rule, "kind": kind(error), "what": describe(error)}
        with open(KILLS, "a", encoding="utf-8") as file:  # one write: children append at once
            file.write(json.dumps(line) + "\n")
    return report
