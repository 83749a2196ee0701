"""Every key of every sheet, computed by the reference or measured when the sheet is checked.

Run as ``python -m challenges.keys NAME`` with the faults' ids as JSON on standard input, because it
imports torch. Prints ``{"keys": {question: value}, "mistakes": {question: {mistake: value}}}``.
"""

import json
import sys

import torch

from buggy import compiler

from . import keys47, keys49

SHEETS = {
    "day47/activity1": keys47.counts,
    "day47/activity2": keys47.by_hand,
    "day47/activity3": keys47.order_and_shapes,
    "day47/activity4": keys47.gpt2_small,
    "day49/activity1": keys49.batches,
    "day49/activity2": keys49.attention_by_hand,
    "day49/activity3": keys49.block_and_ledger,
    "day49": keys49.closing,
}


def keys(name, planted=()):
    """(keys, mistakes) of the sheet of that challenge, as plain values."""
    torch.set_num_threads(1)
    compiler.keep_out()
    torch.manual_seed(0)
    found = SHEETS[name](planted) if planted else SHEETS[name]()
    return [{id: _plain(value) for id, value in table.items()} for table in found]


def _plain(value):
    """Tensors, shapes and tuples as numbers and lists."""
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, torch.Tensor):
        return value.tolist()
    return list(value) if isinstance(value, tuple) else value


def main():
    """Print the keys of one sheet as JSON."""
    found, mistakes = keys(sys.argv[1], json.load(sys.stdin))
    print(json.dumps({"keys": found, "mistakes": mistakes}))


if __name__ == "__main__":
    main()
