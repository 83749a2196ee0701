"""Day 47: the feed-forward, the stack of blocks, and where the parameters are."""

import itertools
import math

import torch
from hypothesis import strategies as st
from torch.nn import functional as F

from tests import strategies as draw

from . import claims
from .day46 import hot_block
from .engine import rule

AXES = ("batch", "position", "channel")
widths = st.sampled_from([6, 8, 10])
hidden = st.sampled_from([None, 5, 13])
dtypes = draw.float_dtypes
kinds = st.sampled_from(["gelu", "relu"])


# every size as small as it can be; rotary positions need one pair of channels
LEAST = dict.fromkeys(("vocab_size", "block_size", "n_layer", "n_head", "d_ff"), 1) | {"d_model": 2}


def _small(d_model, **more):
    return {
        "vocab_size": 7,
        "block_size": 8,
        "n_layer": 2,
        "n_head": 2,
        "d_model": d_model,
    } | more


def _made(gpt, name, keywords, seed, dtype=torch.float64):
    made = getattr(gpt.feedforward, name)(draw.config(gpt, keywords)).to(dtype)
    return draw.heat(made, seed).eval()


def _values(module):
    names = module.named_parameters(remove_duplicate=False)  # w1 may be another layer's second name
    return {name: p.detach().double() for name, p in names}


@rule(47, "feedforward.FeedForward", d_model=widths, d_ff=hidden, bias=st.booleans(), mlp=kinds)
def the_hidden_layer_is_four_times_as_wide(gpt, d_model, d_ff, bias, mlp):
    """w1 widens to d_ff (4 d_model by default), w2 narrows back; biases as configured."""
    ffn = gpt.feedforward.FeedForward(
        draw.config(gpt, _small(d_model, d_ff=d_ff, bias=bias, mlp=mlp))
    )
    wide = 4 * d_model if d_ff is None else d_ff
    claims.trying(d_model=d_model, d_ff=d_ff, bias=bias)
    claims.shape(ffn.w1.weight, (wide, d_model))
    claims.shape(ffn.w2.weight, (d_model, wide))
    for linear in (ffn.w1, ffn.w2):
        claims.equal(linear.bias is not None, bias, "has_bias")
    count = 2 * d_model * wide + (wide + d_model if bias else 0)
    claims.equal(sum(p.numel() for p in ffn.parameters()), count, "parameters")


@rule(
    47,
    "feedforward.FeedForward",
    d_model=widths,
    d_ff=hidden,
    dtype=dtypes,
    seed=draw.seeds,
)
def the_feed_forward_bends_between_two_linear_maps(gpt, d_model, d_ff, dtype, seed):
    """act(x W1 + b1) W2 + b2, with ReLU or GELU (exact or tanh) as the config says."""
    # nothing is cut off, however large
    choices = itertools.product(("gelu", "relu"), (True, False), (2.0, 100.0))
    for mlp, bias, scale in choices:
        _bends(gpt, d_model, d_ff, bias, mlp, dtype, scale, seed)


def _bends(gpt, d_model, d_ff, bias, mlp, dtype, scale, seed):
    ffn = _made(gpt, "FeedForward", _small(d_model, d_ff=d_ff, bias=bias, mlp=mlp), seed, dtype)
    x = draw.normal(seed, 2, 3, d_model, scale=scale, dtype=dtype)
    copy = x.clone()
    w = _values(ffn)
    before = x.double() @ w["w1.weight"].T + w.get("w1.bias", 0.0)
    claims.trying(mlp=mlp, d_model=d_model)
    got = ffn(x)
    forms = [F.relu] if mlp == "relu" else [F.gelu, lambda h: F.gelu(h, approximate="tanh")]
    wants = [act(before) @ w["w2.weight"].T + w.get("w2.bias", 0.0) for act in forms]
    claims.shape(got, x.shape)
    claims.finite(got, AXES)
    claims.dtype(got, dtype)
    nearest = min(wants, key=lambda want: (got.double() - want).abs().max().item())
    claims.close(got, nearest, axes=AXES)
    claims.untouched(x, copy, "x")


def _is_position_wise(ffn, d_model, seed):
    x = draw.normal(seed, 2, 4, d_model)
    changed = x.clone()
    changed[1, 2] = draw.normal(seed + 1, d_model, scale=5.0)
    claims.trying(d_model=d_model)
    kept = torch.ones(2, 4, dtype=torch.bool)
    kept[1, 2] = False
    claims.unmoved(ffn(changed)[kept], ffn(x)[kept], ("position", "channel"))
    alone = ffn(x[1:2, 2:3])
    claims.close(alone[0, 0], ffn(x)[1, 2], axes=("channel",))


@rule(47, "feedforward.FeedForward", d_model=widths, mlp=kinds, seed=draw.seeds)
def the_feed_forward_works_token_by_token(gpt, d_model, mlp, seed):
    """Changing one token does not move the feed-forward of another by one bit."""
    _is_position_wise(_made(gpt, "FeedForward", _small(d_model, mlp=mlp), seed), d_model, seed)


@rule(47, "feedforward.SwiGLU", d_model=widths, seed=draw.seeds)
def swiglu_works_token_by_token(gpt, d_model, seed):
    """Changing one token does not move the SwiGLU of another by one bit."""
    _is_position_wise(_made(gpt, "SwiGLU", _small(d_model, mlp="swiglu"), seed), d_model, seed)


@rule(47, "feedforward.SwiGLU")
def swiglu_costs_what_a_feed_forward_costs(gpt):
    """Three bias-free matrices of width 8 d_model / 3, rounded, unless the config gives d_ff."""
    for d_model, d_ff, bias in itertools.product((6, 8, 10, 64), (None, 13), (True, False)):
        mlp = gpt.feedforward.SwiGLU(
            draw.config(gpt, _small(d_model, d_ff=d_ff, bias=bias, mlp="swiglu"))
        )
        wide = (16 * d_model + 3) // 6 if d_ff is None else d_ff
        claims.trying(d_model=d_model, d_ff=d_ff)
        claims.shape(mlp.w_gate.weight, (wide, d_model))
        claims.shape(mlp.w_up.weight, (wide, d_model))
        claims.shape(mlp.w_down.weight, (d_model, wide))
        claims.equal(sum(p.numel() for p in mlp.parameters()), 3 * d_model * wide, "parameters")


@rule(
    47,
    "feedforward.SwiGLU",
    d_model=widths,
    d_ff=hidden,
    bias=st.booleans(),
    dtype=dtypes,
    seed=draw.seeds,
)
def the_gate_multiplies_what_goes_up(gpt, d_model, d_ff, bias, dtype, seed):
    """(silu(x Wg) * x Wu) Wd: silu stands on the gate."""
    for scale in (2.0, 100.0):  # nothing is cut off
        _gates(gpt, d_model, d_ff, bias, dtype, scale, seed)


def _gates(gpt, d_model, d_ff, bias, dtype, scale, seed):
    mlp = _made(gpt, "SwiGLU", _small(d_model, d_ff=d_ff, bias=bias, mlp="swiglu"), seed, dtype)
    x = draw.normal(seed, 2, 3, d_model, scale=scale, dtype=dtype)
    copy = x.clone()
    w = _values(mlp)
    wide = x.double()
    gate = F.silu(wide @ w["w_gate.weight"].T) * (wide @ w["w_up.weight"].T)
    claims.trying(d_model=d_model)
    got = mlp(x)
    claims.dtype(got, dtype)
    claims.close(got, gate @ w["w_down.weight"].T, axes=AXES)
    claims.untouched(x, copy, "x")


def _drops_out_in_training(gpt, name, keywords, seed):
    x = draw.normal(seed, 2, 5, keywords["d_model"])
    plain = _made(gpt, name, keywords, seed)
    want = plain(x)
    for dropout in (0.2, 0.7):
        claims.trying(dropout=dropout)
        claims.close(plain.train()(x), want, axes=AXES)  # training may take another kernel
        dropping = _made(gpt, name, keywords | {"dropout": dropout}, seed)
        claims.close(dropping.eval()(x), want, axes=AXES)
        claims.finite(dropping.train()(x), AXES)


@rule(47, "feedforward.FeedForward", rank=1, d_model=widths, mlp=kinds, seed=draw.seeds)
def the_feed_forward_drops_out_only_in_training(gpt, d_model, mlp, seed):
    """In eval mode, and at dropout 0, nothing is dropped; in training all stays finite."""
    _drops_out_in_training(gpt, "FeedForward", _small(d_model, mlp=mlp), seed)


@rule(47, "feedforward.SwiGLU", rank=1, d_model=widths, seed=draw.seeds)
def swiglu_drops_out_only_in_training(gpt, d_model, seed):
    """In eval mode, and at dropout 0, nothing is dropped; in training all stays finite."""
    _drops_out_in_training(gpt, "SwiGLU", _small(d_model, mlp="swiglu"), seed)


@rule(
    47,
    "feedforward.FeedForward",
    rank=1,
    d_model=widths,
    bias=st.booleans(),
    seed=draw.seeds,
)
def the_gradient_of_the_feed_forward_is_its_slope(gpt, d_model, bias, seed):
    """Weights, biases and input are told how the output really changes with them."""
    _slope(_made(gpt, "FeedForward", _small(d_model, bias=bias), seed), d_model, seed)
    _slope_dropping(
        _made(gpt, "FeedForward", _small(d_model, bias=bias, dropout=0.4), seed), d_model, seed
    )
    for scale in (1.0, 100.0):
        _relu_passes_on(gpt, d_model, bias, scale, seed)


def _relu_passes_on(gpt, d_model, bias, scale, seed):
    """ReLU has a corner, over which no slope can be measured: its gradient is held to the law's."""
    ffn = _made(gpt, "FeedForward", _small(d_model, bias=bias, mlp="relu"), seed)
    x = draw.normal(seed, 2, 3, d_model, scale=scale).requires_grad_()
    along = draw.normal(seed + 1, 2, 3, d_model) / scale
    got = claims.gradients(ffn(x), {"x": x}, along)["x"]
    w = {name: tensor.detach() for name, tensor in ffn.state_dict().items()}
    hidden = F.relu(x @ w["w1.weight"].T + w.get("w1.bias", 0.0))
    law = hidden @ w["w2.weight"].T + w.get("w2.bias", 0.0)
    claims.close(got, claims.gradients(law, {"x": x}, along)["x"], axes=AXES)


@rule(47, "feedforward.SwiGLU", rank=1, d_model=widths, seed=draw.seeds)
def the_gradient_of_swiglu_is_its_slope(gpt, d_model, seed):
    """All three matrices and the input are told how the output really changes with them."""
    keywords = _small(d_model, mlp="swiglu")
    _slope(_made(gpt, "SwiGLU", keywords, seed), d_model, seed)
    _slope_dropping(_made(gpt, "SwiGLU", keywords | {"dropout": 0.4}, seed), d_model, seed)


def _slope_dropping(module, d_model, seed):
    x = draw.normal(seed, 2, 3, d_model).requires_grad_()
    along = draw.normal(seed + 1, 2, 3, d_model) / 3
    leaves = dict(module.named_parameters()) | {"x": x}
    claims.trying(d_model=d_model)
    claims.slope_with_dropout(
        module, lambda: (module(x) * along).sum(), leaves, draw.generator(seed)
    )


def _slope(module, d_model, seed):
    x = draw.normal(seed, 2, 3, d_model).requires_grad_()
    along = draw.normal(seed + 1, 2, 3, d_model) / 3
    leaves = dict(module.named_parameters()) | {"x": x}
    claims.trying(d_model=d_model)
    claims.slope(lambda: (module(x) * along).sum(), leaves, draw.generator(seed))
    claims.the_same_in_training(module, lambda: (module(x) * along).sum(), leaves)


@rule(47, "block.Block", keywords=draw.configs(), T=st.integers(1, 4), seed=draw.seeds)
def a_block_uses_the_feed_forward_of_its_config(gpt, keywords, T, seed):
    """block.mlp is ReLU, GELU or SwiGLU, of the width that the config names."""
    block = hot_block(gpt, keywords, seed)
    w = _values(block.mlp)
    swiglu = keywords["mlp"] == "swiglu"
    claims.trying(mlp=keywords["mlp"])
    claims.equal("w_gate.weight" in w, swiglu, "is_swiglu")
    claims.equal("w1.weight" in w, not swiglu, "is_feed_forward")
    x = draw.normal(seed, 2, T, keywords["d_model"])
    name = "SwiGLU" if swiglu else "FeedForward"
    own = _made(gpt, name, keywords, seed)
    draw.load(own, lambda key, parameter: w.get(key))
    claims.close(block.mlp(x), own(x), axes=AXES)


@rule(
    47, "block.Block", keywords=draw.configs(), T=st.integers(1, 5), dtype=dtypes, seed=draw.seeds
)
def the_feed_forward_reads_what_attention_wrote(gpt, keywords, T, dtype, seed):
    """First y = x + attn(ln_1(x)), then y + mlp(ln_2(y))."""
    block = hot_block(gpt, keywords, seed, dtype)
    x = draw.normal(seed, 2, T, keywords["d_model"], dtype=dtype)
    copy = x.clone()
    claims.trying(T=T)
    got = block(x)
    claims.dtype(got, dtype)
    y = x + block.attn(block.ln_1(x))
    claims.close(got, y + block.mlp(block.ln_2(y)), axes=AXES)
    claims.untouched(x, copy, "x")


def stream(model, idx, keywords):
    """What enters block 0: token plus position."""
    x = model.wte.weight[idx]
    if keywords["positions"] == "learned":
        x = x + draw.places(model).view(-1, x.size(-1))[: idx.size(1)]
    return x


@rule(
    47,
    "model.GPT",
    rank=2,
    examples=2,
    keywords=draw.configs(),
    dtype=dtypes,
    full=st.booleans(),
    seed=draw.seeds,
)
def every_block_reads_the_block_before(gpt, keywords, dtype, full, seed):
    """The logits are lm_head(ln_f(...)) of all blocks, one after the other."""
    for sizes in (
        {},
        {"n_layer": 1},
        {"n_layer": 13},
        LEAST,
        LEAST | {"vocab_size": 70000, "block_size": 9},  # more than 16 bits count
    ):
        _in_order(gpt, keywords | sizes, dtype, full, seed)


def _in_order(gpt, keywords, dtype, full, seed):
    model = draw.model(gpt, keywords, seed, dtype)
    T = keywords["block_size"] if full else min(3, keywords["block_size"])
    idx = draw.tokens(seed, 2, T, keywords["vocab_size"])
    claims.trying(n_layer=keywords["n_layer"], T=T)
    claims.equal(len(model.blocks), keywords["n_layer"], "block_count")
    x = stream(model, idx, keywords)
    for block in model.blocks:
        x = block(x)
    want = model.lm_head(model.ln_f(x))
    claims.close(model(idx), want, claims.DEEP_ROUNDING, ("batch", "position", "logit"))


@rule(47, "model.GPT", keywords=draw.configs(), seed=draw.seeds)
def every_block_has_its_own_parameters(gpt, keywords, seed):
    """n_layer blocks share no tensor and start with different numbers; two models share none."""
    model, other = (gpt.model.GPT(draw.config(gpt, keywords)) for _ in range(2))
    claims.trying(n_layer=keywords["n_layer"])
    registered = {id(parameter) for parameter in model.parameters()}
    for block in model.blocks:
        for name, parameter in block.named_parameters():
            claims.is_true(id(parameter) in registered, "unregistered", "registered", name=name)
    seen = {}
    for owner, module in [*enumerate(model.blocks), ("other", other)]:
        for parameter in module.parameters():
            claims.is_true(
                seen.setdefault(parameter.data_ptr(), owner) == owner,
                "shared",
                "not_shared",
                what="blocks",
            )
    first, rest = dict(model.blocks[0].named_parameters()), list(model.blocks)[1:]
    # numbers that are all alike were set, not drawn: a bias may be kept as a matrix of zeros
    matrices = [name for name, p in first.items() if p.dim() >= 2 and p.min() < p.max()]
    for name in matrices:
        for block in rest:
            same = torch.equal(first[name], block.get_parameter(name))
            claims.is_true(not same, "alike", "not_alike", name=name)


@rule(47, "model.GPT", rank=2, keywords=draw.configs(bias=False), seed=draw.seeds)
def every_parameter_learns(gpt, keywords, seed):
    """The loss has a finite gradient, other than 0, for every tensor of the model."""
    model = draw.model(gpt, keywords, seed)
    idx = draw.tokens(seed, 3, keywords["block_size"], keywords["vocab_size"])
    claims.trying(tensors=len(list(model.parameters())))
    claims.all_learn(model, model(idx), draw.generator(seed))


@rule(47, "ledger.parameter_ledger", examples=2, keywords=draw.configs())
def the_ledger_counts_the_real_model(gpt, keywords):
    """Disjoint lines by member path, a tied head 0, that sum to what the model holds."""
    wide = {"d_model": 10 * keywords["n_head"], "n_layer": 1, "d_ff": None}
    choices = {
        "mlp": ("swiglu", "gelu", "relu"),
        "bias": (True, False),
        "tied": (True, False),
        "norm": ("layernorm", "rmsnorm"),
        "positions": ("learned", "rotary"),
        "d_ff": (None, 7),
    }
    _counted(gpt, keywords)
    for values in itertools.product(*choices.values()):
        _counted(gpt, keywords | wide | dict(zip(choices, values)))


def _counted(gpt, keywords):
    claims.trying(tied=keywords["tied"], mlp=keywords["mlp"], bias=keywords["bias"])
    config = draw.config(gpt, keywords)
    model = gpt.model.GPT(config)
    lines = gpt.ledger.parameter_ledger(config)
    total = gpt.ledger.total_parameters(config)
    real = sum(parameter.numel() for parameter in model.parameters())
    claims.equal(total, real, "total_parameters")
    claims.equal(sum(lines.values()), real, "ledger_sum")
    members = dict(model.named_modules(remove_duplicate=False)) | dict(
        model.named_parameters(remove_duplicate=False)
    )
    for path, count in lines.items():
        if count == 0 and path == "wpe" and path not in members:
            continue  # said to be 0
        claims.is_true(path in members, "no_member", "member", name=path)
        member = members[path]
        own = member.numel() if isinstance(member, torch.Tensor) else _numel(member)
        if path.startswith("lm_head") and keywords["tied"]:
            own = 0
        claims.equal(count, own, path)


def _numel(module):
    return sum(parameter.numel() for parameter in module.parameters())


@rule(
    47,
    "ledger.forward_flops_per_token",
    examples=8,
    keywords=draw.configs(),
    T=st.integers(1, 2000),
)
def flops_are_two_per_multiply_add(gpt, keywords, T):
    """2 FLOPs a weight and token, 4 T d_model a block for the scores, the head included."""
    # at a d_model of 16 the gated width is rounded up, at 8 down
    choices = itertools.product(("gelu", "relu", "swiglu"), (None, 11), (16, 8), (1, 2))
    for mlp, d_ff, d_model, n_head in choices:
        sizes = {"n_head": n_head, "d_model": d_model}
        _flops(gpt, keywords | sizes | {"mlp": mlp, "d_ff": d_ff}, T)


def _flops(gpt, keywords, T):
    d_model, d_ff = keywords["d_model"], keywords["d_ff"]
    swiglu = keywords["mlp"] == "swiglu"
    if d_ff is None:
        d_ff = (16 * d_model + 3) // 6 if swiglu else 4 * d_model
    block = 2 * (4 * d_model**2 + (3 if swiglu else 2) * d_model * d_ff) + 4 * T * d_model
    want = keywords["n_layer"] * block + 2 * d_model * keywords["vocab_size"]
    claims.trying(T=T, mlp=keywords["mlp"])
    got = gpt.ledger.forward_flops_per_token(draw.config(gpt, keywords), T)
    claims.is_true(
        math.isclose(got, want, rel_tol=1e-9),
        "is",
        "should_be",
        what="flops",
        found=got,
        wanted=want,
    )


@rule(
    49,
    "ledger.batch_bytes",
    B=st.integers(1, 64),
    T=st.integers(1, 1024),
    dtype=st.sampled_from([torch.int64, torch.int32, torch.int16, torch.uint8]),
)
def a_batch_is_two_tensors_of_tokens(gpt, B, T, dtype):
    """x and y together take 2 B T times the bytes of one token."""
    size = torch.empty(0, dtype=dtype).element_size()
    claims.trying(B=B, T=T, dtype=str(dtype).removeprefix("torch."))
    claims.equal(gpt.ledger.batch_bytes(B, T, dtype), 2 * B * T * size, "bytes")
