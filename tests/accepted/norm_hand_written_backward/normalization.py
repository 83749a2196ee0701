"""The derivative of the normalisation is written by hand in an autograd Function, as the paper
gives it.
"""

import torch
from torch import nn


class Normalise(torch.autograd.Function):
    """(x - mean) / sqrt(mean square + eps) over the last axis, or without the mean."""

    @staticmethod
    def forward(ctx, x, eps, centre):
        z = x.to(torch.promote_types(x.dtype, torch.float32))
        if centre:
            z = z - z.mean(-1, keepdim=True)
        scale = (z.square().mean(-1, keepdim=True) + eps).rsqrt()
        ctx.centre = centre
        ctx.save_for_backward(z * scale, scale)
        return (z * scale).to(x.dtype)

    @staticmethod
    def backward(ctx, grad):
        y, scale = ctx.saved_tensors
        g = grad.to(y.dtype)
        g = g - y * (g * y).mean(-1, keepdim=True)
        if ctx.centre:
            g = g - g.mean(-1, keepdim=True)
        return (g * scale).to(grad.dtype), None, None


class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5, bias=True):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model)) if bias else None
        self.eps = eps

    def forward(self, x):
        y = Normalise.apply(x, self.eps, True) * self.weight
        return y if self.bias is None else y + self.bias


class RMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.eps = eps

    def forward(self, x):
        return Normalise.apply(x, self.eps, False) * self.weight
