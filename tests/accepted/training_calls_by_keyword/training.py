"""Every function and the model are called by keyword: the names are the interface's."""

import dataclasses
import io
import math
import os
from pathlib import Path

import torch

from .data import get_batch
from .loss import next_token_loss


def configure_optimizer(model, lr, weight_decay, betas):
    """AdamW (arXiv:1711.05101) that decays tensors of two or more axes and leaves the rest alone.

    A bias or a gain has no reason to be near 0; a tied tensor is one parameter and stands once.
    """
    parameters = list(model.parameters())
    groups = [
        {"params": [p for p in parameters if p.dim() >= 2], "weight_decay": weight_decay},
        {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=lr, betas=betas, fused=True)


def learning_rate(step, *, warmup, decay_steps, max_lr, min_lr):
    """Linear from 0 to max_lr at step ``warmup``, a half cosine to min_lr at ``decay_steps``, flat.

    All steps count from 0 (arXiv:1608.03983, with warm-up).
    """
    if step < warmup:
        return max_lr * step / warmup
    progress = min(1.0, (step - warmup) / max(1, decay_steps - warmup))
    return min_lr + 0.5 * (1 + math.cos(math.pi * progress)) * (max_lr - min_lr)


def clip_gradients(parameters, max_norm):
    """Scale all gradients, in place, so that their common L2 norm is at most ``max_norm``.

    One factor for all keeps the direction. Returns the norm before clipping.
    """
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = math.sqrt(sum(g.float().square().sum().item() for g in gradients))
    if norm > max_norm:
        for gradient in gradients:
            gradient.mul_(max_norm / norm)
    return norm


def train_step(model, optimizer, micro_batches, max_norm=None):
    """One update from a list of (x, y) pairs of equal size, as if they were one big batch.

    Each loss is divided by the number of pairs before its gradient is added to the sum. Returns
    the mean loss. The caller sets the learning rate and the mode.
    """
    optimizer.zero_grad()
    mean_loss = 0.0
    for x, y in micro_batches:
        loss = next_token_loss(logits=model(idx=x), y=y) / len(micro_batches)
        loss.backward()
        mean_loss += loss.item()
    if max_norm is not None:
        clip_gradients(model.parameters(), max_norm)
    optimizer.step()
    return mean_loss


def save_checkpoint(path, model, optimizer, step):
    """Write all that a run needs to go on, or leave the old file as it was.

    Weights, optimiser, torch's generator, step and config go to a file beside ``path``, which
    then takes its place in one move: a full disk or a kill never leaves half a checkpoint.
    Raises OSError when the file cannot be written.
    """
    state = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "generator": torch.get_rng_state(),
        "step": step,
        "config": dataclasses.asdict(model.config),
    }
    packed = io.BytesIO()  # in memory first: torch's own writer hides why a disk refused
    torch.save(state, packed)
    part = Path(f"{path}.part")
    try:
        part.write_bytes(packed.getbuffer())
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def load_checkpoint(path, model, optimizer=None):
    """Restore what ``save_checkpoint`` wrote, torch's generator included; returns the step.

    Raises ValueError when the file belongs to another config. Only tensors and plain values are
    read: a file that carries code is refused (``weights_only``).
    """
    state = torch.load(path, weights_only=True)
    wanted = dataclasses.asdict(model.config)
    differing = [name for name in wanted if state["config"].get(name) != wanted[name]]
    if differing:
        found = ", ".join(
            f"{name} {state['config'].get(name)} instead of {wanted[name]}" for name in differing
        )
        raise ValueError(f"{path} belongs to another config: {found}")
    model.load_state_dict(state["model"])
    if optimizer is not None:
        optimizer.load_state_dict(state["optimizer"])
    torch.set_rng_state(state["generator"])
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
    """Train until ``steps`` updates are done; returns the losses of the updates made here.

    The other keywords are those of ``learning_rate`` (``decay_steps`` defaults to ``steps``),
    ``configure_optimizer`` and ``train_step``; an update sees ``accumulation`` batches.
    With ``checkpoint`` (a path) the run goes on from that file if it exists, as if it had never
    stopped, and writes it every ``checkpoint_every`` updates and at the end.
    ``after_step(step, loss)`` is called after each update, before the checkpoint is written; when
    it returns True the run is saved and ends there.
    """
    optimizer = configure_optimizer(model, max_lr, weight_decay, betas)
    done = 0
    if checkpoint is not None and os.path.exists(checkpoint):
        done = load_checkpoint(checkpoint, model, optimizer)
    knobs = {"warmup": warmup, "max_lr": max_lr, "min_lr": min_lr}
    knobs["decay_steps"] = steps if decay_steps is None else decay_steps
    device = next(model.parameters()).device
    model.train()
    losses = []
    for step in range(done + 1, steps + 1):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step - 1, **knobs)
        pairs = [
            get_batch(data, batch_size, model.config.block_size, device)
            for _ in range(accumulation)
        ]
        losses.append(train_step(model, optimizer, pairs, max_norm))
        stop = after_step is not None and after_step(step, losses[-1])
        if checkpoint is not None and (stop or step % checkpoint_every == 0 or step == steps):
            save_checkpoint(checkpoint, model, optimizer, step)
        if stop:
            break
    return losses
