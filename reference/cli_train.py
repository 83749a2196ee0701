"""``python -m reference train``: a real run on real text that survives being killed."""

import hashlib
import math
import signal
import time
from pathlib import Path

import numpy as np
import torch
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from .cli_options import config_of
from .cli_run import Run, writing
from .cli_sample import write
from .cli_words import Refusal
from .data import default_text, encode, train_val_split
from .ledger import total_parameters
from .loss import next_token_loss
from .model import GPT
from .training import train

VOCAB_SIZE = 256  # the tokens are bytes
VALIDATION_WINDOWS = 1024


def main(options, words, console):
    """Train or go on training; leaves a checkpoint, the losses and their picture in a folder."""
    data = read_bytes(options.text)
    config = config_of(options, VOCAB_SIZE)
    training, validation = split(data, config.block_size)
    run = Run(options.out)
    settings = {name: getattr(options, name) for name in ("batch_size", "lr", "seed", "every")}
    settings["text"] = hashlib.sha256(data).hexdigest()[:16]
    done = run.open(settings, config, options.fresh)
    torch.manual_seed(options.seed)
    model, n = build(config), total_parameters(config)
    start = "train.resumed" if done else "train.started"
    console.print(words(start, n=n, tokens=len(training), out=run.folder, step=done))
    interrupted = fit(model, training, validation, run, options, words, console)
    console.print(words("train.interrupted" if interrupted else "train.done", out=run.folder))
    console.print(draw(run, training, words))
    if not interrupted:
        console.print(words("train.sample"))
        write(model, "\n", 300, 0.8, VOCAB_SIZE, console)
    return 130 if interrupted else 0


def read_bytes(path):
    """The bytes of a file, or of the default text, as tokens."""
    if not path:
        return encode(default_text())
    try:
        return np.frombuffer(Path(path).read_bytes(), dtype=np.uint8)
    except FileNotFoundError:
        raise Refusal("refused.no_file", path=path) from None
    except OSError as error:
        raise Refusal("refused.read", path=path, reason=error.strerror) from error


def split(data, block_size):
    """Nine tenths to train on, the last tenth to validate; each must hold one window."""
    training, validation = train_val_split(data)
    if min(len(training), len(validation)) <= block_size:
        least = 10 * (block_size + 1)
        raise Refusal("refused.short", found=len(data), least=least, block_size=block_size)
    return training, validation


def build(config):
    """The untrained model; raises Refusal when the memory does not hold it."""
    try:
        return GPT(config)
    except RuntimeError as error:  # the allocator's
        raise Refusal("refused.memory", n=total_parameters(config)) from error


def fit(model, training, validation, run, options, words, console):
    """Train with a progress bar; returns whether Ctrl-C ended it."""
    columns = (
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TextColumn("{task.description}"),
        TimeRemainingColumn(),
    )
    progress = Progress(*columns, console=console, disable=not console.is_terminal)
    with progress, writing(run.folder):
        monitor = Monitor(model, validation, run, options, words, progress)
        before = signal.signal(signal.SIGINT, monitor.interrupt)
        try:
            train(
                model,
                training,
                steps=options.steps,
                batch_size=options.batch_size,
                max_lr=options.lr,
                min_lr=options.lr,  # constant: more steps later go on with the same curve
                checkpoint=run.checkpoint,
                checkpoint_every=options.every,
                after_step=monitor,
            )
        finally:
            signal.signal(signal.SIGINT, before)
    return monitor.interrupted


class Monitor:
    """Called after each step: notes the losses, moves the bar, asks for the end after Ctrl-C."""

    def __init__(self, model, validation, run, options, words, progress):
        self.model, self.windows = model, windows(validation, model.config.block_size)
        self.run, self.options, self.words, self.progress = run, options, words, progress
        self.bar = progress.add_task("", total=options.steps, completed=len(run.rows))
        self.clock = time.perf_counter()
        self.interrupted = False

    def interrupt(self, *_):
        """Let the step under way end; a second Ctrl-C does not wait."""
        self.interrupted = True
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def __call__(self, step, loss):
        judged = step % self.options.every == 0 or step == self.options.steps
        validation = validation_loss(self.model, self.windows) if judged else None
        self.run.add(step, loss, validation)
        now = time.perf_counter()
        speed = self.options.batch_size * self.model.config.block_size / (now - self.clock)
        self.clock = now
        bar = self.words("train.bar", loss=loss, speed=speed)
        self.progress.update(self.bar, completed=step, description=bar)
        if judged:
            said = self.words("train.step", step=step, loss=loss, validation=validation)
            self.progress.console.print(said)
        return self.interrupted


def windows(data, block_size):
    """Up to VALIDATION_WINDOWS windows, evenly spread, always the same: (x, y), each (W, T)."""
    count = min(VALIDATION_WINDOWS, (len(data) - 1) // block_size)
    starts = np.linspace(0, len(data) - block_size - 1, count).astype(int)
    rows = np.stack([data[i : i + block_size + 1] for i in starts]).astype(np.int64)
    return torch.from_numpy(rows[:, :-1]), torch.from_numpy(rows[:, 1:])


def validation_loss(model, pair):
    """The mean loss over the windows in eval mode, without touching any random number."""
    model.eval()
    with torch.no_grad():
        parts = zip(pair[0].split(64), pair[1].split(64))
        total = sum(next_token_loss(model(x), y).item() * len(x) for x, y in parts)
    model.train()
    return total / len(pair[0])


def unigram_entropy(data):
    """The loss in nats of a model that knows how frequent each byte is, and nothing else."""
    shares = np.bincount(data) / len(data)
    return -sum(share * math.log(share) for share in shares.tolist() if share > 0)


def draw(run, training, words):
    """Draw the losses; returns the sentence that says where, or why not."""
    try:
        from .plotting import loss_curve
    except ModuleNotFoundError:
        return words("train.no_matplotlib", path=run.losses)
    levels = math.log(VOCAB_SIZE), unigram_entropy(training)
    with writing(run.picture):
        drawn = loss_curve(run.picture, run.rows, *levels, words)
    key = "train.picture" if drawn == words.lang else "train.no_font"
    return words(key, path=run.picture)
