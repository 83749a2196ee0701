"""Day 48: where a token stands. Learned positions are a table in model.py; these need none."""

import torch


def rotary(x, positions=None, theta=10000.0):
    """Turn each pair of neighbouring channels by an angle that grows with the position.

    Channels (2i, 2i + 1) turn by ``position * theta^(-2i / d_k)`` radians, so that the dot product
    of a turned query and a turned key depends only on their distance (RoFormer, arXiv:2104.09864,
    equations 15 and 34).

    x: (..., T, d_k), any floating dtype, which is kept; angles are computed in float32 at least.
    positions: (T,) or (..., T) with x's leading axes; None means 0 to T - 1.
    Raises ValueError when d_k is odd.
    """
    T, d_k = x.shape[-2:]
    if d_k % 2 == 1:
        raise ValueError(f"rotary positions turn pairs of channels: d_k must be even, found {d_k}")
    wide = torch.promote_types(x.dtype, torch.float32)
    if positions is None:
        positions = torch.arange(T, device=x.device)
    exponents = torch.arange(0, d_k, 2, dtype=wide, device=x.device) / d_k  # (d_k / 2,)
    angles = positions.unsqueeze(-1) * theta**-exponents  # (..., T, d_k / 2)
    cos, sin = angles.cos(), angles.sin()
    even, odd = x[..., ::2], x[..., 1::2]  # the angles' dtype decides that of the products
    turned = torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1)
    return turned.flatten(-2).to(x.dtype)  # (..., T, d_k)


def half_split_order(d_k):
    """The order of channels by which this layout becomes that of Llama: 0, 2, 4, ..., 1, 3, 5, ...

    Here a pair is two neighbours (2i, 2i + 1), as in the RoFormer paper; in Llama's published
    weights it is (i, i + d_k / 2). ``rotary(x)[..., half_split_order(d_k)]`` is what Llama's
    rotation makes of ``x[..., half_split_order(d_k)]``: reorder the rows of each head's query
    and key projection this way, and the scores are the same. ``argsort`` of it leads back.
    """
    return torch.arange(d_k).view(-1, 2).mT.flatten()
