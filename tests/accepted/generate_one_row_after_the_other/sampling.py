"""Write on from a prompt, one token at a time."""

import math

import torch

from .attention import softmax


def generate(model, idx, max_new_tokens, temperature=1.0, top_k=None):
    if temperature < 0:
        raise ValueError(f"temperature must be 0 or more, found {temperature}")
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k must be 1 or more, found {top_k}")

    was = model.training
    model.eval()
    try:
        with torch.no_grad():
            rows = []
            for row in idx.split(1):
                for _ in range(max_new_tokens):
                    z = model(row[:, -model.config.block_size :])[:, -1]
                    row = torch.cat((row, pick(z, temperature, top_k)), dim=1)
                rows.append(row)
    finally:
        model.train(was)
    return torch.cat(rows)


def pick(logits, temperature, top_k):
    """Choose one token a row: (B, V) logits to (B, 1) ids."""
    if temperature == 0:
        return logits.argmax(dim=1, keepdim=True)
    if top_k is not None:
        best = logits.topk(min(top_k, logits.size(1))).values  # (B, k), best first
        logits = logits.masked_fill(logits < best[:, -1:], -math.inf)
    return torch.multinomial(softmax(logits.float() / temperature), num_samples=1)
