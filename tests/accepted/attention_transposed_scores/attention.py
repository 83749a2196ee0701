"""Everything is transposed: K Q^T, softmax over the first axis, a mirrored mask; a transpose undone
is nothing.
"""

import math

import torch
from torch import nn

from .positions import rotary


def softmax(x, dim=-1):
    return torch.softmax(x.movedim(dim, 0), dim=0).movedim(0, dim)


def causal_mask(T, device=None):
    return torch.ones(T, T, dtype=torch.bool, device=device).tril(diagonal=-1).t().contiguous()


def attention(q, k, v, mask=None):
    T = q.size(-2)
    mask = causal_mask(T, q.device) if mask is None else mask
    scores = k @ q.mT / math.sqrt(k.size(-1))  # (..., keys, queries)
    scores = scores.masked_fill(mask.expand(*q.shape[:-2], T, T).mT, -math.inf)
    return (v.mT @ softmax(scores, dim=-2)).mT


class MultiHeadAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.n_head, self.d_k = config.n_head, config.d_model // config.n_head
        self.rotary = config.positions == "rotary"
        self.w_v = nn.Linear(config.d_model, config.d_model, bias=config.bias)
        self.w_k = nn.Linear(config.d_model, config.d_model, bias=config.bias)
        self.w_q = nn.Linear(config.d_model, config.d_model, bias=config.bias)
        self.out_proj = nn.Linear(config.d_model, config.d_model, bias=config.bias)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x):
        x = self.dropout(x)
        parts = []
        for j in range(self.n_head):
            rows = slice(j * self.d_k, (j + 1) * self.d_k)
            q, k, v = (self.slice_of(w, rows, x) for w in (self.w_q, self.w_k, self.w_v))
            if self.rotary:
                q, k = rotary(q), rotary(k)
            parts.append(attention(q, k, v))
        return self.out_proj(torch.cat(parts, dim=2))

    @staticmethod
    def slice_of(linear, rows, x):
        bias = None if linear.bias is None else linear.bias[rows]
        return nn.functional.linear(x, linear.weight[rows], bias)
