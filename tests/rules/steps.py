"""The training loop (day 49 and on): the rate, clipping, the optimiser, one step."""

import itertools
import math

import torch
from hypothesis import strategies as st
from torch import nn

from tests import strategies as draw

from . import claims
from .day49 import _law
from .engine import rule

rates = st.sampled_from([1e-3, 0.5, 3e-4])


@rule(
    "X",
    "training.learning_rate",
    examples=10,
    warmup=st.sampled_from([0, 1, 5, 10]),
    more=st.integers(1, 40),
    max_lr=rates,
    ratio=st.sampled_from([0.1, 0.0, 0.5, 1.0]),
)
def the_rate_warms_up_then_follows_a_cosine(gpt, warmup, more, max_lr, ratio):
    """0 to max_lr over ``warmup`` steps, a half cosine to min_lr at ``decay_steps``, then flat."""
    decay_steps, min_lr = warmup + more, max_lr * ratio
    knobs = {"warmup": warmup, "decay_steps": decay_steps, "max_lr": max_lr, "min_lr": min_lr}
    for step in (*range(decay_steps + 5), 100 * decay_steps + 2000):
        if step < warmup:
            want = max_lr * step / warmup
        else:
            turn = math.pi * min(1.0, (step - warmup) / more)
            want = min_lr + (max_lr - min_lr) * (1 + math.cos(turn)) / 2
        claims.trying(step=step, warmup=warmup, decay_steps=decay_steps)
        got = float(gpt.training.learning_rate(step, **knobs))
        # a float32 tensor rounds to 6e-8
        claims.is_true(
            abs(got - want) <= 1e-6 * max_lr, "rate", "rate_law", found=got, share=got / max_lr
        )


def _with_gradients(seed, sizes=((3, 4), (5,), (2, 3, 2), ()), scale=1.0, dtype=torch.float64):
    """Parameters with normal gradients, and one without any."""
    parameters = [nn.Parameter(torch.zeros(size, dtype=dtype)) for size in sizes]
    for i, parameter in enumerate(parameters):
        parameter.grad = draw.normal(seed + i, *parameter.shape, dtype=dtype, scale=scale)
    return [*parameters[:2], nn.Parameter(torch.zeros(3, dtype=dtype)), *parameters[2:]]


def _global_norm(parameters):
    squares = [p.grad.double().square().sum().item() for p in parameters if p.grad is not None]
    return math.sqrt(sum(squares))


@rule("X", "training.clip_gradients", examples=2, seed=draw.seeds)
def one_factor_brings_all_gradients_under_the_norm(gpt, seed):
    """One factor, never above 1, for all gradients, in place; returns the norm before."""
    cases = itertools.product(
        (1.0, 1e-3, 100.0, 0.0), (1.0, 0.25, 7.0), (False, True), draw.wide_dtypes
    )
    for scale, max_norm, lazy, dtype in cases:
        _clipped(gpt, scale, max_norm, lazy, dtype, seed)


def _clipped(gpt, scale, max_norm, lazy, dtype, seed):
    parameters = _with_gradients(seed, scale=scale, dtype=dtype)
    tensors = [p.grad for p in parameters]
    before = [None if g is None else g.clone() for g in tensors]
    norm = _global_norm(parameters)
    claims.trying(norm=norm, max_norm=max_norm)
    given = (p for p in parameters) if lazy else parameters
    returned = claims.answers(lambda: gpt.training.clip_gradients(given, max_norm), "clipping")
    claims.is_true(
        abs(float(returned) - norm) <= 2e-5 * max(norm, 1e-9),
        "differs_by",
        "at_most",
        difference=abs(float(returned) - norm),
        most=2e-5 * norm,
    )
    factor = min(1.0, max_norm / norm) if norm > 0 else 1.0
    for parameter, tensor, old in zip(parameters, tensors, before):
        claims.is_true(parameter.grad is tensor, "new_gradient", "same_gradient")
        if old is None:
            continue
        claims.finite(tensor)
        # 1e-5 relative: torch's own clipping adds 1e-6 to the norm
        gap = (tensor - factor * old).abs().max().item()
        claims.is_true(
            gap <= 2e-5 * max(old.abs().max().item() * factor, 1e-12),
            "clip_scale",
            "clip_law",
            found=tensor.norm().item(),
            wanted=factor * old.norm().item(),
        )


@rule("X", "training.clip_gradients", max_norm=st.sampled_from([1.0, 0.1]))
def no_gradients_are_nothing_to_clip(gpt, max_norm):
    """Parameters without gradients, or none at all, have norm 0."""
    for parameters in ([nn.Parameter(torch.ones(3))], []):
        claims.trying(norm=0.0, max_norm=max_norm)
        returned = claims.answers(
            lambda p=parameters: gpt.training.clip_gradients(p, max_norm), "clipping"
        )
        claims.equal(float(returned), 0.0, "gradient_norm")


def _adamw(state, gradient, rate, decay, betas, eps=1e-8):
    """One step of the paper (arXiv:1711.05101, algorithm 2) on a float64 value."""
    state["t"] += 1
    first, second = betas
    state["m"] = first * state["m"] + (1 - first) * gradient
    state["v"] = second * state["v"] + (1 - second) * gradient.square()
    mean = state["m"] / (1 - first ** state["t"])
    spread = (state["v"] / (1 - second ** state["t"])).sqrt()
    state["value"] = state["value"] * (1 - rate * decay) - rate * mean / (spread + eps)


@rule(
    "X",
    "training.configure_optimizer",
    examples=4,
    keywords=draw.configs(n_layer=1, bias=True),
    lr=st.sampled_from([1e-2, 1e-3]),
    betas=st.sampled_from([(0.9, 0.95), (0.8, 0.999), (0.0, 0.5)]),
    seed=draw.seeds,
)
def matrices_decay_and_vectors_do_not(gpt, keywords, lr, betas, seed):
    """AdamW: decay apart from the gradient, on tensors of two or more axes, embeddings too."""
    cases = (
        (2.0, {"tied": True, "mlp": "gelu"}),
        (0.1, {"tied": False, "mlp": "swiglu"}),
        (0.0, {"tied": True}),
    )
    for decay, more in cases:
        more = more | {"positions": "learned"}
        _decays(gpt, keywords | more, lr, decay, betas, seed)


def _decays(gpt, keywords, lr, decay, betas, seed):
    claims.trying(lr=lr, weight_decay=decay, steps=3)
    model = draw.model(gpt, keywords, seed)
    optimizer = gpt.training.configure_optimizer(model, lr, decay, betas)
    claims.is_true(not model.training, "other_mode", "same_mode", name="model")
    named = dict(model.named_parameters())
    states = {
        name: {"t": 0, "m": 0.0, "v": 0.0, "value": p.detach().clone()} for name, p in named.items()
    }
    grouped = [id(p) for group in optimizer.param_groups for p in group["params"]]
    claims.equal(len(grouped), len(set(grouped)), "once_each")
    claims.equal(set(grouped) == {id(p) for p in named.values()}, True, "all_parameters")
    for step in range(3):
        for i, (name, parameter) in enumerate(named.items()):
            gradient = draw.normal(seed + 97 * step + i, *parameter.shape)
            parameter.grad = torch.empty_like(parameter).copy_(gradient)  # strides as backward's
            rate = decay if parameter.dim() >= 2 else 0.0
            _adamw(states[name], gradient, lr if step == 0 else lr / 2, rate, betas)
        optimizer.step()
        for group in optimizer.param_groups:  # as a schedule does
            group["lr"] = lr / 2
    for name, parameter in named.items():
        start, want = model.get_parameter(name).detach(), states[name]["value"]
        # eps 1e-8 beside gradients near 1, and its place, count for less than 1e-6 of a step
        gap = (start - want).abs().max().item()
        # a rate kept in float32 tells a value by 6e-8 of it, three times
        allowed = 1e-4 * lr + 3e-7 * max(1.0, want.abs().max().item())
        claims.is_true(
            gap <= allowed,
            "step_differs",
            "step_law",
            name=name,
            axes=parameter.dim(),
            share=gap / lr,
        )


class PlainSGD:
    """Value minus rate times gradient: it shows which gradient it was given."""

    def __init__(self, model, rate=1.0):
        self.parameters = list(model.parameters())
        # two groups, as those that decay and those that do not
        halves = self.parameters[::2], self.parameters[1::2]
        self.param_groups = [{"params": half, "lr": rate} for half in halves]
        self.steps = 0

    def zero_grad(self, set_to_none=True):
        for parameter in self.parameters:
            parameter.grad = None if set_to_none or parameter.grad is None else parameter.grad * 0

    def step(self, closure=None):
        loss = None if closure is None else closure()
        self.steps += 1
        with torch.no_grad():
            for parameter in self.parameters:
                if parameter.grad is not None:
                    parameter -= self.param_groups[0]["lr"] * parameter.grad
        return loss


def _batches(seed, count, B, T, vocab):
    return [
        (draw.tokens(seed + 2 * i, B, T, vocab), draw.tokens(seed + 2 * i + 1, B, T, vocab))
        for i in range(count)
    ]


@rule(
    "X",
    "training.train_step",
    examples=2,
    keywords=draw.configs(n_layer=1),
    stale=st.booleans(),
    seed=draw.seeds,
)
def a_step_is_that_of_the_whole_batch(gpt, keywords, stale, seed):
    """Old gradients cleared, the mean over all micro-batches, clipped, one step; mean loss back."""
    for count, max_norm in itertools.product((5, 1, 2), (None, 0.05, 1e6)):
        claims.trying(micro_batches=count, max_norm=max_norm, stale=stale)
        dtype = torch.float32 if count == 2 else torch.float64
        _one_step(gpt, keywords, seed, count, max_norm, stale, dtype)
        stale = not stale


def _one_step(gpt, keywords, seed, count, max_norm, stale, dtype):
    model = draw.model(gpt, keywords, seed, dtype)
    pairs = _batches(seed, count, 2, 4, keywords["vocab_size"])
    if count == 1:  # targets that do not count: with equal sizes only
        pairs[0][1][:, ::2] = -100
    x, y = (torch.cat(part) for part in zip(*pairs))
    loss = _law(model(x), y)
    named = dict(model.named_parameters())
    for name, parameter in named.items():
        claims.is_true(parameter.requires_grad, "frozen", "gradient", name=name)
    gradients = dict(zip(named, torch.autograd.grad(loss, list(named.values()), allow_unused=True)))
    gradients = {
        n: torch.zeros_like(named[n]) if g is None else claims.dense(g)
        for n, g in gradients.items()
    }
    norm = math.sqrt(sum(g.square().sum().item() for g in gradients.values()))
    factor = 1.0 if max_norm is None else min(1.0, max_norm / norm)
    before = {name: p.detach().clone() for name, p in named.items()}
    if stale:
        for parameter in named.values():
            parameter.grad = torch.full_like(parameter, 3.0)
    optimizer = PlainSGD(model)
    mode = model.training
    clipping = () if max_norm is None else (max_norm,)
    returned = gpt.training.train_step(model, optimizer, pairs, *clipping)
    leaks = isinstance(returned, torch.Tensor) and returned.requires_grad
    claims.is_true(not leaks, "graph_kept", "graph_freed")
    claims.equal(optimizer.steps, 1, "steps_taken")
    claims.equal(model.training, mode, "mode")
    gap = abs(float(returned) - loss.item())
    claims.is_true(gap <= 1e-4, "differs_by", "at_most", difference=gap, most=1e-4)
    largest = factor * max(g.abs().max().item() for g in gradients.values())
    for name, parameter in named.items():
        step = before[name] - parameter.detach()
        gap = (step - factor * gradients[name]).abs().max().item()
        # the loss may be computed in float32: 1e-4 of the largest gradient
        claims.is_true(
            gap <= 1e-4 * max(largest, 1e-3),
            "gradient_differs",
            "gradient_law",
            name=name,
            found=step.norm().item(),
            wanted=factor * gradients[name].norm().item(),
        )


@rule("X", "training.train_step", keywords=draw.configs(n_layer=1, dropout=0.3), seed=draw.seeds)
def a_step_keeps_the_mode(gpt, keywords, seed):
    """train_step leaves train and eval mode to its caller."""
    model = draw.model(gpt, keywords, seed)
    pairs = _batches(seed, 2, 2, 4, keywords["vocab_size"])
    for mode in (True, False):
        model.train(mode)
        seen = []
        hook = model.register_forward_pre_hook(lambda m, _, seen=seen: seen.append(m.training))
        claims.trying(mode="train" if mode else "eval")
        gpt.training.train_step(model, PlainSGD(model, 1e-3), pairs)
        hook.remove()
        same = model.training == mode and all(was == mode for was in seen)
        claims.is_true(same, "other_mode", "same_mode", name="model")
