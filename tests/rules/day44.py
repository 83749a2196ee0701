"""Day 44: a token sees itself and the past, nothing of the future."""

import itertools

import torch
from hypothesis import strategies as st
from torch.nn import functional as F

from tests import strategies as draw

from . import claims
from .day43 import _heads, axes, leads, lengths, qkv, weights, widths
from .engine import rule


@rule(44, "attention.causal_mask", T=st.integers(1, 12))
def the_mask_hides_exactly_the_future(gpt, T):
    """The mask is boolean, and True exactly where the key comes after the query."""
    for size in (T, 65, 300, 2050):  # beyond the tables that people make once and for all
        claims.trying(T=size)
        got = gpt.attention.causal_mask(size)
        claims.shape(got, (size, size))
        claims.dtype(got, torch.bool)
        places = torch.arange(size)
        wrong = (got != (places > places.unsqueeze(1))).nonzero().tolist()
        for query, key in wrong[:1]:
            hidden = bool(got[query, key])
            raise claims.Broken(
                "mask_hides" if hidden else "mask_shows", "mask_rule", query=query, key=key
            )


@rule(44, "attention.causal_mask", T=st.integers(1, 4))
def the_mask_is_made_on_the_device_asked_for(gpt, T):
    """causal_mask(T, device) is on that device, the CPU by default; no such device is an error."""
    claims.trying(T=T)
    claims.device(gpt.attention.causal_mask(T), "cpu")
    claims.device(gpt.attention.causal_mask(T, torch.device("cpu")), "cpu")
    claims.fails(lambda: gpt.attention.causal_mask(T, device="nowhere"), "device")


@rule(44, "attention.attention", lead=leads, T=lengths, d_k=widths, seed=draw.seeds)
def a_token_sees_itself(gpt, lead, T, d_k, seed):
    """Every token gives itself a share; the first, which has only itself, the whole."""
    q, k, v = qkv(seed, lead, T, d_k)
    claims.trying(T=T)
    out = gpt.attention.attention(q, k, v)
    claims.finite(out[..., :1, :], axes(out))
    claims.close(out[..., 0, :], v[..., 0, :])
    own = weights(gpt, q, k).diagonal(dim1=-2, dim2=-1)  # (..., T)
    claims.finite(own)
    claims.is_true(bool((own > 0).all()), "no_own_share", "own_share", share=own.min().item())


@rule(44, "attention.attention", examples=4, lead=leads, T=lengths, d_k=widths, seed=draw.seeds)
def hidden_keys_get_no_share(gpt, lead, T, d_k, seed):
    """No share of the future, not even when every visible score is a million lower."""
    for dtype in draw.wide_dtypes:
        q, k, _ = qkv(seed, lead, T, d_k, dtype=dtype)
        _no_share(gpt, q, k)
        # visible scores from -1e6 upwards, and every hidden one above them
        fall = (T - torch.arange(T, dtype=dtype)) / T  # 1 for the first key, 1 / T for the last
        k = (-1e6 / d_k**0.5 * fall)[:, None].expand_as(q).contiguous()
        _no_share(gpt, torch.ones_like(q), k)


def _no_share(gpt, q, k):
    claims.trying(T=q.size(-2))
    got = weights(gpt, q, k)
    claims.finite(got, axes(got))
    claims.nothing(got.triu(diagonal=1), axes(got)[:-1])


@rule(44, "attention.attention", lead=leads, T=lengths, d_k=widths, seed=draw.seeds)
def the_visible_shares_sum_to_one(gpt, lead, T, d_k, seed):
    """What a query gives to the tokens it sees sums to 1."""
    q, k, _ = qkv(seed, lead, T, d_k)
    claims.trying(T=T)
    sums = weights(gpt, q, k).sum(-1)
    claims.finite(sums)
    worst = (sums - 1).abs().max().item()
    total = sums.flatten()[(sums - 1).abs().argmax()].item()
    claims.is_true(worst <= claims.ROUNDING, "sums_to", "sum_one", total=total)


@rule(44, "attention.attention", lead=leads, T=lengths, d_k=widths, seed=draw.seeds)
def the_past_is_visible(gpt, lead, T, d_k, seed):
    """Every earlier token gets a share of every later query."""
    for length in (T, 200):
        q, k, _ = qkv(seed, lead, length, d_k)
        claims.trying(T=length)
        got = weights(gpt, q, k)
        claims.finite(got, axes(got))
        below = torch.ones(length, length, dtype=torch.bool).tril()
        least = got[..., below].min().item()
        claims.is_true(least > 0, "no_past_share", "past_share", share=least)


@rule(
    44,
    "attention.attention",
    examples=3,
    T=lengths,
    d_k=st.sampled_from([2, 5]),
    seed=draw.seeds,
)
def a_given_mask_replaces_the_causal_one(gpt, T, d_k, seed):
    """With a mask, True hides the key, and nothing else is hidden."""
    for dtype in draw.wide_dtypes:
        _replaces(gpt, T, d_k, dtype, seed)


def _replaces(gpt, T, d_k, dtype, seed):
    q, k, v = qkv(seed, (2, 3), T, d_k, d_k + 1, dtype=dtype)
    for size in ((T, T), (2, 1, T, T), (2, 1, 1, T), (3, T, T), (1, T)):
        mask = draw.normal(seed + 5, *size) > 0.3
        mask[..., seed % T] = False  # a row that sees nothing is open: never ask for it
        _masked(gpt, q, k, v, mask)
    _masked(gpt, q, k, v, torch.zeros(T, T, dtype=torch.bool))
    mask = (torch.arange(T) > 0).expand(T, T)  # the first key alone is visible,
    k = torch.where(mask[0, :, None], 0.0, -1e6).expand_as(k).to(dtype)  # far below the others
    got = weights(gpt, torch.ones_like(q), k, mask)
    claims.nothing(got[..., 1:], axes(got)[:-1])


def _masked(gpt, q, k, v, mask):
    copy = mask.clone()
    claims.trying(T=q.size(-2), shape=tuple(mask.shape))
    want = F.scaled_dot_product_attention(q, k, v, attn_mask=~mask)
    for got in (
        gpt.attention.attention(q, k, v, mask),
        gpt.attention.attention(q, k, v, mask=mask),
    ):
        claims.close(got, want, axes=axes(want))
        claims.untouched(mask, copy, "mask")


def _future_is_invisible(run, make, T, change, dropping):
    """Change all that comes after a place; what is before it may not move by one bit.

    Dropout that is not drawn from torch's global generator cannot be made the same twice.
    """
    before = run(make())
    claims.finite(before, ("batch", "position", "channel"))
    if dropping and not torch.equal(run(make()), before):
        return
    for t in sorted({1, T // 2, T - 1}):
        claims.trying(changed=t, T=T, last=t - 1)
        after = run(change(make(), t))
        claims.unmoved(after[:, :t], before[:, :t], ("batch", "position", "channel"))


@rule(
    44,
    "attention.MultiHeadAttention",
    rank=1,
    examples=3,
    n_head=st.sampled_from([2, 3, 4]),
    d_k=st.sampled_from([4, 2, 6]),
    T=st.integers(3, 12),
    dtype=draw.float_dtypes,
    seed=draw.seeds,
)
def heads_do_not_see_the_future(gpt, n_head, d_k, T, dtype, seed):
    """No head, in no mode, at no length up to the context, sees a later token."""
    for length, mode, positions in itertools.product(
        {T, 12}, ("eval", "train", "dropout"), ("learned", "rotary")
    ):
        dropout = 0.4 if mode == "dropout" else 0.0
        heads = _heads(
            gpt, seed, n_head=n_head, d_k=d_k, dtype=dtype, dropout=dropout, positions=positions
        )
        heads.train(mode != "eval")
        _heads_see_no_future(heads, length, n_head * d_k, dtype, seed, mode == "dropout")


def _heads_see_no_future(heads, T, d_model, dtype, seed, dropping):
    x = draw.normal(seed, 2, T, d_model, dtype=dtype)
    other = draw.normal(seed + 1, 2, T, d_model, dtype=dtype, scale=3.0)

    def run(x):
        claims.seed(0)  # the same dropout both times
        return heads(x)

    def change(x, t):
        return torch.cat((x[:, :t], other[:, t:]), dim=1)

    _future_is_invisible(run, lambda: x.clone(), T, change, dropping)


@rule(
    44,
    "attention.MultiHeadAttention",
    rank=1,
    n_head=st.sampled_from([2, 3, 4]),
    d_k=st.sampled_from([4, 2]),
    T=st.integers(3, 12),
    dtype=draw.float_dtypes,
    seed=draw.seeds,
)
def heads_see_the_whole_past(gpt, n_head, d_k, T, dtype, seed):
    """Changing the first token moves every later output."""
    heads = _heads(gpt, seed, n_head=n_head, d_k=d_k, dtype=dtype)
    x = draw.normal(seed, 2, T, n_head * d_k, dtype=dtype)
    changed = torch.cat((-x[:, :1], x[:, 1:]), dim=1)
    claims.trying(T=T)
    claims.moved(heads(changed), heads(x), 1e-7, ("batch", "position"))


@rule(
    44,
    "model.GPT",
    rank=2,
    examples=3,
    keywords=draw.configs(),
    dtype=draw.float_dtypes,
    seed=draw.seeds,
)
def the_future_is_invisible(gpt, keywords, dtype, seed):
    """Changing a later token does not move an earlier logit by one bit."""
    V, context = keywords["vocab_size"], keywords["block_size"]
    for T, mode in ((context, "eval"), (context - 2, "train"), (context, "dropout"), (3, "eval")):
        more = {"dropout": 0.4 if mode == "dropout" else 0.0}
        model = draw.model(gpt, keywords | more, seed, dtype).train(mode != "eval")
        idx = draw.tokens(seed, 2, T, V)

        def run(idx, model=model):
            claims.seed(0)
            return model(idx)

        def change(idx, t):
            idx[:, t:] = (idx[:, t:] + 1) % V
            return idx

        _future_is_invisible(run, idx.clone, T, change, mode == "dropout")


@rule(44, "model.GPT", rank=2, keywords=draw.configs(), seed=draw.seeds)
def a_prefix_keeps_its_logits(gpt, keywords, seed):
    """The logits of the first t tokens are the same, whether more tokens follow or not."""
    model = draw.model(gpt, keywords, seed)
    T = keywords["block_size"]
    idx = draw.tokens(seed, 2, T, keywords["vocab_size"])
    whole = model(idx)
    for t in sorted({1, 2, T // 2, T - 1}):
        claims.trying(t=t, T=T)
        alone = model(idx[:, :t].contiguous())
        claims.close(alone, whole[:, :t], claims.DEEP_ROUNDING, ("batch", "position", "channel"))
