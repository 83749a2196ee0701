"""Days 43-45: attention, from one pair of tokens to many heads."""

import math

import torch
from torch import nn

from .positions import rotary


def softmax(x, dim=-1):
    """Turn scores into shares that sum to 1: ``exp(x_i) / sum_j exp(x_j)`` along ``dim`` (day 45).

    Subtracting the maximum cancels in the quotient, in value and in gradient, and leaves no
    exponent above 0, so nothing overflows: in float16 ``exp(12)`` is already infinite.
    Any floating dtype, which is kept.
    """
    shares = (x - x.detach().amax(dim, keepdim=True)).exp()
    total = shares.sum(dim, keepdim=True)
    return shares * (1 / total)  # one division a row, not one a share: a cheaper gradient


def causal_mask(T, device=None):
    """Boolean (T, T): True where the key (column) is in the future of the query (row) (day 44)."""
    return torch.ones(T, T, dtype=torch.bool, device=device).triu(diagonal=1)


def attention(q, k, v, mask=None):
    """Let every query gather the values of the keys that it resembles.

    ``softmax(q k^T / sqrt(d_k)) v``, equation 1 of "Attention Is All You Need" (arXiv:1706.03762).
    The dot product of two vectors of d_k unit-variance numbers has variance d_k; the division
    brings the scores back to variance 1, where softmax is neither flat nor saturated (day 43).

    q, k: (..., T, d_k); v: (..., T, d_v); result: (..., T, d_v).
    mask: boolean, True where the key is hidden, broadcast to (..., T, T); None means causal.
    """
    if mask is None:
        mask = causal_mask(q.size(-2), q.device)  # (T, T)
    scores = q @ k.mT / math.sqrt(q.size(-1))  # (..., T, T)
    scores = scores.masked_fill(mask, -math.inf)
    return softmax(scores) @ v  # (..., T, d_v)


class MultiHeadAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.h, self.d = config.n_head, config.d_model // config.n_head
        self.rot = config.positions == "rotary"

        self.qkv = nn.Linear(config.d_model, 3 * config.d_model, bias=config.bias)
        self.out_proj = nn.Conv1d(config.d_model, config.d_model, 1, bias=config.bias)
        self.drop = nn.Dropout(config.dropout)

    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(2, (3, self.h, self.d)).permute(2, 0, 3, 1, 4)
        if self.rot:
            q, k = rotary(q), rotary(k)
        return self.drop(self.out_proj(attention(q, k, v).transpose(1, 2).flatten(2).mT).mT)
