"""cross_entropy wants the classes on the second axis, so the logits are transposed instead of
flattened.
"""

import torch
from torch import nn


def next_token_loss(logits, y, ignore_index=-100):
    if logits.dtype in (torch.float16, torch.bfloat16):
        logits = logits.float()
    criterion = nn.CrossEntropyLoss(ignore_index=ignore_index)
    return criterion(logits.transpose(1, 2), y)
