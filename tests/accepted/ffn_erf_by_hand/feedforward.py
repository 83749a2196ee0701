"""The exact GELU from the complementary error function, relu as a clamp, matrices multiplied
without calling layers.
"""

import math

import torch
from torch import nn


def gelu(x):
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    return (0.5 * wide * torch.special.erfc(-wide / math.sqrt(2.0))).to(x.dtype)


def affine(linear, x):
    y = x @ linear.weight.t()
    return y if linear.bias is None else y + linear.bias


class FeedForward(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        d_ff = 4 * config.d_model if config.d_ff is None else config.d_ff
        self.w1 = nn.Linear(config.d_model, d_ff, bias=config.bias)
        self.w2 = nn.Linear(d_ff, config.d_model, bias=config.bias)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x):
        h = affine(self.w1, x)
        h = gelu(h) if self.config.mlp == "gelu" else h.clamp(min=0)
        return self.dropout(affine(self.w2, self.dropout(h)))


class SwiGLU(nn.Module):
    def __init__(self, config):
        super().__init__()
        d_ff = math.floor(config.d_model * 8 / 3 + 1 / 2) if config.d_ff is None else config.d_ff
        self.w_down = nn.Linear(d_ff, config.d_model, bias=False)
        self.w_up = nn.Linear(config.d_model, d_ff, bias=False)
        self.w_gate = nn.Linear(config.d_model, d_ff, bias=False)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x):
        gate = affine(self.w_gate, x)
        return affine(self.w_down, self.dropout(gate * gate.sigmoid()) * affine(self.w_up, x))
