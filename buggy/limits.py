"""Symptoms at the edges of use: crashes, half precision, eval mode, sampling, the rate's course."""

import math

import numpy as np
import torch
from torch.nn import functional as F

from .generation import Rigged
from .lab import OTHER, TINY, experiment, far_apart, hot, phrase, random_tokens, seen, symptom

CONTEXT = TINY | {"n_layer": 1, "block_size": 8}


@symptom(
    "crash_in_ordinary_use",
    threshold="any exception",
    budget="a forward pass, a training step, three greedy and three drawn tokens, in two configs",
    margin="exact",
)
def crash_in_ordinary_use(lab):
    for name in ("tiny", "other"):
        for what in ("forward", "step", "writing", "sampling"):
            error = lab.attempt(what, lambda what=what, name=name: _use(lab, name, what))[1]
            if error is not None:
                return seen(True, raises(error), "crash", what=phrase(what), error=_kind(error))
    return seen(False, 0, "no_crash")


def _use(lab, name, what):
    config = {"tiny": TINY, "other": OTHER}[name]
    x, y = random_tokens(config["vocab_size"], 2, 3, 7)
    if what in ("forward", "step"):
        model = lab.model(config)
        if what == "forward":
            return model(x)
        optimizer = lab.optimizer(model, 1e-3)
        return lab.gpt.training.train_step(model, optimizer, [(x, y)], max_norm=1.0)
    # Drawing from NaN raises too, but NaN is a symptom of its own: here the odds are known.
    model = Rigged(config["vocab_size"], lambda idx: F.one_hot(idx, config["vocab_size"]).float())
    temperature = 0.0 if what == "writing" else 1.0
    return lab.gpt.sampling.generate(model, x[:, :4], 3, temperature=temperature)


def raises(error):
    """The number of a measurement that ended in an exception."""
    return f"raises {_kind(error)}"


def _kind(error):
    return type(error).__name__


@symptom(
    "eval_not_deterministic",
    threshold="any difference",
    budget="dropout 0.2; two passes in eval mode and two greedy continuations, in two configs",
    margin="exact: the same operations on the same numbers",
)
def eval_not_deterministic(lab):
    found = [difference_of_two(lab, w, n) for w in ("eval_pass", "writing") for n in (0, 1)]
    difference = max(found)
    what = phrase("eval_pass" if max(found[:2]) > 0 else "writing")
    return seen(difference > 0, difference, "twice", what=what, difference=difference)


@experiment
def difference_of_two(lab, what, which):
    """How far apart two answers to the same input are."""
    config = (TINY, OTHER)[which]
    model = hot(lab.model(config, dropout=0.2, n_layer=1))
    idx = random_tokens(config["vocab_size"], 4, 9)
    if what == "eval_pass":
        with torch.no_grad():
            return far_apart(model(idx), model(idx))
    model.train()  # as in the middle of training
    a, b = (lab.gpt.sampling.generate(model, idx, 6, temperature=0.0) for _ in range(2))
    return (a != b).float().mean().item()


@symptom(
    "crash_beyond_context",
    threshold="an exception while writing, or one that is no ValueError for too long an input",
    budget="context 8: 11 tokens written from 1 and from 11, and an input of 9",
    margin="exact",
)
def crash_beyond_context(lab):
    context, new = CONTEXT["block_size"], CONTEXT["block_size"] + 3
    within = lab.attempt("context", lambda: _write(lab, 4, 4))[1]
    for prompt in (1, new):
        error = lab.attempt("context", lambda n=prompt: _write(lab, n, new))[1]
        if error is not None and within is None:
            what = phrase("write_past", new=new, prompt=prompt)
            return _context(context, what, error)
    error = lab.attempt("context", lambda: _read(lab, context + 1))[1]
    if error is not None and not isinstance(error, ValueError):
        return _context(context, phrase("too_long", tokens=context + 1), error)
    return seen(False, 0, "context_works")


def _context(context, what, error):
    return seen(True, raises(error), "context", context=context, what=what, error=_kind(error))


def _read(lab, T):
    return lab.model(CONTEXT)(random_tokens(CONTEXT["vocab_size"], 2, T))


def _write(lab, T, new):
    idx = random_tokens(CONTEXT["vocab_size"], 2, T)
    return lab.gpt.sampling.generate(lab.model(CONTEXT), idx, new, temperature=0.0)


@symptom(
    "crash_on_short_data",
    threshold="an exception with one window or three, one that is no ValueError with none",
    budget="64 rows of 6 tokens from 9, 7 and 6 tokens",
    margin="a start that is one too large is missed with probability (3/4)^64 = 1e-8",
)
def crash_on_short_data(lab):
    for tokens in (9, 7, 6):
        error = lab.attempt("short", lambda n=tokens: _draw(lab, n))[1]
        if error is None or (tokens == 6 and isinstance(error, ValueError)):
            continue
        told = {"tokens": tokens, "block_size": 6, "batch": 64, "error": _kind(error)}
        return seen(True, raises(error), "short", **told)
    return seen(False, 0, "short_works")


def _draw(lab, tokens):
    return lab.gpt.data.get_batch(np.arange(tokens), 64, 6)


@symptom(
    "learning_rate_leaves_its_course",
    threshold="0.02 of the highest rate",
    budget="steps 0 to 30: warm-up 5, decay to step 20, from 1 down to 0.1",
    margin="reference exactly 0; shown from 0.085",
)
def learning_rate_leaves_its_course(lab):
    rows = []
    for step in range(31):
        found = lab.gpt.training.learning_rate(
            step, warmup=5, decay_steps=20, max_lr=1.0, min_lr=0.1
        )
        rows.append((abs(found - course(step)), step, found, course(step)))
    gap, step, found, wanted = max(rows)
    return seen(not gap < 0.02, gap, "rate", step=step, found=found, wanted=wanted)


def course(step):
    """Linear to 1 at step 5, half a cosine to 0.1 at step 20, flat after."""
    if step < 5:
        return step / 5
    return 0.1 + 0.45 * (1 + math.cos(math.pi * min(1.0, (step - 5) / 15)))
