"""Every number that the lessons of days 47 and 49 work out by hand, in float64."""

import math

import numpy as np
import torch

from reference.attention import MultiHeadAttention, attention, softmax
from reference.block import Block
from reference.data import get_batch, shift_pair
from reference.feedforward import FeedForward, SwiGLU
from reference.loss import next_token_loss
from reference.model import GPT, GPTConfig
from reference.normalization import LayerNorm, RMSNorm

EXACT = {"rtol": 0, "atol": 1e-12}  # a handful of roundings of numbers near 1


def numbers(values):
    return torch.tensor(values, dtype=torch.float64)


def worked_feed_forward():
    """Day 47's layer: two channels, three hidden units, ReLU, no biases."""
    layer = FeedForward(GPTConfig(1, 1, 1, 1, 2, d_ff=3, bias=False, mlp="relu")).double()
    layer.w1.weight.data = numbers([[1, 0, -1], [0, 2, 1]]).mT  # nn.Linear stores W transposed
    layer.w2.weight.data = numbers([[1, 0], [0, 1], [-1, 1]]).mT
    return layer


def test_day_47_the_feed_forward_worked_by_hand():
    layer, x = worked_feed_forward(), numbers([[1, 2], [2, -1]])
    torch.testing.assert_close(layer.w1(x), numbers([[1, 4, 1], [2, -2, -3]]), **EXACT)
    y = layer(x)
    torch.testing.assert_close(y, numbers([[0, 5], [2, 0]]), **EXACT)
    torch.testing.assert_close(x + y, numbers([[1, 7], [4, -1]]), **EXACT)


def test_day_47_the_feed_forward_counts():
    def count(module):
        return sum(p.numel() for p in module.parameters())

    sizes = {"vocab_size": 1, "block_size": 1, "n_layer": 1, "n_head": 1, "d_model": 64}
    assert count(FeedForward(GPTConfig(**sizes, bias=False))) == 32_768
    assert count(FeedForward(GPTConfig(**sizes))) == 33_088
    gated = SwiGLU(GPTConfig(**sizes, mlp="swiglu"))
    assert (gated.w_up.out_features, count(gated)) == (171, 32_832)
    assert count(SwiGLU(GPTConfig(**sizes, mlp="swiglu", d_ff=256))) == 49_152


def test_day_47_each_position_is_fed_forward_on_its_own():
    layer, x = worked_feed_forward(), numbers([[1, 2], [2, -1], [0.5, 3]])
    rows = torch.stack([layer(row) for row in x])
    torch.testing.assert_close(layer(x), rows, **EXACT)


def test_day_47_two_blocks_in_their_order():
    """a = x0 + Attn(LN(x0)); x1 = a + FFN(LN(a)); then the second block on x1."""
    torch.manual_seed(0)
    config = GPTConfig(10, 4, 2, 4, 64)
    first, second = Block(config).double(), Block(config).double()
    x0 = torch.randn(2, 4, 64, dtype=torch.float64)
    a = x0 + first.attn(first.ln_1(x0))
    x1 = a + first.mlp(first.ln_2(a))
    b = x1 + second.attn(second.ln_1(x1))
    x2 = b + second.mlp(second.ln_2(b))
    torch.testing.assert_close(second(first(x0)), x2, **EXACT)
    for point in (x0, first.ln_1(x0), first.attn(first.ln_1(x0)), a, x1, x2):
        assert point.shape == (2, 4, 64)
        assert point.dtype == torch.float64


def test_day_49_tokens_become_a_question_and_an_answer():
    tokens = [502, 1204, 33, 991, 88, 412]
    x, y = shift_pair(tokens[: 4 + 1])
    assert (x, y) == ([502, 1204, 33, 991], [1204, 33, 991, 88])


def test_day_49_a_batch_of_64_by_1024_has_a_mebibyte():
    x, y = get_batch(np.zeros(2000, dtype=np.uint16), 64, 1024)
    assert x.shape == y.shape == (64, 1024)
    assert x.nbytes == y.nbytes == 524_288
    assert x.int().nbytes + y.int().nbytes == 524_288


def test_day_49_the_first_loss_is_ln_v():
    for V, loss in ((50257, 10.8249), (100, 4.6052)):
        found = next_token_loss(
            torch.zeros(1, 2, V, dtype=torch.float64), torch.tensor([[0, V - 1]])
        )
        assert math.isclose(found.item(), math.log(V), rel_tol=1e-12)
        assert round(found.item(), 4) == loss


def test_day_49_attention_worked_by_hand():
    """Q = [[1, 1], [0, 2]], K = [[1, 1], [2, 0]], V = I, d_k = 2."""
    q, k, v = numbers([[1, 1], [0, 2]]), numbers([[1, 1], [2, 0]]), torch.eye(2).double()
    scores = q @ k.mT / math.sqrt(2)
    root = math.sqrt(2)
    torch.testing.assert_close(scores, numbers([[root, root], [root, 0]]), **EXACT)
    share = 1 / (1 + math.exp(-root))  # of two scores that are sqrt(2) apart: 0.8044
    assert round(share, 4) == 0.8044
    want = numbers([[1, 0], [share, 1 - share]])
    torch.testing.assert_close(attention(q, k, v), want, **EXACT)
    everything = torch.zeros(2, 2, dtype=torch.bool)
    torch.testing.assert_close(attention(q, k, v, everything)[0], numbers([0.5, 0.5]), **EXACT)


def test_day_49_the_first_token_does_not_notice_the_second():
    q, k, v = numbers([[1, 1], [0, 2]]), numbers([[1, 1], [2, 0]]), torch.eye(2).double()
    other = k.clone()
    other[1] = numbers([-7, 3])
    assert torch.equal(attention(q, k, v)[0], attention(q, other, v)[0])


def test_day_49_exponentials_of_15_need_the_shift_in_half_precision():
    scores = torch.tensor([15.0, 14.0], dtype=torch.float16)
    assert scores.exp()[0] == math.inf
    want = numbers([1, math.exp(-1)]) / (1 + math.exp(-1))
    # float16 keeps 11 bits: 2^-11 relative
    torch.testing.assert_close(softmax(scores).double(), want, rtol=1e-3, atol=0)


def test_day_49_shapes_and_counts_of_three_heads():
    """B = 2, T = 5, d_model = 12, h = 3."""
    heads = MultiHeadAttention(GPTConfig(1, 5, 1, 3, 12))
    x = torch.randn(2, 5, 12)
    q = heads.split(x)
    assert q.shape == (2, 3, 5, 4)
    assert (q @ q.mT).shape == (2, 3, 5, 5)
    assert heads(x).shape == (2, 5, 12)
    assert sum(p.numel() for p in heads.parameters()) == 624
    bare = MultiHeadAttention(GPTConfig(1, 5, 1, 3, 12, bias=False))
    assert sum(p.numel() for p in bare.parameters()) == 576


def test_day_49_both_norms_worked_by_hand():
    """x = [4, 0, -2, 2]: mean 1, variance 5, mean square 6; the lesson leaves eps out."""
    x = numbers([4, 0, -2, 2])
    layer = numbers([3, -1, -3, 1]) / math.sqrt(5 + 1e-5)
    torch.testing.assert_close(LayerNorm(4).double()(x), layer, **EXACT)
    rms = x / math.sqrt(6 + 1e-5)
    torch.testing.assert_close(RMSNorm(4).double()(x), rms, **EXACT)
    # what eps changes: 1e-5 / (2 * 5) of numbers below 2
    without = numbers([1.34164079, -0.44721360, -1.34164079, 0.44721360])
    torch.testing.assert_close(layer, without, rtol=0, atol=3e-6)
    without = numbers([1.63299316, 0, -0.81649658, 0.81649658])
    torch.testing.assert_close(rms, without, rtol=0, atol=3e-6)


def test_day_49_shapes_from_tokens_to_logits():
    """B = 8, T = 16 through the tiny GPT; sampling reads the last position."""
    model = GPT(GPTConfig(100, 16, 2, 4, 32, bias=False))
    logits = model(torch.zeros(8, 16, dtype=torch.int64))
    assert logits.shape == (8, 16, 100)
    assert logits[:, -1].shape == (8, 100)
    assert sum(p.numel() for p in model.parameters()) == 28_608
