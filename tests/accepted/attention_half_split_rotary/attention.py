"""Channels i and i + d_k/2 make the turning pair (Llama's layout): q and k are projected freely, so
it is a renaming.
"""

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F


def softmax(x, dim=-1):
    return F.softmax(x, dim=dim)


def causal_mask(T, device=None):
    return torch.from_numpy(np.triu(np.ones((T, T), dtype=bool), k=1)).to(device)


def attention(q, k, v, mask=None):
    if mask is None:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=torch.atleast_2d(~mask))


def rotate_half(x):
    first, second = x.chunk(2, dim=-1)
    return torch.cat((-second, first), dim=-1)


class MultiHeadAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.n_head = config.n_head
        self.d_k = config.d_model // config.n_head
        for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
            setattr(self, name, nn.Linear(config.d_model, config.d_model, bias=config.bias))
        self.dropout = nn.Dropout(config.dropout)
        self.rotary = config.positions == "rotary"
        if self.rotary:
            cos, sin = self.tables(config.block_size)
            self.register_buffer("cos", cos, persistent=False)
            self.register_buffer("sin", sin, persistent=False)

    def tables(self, T):
        """cos and sin, both (T, d_k); the same angle for both members of a pair."""
        if self.d_k % 2:
            raise ValueError(f"d_k must be even for rotary positions, found {self.d_k}")
        frequency = 10000.0 ** (-np.arange(0, self.d_k, 2) / self.d_k)
        angle = np.tile(np.outer(np.arange(T), frequency), 2)
        return torch.from_numpy(np.cos(angle)), torch.from_numpy(np.sin(angle))

    def turn(self, x):
        T = x.size(-2)
        return (x * self.cos[:T] + rotate_half(x) * self.sin[:T]).to(x.dtype)

    def forward(self, x):
        projections = (self.q_proj, self.k_proj, self.v_proj)
        q, k, v = (p(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for p in projections)
        if self.rotary:
            q, k = self.turn(q), self.turn(k)
        return self.dropout(self.out_proj(attention(q, k, v).transpose(1, 2).flatten(2)))
