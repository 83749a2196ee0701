"""-log p of the target is logsumexp of the logits minus the target's logit, averaged over the kept
rows.
"""

import torch


def next_token_loss(logits, y, ignore_index=-100):
    rows = logits.reshape(-1, logits.shape[-1])
    targets = y.reshape(-1)
    kept = (targets != ignore_index).nonzero().squeeze(1)
    rows, targets = rows[kept].to(torch.promote_types(rows.dtype, torch.float32)), targets[kept]
    rows = rows - rows.amax(dim=1, keepdim=True).detach()  # both terms lose the same number
    picked = rows[torch.arange(len(targets), device=rows.device), targets]
    return (torch.logsumexp(rows, dim=1) - picked).mean()
