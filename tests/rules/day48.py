"""Day 48: configuration, positions, weight tying, initialisation, the whole forward pass."""

import dataclasses
import itertools
import math

import torch
from hypothesis import strategies as st

from tests import strategies as draw

from . import claims
from .day43 import filled, with_identity
from .day46 import silence
from .day47 import stream
from .engine import rule

AXES = ("batch", "position", "channel")
LOGITS = ("batch", "position", "logit")
SMALL = {"vocab_size": 7, "block_size": 8, "n_layer": 2, "n_head": 2, "d_model": 8}
IMPOSSIBLE = (
    [({"d_model": d, "n_head": h}, (d, h)) for d, h in ((10, 4), (7, 2), (3, 6))]
    + [({"dropout": p}, (p,)) for p in (1.0, 1.5, -0.1, 2)]
    + [({name: n}, (n,)) for name in (*SMALL, "d_ff") for n in (0, -3)]
    + [({name: "tanh"}, ("tanh",)) for name in ("norm", "mlp", "positions")]
    + [({"mlp": "GELU"}, ("GELU",)), ({"norm": "relu"}, ("relu",))]
)
POSSIBLE = [
    {},
    {"dropout": 0.99},
    dict.fromkeys(SMALL, 1),
    {"d_ff": 1},
    {"n_head": 8},
    {"mlp": "relu"},
    {"mlp": "swiglu", "norm": "rmsnorm", "positions": "rotary", "tied": False, "bias": False},
    {"vocab_size": 50257, "block_size": 131072, "n_layer": 99, "n_head": 25, "d_model": 1600},
    {"d_model": 9, "n_head": 3},
]


@rule(48, "model.GPTConfig")
def a_config_that_cannot_be_is_refused(gpt):
    """ValueError for sizes under 1, heads that do not divide, dropout outside [0, 1), odd words."""
    for wrong, numbers in IMPOSSIBLE:
        claims.trying(config=_short(wrong))
        claims.refuses(lambda wrong=wrong: draw.config(gpt, SMALL | wrong), numbers, "config")


@rule(48, "model.GPTConfig")
def a_config_keeps_what_it_is_given(gpt):
    """What can be is accepted and kept; defaults as documented; nothing can be changed."""
    defaults = {
        "bias": True,
        "dropout": 0.0,
        "norm": "layernorm",
        "mlp": "gelu",
        "positions": "learned",
        "tied": True,
    }
    for right in POSSIBLE:
        claims.trying(config=_short(right))
        config = claims.answers(lambda right=right: draw.config(gpt, SMALL | right), "config")
        for name, value in (defaults | SMALL | right).items():
            claims.equal(getattr(config, name), value, name)
    config = draw.config(gpt, SMALL)
    claims.is_true(config == draw.config(gpt, SMALL), "unequal_configs", "equal_configs")
    try:
        config.n_layer = 3
    except dataclasses.FrozenInstanceError:
        return
    raise claims.Broken("config_changed", "config_frozen")


def _short(keywords):
    return ", ".join(f"{name}={value!r}" for name, value in keywords.items()) or "-"


def _turned(x, positions, theta):
    """RoFormer by complex numbers, in float64: the oracle."""
    pairs = torch.view_as_complex(x.double().unflatten(-1, (-1, 2)).contiguous())
    exponents = torch.arange(pairs.size(-1), dtype=torch.float64) * 2 / x.size(-1)
    angles = positions.double().unsqueeze(-1) * theta**-exponents
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(-2)


def _turning(x, positions):
    """Angles in float32 are known to 6e-8 of the position; doubled twice."""
    return claims.ROUNDING + 3e-7 * positions.abs().max().item()


@rule(
    48,
    "positions.rotary",
    examples=8,
    lead=st.sampled_from([(2, 3), (3,), ()]),
    T=st.integers(1, 9),
    d_k=st.sampled_from([2, 4, 6, 16]),
    dtype=draw.float_dtypes,
    seed=draw.seeds,
)
def positions_turn_pairs_of_channels(gpt, lead, T, d_k, dtype, seed):
    """Channels (2i, 2i + 1) of the token at position t turn by t * 10000^(-2i / d_k)."""
    for length, width in ((T, d_k), (1100, d_k), (T, 128)):
        x = draw.normal(seed, *lead, length, width, dtype=dtype)
        copy = x.clone()
        claims.trying(T=length, d_k=width)
        got = gpt.positions.rotary(x)
        claims.dtype(got, dtype)
        places = torch.arange(length)
        claims.close(got, _turned(x, places, 10000.0), _turning(x, places), AXES[-x.dim() :])
        claims.untouched(x, copy, "x")


@rule(
    48,
    "positions.rotary",
    examples=2,
    T=st.integers(1, 5),
    d_k=st.sampled_from([4, 8]),
    dtype=draw.float_dtypes,
    seed=draw.seeds,
)
def positions_and_theta_may_be_given(gpt, T, d_k, dtype, seed):
    """Given positions, in any order and a row each where wanted, and a given theta are used."""
    for lead in ((2, 3), (3,), ()):
        _turns_as_given(gpt, lead, T, d_k, dtype, seed)


def _turns_as_given(gpt, lead, T, d_k, dtype, seed):
    x = draw.normal(seed, *lead, T, d_k, dtype=dtype)
    far = itertools.product(((T,), (*lead, T)), (1, 10, 1000, 20000), (10000.0, 100.0, 500000.0))
    for size, most, theta in far:
        places = torch.randint(0, 1 + 3 * most, size, generator=draw.generator(seed + 1))
        claims.trying(T=T, d_k=d_k, theta=theta)
        want = _turned(x, places, theta)
        ways = [
            gpt.positions.rotary(x, places, theta),
            gpt.positions.rotary(x, positions=places, theta=theta),
        ]
        if theta == 10000.0:
            ways.append(gpt.positions.rotary(x, places))
        for got in ways:
            claims.close(got, want, _turning(x, places), AXES[-x.dim() :])
        counted = torch.arange(T)
        got, want = gpt.positions.rotary(x, theta=theta), _turned(x, counted, theta)
        claims.close(got, want, _turning(x, counted), AXES[-x.dim() :])


@rule(48, "positions.rotary", examples=2, seed=draw.seeds)
def angles_are_computed_in_float32(gpt, seed):
    """In 16 bits the numbers are rounded, but not the angles: bfloat16 cannot count beyond 256."""
    tolerances = {torch.float16: claims.HALF, torch.bfloat16: claims.BFLOAT}
    for (dtype, tolerance), far in itertools.product(tolerances.items(), (1, 700)):
        x = draw.normal(seed, 2, 5, 8, dtype=dtype)
        places = torch.arange(5) * far + far - 1
        claims.trying(last=int(places[-1]), dtype=str(dtype).removeprefix("torch."))
        got = claims.answers(lambda x=x, at=places: gpt.positions.rotary(x, at), "rotary")
        claims.dtype(got, dtype)
        claims.close(got, _turned(x, places, 10000.0), tolerance, AXES)
        x = draw.normal(seed, 2100, 4, dtype=dtype)  # float16 cannot count beyond 2048
        claims.trying(last=2099, dtype=str(dtype).removeprefix("torch."))
        got = claims.answers(lambda x=x: gpt.positions.rotary(x), "rotary")
        claims.close(got, _turned(x, torch.arange(2100), 10000.0), tolerance, AXES[1:])


@rule(48, "positions.rotary", d_k=st.sampled_from([1, 3, 7]))
def an_odd_width_has_no_pairs(gpt, d_k):
    """rotary refuses an odd d_k and names it."""
    claims.trying(d_k=d_k)
    claims.refuses(lambda: gpt.positions.rotary(torch.ones(2, 3, d_k)), (d_k,), "odd_width")


@rule(48, "positions.rotary", T=st.integers(2, 5), d_k=st.sampled_from([4, 6]), seed=draw.seeds)
def rotary_turns_the_gradient_back(gpt, T, d_k, seed):
    """The gradient of a rotation is the rotation the other way."""
    x = draw.normal(seed, 2, T, d_k).requires_grad_()
    along = draw.normal(seed + 1, 2, T, d_k)
    claims.trying(T=T, d_k=d_k)
    places = torch.arange(T)
    for turned in (gpt.positions.rotary(x), gpt.positions.rotary(x, places)):
        found = claims.gradients(turned, {"x": x}, along)["x"]
        claims.close(found, _turned(along, -places, 10000.0), axes=AXES)


@rule(
    48,
    "attention.MultiHeadAttention",
    rank=2,
    examples=2,
    n_head=st.sampled_from([2, 3]),
    d_k=st.sampled_from([4, 6, 2]),
    T=st.integers(2, 5),
    seed=draw.seeds,
)
def rotary_turns_queries_and_keys_of_every_head(gpt, n_head, d_k, T, seed):
    """With rotary positions q and k of each head turn, and the values do not.

    All projections filled with c: the score of t and s is then
    ``c^2 S_t S_s sum_i 2 cos((t - s) theta_i) / sqrt(d_k)``, however they are laid out.
    """
    for length, positions in ((T, "rotary"), (300, "rotary"), (300, "learned")):
        _turns(gpt, n_head, d_k, length, positions, seed)
    _turns(gpt, 1, 2, 1030, "rotary", seed)  # GPT-2's own context is 1024


def _turns(gpt, n_head, d_k, T, positions, seed):
    c = 0.2
    heads = filled(gpt, c, seed, n_head=n_head, d_k=d_k, positions=positions, block_size=T)
    with_identity(heads)
    B = 2 if T < 1000 else 1
    x = draw.normal(seed, B, T, n_head * d_k)
    total = c * x.sum(-1)  # (B, T)
    frequencies = 10000.0 ** (-torch.arange(0, d_k, 2, dtype=torch.float64) / d_k)
    distance = torch.arange(T)[:, None] - torch.arange(T)
    turned = distance if positions == "rotary" else 0 * distance
    alike = 2 * (turned[..., None] * frequencies).cos().sum(-1) / math.sqrt(d_k)  # (T, T)
    scores = total[:, :, None] * total[:, None, :] * alike
    scores = scores.masked_fill(distance < 0, -torch.inf)
    want = (scores.softmax(-1) @ total[..., None]).expand(B, T, n_head * d_k)
    claims.trying(T=T, n_head=n_head, d_k=d_k)
    claims.close(heads(x), want, 10 * claims.ROUNDING, AXES)


@rule(
    48,
    "model.GPT",
    keywords=draw.configs(),
    B=st.integers(1, 3),
    single=st.booleans(),
    dtype=draw.float_dtypes,
    seed=draw.seeds,
)
def a_logit_for_every_token_of_the_vocabulary(gpt, keywords, B, single, dtype, seed):
    """(B, T) ids give finite logits (B, T, V) at any T up to block_size; ids are not written to."""
    model = draw.model(gpt, keywords, seed, dtype)
    claims.is_true(model.config == draw.config(gpt, keywords), "unequal_configs", "equal_configs")
    for T in (1,) if single else (2, keywords["block_size"]):
        idx = draw.tokens(seed, B, T, keywords["vocab_size"])
        copy = idx.clone()
        claims.trying(B=B, T=T, V=keywords["vocab_size"])
        got = model(idx)
        claims.shape(got, (B, T, keywords["vocab_size"]))
        claims.dtype(got, dtype)
        claims.finite(got, LOGITS)
        claims.untouched(idx, copy, "idx")
        model(draw.tokens(seed + 1, B, T, keywords["vocab_size"]))
        claims.unmoved(model(idx), got, LOGITS)
        strided = idx.mT.contiguous().mT  # as a slice of a longer text is
        with torch.no_grad():
            claims.close(model(strided), got, claims.DEEP_ROUNDING, LOGITS)


@rule(48, "model.GPT", keywords=draw.configs(), more=st.integers(1, 3))
def more_tokens_than_the_context_are_refused(gpt, keywords, more):
    """T over block_size is a ValueError with both numbers, with rotary positions too."""
    model = gpt.model.GPT(draw.config(gpt, keywords)).eval()
    T = keywords["block_size"] + more
    claims.trying(T=T, block_size=keywords["block_size"])
    idx = torch.zeros(2, T, dtype=torch.long)
    for training, recording in itertools.product((False, True), repeat=2):
        with torch.set_grad_enabled(recording):
            model.train(training)
            claims.refuses(lambda: model(idx), (T, keywords["block_size"]), "context")


@rule(
    48,
    "model.GPT",
    rank=1,
    examples=2,
    keywords=draw.configs(),
    dtype=draw.float_dtypes,
    seed=draw.seeds,
)
def the_stream_starts_with_token_plus_position(gpt, keywords, dtype, seed):
    """With silent blocks the logits are lm_head(ln_f(wte[idx] + wpe[0 .. T-1])), unscaled."""
    for positions, size in itertools.product(
        ("learned", "rotary"), (keywords["block_size"], 1, 70)
    ):
        sizes = {"positions": positions, "block_size": size}
        for T in sorted({1, (size + 1) // 2, size}):
            _starts(gpt, keywords | sizes, T, dtype, seed)


def _starts(gpt, keywords, T, dtype, seed):
    model = silence(draw.model(gpt, keywords, seed, dtype))
    idx = draw.tokens(seed, 3, T, keywords["vocab_size"])
    claims.trying(T=T, positions=keywords["positions"])
    claims.equal(draw.places(model) is not None, keywords["positions"] == "learned", "has_wpe")
    x = stream(model, idx, keywords)
    want = model.ln_f(x) @ model.lm_head.weight.T
    claims.close(model(idx), want, 10 * claims.ROUNDING, LOGITS)


@rule(48, "model.GPT", rank=1, keywords=draw.configs(), seed=draw.seeds)
def the_order_of_tokens_counts(gpt, keywords, seed):
    """Places can be told apart with one token repeated and with two tokens exchanged."""
    model = draw.model(gpt, keywords, seed)
    T, V = keywords["block_size"], keywords["vocab_size"]
    idx = draw.tokens(seed, 2, T, V)
    idx[:, 1] = (idx[:, 0] + 1) % V
    swapped = idx.clone()
    swapped[:, :2] = idx[:, :2].flip(1)
    claims.trying(T=T, positions=keywords["positions"])
    claims.moved(model(swapped)[:, 2:], model(idx)[:, 2:], 1e-7, ("batch", "position"))
    if keywords["positions"] == "learned":
        same = model(idx[:, :1].expand(2, T).contiguous())
        claims.moved(same[:, 1:], same[:, :-1], 1e-6, ("batch", "position"))


@rule(48, "model.GPT", rank=1, keywords=draw.configs(tied=False), seed=draw.seeds)
def every_token_and_place_learns(gpt, keywords, seed):
    """Each token that was read has a gradient in wte, each place in wpe; the others have none."""
    model = draw.model(gpt, keywords, seed)
    T, V = keywords["block_size"] - 1, keywords["vocab_size"]
    idx = (
        torch.arange(V - 1).repeat(T)[: (V - 1) // T * T + T].view(-1, T)
    )  # all but the last token
    claims.trying(V=V, T=T)
    logits = model(idx)
    along = draw.normal(seed, *logits.shape)
    leaves = {"wte": model.wte.weight}
    if keywords["positions"] == "learned":
        leaves["wpe"] = draw.places(model)
    for name, gradient in claims.gradients(logits, leaves, along).items():
        learns = gradient.view(-1, keywords["d_model"]).abs().amax(1) > 1e-9
        last = int(idx.max()) if name == "wte" else T - 1
        for row, moved in enumerate(learns.tolist()):
            claims.is_true(
                moved == (row <= last),
                "row_learns" if moved else "row_stays",
                "rows_learn",
                name=name,
                row=row,
                last=last,
            )


@rule(48, "model.GPT", rank=2, keywords=draw.configs(), seed=draw.seeds)
def sequences_are_judged_apart(gpt, keywords, seed):
    """A sequence gets the same logits alone and in a batch."""
    model = draw.model(gpt, keywords, seed)
    idx = draw.tokens(seed, 3, keywords["block_size"], keywords["vocab_size"])
    whole = model(idx)
    claims.trying(B=3)
    for b in range(3):
        alone = model(idx[b : b + 1])
        claims.close(alone, whole[b : b + 1], claims.DEEP_ROUNDING, ("", "position", "logit"))


@rule(
    48,
    "model.GPT",
    examples=2,
    keywords=draw.configs(),
    dtype=draw.float_dtypes,
    seed=draw.seeds,
)
def tied_means_one_tensor(gpt, keywords, dtype, seed):
    """The head is the embedding, the very tensor, when tied; two tensors when not."""
    for tied, positions in itertools.product((True, False), ("learned", "rotary")):
        _is_tied(gpt, keywords | {"tied": tied, "positions": positions}, tied, dtype, seed)


def _is_tied(gpt, keywords, tied, dtype, seed):
    model = gpt.model.GPT(draw.config(gpt, keywords)).to(dtype)
    claims.trying(tied=tied)

    def check():
        same = model.lm_head.weight is model.wte.weight
        claims.is_true(
            same == tied,
            "one_tensor" if same else "two_tensors",
            "tied_true" if tied else "tied_false",
        )

    check()
    claims.shape(model.lm_head.weight, (keywords["vocab_size"], keywords["d_model"]))
    claims.equal(getattr(model.lm_head, "bias", None) is not None, False, "head_has_bias")
    other = gpt.model.GPT(draw.config(gpt, keywords)).to(dtype)
    model.load_state_dict(draw.heat(other, seed).state_dict())
    check()
    idx = draw.tokens(seed, 2, 4, keywords["vocab_size"])
    claims.unmoved(model.eval()(idx), other.eval()(idx), LOGITS)
    start = model.wte.weight.detach().clone()
    claims.is_true(model.wte.weight.requires_grad, "frozen", "gradient", name="wte")
    model(idx)[..., 0].sum().backward()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.grad is not None:
                parameter -= 0.1 * parameter.grad
    check()
    claims.is_true(not torch.equal(model.wte.weight, start), "never_moves", "learns", name="wte")


@rule(
    48,
    "model.GPT",
    keywords=draw.configs(n_head=4),
    n_layer=st.sampled_from([3, 2, 1]),
    d_k=st.sampled_from([8, 12]),
    seed=draw.seeds,
)
def matrices_start_small_and_writers_smaller(gpt, keywords, n_layer, d_k, seed):
    """Normal with std 0.02, the matrices that write to the stream 0.02 / sqrt(2 n_layer)."""
    size = {
        "n_layer": n_layer,
        "d_model": 4 * d_k,
        "d_ff": None,
        "vocab_size": 60,
        "block_size": 24,
    }
    for mlp in ("gelu", "swiglu", "relu"):
        _starts_small(gpt, keywords | {"mlp": mlp}, size, seed)


def _starts_small(gpt, keywords, size, seed):
    n_layer = size["n_layer"]
    claims.seed(seed)
    model = gpt.model.GPT(draw.config(gpt, keywords | size))
    plain = dict(
        gpt.model.GPT(draw.config(gpt, keywords | size | {"bias": False})).named_parameters()
    )
    writers = {
        id(p)
        for name, p in model.named_parameters(remove_duplicate=False)
        if name.endswith(("out_proj.weight", "w2.weight", "w_down.weight"))
    }
    pooled = []
    for name, parameter in model.named_parameters():
        numbers = parameter.detach().double()
        claims.trying(name=name, n_layer=n_layer)
        if parameter.dim() < 2 or name not in plain:
            _starts_plain(name, numbers, name not in plain)
            continue
        std = 0.02 / math.sqrt(2 * n_layer) if id(parameter) in writers else 0.02
        # the root mean square of n normal numbers is known to 1 / sqrt(2 n): six times that
        spread = 6 / math.sqrt(2 * numbers.numel())
        rms = numbers.square().mean().sqrt().item()
        claims.between(rms, std * (1 - spread), std * (1 + spread), "start_std")
        mean = 6 * std / math.sqrt(numbers.numel())
        claims.between(numbers.mean().item(), -mean, mean, "start_mean")
        pooled.append(numbers.flatten() / std)
    numbers = torch.cat(pooled)
    # the fourth moment of normal numbers is 3, cut off at three deviations 2.7, of uniform numbers
    # 1.8; known to sqrt(96 / n)
    spread = 6 * math.sqrt(96 / numbers.numel())
    low = min(2.4, 3 - spread)
    claims.between(numbers.pow(4).mean().item(), low, 3 + spread, "fourth_moment")


def _starts_plain(name, numbers, added_by_bias):
    """Biases start at 0, gains at 1, or at 0 where they are used as 1 + w (day 46 sees which)."""
    if numbers.dim() >= 2:
        return  # a bias kept as a matrix: GPT cannot tell it from a weight
    gain = not added_by_bias and not name.endswith("bias")
    start = 1.0 if gain and numbers[0] != 0 else 0.0
    claims.close(numbers, torch.full_like(numbers, start))


@rule(
    48,
    "model.GPT",
    rank=1,
    examples=3,
    keywords=draw.configs(),
    dropout=st.sampled_from([0.3, 0.6]),
    seed=draw.seeds,
)
def dropout_acts_in_training_only(gpt, keywords, dropout, seed):
    """At 0 it does nothing, in eval mode it does nothing, in training more of it is more noise."""
    plain = draw.model(gpt, keywords, seed)
    idx = draw.tokens(seed, 16, keywords["block_size"], keywords["vocab_size"])
    claims.trying(dropout=dropout)
    want = plain(idx)
    single = draw.model(gpt, keywords, seed, torch.float32).train()(idx)
    claims.close(single, want, claims.DEEP_ROUNDING, LOGITS)
    # training may take another kernel than eval, for it needs the weights to drop some
    claims.close(plain.train()(idx), want, claims.DEEP_ROUNDING, LOGITS)
    slight = draw.model(gpt, keywords | {"dropout": 1e-4}, seed).train()(idx)
    change = ((slight - want).abs().mean() / want.abs().mean()).item()
    # one number in ten thousand is dropped: some 1 % of the tokens notice
    claims.is_true(change < 0.3, "slight_dropout", "slight_change", share=change)
    noise = {}
    for p in (0.03, dropout):
        model = draw.model(gpt, keywords | {"dropout": p}, seed)
        claims.close(model(idx), want, claims.DEEP_ROUNDING, LOGITS)
        model.train()
        runs = torch.stack([model(idx) for _ in range(4)])
        claims.finite(runs)
        noise[p] = runs.std(0).mean().item()
        claims.is_true(noise[p] > 0, "no_noise", "noise", dropout=p)
        claims.unmoved(model.eval()(idx), model(idx), LOGITS)
    claims.is_true(noise[dropout] > noise[0.03], "less_noise", "more_noise", low=0.03, high=dropout)


@rule(48, "model.GPT", rank=1, keywords=draw.configs(), seed=draw.seeds)
def train_and_eval_reach_every_module(gpt, keywords, seed):
    """train() and eval() set the mode of the model and of all that it holds; a call keeps it."""
    model = gpt.model.GPT(draw.config(gpt, keywords | {"dropout": 0.1}))
    idx = draw.tokens(seed, 2, 3, keywords["vocab_size"])
    for mode in (True, False, True):
        claims.trying(mode="train" if mode else "eval")
        model.train(mode)
        model(idx)
        odd = [name for name, module in model.named_modules() if module.training != mode]
        claims.is_true(not odd, "other_mode", "same_mode", name=(odd[0] or "GPT") if odd else "")


@rule(48, "model.GPT", rank=1, keywords=draw.configs(), seed=draw.seeds)
def a_state_dict_carries_the_whole_model(gpt, keywords, seed):
    """Another model of the config that loads the state gives the same logits."""
    model = draw.model(gpt, keywords, seed)
    twin = gpt.model.GPT(draw.config(gpt, keywords)).double().eval()
    idx = draw.tokens(seed, 2, keywords["block_size"], keywords["vocab_size"])
    want = model(idx)
    claims.trying(tensors=len(model.state_dict()))
    claims.answers(lambda: twin.load_state_dict(model.state_dict()), "state")
    claims.unmoved(twin(idx), want, LOGITS)


@rule(48, "model.GPT", rank=1, keywords=draw.configs(), dtype=draw.half_dtypes, seed=draw.seeds)
def the_model_runs_in_half_precision(gpt, keywords, dtype, seed):
    """A model in 16 bits gives finite logits in 16 bits."""
    model = gpt.model.GPT(draw.config(gpt, keywords)).to(dtype).eval()
    idx = draw.tokens(seed, 2, keywords["block_size"], keywords["vocab_size"])
    claims.trying(dtype=str(dtype).removeprefix("torch."))
    got = claims.answers(lambda: model(idx), "model")
    claims.dtype(got, dtype)
    claims.finite(got, LOGITS)


@rule(48, "model.GPT", rank=2, examples=2, keywords=draw.configs(), seed=draw.seeds)
def the_gradient_of_the_model_is_its_slope(gpt, keywords, seed):
    """Every tensor of the model is told how the logits really change with it."""
    smooth = keywords | {"mlp": keywords["mlp"].replace("relu", "gelu")}
    idx = draw.tokens(seed, 2, 4, keywords["vocab_size"])
    idx[:, 1] = idx[:, 0]  # a token that is read twice learns twice
    along = draw.normal(seed + 1, 2, 4, keywords["vocab_size"]) / 10
    for tied in (True, False):
        model = draw.model(gpt, smooth | {"tied": tied}, seed)
        leaves = dict(model.named_parameters())
        claims.trying(tensors=len(leaves))

        def value(model=model):
            return (model(idx) * along).sum()

        claims.slope(value, leaves, draw.generator(seed))
        claims.the_same_in_training(model, value, leaves)
    dropping = draw.model(gpt, smooth | {"dropout": 0.4}, seed)
    leaves = dict(dropping.named_parameters())
    claims.slope_with_dropout(dropping, lambda: value(dropping), leaves, draw.generator(seed))
