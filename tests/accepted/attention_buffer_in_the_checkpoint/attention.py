"""As in minGPT, a persistent buffer called bias holds the triangle of block_size and is cut to (T,
T): the corner of a triangle is a triangle, and a buffer is no parameter.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F

from .positions import rotary


def softmax(x, dim=-1):
    return F.softmax(x, dim=dim)


def causal_mask(T, device=None):
    return torch.tril(torch.ones(T, T, device=device)).eq(0)


def attention(q, k, v, mask=None):
    T = q.size(-2)
    mask = causal_mask(T, q.device) if mask is None else mask
    att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
    att = att.masked_fill(mask, float("-inf"))
    return F.softmax(att, dim=-1) @ v


class MultiHeadAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.key = nn.Linear(config.d_model, config.d_model, bias=config.bias)
        self.query = nn.Linear(config.d_model, config.d_model, bias=config.bias)
        self.value = nn.Linear(config.d_model, config.d_model, bias=config.bias)
        self.attn_drop = nn.Dropout(config.dropout)
        self.resid_drop = nn.Dropout(config.dropout)
        self.out_proj = nn.Linear(config.d_model, config.d_model, bias=config.bias)
        T = config.block_size
        self.register_buffer("bias", torch.tril(torch.ones(T, T)).view(1, 1, T, T))
        self.n_head = config.n_head
        self.rotary = config.positions == "rotary"

    def forward(self, x):
        B, T, C = x.size()
        k = self.key(x).view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        q = self.query(x).view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        v = self.value(x).view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        if self.rotary:
            q, k = rotary(q), rotary(k)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float("-inf"))
        att = self.attn_drop(F.softmax(att, dim=-1))
        y = (att @ v).transpose(1, 2).contiguous().view(B, T, C)
        return self.resid_drop(self.out_proj(y))
