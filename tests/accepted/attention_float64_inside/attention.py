"""Scores and shares are computed in float64 and rounded once at the end: closer to the formula,
same dtype out.
"""

import torch
from torch import nn

from .positions import rotary


def softmax(x, dim=-1):
    wide = x.double()
    wide = (wide - wide.amax(dim, True)).exp()
    return (wide / wide.sum(dim, True)).to(x.dtype)


def causal_mask(T, device=None):
    return torch.ones(T, T, dtype=torch.bool, device=device).tril(-1).mT  # below, mirrored


def attention(q, k, v, mask=None):
    hidden = causal_mask(q.size(-2), q.device) if mask is None else mask
    scores = q.double() @ k.double().mT / q.size(-1) ** 0.5
    scores[hidden.expand_as(scores)] = -torch.inf  # scores are ours to write into
    return (softmax(scores) @ v.double()).to(v.dtype)


class MultiHeadAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.kv_q = nn.Linear(config.d_model, 3 * config.d_model, bias=config.bias)
        self.out_proj = nn.Linear(config.d_model, config.d_model, bias=config.bias)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x):
        h = self.config.n_head
        k, v, q = self.kv_q(x).tensor_split(3, dim=-1)
        q, k, v = (torch.stack(t.tensor_split(h, dim=-1)) for t in (q, k, v))  # (h, B, T, d_k)
        if self.config.positions == "rotary":
            q, k = rotary(q), rotary(k)
        return self.dropout(self.out_proj(torch.cat(tuple(attention(q, k, v)), dim=-1)))
