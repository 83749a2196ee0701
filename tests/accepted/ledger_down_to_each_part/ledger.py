"""Every half of a block is a line of its own, added up from the shapes of its tensors."""

import math

import torch


def shapes(config):
    """Pairs of a member's path and the shapes it holds."""
    d, V = config.d_model, config.vocab_size
    norm = [(d,)] if config.norm == "rmsnorm" else [(d,), (d,)]
    projection = [(d, d), (d,)] if config.bias else [(d, d)]
    yield "ln_f", norm
    for i in range(config.n_layer):
        yield f"blocks.{i}.mlp", mlp_shapes(config)
        yield f"blocks.{i}.attn", 4 * projection
        yield f"blocks.{i}.ln_2", norm
        yield f"blocks.{i}.ln_1", norm
    yield "lm_head", [] if config.tied else [(V, d)]
    yield "wte", [(V, d)]
    if config.positions == "learned":
        yield "wpe", [(config.block_size, d)]


def mlp_shapes(config):
    d = config.d_model
    if config.mlp == "swiglu":
        width = round(8 * d / 3) if config.d_ff is None else config.d_ff
        return [(width, d), (width, d), (d, width)]
    width = 4 * d if config.d_ff is None else config.d_ff
    biases = [(width,), (d,)] if config.bias else []
    return [(width, d), (d, width), *biases]


def parameter_ledger(config):
    return {path: sum(map(math.prod, held)) for path, held in shapes(config)}


def total_parameters(config):
    return sum(math.prod(shape) for _, held in shapes(config) for shape in held)


def forward_flops_per_token(config, T):
    matrices = sum(
        math.prod(shape)
        for path, held in shapes(config)
        for shape in held
        if len(shape) == 2 and path.startswith("blocks")
    )
    head = config.vocab_size * config.d_model  # a tied table is multiplied all the same
    scores_and_values = config.n_layer * 2 * T * config.d_model
    return 2 * (matrices + head + scores_and_values)


def batch_bytes(B, T, dtype=torch.int64):
    if dtype.is_floating_point:
        bits = torch.finfo(dtype).bits
    else:
        bits = 8 if dtype == torch.bool else torch.iinfo(dtype).bits
    return 2 * B * T * bits // 8
