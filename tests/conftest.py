"""One torch thread in all tests: bitwise laws, fair times, and no dead locks after a fork."""

import os

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch

from buggy import compiler

torch.set_num_threads(1)
compiler.keep_out()

if os.environ.get("MUTANT_UNDER_TEST"):  # mutmut runs us: say which rule rejects which mutant
    from tests.mutation.recording import pytest_runtest_makereport  # noqa: F401


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config):
    """The whole suite takes all cores where pytest-xdist is installed; ``-n 0`` takes one."""
    whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    free = getattr(config.option, "numprocesses", 0) is None and not hasattr(config, "workerinput")
    if whole and free and not config.option.usepdb and not config.option.collectonly:
        config.option.numprocesses = os.cpu_count()
        config.option.dist = "worksteal"


def pytest_configure(config):
    config.addinivalue_line("markers", "rule(id): the rule that this test runs")
