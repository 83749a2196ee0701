"""Day 49: the shift, the batches, the loss, and where it starts."""

import itertools
import math
import tempfile
from pathlib import Path

import numpy as np
import torch
from hypothesis import strategies as st

from tests import strategies as draw

from . import claims
from .engine import rule

LOGITS = ("batch", "position", "logit")
INTEGERS = ("int64", "uint16", "int32", "uint8", "int16", "uint32", "int8", "uint64", ">u2")


def _holder(kind, numbers):
    make = {
        "tensor": torch.tensor,
        "array": np.array,
        "tuple": tuple,
        "list": list,
        "range": _range,
    }
    return make[kind](numbers)


def _range(numbers):
    return range(numbers[0], numbers[-1] + 1)


@rule(
    49,
    "data.shift_pair",
    examples=8,
    kind=st.sampled_from(["list", "tensor", "array", "tuple", "range"]),
    L=st.integers(1, 9),
)
def targets_are_the_next_tokens(gpt, kind, L):
    """L + 1 tokens give L inputs and L targets; each target is the token after its input."""
    chunk = _holder(kind, [10 + i for i in range(L + 1)])
    claims.trying(tokens=L + 1)
    x, y = gpt.data.shift_pair(chunk)
    claims.equal(type(x) is type(chunk) and type(y) is type(chunk), True, "same_type")
    x, y = ([int(token) - 10 for token in part] for part in (x, y))  # the places they came from
    claims.equal(len(x), L, "inputs")
    claims.equal(len(y), L, "targets")
    for place, (source, target) in enumerate(zip(x, y)):
        claims.is_true(source == place, "input_from", "input_at", place=place, found=source)
        claims.is_true(
            target == place + 1,
            "target_from",
            "target_at",
            place=place,
            found=target,
            wanted=place + 1,
        )
    claims.equal([int(token) for token in chunk], [10 + i for i in range(L + 1)], "chunk")


def _data(dtype, length, seed):
    """Distinct neighbours up to the dtype's largest id, and where each id stands."""
    most = min(np.iinfo(dtype).max, 2**40)
    step = max(1, (most - length) // length)
    ids = np.array([most - i * step for i in range(length)][::-1], dtype=dtype)
    order = torch.randperm(length, generator=draw.generator(seed)).numpy()
    data = ids[order]
    return data, {int(token): place for place, token in enumerate(data)}


@rule(
    49,
    "data.get_batch",
    examples=4,
    B=st.integers(1, 5),
    T=st.integers(1, 6),
    more=st.integers(0, 9),
    on_disk=st.booleans(),
    seed=draw.seeds,
)
def batches_are_windows_of_the_data(gpt, B, T, more, on_disk, seed):
    """x holds T neighbouring tokens, y those one later; int64 (B, T) from any integer type."""
    for i, dtype in enumerate(INTEGERS):
        _windows(gpt, dtype, B, T, more, on_disk == (i % 2 == 0), seed)


def _windows(gpt, dtype, B, T, more, on_disk, seed):
    data, place = _data(dtype, T + 1 + more, seed)
    copy = data.copy()
    claims.trying(tokens=len(data), B=B, T=T, dtype=dtype)
    with tempfile.TemporaryDirectory() as folder:
        if on_disk:
            path = Path(folder) / "tokens.bin"
            data.tofile(path)
            data = np.memmap(path, dtype=dtype, mode="r")
        x, y = claims.answers(lambda: gpt.data.get_batch(data, B, T), "batch")
        kept = x.clone(), y.clone()
        for _ in range(3):  # a later batch leaves this one alone, and its own writer the data
            other, _ = gpt.data.get_batch(data, B, T)
            if not on_disk:
                other.fill_(0)
        for part, before in zip((x, y), kept):
            claims.untouched(part, before, "batch")
        claims.is_true(np.array_equal(data, copy), "input_changed", "input_kept", what="data")
        data = None  # Windows cannot delete a file that is still mapped
    for part in (x, y):
        claims.shape(part, (B, T))
        claims.dtype(part, torch.int64)
        claims.device(part, "cpu")
    for row_x, row_y in zip(x.tolist(), y.tolist()):
        places = [place.get(token) for token in (*row_x, row_y[-1])]
        known = all(token in place for token in (*row_x, *row_y))
        claims.is_true(known, "no_such_token", "tokens_of_data")
        for t, (source, token) in enumerate(zip(places, row_y)):
            claims.is_true(
                source == places[0] + t, "input_from", "input_at", place=places[0] + t, found=source
            )
            claims.is_true(
                place.get(token) == source + 1,
                "target_from",
                "target_at",
                place=source,
                found=place.get(token),
                wanted=source + 1,
            )


@rule(49, "data.get_batch", B=st.integers(1, 3), T=st.integers(1, 4))
def batches_go_to_the_device_asked_for(gpt, B, T):
    """get_batch(..., device) puts both tensors there; no such device is an error."""
    data = np.arange(20)
    claims.trying(device="cpu")
    x, y = gpt.data.get_batch(data, batch_size=B, block_size=T, device=torch.device("cpu"))
    for part in (x, y):
        claims.device(part, "cpu")
        claims.shape(part, (B, T))
    claims.trying(device="nowhere")
    claims.fails(lambda: gpt.data.get_batch(data, B, T, "nowhere"), "device")


def _starts(gpt, B, T, windows):
    """The starts of B rows drawn from data with so many windows."""
    x, _ = gpt.data.get_batch(np.arange(T + windows), B, T)
    claims.shape(x, (B, T))
    return x[:, 0].tolist()


@rule(49, "data.get_batch", T=st.integers(1, 5))
def every_window_is_equally_likely(gpt, T):
    """The first and the last window are drawn as often as any, also when rows outnumber windows."""
    for windows in (1, 2, 3, 5):
        claims.trying(windows=windows, rows=600)
        starts = claims.answers(lambda windows=windows: _starts(gpt, 600, T, windows), "batch")
        expected, share = 600 / windows, 1 / windows
        spread = 6.5 * math.sqrt(600 * share * (1 - share))  # a chance of 1e-10 a count
        for start in range(windows):
            count = starts.count(start)
            claims.is_true(
                abs(count - expected) <= spread,
                "window_count",
                "window_range",
                window=start,
                found=count,
                low=max(0, math.ceil(expected - spread)),
                high=math.floor(expected + spread),
            )


@rule(49, "data.get_batch", T=st.integers(1, 5))
def rows_are_drawn_independently(gpt, T):
    """Where a row starts says nothing of the next row, nor of the next batch."""
    claims.trying(windows=3, rows=1800)
    starts = _starts(gpt, 1800, T, 3)
    pairs = list(zip(starts[::2], starts[1::2]))
    for pair in itertools.product(range(3), repeat=2):
        # 900 pairs in 9 kinds: 100 each, give or take 9.4; six and a half times that
        claims.between(pairs.count(pair), 39, 161, "pairs_of_starts")
    twice = [len(set(_starts(gpt, 2, T, 3))) == 1 for _ in range(300)]
    # with replacement: 2 rows from 3 windows agree 1 time in 3, 100 times give or take 8.2
    claims.between(sum(twice), 47, 153, "pairs_of_starts")
    batches = {tuple(_starts(gpt, 8, T, 1000)) for _ in range(4)}
    claims.equal(len(batches), 4, "different_batches")
    data = np.arange(2**22, dtype=np.int32)  # more than int16 counts, and than people cut off
    firsts = gpt.data.get_batch(data, 256, T)[0][:, 0] // 2**20
    for quarter in range(4):  # 64, give or take 7; six and a half times that
        claims.between((firsts == quarter).sum().item(), 19, 109, "starts_in_a_quarter")


@rule(49, "data.get_batch", T=st.integers(1, 6))
def too_little_data_is_refused(gpt, T):
    """Data without one window of block_size + 1 tokens is a ValueError with both numbers."""
    for length in sorted({T, T - 1, 0}):
        _too_little(gpt, T, length)


def _too_little(gpt, T, length):
    claims.trying(tokens=length, T=T)
    numbers = (length,)
    claims.refuses(lambda: gpt.data.get_batch(np.arange(length), 2, T), numbers, "short_data")
    try:
        gpt.data.get_batch(np.arange(length), 2, T)
    except ValueError as error:
        named = claims._holds(str(error), T) or claims._holds(str(error), T + 1)
        claims.is_true(named, "refusal_silent", "refusal_names", number=T, what="short_data")


def _law(logits, y, ignore_index=-100):
    """Mean over the counted targets of log(sum of exp) minus the target's logit."""
    rows, targets = logits.double().flatten(0, 1), y.flatten()
    counted = targets != ignore_index
    rows, targets = rows[counted], targets[counted]
    top = rows.amax(1)
    total = (rows - top[:, None]).exp().sum(1).log() + top
    return (total - rows[torch.arange(len(targets)), targets]).mean()


def _case(seed, B, T, V, scale=2.0, dtype=torch.float64):
    logits = (draw.normal(seed, B, T, V) * scale).to(dtype)
    return logits, draw.tokens(seed + 1, B, T, V)


@rule(
    49,
    "loss.next_token_loss",
    examples=8,
    B=st.integers(1, 4),
    T=st.integers(1, 6),
    V=st.integers(2, 11),
    scale=st.sampled_from([2.0, 0.0, 60.0, 1e4]),
    dtype=draw.float_dtypes,
    seed=draw.seeds,
)
def the_loss_is_the_surprise_at_the_targets(gpt, B, T, V, scale, dtype, seed):
    """Mean of -ln softmax(logits)[target]: ln V for equal logits, 0 for certainty that is right."""
    logits, y = _case(seed, B, T, V, scale, dtype)
    copies = logits.clone(), y.clone()
    claims.trying(B=B, T=T, V=V)
    got = gpt.loss.next_token_loss(logits, y)
    claims.close(got, _law(logits, y))
    claims.untouched(logits, copies[0], "logits")
    claims.untouched(y, copies[1], "targets")
    many, targets = _case(seed, 3, 401, V, 2.0, dtype)  # more than are computed at a time
    claims.close(gpt.loss.next_token_loss(many, targets), _law(many, targets))
    sure = 80.0 * torch.nn.functional.one_hot(y, V).to(dtype)
    claims.close(gpt.loss.next_token_loss(sure, y), torch.tensor(0.0))


@rule(
    49,
    "loss.next_token_loss",
    rank=1,
    examples=3,
    B=st.integers(1, 4),
    T=st.integers(2, 6),
    V=st.integers(3, 11),
    seed=draw.seeds,
)
def ignored_targets_do_not_count(gpt, B, T, V, seed):
    """Targets equal to ignore_index leave the mean; every other target counts once."""
    for ignored, more in ((-100, ()), (-100, (-100,)), (-1, (-1,)), (0, (0,)), (2, (2,))):
        logits, y = _case(seed, B, T, V)
        y[draw.normal(seed + 2, B, T) > 0.5] = ignored
        y[0, 0] = 1  # all ignored is open
        y[-1, -1] = ignored
        _ignored(gpt, logits.requires_grad_(), y, ignored, more)


def _ignored(gpt, logits, y, ignored, more):
    claims.trying(B=len(y), T=y.size(1), ignored=int((y == ignored).sum()))
    got = gpt.loss.next_token_loss(logits, y, *more)
    claims.close(got, _law(logits, y, ignored))
    gradient = claims.gradients(got, {"logits": logits}, torch.ones_like(got))["logits"]
    counted = (y != ignored)[..., None]
    one_hot = torch.nn.functional.one_hot(y.clamp(min=0), logits.size(-1))
    p = logits.detach().softmax(-1) - one_hot
    claims.close(gradient, p * counted / counted.sum(), axes=LOGITS)


@rule(
    49,
    "loss.next_token_loss",
    B=st.integers(1, 4),
    T=st.integers(1, 6),
    V=st.integers(2, 11),
    scale=st.sampled_from([1.0, 50.0]),
    seed=draw.seeds,
)
def the_gradient_of_the_loss_is_p_minus_one_hot(gpt, B, T, V, scale, seed):
    """Every position pulls: (softmax(logits) - onehot(target)) / (B T)."""
    logits, y = _case(seed, B, T, V, scale)
    logits.requires_grad_()
    claims.trying(B=B, T=T, V=V)
    got = gpt.loss.next_token_loss(logits, y)
    gradient = claims.gradients(got, {"logits": logits}, torch.ones_like(got))["logits"]
    want = (logits.detach().softmax(-1) - torch.nn.functional.one_hot(y, V)) / (B * T)
    claims.close(gradient, want, axes=LOGITS)


@rule(49, "loss.next_token_loss", examples=3, dtype=draw.half_dtypes, seed=draw.seeds)
def the_loss_is_computed_in_float32(gpt, dtype, seed):
    """From logits in 16 bits the loss is as exact as those logits allow."""
    claims.trying(dtype=str(dtype).removeprefix("torch."))
    for i in range(6):
        logits, y = _case(seed + 10 * i, 3, 50, 300, 1.0, dtype)
        got = claims.answers(lambda x=logits, y=y: gpt.loss.next_token_loss(x, y), "loss")
        claims.finite(got)
        law = _law(logits, y).item()
        # a loss that is returned in 16 bits is rounded once: by half a unit of its last bit
        allowed = law * (torch.finfo(got.dtype).eps / 2 if got.dtype == dtype else 1e-5)
        leaf = logits.clone().requires_grad_()
        loss = gpt.loss.next_token_loss(leaf, y)
        found = claims.gradients(loss, {"logits": leaf}, torch.ones_like(loss))["logits"]
        want = logits.double().softmax(-1) - torch.nn.functional.one_hot(y, 300)
        # it comes back in 16 bits: rounded once
        claims.close(found.double() * y.numel(), want, claims.HALF, LOGITS)
        difference = abs(got.item() - law)
        claims.is_true(
            difference <= allowed, "differs_by", "at_most", difference=difference, most=allowed
        )


@rule(49, "model.GPT", rank=2, examples=3, seed=draw.seeds)
def the_first_loss_is_near_ln_v(gpt, seed):
    """A new model knows nothing: on random targets its loss is ln V, at the lesson's size."""
    claims.seed(seed)
    lesson = {"vocab_size": 100, "block_size": 16, "n_layer": 2, "n_head": 4, "d_model": 32}
    model = gpt.model.GPT(draw.config(gpt, lesson | {"bias": False})).eval()
    idx, y = draw.tokens(seed, 64, 16, 100), draw.tokens(seed + 1, 64, 16, 100)
    claims.trying(V=100)
    loss = _law(model(idx), y).item()
    # 1024 targets: the mean is known to 0.02, and starts some 0.004 above ln V (600 models: 0.054)
    claims.between(loss, math.log(100) - 0.1, math.log(100) + 0.1, "first_loss")
