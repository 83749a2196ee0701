"""Tokens become Python integers and the tensors are built from lists, start by start from
torch.randint.
"""

import torch


def shift_pair(chunk):
    return chunk[:-1], chunk[1:]


def get_batch(data, batch_size, block_size, device="cpu"):
    n_tokens = len(data)
    if n_tokens < block_size + 1:
        raise ValueError(f"len(data) = {n_tokens} < block_size + 1 = {block_size + 1}")
    xs, ys = [], []
    while len(xs) < batch_size:
        start = int(torch.randint(low=0, high=n_tokens - block_size, size=(1,)))
        chunk = [int(token) for token in data[start : start + block_size + 1]]
        x, y = shift_pair(chunk)
        xs.append(x)
        ys.append(y)
    return torch.tensor(xs, device=device), torch.tensor(ys, device=device)
