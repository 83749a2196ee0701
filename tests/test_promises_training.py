"""What the reference promises of training beyond the laws: defaults, checkpoints, a run gone on."""

import os
import re

import numpy as np
import pytest
import torch

from reference import training
from reference.model import GPT, GPTConfig


def config(**more):
    sizes = {"vocab_size": 7, "block_size": 6, "n_layer": 1, "n_head": 2, "d_model": 8}
    return GPTConfig(**sizes | more)


def saved(path, **more):
    model = GPT(config(**more))
    optimizer = training.configure_optimizer(model, 1e-3, 0.1, (0.9, 0.95))
    training.save_checkpoint(path, model, optimizer, 3)
    return model, optimizer


def test_the_checkpoint_of_another_config_is_told_apart(tmp_path):
    path = tmp_path / "run.pt"
    saved(path)
    text = f"{path} belongs to another config: n_layer 1 instead of 2, tied True instead of False"
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        training.load_checkpoint(path, GPT(config(n_layer=2, tied=False)))


def test_a_checkpoint_is_written_beside_itself_and_leaves_nothing(tmp_path, monkeypatch):
    path, seen = tmp_path / "run.pt", []
    replace = os.replace
    monkeypatch.setattr(os, "replace", lambda a, b: (seen.append(str(a)), replace(a, b)))
    saved(path)
    assert seen == [f"{path}.part"]
    assert os.listdir(tmp_path) == ["run.pt"]

    def full(*_):
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="no space left"):
        saved(path)
    assert os.listdir(tmp_path) == ["run.pt"]


def trained(**knobs):
    """The weights after four steps from one start, as one row of numbers."""
    torch.manual_seed(1)
    model = GPT(config())
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(20.0)  # gradients well above norm 1, so that clipping shows
    torch.manual_seed(2)
    training.train(model, np.arange(60) % 7, steps=4, batch_size=3, **knobs)
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


DEFAULTS = {
    "accumulation": 1,
    "max_lr": 1e-3,
    "min_lr": 1e-4,
    "warmup": 0,
    "decay_steps": 4,
    "weight_decay": 0.1,
    "betas": (0.9, 0.95),
    "max_norm": 1.0,
}


def test_the_defaults_of_training():
    assert torch.equal(trained(), trained(**DEFAULTS))
    for name, other in (
        ("warmup", 2),
        ("max_norm", None),
        ("decay_steps", 9),
        ("betas", (0.8, 0.9)),
    ):
        assert not torch.equal(trained(), trained(**{name: other})), name


def test_a_checkpoint_every_hundred_steps_and_one_at_the_end(tmp_path):
    path, there = tmp_path / "run.pt", []
    model = GPT(config(block_size=2))
    knobs = {"steps": 302, "batch_size": 1, "checkpoint": path}
    knobs["after_step"] = lambda step, loss: there.append(path.exists())
    training.train(model, np.arange(9) % 7, **knobs)
    assert there == [False] * 100 + [True] * 202
    assert training.load_checkpoint(path, model) == 302


def test_tensors_of_three_axes_decay_too():
    module = torch.nn.Module()
    for name, size in (("cube", (2, 2, 2)), ("matrix", (2, 2)), ("row", (2,)), ("one", ())):
        module.register_parameter(name, torch.nn.Parameter(torch.ones(size)))
        module.get_parameter(name).grad = torch.zeros(size)
    training.configure_optimizer(module, 0.5, 0.5, (0.9, 0.95)).step()
    left = {name: parameter.mean().item() for name, parameter in module.named_parameters()}
    assert left == {"cube": 0.75, "matrix": 0.75, "row": 1.0, "one": 1.0}


def test_knobs_go_by_their_names():
    with pytest.raises(TypeError):
        training.learning_rate(3, 2, 9, 1.0, 0.1)
    with pytest.raises(TypeError):
        training.train(GPT(config()), np.arange(60) % 7, 1, 2)


def test_the_rate_falls_at_once_where_no_steps_are_left_to_fall():
    knobs = {"warmup": 5, "decay_steps": 5, "max_lr": 1.0, "min_lr": 0.1}
    rates = [training.learning_rate(step, **knobs) for step in (4, 5, 6)]
    assert rates == [0.8, 1.0, 0.1]


def test_half_precision_gradients_are_measured_in_float32():
    """The square of 300 is more than float16 holds; so is the sum of the squares."""
    parameter = torch.nn.Parameter(torch.zeros(4, dtype=torch.float16))
    parameter.grad = torch.full((4,), 300.0, dtype=torch.float16)
    assert training.clip_gradients([parameter], 1.0) == 600.0
    assert parameter.grad.tolist() == pytest.approx([0.5] * 4, rel=1e-3)  # float16 keeps 11 bits


def test_training_puts_the_model_into_training_mode():
    model = GPT(config(dropout=0.5)).eval()
    training.train(model, np.arange(60) % 7, steps=1, batch_size=2)
    assert all(module.training for module in model.modules())


def test_batches_are_made_where_the_model_is(monkeypatch):
    devices, get_batch = [], training.get_batch

    def spy(data, batch_size, block_size, device):
        devices.append(device)
        return get_batch(data, batch_size, block_size, device)

    monkeypatch.setattr(training, "get_batch", spy)
    training.train(GPT(config()), np.arange(60) % 7, steps=2, batch_size=2, accumulation=3)
    assert devices == [torch.device("cpu")] * 6


def run(path=None, steps=7, **knobs):
    """A run from one start, or from the checkpoint at ``path``: its losses and its weights."""
    torch.manual_seed(3)
    model = GPT(config(dropout=0.1))
    data = np.arange(90) ** 2 % 7
    options = {"batch_size": 2, "max_lr": 0.02, "decay_steps": 9, "warmup": 2} | knobs
    losses = training.train(model, data, steps=steps, checkpoint=path, **options)
    return losses, torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


def test_a_run_goes_on_from_its_checkpoint_as_if_never_stopped(tmp_path):
    losses, weights = run()
    first, _ = run(tmp_path / "run.pt", steps=3)
    rest, end = run(tmp_path / "run.pt")
    assert first + rest == losses
    assert torch.equal(end, weights)
    assert run(tmp_path / "run.pt")[0] == []


def test_a_run_is_saved_every_so_often_and_at_its_end(tmp_path, monkeypatch):
    steps, save = [], training.save_checkpoint
    monkeypatch.setattr(
        training,
        "save_checkpoint",
        lambda path, model, optimizer, step: (
            steps.append(step) or save(path, model, optimizer, step)
        ),
    )
    run(tmp_path / "run.pt", checkpoint_every=3)
    assert steps == [3, 6, 7]


def test_a_run_is_told_of_every_step_and_ends_when_asked_to(tmp_path):
    told = []

    def after_step(step, loss):
        told.append((step, loss))
        return step == 5

    losses, _ = run(tmp_path / "run.pt", after_step=after_step)
    assert told == list(enumerate(losses, start=1))
    assert len(losses) == 5
    rest, weights = run(tmp_path / "run.pt")
    assert len(rest) == 2
    assert torch.equal(weights, run()[1])
