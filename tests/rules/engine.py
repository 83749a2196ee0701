"""What a rule is, and how one is run against a package."""

import contextlib
import inspect
import time
import traceback
from dataclasses import asdict, dataclass, field

import hypothesis
import numpy as np
import torch
from hypothesis import HealthCheck, Phase, Verbosity

from . import claims

# The order of the data flow, leaves before what is built of them: a fault in a leaf is told as the
# leaf's, although everything above it is broken too.
ENTRIES = (
    "model.GPTConfig",
    "data.shift_pair",
    "data.get_batch",
    "attention.softmax",
    "attention.causal_mask",
    "attention.attention",
    "positions.rotary",
    "attention.MultiHeadAttention",
    "normalization.LayerNorm",
    "normalization.RMSNorm",
    "feedforward.FeedForward",
    "feedforward.SwiGLU",
    "block.Block",
    "model.GPT",
    "ledger.parameter_ledger",
    "ledger.forward_flops_per_token",
    "ledger.batch_bytes",
    "loss.next_token_loss",
    "sampling.generate",
    "training.learning_rate",
    "training.clip_gradients",
    "training.configure_optimizer",
    "training.train_step",
    "training.save_checkpoint",
    "training.load_checkpoint",
    "training.train",
)

HOLDS, BROKEN, UNJUDGED, ERROR = "holds", "broken", "cannot_be_judged", "error"


@dataclass(frozen=True)
class Rule:
    """A sentence that is true of every correct GPT, and the experiment that tests it."""

    id: str
    day: int | str
    entry: str
    judge: object
    strategies: dict
    examples: int
    rank: int
    position: int

    @property
    def order(self):
        return ENTRIES.index(self.entry), self.rank, self.position


@dataclass
class Verdict:
    """What came of one rule: message ids and numbers, to be told in any language."""

    rule: str
    day: int | str
    outcome: str
    tried: dict = field(default_factory=dict)
    observed: str | None = None
    allowed: str | None = None
    numbers: dict = field(default_factory=dict)
    seconds: float = 0.0
    trace: str | None = None

    def as_dict(self):
        return asdict(self)


RULES = {}


def rule(day, entry, *, examples=5, rank=0, **strategies):
    """Register the decorated function as a rule: its name is the id, its docstring the law.

    ``entry`` is the interface name it judges; ``rank`` puts it behind the entry's rules of lower
    rank; ``strategies`` draw its keyword arguments.
    """

    def register(judge):
        if judge.__name__ in RULES or entry not in ENTRIES:
            raise ValueError(f"rule {judge.__name__}: the id is taken or {entry} is no entry")
        RULES[judge.__name__] = Rule(
            judge.__name__, day, entry, judge, strategies, examples, rank, len(RULES)
        )
        return judge

    return register


def in_order(rules=None):
    """All rules, or those given, in the order of the data flow."""
    return sorted(RULES.values() if rules is None else rules, key=lambda rule: rule.order)


def experiment(rule, package, *, examples=None, seed=0, shrink=False):
    """A function without arguments that runs the rule on drawn inputs and lets claims escape.

    The draws depend on ``seed`` alone; torch's and numpy's generators are set before each example
    and given back afterwards.
    """

    def once(**drawn):
        claims.trying()
        claims.seed(seed)
        np.random.seed(seed)
        rule.judge(package, **drawn)

    if not rule.strategies:
        return _apart(once)
    phases = (Phase.generate, Phase.shrink) if shrink else (Phase.generate,)
    test = hypothesis.given(**rule.strategies)(once)
    test = hypothesis.settings(
        max_examples=examples or rule.examples,
        phases=phases,
        deadline=None,
        database=None,
        derandomize=False,
        print_blob=False,
        report_multiple_bugs=False,
        verbosity=Verbosity.quiet,
        suppress_health_check=list(HealthCheck),
    )(test)
    return _apart(hypothesis.seed(seed)(test))


def _apart(test):
    """Leave the global generators and torch's defaults as they were found."""

    def run():
        numpy_state = np.random.get_state()
        dtype = torch.get_default_dtype()
        try:
            with torch.random.fork_rng(devices=[]), torch.enable_grad():
                test()
        finally:
            np.random.set_state(numpy_state)
            torch.set_default_dtype(dtype)

    return run


def run(rule, package, *, examples=None, seed=0, shrink=False):
    """Judge one package by one rule, in this process; never raises what the package raises."""
    start = time.perf_counter()
    verdict = Verdict(rule.id, rule.day, HOLDS)
    try:
        experiment(rule, package, examples=examples, seed=seed, shrink=shrink)()
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        _record(verdict, _cause(error), package)
    verdict.seconds = time.perf_counter() - start
    return verdict


def _cause(error):
    """The claim that failed, where hypothesis wrapped it as flaky or in a group."""
    if isinstance(error, BaseExceptionGroup):
        return _cause(error.exceptions[0])
    return error


def _record(verdict, error, package):
    verdict.tried = claims.tried()
    if isinstance(error, claims.Broken):
        verdict.outcome = BROKEN
        verdict.observed, verdict.allowed = error.observed, error.allowed
        verdict.numbers = dict(error.numbers)
        return
    found = frames(error, package)
    verdict.trace = "".join(traceback.format_exception(error))
    verdict.numbers = {"found": claims.describe(error), "place": found[-1] if found else ""}
    verdict.outcome, verdict.observed = ERROR, "our_error"
    if isinstance(error, (ImportError, AttributeError)) and not found:
        verdict.outcome, verdict.observed = UNJUDGED, "lacking"
    elif isinstance(error, SystemExit):
        verdict.outcome, verdict.observed = UNJUDGED, "exit"
    elif found:
        verdict.outcome, verdict.observed, verdict.allowed = BROKEN, "raised_at", "an_answer"


def frames(error, package):
    """ "attention.py:34" for every frame that runs the package's code, outermost first."""
    name = getattr(package, "_name", None) or getattr(package, "__name__", "")
    summary = []
    for frame, line in traceback.walk_tb(error.__traceback__):
        module = frame.f_globals.get("__name__", "")
        if module == name or module.startswith(f"{name}."):
            file = inspect.getfile(frame).replace("\\", "/").rsplit("/", 1)[-1]
            summary.append(f"{file}:{line}")
    return summary


@contextlib.contextmanager
def one_thread():
    """One torch thread: bitwise laws and fair times."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
