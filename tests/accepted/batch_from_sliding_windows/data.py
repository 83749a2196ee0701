"""numpy shows all windows without copying and numpy's generator picks rows: the same windows,
equally likely.
"""

import numpy as np
import torch


def shift_pair(chunk):
    return chunk[0:-1], chunk[1:]


def get_batch(data, batch_size, block_size, device="cpu"):
    width = block_size + 1
    if data.shape[0] < width:
        raise ValueError(f"a window is {width} tokens long, the data has only {data.shape[0]}")
    windows = np.lib.stride_tricks.sliding_window_view(data, width)  # (starts, T + 1)
    rows = np.random.randint(0, windows.shape[0], size=batch_size)
    chunks = np.array(windows[rows], dtype=np.int64)  # (B, T + 1)
    x = torch.tensor(chunks[:, :-1], dtype=torch.long, device=device)
    y = torch.tensor(chunks[:, 1:], dtype=torch.long, device=device)
    return x, y
