"""x and y are cut out of the data separately, y one later: what shift_pair does to one longer
window.
"""

import numpy as np
import torch


def shift_pair(chunk):
    x = chunk[: len(chunk) - 1]
    y = chunk[1 : len(chunk)]
    return x, y


def get_batch(data, batch_size, block_size, device="cpu"):
    if len(data) <= block_size:
        raise ValueError(f"data has {len(data)} tokens, need block_size + 1 = {block_size + 1}")
    ix = torch.randint(len(data) - block_size, (batch_size,))
    x = torch.stack([torch.from_numpy((data[i : i + block_size]).astype(np.int64)) for i in ix])
    y = torch.stack(
        [torch.from_numpy((data[i + 1 : i + 1 + block_size]).astype(np.int64)) for i in ix]
    )
    return x.to(device), y.to(device)
