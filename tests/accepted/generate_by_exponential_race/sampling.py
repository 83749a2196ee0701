"""Waiting times of rate p race and the first wins, which happens with probability p; kthvalue finds
the cut.
"""

import torch


def generate(model, idx, max_new_tokens, temperature=1.0, top_k=None):
    if temperature < 0:
        raise ValueError(f"expected temperature >= 0, found {temperature}")
    if top_k is not None and top_k < 1:
        raise ValueError(f"expected top_k >= 1, found {top_k}")
    mode, grad = model.training, torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    model.eval()
    try:
        out = idx.clone()
        for _ in range(max_new_tokens):
            window = out[:, -min(out.size(1), model.config.block_size) :]
            logits = model(window).select(1, -1)
            out = torch.cat([out, choose(logits, temperature, top_k)], dim=1)
        return out
    finally:
        torch.set_grad_enabled(grad)
        model.train(mode)


def choose(logits, temperature, top_k):
    V = logits.size(-1)
    logits = logits.double()
    if temperature == 0:
        top_k, temperature = 1, 1.0
    if top_k is not None and top_k < V:
        cut = logits.kthvalue(V - top_k + 1, dim=-1, keepdim=True).values
        logits = torch.where(logits >= cut, logits, -torch.inf)
    p = torch.softmax(logits / temperature, dim=-1)
    waiting = torch.empty_like(p).exponential_(1.0)
    return (p / waiting).argmax(dim=-1, keepdim=True)  # the smallest waiting / p
