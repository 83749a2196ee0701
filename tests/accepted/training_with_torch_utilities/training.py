"""torch's clip_grad_norm_ and foreach AdamW do what the interface says, and a synced temporary file
takes the checkpoint's place in one move.
"""

import dataclasses
import math
import os
import tempfile

import torch
from rich.console import Console
from rich.progress import Progress

from .data import get_batch
from .loss import next_token_loss


def configure_optimizer(model, lr, weight_decay, betas):
    named = {name: p for name, p in model.named_parameters() if p.requires_grad}
    decayed = [p for p in named.values() if p.dim() >= 2]
    others = [p for p in named.values() if p.dim() < 2]
    groups = [
        {"params": decayed, "weight_decay": weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=lr, betas=betas, foreach=True)


def learning_rate(step, *, warmup, decay_steps, max_lr, min_lr):
    if step < warmup:
        return max_lr * step / warmup
    if step > decay_steps:
        return min_lr
    ratio = (step - warmup) / max(decay_steps - warmup, 1)
    return min_lr + 0.5 * (1.0 + math.cos(math.pi * ratio)) * (max_lr - min_lr)


def clip_gradients(parameters, max_norm):
    return torch.nn.utils.clip_grad_norm_(parameters, max_norm)


def train_step(model, optimizer, micro_batches, max_norm=None):
    optimizer.zero_grad(set_to_none=True)
    total = 0.0
    for x, y in micro_batches:
        loss = next_token_loss(model(x), y)
        (loss / len(micro_batches)).backward()
        total += loss.item()
    if max_norm is not None:
        clip_gradients(model.parameters(), max_norm)
    optimizer.step()
    return total / len(micro_batches)


def save_checkpoint(path, model, optimizer, step):
    path = os.fspath(path)
    state = {
        "step": step,
        "model": model.state_dict(),
        "optim": optimizer.state_dict(),
        "rng": torch.get_rng_state(),
        "config": dataclasses.asdict(model.config),
    }
    folder = os.path.dirname(os.path.abspath(path))
    handle, temporary = tempfile.mkstemp(suffix=".tmp", dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def load_checkpoint(path, model, optimizer=None):
    state = torch.load(path, map_location="cpu", weights_only=True)
    mine = dataclasses.asdict(model.config)
    if state["config"] != mine:
        wrong = {k: (state["config"].get(k), v) for k, v in mine.items()}
        wrong = {k: pair for k, pair in wrong.items() if pair[0] != pair[1]}
        raise ValueError(f"checkpoint {path} has another config (its value, the model's): {wrong}")
    model.load_state_dict(state["model"], strict=True)
    if optimizer is not None:
        optimizer.load_state_dict(state["optim"])
    torch.set_rng_state(state["rng"])
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
    resume = checkpoint is not None and os.path.exists(checkpoint)
    start = load_checkpoint(checkpoint, model, optimizer) if resume else 0
    model.train()
    device = next(model.parameters()).device
    losses = []
    with Progress(console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("training", total=steps, completed=start)
        for step in range(start, steps):
            lr = learning_rate(
                step,
                warmup=warmup,
                decay_steps=decay_steps if decay_steps is not None else steps,
                max_lr=max_lr,
                min_lr=min_lr,
            )
            for group in optimizer.param_groups:
                group["lr"] = lr
            size = model.config.block_size
            batches = [get_batch(data, batch_size, size, device) for _ in range(accumulation)]
            losses.append(train_step(model, optimizer, batches, max_norm))
            progress.update(bar, advance=1)
            stop = after_step is not None and after_step(step + 1, losses[-1])
            due = (step + 1) % checkpoint_every == 0 or step + 1 == steps or stop
            if checkpoint is not None and due:
                save_checkpoint(checkpoint, model, optimizer, step + 1)
            if stop:
                break
    return losses
