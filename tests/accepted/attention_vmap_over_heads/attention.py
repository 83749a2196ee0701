"""Attention is written for the matrices of one head of one text, and vmap repeats it over all
leading axes, which never mix.
"""

import torch
from torch import nn

from .positions import rotary


def softmax(x, dim=-1):
    e = torch.exp(x - x.amax(dim, keepdim=True))
    return e / e.sum(dim, keepdim=True)


def causal_mask(T, device=None):
    return ~(torch.arange(T, device=device)[:, None] >= torch.arange(T, device=device))


def one_head(q, k, v, hidden):
    """q, k: (T, d_k); v: (T, d_v); hidden: (T, T)."""
    scores = torch.mm(q, k.t()) / q.size(1) ** 0.5
    return torch.mm(softmax(torch.where(hidden, -torch.inf, scores)), v)


def attention(q, k, v, mask=None):
    *lead, T, _ = q.shape
    mask = causal_mask(T, q.device) if mask is None else mask
    carried = one_head
    for _ in lead:
        carried = torch.vmap(carried)
    return carried(q, k, v, mask.expand(*lead, T, T))


class MultiHeadAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.h = config.n_head
        self.rotary = config.positions == "rotary"
        self.query = nn.Linear(config.d_model, config.d_model, bias=config.bias)
        self.key = nn.Linear(config.d_model, config.d_model, bias=config.bias)
        self.value = nn.Linear(config.d_model, config.d_model, bias=config.bias)
        self.out_proj = nn.Linear(config.d_model, config.d_model, bias=config.bias)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x):
        q, k, v = (f(x).unflatten(-1, (self.h, -1)) for f in (self.query, self.key, self.value))
        q, k, v = (y.transpose(1, 2) for y in (q, k, v))
        if self.rotary:
            q, k = rotary(q), rotary(k)
        return self.dropout(self.out_proj(attention(q, k, v).transpose(1, 2).flatten(2)))
