"""Multiplying by I - 1/d takes the mean away, and LayerNorm is then RMSNorm's formula on what is
left.
"""

import torch
from torch import nn


def rms_normalise(x, eps):
    """x in float32 at least."""
    power = torch.einsum("...d,...d->...", x, x) / x.size(-1)
    return x * torch.rsqrt(power + eps).unsqueeze(-1)


def wide(x):
    return x if x.dtype in (torch.float32, torch.float64) else x.float()


class RMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        return (rms_normalise(wide(x), self.eps) * self.weight).to(x.dtype)


class LayerNorm(RMSNorm):
    def __init__(self, d_model, eps=1e-5, bias=True):
        super().__init__(d_model, eps)
        self.bias = nn.Parameter(torch.zeros(d_model)) if bias else None

    def forward(self, x):
        z, d = wide(x), x.size(-1)
        centring = torch.eye(d, dtype=z.dtype, device=z.device) - 1 / d
        y = rms_normalise((z - z[..., :1]) @ centring, self.eps)  # a common shift is centred away
        y = (y * self.weight).to(x.dtype)
        return y if self.bias is None else y + self.bias
