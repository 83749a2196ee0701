"""The context is filled up on the right to one length, which a causal model cannot see."""

import math

import torch

from .attention import softmax


def generate(model, idx, max_new_tokens, temperature=1.0, top_k=None):
    """Extend every prompt by tokens drawn from ``softmax(logits / temperature)``.

    idx: (B, T) int64; returns (B, T + max_new_tokens), the prompt included. The model reads the
    last ``block_size`` tokens. Temperature 0 takes the most likely token; ``top_k`` draws among
    the k most likely. The model's mode is left as it was found.
    Raises ValueError for temperature < 0 and top_k < 1.
    """
    if temperature < 0:
        raise ValueError(f"temperature must be 0 or more, found {temperature}")
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k must be 1 or more, found {top_k}")
    was_training = model.training
    model.eval()
    try:
        with torch.no_grad():
            for _ in range(max_new_tokens):
                size = model.config.block_size
                context = idx[:, -size:]
                n = context.size(1)
                filled = torch.nn.functional.pad(context, (0, size - n))  # one shape for every step
                logits = model(filled)[:, n - 1]  # causal: what stands behind does not matter
                idx = torch.cat((idx, pick(logits, temperature, top_k)), dim=1)
    finally:
        model.train(was_training)
    return idx


def pick(logits, temperature, top_k):
    """Choose one token a row: (B, V) logits to (B, 1) ids."""
    if temperature == 0:
        return logits.argmax(dim=1, keepdim=True)
    if top_k is not None:
        best = logits.topk(min(top_k, logits.size(1))).values  # (B, k), best first
        logits = logits.masked_fill(logits < best[:, -1:], -math.inf)
    return torch.multinomial(softmax(logits.float() / temperature), num_samples=1)
