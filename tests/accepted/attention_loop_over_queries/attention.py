"""No mask at all: query t is compared with the keys up to t, which is what hiding the
others means.
"""

import torch
from torch import nn

from .positions import rotary


def softmax(x, dim=-1):
    x = x.transpose(dim, -1)
    e = (x - x.max(-1)[0].unsqueeze(-1)).exp()
    return (e / e.sum(-1).unsqueeze(-1)).transpose(dim, -1)


def causal_mask(T, device=None):
    mask = torch.zeros(T, T, dtype=torch.bool, device=device)
    for t in range(T):
        mask[t, t + 1 :] = True
    return mask


def one_query(q, keys, values, hidden=None):
    """q: (..., d_k), keys: (..., S, d_k), values: (..., S, d_v); result: (..., d_v)."""
    scores = (keys * q.unsqueeze(-2)).sum(-1) / q.size(-1) ** 0.5  # (..., S)
    if hidden is not None:
        scores = scores.masked_fill(hidden, -torch.inf)
    return (softmax(scores).unsqueeze(-1) * values).sum(-2)


def attention(q, k, v, mask=None):
    T = q.size(-2)
    if mask is None:
        rows = [one_query(q[..., t, :], k[..., : t + 1, :], v[..., : t + 1, :]) for t in range(T)]
    else:
        mask = mask.expand(*q.shape[:-1], T)
        rows = [one_query(q[..., t, :], k, v, mask[..., t, :]) for t in range(T)]
    return torch.stack(rows, dim=-2)


class MultiHeadAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.n_head, self.turns = config.n_head, config.positions == "rotary"
        self.proj = nn.ModuleDict(
            {name: nn.Linear(config.d_model, config.d_model, bias=config.bias) for name in "qkv"}
        )
        self.out_proj = nn.Linear(config.d_model, config.d_model, bias=config.bias)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x):
        q, k, v = (f(x).unflatten(2, (self.n_head, -1)).transpose(1, 2) for f in self.proj.values())
        if self.turns:
            q, k = rotary(q), rotary(k)
        return self.dropout(self.out_proj(attention(q, k, v).transpose(1, 2).flatten(2)))
