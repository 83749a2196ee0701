"""Beyond day 49: writing on from a prompt."""

import itertools
from types import SimpleNamespace

import torch
from hypothesis import strategies as st
from torch import nn

from tests import strategies as draw

from . import claims
from .engine import rule

V = 7


class Counter(nn.Module):
    """A rigged model: sure that the next token is last + 1 + the number of 0s it can see, mod V.

    It so tells from the outside which tokens it was given; it remembers how long they were.
    """

    def __init__(self, block_size, mode=True):
        super().__init__()
        self.config = SimpleNamespace(block_size=block_size, vocab_size=V)
        self.anchor = nn.Parameter(torch.zeros(()))
        self.lengths, self.with_gradient = [], False
        self.train(mode)

    def forward(self, idx):
        self.lengths.append(idx.size(1))
        self.with_gradient |= torch.is_grad_enabled() and not torch.is_inference_mode_enabled()
        zeros = (idx == 0).cumsum(1)
        return 50.0 * nn.functional.one_hot((idx + 1 + zeros) % V, V) + self.anchor


class Fixed(nn.Module):
    """A rigged model: the same logits at every place but the first, whatever came before.

    What stands behind a place does not count, as in any GPT: texts may be filled up to one length.
    """

    def __init__(self, logits, block_size=4):
        super().__init__()
        self.config = SimpleNamespace(block_size=block_size, vocab_size=len(logits))
        self.register_buffer("logits", logits)
        self.anchor = nn.Parameter(torch.zeros(()))
        self.calls = 0

    def forward(self, idx):
        self.calls += 1
        # what is added to all logits of a row changes no share, but rows can be told apart
        rows = 3.0 * (torch.arange(len(idx)) % 5).view(-1, 1, 1)
        out = self.logits.expand(*idx.shape, -1) + rows
        out[:, 0] = -self.logits
        return out + self.anchor


def _right(idx, steps, block_size):
    """What Counter writes, computed token by token."""
    rows = idx.tolist()
    for _ in range(steps):
        for row in rows:
            seen = row[-block_size:]
            row.append((seen[-1] + 1 + seen.count(0)) % V)
    return rows


@rule(
    "X",
    "sampling.generate",
    examples=3,
    T=st.integers(1, 6),
    steps=st.integers(3, 9),
    block_size=st.integers(1, 5),
    seed=draw.seeds,
)
def the_text_goes_on_from_the_prompt(gpt, T, steps, block_size, seed):
    """Prompt, then tokens chosen one by one from the last logits after the last block_size."""
    for B, length, temperature, top_k in (
        (3, steps, 0.0, None),
        (1, steps, 0, 3),
        (3, steps, 1.0, None),
        (2, 1, 0.5, 1),
        (2, 0, 1.0, None),
    ):
        _goes_on(gpt, B, T, length, block_size, temperature, top_k, seed)
    _goes_on(gpt, 3, 6, 5, 2, 0.0, None, seed)  # the prompt alone is longer than the context
    _goes_on(gpt, 1, 2, 9, 1, 0.0, None, seed)  # every token of the vocabulary is passed
    _goes_on(gpt, 1, 2, 130, 4, 0.0, None, seed)


def _goes_on(gpt, B, T, steps, block_size, temperature, top_k, seed):
    model = Counter(block_size)
    idx = draw.tokens(seed, B, T, V)
    copy = idx.clone()
    claims.trying(T=T, steps=steps, block_size=block_size)
    got = claims.answers(
        lambda: gpt.sampling.generate(model, idx, steps, temperature, top_k), "generation"
    )
    claims.shape(got, (B, T + steps))
    claims.dtype(got, torch.int64)
    claims.untouched(idx, copy, "prompt")
    claims.is_true(torch.equal(got[:, :T], idx), "prompt_lost", "prompt_first")
    longest = max(model.lengths, default=0)
    claims.is_true(
        longest <= block_size, "context_long", "context_short", found=longest, most=block_size
    )
    wrong = [
        i
        for i in range(T, T + steps)
        if got[:, i].tolist() != [r[i] for r in _right(idx, steps, block_size)]
    ]
    claims.is_true(not wrong, "wrong_token", "right_token", place=wrong[0] if wrong else 0, T=T)


@rule("X", "sampling.generate", temperature=st.sampled_from([0.0, 1.0]), mode=st.booleans())
def writing_leaves_the_model_as_it_was(gpt, temperature, mode):
    """train or eval mode is kept, also after an error; no gradient is recorded."""
    model = Counter(4, mode)
    model.anchor.grad = torch.ones(())
    claims.trying(mode="train" if mode else "eval")
    prompt = torch.ones(2, 3, dtype=torch.long)
    got = claims.answers(lambda: gpt.sampling.generate(model, prompt, 3, temperature), "generation")
    claims.is_true(
        not got.requires_grad and not model.with_gradient, "gradients_on", "gradients_off"
    )
    claims.is_true(torch.is_grad_enabled(), "gradients_lost", "gradients_back")
    claims.is_true(model.training == mode, "other_mode", "same_mode", name="model")

    for error in (ArithmeticError, KeyboardInterrupt):  # Ctrl-C too

        def fail(*_, error=error, **__):
            raise error("the model fails")

        model.forward = fail
        try:
            gpt.sampling.generate(model, torch.ones(2, 3, dtype=torch.long), 3, temperature)
        except error:
            pass
        else:
            raise claims.Broken("error_hidden", "error_told")
        claims.is_true(model.training == mode, "other_mode_after_error", "same_mode", name="model")
    claims.is_true(torch.is_grad_enabled(), "gradients_lost", "gradients_back")
    claims.is_true(model.anchor.requires_grad, "frozen", "gradient", name="model")
    claims.is_true(model.anchor.grad is not None, "no_gradient", "same_gradient", name="model")
    with torch.no_grad():
        gpt.sampling.generate(Counter(4, mode), prompt, 3, temperature)
        claims.is_true(not torch.is_grad_enabled(), "gradients_on", "gradients_off")


def _frequencies(gpt, logits, n, *, steps=1, **options):
    """How often each token comes last in n texts; the options are generate's own."""
    idx = torch.zeros(n, 2, dtype=torch.long)
    got = gpt.sampling.generate(Fixed(logits), idx, steps, **options)
    claims.shape(got, (n, 2 + steps))
    return torch.bincount(got[:, -1], minlength=len(logits)) / n


def _drawn_as(found, wanted, n):
    for token, (share, law) in enumerate(zip(found.tolist(), wanted.tolist())):
        # Bernstein's inequality, for rare tokens too: a chance of 2e-10
        spread = 6.8 * (law * (1 - law) / n) ** 0.5 + (7.7 / n if law > 0 else 0.0)
        claims.is_true(
            abs(share - law) <= spread,
            "drawn",
            "drawn_range",
            token=token,
            share=share,
            low=law - spread,
            high=law + spread,
        )


@rule("X", "sampling.generate", examples=2, steps=st.integers(1, 3), seed=draw.seeds)
def tokens_are_drawn_from_the_tempered_softmax(gpt, steps, seed):
    """Shares are softmax(logits / temperature), among the top_k largest logits alone."""
    logits = draw.normal(seed, 6, dtype=torch.float32, scale=1.5)
    n = 2000
    if _row_by_row(gpt):  # right too, and slow
        n, steps = 500, 1
    claims.trying(temperature=1.0, top_k="-")
    plain = claims.answers(lambda: _frequencies(gpt, logits, n, steps=steps), "generation")
    _drawn_as(plain, logits.softmax(0), n)
    _rare_ones_too(gpt, seed, n)
    claims.trying(temperature=0.1, top_k="-")  # as sharp as 1 on ten times the logits
    _drawn_as(_frequencies(gpt, 0.1 * logits, n, temperature=0.1), logits.softmax(0), n)
    for temperature, top_k in itertools.product((0.5, 2.5, 1.0), (None, 1, 2, 4, 5, 6, 7, 50)):
        kept = logits.topk(min(top_k or 6, 6)).indices
        law = torch.full_like(logits, -torch.inf)
        law[kept] = logits[kept]
        claims.trying(temperature=temperature, top_k=top_k)
        options = {"temperature": temperature, "top_k": top_k}
        found = claims.answers(
            lambda o=options: _frequencies(gpt, logits, n, steps=steps, **o), "generation"
        )
        _drawn_as(found, (law / temperature).softmax(0), n)


def _row_by_row(gpt):
    """Whether the model is asked about one text at a time."""
    model = Fixed(torch.zeros(5))
    claims.answers(lambda: gpt.sampling.generate(model, torch.zeros(8, 2).long(), 1), "generation")
    return model.calls >= 8


def _rare_ones_too(gpt, seed, n):
    """Without top_k the less likely half of a large vocabulary keeps its share."""
    logits = draw.normal(seed, 500, dtype=torch.float32)
    law = logits.softmax(0)
    rare = law < law.median()
    found = claims.answers(lambda: _frequencies(gpt, logits, n), "generation")
    wanted = law[rare].sum().item()
    spread = 6.5 * (wanted * (1 - wanted) / n) ** 0.5
    claims.between(found[rare].sum().item(), wanted - spread, wanted + spread, "rare_tokens")


@rule("X", "sampling.generate", seed=draw.seeds)
def every_row_is_drawn_for_itself(gpt, seed):
    """Rows with the same prompt are written on differently, and so are two calls and two steps."""
    idx = torch.zeros(60, 2, dtype=torch.long)
    claims.trying(rows=60)
    model = Fixed(torch.zeros(5))
    first = gpt.sampling.generate(model, idx, 40)
    second = gpt.sampling.generate(model, idx, 40)
    claims.shape(first, (60, 42))
    claims.is_true(not torch.equal(first, second), "same_again", "new_draws")
    claims.equal(len({tuple(row) for row in first.tolist()}), 60, "different_rows")
    # 5 equal tokens: steps agree with their neighbours 1 time in 5, of 2340 pairs
    again = (first[:, 3:] == first[:, 2:-1]).float().mean().item()
    claims.between(again, 0.2 - 6.5 * 0.0083, 0.2 + 6.5 * 0.0083, "repeated")


@rule("X", "sampling.generate", seed=draw.seeds)
def temperature_zero_is_greedy(gpt, seed):
    """At temperature 0, and with top_k = 1, the largest logit wins every time; so do tiny ones."""
    logits = draw.normal(seed, 6, dtype=torch.float32)
    best = int(logits.argmax())
    for temperature, top_k in ((0, None), (0.0, 3), (1.0, 1), (0.02, None), (1e-3, None)):
        claims.trying(temperature=temperature, top_k=top_k)
        if top_k is None and temperature == 0:  # a lead that 16 bits do not tell
            logits[best] = logits.sort().values[-2] + 1e-4
        if temperature == 0.02:
            logits[best] += 1  # 50 after the division
        if temperature == 1e-3:
            logits[best] = logits.sort().values[-2] + 0.05  # the same, from a narrow lead
        found = claims.answers(
            lambda t=temperature, k=top_k: _frequencies(gpt, logits, 200, temperature=t, top_k=k),
            "generation",
        )
        claims.is_true(
            found[best].item() == 1.0, "drawn_less", "drawn_always", share=found[best].item()
        )


@rule("X", "sampling.generate")
def impossible_draws_are_refused(gpt):
    """temperature < 0 and top_k < 1 are ValueErrors."""
    idx = torch.zeros(1, 1, dtype=torch.long)
    for temperature, top_k in ((-1.0, None), (-0.5, 2), (1.0, 0), (0, -3)):
        claims.trying(temperature=temperature, top_k=top_k)
        model = Counter(4)
        claims.refuses(
            lambda m=model, t=temperature, k=top_k: gpt.sampling.generate(m, idx, 2, t, k),
            (),
            "draw",
        )
        claims.is_true(model.training, "other_mode_after_error", "same_mode", name="model")


@rule("X", "sampling.generate", rank=1, keywords=draw.configs(), seed=draw.seeds)
def writing_is_done_in_eval_mode(gpt, keywords, seed):
    """A model that is found in training writes what it writes in eval mode: nothing is dropped."""
    model = draw.model(gpt, keywords | {"dropout": 0.5}, seed)
    idx = draw.tokens(seed, 3, 3, keywords["vocab_size"])
    claims.trying(steps=4)
    want = gpt.sampling.generate(model, idx, 4, temperature=0.0)
    got = gpt.sampling.generate(model.train(), idx, 4, temperature=0.0)
    odd = [name for name, module in model.named_modules() if not module.training]
    claims.is_true(not odd, "other_mode", "same_mode", name=(odd[0] or "GPT") if odd else "")
    claims.shape(got, want.shape)
    claims.is_true(torch.equal(got, want), "text_dropped", "text_kept")


@rule(
    "X",
    "sampling.generate",
    rank=1,
    keywords=draw.configs(),
    steps=st.integers(1, 5),
    seed=draw.seeds,
)
def a_real_model_writes_its_most_likely_tokens(gpt, keywords, steps, seed):
    """Greedy text from a GPT, past its context, is the argmax of its own logits."""
    model = draw.model(gpt, keywords | {"dropout": 0.3}, seed)
    T = keywords["block_size"] - 1
    idx = draw.tokens(seed, 2, T, keywords["vocab_size"])
    claims.trying(T=T, steps=steps, block_size=keywords["block_size"])
    got = gpt.sampling.generate(model, idx, steps, temperature=0.0)
    with torch.no_grad():
        for i in range(T, T + steps):
            logits = model(got[:, :i][:, -keywords["block_size"] :].contiguous())[:, -1]
            claims.is_true(
                torch.equal(got[:, i], logits.argmax(1)), "wrong_token", "right_token", place=i, T=T
            )
