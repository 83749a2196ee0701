"""Tables of cos and sin are computed once a size, in numpy and float64, and looked up
afterwards.
"""

from functools import lru_cache

import numpy as np
import torch


@lru_cache(maxsize=32)
def tables(T, d_k, theta):
    """cos and sin, (T, d_k / 2) each; numpy arrays carry no autograd state between calls."""
    angles = np.outer(np.arange(T), float(theta) ** (-np.arange(0, d_k, 2) / d_k))
    return np.cos(angles), np.sin(angles)


def cos_sin(positions, d_k, theta):
    frequencies = theta ** (-torch.arange(0, d_k, 2, dtype=torch.float64) / d_k)
    angles = positions.double().unsqueeze(-1) * frequencies.to(positions.device)
    return angles.cos(), angles.sin()


def rotary(x, positions=None, theta=10000.0):
    T, d_k = x.shape[-2:]
    if d_k % 2 == 1:
        raise ValueError(f"rotary: d_k has to be even, found {d_k}")
    if positions is None:
        cos, sin = (torch.from_numpy(table).to(x.device) for table in tables(T, d_k, theta))
    else:
        cos, sin = cos_sin(positions, d_k, theta)
    even, odd = x.double().unflatten(-1, (d_k // 2, 2)).unbind(-1)
    turned = torch.empty(x.shape, dtype=torch.float64, device=x.device)
    turned[..., 0::2] = even * cos - odd * sin
    turned[..., 1::2] = odd * cos + even * sin
    return turned.to(x.dtype)
