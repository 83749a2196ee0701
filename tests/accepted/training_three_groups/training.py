"""Vectors, embeddings and matrices are three groups filled from the last tensor to the first: order
and number of groups are open.
"""

import os
from dataclasses import asdict
from math import cos, pi
from pathlib import Path
from tempfile import NamedTemporaryFile

import numpy as np
import torch

from .data import get_batch
from .loss import next_token_loss


def configure_optimizer(model, lr, weight_decay, betas):
    embeddings = {id(m.weight) for m in model.modules() if isinstance(m, torch.nn.Embedding)}
    groups = {"vectors": [], "embeddings": [], "matrices": []}
    for p in reversed(list(model.parameters())):
        kind = "embeddings" if id(p) in embeddings else "matrices" if p.dim() >= 2 else "vectors"
        groups[kind].append(p)
    optimizer = torch.optim.AdamW(groups["vectors"], lr=lr, betas=betas, weight_decay=0.0)
    for kind in ("embeddings", "matrices"):
        optimizer.add_param_group({"params": groups[kind], "weight_decay": weight_decay})
    return optimizer


def learning_rate(step, *, warmup, decay_steps, max_lr, min_lr):
    if step < warmup:
        return float(np.interp(step, [0, warmup], [0.0, max_lr]))
    if decay_steps > warmup:
        fraction = float(np.clip((step - warmup) / (decay_steps - warmup), 0, 1))
    else:
        fraction = float(step > warmup)
    weight = (1 + cos(pi * fraction)) / 2
    return weight * max_lr + (1 - weight) * min_lr


def clip_gradients(parameters, max_norm):
    gradients = [p.grad for p in parameters if p.grad is not None]
    norms = [torch.linalg.vector_norm(g, dtype=torch.float64) for g in gradients]
    norm = torch.linalg.vector_norm(torch.stack(norms)) if norms else torch.zeros(())
    if norm > max_norm:
        torch._foreach_mul_(gradients, float(max_norm / norm))
    return norm


def train_step(model, optimizer, micro_batches, max_norm=None):
    optimizer.zero_grad(set_to_none=False)
    losses = [next_token_loss(model(x), y) / len(micro_batches) for x, y in micro_batches]
    torch.autograd.backward(losses)
    if max_norm is not None:
        clip_gradients(iter(model.parameters()), max_norm)
    optimizer.step()
    return sum(loss.item() for loss in losses)


def save_checkpoint(path, model, optimizer, step):
    path = Path(path)
    with NamedTemporaryFile(dir=path.resolve().parent, prefix=path.name, delete=False) as file:
        temporary = Path(file.name)
        try:
            torch.save(
                {
                    "config": asdict(model.config),
                    "generator": torch.default_generator.get_state(),
                    "model": model.state_dict(),
                    "optimizer": optimizer.state_dict(),
                    "step": torch.tensor(step),
                },
                file,
            )
            file.close()
            os.replace(temporary, path)
        except BaseException:
            file.close()
            temporary.unlink()
            raise


def load_checkpoint(path, model, optimizer=None):
    state = torch.load(Path(path), weights_only=True)
    found, wanted = set(state["config"].items()), set(asdict(model.config).items())
    if found != wanted:
        raise ValueError(
            f"{path} is of another config: it has {sorted(found - wanted)}, "
            f"the model has {sorted(wanted - found)}"
        )
    model.load_state_dict(state["model"])
    if optimizer is not None:
        optimizer.load_state_dict(state["optimizer"])
    torch.default_generator.set_state(state["generator"])
    return int(state["step"])


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
    start = 0
    if checkpoint is not None and Path(checkpoint).is_file():
        start = load_checkpoint(checkpoint, model, optimizer)
    lrs = [
        learning_rate(
            s, warmup=warmup, decay_steps=decay_steps or steps, max_lr=max_lr, min_lr=min_lr
        )
        for s in range(steps)
    ]
    losses = []
    model.train()
    for step, lr in enumerate(lrs[start:], start=start + 1):
        for group in optimizer.param_groups:
            group["lr"] = lr
        pairs = [get_batch(data, batch_size, model.config.block_size) for _ in range(accumulation)]
        loss = train_step(model, optimizer, pairs, max_norm)
        losses.append(loss)
        stop = after_step(step, loss) if after_step is not None else False
        if checkpoint is not None and (stop or step in (steps,) or step % checkpoint_every == 0):
            save_checkpoint(checkpoint, model, optimizer, step)
        if stop:
            return losses
    return losses
