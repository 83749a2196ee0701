"""Logits are sorted, cut after the k-th, drawn from by rank, and the rank is translated back to a
token.
"""

import torch
from torch.distributions import Categorical


def generate(model, idx, max_new_tokens, temperature=1.0, top_k=None):
    check(temperature, top_k)
    training = model.training
    model.train(False)
    try:
        for _ in range(max_new_tokens):
            idx = torch.hstack((idx, next_token(model, idx, temperature, top_k)))
    finally:
        model.train(training)
    return idx


def check(temperature, top_k):
    if temperature < 0:
        raise ValueError(f"temperature is {temperature}, but it must be >= 0")
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k is {top_k}, but it must be >= 1")


def next_token(model, idx, temperature, top_k):
    with torch.set_grad_enabled(False):
        logits = model(idx[..., -model.config.block_size :])
    ranked, tokens = torch.sort(logits[:, -1, :].float(), dim=-1, descending=True)
    if temperature == 0:
        return tokens[:, :1]
    ranked, tokens = ranked[:, :top_k], tokens[:, :top_k]  # None and a k over V both mean all
    rank = Categorical(logits=ranked / temperature).sample().unsqueeze(-1)
    return torch.gather(tokens, -1, rank)
