"""The numbers behind the pictures: what a package does, as plain lists. Imports torch."""

import torch

from . import attending, training_runs, untrained
from .lab import TINY, Lab, hot, random_tokens

KINDS = ("loss", "attention", "who_moved", "gradient")
TOKENS = 10  # of the map of who moves: small enough to count the squares


def numbers(package, kind, seed=0):
    """The numbers of one picture: a dict of lists, or {"raises": name} when the package raises."""
    lab = Lab(package, seed)
    made, error = lab.attempt(kind, lambda: MAKERS[kind](lab))
    return made if error is None else {"raises": type(error).__name__}


def loss(lab):
    """The losses of both runs, step by step."""
    return {
        "random_tokens": training_runs.on_random_tokens(lab)[1],
        "counting": training_runs.on_counting(lab)[1],
    }


def attention(lab):
    """One head's shares of attention, (T, T), for queries and keys of unit variance."""
    T = attending.WIDE["block_size"]
    torch.default_generator.manual_seed(lab.seed)  # the same queries and keys for every package
    q, k = torch.randn(2, 1, 4, T, attending.WIDE["d_model"])
    shares = lab.gpt.attention.attention(q, k, torch.eye(T).expand(1, 4, T, T))
    return {"map": shares[0, 0].tolist()}


def who_moved(lab):
    """Row t: how far the logits of each position move when token t is changed, (T, T)."""
    model = hot(lab.model(TINY)).double()
    idx = random_tokens(TINY["vocab_size"], 1, TOKENS)
    other = idx.repeat(TOKENS, 1)  # (T, T): row t differs from idx in token t
    other[range(TOKENS), range(TOKENS)] = (idx[0] + 1) % TINY["vocab_size"]
    with torch.no_grad():
        before = model(idx.expand_as(other))  # the same shape: equal numbers stay bit-equal
        return {"map": (model(other) - before).abs().amax(-1).tolist()}


def gradient(lab):
    """The norm of each block's gradient in an untrained model of 32 blocks."""
    norms = untrained.gradient_norms(lab, untrained.DEEP)
    return {"blocks": [norms[f"blocks.{i}"] for i in range(untrained.DEEP)]}


MAKERS = {
    "loss": loss,
    "attention": attention,
    "who_moved": who_moved,
    "gradient": gradient,
}
LINES = {  # ln V and the data's floor under each run
    "random_tokens": (training_runs.LN_V, training_runs.LN_V),
    "counting": (training_runs.LN_V_COUNTING, 0.0),
}
