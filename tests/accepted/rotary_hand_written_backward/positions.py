"""Turning is orthogonal, so the gradient is the incoming one turned back: an autograd Function says
just that.
"""

import torch


def turn(x, cos, sin):
    y = torch.empty_like(x)
    y[..., ::2] = x[..., ::2] * cos - x[..., 1::2] * sin
    y[..., 1::2] = x[..., 1::2] * cos + x[..., ::2] * sin
    return y


class Turn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, angles):
        ctx.save_for_backward(angles)
        return turn(x.to(angles.dtype), angles.cos(), angles.sin()).to(x.dtype)

    @staticmethod
    def backward(ctx, grad):
        (angles,) = ctx.saved_tensors
        return turn(grad.to(angles.dtype), angles.cos(), -angles.sin()).to(grad.dtype), None


def rotary(x, positions=None, theta=10000.0):
    T, d_k = x.shape[-2:]
    if d_k % 2 == 1:
        raise ValueError(f"d_k is {d_k}; an even number is needed")
    wide = torch.promote_types(x.dtype, torch.float32)
    where = torch.arange(T, device=x.device) if positions is None else positions
    powers = torch.linspace(0, d_k - 2, d_k // 2, dtype=wide, device=x.device) / d_k
    return Turn.apply(x, where.to(wide).unsqueeze(-1) * theta ** (-powers))
