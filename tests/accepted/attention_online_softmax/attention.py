"""Keys arrive a few at a time with a running maximum and sum (as FlashAttention does); the quotient
is the same.
"""

import torch
from torch import nn

from .positions import rotary

CHUNK = 3


def softmax(x, dim=-1):
    top = torch.full_like(x.select(dim, 0), torch.finfo(x.dtype).min).unsqueeze(dim)
    for part in x.split(CHUNK, dim=dim):
        top = torch.maximum(top, part.amax(dim, keepdim=True))
    parts = [torch.exp(part - top) for part in x.split(CHUNK, dim=dim)]
    total = sum(part.sum(dim, keepdim=True) for part in parts)
    return torch.cat([part / total for part in parts], dim=dim)


def causal_mask(T, device=None):
    t = torch.arange(T, device=device)
    return torch.lt(*torch.meshgrid(t, t, indexing="ij"))


def attention(q, k, v, mask=None):
    T = q.size(-2)
    mask = causal_mask(T, q.device) if mask is None else mask
    mask = mask.expand(*q.shape[:-1], T)
    # finite start: a chunk in which everything is hidden then adds exactly 0
    top = q.new_full((*q.shape[:-1], 1), torch.finfo(q.dtype).min)
    total = q.new_zeros((*q.shape[:-1], 1))
    result = torch.zeros_like(q[..., :1] * v[..., :1, :])  # (..., T, d_v)
    for keys, values, hidden in zip(k.split(CHUNK, -2), v.split(CHUNK, -2), mask.split(CHUNK, -1)):
        scores = (q @ keys.mT * q.size(-1) ** -0.5).masked_fill(hidden, -torch.inf)
        new_top = torch.maximum(top, scores.detach().amax(-1, keepdim=True))
        fade, shares = torch.exp(top - new_top), torch.exp(scores - new_top)
        total = total * fade + shares.sum(-1, keepdim=True)
        result = result * fade + shares @ values
        top = new_top
    return result / total


class MultiHeadAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.n_head, self.rotary = config.n_head, config.positions == "rotary"
        self.q = nn.Linear(config.d_model, config.d_model, config.bias)
        self.k = nn.Linear(config.d_model, config.d_model, config.bias)
        self.v = nn.Linear(config.d_model, config.d_model, config.bias)
        self.out_proj = nn.Linear(config.d_model, config.d_model, config.bias)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x):
        q, k, v = (
            torch.stack(proj(x).chunk(self.n_head, dim=-1), dim=1)  # (B, h, T, d_k)
            for proj in (self.q, self.k, self.v)
        )
        if self.rotary:
            q, k = rotary(q), rotary(k)
        y = torch.cat(attention(q, k, v).unbind(1), dim=-1)
        return self.dropout(self.out_proj(y))
