"""All arithmetic, gain and bias included, is float64 and is rounded once, at the end."""

import torch
from torch import nn


class _Norm(nn.Module):
    """y = (x - shift) / sqrt(mean((x - shift)^2) + eps) * weight + bias."""

    def __init__(self, d_model, eps, bias):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.empty(d_model))
        self.bias = nn.Parameter(torch.empty(d_model)) if bias else None
        self.reset_parameters()

    def reset_parameters(self):
        nn.init.ones_(self.weight)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def shift(self, x):
        raise NotImplementedError

    def forward(self, x):
        z = x.to(torch.float64)
        z = z - self.shift(z)
        z = z / torch.sqrt(torch.mean(z * z, dim=-1, keepdim=True) + self.eps)
        z = z * self.weight.double() + (0.0 if self.bias is None else self.bias.double())
        return z.to(x.dtype)


class LayerNorm(_Norm):
    def __init__(self, d_model, eps=1e-5, bias=True):
        super().__init__(d_model, eps, bias)

    def shift(self, x):
        return x.mean(-1, keepdim=True)


class RMSNorm(_Norm):
    def __init__(self, d_model, eps=1e-5):
        super().__init__(d_model, eps, bias=False)

    def shift(self, x):
        return 0.0
