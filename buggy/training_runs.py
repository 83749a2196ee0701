"""Symptoms of training: two short runs, one on random tokens and one on counting.

Nobody can predict random tokens: a loss below ln V is a leak or a memory. Counting (0 1 2 ... V-1
0 1 ...) is predictable from one token: a correct model learns it in some thirty steps.
"""

import functools
import math
import tempfile
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional as F

from .lab import OTHER, TINY, experiment, phrase, random_tokens, seen, symptom

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
    margin="",
)
def loss_stuck_at_ln_v(lab):
    loss = ending(on_counting(lab)[1])
    return _counted(lab, abs(loss - LN_V_COUNTING) < 0.3, loss)


@symptom(
    "loss_plateaus_high",
    threshold="between 0.35 and ln V - 0.3 at the end",
    budget="60 steps of counting, V = 24",
    margin="",
)
def loss_plateaus_high(lab):
    loss = ending(on_counting(lab)[1])
    return _counted(lab, LEARNT < loss < LN_V_COUNTING - 0.3, loss)


def _counted(lab, shown, loss):
    return seen(shown, loss, "counting", loss=loss, steps=STEPS, ln_v=LN_V_COUNTING)


@symptom(
    "loss_rises_or_diverges",
    threshold="1.15 times the larger of its first value and ln V",
    budget="60 steps on random tokens, V = 100",
    margin="",
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
    margin="",
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
    margin="",
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


@symptom(
    "weights_that_never_learn",
    threshold="any tensor that is bit for bit what it was",
    budget="four training steps, in the tiny config and in one of all other choices",
    margin="exact",
)
def weights_that_never_learn(lab):
    total, unmoved = 0, []
    for name in ("tiny", "other"):
        count, names = unmoved_tensors(lab, name)
        total, unmoved = total + count, unmoved + names
    if not unmoved:
        return seen(False, 0, "all_moved", total=total, steps=4)
    told = {"count": len(unmoved), "total": total, "steps": 4, "first": unmoved[0]}
    return seen(True, len(unmoved), "unmoved", **told)


@experiment
def unmoved_tensors(lab, name):
    """(number of tensors, names of those that four training steps leave exactly as they were)."""
    config = {"tiny": TINY, "other": OTHER}[name] | {"bias": False}
    model = lab.model(config)
    before = {key: p.detach().clone() for key, p in model.named_parameters()}
    optimizer = lab.optimizer(model, 1e-2)
    for _ in range(4):
        x, y = random_tokens(config["vocab_size"], 2, 8, config["block_size"])
        lab.gpt.training.train_step(model, optimizer, [(x, y)])
    names = [key for key, p in model.named_parameters() if torch.equal(p, before[key])]
    return len(before), names


@symptom(
    "resumed_run_differs",
    threshold="losses differ by 1e-3",
    budget="2 steps and 2 more, unbroken and resumed, by hand and by train, with dropout",
    margin="",
)
def resumed_run_differs(lab):
    by_hand, by_train = resumed(lab, "checkpoint"), resumed(lab, "train")
    what, difference = max([("checkpoint", by_hand), ("train", by_train)], key=lambda two: two[1])
    return seen(
        not difference < 1e-3, difference, "resumed", what=phrase(what), difference=difference
    )


@experiment
def resumed(lab, way):
    """The largest difference between the losses of an unbroken run and of a resumed one."""
    with tempfile.TemporaryDirectory() as folder:
        way = {"checkpoint": _resumed_by_hand, "train": _resumed_by_train}[way]
        whole, broken = way(lab, Path(folder) / "run.pt")
    if len(whole) != len(broken):
        return math.inf
    pairs = [(a, b) for a, b in zip(whole, broken) if not (math.isnan(a) and math.isnan(b))]
    return max((abs(a - b) for a, b in pairs), default=0.0)


def _resumed_by_hand(lab, path):
    training = lab.gpt.training
    pairs = [random_tokens(COUNTING["vocab_size"], 2, 4, 8) for _ in range(4)]

    def run(model, optimizer, start):
        model.train()
        return [training.train_step(model, optimizer, [(x, y)]) for x, y in pairs[start:][:2]]

    model, twin = (lab.model(COUNTING, dropout=0.2) for _ in range(2))
    optimizer, other = lab.optimizer(model, RATE), lab.optimizer(twin, RATE)
    run(model, optimizer, 0)
    training.save_checkpoint(path, model, optimizer, 2)
    whole = run(model, optimizer, 2)
    return whole, run(twin, other, training.load_checkpoint(path, twin, other))


def _resumed_by_train(lab, path):
    """On a text of a single window: every generator draws the same batch."""
    text = np.random.default_rng(0).integers(COUNTING["vocab_size"], size=9)
    train = functools.partial(lab.gpt.training.train, batch_size=4, decay_steps=4, max_lr=RATE)
    state = torch.get_rng_state()
    model = lab.model(COUNTING, dropout=0.2)
    whole = train(model, text, steps=4)
    torch.set_rng_state(state)
    model = lab.model(COUNTING, dropout=0.2)
    train(model, text, steps=2, checkpoint=path)
    random_tokens(2, 7)  # the world goes on before the run is resumed
    twin = lab.model(COUNTING, dropout=0.2)
    return whole[2:], train(twin, text, steps=4, checkpoint=path)
