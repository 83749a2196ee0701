"""A loop over the pairs, each turned by its own frequency; the columns are put together again at
the end.
"""

import torch


def rotary(x, positions=None, theta=10000.0):
    *_, T, d_k = x.shape
    pairs, left_over = divmod(d_k, 2)
    if left_over:
        raise ValueError(f"channels turn in pairs, but d_k = {d_k} is odd")
    dtype = torch.promote_types(x.dtype, torch.float32)
    if positions is None:
        positions = torch.arange(T, device=x.device)
    columns = []
    for i, pair in enumerate(x.to(dtype).split(2, dim=-1)):
        a, b = pair[..., 0], pair[..., 1]
        angle = positions.to(dtype) / theta ** (i / pairs)
        columns += [a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()]
    return torch.stack(columns, dim=-1).to(x.dtype)
