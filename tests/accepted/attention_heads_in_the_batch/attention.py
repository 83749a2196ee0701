"""Heads are folded into the batch axis for plain bmm; the projections are copies until GPT
initialises them.
"""

import copy
import math

import torch
from torch import nn

from .positions import rotary


def softmax(x, dim=-1):
    return nn.functional.softmax(x, dim)


def causal_mask(T, device=None):
    return torch.triu(torch.ones((1, T, T), device=device, dtype=torch.uint8), diagonal=1)[0] == 1


def attention(q, k, v, mask=None):
    lead, T = q.shape[:-2], q.size(-2)
    mask = causal_mask(T, q.device) if mask is None else mask
    q, k, v = (t.reshape(-1, T, t.size(-1)) for t in (q, k, v))
    scores = torch.bmm(q, k.transpose(1, 2)) / math.sqrt(q.size(-1))
    scores = scores.masked_fill(mask.expand(*lead, T, T).reshape(-1, T, T), -math.inf)
    return torch.bmm(softmax(scores, dim=-1), v).reshape(*lead, T, -1)


class MultiHeadAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.h, self.rotary = config.n_head, config.positions == "rotary"
        self.out_proj = nn.Linear(config.d_model, config.d_model, bias=config.bias)
        self.linears = nn.ModuleList(copy.deepcopy(self.out_proj) for _ in range(3))
        self.dropout = nn.Dropout(p=config.dropout)

    def fold(self, x):
        """(B, T, d_model) to (B h, T, d_k)."""
        B, T, d_model = x.shape
        x = x.view(B, T, self.h, d_model // self.h).permute(0, 2, 1, 3)
        return x.reshape(B * self.h, T, d_model // self.h)

    def forward(self, x):
        B, T, d_model = x.shape
        q, k, v = (self.fold(linear(x)) for linear in self.linears)
        if self.rotary:
            q, k = rotary(q), rotary(k)
        y = attention(q, k, v).view(B, self.h, T, -1).permute(0, 2, 1, 3)
        return self.dropout(self.out_proj(y.reshape(B, T, d_model)))
