"""One uniform number a row is looked up in the running sum of the shares: the inverse distribution
function.
"""

from contextlib import contextmanager

import torch

from .attention import softmax


@contextmanager
def evaluating(model):
    """Every module in eval mode inside, each in its own mode again outside."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for module, mode in modes:
            module.training = mode


def draw(probabilities):
    """(B, V) shares to (B, 1) ids."""
    cdf = probabilities.double().cumsum(dim=-1)
    u = torch.rand(len(cdf), 1, dtype=cdf.dtype, device=cdf.device) * cdf[:, -1:]
    # right=True: the first entry above u, so a token of share 0 is never met
    return torch.searchsorted(cdf, u, right=True).clamp(max=cdf.size(-1) - 1)


def generate(model, idx, max_new_tokens, temperature=1.0, top_k=None):
    if not temperature >= 0:
        raise ValueError(f"temperature must not be below 0, found {temperature}")
    if top_k is not None and not top_k >= 1:
        raise ValueError(f"top_k must not be below 1, found {top_k}")
    block_size = model.config.block_size
    tokens = [idx]
    with evaluating(model):
        for _ in range(max_new_tokens):
            context = torch.cat(tokens, dim=1)[:, -block_size:]
            logits = model(context)[:, -1]
            if temperature == 0:
                tokens.append(logits.argmax(dim=-1, keepdim=True))
                continue
            if top_k is not None:
                kth = logits.float().topk(min(top_k, logits.size(-1))).values.min(-1, True).values
                logits = logits.masked_fill(logits.float() < kth, float("-inf"))
            tokens.append(draw(softmax(logits.double() / temperature)))
    return torch.cat(tokens, dim=1)
