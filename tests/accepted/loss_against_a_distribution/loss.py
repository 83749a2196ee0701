"""cross_entropy with probabilities as its target: a certain token is the distribution that is 1
there.
"""

import torch
from torch.nn import functional as F


def next_token_loss(logits, y, ignore_index=-100):
    keep = torch.ne(y, ignore_index)
    kept = logits[keep]  # (N, V)
    kept = kept if kept.dtype == torch.float64 else kept.to(torch.float32)
    floor = torch.finfo(kept.dtype).min
    certain = F.one_hot(y[keep], logits.shape[-1]).to(kept.dtype)
    return F.cross_entropy(kept.clamp(min=floor), certain)  # 0 * -inf would be NaN
