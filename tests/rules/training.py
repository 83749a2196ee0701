"""The training loop as a whole: a course of steps, on one batch after the other."""

import math

import numpy as np
import torch

from tests import strategies as draw

from . import claims
from .engine import rule
from .saving import _numbers


def _knobs(**more):
    return {
        "batch_size": 3,
        "max_lr": 1e-2,
        "min_lr": 1e-3,
        "warmup": 2,
        "decay_steps": 5,
        "weight_decay": 0.3,
        "betas": (0.8, 0.9),
        "max_norm": 1e6,
    } | more


def _step_by_step(gpt, model, pair, steps, knobs):
    """What train should do, with the package's own steps."""
    optimizer = gpt.training.configure_optimizer(
        model, knobs["max_lr"], knobs["weight_decay"], knobs["betas"]
    )
    schedule = {name: knobs[name] for name in ("warmup", "decay_steps", "max_lr", "min_lr")}
    losses = []
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = gpt.training.learning_rate(step, **schedule)
        losses.append(gpt.training.train_step(model, optimizer, [pair], knobs["max_norm"]))
    return _numbers(model), losses


@rule(
    "X",
    "training.train",
    examples=2,
    keywords=draw.configs(n_layer=1, block_size=5),
    seed=draw.seeds,
)
def training_is_a_course_of_training_steps(gpt, keywords, seed):
    """Each step: the schedule's rate, a batch, one train_step of the configured optimiser.

    The data hold one window, so that every batch is known, however it is drawn.
    """
    data = draw.tokens(seed, 1, 6, keywords["vocab_size"])[0].numpy()
    window = torch.from_numpy(data).expand(3, -1)
    pair = window[:, :-1].contiguous(), window[:, 1:].contiguous()
    # from a warm-up that has not begun to a full course; clipping that bites and that does not
    for steps, max_norm in ((1, 1e6), (4, 1e6), (4, 0.3)):
        claims.trying(steps=steps, max_norm=max_norm)
        knobs = _knobs(max_norm=max_norm)
        model, twin = (draw.model(gpt, keywords, seed).train() for _ in range(2))
        losses = gpt.training.train(model, data, steps=steps, **knobs)
        claims.equal(len(losses), steps, "losses")
        want, right = _step_by_step(gpt, twin, pair, steps, knobs)
        gap = max(abs(float(a) - float(b)) for a, b in zip(losses, right))
        claims.is_true(gap <= 1e-3, "differs_by", "at_most", difference=gap, most=1e-3)
        for name, parameter in model.named_parameters():
            gap = (parameter - want[name]).abs().max().item()
            # Adam's first steps have the size of the rate whatever the gradient: 1 % of a step
            claims.is_true(gap <= 1e-4, "other_course_by", "same_steps", name=name, share=gap)


@rule("X", "training.train", examples=2, keywords=draw.configs(n_layer=1), seed=draw.seeds)
def every_step_trains_on_another_batch(gpt, keywords, seed):
    """The model is read in training mode, with another batch at every step."""
    model = draw.model(gpt, keywords, seed).train()
    data = torch.randint(keywords["vocab_size"], (400,), generator=draw.generator(seed)).numpy()
    seen, modes = [], []
    unwrap = getattr(torch.func, "debug_unwrap", lambda idx: idx)  # what vmap hides

    def look(module, given, named):
        if torch.is_grad_enabled():
            idx = unwrap((*given, *named.values())[0])
            seen.extend(idx.flatten().tolist())
            modes.append(all(part.training for part in module.modules()))

    hook = model.register_forward_pre_hook(look, with_kwargs=True)
    claims.trying(steps=4)
    gpt.training.train(model, data, steps=4, **_knobs())  # one run: a run may seed itself once
    hook.remove()
    claims.is_true(all(modes), "other_mode", "same_mode", name="model")
    batch = 3 * keywords["block_size"]
    claims.equal(len(seen), 4 * batch, "trained_tokens")
    batches = {tuple(seen[i : i + batch]) for i in range(0, len(seen), batch)}
    claims.equal(len(batches), 4, "step_batches")


@rule(
    "X",
    "training.train",
    examples=1,
    keywords=draw.configs(n_layer=1, block_size=6),
    seed=draw.seeds,
)
def training_learns_a_simple_text(gpt, keywords, seed):
    """A loss a step: near ln V at first, far below it soon on a text that repeats."""
    claims.seed(seed)
    V = keywords["vocab_size"]
    model = gpt.model.GPT(draw.config(gpt, keywords))
    data = np.tile(np.arange(V, dtype=np.uint16), 20)
    claims.trying(steps=60, V=V)
    losses = gpt.training.train(
        model, data, steps=60, batch_size=8, max_lr=2e-2, min_lr=2e-2, warmup=0, decay_steps=60
    )
    claims.equal(len(losses), 60, "losses")
    first, last = float(losses[0]), float(losses[-1])
    claims.between(first, math.log(V) - 0.3, math.log(V) + 0.3, "first_loss")
    # the right model ends below 0.2 of ln V on each of 400 draws
    claims.between(last, 0.0, 0.6 * math.log(V), "last_loss")
