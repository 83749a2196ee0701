"""Symptoms of the single step: what it leaves unmoved, and what a checkpoint forgets."""

import functools
import math
import tempfile
from pathlib import Path

import numpy as np
import torch

from .lab import OTHER, TINY, experiment, phrase, random_tokens, seen, symptom
from .training_runs import COUNTING, RATE


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
    margin="reference exactly 0; shown from 0.0098",
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
