"""One plain call of every entry of the interface: can this package be judged at all?

A function that answers no call cannot be judged; one that answers some legal calls and fails on
others breaks a law.
"""

import tempfile
from pathlib import Path

import numpy as np
import torch

from .engine import ENTRIES

SIZES = {"vocab_size": 7, "block_size": 6, "n_layer": 1, "n_head": 2, "d_model": 8}
IDX = [[1, 2, 3], [4, 5, 6]]


def _config(gpt, **more):
    return gpt.model.GPTConfig(**SIZES, **more)


def _model(gpt):
    return gpt.model.GPT(_config(gpt))


def _pair():
    return torch.tensor(IDX), torch.tensor(IDX)


def _optimizer(gpt, model):
    return gpt.training.configure_optimizer(model, 1e-3, 0.1, (0.9, 0.95))


def _step(gpt):
    model = _model(gpt)
    gpt.training.train_step(model, _optimizer(gpt, model), [_pair()])


def _checkpoint(gpt, load):
    model = _model(gpt)
    optimizer = _optimizer(gpt, model)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "smoke.pt"
        gpt.training.save_checkpoint(path, model, optimizer, 1)
        if load:
            gpt.training.load_checkpoint(path, model, optimizer)


CALLS = {
    "model.GPTConfig": _config,
    "data.shift_pair": lambda gpt: gpt.data.shift_pair([1, 2, 3]),
    "data.get_batch": lambda gpt: gpt.data.get_batch(np.arange(20), 2, 3),
    "attention.softmax": lambda gpt: gpt.attention.softmax(torch.ones(2, 3)),
    "attention.causal_mask": lambda gpt: gpt.attention.causal_mask(3),
    "attention.attention": lambda gpt: gpt.attention.attention(*torch.ones(3, 2, 2, 4, 6)),
    "positions.rotary": lambda gpt: gpt.positions.rotary(torch.ones(2, 2, 4, 6)),
    "attention.MultiHeadAttention": lambda gpt: gpt.attention.MultiHeadAttention(_config(gpt))(
        torch.ones(2, 3, 8)
    ),
    "normalization.LayerNorm": lambda gpt: gpt.normalization.LayerNorm(8)(torch.ones(2, 3, 8)),
    "normalization.RMSNorm": lambda gpt: gpt.normalization.RMSNorm(8)(torch.ones(2, 3, 8)),
    "feedforward.FeedForward": lambda gpt: gpt.feedforward.FeedForward(_config(gpt))(
        torch.ones(2, 3, 8)
    ),
    "feedforward.SwiGLU": lambda gpt: gpt.feedforward.SwiGLU(_config(gpt, mlp="swiglu"))(
        torch.ones(2, 3, 8)
    ),
    "block.Block": lambda gpt: gpt.block.Block(_config(gpt))(torch.ones(2, 3, 8)),
    "model.GPT": lambda gpt: _model(gpt)(torch.tensor(IDX)),
    "ledger.parameter_ledger": lambda gpt: gpt.ledger.parameter_ledger(_config(gpt)),
    "ledger.forward_flops_per_token": lambda gpt: gpt.ledger.forward_flops_per_token(
        _config(gpt), 6
    ),
    "ledger.batch_bytes": lambda gpt: gpt.ledger.batch_bytes(2, 3, torch.int64),
    "loss.next_token_loss": lambda gpt: gpt.loss.next_token_loss(
        torch.zeros(2, 3, 7), torch.tensor(IDX)
    ),
    "sampling.generate": lambda gpt: gpt.sampling.generate(_model(gpt), torch.tensor(IDX), 2),
    "training.learning_rate": lambda gpt: gpt.training.learning_rate(
        3, warmup=2, decay_steps=9, max_lr=1.0, min_lr=0.1
    ),
    "training.clip_gradients": lambda gpt: gpt.training.clip_gradients(
        [torch.nn.Parameter(torch.ones(2))], 1.0
    ),
    "training.configure_optimizer": lambda gpt: _optimizer(gpt, _model(gpt)),
    "training.train_step": _step,
    "training.save_checkpoint": lambda gpt: _checkpoint(gpt, load=False),
    "training.load_checkpoint": lambda gpt: _checkpoint(gpt, load=True),
    "training.train": lambda gpt: gpt.training.train(
        _model(gpt), np.arange(40) % 7, steps=1, batch_size=2
    ),
}
assert set(CALLS) == set(ENTRIES)


def fails(gpt, entry):
    """The exception with which the entry answers a plain call, or None."""
    try:
        with torch.random.fork_rng(devices=[]):
            CALLS[entry](gpt)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return error
    return None
