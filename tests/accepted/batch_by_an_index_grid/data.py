"""Starts plus 0..T make a grid of indices that reads all windows at once; adding 1 to the grid is
the shift.
"""

import torch


def shift_pair(chunk):
    inputs, targets = slice(None, -1), slice(1, None)
    return chunk[inputs], chunk[targets]


def get_batch(data, batch_size, block_size, device="cpu"):
    last_start = len(data) - block_size - 1
    if last_start < 0:
        raise ValueError(
            f"need at least {block_size + 1} tokens for a window of block_size {block_size}, "
            f"got {len(data)}"
        )
    starts = torch.randint(0, last_start + 1, (batch_size, 1))  # the upper end is left out
    grid = (starts + torch.arange(block_size)).numpy()  # (B, T)
    x, y = (torch.as_tensor(data[at].astype("int64"), device=device) for at in (grid, grid + 1))
    return x, y
