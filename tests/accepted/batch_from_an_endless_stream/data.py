"""A Python generator yields random windows for ever and a batch takes the next B, each drawn on its
own.
"""

from itertools import islice

import numpy as np
import torch


def shift_pair(chunk):
    head, tail = chunk[:-1], chunk[1:]
    return head, tail


def windows(data, block_size):
    """Endless random windows; the numpy generator takes its seed from torch's global one."""
    rng = np.random.default_rng(torch.randint(2**62, ()).item())
    while True:
        start = rng.integers(len(data) - block_size)
        yield shift_pair(data[start : start + block_size + 1].astype(np.int64))


def get_batch(data, batch_size, block_size, device="cpu"):
    if len(data) < block_size + 1:
        raise ValueError(f"cannot cut windows of {block_size + 1} tokens out of {len(data)} tokens")
    pairs = list(islice(windows(data, block_size), batch_size))
    xs, ys = zip(*pairs)
    return (
        torch.tensor(np.stack(xs), dtype=torch.int64, device=device),
        torch.tensor(np.stack(ys), dtype=torch.int64, device=device),
    )
