"""torch's own nn.MultiheadAttention takes a boolean causal mask (True = hidden, as here) and calls
its output projection out_proj too.
"""

import torch
from torch import nn
from torch.nn import functional as F

from .positions import rotary


def softmax(x, dim=-1):
    return x.softmax(dim)


def causal_mask(T, device=None):
    return (
        torch.ones(T, T, device=device).cumsum(1) > torch.arange(1, T + 1, device=device)[:, None]
    )


def attention(q, k, v, mask=None):
    if mask is None:
        mask = causal_mask(q.size(-2), q.device)
    return F.scaled_dot_product_attention(q, k, v, ~mask.expand(*q.shape[:-1], q.size(-2)))


class MultiHeadAttention(nn.MultiheadAttention):
    def __init__(self, config):
        super().__init__(
            config.d_model,
            config.n_head,
            dropout=config.dropout,
            bias=config.bias,
            batch_first=True,
        )
        self.rotary = config.positions == "rotary"

    def forward(self, x):
        if self.rotary:  # torch's module has no place to turn q and k
            return self.turned(x)
        mask = causal_mask(x.size(1), x.device)
        return super().forward(x, x, x, attn_mask=mask, need_weights=False)[0]

    def turned(self, x):
        qkv = F.linear(x, self.in_proj_weight, self.in_proj_bias).chunk(3, dim=-1)
        q, k, v = (y.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for y in qkv)
        y = F.dropout(attention(rotary(q), rotary(k), v), self.dropout, self.training)
        return self.out_proj(y.transpose(1, 2).flatten(2))
