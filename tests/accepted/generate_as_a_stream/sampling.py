"""A Python generator yields one column of tokens after another and carries only the last
block_size, all that the model may read.
"""

from itertools import islice

import torch

from .attention import softmax


def generate(model, idx, max_new_tokens, temperature=1.0, top_k=None):
    if temperature < 0:
        raise ValueError(f"temperature: {temperature} < 0")
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k: {top_k} < 1")
    columns = stream(model, idx, temperature, top_k)
    return torch.cat((idx, *islice(columns, max_new_tokens)), dim=1)


def stream(model, idx, temperature, top_k):
    """Endless (B, 1) columns; the model is in eval mode only while it is asked."""
    context = idx[:, -model.config.block_size :]
    while True:
        token = sample(ask(model, context), temperature, top_k)
        yield token
        context = torch.cat((context, token), dim=1)[:, -model.config.block_size :]


def ask(model, context):
    modes = {name: module.training for name, module in model.named_modules()}
    model.eval()
    try:
        with torch.no_grad():
            return model(context)[:, -1].float()
    finally:
        for name, module in model.named_modules():
            module.training = modes[name]


def sample(logits, temperature, top_k):
    if temperature == 0:
        return logits.argmax(1).unsqueeze(1)
    allowed = torch.ones_like(logits, dtype=torch.bool)
    if top_k is not None:
        best = logits.topk(min(top_k, logits.shape[1]), sorted=False).indices
        allowed = torch.zeros_like(allowed).scatter_(1, best, True)
    shares = softmax(torch.where(allowed, logits / temperature, -torch.inf))
    return shares.multinomial(1)
