"""One (d_k, d_k) matrix a position with the 2 x 2 rotations on its diagonal: equation 15 of the
paper as it stands.
"""

import torch


def big_rotation(angles):
    """(..., d_k / 2) angles to block-diagonal (..., d_k, d_k)."""
    i = torch.arange(angles.size(-1), device=angles.device)
    matrix = angles.new_zeros(*angles.shape[:-1], 2 * len(i), 2 * len(i))
    matrix[..., 2 * i, 2 * i] = angles.cos()
    matrix[..., 2 * i + 1, 2 * i + 1] = angles.cos()
    matrix[..., 2 * i, 2 * i + 1] = -angles.sin()
    matrix[..., 2 * i + 1, 2 * i] = angles.sin()
    return matrix


def rotary(x, positions=None, theta=10000.0):
    T, d_k = x.shape[-2:]
    if d_k % 2:
        raise ValueError(f"d_k = {d_k} cannot be cut into pairs")
    if positions is None:
        positions = torch.arange(T, device=x.device)
    frequencies = torch.logspace(0, -1, d_k // 2 + 1, base=theta, dtype=torch.float64)[:-1]
    angles = positions.double().unsqueeze(-1) * frequencies.to(x.device)
    turned = big_rotation(angles) @ x.double().unsqueeze(-1)  # (..., T, d_k, 1)
    return turned.squeeze(-1).to(x.dtype)
