"""The compiler keeps out of processes that judge, and comes when it is really asked for."""

import subprocess
import sys

import pytest

from buggy.overlay import REFERENCE

SETUP = """
import sys, torch
from buggy import compiler
compiler.keep_out()
compiler.keep_out()
absent = sys.modules["torch._dynamo"]
weight = torch.nn.Parameter(torch.ones(3))
weight.sum().backward()
"""
TRAINS = """
for fused in (True, False):
    optimizer = torch.optim.AdamW([weight], lr=0.1, fused=fused)
    optimizer.step()
    optimizer.load_state_dict(optimizer.state_dict())
    optimizer.zero_grad()
assert weight.detach().allclose(torch.full((3,), 0.9), atol=0.01) and weight.grad is None
assert getattr(absent, "__file__", None) is None
assert sys.modules["torch._dynamo"] is absent and "sympy" not in sys.modules
"""
ASKS = {
    "an attribute": "torch._dynamo.reset()",
    "a name": "from torch._dynamo import reset; reset()",
    "a module": "import torch._dynamo.config as found; assert found.cache_size_limit",
    "a checkpoint": "from torch.utils.checkpoint import checkpoint as again\n"
    "assert again(lambda x: 2 * x, weight, use_reentrant=False).tolist() == [2.0] * 3",
    "a compiled function": "double = torch.compile(lambda x: 2 * x, backend='eager')\n"
    "assert double(torch.ones(2)).tolist() == [2.0, 2.0]",
}
LOADED = """
assert sys.modules["torch._dynamo"] is not absent
assert torch._dynamo is sys.modules["torch._dynamo"]
"""


def run(code):
    command = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(command, cwd=REFERENCE.parent, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_optimisers_do_without_it():
    run(SETUP + TRAINS)


def test_whoever_compiles_gets_it():
    run(SETUP + ASKS["a compiled function"] + LOADED)


@pytest.mark.slow
@pytest.mark.parametrize("asked", ASKS.values(), ids=ASKS)
def test_whoever_asks_for_it_gets_it(asked):
    run(SETUP + asked + LOADED)
