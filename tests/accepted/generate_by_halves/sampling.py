"""Writing n tokens is writing the first half and then the rest: recursion instead of a loop."""

import torch
from torch.nn import functional as F


def generate(model, idx, max_new_tokens, temperature=1.0, top_k=None):
    if temperature < 0:
        raise ValueError(f"temperature must be >= 0: {temperature}")
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k must be >= 1: {top_k}")
    if max_new_tokens == 0:
        return idx
    if max_new_tokens > 1:
        half = max_new_tokens // 2
        idx = generate(model, idx, half, temperature, top_k)
        return generate(model, idx, max_new_tokens - half, temperature, top_k)
    return torch.cat((idx, one_more(model, idx, temperature, top_k)), dim=1)


@torch.no_grad()
def one_more(model, idx, temperature, top_k):
    was_training = model.training
    model.eval()
    try:
        logits = model(idx[:, -model.config.block_size :])
    finally:
        model.train(was_training)
    log_p = F.log_softmax(logits[:, -1].float(), dim=-1)
    if temperature == 0:
        return torch.argmax(log_p, dim=-1, keepdim=True)
    surprise = log_p.amax(dim=-1, keepdim=True) - log_p  # 0 for the best, which cannot vanish
    p = torch.exp(-surprise / temperature)  # unnormalised: multinomial divides by the sum
    if top_k is not None and top_k < p.size(-1):
        p = p * torch.zeros_like(p).scatter(1, p.topk(top_k).indices, 1.0)
    return torch.multinomial(p, 1)
