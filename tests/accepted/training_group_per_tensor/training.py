"""Every tensor is an optimiser group of its own, for their number is open, and the length of all
gradients is that of one long vector.
"""

import cmath
import dataclasses
import json
import os

import torch

from .data import get_batch
from .loss import next_token_loss


def configure_optimizer(model, lr, weight_decay, betas):
    return torch.optim.AdamW(
        [
            {"name": name, "params": [p], "weight_decay": weight_decay if p.dim() > 1 else 0.0}
            for name, p in model.named_parameters()
        ],
        lr=lr,
        betas=betas,
        foreach=False,
    )


def learning_rate(step, *, warmup, decay_steps, max_lr, min_lr):
    if warmup > step:
        return max_lr * (step / warmup)
    decay = max(decay_steps - warmup, 1)
    turn = cmath.exp(1j * cmath.pi * min(step - warmup, decay) / decay)  # from 1 to -1
    middle, swing = (max_lr + min_lr) / 2, (max_lr - min_lr) / 2
    return middle + swing * turn.real


def clip_gradients(parameters, max_norm):
    gradients = [p.grad for p in parameters if p.grad is not None]
    if not gradients:
        return 0.0
    wide = [g.detach().reshape(-1).to(torch.float64) for g in gradients]
    norm = torch.cat(wide).norm(2).item()
    if norm > max_norm:
        for g in gradients:
            g.copy_(g * (max_norm / norm))
    return norm


def train_step(model, optimizer, micro_batches, max_norm=None):
    model.zero_grad()
    share = 1 / len(micro_batches)
    mean = 0.0
    for x, y in reversed(micro_batches):  # a sum has no order
        loss = share * next_token_loss(model(x), y)
        loss.backward()
        mean = mean + loss.detach()
    if max_norm is not None:
        clip_gradients((p for p in model.parameters()), max_norm)
    optimizer.step()
    return float(mean)


def save_checkpoint(path, model, optimizer, step):
    temporary = f"{os.fspath(path)}.{os.getpid()}.tmp"
    state = model.state_dict(), optimizer.state_dict(), torch.get_rng_state()
    config = json.dumps(dataclasses.asdict(model.config))
    try:
        with open(temporary, "xb") as file:
            torch.save({"state": state, "step": step, "config": config}, file)
        os.rename(temporary, path)
    except BaseException:
        if os.path.exists(temporary):
            os.remove(temporary)
        raise


def load_checkpoint(path, model, optimizer=None):
    with open(path, "rb") as file:
        saved = torch.load(file, weights_only=True)
    here, there = dataclasses.asdict(model.config), json.loads(saved["config"])
    if here != there:
        lines = [f"{k}: file {there.get(k)}, model {here[k]}" for k in here if here[k] != there[k]]
        raise ValueError(f"the checkpoint {path} does not fit this model; " + "; ".join(lines))
    weights, optimizer_state, rng = saved["state"]
    model.load_state_dict(weights)
    if optimizer is not None:
        optimizer.load_state_dict(optimizer_state)
    torch.set_rng_state(rng)
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
    model.train()
    optimizer = configure_optimizer(model, max_lr, weight_decay, betas)
    step = 0
    if checkpoint is not None and os.path.isfile(checkpoint):
        step = load_checkpoint(checkpoint, model, optimizer)
    if decay_steps is None:
        decay_steps = steps
    losses = []
    stop = False
    while step < steps and not stop:
        lr = learning_rate(
            step, warmup=warmup, decay_steps=decay_steps, max_lr=max_lr, min_lr=min_lr
        )
        for group in optimizer.param_groups:
            group.update(lr=lr)
        batches = []
        for _ in range(accumulation):
            batches.append(get_batch(data, batch_size, model.config.block_size))
        losses.append(train_step(model, optimizer, batches, max_norm))
        step += 1
        if after_step is not None:
            stop = after_step(step, losses[-1]) is True
        if checkpoint is not None and (stop or step == steps or step % checkpoint_every == 0):
            save_checkpoint(checkpoint, model, optimizer, step)
    return losses
