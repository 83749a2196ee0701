"""The largest of logit / T + Gumbel noise is a draw from the softmax (Gumbel-max trick)."""

import torch


@torch.no_grad()
def generate(model, idx, max_new_tokens, temperature=1.0, top_k=None):
    if temperature < 0.0:
        raise ValueError(f"temperature cannot be negative, got {temperature}")
    if top_k is not None and top_k <= 0:
        raise ValueError(f"top_k has to be positive, got {top_k}")
    was_training = model.training
    try:
        model.eval()
        for _ in range(max_new_tokens):
            crop = idx if idx.size(1) <= model.config.block_size else tail(idx, model)
            logits = model(crop)[:, -1, :].double()
            if top_k is not None:
                logits = keep_best(logits, top_k)
            if temperature > 0:
                uniform = torch.rand_like(logits)
                logits = logits / temperature - torch.log(-torch.log(uniform))
            idx = torch.cat((idx, logits.max(dim=-1, keepdim=True).indices), dim=-1)
        return idx
    finally:
        model.train(was_training)


def tail(idx, model):
    return idx[:, -model.config.block_size :]


def keep_best(logits, k):
    """-inf for all but the k largest of a row."""
    order = logits.argsort(dim=-1, descending=True)
    return logits.scatter(-1, order[:, k:], -torch.inf)
