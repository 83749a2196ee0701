"""Every head is a module of its own with three small matrices: cutting one matrix by rows changes
no number.
"""

import torch
from torch import nn
from torch.nn import functional as F

from .positions import rotary


def softmax(x, dim=-1):
    x = x - torch.amax(x, dim=dim, keepdim=True).detach()  # it cancels, so it needs no gradient
    e = torch.exp(x)
    return e * e.sum(dim=dim, keepdim=True).reciprocal()


def causal_mask(T, device=None):
    return torch.triu(torch.ones(T, T, device=device), diagonal=1) == 1


def attention(q, k, v, mask=None, drop=None):
    if mask is None:
        mask = causal_mask(q.size(-2), q.device)
    wei = q @ k.transpose(-2, -1) * k.shape[-1] ** -0.5
    wei = wei.masked_fill(mask, float("-inf"))
    wei = F.softmax(wei, dim=-1)
    return (wei if drop is None else drop(wei)) @ v


class Head(nn.Module):
    """One head of self-attention: (B, T, d_model) to (B, T, d_k)."""

    def __init__(self, config):
        super().__init__()
        head_size = config.d_model // config.n_head
        self.key = nn.Linear(config.d_model, head_size, bias=config.bias)
        self.query = nn.Linear(config.d_model, head_size, bias=config.bias)
        self.value = nn.Linear(config.d_model, head_size, bias=config.bias)
        self.rotary = config.positions == "rotary"
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x):
        k, q = self.key(x), self.query(x)
        if self.rotary:
            k, q = rotary(k), rotary(q)
        return attention(q, k, self.value(x), drop=self.dropout)


class MultiHeadAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads = nn.ModuleList([Head(config) for _ in range(config.n_head)])
        self.out_proj = nn.Linear(config.d_model, config.d_model, bias=config.bias)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x):
        out = torch.cat([h(x) for h in self.heads], dim=-1)
        return self.dropout(self.out_proj(out))
