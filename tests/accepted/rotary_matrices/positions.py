"""Every pair is multiplied by its own 2 x 2 rotation matrix, gathered in one tensor (..., T, d_k /
2, 2, 2).
"""

import math

import torch


def rotation(angle):
    """(...) angles to (..., 2, 2) matrices [[cos, -sin], [sin, cos]]."""
    rows = (angle.cos(), -angle.sin(), angle.sin(), angle.cos())
    return torch.stack(rows, dim=-1).unflatten(-1, (2, 2))


def rotary(x, positions=None, theta=10000.0):
    d_k = x.shape[-1]
    if d_k % 2 != 0:
        raise ValueError(f"cannot pair up {d_k} channels: d_k must be even")
    where = torch.arange(x.shape[-2], device=x.device) if positions is None else positions
    i = torch.arange(d_k // 2, dtype=torch.float64, device=x.device)
    angle = where.double()[..., None] * torch.exp(-2 * i / d_k * math.log(theta))
    turn = rotation(angle).to(torch.promote_types(x.dtype, torch.float32))
    pairs = x.to(turn.dtype).unflatten(-1, (-1, 2))
    return torch.einsum("...ij,...j->...i", turn, pairs).flatten(-2).to(x.dtype)
