"""Day 46: keep the scale of every token in hand."""

import torch
import torch.nn.functional as F
from torch import nn


def _wide(x):
    """x in float32 at least: squares of half-precision numbers overflow above 256."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5, bias=True):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model)) if bias else None

    def forward(self, x):
        y = F.instance_norm(
            x.reshape(1, -1, x.size(-1)), eps=self.eps, use_input_stats=True
        ).reshape(x.shape)
        return y * self.weight if self.bias is None else y * self.weight + self.bias


class RMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        dtype = x.dtype
        x = x.float() if dtype != torch.float64 else x
        ms = torch.linalg.vector_norm(x, dim=-1, keepdim=True).pow(2) / x.shape[-1]
        return self.weight * (x * torch.rsqrt(ms + self.eps)).to(dtype)
