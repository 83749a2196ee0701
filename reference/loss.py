"""Day 49: one number for how surprised the model was."""

import torch
from torch.nn import functional as F


def next_token_loss(logits, y, ignore_index=-100):
    """Mean cross-entropy in nats of the targets under the softmax of the logits.

    logits: (B, T, V), any floating dtype, computed in float32 at least; y: (B, T) int64.
    Targets equal to ``ignore_index`` do not count. An untrained model starts near ``ln V``.
    """
    wide = torch.promote_types(logits.dtype, torch.float32)
    rows = logits.to(wide).flatten(0, 1)  # (B * T, V)
    return F.cross_entropy(rows, y.flatten(), ignore_index=ignore_index)
