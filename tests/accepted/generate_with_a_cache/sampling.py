"""Keys and values of the prompt are kept while it grows; beyond the context it starts afresh."""

import math

import torch

from .attention import softmax
from .model import GPT


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
            past = None
            for _ in range(max_new_tokens):
                if isinstance(model, GPT) and idx.size(1) <= model.config.block_size:
                    logits, past = go_on(model, idx, past)
                else:  # the window slides: every place changes, nothing can be kept
                    logits = model(idx[:, -model.config.block_size :])[:, -1]  # (B, V)
                idx = torch.cat((idx, pick(logits, temperature, top_k)), dim=1)
    finally:
        model.train(was_training)
    return idx


def go_on(model, idx, past):
    """Logits of the last token; only tokens that ``past`` does not hold are computed."""
    seen = 0 if past is None else past[0][0].size(2)
    x = model.wte(idx[:, seen:])
    if hasattr(model, "wpe"):
        x = x + model.wpe.weight[seen : idx.size(1)]
    now = []
    for i, block in enumerate(model.blocks):
        update, kept = block.attn.remember(block.ln_1(x), past and past[i])
        now.append(kept)
        x = x + update
        x = x + block.mlp(block.ln_2(x))
    return model.lm_head(model.ln_f(x[:, -1])), now


def pick(logits, temperature, top_k):
    """Choose one token a row: (B, V) logits to (B, 1) ids."""
    if temperature == 0:
        return logits.argmax(dim=1, keepdim=True)
    if top_k is not None:
        best = logits.topk(min(top_k, logits.size(1))).values  # (B, k), best first
        logits = logits.masked_fill(logits < best[:, -1:], -math.inf)
    return torch.multinomial(softmax(logits.float() / temperature), num_samples=1)
