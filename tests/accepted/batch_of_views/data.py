"""x and y are two overlapping views of one (B, T + 1) tensor made by unfold: same numbers, not
contiguous.
"""

import numpy as np
import torch


def shift_pair(chunk):
    return tuple(chunk[start : start + len(chunk) - 1] for start in (0, 1))


def get_batch(data, batch_size, block_size, device="cpu"):
    n = len(data)
    if n < block_size + 1:
        raise ValueError(f"found {n} tokens, a window needs {block_size + 1}")
    tokens = torch.from_numpy(np.array(data, dtype=np.int64))
    windows = tokens.unfold(0, block_size + 1, 1)  # (n - T, T + 1), no copy
    chosen = windows[torch.randint(high=len(windows), size=(batch_size,))].to(device)
    return chosen[:, :-1], chosen[:, 1:]
