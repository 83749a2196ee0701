"""Day 46: norms, and a residual stream that nothing stands in the way of."""

import itertools

import torch
from hypothesis import strategies as st

from tests import strategies as draw

from . import claims
from .engine import rule

shapes = st.sampled_from([(2, 3), (4,), ()])
widths = st.sampled_from([8, 5, 16, 3])
# Variances from a tenth of eps to far above it: eps counts for the small ones.
scales = (1.0, 3.0, 3e-3, 1e-3, 100.0)
epsilons = (1e-5, 1e-2, 1e-6)
AXES = ("batch", "position", "channel")


def _axes(lead):
    return AXES[2 - len(lead) :]


def _root(x, eps):
    return x / torch.sqrt(x.square().mean(-1, keepdim=True) + eps)


def _right(kind, x, eps):
    """The norm's law, without gain and bias."""
    return _root(x - x.mean(-1, keepdim=True), eps) if kind == "LayerNorm" else _root(x, eps)


def _norm(gpt, kind, d_model, *rest, dtype=torch.float64, seed=None, **more):
    norm = getattr(gpt.normalization, kind)(d_model, *rest, **more).to(dtype)
    return norm if seed is None else draw.heat(norm, seed)


def _has_unit_scale(gpt, kind, lead, d_model, seed):
    for dtype, scale in itertools.product(draw.wide_dtypes, scales):
        x = draw.normal(seed, *lead, d_model, scale=scale, dtype=dtype) + scale
        for eps in epsilons:
            claims.trying(d_model=d_model, scale=scale, eps=eps)
            want = _right(kind, x.double(), eps)
            made = [((eps,), {}), ((), {"eps": eps})] + ([((), {})] if eps == 1e-5 else [])
            for given, named in made:
                norm = _norm(gpt, kind, d_model, *given, dtype=dtype, **named)
                claims.close(norm(x), want, axes=_axes(lead))


@rule(46, "normalization.LayerNorm", examples=3, lead=shapes, d_model=widths, seed=draw.seeds)
def each_token_gets_mean_zero_and_variance_one(gpt, lead, d_model, seed):
    """A fresh LayerNorm gives (x - mean) / sqrt(variance + eps), the variance over d_model."""
    _has_unit_scale(gpt, "LayerNorm", lead, d_model, seed)


@rule(46, "normalization.RMSNorm", examples=3, lead=shapes, d_model=widths, seed=draw.seeds)
def each_token_gets_root_mean_square_one(gpt, lead, d_model, seed):
    """A fresh RMSNorm gives x / sqrt(mean of x^2 + eps): no mean is taken away."""
    _has_unit_scale(gpt, "RMSNorm", lead, d_model, seed)


def _with_gain(norm, kind, x, y, eps=1e-5):
    """The law with the norm's own gain and bias; stored as w or as w - 1, whichever y speaks for.

    A gain used as 1 + w and started at 0 is the same function of another number (Gemma's way).
    """
    numbers = {name: p.double() for name, p in norm.named_parameters()}
    root, bias = _right(kind, x, eps), numbers.get("bias", 0.0)
    forms = [root * gain + bias for gain in (numbers["weight"], 1 + numbers["weight"])]
    return min(forms, key=lambda form: (form - y).detach().abs().nan_to_num().sum().item())


def _applies_gain_once(gpt, kind, d_model, dtype, seed, **more):
    norm = _norm(gpt, kind, d_model, dtype=dtype, **more)
    names = dict(norm.named_parameters())
    wanted = {"weight", "bias"} if kind == "LayerNorm" and more.get("bias", True) else {"weight"}
    claims.equal(sorted(names), sorted(wanted), "norm_parameters")
    for parameter in names.values():
        claims.shape(parameter, (d_model,))
    x = draw.normal(seed + 2, 2, 3, d_model, dtype=dtype, scale=2.0)
    claims.trying(d_model=d_model)
    claims.close(norm(x), _right(kind, x.double(), 1e-5), axes=AXES)
    gain, bias = 1 + draw.normal(seed, d_model), draw.normal(seed + 1, d_model)
    draw.load(norm, lambda name, parameter: gain if name == "weight" else bias)
    y = norm(x)
    claims.shape(y, x.shape)
    claims.close(y, _with_gain(norm, kind, x.double(), y), axes=AXES)


@rule(
    46,
    "normalization.LayerNorm",
    d_model=widths,
    bias=st.booleans(),
    dtype=draw.float_dtypes,
    seed=draw.seeds,
)
def layer_norm_ends_with_gain_and_bias(gpt, d_model, bias, dtype, seed):
    """Gain (first 1) and bias (first 0, or absent) act channel by channel, after the division."""
    _applies_gain_once(gpt, "LayerNorm", d_model, dtype, seed, bias=bias)
    if bias:
        claims.equal(len(dict(_norm(gpt, "LayerNorm", 4).named_parameters())), 2, "norm_parameters")


@rule(46, "normalization.RMSNorm", d_model=widths, dtype=draw.float_dtypes, seed=draw.seeds)
def rms_norm_ends_with_a_gain(gpt, d_model, dtype, seed):
    """The gain (first 1) acts channel by channel, after the division; there is no bias."""
    _applies_gain_once(gpt, "RMSNorm", d_model, dtype, seed)


def _is_local(gpt, kind, d_model, seed):
    norm = _norm(gpt, kind, d_model, seed=seed)
    x = draw.normal(seed, 2, 4, d_model)
    changed = x.clone()
    changed[1, 2] = draw.normal(seed + 1, d_model, scale=10.0)
    claims.trying(d_model=d_model)
    before, after = norm(x), norm(changed)
    kept = torch.ones(2, 4, dtype=torch.bool)
    kept[1, 2] = False
    claims.unmoved(after[kept], before[kept], ("position", "channel"))


@rule(46, "normalization.LayerNorm", d_model=widths, seed=draw.seeds)
def layer_norm_looks_at_one_token(gpt, d_model, seed):
    """Changing one token does not move the LayerNorm of another by one bit."""
    _is_local(gpt, "LayerNorm", d_model, seed)


@rule(46, "normalization.RMSNorm", d_model=widths, seed=draw.seeds)
def rms_norm_looks_at_one_token(gpt, d_model, seed):
    """Changing one token does not move the RMSNorm of another by one bit."""
    _is_local(gpt, "RMSNorm", d_model, seed)


def _survives_constants(gpt, kind, d_model, value, dtype, seed):
    """value is exactly representable: the mean of equal 0.1s is not quite 0.1."""
    norm = _norm(gpt, kind, d_model, dtype=dtype, seed=seed)
    x = torch.full((2, 3, d_model), value, dtype=dtype).requires_grad_()
    claims.trying(value=value, d_model=d_model)
    y = norm(x)
    claims.finite(y, AXES)
    along = draw.normal(seed, 2, 3, d_model, dtype=dtype)
    claims.finite(claims.gradients(y, {"x": x}, along)["x"], AXES)
    return norm, y


@rule(
    46,
    "normalization.LayerNorm",
    rank=1,
    d_model=widths,
    value=st.sampled_from([3.0, 0.0, -2.0]),
    dtype=draw.float_dtypes,
    seed=draw.seeds,
)
def a_constant_token_stays_finite(gpt, d_model, value, dtype, seed):
    """A token without variance gives the bias, with a finite gradient."""
    norm, y = _survives_constants(gpt, "LayerNorm", d_model, value, dtype, seed)
    bias = dict(norm.named_parameters())["bias"].detach()
    # a mean that is one bit of float32 off is 1e-7 of the value, over sqrt(eps): times 316
    claims.close(y, bias.expand(2, 3, d_model), 10 * claims.ROUNDING, AXES)
    for i in range(20):  # no such mean is exact: a variance below 0 would have no root
        _survives_constants(gpt, "LayerNorm", d_model, 1000.1 + 0.37 * i, torch.float32, seed)


@rule(
    46,
    "normalization.RMSNorm",
    rank=1,
    d_model=widths,
    value=st.sampled_from([0.0, 3.0, -2.0]),
    dtype=draw.float_dtypes,
    seed=draw.seeds,
)
def a_zero_token_stays_finite(gpt, d_model, value, dtype, seed):
    """A token of zeros gives zeros, with a finite gradient; a constant one gives the gain."""
    norm, y = _survives_constants(gpt, "RMSNorm", d_model, value, dtype, seed)
    x = torch.full((2, 3, d_model), value, dtype=torch.float64)
    claims.close(y, _with_gain(norm, "RMSNorm", x, y), axes=AXES)


def _keeps_input_and_dtype(gpt, kind, dtype, scale, seed):
    norm = _norm(gpt, kind, 8, dtype=dtype, seed=seed)
    x = (draw.normal(seed, 2, 3, 8) * scale).to(dtype)
    copy = x.clone()
    claims.trying(dtype=str(dtype).removeprefix("torch."), scale=scale)
    y = claims.answers(lambda: norm(x), "normalization")
    claims.dtype(y, dtype)
    claims.untouched(x, copy, "x")
    claims.shape(y, x.shape)
    want = _with_gain(norm, kind, x.double(), y)
    tolerance = {torch.float16: claims.HALF, torch.bfloat16: claims.BFLOAT}
    claims.close(y, want, tolerance.get(dtype, claims.ROUNDING), AXES)


every_dtype = (torch.float16, torch.float32, torch.bfloat16, torch.float64)


@rule(46, "normalization.LayerNorm", examples=2, seed=draw.seeds)
def layer_norm_keeps_input_and_dtype(gpt, seed):
    """LayerNorm returns the dtype it was given and does not write to its input."""
    for dtype, scale in itertools.product(every_dtype, (1.0, 3.0)):
        _keeps_input_and_dtype(gpt, "LayerNorm", dtype, scale, seed)


@rule(46, "normalization.RMSNorm", examples=2, seed=draw.seeds)
def rms_norm_computes_in_float32_at_least(gpt, seed):
    """Squares of half-precision numbers are taken in float32; dtype and input are kept."""
    for dtype, scale in itertools.product(every_dtype, (1.0, 1000.0, 1e-3)):
        _keeps_input_and_dtype(gpt, "RMSNorm", dtype, scale, seed)


def _passes_gradient(gpt, kind, lead, d_model, scale, seed):
    norm = _norm(gpt, kind, d_model, seed=seed)
    x = (draw.normal(seed, *lead, d_model) * scale).requires_grad_()
    along = draw.normal(seed + 1, *lead, d_model)
    leaves = {"x": x} | dict(norm.named_parameters())
    claims.trying(d_model=d_model, scale=scale)
    y = norm(x)
    claims.shape(y, x.shape)
    right = claims.gradients(_with_gain(norm, kind, x, y), leaves, along)
    for name, gradient in claims.gradients(y, leaves, along).items():
        # statistics in float32 leave rounding of the size of the gradient's largest part
        claims.close(gradient, right[name], 10 * claims.ROUNDING)


@rule(
    46,
    "normalization.LayerNorm",
    lead=shapes,
    d_model=widths,
    scale=st.sampled_from([1.0, 0.1]),
    seed=draw.seeds,
)
def layer_norm_passes_the_gradient_on(gpt, lead, d_model, scale, seed):
    """The gradient runs through mean and variance too."""
    _passes_gradient(gpt, "LayerNorm", lead, d_model, scale, seed)


@rule(
    46,
    "normalization.RMSNorm",
    lead=shapes,
    d_model=widths,
    scale=st.sampled_from([1.0, 0.1]),
    seed=draw.seeds,
)
def rms_norm_passes_the_gradient_on(gpt, lead, d_model, scale, seed):
    """The gradient runs through the root mean square too."""
    _passes_gradient(gpt, "RMSNorm", lead, d_model, scale, seed)


WRITERS = ("out_proj.weight", "out_proj.bias", "w2.weight", "w2.bias", "w_down.weight")


def silence(module, only=""):
    """Zero what the sub-layers write to the stream (those whose name holds ``only``)."""

    def zero(name, parameter):
        return torch.zeros(parameter.shape) if name.endswith(WRITERS) and only in name else None

    return draw.load(module, zero)


def hot_block(gpt, keywords, seed, dtype=torch.float64):
    """A hot Block in eval mode."""
    return draw.heat(gpt.block.Block(draw.config(gpt, keywords)).to(dtype), seed).eval()


@rule(
    46,
    "block.Block",
    keywords=draw.configs(),
    training=st.booleans(),
    T=st.integers(1, 5),
    dtype=draw.float_dtypes,
    seed=draw.seeds,
)
def the_residual_path_is_the_identity(gpt, keywords, training, T, dtype, seed):
    """When both sub-layers write nothing, a block passes its input on, bit for bit."""
    keywords = keywords | {"dropout": 0.5 if training else 0.0}
    block = silence(hot_block(gpt, keywords, seed, dtype)).train(training)
    x = draw.normal(seed, 2, T, keywords["d_model"], dtype=dtype).requires_grad_()
    copy = x.detach().clone()
    claims.trying(T=T)
    y = block(x)
    claims.unmoved(y, copy, AXES)
    claims.untouched(x.detach(), copy, "x")
    along = draw.normal(seed + 1, 2, T, keywords["d_model"], dtype=dtype)
    claims.unmoved(claims.gradients(y, {"x": x}, along)["x"], along, AXES)


@rule(46, "block.Block", keywords=draw.configs(), T=st.integers(1, 5), seed=draw.seeds)
def attention_reads_the_normalised_stream(gpt, keywords, T, seed):
    """With a silent feed-forward, a block adds attn(ln_1(x)) to x."""
    block = silence(hot_block(gpt, keywords, seed), "mlp.")
    x = draw.normal(seed, 2, T, keywords["d_model"], scale=3.0)
    claims.trying(T=T)
    claims.close(block(x), x + block.attn(block.ln_1(x)), axes=AXES)


@rule(46, "block.Block", keywords=draw.configs(), T=st.integers(1, 5), seed=draw.seeds)
def the_feed_forward_reads_the_normalised_stream(gpt, keywords, T, seed):
    """With silent attention, a block adds mlp(ln_2(x)) to x."""
    block = silence(hot_block(gpt, keywords, seed), "attn.")
    x = draw.normal(seed, 2, T, keywords["d_model"], scale=3.0)
    claims.trying(T=T)
    claims.close(block(x), x + block.mlp(block.ln_2(x)), axes=AXES)


@rule(46, "block.Block", rank=1, examples=3, keywords=draw.configs(), seed=draw.seeds)
def the_gradient_of_a_block_is_its_slope(gpt, keywords, seed):
    """The input and every tensor of a block are told how the output really changes with them."""
    block = hot_block(gpt, keywords | {"mlp": keywords["mlp"].replace("relu", "gelu")}, seed)
    x = draw.normal(seed, 2, 3, keywords["d_model"]).requires_grad_()
    along = draw.normal(seed + 1, 2, 3, keywords["d_model"]) / 10
    claims.trying(d_model=keywords["d_model"])
    leaves = dict(block.named_parameters()) | {"x": x}
    claims.slope(lambda: (block(x) * along).sum(), leaves, draw.generator(seed))
    claims.the_same_in_training(block, lambda: (block(x) * along).sum(), leaves)
    smooth = keywords | {"mlp": keywords["mlp"].replace("relu", "gelu"), "dropout": 0.4}
    dropping = hot_block(gpt, smooth, seed)
    leaves = dict(dropping.named_parameters()) | {"x": x}
    claims.slope_with_dropout(
        dropping, lambda: (dropping(x) * along).sum(), leaves, draw.generator(seed)
    )


@rule(46, "block.Block", keywords=draw.configs(), dtype=draw.float_dtypes, seed=draw.seeds)
def a_block_uses_the_norm_of_its_config(gpt, keywords, dtype, seed):
    """ln_1 and ln_2 are two norms of the kind that the config names."""
    block = gpt.block.Block(draw.config(gpt, keywords)).to(dtype)
    kind = {"layernorm": "LayerNorm", "rmsnorm": "RMSNorm"}[keywords["norm"]]
    x = draw.normal(seed, 2, 3, keywords["d_model"], dtype=dtype, scale=2.0) + 1
    claims.trying(norm=keywords["norm"])
    for name in ("ln_1", "ln_2"):
        norm = getattr(block, name)
        claims.close(norm(x), _right(kind, x.double(), 1e-5), axes=AXES)
        found = sorted(parameter for parameter, _ in norm.named_parameters())
        claims.equal(
            found, ["bias", "weight"] if kind == "LayerNorm" else ["weight"], "norm_parameters"
        )
    claims.is_true(block.ln_1 is not block.ln_2, "shared", "not_shared", what="norms")


@rule(
    46,
    "model.GPT",
    rank=1,
    keywords=draw.configs(tied=False),
    dtype=draw.float_dtypes,
    seed=draw.seeds,
)
def the_head_reads_a_normalised_stream(gpt, keywords, dtype, seed):
    """Ten times the stream after the last block gives the same logits: ln_f normalises it."""
    model = silence(draw.model(gpt, keywords, seed, dtype))
    idx = draw.tokens(seed, 2, 4, keywords["vocab_size"])
    claims.trying(factor=10)
    before = model(idx)
    tables = {id(p) for p in (model.wte.weight, draw.places(model)) if p is not None}
    after = draw.load(model, lambda _, p: 10 * p.detach() if id(p) in tables else None)(idx)
    # a token whose variance is 1e-3 by chance feels eps by 1 %; without the norm, by a factor of 10
    claims.close(after, before, 1e-2, ("batch", "position", "logit"))
    kind = {"layernorm": "LayerNorm", "rmsnorm": "RMSNorm"}[keywords["norm"]]
    fresh = gpt.model.GPT(draw.config(gpt, keywords)).to(dtype).ln_f
    x = draw.normal(seed, 2, 3, keywords["d_model"], dtype=dtype, scale=2.0) + 1
    claims.close(fresh(x), _right(kind, x.double(), 1e-5), axes=AXES)


@rule(46, "block.Block", rank=1, examples=3, keywords=draw.configs(), seed=draw.seeds)
def a_block_in_half_precision_is_nearly_exact(gpt, keywords, seed):
    """A block in 16 bits, and both of its sub-layers, compute what they do in 64 bits, rounded."""
    config = draw.config(gpt, keywords)
    for dtype, tolerance in ((torch.float16, claims.HALF), (torch.bfloat16, claims.BFLOAT)):
        narrow = draw.heat(gpt.block.Block(config).to(dtype), seed).eval()
        wide = gpt.block.Block(config).double().eval()
        wide.load_state_dict(narrow.state_dict())
        x = draw.normal(seed, 2, 5, keywords["d_model"], dtype=dtype)
        claims.trying(dtype=str(dtype).removeprefix("torch."))
        for name in ("attn", "mlp", ""):
            half, full = narrow.get_submodule(name), wide.get_submodule(name)
            got = claims.answers(lambda half=half, x=x: half(x), "model")
            claims.dtype(got, dtype)
            # some roundings one after the other, where a sum of a few dozen has one
            claims.close(got, full(x.double()), 2 * tolerance, AXES)
