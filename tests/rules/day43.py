"""Day 43: scores are dot products divided by sqrt(d_k)."""

import math

import torch
from hypothesis import strategies as st
from torch.nn import functional as F

from tests import strategies as draw

from . import claims
from .engine import rule

# Leading axes of q, k and v: none, a batch, a batch of heads. B and h differ.
leads = st.sampled_from([(2, 3), (3, 2), (2,), ()])
lengths = st.integers(3, 9)
widths = st.sampled_from([2, 3, 5, 8, 16])
AXES = ("batch", "head", "position", "channel")


def qkv(seed, lead, T, d_k, d_v=None, dtype=torch.float64, scale=1.0):
    """Normal q, k (..., T, d_k) and v (..., T, d_v)."""
    q, k = (draw.normal(seed + i, *lead, T, d_k, dtype=dtype, scale=scale) for i in (1, 2))
    return q, k, draw.normal(seed + 3, *lead, T, d_v or d_k, dtype=dtype)


def weights(gpt, q, k, mask=None):
    """Attention weights (..., T, T): with v the identity, the output is the weights."""
    T = q.size(-2)
    v = torch.eye(T, dtype=q.dtype).expand(*q.shape[:-2], T, T).contiguous()
    return (
        gpt.attention.attention(q, k, v) if mask is None else gpt.attention.attention(q, k, v, mask)
    )


def axes(tensor):
    """Names for the last axes of (..., T, d)."""
    return AXES[-tensor.dim() :] if tensor.dim() != 3 else ("batch", "position", "channel")


@rule(43, "attention.attention", lead=leads, T=lengths, d_k=widths, seed=draw.seeds)
def scores_are_divided_by_sqrt_d_k(gpt, lead, T, d_k, seed):
    """The log-odds of two past keys are the difference of their dot products over sqrt(d_k)."""
    for width in (d_k, 128):
        _odds(gpt, lead, T, width, seed)


def _odds(gpt, lead, T, d_k, seed):
    q, k, _ = qkv(seed, lead, T, d_k)
    claims.trying(T=T, d_k=d_k, heads=lead[-1] if len(lead) == 2 else 1)
    got = weights(gpt, q, k)
    claims.shape(got, (*lead, T, T))
    last = got[..., -1, :-1]  # the last query's shares of the keys before it
    if not (last > 1e-30).all():
        return  # a share of 0 or NaN is a matter of the mask (day 44)
    odds = last.log() - last[..., :1].log()
    scores = (q[..., -1:, :] * k[..., :-1, :]).sum(-1) / math.sqrt(d_k)
    wanted = scores - scores[..., :1]
    ratio = (odds * wanted).sum().item() / wanted.square().sum().item()
    error = (odds - wanted).abs().max().item()
    allowed = claims.ROUNDING * max(1.0, wanted.abs().max().item())
    claims.is_true(
        error <= allowed, "scores_scaled", "scores_unscaled", ratio=ratio, difference=error
    )


@rule(
    43,
    "attention.attention",
    rank=1,
    lead=leads,
    T=st.integers(1, 9),
    d_k=st.sampled_from([1, 2, 5, 8]),
    d_v=st.sampled_from([3, 7, 1]),
    dtype=draw.float_dtypes,
    seed=draw.seeds,
)
def outputs_are_weighted_sums_of_values(gpt, lead, T, d_k, d_v, dtype, seed):
    """Every output is the sum of the values, weighted by the softmax of the scores."""
    q, k, v = qkv(seed, lead, T, d_k, d_v, dtype)
    copies = [x.clone() for x in (q, k, v)]
    claims.trying(T=T, d_k=d_k, d_v=d_v)
    got = gpt.attention.attention(q, k, v)
    claims.dtype(got, dtype)
    want = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    claims.close(got, want, axes=axes(want))
    for x, copy, name in zip((q, k, v), copies, ("q", "k", "v")):
        claims.untouched(x, copy, name)


@rule(43, "attention.attention", rank=1, lead=leads, T=lengths, d_k=widths, seed=draw.seeds)
def attention_passes_the_gradient_on(gpt, lead, T, d_k, seed):
    """The gradients of q, k and v are those of softmax(q k^T / sqrt(d_k)) v."""
    leaves = dict(zip("qkv", (x.requires_grad_() for x in qkv(seed, lead, T, d_k))))
    claims.trying(T=T, d_k=d_k)
    causal = torch.ones(T, T, dtype=torch.bool).triu(diagonal=1)
    for given, mask in (((), causal), ((causal.mT,), causal.mT)):
        got = gpt.attention.attention(*leaves.values(), *given)
        want = F.scaled_dot_product_attention(*leaves.values(), attn_mask=~mask)
        claims.shape(got, want.shape)
        along = draw.normal(seed + 4, *want.shape)
        right = claims.gradients(want, leaves, along)
        for name, gradient in claims.gradients(got, leaves, along).items():
            claims.close(gradient, right[name], axes=axes(gradient))


@rule(
    43,
    "attention.MultiHeadAttention",
    rank=1,
    examples=3,
    n_head=st.sampled_from([2, 3, 4]),
    d_k=st.sampled_from([4, 2, 6]),
    bias=st.booleans(),
    seed=draw.seeds,
)
def every_head_divides_by_sqrt_d_k(gpt, n_head, d_k, bias, seed):
    """With every projection filled with one number, each head's odds are exactly known.

    All channels of q, k and v are then ``c * sum(x)``, however the projections are laid out, and
    the log-odds of two tokens are ``sqrt(d_k) c^2 S_1 (S_0 - S_1)``.
    """
    for count, width in ((n_head, d_k), (1, d_k), (12, d_k), (n_head, 96)):
        _divides(gpt, count, width, bias, seed)


def _divides(gpt, n_head, d_k, bias, seed):
    c = 0.2 if d_k < 64 else 0.03  # scores grow with d_k^1.5: saturated ones would tell nothing
    heads = filled(gpt, c, seed, n_head=n_head, d_k=d_k, bias=bias)
    with_identity(heads)
    d_model = n_head * d_k
    x = draw.normal(seed, 3, 2, d_model)
    x[2] *= torch.tensor([[100.0], [0.01]])  # a long key, a short query: nothing is cut off
    total = x.sum(-1)  # (B, 2)
    claims.trying(n_head=n_head, d_k=d_k, d_model=d_model)
    got = heads(x)[:, 1]  # (B, d_model)
    odds = math.sqrt(d_k) * c * c * total[:, 1] * (total[:, 0] - total[:, 1])
    share = odds.sigmoid()
    want = c * (share * total[:, 0] + (1 - share) * total[:, 1])
    claims.close(got, want[:, None].expand(-1, d_model), axes=("batch", "channel"))


def _heads(gpt, seed, *, n_head, d_k, bias=True, dtype=torch.float64, **more):
    """A hot MultiHeadAttention in eval mode."""
    keywords = {
        "vocab_size": 7,
        "block_size": 12,
        "n_layer": 2,
        "n_head": n_head,
        "d_model": n_head * d_k,
        "bias": bias,
    }
    config = draw.config(gpt, keywords | more)
    return draw.heat(gpt.attention.MultiHeadAttention(config).to(dtype), seed).eval()


def filled(gpt, c, seed, **sizes):
    """Heads whose matrices hold c everywhere, and whose biases are 0, whatever their shape."""
    heads = _heads(gpt, seed, **sizes)
    plain = dict(_heads(gpt, seed, **sizes | {"bias": False}).named_parameters())

    def fill(name, parameter):
        full = torch.zeros(parameter.shape)
        if name in plain:  # a bias may be a matrix's last column
            full[tuple(slice(size) for size in plain[name].shape)] = c
        return full

    return draw.load(heads, fill)


def with_identity(heads):
    """Make the output projection pass the concatenated heads through."""

    def identity(name, parameter):
        if name == "out_proj.weight":
            return torch.eye(len(parameter))
        return torch.zeros(parameter.shape) if name == "out_proj.bias" else None

    return draw.load(heads, identity)
