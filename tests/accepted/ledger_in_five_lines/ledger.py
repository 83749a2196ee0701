"""All blocks are one line: how finely the account is cut is open, as long as its lines share
nothing.
"""

import torch


def parameter_ledger(config):
    d, V = config.d_model, config.vocab_size
    norm = (2 - (config.norm == "rmsnorm")) * d
    per_block = 2 * norm + 4 * d * (d + config.bias) + mlp_parameters(config)
    account = {"wte": V * d}
    if config.positions == "learned":
        account["wpe"] = config.block_size * d
    account.update(
        blocks=config.n_layer * per_block, ln_f=norm, lm_head=0 if config.tied else V * d
    )
    return account


def mlp_width(config):
    if config.d_ff:
        return config.d_ff
    return (16 * config.d_model + 3) // 6 if config.mlp == "swiglu" else 4 * config.d_model


def mlp_parameters(config):
    d, width = config.d_model, mlp_width(config)
    if config.mlp == "swiglu":
        return 3 * d * width
    return (d + config.bias) * width + (width + config.bias) * d


def total_parameters(config):
    return sum(parameter_ledger(config).values())


def forward_flops_per_token(config, T):
    d = config.d_model
    multiply_adds = config.n_layer * (
        3 * d * d  # q, k, v
        + T * d  # a row of scores, all heads
        + T * d  # the weighted sum of values
        + d * d  # output projection
        + (3 if config.mlp == "swiglu" else 2) * d * mlp_width(config)
    )
    return 2 * (multiply_adds + d * config.vocab_size)


def batch_bytes(B, T, dtype=torch.int64):
    return B * T * torch.empty((), dtype=dtype).element_size() * 2
