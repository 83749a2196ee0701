"""Mean and variance are gathered one channel at a time by Welford's recurrence, which ends at the
same numbers.
"""

import torch
from torch import nn


def moments(x):
    """Mean and biased variance over the last axis, both (..., 1)."""
    mean, spread = torch.zeros_like(x[..., :1]), torch.zeros_like(x[..., :1])
    for count, channel in enumerate(x.split(1, dim=-1), start=1):
        step = channel - mean
        mean = mean + step / count
        spread = spread + step * (channel - mean)
    return mean, spread / x.size(-1)


class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5, bias=True):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model)) if bias else None
        self.eps = eps

    def forward(self, x):
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        mean, variance = moments(wide)
        y = (wide - mean).div((variance + self.eps).sqrt()).to(x.dtype).mul(self.weight)
        return y if self.bias is None else y.add(self.bias)


class RMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.eps = eps

    def forward(self, x):
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        mean, variance = moments(wide)
        power = variance + mean.square()  # E[x^2] = Var + E[x]^2
        return self.weight * wide.mul((power + self.eps).pow(-0.5)).to(x.dtype)
