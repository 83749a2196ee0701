"""Where the parameters, the arithmetic and the bytes are."""

import torch


def parameter_ledger(config):
    """Parameters by member path, as a dict of disjoint lines; a tied head counts 0.

    The values sum to what ``GPT(config)`` holds: 28,608 for the course's tiny GPT (day 49),
    124,439,808 for GPT-2 small (day 47).
    """
    d_model, d_ff = config.d_model, _d_ff(config)
    bias = 1 if config.bias else 0
    norm = d_model if config.norm == "rmsnorm" else 2 * d_model
    if config.mlp == "swiglu":
        mlp = 3 * d_model * d_ff
    else:
        mlp = 2 * d_model * d_ff + bias * (d_ff + d_model)
    lines = {"wte": config.vocab_size * d_model}
    if config.positions == "learned":
        lines["wpe"] = config.block_size * d_model
    for i in range(config.n_layer):
        lines[f"blocks.{i}.ln_1"] = norm
        lines[f"blocks.{i}.attn"] = 4 * d_model * d_model + bias * 4 * d_model
        lines[f"blocks.{i}.ln_2"] = norm
        lines[f"blocks.{i}.mlp"] = mlp
    lines["ln_f"] = norm
    lines["lm_head"] = 0 if config.tied else config.vocab_size * d_model
    return lines


def total_parameters(config):
    """All parameters of ``GPT(config)``."""
    return sum(parameter_ledger(config).values())


def forward_flops_per_token(config, T):
    """FLOPs of a forward pass over T tokens, divided by T; the head included.

    Matrix products only, 2 FLOPs a multiply-add: 2 a weight, and 4 T d_model a block for the
    scores and the weighted sum of values. The causal half that could be skipped is counted.
    """
    matrices = 2 if config.mlp != "swiglu" else 3
    weights = 4 * config.d_model**2 + matrices * config.d_model * _d_ff(config)
    block = 2 * weights + 4 * T * config.d_model
    return config.n_layer * block + 2 * config.d_model * config.vocab_size


def batch_bytes(B, T, dtype=torch.int64):
    """Bytes of x and y together: 1,048,576 at B = 64, T = 1024 in int64 (day 49)."""
    return 2 * B * T * dtype.itemsize


def _d_ff(config):
    """The width of the feed-forward, as feedforward.py chooses it."""
    if config.d_ff is not None:
        return config.d_ff
    return round(8 * config.d_model / 3) if config.mlp == "swiglu" else 4 * config.d_model
