"""What a rule may claim of a number, a tensor or an error; a failed claim is a sentence.

Every claim raises ``Broken`` with two message ids, what was observed and what is allowed, and the
numbers that fill them. The tolerances stand here, each with its reason.
"""

import re

import torch

# Correct code may compute statistics or angles in float32 whatever it is given (unit 6e-8), and a
# model with hot weights multiplies such a rounding by up to a hundred: 2e-5 of the largest number.
ROUNDING = 2e-5
# A whole model in float32: the same, through a few layers. 600 correct models stayed below 1e-5.
DEEP_ROUNDING = 2e-4
# Float16 keeps 11 bits: numbers near 1 are known to 5e-4, a sum of a few dozen to 1e-2.
HALF = 1e-2
# Bfloat16 keeps 8 bits, a factor of 8 fewer.
BFLOAT = 8e-2
# A numerical slope of step 2e-3 against the gradient: curvature, and float32 noise over the step.
SLOPE = 2e-2


class Broken(Exception):
    """A claim that failed: ``observed`` and ``allowed`` are (message id, numbers)."""

    def __init__(self, observed, allowed, **numbers):
        self.observed, self.allowed, self.numbers = observed, allowed, numbers
        super().__init__(f"{observed}; {allowed}; {numbers}")


_trying = {}


def trying(**numbers):
    """Say what is being tried: the numbers that fill the rule's ``tried`` sentence."""
    _trying.clear()
    _trying.update(numbers)


def tried():
    """The numbers of the last ``trying``."""
    return dict(_trying)


def seed(number):
    """Seed torch's generator of this processor, the only one that rules draw from.

    ``torch.manual_seed`` also tells every accelerator that is not there: 0.4 ms a call.
    """
    torch.default_generator.manual_seed(number)


def is_true(condition, observed, allowed, **numbers):
    """The plainest claim, with its own two sentences."""
    if not condition:
        raise Broken(observed, allowed, **numbers)


def tensor(got):
    """The result is a tensor at all."""
    is_true(isinstance(got, torch.Tensor), "no_tensor", "a_tensor", found=type(got).__name__)


def shape(got, want):
    tensor(got)
    is_true(
        tuple(got.shape) == tuple(want),
        "shape",
        "shape",
        found=tuple(got.shape),
        wanted=tuple(want),
    )


def dtype(got, want):
    tensor(got)
    is_true(got.dtype == want, "dtype", "dtype", found=_name(got.dtype), wanted=_name(want))


def device(got, want):
    tensor(got)
    is_true(got.device.type == want, "device", "device", found=got.device.type, wanted=want)


def finite(got, axes=()):
    """No NaN and no infinity."""
    tensor(got)
    bad = ~torch.isfinite(got.detach())
    if bad.any():
        first = bad.nonzero()[0].tolist()
        kind = "NaN" if got[tuple(first)].isnan() else "inf"
        raise Broken(
            "not_finite", "finite", place=_place(first, axes), kind=kind, count=int(bad.sum())
        )


def close(got, want, tolerance=ROUNDING, axes=()):
    """Same shape, finite, and within ``tolerance`` times the largest wanted number (or 1)."""
    want = torch.as_tensor(want)
    shape(got, want.shape)
    finite(got, axes)
    if want.numel() == 0:
        return
    difference = (got.detach().double() - want.detach().double()).abs()
    allowed = tolerance * max(1.0, want.detach().double().abs().max().item())
    worst = difference.max().item()
    if worst > allowed:
        first = (difference == difference.max()).nonzero()[0].tolist()
        raise Broken(
            "differs", "rounding", place=_place(first, axes), difference=worst, most=allowed
        )


def unmoved(got, before, axes=()):
    """Bit for bit the same: equal shapes do equal arithmetic, so nothing may move at all."""
    shape(got, before.shape)
    difference = (got.detach() != before.detach()) & ~(got.isnan() & before.isnan()).detach()
    if difference.any():
        gap = (got.double() - before.double()).abs().nan_to_num(torch.inf)
        first = (gap == gap.max()).nonzero()[0].tolist()
        raise Broken("moved", "not_at_all", place=_place(first, axes), difference=gap.max().item())


def nothing(got, axes=()):
    """Exactly 0: what is hidden gets no share at all."""
    finite(got, axes)
    size = got.detach().abs()
    if (size > 0).any():
        first = (size == size.max()).nonzero()[0].tolist()
        raise Broken("not_zero", "zero", place=_place(first, axes), found=size.max().item())


def moved(got, before, least, axes=()):
    """Every row (all axes but the last) differs by more than ``least`` somewhere."""
    shape(got, before.shape)
    finite(got, axes)
    gap = (got - before).detach().abs().amax(-1)
    if (gap <= least).any():
        first = (gap == gap.min()).nonzero()[0].tolist()
        raise Broken(
            "stayed", "must_move", place=_place(first, axes), moved=gap.min().item(), least=least
        )


def untouched(now, copy, what):
    """An argument still holds what it held before the call."""
    same = torch.equal(now, copy) if isinstance(now, torch.Tensor) else (now == copy).all()
    is_true(same, "input_changed", "input_kept", what=what)


def equal(got, want, what):
    """Two counts, sizes or lists."""
    is_true(got == want, "is", "should_be", what=what, found=got, wanted=want)


def between(value, low, high, what):
    is_true(low <= value <= high, "measured", "range", what=what, found=value, low=low, high=high)


def refuses(call, numbers, what):
    """``call`` raises ValueError, and its text holds each of the numbers (or words)."""
    try:
        call()
    except ValueError as error:
        text = str(error)
        for number in numbers:
            is_true(
                _holds(text, number), "refusal_silent", "refusal_names", number=number, what=what
            )
    except Exception as error:
        raise Broken("other_error", "value_error", found=type(error).__name__, what=what) from error
    else:
        raise Broken("accepted", "value_error", what=what)


def fails(call, what):
    """``call`` raises something: what cannot be is not passed over in silence."""
    try:
        call()
    except Exception:
        return
    raise Broken("accepted", "an_error", what=what)


def answers(call, what):
    """A legal input gets an answer: ``call`` does not raise."""
    try:
        return call()
    except Broken:
        raise
    except Exception as error:
        raise Broken("raised", "an_answer", found=describe(error), what=what) from error


def slope(function, tensors, generator, tolerance=SLOPE):
    """The gradient that autograd reports is the slope of the function, tensor by tensor.

    ``function()`` is a scalar that depends on the ``tensors`` (name to float64 leaf). Along one
    random direction a tensor, the two-sided difference quotient must agree with the gradient.
    """
    step = 2e-3
    _all_free(tensors)
    value = function()
    is_true(value.requires_grad, "detached", "attached")
    found = torch.autograd.grad(value, list(tensors.values()), allow_unused=True)
    for (name, leaf), gradient in zip(tensors.items(), found):
        direction = torch.randn(leaf.shape, generator=generator, dtype=leaf.dtype)
        direction /= direction.norm()
        with torch.no_grad():
            leaf += step * direction
            above = function().item()
            leaf -= 2 * step * direction
            below = function().item()
            leaf += step * direction
        numerical = (above - below) / (2 * step)
        gradient = None if gradient is None else dense(gradient)
        reported = 0.0 if gradient is None else (gradient * direction).sum().item()
        size = 0.0 if gradient is None else gradient.norm().item() / leaf.numel() ** 0.5
        allowed = tolerance * max(size, abs(numerical), 5e-2)
        if not abs(numerical - reported) <= allowed:
            raise Broken("slope", "slope", name=name, numerical=numerical, reported=reported)


def _all_free(leaves):
    """A tensor that takes no gradient is the package's fault, not ours."""
    for name, leaf in leaves.items():
        is_true(leaf.requires_grad, "frozen", "gradient", name=name)


def slope_with_dropout(module, function, tensors, generator, times=4):
    """In training mode, with the same numbers dropped every time, the gradient is the slope too.

    Along a few directions of all tensors at once, each of length 1. Dropout that is drawn from a
    generator of its own cannot be made the same twice: not asked.
    """
    module.train()

    def seeded():
        seed(0)
        return function()

    value = seeded()
    if torch.equal(value, seeded()):
        is_true(value.requires_grad, "detached", "attached")
        found = torch.autograd.grad(value, list(tensors.values()), allow_unused=True)
        for _ in range(times):
            _along_all(seeded, tensors, found, generator)
    module.eval()


def _along_all(function, tensors, gradients, generator):
    """Move all tensors at once, there, back, and where they were; compare the quotient."""
    step = 2e-3
    made = {name: torch.randn(t.shape, generator=generator).to(t) for name, t in tensors.items()}
    made = {name: direction / direction.norm() for name, direction in made.items()}
    values = []
    with torch.no_grad():
        for far in (step, -2 * step, step):
            for name, leaf in tensors.items():
                leaf += far * made[name]
            values += [function().item()] if len(values) < 2 else []
    numerical = (values[0] - values[1]) / (2 * step)
    parts = [
        0.0 if g is None else (dense(g) * d).sum().item() for g, d in zip(gradients, made.values())
    ]
    largest = max(map(abs, parts))
    if not abs(numerical - sum(parts)) <= SLOPE * max(largest, 5e-2):
        names = ", ".join(list(tensors)[:2]) + ", …"
        raise Broken("slope", "slope", name=names, numerical=numerical, reported=sum(parts))


def the_same_in_training(module, function, leaves):
    """Without dropout, train() changes no gradient of the scalar ``function()``; ends in eval()."""
    found = []
    for training in (False, True):
        module.train(training)
        value = function()
        is_true(value.requires_grad, "detached", "attached")
        found.append(torch.autograd.grad(value, list(leaves.values()), allow_unused=True))
    module.eval()
    for name, before, after in zip(leaves, *found):
        if before is not None:
            is_true(after is not None, "no_gradient", "gradient", name=name)
            close(dense(after), dense(before))


def gradients(output, leaves, along):
    """The gradients of ``(output * along).sum()`` by the leaves (name to tensor), all present."""
    shape(output, along.shape)
    is_true(output.requires_grad, "detached", "attached")
    _all_free(leaves)
    # of a scalar: torch loads its symbolic shapes, a third of a second, to check a given gradient
    total = (output * along).sum()
    found = torch.autograd.grad(total, list(leaves.values()), allow_unused=True)
    for name, gradient in zip(leaves, found):
        is_true(gradient is not None, "no_gradient", "gradient", name=name)
    return {name: dense(gradient) for name, gradient in zip(leaves, found)}


def dense(gradient):
    """An embedding may report its rows alone."""
    return gradient if gradient.layout == torch.strided else gradient.to_dense()


def all_learn(module, output, generator, *, silent=None):
    """Along a random direction of the output, every parameter has a finite gradient, not 0.

    ``silent`` asks for it of each of the tensors' numbers but so many: the rows of an unused head
    have none. Only for code without ReLU, which silences a unit by right.
    """
    along = torch.randn(output.shape, generator=generator, dtype=output.dtype)
    leaves = dict(module.named_parameters())
    for name, gradient in gradients(output, leaves, along).items():
        finite(gradient)
        # no gradient of this sum is 0 by symmetry: the smallest of 600 right models was 1e-4
        count = int((gradient.abs() <= 1e-9).sum())
        if silent is None:
            is_true(count < gradient.numel(), "zero_gradient", "gradient", name=name)
        else:
            silent -= count
            is_true(silent >= 0, "rows_without_gradient", "gradient", name=name, count=count)


def describe(error):
    """An exception in one line: its class and the first line of its text, without our names."""
    text = (str(error).strip().splitlines() or [""])[0]
    text = re.sub(r"_gpt_\d+\.?", "", f"{type(error).__name__}: {text}".removesuffix(": "))
    return text if len(text) <= 100 else text[:100].rsplit(" ", 1)[0] + " …"


def _holds(text, number):
    """1.0 is also 1, and the 8 of "1-8" no -8: the form in which a number is written is free."""
    if isinstance(number, str):
        return number in text
    return any(float(found) == number for found in re.findall(r"(?:(?<!\w)-)?\d+(?:\.\d+)?", text))


def _name(kind):
    return str(kind).removeprefix("torch.")


def _place(index, axes):
    """("batch", "position") and [0, 6, 3] give (("batch", 0), ("position", 6)), for the words."""
    return tuple((axis, i) for axis, i in zip(axes, index) if axis)
