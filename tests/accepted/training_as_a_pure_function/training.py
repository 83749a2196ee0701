"""torch.func differentiates the loss as a pure function of a dict of parameters; the gradients are
those of backward().
"""

import dataclasses
import os
from pathlib import Path

import torch
from torch.func import functional_call, grad_and_value

from .data import get_batch
from .loss import next_token_loss


def configure_optimizer(model, lr, weight_decay, betas):
    decay = {True: [], False: []}
    for _, p in sorted(model.named_parameters()):
        decay[p.dim() >= 2].append(p)
    return torch.optim.AdamW(
        [{"params": decay[many], "weight_decay": weight_decay * many} for many in (False, True)],
        lr=lr,
        betas=betas,
    )


def learning_rate(step, *, warmup, decay_steps, max_lr, min_lr):
    def line():
        return max_lr * step / warmup

    def cosine():
        t = torch.tensor((step - warmup) / max(decay_steps - warmup, 1), dtype=torch.float64)
        half = torch.cos(t.clamp(0, 1) * torch.pi).add(1).div(2).item()
        return min_lr * (1 - half) + max_lr * half

    return line() if step < warmup else cosine()


def clip_gradients(parameters, max_norm):
    parameters = [p for p in parameters if p.grad is not None]
    squares = [p.grad.to(torch.float64).square().sum() for p in parameters]
    norm = torch.stack(squares).sum().sqrt().item() if squares else 0.0
    if norm > max_norm:
        for p in parameters:
            p.grad.data.div_(norm / max_norm)
    return norm


def train_step(model, optimizer, micro_batches, max_norm=None):
    tensors = {name: p for name, p in model.named_parameters() if p.requires_grad}

    def loss(values, x, y):
        return next_token_loss(functional_call(model, values, (x,)), y)

    n, mean = len(micro_batches), 0.0
    model.zero_grad()
    for x, y in micro_batches:
        gradients, value = grad_and_value(loss)({k: p.detach() for k, p in tensors.items()}, x, y)
        mean += value.item() / n
        for name, p in tensors.items():
            part = gradients[name] / n
            p.grad = part if p.grad is None else p.grad + part
    if max_norm is not None:
        clip_gradients(tensors.values(), max_norm)
    optimizer.step()
    return mean


def save_checkpoint(path, model, optimizer, step):
    path = Path(path)
    unfinished = path.parent / f"{path.name}.writing"
    bundle = (
        dataclasses.asdict(model.config),
        model.state_dict(),
        optimizer.state_dict(),
        torch.get_rng_state(),
        step,
    )
    try:
        with unfinished.open("wb") as file:
            torch.save(bundle, file)
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def load_checkpoint(path, model, optimizer=None):
    config, weights, moments, rng, step = torch.load(path, weights_only=True)
    ours = dataclasses.asdict(model.config)
    different = [name for name in sorted(ours) if config[name] != ours[name]]
    if different:
        pairs = ", ".join(f"{name}: {config[name]} -> {ours[name]}" for name in different)
        raise ValueError(f"{path} was written by a model of another config ({pairs})")
    model.load_state_dict(weights)
    if optimizer is not None:
        optimizer.load_state_dict(moments)
    torch.set_rng_state(rng)
    return step


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
    step, losses = 0, []
    if checkpoint is not None and os.path.exists(checkpoint):
        step = load_checkpoint(checkpoint, model, optimizer)
    model.train()
    shape = {"warmup": warmup, "decay_steps": decay_steps if decay_steps else steps}
    while step < steps:
        lr = learning_rate(step, **shape, max_lr=max_lr, min_lr=min_lr)
        for group in optimizer.param_groups:
            group["lr"] = lr
        pairs = tuple(
            get_batch(data, batch_size, model.config.block_size) for _ in range(accumulation)
        )
        losses.append(train_step(model, optimizer, pairs, max_norm))
        step += 1
        stop = after_step(step, losses[-1]) if after_step else None
        if checkpoint is not None and (stop or step == steps or step % checkpoint_every == 0):
            save_checkpoint(checkpoint, model, optimizer, step)
        if stop:
            break
    return losses
