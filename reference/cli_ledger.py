"""``python -m reference ledger``: the accounts of days 47 and 49, or of one model, as tables."""

from dataclasses import replace

import torch
from rich import box
from rich.table import Table

from .cli_options import config_of
from .ledger import batch_bytes, forward_flops_per_token, parameter_ledger, total_parameters
from .model import GPTConfig

BIASES = ("ledger.without", "ledger.with")


def main(options, words, console):
    """Print the lessons' accounts, or with options that of the model they describe."""
    if options.given:
        tables = model_tables(words("ledger.model"), config_of(options, options.vocab_size), words)
    else:
        tables = lesson_tables(words)
    for table in tables:
        console.print(table, "")
    return 0


def lesson_tables(words):
    """Every line of the accounts in the lessons of days 47 and 49."""
    small = GPTConfig(50257, 1024, 12, 12, 768)
    tiny = GPTConfig(100, 16, 2, 4, 32, bias=False)
    return [
        as_table(words("ledger.feed_forward"), BIASES, feed_forward_rows(64), words),
        *model_tables(words("ledger.gpt2_small"), small, words),
        as_table(words("ledger.heads"), BIASES, [("attn", *both(heads(12), "attn"))], words),
        *model_tables(words("ledger.tiny"), tiny, words),
        as_table(words("ledger.batch"), ("int64", "int32"), batch_rows(64, 1024), words),
    ]


def model_tables(name, config, words):
    """Parameters without and with biases, tied and untied; then FLOPs by part and T."""
    lengths = sorted({max(1, config.block_size // share) for share in (16, 4, 1)})
    title = words("ledger.account", name=name, **vars(config))
    flops = words("ledger.flops", name=name)
    columns = [f"T = {T:,}" for T in lengths]
    return [
        as_table(title, BIASES, account_rows(config), words),
        as_table(flops, columns, flops_rows(config, lengths), words),
    ]


def as_table(title, columns, rows, words):
    """A rich table of rows (id, number a column); what follows ":" in an id fills its {n}."""
    table = Table(title=title, title_justify="left", title_style="bold")
    table.box, table.show_edge, table.pad_edge = box.SIMPLE_HEAD, False, False
    table.add_column("", min_width=32)
    for column in columns:
        name = words(column) if column in BIASES else column
        table.add_column(name, justify="right", no_wrap=True)
    for key, *numbers in rows:
        key, _, n = key.partition(":")
        table.add_row(words(f"ledger.{key}", n=n), *map(as_cell, numbers))
    return table


def as_cell(number):
    """Counts with separators, shares as percentages."""
    return f"{number:.1%}" if isinstance(number, float) else f"{number:,}"


def heads(d_model):
    """A model that is asked for one line of its ledger only."""
    return GPTConfig(1, 1, 1, 1, d_model)


def both(config, part):
    """A part of the first block, without and with biases."""
    ledgers = (parameter_ledger(replace(config, bias=bias)) for bias in (False, True))
    return [ledger[f"blocks.0.{part}"] for ledger in ledgers]


def feed_forward_rows(d_model):
    """Day 47: two matrices, their biases, and the three of SwiGLU, which has none."""
    d_ff, layer = 4 * d_model, heads(d_model)
    gated = replace(layer, mlp="swiglu")
    fair = round(8 * d_model / 3)
    return [
        ("w1", d_model * d_ff, d_model * d_ff + d_ff),
        ("w2", d_ff * d_model, d_ff * d_model + d_model),
        ("mlp", *both(layer, "mlp")),
        (f"swiglu:{fair}", *both(gated, "mlp")),
        (f"swiglu_wide:{d_ff}", *both(replace(gated, d_ff=d_ff), "mlp")),
    ]


def account_rows(config):
    """A block by part, all blocks, embeddings, final norm, head, and the totals."""
    attn, mlp = both(config, "attn"), both(config, "mlp")
    norms = [2 * count for count in both(config, "ln_1")]
    block = [sum(parts) for parts in zip(attn, mlp, norms)]
    once = parameter_ledger(config)
    wte, wpe = once["wte"], once.get("wpe", 0)  # rotary positions have no table
    tied, untied = (totals(replace(config, tied=tied)) for tied in (True, False))
    weights = mlp[0] / (attn[0] + mlp[0])  # of the matrices alone
    return [
        ("attn", *attn),
        ("mlp", *mlp),
        ("matrices", *map(sum, zip(attn, mlp))),
        ("norms", *norms),
        ("block", *block),
        (f"blocks:{config.n_layer}", *(config.n_layer * count for count in block)),
        ("wte", wte, wte),
        ("wpe", wpe, wpe),
        ("embeddings", wte + wpe, wte + wpe),
        ("ln_f", once["ln_f"], once["ln_f"]),
        ("total_tied", *tied),
        ("head", *(more - less for more, less in zip(untied, tied))),
        ("total_untied", *untied),
        ("mlp_weights", weights, weights),
    ]


def totals(config):
    """All parameters, without and with biases."""
    return [total_parameters(replace(config, bias=bias)) for bias in (False, True)]


def flops_rows(config, lengths):
    """FLOPs a token: the parts of one block, all blocks, the head, everything."""
    attn, mlp = (2 * both(config, part)[0] for part in ("attn", "mlp"))  # 2 a weight
    scores = [4 * T * config.d_model for T in lengths]
    block = [attn + mlp + flops for flops in scores]
    every = [forward_flops_per_token(config, T) for T in lengths]
    blocks = [config.n_layer * flops for flops in block]
    return [
        ("projections", *(attn for _ in lengths)),
        ("mlp", *(mlp for _ in lengths)),
        ("matrices", *(attn + mlp for _ in lengths)),
        ("scores", *scores),
        ("block", *block),
        (f"blocks:{config.n_layer}", *blocks),
        ("head_flops", *(whole - part for whole, part in zip(every, blocks))),
        ("whole", *every),
        ("mlp_flops", *(mlp / flops for flops in block)),
    ]


def batch_rows(B, T):
    """Bytes of x and y, each and together, by the width of a token."""
    together = [batch_bytes(B, T, dtype) for dtype in (torch.int64, torch.int32)]
    return [("each", *(count // 2 for count in together)), ("together", *together)]
