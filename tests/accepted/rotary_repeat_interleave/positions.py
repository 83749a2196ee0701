"""x cos + (x with its pairs crossed) sin, where cos and sin stand twice: the rotation written over
whole rows.
"""

import torch


def rotate_every_two(x):
    """(a, b, c, d, ...) to (-b, a, -d, c, ...)."""
    x1, x2 = x[..., ::2], x[..., 1::2]
    return torch.stack((-x2, x1), dim=-1).flatten(-2)


def rotary(x, positions=None, theta=10000.0):
    T, d_k = x.shape[-2:]
    if d_k % 2:
        raise ValueError(f"rotary needs an even head size, got {d_k}")
    dtype = torch.float64 if x.dtype == torch.float64 else torch.float32
    if positions is None:
        positions = torch.arange(T, device=x.device)
    inv_freq = torch.pow(theta, -torch.arange(0, d_k, 2, dtype=dtype, device=x.device) / d_k)
    sinusoid = torch.einsum("...t,f->...tf", positions.to(dtype), inv_freq)
    cos = torch.repeat_interleave(sinusoid.cos(), 2, dim=-1)  # (..., T, d_k)
    sin = torch.repeat_interleave(sinusoid.sin(), 2, dim=-1)
    wide = x.to(dtype)
    return (wide * cos + rotate_every_two(wide) * sin).to(x.dtype)
