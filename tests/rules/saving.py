"""The training loop: what is saved comes back, and nothing half-written takes its place."""

import contextlib
import os
import tempfile
from pathlib import Path

import torch

from tests import strategies as draw

from . import claims
from .engine import rule
from .steps import _batches

try:
    import resource
except ImportError:  # Windows has no such limits; there torch.save alone is made to fail
    resource = None


def _run(gpt, keywords, seed, dtype=torch.float32):
    """A model in training, its optimiser, and a function that trains it one step further."""
    claims.seed(seed)
    model = gpt.model.GPT(draw.config(gpt, keywords)).to(dtype).train()
    optimizer = gpt.training.configure_optimizer(model, 1e-2, 0.1, (0.9, 0.95))
    pairs = _batches(0, 1, 2, 4, keywords["vocab_size"])
    return model, optimizer, lambda: float(gpt.training.train_step(model, optimizer, pairs))


def _numbers(model):
    return {name: p.detach().clone() for name, p in model.named_parameters()}


def _same_numbers(model, want, observed, allowed):
    for name, parameter in model.named_parameters():
        claims.is_true(torch.equal(parameter, want[name]), observed, allowed, name=name)


def _rates(optimizer):
    return [(group["lr"], group.get("weight_decay")) for group in optimizer.param_groups]


def _state_fits(optimizer):
    """What came back belongs to its parameter: fused steps do not look, and write anywhere."""
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            for kept in dict(getattr(optimizer, "state", {}).get(parameter, {})).values():
                fits = not isinstance(kept, torch.Tensor) or kept.shape in ((), parameter.shape)
                claims.is_true(fits, "not_restored", "restored", name="optimizer")


@rule(
    "X",
    "training.save_checkpoint",
    examples=2,
    keywords=draw.configs(n_layer=1, dropout=0.3),
    seed=draw.seeds,
)
def a_run_goes_on_as_if_never_stopped(gpt, keywords, seed):
    """Weights, optimiser, generator and step come back: the next steps are equal, bit for bit."""
    _goes_on(gpt, keywords | {"tied": True}, False, torch.float32, seed)
    _goes_on(gpt, keywords | {"tied": False}, True, torch.float64, seed)


def _goes_on(gpt, keywords, as_text, dtype, seed):
    model, optimizer, step = _run(gpt, keywords, seed, dtype)
    for _ in range(3):
        step()
    for i, group in enumerate(optimizer.param_groups):
        for name, value in (("lr", 5e-3), ("weight_decay", 0.2)):
            if name in group:
                group[name] = value / (i + 1)
    rates = _rates(optimizer)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.pt"
        path = str(path) if as_text else path
        claims.trying(steps=3)
        if as_text:  # a bare name is a path too: of the folder one works in
            with contextlib.chdir(folder):
                gpt.training.save_checkpoint("run.pt", model, optimizer, 3)
        else:
            gpt.training.save_checkpoint(path, model, optimizer, 3)
        saved = _numbers(model)
        losses = [step() for _ in range(3)]
        want = _numbers(model)
        twin, other, twin_step = _run(gpt, keywords, seed + 1, dtype)
        found = gpt.training.load_checkpoint(path, twin, other)
        claims.equal(found, 3, "step")
        _same_numbers(twin, saved, "not_restored", "restored")
        claims.equal(_rates(other), rates, "lr")
        _state_fits(other)
        claims.equal([twin_step() for _ in range(3)] == losses, True, "same_losses")
        _same_numbers(twin, want, "other_course", "same_course")
        alone, _, _ = _run(gpt, keywords, seed + 2, dtype)
        claims.equal(gpt.training.load_checkpoint(path, alone), 3, "step")
        _same_numbers(alone, saved, "not_restored", "restored")
        gpt.training.save_checkpoint(path, alone, optimizer, 0)
        claims.equal(gpt.training.load_checkpoint(path, alone), 0, "step")
        if keywords["tied"]:
            same = twin.lm_head.weight is twin.wte.weight
            claims.is_true(same, "two_tensors", "tied_true")


@contextlib.contextmanager
def _torch_fails_half_way():
    """torch.save writes a few bytes, and the disk is full; yields the calls it met."""
    real, met = torch.save, []

    def full_disk(state, target, *args, **more):
        met.append(target)
        if hasattr(target, "write"):
            target.write(b"half a check")
        else:
            Path(target).write_bytes(b"half a check")
        raise OSError(28, "No space left on device")

    torch.save = full_disk
    try:
        yield met
    finally:
        torch.save = real


@contextlib.contextmanager
def _no_file_grows():
    """No regular file may grow beyond a kilobyte: the system refuses, as a full disk does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, before[1]))
    try:
        yield ["any file"]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def _raises(call):
    try:
        call()
    except Exception:
        return True
    return False


FULL_DISKS = [_torch_fails_half_way, *([_no_file_grows] if resource else [])]


@rule(
    "X", "training.save_checkpoint", examples=2, keywords=draw.configs(n_layer=1), seed=draw.seeds
)
def a_failed_save_leaves_the_old_file(gpt, keywords, seed):
    """When writing fails half-way, the checkpoint before it can still be read."""
    model, optimizer, step = _run(gpt, keywords, seed)
    step()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.pt"
        gpt.training.save_checkpoint(path, model, optimizer, 1)
        saved = _numbers(model)
        left = sorted(Path(folder).iterdir())
        claims.trying(left=[entry.name for entry in left])
        claims.is_true(path in left, "is", "should_be", what="files", found=[], wanted=["run.pt"])
        # a file for people may stand beside it, but no second copy: it was written, not moved
        others = [entry for entry in left if entry != path and not entry.is_symlink()]
        copies = [e.name for e in others if e.is_file() and e.read_bytes() == path.read_bytes()]
        claims.equal(copies, [], "files")
        number = 1
        for full_disk in FULL_DISKS:
            step()
            with full_disk() as met:
                failed = _raises(lambda: gpt.training.save_checkpoint(path, model, optimizer, 2))
            # no error is right only where nothing failed: it does not write by torch.save
            claims.is_true(failed or not met, "accepted", "an_error", what="full_disk")
            if not failed:
                saved, number = _numbers(model), 2
            read = claims.answers(
                lambda: gpt.training.load_checkpoint(path, model, optimizer), "checkpoint"
            )
            claims.equal(read, number, "step")
            _same_numbers(model, saved, "not_restored", "restored")
        gpt.training.save_checkpoint(path, model, optimizer, 5)
        claims.equal(gpt.training.load_checkpoint(path, model, optimizer), 5, "step")


class _Trap:
    """Pickled, it is a call: reading it as code would leave a folder behind."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


@rule(
    "X", "training.load_checkpoint", examples=2, keywords=draw.configs(n_layer=1), seed=draw.seeds
)
def a_checkpoint_is_data_not_code(gpt, keywords, seed):
    """A file that carries code is refused before the code runs."""
    model, optimizer, _ = _run(gpt, keywords, seed)
    with tempfile.TemporaryDirectory() as folder:
        path, sprung = Path(folder) / "run.pt", Path(folder) / "sprung"
        torch.save({"model": _Trap(sprung)}, path)
        claims.trying(file="run.pt")
        try:
            gpt.training.load_checkpoint(path, model, optimizer)
        except Exception:
            claims.is_true(not sprung.exists(), "code_ran", "code_refused")
        else:
            raise claims.Broken("code_accepted", "code_refused")


@rule(
    "X", "training.load_checkpoint", examples=3, keywords=draw.configs(n_layer=1), seed=draw.seeds
)
def the_checkpoint_of_another_model_is_refused(gpt, keywords, seed):
    """A file of another config, or with a weight missing, is an error, not a silent mixture."""
    model, optimizer, _ = _run(gpt, keywords, seed)
    changes = {
        "vocab_size": keywords["vocab_size"] + 1,
        "d_model": 2 * keywords["d_model"],
        "n_layer": 2,
        "norm": "rmsnorm" if keywords["norm"] == "layernorm" else "layernorm",
        "tied": not keywords["tied"],
        # these leave the shapes of some or all tensors as they are
        "n_head": 1,
        "block_size": keywords["block_size"] + 1,
        "mlp": "relu" if keywords["mlp"] == "gelu" else "gelu",
        "positions": "rotary" if keywords["positions"] == "learned" else "learned",
        "d_ff": 12,
        "bias": not keywords["bias"],
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.pt"
        gpt.training.save_checkpoint(path, model, optimizer, 1)
        for name, value in changes.items():
            claims.trying(name=name, found=keywords[name], other=value)
            other, _, _ = _run(gpt, keywords | {name: value}, seed)
            claims.fails(
                lambda other=other: gpt.training.load_checkpoint(path, other), "other_config"
            )
        del model.blocks[0].ln_1.weight
        claims.trying(name="weights", found="n - 1", other="n")
        # to write half a model may be refused, or to read it
        if not _raises(lambda: gpt.training.save_checkpoint(path, model, optimizer, 1)):
            model = _run(gpt, keywords, seed)[0]
            claims.fails(lambda: gpt.training.load_checkpoint(path, model), "missing_weight")
        model = _run(gpt, keywords, seed)[0]
        claims.trying(name="path", found="run.pt", other="none.pt")
        claims.fails(
            lambda: gpt.training.load_checkpoint(Path(folder) / "none.pt", model), "no_file"
        )
