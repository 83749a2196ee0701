"""One torch thread in all tests: bitwise laws, fair times, and no dead locks after a fork."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch

from buggy import compiler

torch.set_num_threads(1)
compiler.keep_out()

if os.environ.get("MUTANT_UNDER_TEST"):  # mutmut runs us: say which rule rejects which mutant
    from tests.mutation.recording import pytest_runtest_makereport  # noqa: F401


def pytest_configure(config):
    config.addinivalue_line("markers", "rule(id): the rule that this test runs")
