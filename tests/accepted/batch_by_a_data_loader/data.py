"""torch's RandomSampler draws uniform starts with replacement, and its DataLoader stacks the pairs
of a Dataset of windows.
"""

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, RandomSampler


def shift_pair(chunk):
    return chunk[:-1], chunk[1:]


class Windows(Dataset):
    """Item i is the pair (x, y) that starts at token i."""

    def __init__(self, data, block_size):
        self.data, self.block_size = data, block_size

    def __len__(self):
        return max(0, len(self.data) - self.block_size)

    def __getitem__(self, i):
        chunk = self.data[i : i + self.block_size + 1]
        return shift_pair(torch.from_numpy(np.array(chunk, dtype=np.int64)))


def get_batch(data, batch_size, block_size, device="cpu"):
    windows = Windows(data, block_size)
    if len(windows) == 0:
        raise ValueError(f"{len(data)} tokens hold no window of block_size + 1 = {block_size + 1}")
    sampler = RandomSampler(windows, replacement=True, num_samples=batch_size)
    x, y = next(iter(DataLoader(windows, batch_size=batch_size, sampler=sampler)))
    return x.to(device), y.to(device)
