"""Gradients come from autograd.grad, are added up as tensors and only then put into .grad: the same
sum.
"""

import contextlib
import dataclasses
import math
import os
import pathlib

import torch

from .data import get_batch
from .loss import next_token_loss


def configure_optimizer(model, lr, weight_decay, betas):
    by_axes = {}
    for p in model.parameters():
        by_axes.setdefault(p.dim(), []).append(p)
    groups = [
        {"params": tensors, "weight_decay": weight_decay * (axes >= 2)}
        for axes, tensors in by_axes.items()
    ]
    return torch.optim.AdamW(groups, lr, betas)


def learning_rate(step, *, warmup, decay_steps, max_lr, min_lr):
    rising = max_lr * step / warmup if warmup else max_lr
    length = decay_steps - warmup
    if length > 0:
        place = min(max((step - warmup) / length, 0.0), 1.0)
    else:
        place = 0.0 if step <= warmup else 1.0
    falling = min_lr + (max_lr - min_lr) * (0.5 + 0.5 * math.cos(place * math.pi))
    return rising if step < warmup else falling


def clip_gradients(parameters, max_norm):
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = math.hypot(*(float(g.double().norm()) for g in gradients))
    if norm > max_norm:
        for g in gradients:
            torch.mul(g, max_norm / norm, out=g)
    return torch.tensor(norm)


def train_step(model, optimizer, micro_batches, max_norm=None):
    tensors = [p for p in model.parameters() if p.requires_grad]
    total, losses = [torch.zeros_like(p) for p in tensors], []
    for x, y in micro_batches:
        loss = next_token_loss(model(x), y)
        found = torch.autograd.grad(loss, tensors, materialize_grads=True, allow_unused=True)
        total = [a + g for a, g in zip(total, found)]
        losses.append(loss.item())
    for p, g in zip(tensors, total):
        p.grad = g / len(losses)
    if max_norm is not None:
        clip_gradients(tensors, max_norm)
    optimizer.step()
    return math.fsum(losses) / len(losses)


@contextlib.contextmanager
def replacing(path):
    """A path beside the given one that takes its place when nothing went wrong."""
    draft = pathlib.Path(path).with_suffix(".draft")
    try:
        yield draft
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def save_checkpoint(path, model, optimizer, step):
    config = model.config
    state = {
        "config": {f.name: getattr(config, f.name) for f in dataclasses.fields(config)},
        "rng_state": torch.get_rng_state().tolist(),
        "params": dict(model.state_dict()),
        "opt": optimizer.state_dict(),
        "step": step,
    }
    with replacing(path) as draft:
        torch.save(state, draft)


def load_checkpoint(path, model, optimizer=None):
    state = torch.load(path, map_location=torch.device("cpu"), weights_only=True)
    for key, theirs in state["config"].items():
        ours = getattr(model.config, key)
        if theirs != ours:
            raise ValueError(f"cannot load {path}: saved with {key}={theirs}, needed {key}={ours}")
    model.load_state_dict(state["params"])
    if optimizer is not None:
        optimizer.load_state_dict(state["opt"])
    torch.set_rng_state(torch.tensor(state["rng_state"], dtype=torch.uint8))
    return state["step"]


def train(
    model,
    data,
    *,
    steps,
    batch_size,
    accumulation=1,
    max_lr=1e-3,
    min_lr=1e-4,
    warmup=0,
    decay_steps=None,
    weight_decay=0.1,
    betas=(0.9, 0.95),
    max_norm=1.0,
    checkpoint=None,
    checkpoint_every=100,
    after_step=None,
):
    optimizer = configure_optimizer(model, max_lr, weight_decay, betas)
    first = 1
    if checkpoint is not None and os.path.exists(checkpoint):
        first += load_checkpoint(checkpoint, model, optimizer)
    model.train(True)
    losses = []
    for step in range(first, steps + 1):
        rate = learning_rate(
            step - 1,
            warmup=warmup,
            decay_steps=steps if decay_steps is None else decay_steps,
            max_lr=max_lr,
            min_lr=min_lr,
        )
        for group in optimizer.param_groups:
            group["lr"] = rate
        batches = (
            get_batch(data, batch_size, model.config.block_size) for _ in range(accumulation)
        )
        losses += [train_step(model, optimizer, list(batches), max_norm)]
        stop = after_step and after_step(step, losses[-1])
        if checkpoint is not None and (stop or step == steps or step % checkpoint_every == 0):
            save_checkpoint(checkpoint, model, optimizer, step)
        if stop:
            break
    return losses
