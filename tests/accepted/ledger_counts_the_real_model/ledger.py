"""Parameters are counted on a model without memory and FLOPs while it runs there: nothing is worked
out by hand.
"""

import dataclasses

import torch
from torch.utils.flop_counter import FlopCounterMode

from .model import GPT


def parameter_ledger(config):
    """One line for every module that owns parameters."""
    with torch.device("meta"):
        model = GPT(config)
    lines, seen = {}, set()
    for path, module in model.named_modules():
        own = [p for p in module.parameters(recurse=False) if id(p) not in seen]
        seen.update(map(id, own))
        if own or path == "lm_head":
            lines[path] = sum(p.numel() for p in own)
    return lines


def total_parameters(config):
    with torch.device("meta"):
        return sum(p.numel() for p in GPT(config).parameters())


def forward_flops_per_token(config, T):
    long_enough = dataclasses.replace(config, block_size=max(T, config.block_size))
    with torch.device("meta"), FlopCounterMode(display=False) as counter, torch.no_grad():
        GPT(long_enough).eval()(torch.zeros(1, T, dtype=torch.int64))
    return counter.get_total_flops() // T


def batch_bytes(B, T, dtype=torch.int64):
    x = torch.empty(B, T, dtype=dtype, device="meta")
    return x.nbytes + torch.empty_like(x).nbytes
