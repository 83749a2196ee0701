"""Symptoms of training: two short runs, one on random tokens and one on counting.

Nobody can predict random tokens: a loss below ln V is a leak or a memory. Counting (0 1 2 ... V-1
0 1 ...) is predictable from one token: a correct model learns it in some thirty steps.
"""

import math

import numpy as np
import torch
from torch.nn import functional as F

from .lab import experiment, phrase, random_tokens, seen, symptom

# Four tokens of context and 64 rows: the shorter the rows, the sooner a leak is found.
RANDOM = {"vocab_size": 100, "block_size": 4, "n_layer": 1, "n_head": 4, "d_model": 32}
COUNTING = RANDOM | {"vocab_size": 24, "block_size": 8}
BATCH, RATE = 64, 2e-2
STEPS = 60
LEARNT = 0.35  # a loss below which a model claims to have learnt to count
LN_V, LN_V_COUNTING = math.log(RANDOM["vocab_size"]), math.log(COUNTING["vocab_size"])


@experiment
def on_random_tokens(lab):
    """(model, losses) of a run on tokens that nobody can predict."""
    text = np.random.default_rng(lab.seed).integers(RANDOM["vocab_size"], size=20_000)
    return _train(lab, RANDOM, text)


@experiment
def on_counting(lab):
    """(model, losses) of a run on 0 1 2 ... V-1 0 1 ..."""
    return _train(lab, COUNTING, np.arange(20_000) % COUNTING["vocab_size"])


def _train(lab, config, text):
    """Constant rate, no decay, no clipping: only the gradients of the package move the weights."""
    model = lab.model(config, bias=False)
    plan = {"warmup": 0, "max_lr": RATE, "min_lr": RATE, "weight_decay": 0.0, "max_norm": None}
    losses = lab.gpt.training.train(model, text, steps=STEPS, batch_size=BATCH, **plan)
    return model, [float(loss) for loss in losses]


def ending(losses):
    """The mean of the last five losses."""
    return sum(losses[-5:]) / 5


@symptom(
    "loss_stuck_at_ln_v",
    threshold="ln V - 0.3 at the end",
    budget="60 steps of counting, V = 24",
    margin="reference to 0.001, other faults to 2.3; shown at 3.17 to 3.18 (ln V is 3.178)",
)
def loss_stuck_at_ln_v(lab):
    loss = ending(on_counting(lab)[1])
    return _counted(lab, abs(loss - LN_V_COUNTING) < 0.3, loss)


@symptom(
    "loss_plateaus_high",
    threshold="over 1.0 at the end, or over 0.35 and no longer falling; under ln V - 0.3",
    budget="60 steps of counting, V = 24; falling: by a fifth in the last 20",
    margin="reference to 0.001; shown from 0.64, at 0.92 or more of where it was 20 steps before; "
    "what only learns slowly is at 0.68 or less",
)
def loss_plateaus_high(lab):
    losses = on_counting(lab)[1]
    loss = ending(losses)
    falling = loss < 0.8 * ending(losses[:-20])
    high = loss > 1.0 or (loss > LEARNT and not falling)
    return _counted(lab, high and loss < LN_V_COUNTING - 0.3, loss)


def _counted(lab, shown, loss):
    return seen(shown, loss, "counting", loss=loss, steps=STEPS, ln_v=LN_V_COUNTING)


@symptom(
    "loss_rises_or_diverges",
    threshold="1.15 times the larger of its first value and ln V",
    budget="60 steps on random tokens, V = 100",
    margin="reference to 1.03 times, other faults to 1.05; shown from 1.26",
)
def loss_rises_or_diverges(lab):
    first, peak = first_and_peak(on_random_tokens(lab)[1])
    return seen(rises(first, peak), peak, "peak", first=first, peak=peak, ln_v=LN_V)


def first_and_peak(losses):
    """Where a run starts and the highest that it gets after, NaN being higher than any number."""
    return losses[0], max(losses[1:], key=lambda loss: loss if math.isfinite(loss) else math.inf)


def rises(first, peak):
    """NaN from the start is another symptom."""
    return math.isfinite(first) and not peak <= 1.15 * max(first, LN_V)


@symptom(
    "loss_falls_below_the_data_floor",
    threshold="ln V - 0.05 at the end, of a run that does not jump about",
    budget="60 steps on random tokens, V = 100",
    margin="reference 4.601 to 4.616, other faults from 4.598; shown to 4.52",
)
def loss_falls_below_the_data_floor(lab):
    losses = on_random_tokens(lab)[1]
    loss = ending(losses)
    return seen(falls_below(losses), loss, "floor", loss=loss, steps=STEPS, floor=LN_V)


def falls_below(losses):
    """A run that climbs is all over the place, and now and then below the floor."""
    return ending(losses) < LN_V - 0.05 and not rises(*first_and_peak(losses))


@symptom(
    "validation_far_worse_than_training",
    threshold="3.5 nats worse than a training loss that claims to have learnt something",
    budget="the two runs, then unseen rows, one token at a time",
    margin="reference 0.02 at most, other faults to 2.4; shown from 4.25",
)
def validation_far_worse_than_training(lab):
    random, counting = on_random_tokens(lab)[1], on_counting(lab)[1]
    claims = {"random_tokens": falls_below(random), "counting": ending(counting) < LEARNT}
    rows = []
    for name, losses in (("random_tokens", random), ("counting", counting)):
        train, honest = ending(losses), honest_loss(lab, name)
        rows.append((honest - train if claims[name] else 0.0, name, train, honest))
    gap, name, train, honest = max(rows)
    data = phrase(name)
    return seen(gap > 3.5, gap, "validation", data=data, train=train, honest=honest)


@experiment
def honest_loss(lab, name):
    """Loss on unseen rows of a model that is shown, for each prediction, only what came before."""
    if name == "counting":
        model, rows = on_counting(lab)[0], counted(COUNTING["block_size"] + 1)
    else:
        model, rows = on_random_tokens(lab)[0], random_tokens(RANDOM["vocab_size"], 256, 5)
    model.eval()
    losses = []
    with torch.no_grad():
        for t in range(1, rows.size(1)):
            losses.append(F.cross_entropy(model(rows[:, :t])[:, -1].float(), rows[:, t]).item())
    return sum(losses) / len(losses)


def counted(length):
    """Rows that count, one from each token: (V, length)."""
    V = COUNTING["vocab_size"]
    return (torch.arange(V).unsqueeze(1) + torch.arange(length)) % V
