"""AdamW is written out from the paper as an Optimizer, and (1 + cos a) / 2 as the square of cos(a /
2).
"""

import dataclasses
import io
import math
from pathlib import Path

import torch

from .data import get_batch
from .loss import next_token_loss


class AdamW(torch.optim.Optimizer):
    """theta <- theta - lr (m_hat / (sqrt(v_hat) + eps) + decay theta)."""

    def __init__(self, params, lr, betas, eps=1e-8, weight_decay=0.0):
        defaults = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, defaults)

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    self.update(p, self.state[p], group)
        return loss

    def update(self, p, state, group):
        if not state:
            state["t"], state["m"], state["v"] = 0, torch.zeros_like(p), torch.zeros_like(p)
        state["t"] += 1
        (b1, b2), t, g = group["betas"], state["t"], p.grad
        state["m"].mul_(b1).add_(g, alpha=1 - b1)
        state["v"].mul_(b2).addcmul_(g, g, value=1 - b2)
        m_hat = state["m"] / (1 - b1**t)
        v_hat = state["v"] / (1 - b2**t)
        direction = m_hat / (v_hat.sqrt() + group["eps"]) + group["weight_decay"] * p
        p.sub_(group["lr"] * direction)


def configure_optimizer(model, lr, weight_decay, betas):
    flat = [p for p in model.parameters() if p.ndim <= 1]
    matrices = [p for p in model.parameters() if p.ndim > 1]
    groups = [{"params": flat}, {"params": matrices, "weight_decay": weight_decay}]
    return AdamW(groups, lr=lr, betas=tuple(betas))


def learning_rate(step, *, warmup, decay_steps, max_lr, min_lr):
    if step < warmup:
        return step * (max_lr / warmup)
    through = (step - warmup) / max(decay_steps - warmup, 1)
    # (1 + cos a) / 2 = cos^2(a / 2)
    return min_lr + (max_lr - min_lr) * math.cos(math.pi / 2 * min(through, 1.0)) ** 2


@torch.no_grad()
def clip_gradients(parameters, max_norm):
    parameters = [p for p in parameters if p.grad is not None]
    square = 0.0
    for p in parameters:
        square += float(torch.sum(p.grad.double() ** 2))
    norm = square**0.5
    scale = 1.0 if norm <= max_norm else max_norm / norm
    for p in parameters:
        p.grad *= scale
    return norm


def train_step(model, optimizer, micro_batches, max_norm=None):
    for p in model.parameters():
        p.grad = None
    losses = [next_token_loss(model(x), y) for x, y in micro_batches]
    loss = torch.stack(losses).mean()
    loss.backward()
    if max_norm is not None:
        clip_gradients(model.parameters(), max_norm)
    optimizer.step()
    return loss.detach()


def save_checkpoint(path, model, optimizer, step):
    buffer = io.BytesIO()
    torch.save(
        {
            "weights": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "torch_rng": torch.random.get_rng_state(),
            "step": step,
            "config": [[f.name, getattr(model.config, f.name)] for f in fields(model)],
        },
        buffer,
    )
    path = Path(path)
    beside = path.with_name(path.name + ".new")
    try:
        beside.write_bytes(buffer.getvalue())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def fields(model):
    return dataclasses.fields(model.config)


def load_checkpoint(path, model, optimizer=None):
    saved = torch.load(str(path), weights_only=True)
    for name, value in saved["config"]:
        if getattr(model.config, name) != value:
            raise ValueError(
                f"{path} was saved with {name} = {value}, this model has {name} = "
                f"{getattr(model.config, name)}"
            )
    model.load_state_dict(saved["weights"])
    if optimizer:
        optimizer.load_state_dict(saved["optimizer"])
    torch.random.set_rng_state(saved["torch_rng"])
    return saved["step"]


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
    done = 0
    if checkpoint is not None and Path(checkpoint).exists():
        done = load_checkpoint(checkpoint, model, optimizer)
    schedule = {"warmup": warmup, "decay_steps": decay_steps or steps}
    schedule |= {"max_lr": max_lr, "min_lr": min_lr}
    model.train()
    losses = []
    for step in range(done, steps):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, **schedule)
        pairs = [get_batch(data, batch_size, model.config.block_size) for _ in range(accumulation)]
        losses.append(float(train_step(model, optimizer, pairs, max_norm)))
        stop = bool(after_step and after_step(step + 1, losses[-1]))
        if checkpoint and (stop or step + 1 == steps or not (step + 1) % checkpoint_every):
            save_checkpoint(checkpoint, model, optimizer, step + 1)
        if stop:
            break
    return losses
