"""The result is allocated once and filled in place under inference_mode; the copy that leaves is an
ordinary tensor.
"""

import torch
from torch.nn import functional as F


def generate(model, idx, max_new_tokens, temperature=1.0, top_k=None):
    if temperature < 0:
        raise ValueError(f"negative temperature: {temperature}")
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k must leave a token to choose, found {top_k}")
    mode = model.training
    model.eval()
    try:
        with torch.inference_mode():
            out = fill(model, idx, max_new_tokens, temperature, top_k)
    finally:
        model.train(mode)
    return out.clone()  # made outside, so the caller may train on it


def fill(model, idx, max_new_tokens, temperature, top_k):
    B, T = idx.shape
    out = idx.new_empty(B, T + max_new_tokens)
    out[:, :T] = idx
    for t in range(T, T + max_new_tokens):
        logits = model(out[:, max(0, t - model.config.block_size) : t])[:, -1].float()
        if temperature == 0:
            out[:, t] = logits.argmax(-1)
            continue
        logits = logits / temperature
        if top_k is not None:
            least = torch.topk(logits, min(top_k, logits.size(-1)))[0][:, [-1]]
            logits[logits < least] = -float("inf")
        out[:, t] = torch.multinomial(F.softmax(logits, dim=-1), 1).squeeze(1)
    return out
