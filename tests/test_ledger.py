"""The ledger against the real modules, counted by torch, and against the lessons' numbers."""

import pytest
import torch
from hypothesis import given, settings
from torch.utils.flop_counter import FlopCounterMode

from reference.cli_ledger import account_rows, batch_rows, feed_forward_rows, flops_rows
from reference.cli_ledger import both as lines
from reference.ledger import (
    batch_bytes,
    forward_flops_per_token,
    parameter_ledger,
    total_parameters,
)
from reference.model import GPT, GPTConfig
from tests import strategies as draw

drawn = settings(max_examples=40, derandomize=True, database=None, deadline=None)


def on_meta(config):
    """The real model, without memory for its numbers."""
    with torch.device("meta"):
        return GPT(config)


def gpt2_small():
    return GPTConfig(50257, 1024, 12, 12, 768)


def tiny_gpt():
    return GPTConfig(100, 16, 2, 4, 32, bias=False)


def numbers(rows):
    """Rows of a table by their id."""
    return {key: numbers for key, *numbers in rows}


@drawn
@given(keywords=draw.configs())
def test_every_line_counts_a_real_module(keywords):
    """A line is the parameters of the member it names; a tied head is counted once."""
    config = GPTConfig(**keywords)
    model = on_meta(config)
    counted = set()
    for path, count in parameter_ledger(config).items():
        own = {p for p in model.get_submodule(path).parameters() if p not in counted}
        counted |= own
        assert sum(p.numel() for p in own) == count, path
    assert counted == set(model.parameters())
    assert total_parameters(config) == sum(p.numel() for p in model.parameters())


def test_gpt2_small_holds_124_439_808_parameters():
    assert sum(p.numel() for p in on_meta(gpt2_small()).parameters()) == 124_439_808
    assert total_parameters(gpt2_small()) == 124_439_808


@drawn
@given(keywords=draw.configs(dropout=0.0))
def test_flops_are_what_torch_counts_in_a_forward_pass(keywords):
    """torch's counter sees every matrix product of the running model, two FLOPs a multiply-add."""
    config = GPTConfig(**keywords)
    model, T = GPT(config), keywords["block_size"] - 1
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model(torch.zeros(3, T, dtype=torch.int64))
    assert counter.get_total_flops() == 3 * T * forward_flops_per_token(config, T)


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8])
def test_bytes_are_those_of_real_tensors(dtype):
    x, y = torch.zeros(3, 5, dtype=dtype), torch.zeros(3, 5, dtype=dtype)
    assert batch_bytes(3, 5, dtype) == x.nbytes + y.nbytes
    assert batch_bytes(64, 1024) == 1_048_576
    assert batch_bytes(64, 1024, torch.int32) == 524_288


def test_the_feed_forward_of_day_47():
    assert numbers(feed_forward_rows(64)) == {
        "w1": [16_384, 16_384 + 256],
        "w2": [16_384, 16_384 + 64],
        "mlp": [32_768, 33_088],
        "swiglu:171": [32_832, 32_832],
        "swiglu_wide:256": [49_152, 49_152],
    }


def test_the_account_of_gpt2_small():
    rows = numbers(account_rows(gpt2_small()))
    assert rows["attn"] == [2_359_296, 2_362_368]
    assert rows["mlp"] == [4_718_592, 4_722_432]
    assert rows["matrices"][0] == 7_077_888
    assert rows["norms"] == [3_072, 3_072]
    assert rows["block"][1] == 7_087_872
    assert rows["blocks:12"][1] == 85_054_464
    assert rows["wte"] == [38_597_376, 38_597_376]
    assert rows["wpe"] == [786_432, 786_432]
    assert rows["ln_f"] == [1_536, 1_536]
    assert rows["total_tied"][1] == 124_439_808
    assert rows["mlp_weights"] == [2 / 3, 2 / 3]


def test_the_account_of_the_tiny_gpt():
    rows = numbers(account_rows(tiny_gpt()))
    found = {key: both[0] for key, both in rows.items()}
    assert (found["block"], found["blocks:2"], found["embeddings"]) == (12_416, 24_832, 3_712)
    assert (found["ln_f"], found["total_tied"], found["head"]) == (64, 28_608, 3_200)
    assert found["total_untied"] == 28_608 + 3_200
    assert found["mlp_weights"] == pytest.approx(2 / 3)


def test_the_projections_of_day_49():
    assert lines(GPTConfig(1, 1, 1, 3, 12), "attn") == [576, 624]


def test_the_flops_of_gpt2_small():
    rows = {key: flops[-1] for key, flops in numbers(flops_rows(gpt2_small(), [64, 1024])).items()}
    assert rows["matrices"] == 14_155_776
    assert rows["scores"] == 3_145_728
    assert rows["block"] == 17_301_504  # about 17.3 MFLOP
    assert rows["mlp"] == 9_437_184
    assert round(rows["mlp_flops"], 3) == 0.545
    assert rows["head_flops"] == 2 * 768 * 50257


@drawn
@given(keywords=draw.configs())
def test_the_tables_add_up(keywords):
    """In every drawn config the parts are the whole, with and without biases, tied and untied."""
    config = GPTConfig(**keywords)
    rows = numbers(account_rows(config))
    for i, bias in enumerate((False, True)):
        part = {key: both[i] for key, both in rows.items()}
        assert part["block"] == part["attn"] + part["mlp"] + part["norms"]
        whole = part[f"blocks:{config.n_layer}"] + part["embeddings"] + part["ln_f"]
        assert part["total_tied"] == whole
        assert part["total_untied"] == whole + part["head"]
        twin = GPTConfig(**keywords | {"bias": bias, "tied": False})
        assert part["total_untied"] == sum(p.numel() for p in on_meta(twin).parameters())
    for i, T in enumerate((2, 5)):
        part = {key: flops[i] for key, flops in numbers(flops_rows(config, [2, 5])).items()}
        assert part["block"] == part["projections"] + part["scores"] + part["mlp"]
        assert part["matrices"] == part["projections"] + part["mlp"]
        assert part["whole"] == part[f"blocks:{config.n_layer}"] + part["head_flops"]
        assert part["head_flops"] == 2 * config.d_model * config.vocab_size
        assert part["whole"] == forward_flops_per_token(config, T)


def test_the_bytes_of_a_batch():
    assert numbers(batch_rows(64, 1024)) == {
        "each": [524_288, 262_144],
        "together": [1_048_576, 524_288],
    }
