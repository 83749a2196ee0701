"""All projections are GPT-2's Conv1D: a linear layer whose matrix stands (in, out)."""

import math

import torch
from torch import nn

from .positions import rotary


class Conv1D(nn.Module):
    """GPT-2's linear layer: the weight stands (in, out)."""

    def __init__(self, nf, nx, bias):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(nx, nf))
        nn.init.normal_(self.weight, std=0.02)
        self.bias = nn.Parameter(torch.zeros(nf)) if bias else None

    def forward(self, x):
        y = x.reshape(-1, x.size(-1)) @ self.weight
        return (y if self.bias is None else y + self.bias).view(*x.shape[:-1], -1)


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
        self.c_attn = Conv1D(3 * config.d_model, config.d_model, config.bias)
        self.out_proj = Conv1D(config.d_model, config.d_model, config.bias)

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = self.c_attn(x).split(C, dim=2)
        q, k, v = (
            t.view(B, T, self.n_head, C // self.n_head).permute(0, 2, 1, 3) for t in (q, k, v)
        )
        if self.turns:
            q, k = rotary(q), rotary(k)
        y = attention(q, k, v).permute(0, 2, 1, 3).contiguous().view(B, T, C)
        return self.out_proj(y)
