"""Variance is E[x^2] - E[x]^2, in float64 and counted from the token's first channel, so it stays
exact.
"""

import torch
from torch import nn


class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5, bias=True):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model)) if bias else None
        self.eps = eps

    def forward(self, x):
        # a common shift changes no variance, and without it large means would eat the digits
        z = x.double() - x[..., :1].double()
        first, second = z.mean(-1, keepdim=True), z.square().mean(-1, keepdim=True)
        y = ((z - first) * (second - first**2 + self.eps) ** -0.5).to(x.dtype)
        return y * self.weight if self.bias is None else torch.addcmul(self.bias, y, self.weight)


class RMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.eps = eps

    def forward(self, x):
        second = x.double().square().mean(-1, keepdim=True)
        return (x * (second + self.eps) ** -0.5).to(x.dtype) * self.weight
