"""Two arrays are made first and filled in a loop, starts drawn by numpy's choice with replacement:
still uniform.
"""

import numpy as np
import torch


def shift_pair(chunk):
    return chunk[slice(0, -1)], chunk[slice(1, len(chunk))]


def get_batch(data, batch_size, block_size, device="cpu"):
    if len(data) - block_size <= 0:
        raise ValueError(
            f"block_size + 1 = {block_size + 1} tokens are needed, the array holds {len(data)}"
        )
    x = np.empty((batch_size, block_size), dtype=np.int64)
    y = np.zeros_like(x)
    for row, start in enumerate(np.random.choice(len(data) - block_size, batch_size, replace=True)):
        for t in range(block_size):
            x[row, t] = data[start + t]
            y[row, t] = data[start + t + 1]
    return torch.from_numpy(x).to(device), torch.from_numpy(y).to(device)
