"""Losses are back-propagated whole and the summed gradients divided at the end; shrinking the
weights before Adam's step is decoupled decay.
"""

import dataclasses
import math
import os

import torch

from .data import get_batch
from .loss import next_token_loss


class DecoupledAdam(torch.optim.Adam):
    """Adam that first shrinks the weights by lr * decay, apart from the gradient: AdamW."""

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.mul_(1 - group["lr"] * group["decay"])
        return super().step(closure)


def configure_optimizer(model, lr, weight_decay, betas):
    matrices = list(filter(lambda p: p.dim() >= 2, model.parameters()))
    rest = list(filter(lambda p: p.dim() < 2, model.parameters()))
    groups = ({"params": matrices, "decay": weight_decay}, {"params": rest, "decay": 0.0})
    return DecoupledAdam(groups, lr=lr, betas=betas, weight_decay=0)


def learning_rate(step, *, warmup, decay_steps, max_lr, min_lr):
    if step < warmup:
        return max_lr - max_lr * (warmup - step) / warmup
    left = 1 - min(1.0, (step - warmup) / max(1, decay_steps - warmup))
    # sin^2 of a falling angle is the half cosine seen from its end
    return min_lr + (max_lr - min_lr) * math.sin(math.pi / 2 * left) ** 2


def clip_gradients(parameters, max_norm):
    kept = [p for p in parameters if p.grad is not None]
    norm = sum(p.grad.detach().to(torch.float64).pow(2).sum() for p in kept) ** 0.5
    for p in kept:
        p.grad.data.mul_(min(1.0, float(max_norm / max(norm, max_norm))))
    return norm


def train_step(model, optimizer, micro_batches, max_norm=None):
    optimizer.zero_grad()
    losses = []
    for x, y in micro_batches:
        loss = next_token_loss(model(x), y)
        loss.backward()
        losses.append(float(loss.detach()))
    for p in model.parameters():
        if p.grad is not None:
            p.grad.div_(len(losses))
    if max_norm is not None:
        clip_gradients(model.parameters(), max_norm)
    optimizer.step()
    return sum(losses) / len(losses)


def save_checkpoint(path, model, optimizer, step):
    target = os.path.abspath(path)
    hidden = os.path.join(os.path.dirname(target), f".{os.path.basename(target)}.unfinished")
    everything = dict(
        model=model.state_dict(),
        optimizer=optimizer.state_dict(),
        generator=torch.get_rng_state(),
        step=step,
        **{f"config.{k}": v for k, v in dataclasses.asdict(model.config).items()},
    )
    try:
        torch.save(everything, hidden)
        os.replace(hidden, target)
    except BaseException:
        if os.path.lexists(hidden):
            os.unlink(hidden)
        raise


def load_checkpoint(path, model, optimizer=None):
    loaded = torch.load(path, weights_only=True)
    for name, value in dataclasses.asdict(model.config).items():
        if loaded[f"config.{name}"] != value:
            raise ValueError(
                f"{name} is {value} in this model and {loaded[f'config.{name}']} in {path}"
            )
    model.load_state_dict(loaded["model"])
    if optimizer is not None:
        optimizer.load_state_dict(loaded["optimizer"])
    torch.set_rng_state(loaded["generator"])
    return loaded["step"]


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
    def rate(step):
        end = steps if decay_steps is None else decay_steps
        return learning_rate(step, warmup=warmup, decay_steps=end, max_lr=max_lr, min_lr=min_lr)

    def batch():
        return get_batch(data, batch_size, model.config.block_size)

    optimizer = configure_optimizer(model, max_lr, weight_decay, betas)
    done = 0
    if checkpoint is not None and os.path.exists(checkpoint):
        done = load_checkpoint(checkpoint, model, optimizer)
    model.train()
    losses = []
    for step in range(done + 1, steps + 1):
        for group in optimizer.param_groups:
            group["lr"] = rate(step - 1)
        losses.append(
            train_step(model, optimizer, [batch() for _ in range(accumulation)], max_norm)
        )
        stop = after_step is not None and after_step(step, losses[-1])
        if checkpoint is not None and (stop or step % checkpoint_every == 0 or step == steps):
            save_checkpoint(checkpoint, model, optimizer, step)
        if stop:
            break
    return losses
