"""Nothing is concatenated: each head goes through its own columns of out_proj and the results are
summed.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F

from .positions import rotary


def softmax(x, dim=-1):
    return nn.Softmax(dim=dim)(x)


def causal_mask(T, device=None):
    rows = torch.arange(T, device=device).unsqueeze(1)
    return torch.arange(T, device=device).unsqueeze(0).sub(rows).gt(0)


def attention(q, k, v, mask=None):
    mask = causal_mask(q.size(-2), q.device) if mask is None else mask
    scores = torch.matmul(q, k.transpose(-1, -2)).div(math.sqrt(q.size(-1)))
    hidden = torch.tensor(-math.inf, dtype=scores.dtype, device=scores.device)
    return torch.matmul(softmax(torch.where(mask, hidden, scores)), v)


class MultiHeadAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.d_k = config.d_model // config.n_head
        self.rotary = config.positions == "rotary"
        linears = (nn.Linear(config.d_model, config.d_model, bias=config.bias) for _ in range(4))
        self.value, self.key, self.query, self.out_proj = linears
        self.dropout = config.dropout

    def forward(self, x):
        total = 0.0 if self.out_proj.bias is None else self.out_proj.bias
        heads = zip(*(f(x).split(self.d_k, dim=-1) for f in (self.query, self.key, self.value)))
        columns = self.out_proj.weight.split(self.d_k, dim=1)
        for (q, k, v), w in zip(heads, columns):
            if self.rotary:
                q, k = rotary(q), rotary(k)
            total = total + F.linear(attention(q, k, v), w)  # (B, T, d_model)
        return F.dropout(total, p=self.dropout, training=self.training)
