"""What the reference promises beyond the laws: places of dropout, devices, texts, bytes.

Whoever writes it otherwise may be right as well, so no rule asks for it.
"""

import re

import numpy as np
import pytest
import torch

from reference import data, sampling
from reference.attention import MultiHeadAttention, attention
from reference.feedforward import FeedForward, SwiGLU
from reference.ledger import forward_flops_per_token, parameter_ledger
from reference.model import GPT, GPTConfig
from reference.normalization import LayerNorm
from reference.positions import half_split_order, rotary


def config(**more):
    sizes = {"vocab_size": 7, "block_size": 6, "n_layer": 1, "n_head": 2, "d_model": 8}
    return GPTConfig(**sizes | more)


def dropped(module):
    """What the module's dropout has put out, call by call."""
    calls = []
    module.dropout.register_forward_hook(lambda _, given, out: calls.append((given[0], out)))
    return calls


@pytest.mark.parametrize(
    ("part", "mlp"), [(MultiHeadAttention, "gelu"), (FeedForward, "gelu"), (SwiGLU, "swiglu")]
)
def test_dropout_is_the_last_thing_a_sub_layer_does(part, mlp):
    module = part(config(mlp=mlp, dropout=0.5))
    calls = dropped(module)
    out = module(torch.randn(2, 3, 8))
    assert module.dropout.p == 0.5
    assert len(calls) == 1
    assert calls[0][1] is out


def test_dropout_acts_on_the_sum_of_the_embeddings():
    model = GPT(config(dropout=0.5))
    calls, read = dropped(model), []
    model.blocks[0].register_forward_pre_hook(lambda _, given: read.append(given[0]))
    idx = torch.tensor([[1, 2, 3]])
    model(idx)
    assert model.dropout.p == 0.5
    torch.testing.assert_close(calls[0][0], model.wte(idx) + model.wpe.weight[:3], rtol=0, atol=0)
    assert read[0] is calls[0][1]


@pytest.mark.parametrize("positions", ["learned", "rotary"])
def test_everything_is_made_where_the_input_is(positions):
    """A tensor left on the CPU cannot meet one on another device: meta stands for them all."""
    x = torch.empty(2, 3, 5, 4, device="meta")
    assert attention(x, x, x).device.type == "meta"
    assert rotary(x).device.type == "meta"
    with torch.device("meta"):
        model = GPT(config(positions=positions))
    idx = torch.empty(2, 3, dtype=torch.int64, device="meta")
    assert model(idx).device.type == "meta"


def test_rotary_keeps_float64_to_its_last_bits():
    """Turning is multiplying by e^(i angle); 1e-13 is a few hundred units of a float64 near 1."""
    x = torch.randn(2, 9, 6, dtype=torch.float64)
    exponents = torch.arange(3, dtype=torch.float64) / 3
    angles = torch.arange(9, dtype=torch.float64)[:, None] * 10000.0**-exponents
    want = torch.view_as_complex(x.unflatten(-1, (3, 2))) * torch.polar(
        torch.ones(9, 3).double(), angles
    )
    torch.testing.assert_close(rotary(x), torch.view_as_real(want).flatten(-2), rtol=0, atol=1e-13)


def test_layer_norm_takes_its_squares_in_float32():
    """The square of 1000 is more than float16 holds. The result keeps 11 bits: 1e-3."""
    x = torch.tensor([[1000.0, -1000.0, 3000.0, 1000.0]], dtype=torch.float16)
    want = torch.nn.functional.layer_norm(x.double(), (4,))
    torch.testing.assert_close(LayerNorm(4).half()(x).double(), want, rtol=1e-3, atol=1e-3)


def test_the_other_layout_of_rotary_channels():
    assert half_split_order(6).tolist() == [0, 2, 4, 1, 3, 5]


def read_from_a_file(word):
    """An equal string that is another object, as a checkpoint or a command line gives it."""
    return "".join(list(word))


def test_words_are_compared_by_what_they_say():
    words = {"norm": "rmsnorm", "mlp": "swiglu", "positions": "rotary"}
    built = config(**{name: read_from_a_file(word) for name, word in words.items()})
    model = GPT(built)
    assert type(model.ln_f).__name__ == "RMSNorm"
    assert type(model.blocks[0].ln_1).__name__ == "RMSNorm"
    assert type(model.blocks[0].mlp).__name__ == "SwiGLU"
    assert not hasattr(model, "wpe")
    assert parameter_ledger(built) == parameter_ledger(config(**words))
    assert forward_flops_per_token(built, 5) == forward_flops_per_token(config(**words), 5)
    x = torch.randn(1, 4, 8)
    attn = model.blocks[0].attn
    assert not torch.equal(attn(x)[:, -1], attn(x[:, [1, 0, 2, 3]])[:, -1])  # order counts
    table = config(positions=read_from_a_file("learned"))
    assert parameter_ledger(table)["wpe"] == 48
    learned = GPT(table)
    assert learned.wpe.weight.shape == (6, 8)
    assert learned(torch.tensor([[1, 1]])).diff(dim=1).abs().max() > 0


def test_text_is_bytes_and_back():
    tokens = data.encode("añ")
    assert tokens.dtype == np.uint8
    assert tokens.tolist() == [97, 0xC3, 0xB1]
    for kind in (tokens, torch.from_numpy(tokens.astype(np.int64)), tokens.astype(np.int64)):
        assert data.decode(kind) == "añ"
    assert data.decode([97, 0xC3]) == "a\N{REPLACEMENT CHARACTER}"


def test_the_default_text_is_half_a_megabyte_of_english():
    text = data.default_text()
    assert 300_000 < len(text) < 2_000_000
    assert text.count(" the ") > 1000
    assert "\nThe" in text
    assert "XX\nXX" not in text


def test_validation_is_the_last_part_and_shares_no_token():
    tokens = np.arange(50)
    for share, cut in ((0.1, 45), (0.3, 35)):
        train, val = data.train_val_split(tokens, share)
        assert train.tolist() == list(range(cut))
        assert val.tolist() == list(range(cut, 50))
    assert len(data.train_val_split(tokens)[1]) == 5
    assert len(data.train_val_split(np.arange(19))[1]) == 1
    assert len(data.train_val_split(np.arange(9))[0]) == 9


REFUSALS = [
    (lambda: config(d_ff=0), "d_ff must be at least 1, found 0"),
    (lambda: config(norm="batchnorm"), "norm must be one of layernorm, rmsnorm, found 'batchnorm'"),
    (lambda: config(mlp="tanh"), "mlp must be one of relu, gelu, swiglu, found 'tanh'"),
    (lambda: config(n_head=3), "d_model 8 is not divisible by n_head 3"),
    (lambda: config(dropout=1.5), "dropout must be in [0, 1), found 1.5"),
    (
        lambda: GPT(config())(torch.zeros(1, 7, dtype=torch.int64)),
        "7 tokens do not fit into block_size 6",
    ),
    (
        lambda: data.get_batch(np.arange(3), 2, 5),
        "block_size 5 needs 6 tokens or more, found 3",
    ),
    (
        lambda: rotary(torch.ones(2, 5)),
        "rotary positions turn pairs of channels: d_k must be even, found 5",
    ),
    (
        lambda: sampling.generate(GPT(config()), torch.tensor([[1]]), 1, temperature=-0.5),
        "temperature must be 0 or more, found -0.5",
    ),
    (
        lambda: sampling.generate(GPT(config()), torch.tensor([[1]]), 1, top_k=0),
        "top_k must be 1 or more, found 0",
    ),
]


@pytest.mark.parametrize(("call", "text"), REFUSALS)
def test_a_refusal_says_what_was_wanted_and_what_was_found(call, text):
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        call()


def test_a_token_is_drawn_among_the_best_k():
    logits = torch.tensor([[0.0, 3.0, 2.0, 1.0]]).repeat(200, 1)
    torch.manual_seed(0)
    assert set(sampling.pick(logits, 1.0, 2).flatten().tolist()) == {1, 2}


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_a_cold_draw_overflows_in_no_dtype(dtype):
    """100 / 0.001 is more than float16 can hold; the draw must still be the larger logit."""
    logits = torch.tensor([[99.0, 100.0]], dtype=dtype)
    before = logits.clone()
    assert sampling.pick(logits, 1e-3, 1).tolist() == [[1]]
    assert sampling.pick(logits, 1e-3, None).tolist() == [[1]]
    assert torch.equal(logits, before)
