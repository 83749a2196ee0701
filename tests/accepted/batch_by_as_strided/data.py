"""Rows one token apart are laid over the memory with as_strided, and floor(n u) of a uniform u in
[0, 1) is a uniform row.
"""

import numpy as np
import torch


def shift_pair(chunk):
    x, y = chunk[:-1], chunk[1:]
    return x, y


def get_batch(data, batch_size, block_size, device="cpu"):
    starts = len(data) - block_size
    if starts < 1:
        raise ValueError(f"{len(data)} tokens are too few: block_size + 1 is {block_size + 1}")
    tokens = torch.as_tensor(np.ascontiguousarray(data).astype(np.int64, copy=True))
    rows = torch.as_strided(tokens, (starts, block_size + 1), (1, 1))
    # float64: with 24 bits a long text would lose most of its starts
    pick = (torch.rand(batch_size, dtype=torch.float64) * starts).floor().long()
    chunk = rows.index_select(0, pick)
    return chunk.narrow(1, 0, block_size).to(device), chunk.narrow(1, 1, block_size).to(device)
