"""Day 45: a stable softmax, and heads that each do their own work."""

import itertools

import torch
from hypothesis import strategies as st
from torch.nn import functional as F

from tests import strategies as draw

from . import claims
from .day43 import _heads, axes, leads, lengths, qkv, with_identity
from .engine import rule

every_dtype = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
shapes = st.sampled_from([(2, 3, 5), (4, 3), (2, 3, 4, 5), (6,)])


@rule(45, "attention.softmax", shape=shapes, axis=st.integers(-4, 3), seed=draw.seeds)
def softmax_turns_scores_into_shares(gpt, shape, axis, seed):
    """Shares are exp(score) over the sum of exp(score), along the axis asked for."""
    dim = max(-len(shape), min(axis, len(shape) - 1))
    x = draw.normal(seed, *shape, scale=3.0)
    claims.trying(shape=shape, dim=dim)
    claims.close(gpt.attention.softmax(x, dim), x.exp() / x.exp().sum(dim, keepdim=True))
    claims.close(gpt.attention.softmax(x, dim=dim), torch.softmax(x, dim))
    claims.close(gpt.attention.softmax(x), torch.softmax(x, -1))


@rule(45, "attention.softmax", examples=2, seed=draw.seeds)
def softmax_survives_any_score(gpt, seed):
    """Large scores, scores far below 0, rows far apart and hidden keys give finite shares."""
    scores = torch.randint(-4, 5, (3, 4, 5), generator=draw.generator(seed)).to(torch.float64)
    offsets, gaps = (0.0, 3e4, -3e4, 1e2, -1e2), (0.0, 2e4)
    for dtype, offset, gap, hole in itertools.product(every_dtype, offsets, gaps, (False, True)):
        x = scores + offset + torch.tensor([0.0, gap, -gap])[:, None, None]
        if hole:
            x[..., seed % 5] = -torch.inf
        _survives(gpt, x.to(dtype), offset == gap == 0, seed % 5 if hole else None)


def _survives(gpt, x, small, hole):
    low, high = x[x.isfinite()].min().item(), x.max().item()
    claims.trying(lowest=low, highest=high, dtype=_word(x.dtype))
    got = gpt.attention.softmax(x)
    claims.dtype(got, x.dtype)
    claims.finite(got)
    # 16 bits know a number near 100 to 0.06 or 0.5, and so its exponential: there, only finite
    if small or x.dtype in draw.wide_dtypes:
        tolerance = {torch.float16: claims.HALF, torch.bfloat16: claims.BFLOAT}
        want = torch.softmax(x.double(), -1)
        claims.close(got, want, tolerance.get(x.dtype, claims.ROUNDING))
    if hole is not None:
        claims.unmoved(got[..., hole], torch.zeros_like(got[..., hole]))


@rule(45, "attention.softmax", examples=2, seed=draw.seeds)
def softmax_leaves_its_input_alone(gpt, seed):
    """The scores still stand after the call."""
    for dtype in every_dtype:
        x = draw.normal(seed, 3, 4, 5, dtype=dtype)
        copy = x.clone()
        claims.trying(dtype=_word(dtype))
        first = gpt.attention.softmax(x)
        claims.untouched(x, copy, "scores")
        claims.unmoved(gpt.attention.softmax(x), first)


@rule(45, "attention.softmax", scale=st.sampled_from([1.0, 30.0]), seed=draw.seeds)
def softmax_passes_the_gradient_on(gpt, scale, seed):
    """The gradient of a share p_i by a score z_j is p_i ([i = j] - p_j)."""
    x = draw.normal(seed, 3, 4, 5, scale=scale).requires_grad_()
    along = draw.normal(seed + 1, 3, 4, 5)
    claims.trying(scale=scale)
    found = claims.gradients(gpt.attention.softmax(x), {"scores": x}, along)["scores"]
    p = torch.softmax(x.detach(), -1)
    claims.close(found, p * (along - (p * along).sum(-1, keepdim=True)))
    turned = gpt.attention.softmax(x.mT, -2).mT  # along another axis, of numbers that lie otherwise
    found = claims.gradients(turned, {"scores": x}, along)["scores"]
    claims.close(found, p * (along - (p * along).sum(-1, keepdim=True)))
    claims.close(gpt.attention.softmax(x.mT), x.detach().mT.softmax(-1))


@rule(
    45,
    "attention.attention",
    rank=1,
    lead=leads,
    T=lengths,
    scale=st.sampled_from([1.0, 30.0, 1000.0]),
    seed=draw.seeds,
)
def large_scores_stay_finite(gpt, lead, T, scale, seed):
    """Saturated attention picks one value; it does not overflow, forward or backward."""
    leaves = qkv(seed, lead, T, 8, dtype=torch.float32)
    q, k, v = (leaves[0] * scale).requires_grad_(), leaves[1].requires_grad_(), leaves[2]
    claims.trying(T=T, scale=scale)
    got = gpt.attention.attention(q, k, v)
    claims.finite(got, axes(got))
    for gradient in claims.gradients(got, {"q": q, "k": k}, got.detach()).values():
        claims.finite(gradient, axes(got))


@rule(45, "attention.attention", rank=1, examples=3, lead=leads, T=lengths, seed=draw.seeds)
def half_precision_stays_half_and_finite(gpt, lead, T, seed):
    """In 16 bits attention keeps the dtype, stays finite and is right to the dtype's digits."""
    wide = qkv(seed, lead, T, 8, scale=0.7)
    tolerances = {torch.float16: claims.HALF, torch.bfloat16: claims.BFLOAT}
    for dtype, tolerance in tolerances.items():
        q, k, v = (x.clamp(-2, 2).to(dtype) for x in wide)
        want = F.scaled_dot_product_attention(*(x.double() for x in (q, k, v)), is_causal=True)
        for mask in (None, torch.ones(T, T, dtype=torch.bool).triu(1)):
            claims.trying(T=T, dtype=_word(dtype))
            got = _attended(gpt, q, k, v, mask)
            claims.dtype(got, dtype)
            claims.close(got, want, tolerance, axes(want))
            claims.finite(_attended(gpt, q * 16, k, v, mask), axes(want))


def _attended(gpt, *qkv_and_mask):
    return claims.answers(lambda: gpt.attention.attention(*qkv_and_mask), "attention")


def _word(dtype):
    return str(dtype).removeprefix("torch.")


@rule(
    45,
    "attention.MultiHeadAttention",
    keywords=draw.configs(),
    T=st.integers(1, 5),
    B=st.integers(1, 3),
    dtype=draw.float_dtypes,
    seed=draw.seeds,
)
def heads_keep_shape_and_input(gpt, keywords, T, B, dtype, seed):
    """(B, T, d_model) goes to the same shape and dtype, and the input is not written to."""
    heads = gpt.attention.MultiHeadAttention(draw.config(gpt, keywords)).to(dtype)
    draw.heat(heads, seed).eval()
    x = draw.normal(seed, B, T, keywords["d_model"], dtype=dtype)
    copy = x.clone()
    claims.trying(B=B, T=T, d_model=keywords["d_model"])
    got = heads(x)
    claims.shape(got, x.shape)
    claims.dtype(got, dtype)
    claims.finite(got, ("batch", "position", "channel"))
    claims.untouched(x, copy, "x")
    claims.unmoved(heads(x), got, ("batch", "position", "channel"))
    first = heads(x[:, :1])
    with torch.no_grad():  # the whole, then its first token: nothing is kept from call to call
        claims.close(heads(x), got, axes=("batch", "position", "channel"))
        claims.close(heads(x[:, :1]), first, axes=("batch", "position", "channel"))
        claims.untouched(x, copy, "x")


@rule(45, "attention.MultiHeadAttention", keywords=draw.configs())
def attention_holds_four_square_matrices(gpt, keywords):
    """Queries, keys, values and output: 4 d_model^2 weights, and 4 d_model biases or none."""
    heads = gpt.attention.MultiHeadAttention(draw.config(gpt, keywords))
    d_model, bias = keywords["d_model"], keywords["bias"]
    claims.trying(d_model=d_model, bias=bias)
    count = sum(p.numel() for p in heads.parameters())
    claims.equal(count, 4 * d_model**2 + (4 * d_model if bias else 0), "parameters")


def _single_and_pair(gpt, n_head, d_k, bias, seed, B=8):
    """Heads whose output is their concatenated values, and B pairs of tokens."""
    heads = with_identity(_heads(gpt, seed, n_head=n_head, d_k=d_k, bias=bias))
    x = draw.normal(seed, B, 2, n_head * d_k)
    return heads, x


def _share(heads, x):
    """What each channel of token 1 takes from token 0, (B, d_model), NaN where it cannot be told.

    A token alone attends to itself, so its output is its value: with two tokens the output is a
    blend of the two values in a proportion that belongs to the channel's head.
    """
    value_0 = heads(x[:, :1].contiguous())[:, 0]
    value_1 = heads(x[:, 1:].contiguous())[:, 0]
    gap = value_0 - value_1
    share = (heads(x)[:, 1] - value_1) / gap
    return share.masked_fill(gap.abs() < 0.05, torch.nan)


@rule(
    45,
    "attention.MultiHeadAttention",
    n_head=st.sampled_from([2, 3, 4]),
    d_k=st.sampled_from([4, 2, 6]),
    bias=st.booleans(),
    seed=draw.seeds,
)
def each_head_has_its_own_attention(gpt, n_head, d_k, bias, seed):
    """The channels fall into n_head groups of d_k that blend the tokens in one proportion."""
    _heads_apart(gpt, n_head, d_k, bias, seed)
    _heads_apart(gpt, 6, 2, bias, seed)


def _heads_apart(gpt, n_head, d_k, bias, seed):
    heads, x = _single_and_pair(gpt, n_head, d_k, bias, seed)
    claims.trying(n_head=n_head, d_k=d_k)
    share = _share(heads, x)  # (B, d_model)
    inside = share.nan_to_num(0.5)
    claims.between(inside.min().item(), -1e-3, 1.001, "share")
    claims.between(inside.max().item(), -1e-3, 1.001, "share")
    # equal heads differ by rounding over a gap of 0.05; different heads by some percent
    apart = (share[:, :, None] - share[:, None, :]).abs().nan_to_num(0.0).amax(0)  # (d, d)
    alike = apart < 1e-3
    sizes = sorted(alike.sum(1).tolist())
    claims.is_true(
        sizes == [d_k] * (n_head * d_k),
        "head_groups",
        "head_groups",
        sizes=sorted({int(size) for size in sizes}),
        n_head=n_head,
        d_k=d_k,
    )


@rule(
    45,
    "attention.MultiHeadAttention",
    n_head=st.sampled_from([2, 3]),
    d_k=st.sampled_from([4, 2]),
    bias=st.booleans(),
    T=st.integers(3, 6),
    seed=draw.seeds,
)
def many_tokens_blend_as_their_pairs_do(gpt, n_head, d_k, bias, T, seed):
    """The odds between two tokens do not depend on what else is visible."""
    heads = with_identity(_heads(gpt, seed, n_head=n_head, d_k=d_k, bias=bias))
    x = draw.normal(seed, 2, T, n_head * d_k)
    values = heads(x.reshape(2 * T, 1, -1)).reshape(2, T, -1)  # (B, T, d_model)
    got = heads(x)
    claims.trying(T=T, n_head=n_head)
    claims.finite(got, ("batch", "position", "channel"))
    t = T - 1
    odds, most = [], torch.zeros_like(values[:, t])
    for s in range(t):
        pair = heads(torch.stack((x[:, s], x[:, t]), dim=1))[:, 1]
        share = (pair - values[:, t]) / (values[:, s] - values[:, t])
        odds.append(share.clamp(1e-6, 1 - 1e-6).logit())
        most = torch.maximum(most, share)
    weights = torch.stack([*odds, torch.zeros_like(odds[0])], dim=1).softmax(1)
    gap = (values[:, :t] - values[:, t:]).abs().amin(1)  # a channel that can tell the tokens apart
    told = (gap > 0.02) & (most < 0.99)  # a share of nearly 1 does not tell its odds
    want = (weights * values).sum(1)
    # the share is known to rounding over the gap, hence 1e-3
    difference = ((got[:, t] - want).abs() * told).max().item()
    claims.is_true(
        difference <= 1e-3 * max(1.0, want.abs().max().item()),
        "blend_differs",
        "blend_same",
        difference=difference,
    )


@rule(
    45,
    "attention.MultiHeadAttention",
    n_head=st.sampled_from([2, 3]),
    d_k=st.sampled_from([4, 2]),
    bias=st.booleans(),
    seed=draw.seeds,
)
def queries_keys_and_values_are_linear(gpt, n_head, d_k, bias, seed):
    """Between two tokens, values and log-odds lie on a straight line."""
    heads = with_identity(_heads(gpt, seed, n_head=n_head, d_k=d_k, bias=bias))
    claims.trying(n_head=n_head, d_k=d_k)
    d_model = n_head * d_k
    a, b, q, r = (draw.normal(seed + i, 6, d_model) for i in range(4))
    for scale in (30.0, 1000.0):  # nothing is cut off: a token alone returns its value
        one, many = (heads(x[:, None])[:, 0] for x in (0 * a, scale * a))
        claims.close(many - one, scale * (heads(a[:, None])[:, 0] - one), axes=("batch", "channel"))
    value = {0: a, 1: (a + b) / 2, 2: b}
    value = {i: heads(x[:, None])[:, 0] for i, x in value.items()}
    claims.close(value[1], (value[0] + value[2]) / 2, axes=("batch", "channel"))

    def odds(query, key):
        share = _share(heads, torch.stack((key, query), dim=1))
        # a saturated share, on either side, does not tell its odds; hot weights reach 1 - 1e-9
        return share.masked_fill((share - 0.5).abs() > 0.49, torch.nan).logit()

    straight_keys = odds(q, a) + odds(q, b) - 2 * odds(q, (a + b) / 2)
    middle = (q + r) / 2
    straight_queries = (
        odds(q, a) - odds(q, b) + odds(r, a) - odds(r, b) - 2 * (odds(middle, a) - odds(middle, b))
    )
    for bend in (straight_keys, straight_queries):
        # log-odds up to 5, known to rounding over a gap of 0.05 and a share of 0.01
        worst = bend.nan_to_num(0.0).abs().max().item()
        claims.is_true(worst <= 0.02, "bent", "straight", difference=worst)


@rule(
    45,
    "attention.MultiHeadAttention",
    n_head=st.sampled_from([2, 3]),
    d_k=st.sampled_from([4, 2]),
    bias=st.booleans(),
    T=st.integers(2, 6),
    seed=draw.seeds,
)
def the_output_projection_mixes_the_heads(gpt, n_head, d_k, bias, T, seed):
    """The output is ``out_proj`` of the concatenated heads, weight and bias."""
    for count in (n_head, 1):
        _mixes(gpt, count, d_k, bias, T, seed)


def _mixes(gpt, n_head, d_k, bias, T, seed):
    d_model = n_head * d_k
    heads = with_identity(_heads(gpt, seed, n_head=n_head, d_k=d_k, bias=bias))
    x = draw.normal(seed, 2, T, d_model)
    plain = heads(x)
    weight, shift = draw.normal(seed + 1, d_model, d_model), draw.normal(seed + 2, d_model)
    mixing = {"out_proj.weight": weight, "out_proj.bias": shift}
    draw.load(heads, lambda name, parameter: mixing.get(name))
    claims.trying(T=T, d_model=d_model)
    if _multiplies_as_it_is(heads, plain, weight):  # GPT-2's layers keep their matrix as (in, out)
        weight = weight.T
    want = plain @ weight.T + (shift if bias else 0.0)
    claims.close(heads(x), want, axes=("batch", "position", "channel"))


def _multiplies_as_it_is(heads, x, weight):
    """Whether the member ``out_proj``, called as a module, multiplies by ``weight`` as it is."""
    try:
        made = heads.out_proj(x)
    except Exception:  # it only holds the numbers
        return False
    return torch.allclose(made - heads.out_proj(0 * x), x @ weight)


@rule(45, "attention.MultiHeadAttention", keywords=draw.configs(n_head=3), seed=draw.seeds)
def every_projection_learns(gpt, keywords, seed):
    """The output has a gradient, other than 0, for every number of every matrix and bias."""
    d_model = keywords["d_model"]
    x = draw.normal(seed, 2, 5, d_model)
    claims.trying(d_model=d_model)
    for bias in (False, True):
        choices = {"bias": bias, "positions": "learned"}
        heads = gpt.attention.MultiHeadAttention(draw.config(gpt, keywords | choices)).double()
        draw.heat(heads, seed).eval()
        # the bias of the keys adds the same to all scores of a query, and rightly has no gradient
        claims.all_learn(heads, heads(x), draw.generator(seed), silent=d_model if bias else 0)


@rule(
    45,
    "attention.MultiHeadAttention",
    keywords=draw.configs(n_layer=1),
    T=st.integers(2, 5),
    seed=draw.seeds,
)
def sequences_of_a_batch_do_not_mix(gpt, keywords, T, seed):
    """A sequence gives the same output alone and in a batch."""
    heads = gpt.attention.MultiHeadAttention(draw.config(gpt, keywords)).double()
    draw.heat(heads, seed).eval()
    x = draw.normal(seed, 3, T, keywords["d_model"])
    whole = heads(x)
    claims.trying(B=3, T=T)
    for b in range(3):
        claims.close(heads(x[b : b + 1]), whole[b : b + 1], axes=("", "position", "channel"))


@rule(
    45,
    "attention.MultiHeadAttention",
    rank=2,
    keywords=draw.configs(),
    dropout=st.sampled_from([0.2, 0.7]),
    seed=draw.seeds,
)
def attention_drops_out_only_in_training(gpt, keywords, dropout, seed):
    """In eval mode dropout does nothing; in training it changes numbers and leaves them finite."""
    x = draw.normal(seed, 2, 5, keywords["d_model"])
    made = [
        gpt.attention.MultiHeadAttention(draw.config(gpt, keywords | {"dropout": p})).double()
        for p in (0.0, dropout)
    ]
    plain, dropping = (draw.heat(heads, seed) for heads in made)
    claims.trying(dropout=dropout)
    axes = ("batch", "position", "channel")
    want = plain.train()(x)
    claims.close(plain.eval()(x), want, axes=axes)  # training may take another kernel
    claims.close(dropping.eval()(x), want, axes=axes)
    claims.finite(dropping.train()(x), axes)


@rule(45, "attention.MultiHeadAttention", rank=2, keywords=draw.configs(), seed=draw.seeds)
def the_gradient_of_attention_is_its_slope(gpt, keywords, seed):
    """Every projection is told how the output really changes with it."""
    heads = gpt.attention.MultiHeadAttention(draw.config(gpt, keywords)).double()
    draw.heat(heads, seed).eval()
    x = draw.normal(seed, 2, 4, keywords["d_model"]).requires_grad_()
    along = draw.normal(seed + 1, 2, 4, keywords["d_model"]) / 3
    leaves = dict(heads.named_parameters()) | {"x": x}
    claims.trying(d_model=keywords["d_model"])
    claims.slope(lambda: (heads(x) * along).sum(), leaves, draw.generator(seed))
    claims.the_same_in_training(heads, lambda: (heads(x) * along).sum(), leaves)
    config = draw.config(gpt, keywords | {"dropout": 0.4})
    dropping = draw.heat(gpt.attention.MultiHeadAttention(config).double(), seed)
    leaves = dict(dropping.named_parameters()) | {"x": x}
    claims.slope_with_dropout(
        dropping, lambda: (dropping(x) * along).sum(), leaves, draw.generator(seed)
    )
