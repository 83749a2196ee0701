"""A draw is made among the k best alone and gathered back, and each row is written on by itself:
rows are independent.
"""

import torch


def generate(model, idx, max_new_tokens, temperature=1.0, top_k=None):
    if temperature < 0:
        raise ValueError(f"temperature {temperature} is below 0")
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k {top_k} is below 1")
    training = {module for module in model.modules() if module.training}
    model.eval()
    try:
        with torch.no_grad():
            rows = [
                write_on(model, row, max_new_tokens, temperature, top_k)
                for row in idx.split(1, dim=0)
            ]
    finally:
        for module in training:
            module.training = True
    return torch.cat(rows, dim=0)


def write_on(model, row, max_new_tokens, temperature, top_k):
    """row: (1, T) to (1, T + max_new_tokens)."""
    while max_new_tokens > 0:
        logits = model(row[:, -model.config.block_size :])[0, -1].to(torch.float64)
        k = len(logits) if top_k is None else min(top_k, len(logits))
        values, tokens = torch.topk(logits, 1 if temperature == 0 else k)
        if temperature > 0:
            shares = torch.softmax((values - values[0]) / temperature, dim=0)
            tokens = tokens[torch.multinomial(shares, 1)]
        row = torch.cat((row, tokens.view(1, 1)), dim=1)
        max_new_tokens -= 1
    return row
