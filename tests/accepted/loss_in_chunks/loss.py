"""Sums over a few positions at a time are divided by the count at the end, so the parts weigh as
they should.
"""

import torch
from torch.nn import functional as F

CHUNK = 3


def next_token_loss(logits, y, ignore_index=-100):
    wide = torch.promote_types(logits.dtype, torch.float32)
    total = torch.zeros((), dtype=wide, device=logits.device)
    count = torch.zeros((), dtype=torch.int64, device=logits.device)
    for rows, targets in zip(logits.split(CHUNK, dim=1), y.split(CHUNK, dim=1)):
        total = total + F.cross_entropy(
            rows.reshape(-1, rows.size(-1)).to(wide),
            targets.reshape(-1),
            ignore_index=ignore_index,
            reduction="sum",
        )
        count = count + (targets != ignore_index).sum()
    return total / count
