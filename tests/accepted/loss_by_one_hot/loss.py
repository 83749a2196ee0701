"""Where the one-hot target is 1 the log-probability is taken, elsewhere 0: the cross-entropy of two
distributions.
"""

import torch
from torch.nn import functional as F


def next_token_loss(logits, y, ignore_index=-100):
    V = logits.size(-1)
    z = logits.to(torch.promote_types(logits.dtype, torch.float32))
    z = z - z.amax(-1, keepdim=True)
    log_p = z - z.exp().sum(-1, keepdim=True).log()
    valid = y.ne(ignore_index)
    target = F.one_hot(y.where(valid, torch.zeros_like(y)), V).bool() & valid.unsqueeze(-1)
    # where, not a product: 0 times the -inf of an impossible token would be NaN
    return -torch.where(target, log_p, 0.0).sum() / valid.sum()
