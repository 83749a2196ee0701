"""Every key of every sheet, computed by the reference or measured when the sheet is checked.

Run as ``python -m challenges.keys NAME`` with the faults' ids as JSON on standard input, because it
imports torch. Prints ``{"keys": {question: value}, "mistakes": {question: {mistake: value}}}``.
"""

import json
import math
import sys
import tempfile

import torch

from buggy import faults as catalogue
from buggy import overlay, planting

SHEETS = {}


def sheet(name):
    """Register a function that returns (keys, mistakes) for the sheet of that challenge."""

    def register(function):
        SHEETS[name] = function
        return function

    return register


@sheet("day49")
def closing(planted):
    """The assessment's closing questions; the letters come from the measured symptoms."""
    keys = {"nan_reason": nan_reason(planted), "first_loss": first_loss(overlay.load())}
    return keys, {"first_loss": {"bits": math.log2(100), "decimal": math.log10(100)}}


def packages(planted):
    """Each fault planted alone and loaded."""
    with tempfile.TemporaryDirectory() as folder:
        for i, id in enumerate(planted):
            planting.plant(catalogue.load(id).edits, f"{folder}/{i}")
            yield overlay.load(f"{folder}/{i}")


def nan_reason(planted):
    """Why the first forward pass of a faulty package is NaN, found by looking; [] when none is."""
    for gpt in packages(planted):
        model = tiny(gpt)
        idx = torch.randint(100, (4, 16))
        if not model(idx).isnan().any():
            continue
        if gpt.attention.causal_mask(4).all(dim=1).any():
            return ["row_without_keys"]
        if not gpt.attention.softmax(torch.full((2,), 200.0)).isfinite().all():
            return ["exponent_overflow"]
        if not gpt.normalization.LayerNorm(4)(torch.ones(1, 4)).isfinite().all():
            return ["constant_token"]
        return ["logarithm_of_zero"]
    return []


def tiny(gpt, **more):
    """The lesson's GPT: V = 100, context 16, d_model 32, 2 layers, 4 heads, no biases."""
    torch.manual_seed(0)
    sizes = {"vocab_size": 100, "block_size": 16, "n_layer": 2, "n_head": 4, "d_model": 32}
    return gpt.model.GPT(gpt.model.GPTConfig(**sizes | {"bias": False} | more))


def first_loss(gpt):
    """The loss of a new model on random targets, mean over 4,096 of them."""
    model = tiny(gpt)
    idx, y = torch.randint(100, (2, 256, 16))
    with torch.no_grad():
        return gpt.loss.next_token_loss(model(idx), y).item()


def main():
    """Print the keys of one sheet as JSON."""
    torch.set_num_threads(1)
    keys, mistakes = SHEETS[sys.argv[1]](json.load(sys.stdin))
    print(json.dumps({"keys": keys, "mistakes": mistakes}))


if __name__ == "__main__":
    main()
