"""log_softmax, the target's entry picked with gather, and the mean over what counts: the definition
itself.
"""

import torch


def next_token_loss(logits, y, ignore_index=-100):
    logits = logits.double() if logits.dtype == torch.float64 else logits.float()
    log_p = torch.log_softmax(logits, dim=-1)  # (B, T, V)
    counts = y != ignore_index
    target = torch.where(counts, y, 0)  # any valid class: it is masked out below
    nll = -log_p.gather(-1, target.unsqueeze(-1)).squeeze(-1)  # (B, T)
    return nll.masked_fill(~counts, 0.0).sum() / counts.sum()
