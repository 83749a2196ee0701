"""The logits are made float32 whatever they were: at least float32 is what the
interface asks for.
"""

from torch.nn import functional as F


def next_token_loss(logits, y, ignore_index=-100):
    logits = logits.float()
    return F.cross_entropy(
        logits.view(-1, logits.size(-1)) if logits.is_contiguous() else logits.flatten(0, 1),
        y.reshape(-1),
        ignore_index=ignore_index,
        reduction="mean",
    )
