"""Logits and targets are viewed as rows, as in nanoGPT; half precision is widened."""

import torch
from torch.nn import functional as F


def next_token_loss(logits, y, ignore_index=-100):
    if logits.dtype in (torch.float16, torch.bfloat16):
        logits = logits.float()
    return F.cross_entropy(logits.view(-1, logits.size(-1)), y.view(-1), ignore_index=ignore_index)
