"""The query is divided by sqrt(d_k) before the product, which commutes with it, and one raw matrix
(d_model, 3 d_model) projects x @ W.
"""

import torch
from torch import nn

from .positions import rotary


def softmax(x, dim=-1):
    return torch.nn.functional.softmin(-x, dim=dim)


def causal_mask(T, device=None):
    return torch.ones(T, T, dtype=torch.int8, device=device).triu_(1).bool()


def attention(q, k, v, mask=None):
    if mask is None:
        mask = causal_mask(q.size(-2), q.device)
    scores = torch.matmul(q / q.size(-1) ** 0.5, k.mT)
    scores = torch.where(mask, torch.full_like(scores, -torch.inf), scores)
    return torch.matmul(softmax(scores), v)


class MultiHeadAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads = (config.n_head, config.d_model // config.n_head)
        self.qkv_weight = nn.Parameter(torch.empty(config.d_model, 3 * config.d_model))
        nn.init.normal_(self.qkv_weight, std=0.02)
        self.qkv_bias = nn.Parameter(torch.zeros(3 * config.d_model)) if config.bias else None
        self.out_proj = nn.Linear(config.d_model, config.d_model, bias=config.bias)
        self.rotary = config.positions == "rotary"
        self.p = config.dropout

    def forward(self, x):
        qkv = x @ self.qkv_weight
        if self.qkv_bias is not None:
            qkv = qkv + self.qkv_bias
        q, k, v = (y.unflatten(-1, self.heads).transpose(-3, -2) for y in qkv.chunk(3, dim=-1))
        if self.rotary:
            q, k = rotary(q), rotary(k)
        y = torch.dropout(attention(q, k, v), self.p, self.training)
        return self.out_proj(y.transpose(-3, -2).flatten(-2))
