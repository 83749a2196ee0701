"""The output projection has GPT-2's name first and ours second; both are one module."""

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
        self.n_head, self.turns = config.n_head, config.positions == "rotary"
        self.c_attn = nn.Linear(config.d_model, 3 * config.d_model, bias=config.bias)
        self.c_proj = nn.Linear(config.d_model, config.d_model, bias=config.bias)
        self.out_proj = self.c_proj  # the course's name for it

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = self.c_attn(x).split(C, dim=2)
        q, k, v = (t.view(B, T, self.n_head, C // self.n_head).transpose(1, 2) for t in (q, k, v))
        if self.turns:
            q, k = rotary(q), rotary(k)
        y = attention(q, k, v).transpose(1, 2).contiguous().view(B, T, C)
        return self.c_proj(y)
