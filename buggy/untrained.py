"""Symptoms that an untrained model shows: NaN, first losses, counts, gradients."""

import math

import torch

from .lab import OTHER, TINY, experiment, far_apart, phrase, random_tokens, seen, symptom

PAIRS = 8  # micro-batches of the first loss: 8 x 16 x 16 targets from 8 different texts
DEEP = 32  # blocks: without a residual the gradient is gone here, and not yet at 2


@symptom(
    "nan_on_first_forward",
    threshold="any logit that is not finite",
    budget="one forward pass with one block and one with two, 2 x 16 tokens, dropout 0.2",
    margin="exact: a correct model has none",
)
def nan_on_first_forward(lab):
    rows = [broken_rows(lab, n_layer) for n_layer in (1, 2)]
    one, two = (_rows(found) for found in rows)
    return seen(any(map(len, rows)), max(map(len, rows)), "nan", one=one, two=two)


@experiment
def broken_rows(lab, n_layer):
    """The positions at which an untrained model, in training mode, answers NaN or infinity."""
    idx = random_tokens(TINY["vocab_size"], 2, TINY["block_size"])
    with torch.no_grad():
        finite = lab.model(TINY, n_layer=n_layer, dropout=0.2).train()(idx).isfinite()  # (B, T, V)
    return (~finite.all(-1).all(0)).nonzero().flatten().tolist()


def _rows(found):
    if not found:
        return phrase("no_row")
    if len(found) == TINY["block_size"]:
        return phrase("every_row")
    if len(found) == 1:
        return phrase("row", row=found[0])
    return phrase("rows", count=len(found), row=found[0])


@symptom(
    "first_loss_below_ln_v",
    threshold="ln V - 0.1",
    budget="one training step of 8 micro-batches, before it has moved anything",
    margin="reference 4.600 to 4.623 (ln V: 4.605), other faults from 4.599; shown to 4.22",
)
def first_loss_below_ln_v(lab):
    loss, ln_v = first_loss(lab), math.log(TINY["vocab_size"])
    return seen(loss < ln_v - 0.1, loss, "first_loss", loss=loss, pairs=PAIRS, ln_v=ln_v)


@symptom(
    "first_loss_above_ln_v",
    threshold="ln V + 0.1",
    budget="one training step of 8 micro-batches, before it has moved anything",
    margin="reference 4.600 to 4.623, other faults to 4.627; shown from 4.857 up",
)
def first_loss_above_ln_v(lab):
    loss, ln_v = first_loss(lab), math.log(TINY["vocab_size"])
    return seen(loss > ln_v + 0.1, loss, "first_loss", loss=loss, pairs=PAIRS, ln_v=ln_v)


@experiment
def first_loss(lab):
    """The loss that the first step reports, over texts that are all different and unpredictable."""
    gpt, block_size = lab.gpt, TINY["block_size"]
    texts = [random_tokens(TINY["vocab_size"], 4 * block_size + 1).numpy() for _ in range(PAIRS)]
    pairs = [gpt.data.get_batch(text, 16, block_size) for text in texts]
    model = lab.model(TINY)
    return float(gpt.training.train_step(model, lab.optimizer(model, 1e-3), pairs))


@symptom(
    "parameter_count_off",
    threshold="any difference",
    budget="six configs, counted and compared with the formula",
    margin="exact",
)
def parameter_count_off(lab):
    told = None
    for name, keywords in COUNTED.items():
        wanted = parameters(**keywords | lab.changes)
        for what, found in _counts(lab, keywords):
            count = (phrase(what, config=name), found, wanted)
            if told is None or (found != wanted and told[1] == told[2]):
                told = count
    what, found, wanted = told
    return seen(found != wanted, found, "count", what=what, found=found, wanted=wanted)


COUNTED = {
    "bias=False": TINY | {"bias": False},
    "bias=True": TINY,
    "tied=False": TINY | {"tied": False},
    "d_ff=40": TINY | {"d_ff": 40},
    "mlp=swiglu": TINY | {"mlp": "swiglu", "bias": False},
    "norm=rmsnorm, positions=rotary": TINY | {"norm": "rmsnorm", "positions": "rotary"},
}


def _counts(lab, keywords):
    yield "model", sum(p.numel() for p in {*lab.model(keywords).parameters()})
    yield "ledger", lab.gpt.ledger.total_parameters(lab.config(keywords))


def parameters(
    vocab_size,
    block_size,
    n_layer,
    n_head,
    d_model,
    d_ff=None,
    bias=True,
    norm="layernorm",
    mlp="gelu",
    positions="learned",
    tied=True,
):
    """The parameters of a correct GPT: 28,608 for the lesson's tiny one (day 49)."""
    gains = d_model if norm == "rmsnorm" else 2 * d_model
    width = d_ff or (round(8 * d_model / 3) if mlp == "swiglu" else 4 * d_model)
    matrices = (3 if mlp == "swiglu" else 2) * d_model * width
    biases = 4 * d_model + (0 if mlp == "swiglu" else width + d_model)
    block = 2 * gains + 4 * d_model**2 + matrices + (biases if bias else 0)
    tables = (1 if tied else 2) * vocab_size + (block_size if positions == "learned" else 0)
    return tables * d_model + n_layer * block + gains


@symptom(
    "identity_path_gone",
    threshold="any change above 1e-5, which is float32's rounding of a sum",
    budget="one block, 2 x 5 tokens",
    margin="reference exactly 0, as are all faults that do not show it; shown from 1.1",
)
def identity_path_gone(lab):
    change = max(change_by_a_silent_block(lab, name) for name in ("tiny", "other"))
    return seen(change > 1e-5, change, "identity", change=change)


@experiment
def change_by_a_silent_block(lab, name):
    """How far a block moves its input when everything in its two sub-layers is zero."""
    block = lab.gpt.block.Block(lab.config({"tiny": TINY, "other": OTHER}[name]))
    state = block.state_dict()
    for key, _ in block.named_parameters(remove_duplicate=False):
        if key.startswith(("attn.", "mlp.")):
            state[key] = torch.zeros_like(state[key])
    block.load_state_dict(state)
    x = 1 + torch.randn(2, 5, TINY["d_model"])
    with torch.no_grad():
        return far_apart(block.eval()(x.clone()), x)


@symptom(
    "early_layers_starved_of_gradient",
    threshold="the first block gets 0.035 of the largest gradient",
    budget="32 blocks, one backward pass over 8 x 8 tokens",
    margin="reference 0.43 to 0.50, other faults from 0.085; shown to 0.014",
)
def early_layers_starved_of_gradient(lab):
    n_layer = lab.config(TINY, n_layer=DEEP).n_layer
    norms = gradient_norms(lab, n_layer)
    share = norms["blocks.0"] / max(*norms.values(), 1e-30) if _finite(norms) else math.nan
    return seen(share < 0.035, share, "gradient", share=share, n_layer=n_layer)


def _finite(norms):
    return all(map(math.isfinite, norms.values()))


@experiment
def gradient_norms(lab, n_layer):
    """The norm of the gradient of each block's two sub-layers and of each part around them."""
    model = lab.model(TINY, n_layer=n_layer, bias=False)
    x, y = random_tokens(TINY["vocab_size"], 2, 8, 8)
    lab.gpt.loss.next_token_loss(model(x), y).backward()
    squares = {f"blocks.{i}": 0.0 for i in range(n_layer)}
    for name, parameter in model.named_parameters():
        part = _part(name)
        if part is not None and parameter.grad is not None:
            squares[part] = squares.get(part, 0.0) + parameter.grad.square().sum().item()
    return {part: math.sqrt(square) for part, square in squares.items()}


def _part(name):
    """``blocks.3.mlp.w1.weight`` is of ``blocks.3``; a block's norms may be part of the stream."""
    path = name.split(".")
    if path[0] != "blocks":
        return path[0]
    return ".".join(path[:2]) if path[2] in ("attn", "mlp") else None
