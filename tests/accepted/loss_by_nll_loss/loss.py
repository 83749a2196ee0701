"""log_softmax and nll_loss are the two halves of cross_entropy, called one after the other."""

import torch
from torch.nn import functional as F


def next_token_loss(logits, y, ignore_index=-100):
    B, T, V = logits.shape
    inner = torch.float64 if logits.dtype is torch.float64 else torch.float32
    log_probs = F.log_softmax(logits, dim=2, dtype=inner)
    return F.nll_loss(log_probs.view(B * T, V), y.reshape(B * T), ignore_index=ignore_index)
