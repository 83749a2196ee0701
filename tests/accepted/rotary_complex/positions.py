"""A pair of channels is a complex number, and turning it is multiplying it by cos + i sin."""

import torch


def rotary(x, positions=None, theta=10000.0):
    T, d_k = x.size(-2), x.size(-1)
    if d_k & 1:
        raise ValueError(f"d_k must be even to form pairs, found d_k = {d_k}")
    wide = x if x.dtype == torch.float64 else x.float()
    if positions is None:
        positions = torch.arange(T, device=x.device)
    freqs = 1.0 / (theta ** (torch.arange(0, d_k, 2, device=x.device).to(wide.dtype) / d_k))
    angles = positions.to(wide.dtype).unsqueeze(-1) * freqs  # (..., T, d_k / 2)
    freqs_cis = torch.polar(torch.ones_like(angles), angles)
    pairs = torch.view_as_complex(wide.reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * freqs_cis).flatten(-2).type_as(x)
