"""The variance is E[x^2] - E[x]^2, cut off at 0, as flax has it: quick, and right to rounding."""

import torch
from torch import nn


def _wide(x):
    """x in float32 at least: squares of half-precision numbers overflow above 256."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


class LayerNorm(nn.Module):
    """Shift and scale each token to mean 0 and variance 1, then apply gain and bias.

    ``(x - mean) / sqrt(variance + eps) * weight + bias`` over the last axis, with the biased
    variance (divided by d_model). eps inside the root keeps a constant token, whose variance
    is 0, finite in value and gradient. arXiv:1607.06450. Any shape (..., d_model).
    """

    def __init__(self, d_model, eps=1e-5, bias=True):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model)) if bias else None

    def forward(self, x):
        wide = _wide(x)
        mean = wide.mean(-1, keepdim=True)
        centred = wide - mean
        variance = ((wide * wide).mean(-1, keepdim=True) - mean * mean).clamp(min=0)
        y = (centred * torch.rsqrt(variance + self.eps)).to(x.dtype) * self.weight
        return y if self.bias is None else y + self.bias


class RMSNorm(nn.Module):
    """Scale each token to root mean square 1, then apply the gain; no mean, no bias.

    ``x / sqrt(mean(x^2) + eps) * weight`` over the last axis. arXiv:1910.07467, equation 4.
    """

    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        wide = _wide(x)
        mean_square = (wide * wide).sum(-1, keepdim=True) / x.size(-1)  # (..., 1)
        return (wide * torch.rsqrt(mean_square + self.eps)).to(x.dtype) * self.weight
