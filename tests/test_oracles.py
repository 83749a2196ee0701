"""The reference equals what others wrote: transformers' GPT-2 and Llama, and torch itself.

``python -m pytest tests/test_oracles.py -s`` prints the largest differences that were seen.
"""

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

from reference.positions import half_split_order, rotary
from reference.sampling import generate
from tests import oracles_torch as beside_torch
from tests import strategies as draw
from tests.oracles import compare_model, difference, in_dtype, twins

# Rounding alone: 2.2e-16 and 6e-8 a step, some hundred steps deep.
MOST = {torch.float64: 1e-10, torch.float32: 1e-5}
DTYPES = list(MOST)

GPT2 = draw.configs(norm="layernorm", mlp="gelu", positions="learned", bias=True)
GPT2_RELU = draw.configs(norm="layernorm", mlp="relu", positions="learned", bias=True)
LLAMA = draw.configs(norm="rmsnorm", mlp="swiglu", positions="rotary", bias=False)
MODELS = st.one_of(
    st.tuples(st.just("gpt2"), GPT2),
    st.tuples(st.just("llama"), LLAMA),
    st.tuples(st.just("gpt2"), GPT2_RELU),
)
SIZES = [(2, 3, 7, 4), (3, 2, 5, 6), (2, 5, 1, 8), (1, 1, 9, 2)]  # B, h, T, d_k
SEEN = {}


def drawn(examples):
    return settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )


def hold(twin, found, dtype):
    """Every difference is rounding; the largest is kept for the table."""
    for what, gap in found.items():
        key = (twin, what.split(" of ")[0], str(dtype).removeprefix("torch."))
        SEEN[key] = max(SEEN.get(key, 0.0), gap)
        assert gap <= MOST[dtype], f"{what}: {gap:.1e} apart from {twin}"


@pytest.fixture(scope="module", autouse=True)
def _table():
    yield
    print("\n\nlargest difference, relative to the largest number")
    for (twin, what, dtype), gap in sorted(SEEN.items()):
        print(f"  {twin:28} {what:10} {dtype:8} {gap:.1e}")


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@drawn(20)
@given(model=MODELS, seed=draw.seeds)
def test_models_equal_those_of_transformers(dtype, model, seed):
    """Logits, loss with labels, and the gradient of every parameter."""
    kind, keywords = model
    hold(kind, compare_model(kind, keywords, seed, dtype), dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@drawn(20)
@given(model=MODELS, seed=draw.seeds, nudge=st.integers(0, 40))
def test_a_nudged_weight_is_seen(dtype, model, seed, nudge):
    """One tensor of the model a thousandth larger: the comparison above must fail."""
    kind, keywords = model
    found = compare_model(kind, keywords, seed, dtype, nudge)
    assert max(found.values()) > MOST[dtype]


@drawn(6)
@given(model=MODELS, seed=draw.seeds)
def test_greedy_tokens_equal_those_of_transformers(model, seed):
    """Token by token, theirs with a cache of keys and values, ours without."""
    kind, keywords = model
    prompt = draw.tokens(seed, 2, 2, keywords["vocab_size"])
    n = keywords["block_size"] - 2
    with in_dtype(torch.float64):
        ours, theirs = twins(kind, keywords, seed, torch.float64)
        want = theirs.generate(prompt, max_new_tokens=n, do_sample=False, **QUIET)
    torch.testing.assert_close(generate(ours, prompt, n, temperature=0), want, rtol=0, atol=0)


QUIET = {"pad_token_id": 0, "attention_mask": None}


@drawn(6)
@given(model=MODELS, seed=draw.seeds, top_k=st.integers(1, 9), heat=st.sampled_from([1.0, 0.7]))
def test_top_k_draws_equal_those_of_transformers(model, seed, top_k, heat):
    """The same generator gives the same tokens: both draw from the k largest of float32 shares."""
    kind, keywords = model
    ours, theirs = twins(kind, keywords, seed, torch.float32)
    prompt = draw.tokens(seed, 2, 2, keywords["vocab_size"])
    n = keywords["block_size"] - 2
    how = {"do_sample": True, "top_k": top_k, "top_p": 1.0, "temperature": heat}
    torch.manual_seed(seed)
    want = theirs.generate(prompt, max_new_tokens=n, **how, **QUIET)
    torch.manual_seed(seed)
    found = generate(ours, prompt, n, heat, top_k)
    torch.testing.assert_close(found, want, rtol=0, atol=0)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("causal", [True, False])
def test_attention_equals_scaled_dot_product_attention(size, dtype, causal):
    hold("scaled_dot_product_attention", beside_torch.compare_attention(size, dtype, causal), dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("bias", [True, False])
def test_heads_equal_nn_multihead_attention(size, dtype, bias):
    hold("MultiheadAttention", beside_torch.compare_heads(size, dtype, bias), dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("mlp", ["relu", "gelu"])
def test_a_block_equals_nn_transformer_encoder_layer(size, dtype, mlp):
    hold("TransformerEncoderLayer", beside_torch.compare_block(size, dtype, mlp), dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("kind", ["layer_norm", "RMSNorm"])
@pytest.mark.parametrize("scale", [1.0, 0.003, 300.0])
def test_norms_equal_those_of_torch(kind, dtype, scale):
    """Also where eps weighs as much as the variance."""
    hold(kind, beside_torch.compare_norm(kind, dtype, scale), dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_the_loss_equals_cross_entropy(dtype):
    hold("cross_entropy", beside_torch.compare_loss(dtype), dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
def test_clipping_equals_clip_grad_norm(dtype, scale):
    """torch adds 1e-6 to the norm before it divides: 1e-6 relative at norms above 1."""
    found = beside_torch.compare_clipping(dtype, scale)
    hold("clip_grad_norm_", {"norm": found.pop("norm")}, torch.float32)
    hold("clip_grad_norm_", found, torch.float32)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_the_optimizer_equals_adamw(dtype):
    hold("AdamW", beside_torch.compare_adamw(dtype), dtype)


def test_each_comparison_with_torch_can_fail():
    """A thousandth more in one number of the reference, and each of them sees it."""
    size, most = SIZES[0], MOST[torch.float32]
    for dtype in DTYPES:
        for causal_ in (True, False):
            assert (
                max(beside_torch.compare_attention(size, dtype, causal_, scale=1.001).values())
                > most
            )
        for nudge in range(4):
            assert max(beside_torch.compare_heads(size, dtype, True, nudge).values()) > most
        for nudge in range(12):
            assert max(beside_torch.compare_block(size, dtype, "gelu", nudge).values()) > most
        for kind, nudges in (("layer_norm", 2), ("RMSNorm", 1)):
            for nudge in range(nudges):
                assert max(beside_torch.compare_norm(kind, dtype, 1.0, nudge).values()) > most
        assert max(beside_torch.compare_loss(dtype, scale=1.001).values()) > most
        assert max(beside_torch.compare_clipping(dtype, 0.01, factor=1.001).values()) > most
        assert max(beside_torch.compare_adamw(dtype, decay=0.31).values()) > most


@drawn(30)
@given(
    d_k=st.sampled_from([2, 4, 6, 10]),
    theta=st.sampled_from([10000.0, 500000.0, 3.0]),
    own=st.booleans(),
    seed=draw.seeds,
)
def test_rotary_is_multiplication_by_a_complex_number(d_k, theta, own, seed):
    """Any theta, any positions, given once or for every sequence; float64 to 1e-10."""
    x = draw.normal(seed, 3, 2, 5, d_k)
    positions = torch.randint(0, 5000, (3, 2, 5) if own else (5,), generator=draw.generator(seed))
    rates = theta ** -(torch.arange(0, d_k, 2, dtype=torch.float64) / d_k)
    turn = torch.exp(1j * positions[..., None] * rates)  # (..., T, d_k / 2)
    want = torch.view_as_real(torch.view_as_complex(x.unflatten(-1, (-1, 2))) * turn).flatten(-2)
    hold(
        "complex numbers", {"rotary": difference(rotary(x, positions, theta), want)}, torch.float64
    )


@pytest.mark.parametrize("d_k", [2, 4, 10])
def test_the_half_split_order_leads_to_llamas_rotation(d_k):
    """Reordered channels turn as transformers turns them, and argsort leads back."""
    q, k = draw.normal(1, 2, 3, 7, d_k), draw.normal(2, 2, 3, 7, d_k)
    order = half_split_order(d_k)
    assert order.tolist() == [*range(0, d_k, 2), *range(1, d_k, 2)]
    angles = torch.arange(7.0, dtype=torch.float64)[:, None] * 10000.0 ** -(
        torch.arange(0, d_k, 2, dtype=torch.float64) / d_k
    )
    angles = torch.cat((angles, angles), dim=-1)[None]  # (1, T, d_k)
    turned = apply_rotary_pos_emb(q[..., order], k[..., order], angles.cos(), angles.sin())
    for ours, theirs in zip((q, k), turned):
        hold("Llama", {"rotary": difference(rotary(ours)[..., order], theirs)}, torch.float64)
        torch.testing.assert_close(ours[..., order][..., order.argsort()], ours, rtol=0, atol=0)
