"""A grid of starts plus 0..T is taken with np.take, and the last column completes y: all windows in
one call.
"""

import numpy as np
import torch


def shift_pair(chunk):
    end = len(chunk)
    return chunk[0 : max(end - 1, 0)], chunk[1:end]


def get_batch(data, batch_size, block_size, device="cpu"):
    size = np.size(data)
    if not size > block_size:
        raise ValueError(f"too short: {size} tokens for windows of {block_size + 1}")
    offsets = np.arange(block_size + 1)[None, :]
    starts = np.random.uniform(0, size - block_size, size=(batch_size, 1)).astype(np.int64)
    chunk = np.take(data, np.minimum(starts, size - block_size - 1) + offsets)
    chunk = torch.tensor(chunk.astype(np.int64)).to(torch.device(device), non_blocking=True)
    x, y = chunk.split([block_size, 1], dim=1)
    return x.contiguous(), torch.cat((x[:, 1:], y), dim=1)
