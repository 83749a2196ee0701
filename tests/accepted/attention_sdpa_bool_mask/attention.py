"""The fused projection holds q, k, v of one head side by side, a renaming of rows, and torch's
kernel gets the negated mask because its True means visible.
"""

import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

from .positions import rotary


def softmax(x, dim=-1):
    return torch.softmax(x, dim)


def causal_mask(T, device=None):
    where = torch.arange(T, device=device)
    return where[None, :] > where[:, None]  # key after query


def attention(q, k, v, mask=None):
    hidden = causal_mask(q.shape[-2], q.device) if mask is None else mask
    visible = hidden.logical_not().expand(*q.shape[:-1], k.shape[-2])
    return scaled_dot_product_attention(q, k, v, attn_mask=visible)


class MultiHeadAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads = config.n_head
        self.rotary = config.positions == "rotary"
        self.query_key_value = nn.Linear(config.d_model, 3 * config.d_model, bias=config.bias)
        self.out_proj = nn.Linear(config.d_model, config.d_model, bias=config.bias)

    def forward(self, x):
        per_head = self.query_key_value(x).unflatten(-1, (self.heads, -1))  # (B, T, h, 3 d_k)
        q, k, v = per_head.transpose(1, 2).chunk(3, dim=-1)  # (B, h, T, d_k) each
        if self.rotary:
            q, k = map(rotary, (q, k))
        return self.out_proj(attention(q, k, v).transpose(1, 2).flatten(2))
