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


class OwnDropout(nn.Module):
    """Keeps its own generator: a run's data order does not depend on the dropout."""

    def __init__(self, p):
        super().__init__()
        self.p, self.key = p, torch.Generator()
        self.key.manual_seed(int(torch.randint(2**62, ())))

    def get_extra_state(self):
        return self.key.get_state()

    def set_extra_state(self, state):
        self.key.set_state(state)

    def forward(self, x):
        if not self.training or self.p == 0:
            return x
        keep = torch.rand(x.shape, generator=self.key, dtype=torch.float32) >= self.p
        return x * keep.to(x.dtype) / (1 - self.p)


class MultiHeadAttention(nn.Module):
    """Attention in ``n_head`` subspaces of width ``d_k = d_model / n_head`` at once (day 45).

    (B, T, d_model) to (B, T, d_model); a token sees itself and the tokens before it.
    """

    def __init__(self, config):
        super().__init__()
        self.n_head = config.n_head
        self.turns = config.positions == "rotary"
        self.qkv_proj = nn.Linear(config.d_model, 3 * config.d_model, bias=config.bias)
        self.out_proj = nn.Linear(config.d_model, config.d_model, bias=config.bias)
        self.dropout = OwnDropout(config.dropout)

    def split(self, x):
        """Give each head its own slice of every token's channels."""
        B, T, d_model = x.shape
        x = x.view(B, T, self.n_head, d_model // self.n_head)  # (B, T, h, d_k)
        return x.transpose(1, 2)  # (B, h, T, d_k)

    def forward(self, x):
        q, k, v = (self.split(part) for part in self.qkv_proj(x).chunk(3, dim=-1))
        if self.turns:
            q, k = rotary(q), rotary(k)
        y = attention(q, k, v)  # (B, h, T, d_k)
        y = y.transpose(1, 2).reshape(x.shape)  # (B, T, d_model)
        return self.dropout(self.out_proj(y))
