"""Symptoms of attention: how it spreads over the tokens, and whether their order counts."""

import math

import torch

from .lab import TINY, experiment, hot, phrase, seen, symptom

WIDE = {"vocab_size": 7, "block_size": 16, "n_layer": 1, "n_head": 1, "d_model": 64, "bias": False}
EXCHANGES = ([1, 0, 2, 3, 4, 5, 6, 7], [0, 1, 2, 3, 4, 6, 5, 7])


@symptom(
    "attention_nearly_uniform",
    threshold="0.016 nats short of uniform",
    budget="16 tokens, d_k = 64, q and k of unit variance, 64 rows of attention a position",
    margin="reference 0.31 to 0.45, other faults from 0.041; shown to 0.0063",
)
def attention_nearly_uniform(lab):
    deficit = min(last for last, _ in deficits(lab))
    return seen(deficit < 0.016, deficit, "attention", deficit=deficit)


@symptom(
    "attention_saturated",
    threshold="1.95 nats short of uniform",
    budget="16 tokens, d_k = 64, q and k of unit variance, 64 rows of attention a position",
    margin="reference 0.36 to 0.46, other faults to 1.62; shown from 2.31",
)
def attention_saturated(lab):
    deficit = max(widest for _, widest in deficits(lab))
    return seen(deficit > 1.95, deficit, "attention", deficit=deficit)


@experiment
def deficits(lab):
    """How many nats rows are short of uniform, in ``attention`` and in the module.

    Pairs: the last row, to which nothing is hidden, and the row that spreads widest.
    """
    T = WIDE["block_size"]
    q, k = torch.randn(2, 16, 4, T, lab.config(WIDE).d_model)  # (B, h, T, d_k)
    shares = lab.gpt.attention.attention(q, k, torch.eye(T).expand(16, 4, T, T))  # (B, h, T, T)
    found = [_deficit(shares)]
    whole = module_shares(lab)
    return found if whole is None else [*found, _deficit(whole)]


def module_shares(lab):
    """The attention of a one-headed module, read off its answers: (B, T, T), or None.

    A token alone gets its own value. A row among many is a mixture of such values, whose shares
    are found by solving for them: d_model is larger than T.
    """
    T, config = WIDE["block_size"], lab.config(WIDE)
    if config.d_model < T:
        return None
    heads = hot(lab.gpt.attention.MultiHeadAttention(config))
    x = torch.randn(16, T, config.d_model)
    with torch.no_grad():
        values = heads(x.flatten(0, 1).unsqueeze(1)).view_as(x).double()  # (B, T, d_model)
        mixed = heads(x).double()
    if not (values.isfinite().all() and mixed.isfinite().all()):
        return None
    # gelsy, the default driver, does not give the same bits twice
    shares = torch.linalg.lstsq(values.mT, mixed.mT, driver="gelsd").solution.mT  # (B, T, T)
    strange = (shares @ values - mixed).square().mean() > 1e-4 * mixed.square().mean()
    return None if strange else shares


def _deficit(shares):
    shares = shares.double().clamp(min=1e-30)
    shares = shares / shares.sum(-1, keepdim=True)
    entropy = -(shares * shares.log()).sum(-1).flatten(0, -2).mean(0)  # (T,)
    uniform = math.log(shares.size(-1))
    return uniform - entropy[-1].item(), uniform - entropy.max().item()


@symptom(
    "order_of_tokens_ignored",
    threshold="the last logits move by less than 0.001, when weights have unit scale",
    budget="one block, 8 texts of 8 tokens, learned and rotary positions",
    margin="reference 0.6 to 1.6, other faults from 0.07; shown to 5e-6, the rounding of float32",
)
def order_of_tokens_ignored(lab):
    moved = {name: moved_by_order(lab, name) for name in ("learned", "rotary")}
    name = min(moved, key=moved.get)
    positions = phrase(name)
    return seen(moved[name] < 1e-3, moved[name], "order", positions=positions, moved=moved[name])


@experiment
def moved_by_order(lab, positions):
    """How far the last logits move, in the typical text, when neighbours change places.

    The larger of two exchanges, early and late: a short memory is not blind to order.
    """
    idx = torch.stack([torch.randperm(TINY["vocab_size"])[:8] for _ in range(8)])
    model = hot(lab.model(TINY, n_layer=1, positions=positions))
    with torch.no_grad():
        last = model(idx)[:, -1]
        moves = [(model(idx[:, order])[:, -1] - last).abs().amax(-1) for order in EXCHANGES]
    return max(move.median().item() for move in moves)
