"""Head j takes the channels j, j + h, j + 2h ...: which rows of a projection make a head is only a
renaming.
"""

import torch
from torch import nn

from .positions import rotary


def softmax(x, dim=-1):
    e = torch.exp(x - x.amax(dim=dim, keepdim=True))
    return torch.true_divide(e, e.sum(dim=dim, keepdim=True))


def causal_mask(T, device=None):
    future = torch.triu_indices(T, T, offset=1, device=device)
    one = torch.ones((), dtype=torch.int64, device=device)
    return torch.zeros(T, T, dtype=torch.int64, device=device).index_put(tuple(future), one) == 1


def attention(q, k, v, mask=None):
    if mask is None:
        mask = causal_mask(q.size(-2), q.device)
    scores = q @ k.swapaxes(-1, -2) / q.size(-1) ** 0.5
    return softmax(scores.masked_fill(mask, -torch.inf)) @ v


class MultiHeadAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.n_head = config.n_head
        self.rotary = config.positions == "rotary"
        self.qkv = nn.Linear(config.d_model, 3 * config.d_model, bias=config.bias)
        self.out_proj = nn.Linear(config.d_model, config.d_model, bias=config.bias)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (3, -1, self.n_head)).permute(2, 0, 4, 1, 3)
        if self.rotary:
            q, k = rotary(q), rotary(k)
        y = attention(q, k, v).permute(0, 2, 3, 1)  # (B, T, d_k, h)
        return self.dropout(self.out_proj(y.flatten(2)))
