"""Angles and products are float32 whatever comes in, as in Llama: float32 is what the angles must
have.
"""

import torch


def precompute_angles(positions, d_k, theta):
    freqs = 1.0 / theta ** (torch.arange(0, d_k, 2, device=positions.device).float() / d_k)
    return positions.float().unsqueeze(-1) * freqs


def rotary(x, positions=None, theta=10000.0):
    T, d_k = x.shape[-2], x.shape[-1]
    if d_k % 2 == 1:
        raise ValueError(f"head size {d_k} is odd: rotary positions need pairs of channels")
    if positions is None:
        positions = torch.arange(T, device=x.device)
    angles = precompute_angles(positions, d_k, theta)
    cos, sin = torch.cos(angles), torch.sin(angles)
    real, imag = x.float().reshape(*x.shape[:-1], -1, 2).unbind(-1)
    out_real = real * cos - imag * sin
    out_imag = real * sin + imag * cos
    return torch.stack([out_real, out_imag], dim=-1).flatten(-2).type_as(x)
