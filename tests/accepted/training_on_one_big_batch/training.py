"""The micro-batches are joined and seen as the one big batch that accumulation stands for."""

import io
import math
import os

import torch

from .data import get_batch
from .loss import next_token_loss


def configure_optimizer(model, lr, weight_decay, betas):
    decay, no_decay, seen = [], [], set()
    for module in model.modules():
        for p in module.parameters(recurse=False):
            if id(p) not in seen:  # a tied tensor is met twice
                seen.add(id(p))
                (no_decay if p.dim() < 2 else decay).append(p)
    groups = [
        {"params": no_decay, "weight_decay": 0.0, "lr": lr},
        {"params": decay, "weight_decay": weight_decay, "lr": lr},
    ]
    return torch.optim.AdamW(groups, lr=lr, betas=betas, fused=True)


def learning_rate(step, *, warmup, decay_steps, max_lr, min_lr):
    match step:
        case s if s < warmup:
            return max_lr / warmup * s
        case s if s >= max(decay_steps, warmup + 1):
            return float(min_lr)
        case s:
            angle = math.pi * (s - warmup) / max(decay_steps - warmup, 1)
            return max_lr - (max_lr - min_lr) * (1 - math.cos(angle)) / 2


def clip_gradients(parameters, max_norm):
    total, scaled = 0.0, []
    for p in parameters:
        if p.grad is not None:
            scaled.append(p.grad)
            flat = p.grad.double().flatten()
            total += torch.dot(flat, flat).item()
    norm = math.sqrt(total)
    factor = min(1.0, max_norm / norm) if norm > 0 else 1.0
    with torch.no_grad():
        for grad in scaled:
            grad.mul_(factor)
    return norm


def train_step(model, optimizer, micro_batches, max_norm=None):
    xs, ys = zip(*micro_batches)
    optimizer.zero_grad()
    loss = next_token_loss(model(torch.cat(xs)), torch.cat(ys))
    loss.backward()
    if max_norm is not None:
        clip_gradients(model.parameters(), max_norm)
    optimizer.step()
    return loss.item()


def save_checkpoint(path, model, optimizer, step):
    memory = io.BytesIO()
    payload = {"step": step, "rng": torch.get_rng_state(), "config": repr(model.config)}
    payload |= {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
    torch.save(payload, memory)
    memory.seek(0)
    partial = os.fspath(path) + "~"
    try:
        with open(partial, "wb") as file:
            file.write(memory.read())
            os.fsync(file.fileno())
        os.replace(src=partial, dst=path)
    finally:
        if os.path.exists(partial):
            os.remove(partial)


def load_checkpoint(path, model, optimizer=None):
    payload = torch.load(path, weights_only=True)
    if payload["config"] != repr(model.config):
        raise ValueError(
            f"config mismatch: {path} holds {payload['config']}, the model is {model.config}"
        )
    model.load_state_dict(payload["model"])
    if optimizer is not None:
        optimizer.load_state_dict(payload["optimizer"])
    torch.set_rng_state(payload["rng"])
    return payload["step"]


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
    model = model.train()
    step, losses = 0, []
    if checkpoint is not None and os.path.exists(checkpoint):
        step = load_checkpoint(checkpoint, model, optimizer)
    plan = {"warmup": warmup, "max_lr": max_lr, "min_lr": min_lr}
    plan["decay_steps"] = steps if decay_steps is None else decay_steps
    T, device = model.config.block_size, model.wte.weight.device
    while step < steps:
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, **plan)
        pairs = [get_batch(data, batch_size, T, device) for _ in range(accumulation)]
        loss = train_step(model, optimizer, pairs, max_norm)
        losses.append(loss)
        step += 1
        stop = after_step is not None and after_step(step, loss)
        if checkpoint is not None and (stop or step == steps or step % checkpoint_every == 0):
            save_checkpoint(checkpoint, model, optimizer, step)
        if stop:
            break
    return losses
