"""The symptom of half precision: float16 ends at 65,504, and exp(12) is beyond it."""

import torch

from .lab import TINY, phrase, random_tokens, seen, symptom
from .limits import raises


@symptom(
    "overflow_in_half_precision",
    threshold="anything infinite or NaN, or an exception, where float32 is finite",
    budget="float16: attention, softmax, both norms, the loss, and a whole model",
    margin="exact: a correct package has none",
)
def overflow_in_half_precision(lab):
    for what in HALF:
        if half_outcome(lab, what, torch.float32):
            continue
        outcome = half_outcome(lab, what, torch.float16)
        if outcome:
            return seen(True, outcome, "overflow", what=phrase(what), outcome=outcome)
    return seen(False, 0, "no_overflow")


def half_outcome(lab, what, dtype):
    """What is wrong with the result in that dtype, or ""."""
    result, error = lab.attempt(what, lambda: HALF[what](lab.gpt, dtype))
    if error is not None:
        return raises(error)
    if result.isfinite().all():
        return ""
    return "NaN" if result.isnan().any() else "inf"


def _numbers(dtype, *size, scale=1.0):
    return (scale * torch.randn(size)).to(dtype)


def _attention(gpt, dtype):
    # 256 first rows: one of them has a score below -17, where float16 has no exponential left;
    # no two scores are 87 apart, where float32 has none
    q, k, v = (_numbers(dtype, 16, 16, 9, 8, scale=scale) for scale in (10, 1, 1))
    return gpt.attention.attention(q, k, v)


def _norm(name):
    def work(gpt, dtype):
        norm = getattr(gpt.normalization, name)(32).to(dtype)
        return norm(_numbers(dtype, 2, 9, 32, scale=300)).detach()

    return work


def _loss(gpt, dtype):
    return gpt.loss.next_token_loss(_numbers(dtype, 4, 9, 50, scale=100), random_tokens(50, 4, 9))


def _model(gpt, dtype):
    model = gpt.model.GPT(gpt.model.GPTConfig(**TINY)).to(dtype)
    return model(random_tokens(TINY["vocab_size"], 2, 9)).detach()


HALF = {
    "softmax": lambda gpt, dtype: gpt.attention.softmax(20 + _numbers(dtype, 4, 9)),
    "attention": _attention,
    "layernorm": _norm("LayerNorm"),
    "rmsnorm": _norm("RMSNorm"),
    "loss": _loss,
    "half_model": _model,
}
