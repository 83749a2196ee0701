"""Each head has raw matrices in nn.ParameterLists, queries go in chunks, and exp is 2 to the power
of x log2(e).
"""

import math

import torch
from torch import nn
from torch.nn import functional as F

from .positions import rotary

QUERIES = 4


def softmax(x, dim=-1):
    x = x - torch.max(x, dim, keepdim=True)[0]
    powers = torch.exp2(x * math.log2(math.e))
    return powers / powers.sum(dim, keepdim=True)


def causal_mask(T, device=None):
    t = torch.arange(T, device=device)
    return (t.unsqueeze(0) - t.unsqueeze(1)).clamp(min=0).bool()


def attention(q, k, v, mask=None):
    T, d_k = q.shape[-2:]
    mask = (causal_mask(T, q.device) if mask is None else mask).expand(*q.shape[:-1], T)
    parts = []
    for some, hidden in zip(q.split(QUERIES, dim=-2), mask.split(QUERIES, dim=-2)):
        scores = some.matmul(k.transpose(-1, -2)).div(math.sqrt(d_k))
        parts.append(softmax(scores.masked_fill(hidden, -math.inf)).matmul(v))
    return torch.cat(parts, dim=-2)


class MultiHeadAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        h, d_model, d_k = config.n_head, config.d_model, config.d_model // config.n_head
        self.dropout, self.rotary = config.dropout, config.positions == "rotary"
        for name in ("W_q", "W_k", "W_v"):
            matrices = [nn.Parameter(torch.empty(d_model, d_k)) for _ in range(h)]
            for matrix in matrices:
                nn.init.xavier_normal_(matrix)
            setattr(self, name, nn.ParameterList(matrices))
        self.has_bias = config.bias
        if config.bias:
            for name in ("b_q", "b_k", "b_v"):
                vectors = [nn.Parameter(torch.zeros(d_k)) for _ in range(h)]
                setattr(self, name, nn.ParameterList(vectors))
        self.out_proj = nn.Linear(d_model, d_model, bias=config.bias)

    def project(self, x, name, j):
        y = x @ getattr(self, f"W_{name}")[j]  # (B, T, d_k)
        return y + getattr(self, f"b_{name}")[j] if self.has_bias else y

    def forward(self, x):
        heads = []
        for j in range(len(self.W_q)):
            q, k, v = (self.project(x, name, j) for name in "qkv")
            if self.rotary:
                q, k = rotary(q), rotary(k)
            heads.append(attention(q, k, v))
        y = self.out_proj(torch.cat(heads, dim=-1))
        return F.dropout(y, self.dropout, training=self.training)
