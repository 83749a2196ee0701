"""A start is a uniform number times the count of windows, cut off: uniform for this much data."""

import numpy as np
import torch


def shift_pair(chunk):
    """Split L + 1 tokens into L inputs and, one step ahead, their L targets."""
    return chunk[:-1], chunk[1:]


def get_batch(data, batch_size, block_size, device="cpu"):
    """Draw ``batch_size`` windows of ``block_size + 1`` tokens, independently and uniformly.

    data: 1-D numpy array or memmap of any integer type.
    Returns x and y, both int64 (batch_size, block_size) on ``device``; y is x one token later.
    Raises ValueError when data is too short for one window.
    """
    if len(data) < block_size + 1:
        raise ValueError(
            f"block_size {block_size} needs {block_size + 1} tokens or more, found {len(data)}"
        )
    starts = (torch.rand(batch_size) * (len(data) - block_size)).long().tolist()
    pairs = [shift_pair(data[i : i + block_size + 1].astype(np.int64)) for i in starts]
    x, y = (torch.from_numpy(np.stack(rows)).to(device) for rows in zip(*pairs))
    return x, y


def encode(text):
    """Text to its UTF-8 bytes as tokens: uint8, vocab_size 256."""
    return np.frombuffer(text.encode("utf-8"), dtype=np.uint8)


def decode(tokens):
    """Tokens back to text; bytes that are not UTF-8 become the replacement character."""
    return bytes(int(token) for token in tokens).decode("utf-8", errors="replace")


def default_text():
    """Half a megabyte of real English that every CPython carries: the language reference."""
    from pydoc_data import topics  # large: only for whoever asks

    return "\n".join(topics.topics.values())


def train_val_split(data, val_fraction=0.1):
    """Cut the last part off for validation: two views that share no token."""
    cut = len(data) - int(len(data) * val_fraction)
    return data[:cut], data[cut:]
