"""The keys of day 49's sheets: batches, attention by hand, block and ledger, closing questions."""

import math
import tempfile

import numpy as np
import torch
from torch.nn import functional as F

from buggy import faults as catalogue
from buggy import overlay, planting

from .keys47 import GPT, size

TINY = {"vocab_size": 100, "block_size": 16, "n_layer": 2, "n_head": 4, "d_model": 32}
TINY |= {"bias": False}


def tiny(gpt, **more):
    """The lesson's GPT: V = 100, context 16, d_model 32, 2 layers, 4 heads, no biases."""
    torch.manual_seed(0)
    return gpt.model.GPT(gpt.model.GPTConfig(**TINY | more))


def batches():
    """Activity 1: x and y of one window, bytes, the first loss, the right call, y = x."""
    tokens = [502, 1204, 33, 991, 88, 412]
    x, y = GPT.data.shift_pair(tokens[:5])
    both = {bits: GPT.ledger.batch_bytes(64, 1024, getattr(torch, bits)) for bits in BITS}
    V = 50257
    flat = GPT.loss.next_token_loss(torch.zeros(1, 4, V), torch.tensor([y])).item()
    keys = {
        "x": x,
        "y": y,
        "window": len(x) + 1,
        "bytes_int64": both["int64"],
        "bytes_int32": both["int32"],
        "right_call": right_call(),
        "first_loss": flat,
        "y_is_x": y_is_x(),
    }
    mistakes = {
        "x": {"whole": tokens},
        "y": {"unshifted": x, "too_far": tokens[2:6]},
        "window": {"no_target": 4},
        "bytes_int64": {"x_alone": both["int64"] // 2, "tokens": 64 * 1024},
        "bytes_int32": {"x_alone": both["int32"] // 2, "as_int64": both["int64"]},
        "first_loss": {"bits": math.log2(V), "decimal": math.log10(V)},
    }
    return keys, mistakes


BITS = ("int64", "int32")
CALLS = {
    "rows": lambda logits, y: F.cross_entropy(logits.view(-1, logits.size(-1)), y.view(-1)),
    "transposed": lambda logits, y: F.cross_entropy(
        logits.transpose(0, 1).reshape(-1, logits.size(-1)), y.view(-1)
    ),
    "columns": lambda logits, y: F.cross_entropy(logits.reshape(logits.size(-1), -1).T, y.view(-1)),
    "softmax_first": lambda logits, y: F.cross_entropy(
        logits.softmax(-1).view(-1, logits.size(-1)), y.view(-1)
    ),
}


def right_call():
    """The calls that give the loss of the reference."""
    logits, y = torch.randn(3, 4, 7), torch.randint(7, (3, 4))
    want = GPT.loss.next_token_loss(logits, y)
    return [name for name, call in CALLS.items() if torch.allclose(call(logits, y), want)]


def y_is_x():
    """What training on y = x comes to, as the word of the answer: train a little and look."""
    model = tiny(GPT)
    optimizer = GPT.training.configure_optimizer(model, 1e-2, 0.0, (0.9, 0.95))
    data = np.random.default_rng(0).integers(100, size=4000)
    for _ in range(60):
        x, _y = GPT.data.get_batch(data, 16, 16)
        loss = GPT.training.train_step(model, optimizer, [(x, x)])
    x, y = GPT.data.get_batch(data, 16, 16)
    with torch.no_grad():
        honest = GPT.loss.next_token_loss(model(x), y).item()
    if loss > 1:
        return ["stays_at_ln_v"]
    return ["falls_and_learns_nothing" if honest > math.log(100) - 0.1 else "falls_and_learns"]


Q = torch.tensor([[1.0, 1], [0, 2]])
K = torch.tensor([[1.0, 1], [2, 0]])
V = torch.eye(2)


def attention_by_hand():
    """Activity 2: scores, weights, output; shapes and counts; two facts, measured."""
    raw = Q @ K.T
    scaled = raw / math.sqrt(2)
    weights = GPT.attention.attention(Q, K, V)
    free = GPT.attention.attention(Q, K, V, torch.zeros(2, 2, dtype=torch.bool))
    unscaled = torch.softmax(raw.masked_fill(torch.ones(2, 2).triu(1).bool(), -math.inf), -1)
    heads = GPT.model.GPTConfig(100, 16, 1, 3, 12)
    bare = GPT.model.GPTConfig(100, 16, 1, 3, 12, bias=False)
    attn, plain = (size(GPT.attention.MultiHeadAttention(c)) for c in (heads, bare))
    split = torch.zeros(2, 5, 12).view(2, 5, 3, -1).transpose(1, 2)
    d_k = split.size(-1)
    keys = {
        "scaled_scores": scaled,
        "weights": weights,
        "out": weights @ V,
        "out_0_without_mask": free[0],
        "d_k": d_k,
        "q_split": split.shape,
        "scores_shape": (split @ split.mT).shape,
        "merged": split.transpose(1, 2).reshape(2, 5, 12).shape,
        "with_biases": attn,
        "without_biases": plain,
        "why_sqrt": spread_of_dot_products(),
        "exp_in_half": half(),
        "out_0_when_token_1_changes": out_0(),
    }
    known = {"unscaled": unscaled, "no_mask": free, "mask_last": free.tril()}
    mistakes = {
        "scaled_scores": {"unscaled": raw, "by_d_k": raw / 2},
        "weights": known,
        "out": known,
        "out_0_without_mask": {"masked": weights[0]},
        "d_k": {"d_model": 12},
        "q_split": {"not_transposed": (2, 5, 3, d_k)},
        "scores_shape": {"not_transposed": (2, 5, 3, 3), "no_heads": (2, 5, 5)},
        "with_biases": {"no_output": attn * 3 // 4, "no_biases": plain},
        "without_biases": {"no_output": plain * 3 // 4, "biases": attn},
    }
    return keys, mistakes


def spread_of_dot_products():
    """The variance of dot products of unit-variance vectors, as the word of the answer."""
    q, k = torch.randn(2, 20000, 64)
    raw, scaled = (q * k).sum(-1).var(), ((q * k).sum(-1) / 8).var()
    grows = abs(raw / 64 - 1) < 0.1 and abs(scaled - 1) < 0.1
    return ["variance_d_k"] if grows else ["none"]


def half():
    """Where the exponential leaves float16, as the word of the answer."""
    value = torch.tensor(15.0, dtype=torch.float16).exp()
    return ["infinite"] if value.isinf() else ["finite"]


def out_0():
    """Whether the first output moves when the second token changes."""
    other = [x.clone() for x in (Q, K, V)]
    for x in other:
        x[1] += 1
    same = torch.equal(GPT.attention.attention(*other)[0], GPT.attention.attention(Q, K, V)[0])
    return ["unchanged"] if same else ["changes"]


def block_and_ledger():
    """Activity 3: both norms by hand, the tiny GPT's ledger, its shapes."""
    x = torch.tensor([4.0, 0, -2, 2], dtype=torch.float64)
    layer = GPT.normalization.LayerNorm(4, eps=0.0).double()(x).detach()
    rms = GPT.normalization.RMSNorm(4, eps=0.0).double()(x).detach()
    model = tiny(GPT)
    lines = GPT.ledger.parameter_ledger(model.config)
    block = size(model.blocks[0])
    embeddings = lines["wte"] + lines["wpe"]
    matrices = lines["blocks.0.attn"] + lines["blocks.0.mlp"]
    total = size(model)
    untied = size(tiny(GPT, tied=False)) - total
    idx = torch.randint(100, (8, 16))
    shapes = {"embedded": model.wte(idx).shape, "logits": model(idx).shape}
    keys = {
        "layer_norm": layer,
        "rms_norm": rms,
        "pre_ln": pre_ln(model),
        "block": block,
        "blocks": 2 * block,
        "embeddings": embeddings,
        "final_norm": size(model.ln_f),
        "total": total,
        "untied_adds": untied,
        "ffn_share": lines["blocks.0.mlp"] / matrices,
        **shapes,
        "sampled_from": sampled_from(),
    }
    centred = x - x.mean()
    mistakes = {
        "layer_norm": {"unbiased": centred / x.std(), "no_root": centred / x.var(correction=0),
                       "no_mean": rms},
        "rms_norm": {"mean_taken": layer, "no_root": x / x.square().mean(),
                     "summed": x / x.norm()},
        "block": {"no_norms": block - 4 * 32, "gain_only": block - 2 * 32,
                  "biases": block + 4 * 32 + 5 * 32},
        "embeddings": {"no_positions": lines["wte"], "no_tokens": lines["wpe"]},
        "final_norm": {"gain_only": 32},
        "total": {"untied": total + untied, "no_positions": total - lines["wpe"],
                  "no_final_norm": total - 64, "one_block": total - block},
        "untied_adds": {"nothing": 0, "with_positions": embeddings},
        "logits": {"width": (8, 16, 32), "last_only": (8, 100)},
    }  # fmt: skip
    return keys, mistakes


def pre_ln(model):
    """Which pair of lines is what a block of the reference computes."""
    block, x = model.blocks[0], torch.randn(1, 5, 32)
    ln_1, attn, ln_2, mlp = block.ln_1, block.attn, block.ln_2, block.mlp
    forms = {
        "pre": lambda x: (y := x + attn(ln_1(x))) + mlp(ln_2(y)),
        "post": lambda x: ln_2((y := ln_1(x + attn(x))) + mlp(y)),
        "normalised_stream": lambda x: (y := ln_1(x) + attn(ln_1(x))) + mlp(ln_2(y)),
        "parallel": lambda x: x + attn(ln_1(x)) + mlp(ln_2(x)),
    }
    want = block(x)
    return [name for name, form in forms.items() if torch.allclose(form(x), want, atol=1e-6)]


def sampled_from():
    """Which slice of the logits greedy writing takes its next token from."""
    model = tiny(GPT)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter)
    idx = torch.randint(100, (8, 16))
    want = GPT.sampling.generate(model, idx, 1, temperature=0.0)[:, -1]
    logits = model(idx)
    slices = {"last": logits[:, -1], "first": logits[:, 0], "mean": logits.mean(1)}
    return [name for name, rows in slices.items() if torch.equal(rows.argmax(-1), want)]


def closing(planted):
    """The assessment's closing questions; the letters come from the measured symptoms."""
    keys = {"nan_reason": nan_reason(planted), "first_loss": first_loss(overlay.load())}
    return keys, {"first_loss": {"bits": math.log2(100), "decimal": math.log10(100)}}


def nan_reason(planted):
    """Why the first forward pass of a faulty package is NaN, found by looking; [] when none is."""
    with tempfile.TemporaryDirectory() as folder:
        for i, id in enumerate(planted):
            planting.plant(catalogue.load(id).edits, f"{folder}/{i}")
            gpt = overlay.load(f"{folder}/{i}")
            if tiny(gpt)(torch.randint(100, (4, 16))).isnan().any():
                return [_reason(gpt)]
    return []


def _reason(gpt):
    if gpt.attention.causal_mask(4).all(dim=1).any():
        return "row_without_keys"
    if not gpt.attention.softmax(torch.full((2,), 200.0)).isfinite().all():
        return "exponent_overflow"
    if not gpt.normalization.LayerNorm(4)(torch.ones(1, 4)).isfinite().all():
        return "constant_token"
    return "logarithm_of_zero"


def first_loss(gpt):
    """The loss of a new model on random targets, mean over 4,096 of them."""
    model = tiny(gpt)
    idx, y = torch.randint(100, (2, 256, 16))
    with torch.no_grad():
        return gpt.loss.next_token_loss(model(idx), y).item()
