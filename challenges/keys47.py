"""The keys of day 47's sheets: counts, work by hand, shapes, the ledger of GPT-2 small."""

import torch

from buggy import overlay

GPT = overlay.load()
SMALL = {"vocab_size": 100, "block_size": 16, "n_layer": 2, "n_head": 4, "d_model": 64}
GPT2 = {"vocab_size": 50257, "block_size": 1024, "n_layer": 12, "n_head": 12, "d_model": 768}


def config(**sizes):
    return GPT.model.GPTConfig(**SMALL | sizes)


def size(module):
    """How many parameters a module holds."""
    return sum(parameter.numel() for parameter in module.parameters())


def counts():
    """Activity 1: FFN 64 -> 256 -> 64 and its SwiGLU."""
    plain = GPT.feedforward.FeedForward(config(bias=False))
    biased = GPT.feedforward.FeedForward(config())
    gated = GPT.feedforward.SwiGLU(config(mlp="swiglu"))
    wide = GPT.feedforward.SwiGLU(config(mlp="swiglu", d_ff=256))
    x = torch.randn(5, 64)
    d_ff = len(gated.w_up.weight)
    keys = {
        "shape_hidden": biased.w1(x).shape,
        "shape_out": biased(x).shape,
        "rows_that_change": rows_that_change(biased, x),
        "weights": size(plain),
        "with_biases": size(biased),
        "swiglu_width": d_ff,
        "swiglu_weights": size(gated),
    }
    mistakes = {
        "weights": {"one_matrix": plain.w1.weight.numel(), "biases_too": size(biased)},
        "with_biases": {
            "b1_of_64": size(plain) + 64 + 64,
            "one_bias": size(plain) + 256,
            "no_biases": size(plain),
        },
        "swiglu_width": {"left_wide": 256, "cut_off": 256 * 2 // 3},
        "swiglu_weights": {"left_wide": size(wide), "two_matrices": 2 * 64 * d_ff},
    }
    return keys, mistakes


def rows_that_change(ffn, x):
    """Which rows of the output move when row 3 of the input does, as the word of the answer."""
    other = x.clone()
    other[3] += 1
    moved = (ffn(other) != ffn(x)).any(-1).nonzero().flatten().tolist()
    return {(3,): ["row_3"], (3, 4): ["from_row_3_on"]}.get(tuple(moved), ["all_rows"])


W1 = torch.tensor([[1.0, 0, -1], [0, 2, 1]])
W2 = torch.tensor([[1.0, 0], [0, 1], [-1, 1]])


def hand_ffn():
    """The reference's FFN with the lesson's two matrices."""
    ffn = GPT.feedforward.FeedForward(config(d_model=2, n_head=1, d_ff=3, bias=False, mlp="relu"))
    ffn.load_state_dict({"w1.weight": W1.T, "w2.weight": W2.T})  # nn.Linear keeps the transpose
    return ffn


def by_hand():
    """Activity 2: z, h, y and the residual, for x = [1, 2] and x = [2, -1]."""
    ffn = hand_ffn()
    keys, mistakes = {}, {}
    with torch.no_grad():
        for name, x in (("", torch.tensor([1.0, 2])), ("variant_", torch.tensor([2.0, -1]))):
            z = ffn.w1(x)
            h = ffn.activation(z)
            keys |= {f"{name}z": z, f"{name}h": h, f"{name}y": ffn(x)}
            rows = torch.stack([W1[i, :2] @ x for i in range(2)])
            mistakes[f"{name}z"] = {"rows": rows, "sign": x @ W1.abs()}
            mistakes[f"{name}y"] = {"relu_last": (z @ W2).relu(), "no_relu": z @ W2}
            keys[f"{name}residual"] = x + ffn(x)
            mistakes[f"{name}residual"] = {"replaced": ffn(x)}
        keys["variant_stopped"] = [i + 1 for i in range(3) if h[i] == 0]
    for key in [key for key in mistakes if key not in keys]:
        del mistakes[key]
    apart = {key: _apart(keys[key], known) for key, known in mistakes.items()}
    return keys, apart


def _apart(key, known):
    """The mistakes that give another answer than the right one."""
    return {name: value for name, value in known.items() if not _same(value, key)}


def _same(a, b):
    a, b = torch.as_tensor(a, dtype=torch.float64), torch.as_tensor(b, dtype=torch.float64)
    return a.shape == b.shape and bool(torch.allclose(a, b))


def order_and_shapes():
    """Activity 3: what runs after what, and in which shape, seen by looking on."""
    gpt = overlay.load()
    model = gpt.model.GPT(gpt.model.GPTConfig(**SMALL))
    seen, core = [], {}
    for name, module in model.named_modules():
        module.register_forward_hook(lambda m, a, y, name=name: seen.append((name, a[0], y)))
    inner = gpt.attention.attention

    def looked_at(q, k, v, mask=None):
        core.update(q=q, scores=q @ k.mT, out=inner(q, k, v, mask))
        return core["out"]

    gpt.attention.attention = looked_at
    model(torch.randint(100, (2, 4)))
    shape = {name: tuple(y.shape) for name, _, y in seen}
    names = [name for name, _, _ in seen]
    parts = [name.split(".")[-1] for name in names if name.startswith("blocks.0.")]
    inputs = {name: x for name, x, _ in seen}
    outputs = {name: y for name, _, y in seen}
    reads = ["x1"] if inputs["blocks.1"] is outputs["blocks.0"] else ["x0"]
    wide = {"whole": (2, 4, 64), "no_batch": tuple(core["scores"].shape[1:])}
    keys = {
        "inside_a_block": [part for part in parts if part in ("ln_1", "attn", "ln_2", "mlp")],
        "whole_model": [_short(name) for name in names if _short(name)],
        "second_block_reads": reads,
        "stream": shape["blocks.0"],
        "head_dim": core["q"].shape[-1],
        "q_of_every_head": core["q"].shape,
        "scores": core["scores"].shape,
        "attention_out": shape["blocks.0.attn"],
        "hidden": shape["blocks.0.mlp.w1"],
    }
    mistakes = {
        "inside_a_block": {"post_ln": ["attn", "ln_1", "mlp", "ln_2"]},
        "scores": wide,
        "q_of_every_head": {"unsplit": (2, 4, 64), "not_transposed": (2, 4, 4, 64)},
    }
    return keys, mistakes


def _short(name):
    """The name of a part of the whole model in the answer, or ""."""
    known = {"wte": "embedding", "blocks.0": "block_1", "blocks.1": "block_2"}
    return known.get(name, name if name in ("ln_f", "lm_head") else "")


def gpt2_small():
    """Activity 4: the lines of the ledger, and what a token costs."""
    gpt, ledger = GPT.model.GPTConfig(**GPT2), GPT.ledger
    bare = ledger.parameter_ledger(GPT.model.GPTConfig(**GPT2 | {"bias": False}))
    lines = ledger.parameter_ledger(gpt)
    attn, ffn = bare["blocks.0.attn"], bare["blocks.0.mlp"]
    block = sum(n for name, n in lines.items() if name.startswith("blocks.0."))
    norms = lines["blocks.0.ln_1"] + lines["blocks.0.ln_2"]
    heads = 2 * gpt.vocab_size * gpt.d_model
    at, none = ((ledger.forward_flops_per_token(gpt, T) - heads) / gpt.n_layer for T in (1024, 0))
    ffn_flops = 2 * ffn
    keys = {
        "attention": attn,
        "ffn": ffn,
        "ffn_share": ffn / (attn + ffn),
        "attention_with_biases": lines["blocks.0.attn"],
        "ffn_with_biases": lines["blocks.0.mlp"],
        "two_norms": norms,
        "block": block,
        "blocks": gpt.n_layer * block,
        "token_embedding": lines["wte"],
        "position_embedding": lines["wpe"],
        "final_norm": lines["ln_f"],
        "total": ledger.total_parameters(gpt),
        "flops_of_weights": none,
        "flops_of_scores": at - none,
        "ffn_share_of_flops": ffn_flops / at,
    }
    total = keys["total"]
    mistakes = {
        "attention": {"no_output": attn * 3 // 4, "biases_too": keys["attention_with_biases"]},
        "ffn": {"one_matrix": ffn // 2, "biases_too": keys["ffn_with_biases"]},
        "two_norms": {"one_norm": norms // 2, "gain_only": norms // 2},
        "block": {"no_norms": block - norms, "no_biases": attn + ffn},
        "total": {"untied": total + lines["wte"], "no_positions": total - lines["wpe"],
                  "no_final_norm": total - lines["ln_f"]},
        "flops_of_weights": {"once": none / 2},
        "flops_of_scores": {"one_product": (at - none) / 2},
        "ffn_share_of_flops": {"as_parameters": keys["ffn_share"]},
    }  # fmt: skip
    del mistakes["two_norms"]["gain_only"]
    return keys, mistakes
