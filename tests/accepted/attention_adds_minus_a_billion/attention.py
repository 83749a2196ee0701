"""Hidden scores get -1e9 added, only once they are float32 or wider, where its exponential is
exactly 0.
"""

import math

import torch
from torch import nn

from .positions import rotary


def softmax(x, dim=-1):
    shifted = x - x.amax(dim=dim, keepdim=True)
    return shifted.exp().div(shifted.exp().sum(dim=dim, keepdim=True))


def causal_mask(T, device=None):
    return torch.tril(torch.ones(T, T, device=device)) == 0


def attention(q, k, v, mask=None):
    mask = causal_mask(q.size(-2), q.device) if mask is None else mask
    scores = torch.matmul(q, k.mT) / math.sqrt(k.size(-1))
    scores = scores.float() if scores.dtype in (torch.float16, torch.bfloat16) else scores
    scores = scores + mask.to(scores.dtype) * -1e9
    return torch.matmul(torch.softmax(scores, dim=-1).to(v.dtype), v)


class MultiHeadAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        assert config.d_model % config.n_head == 0
        self.d_k, self.h = config.d_model // config.n_head, config.n_head
        self.Wq = nn.Linear(config.d_model, config.d_model, bias=config.bias)
        self.Wk = nn.Linear(config.d_model, config.d_model, bias=config.bias)
        self.Wv = nn.Linear(config.d_model, config.d_model, bias=config.bias)
        self.out_proj = nn.Linear(config.d_model, config.d_model, bias=config.bias)
        self.rope = config.positions == "rotary"
        self.drop = nn.Dropout(config.dropout)

    def forward(self, x):
        B = x.size(0)
        q, k, v = (
            w(x).view(B, -1, self.h, self.d_k).transpose(1, 2) for w in (self.Wq, self.Wk, self.Wv)
        )
        if self.rope:
            q, k = rotary(q), rotary(k)
        x = attention(q, k, v)
        x = x.transpose(1, 2).contiguous().view(B, -1, self.h * self.d_k)
        return self.out_proj(self.drop(x))
