"""The attention initialises its own matrices when it is built, out_proj smaller, so GPT need not do
it.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F

from .positions import rotary


def softmax(x, dim=-1):
    return torch.softmax(x, dim=dim)


def causal_mask(T, device=None):
    return torch.ones(T, T, device=device, dtype=torch.bool).triu(1)


def attention(q, k, v, mask=None):
    if mask is None:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=torch.atleast_2d(mask.logical_not()))


class MultiHeadAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.n_head = config.n_head
        self.rotary = config.positions == "rotary"
        self.qkv = nn.Linear(config.d_model, 3 * config.d_model, bias=config.bias)
        self.out_proj = nn.Linear(config.d_model, config.d_model, bias=config.bias)
        self.dropout = nn.Dropout(config.dropout)
        nn.init.normal_(self.qkv.weight, std=0.02)
        nn.init.normal_(self.out_proj.weight, std=0.02 / math.sqrt(2 * config.n_layer))
        for linear in (self.qkv, self.out_proj):
            if linear.bias is not None:
                nn.init.zeros_(linear.bias)

    def forward(self, x):
        qkv = self.qkv(x).unflatten(-1, (3, self.n_head, -1)).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        if self.rotary:
            q, k = rotary(torch.stack((q, k))).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.dropout(self.out_proj(y.transpose(1, 2).flatten(2)))
