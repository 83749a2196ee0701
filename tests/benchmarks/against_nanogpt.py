"""``python -m tests.benchmarks.against_nanogpt``: time beside a nanoGPT-style model.

A train step and a generation of the reference and of two yardsticks (torch's softmax, torch's
fused attention) of the same size, taken in turn in one process, so that whatever else the machine
does falls on all. Reports medians and the median of the ratios of neighbours. Nothing is asserted:
times belong to a machine.
"""

import argparse
import time
from statistics import median

import torch
from torch.nn.utils import clip_grad_norm_

from reference.data import default_text, encode, get_batch
from reference.model import GPT, GPTConfig
from reference.sampling import generate
from reference.training import configure_optimizer, train_step

from .nanogpt_style import NanoGPT, adamw

SIZES = {"vocab_size": 256, "block_size": 64, "n_layer": 4, "n_head": 4, "d_model": 128}
BATCH = 16


def reference_steps(data):
    """Train step and generation of the reference, as functions without arguments."""
    model = GPT(GPTConfig(**SIZES))
    optimizer = configure_optimizer(model, 1e-3, 0.1, (0.9, 0.95))

    def step():
        train_step(model, optimizer, [get_batch(data, BATCH, SIZES["block_size"])], 1.0)

    return step, lambda prompt, n: generate(model, prompt, n)


def yardstick_steps(data, fused):
    """The same of the yardstick, with the same batches, groups and clipping."""
    model = NanoGPT(**SIZES, fused=fused)
    optimizer = adamw(model, 1e-3, 0.1, (0.9, 0.95))

    def step():
        x, y = get_batch(data, BATCH, SIZES["block_size"])
        optimizer.zero_grad()
        _, loss = model(x, y)
        loss.backward()
        clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        loss.item()

    def write(prompt, n):
        model.eval()
        model.generate(prompt, n)
        model.train()

    return step, write


def seconds(function, *arguments):
    start = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - start


def in_turn(functions, rounds, *arguments):
    """Seconds of each function in each round, after two rounds to warm up."""
    times = [[seconds(f, *arguments) for f in functions] for _ in range(rounds + 2)]
    return list(zip(*times[2:]))


def report(what, times):
    ours, *others = times
    print(f"{what:34} reference {1000 * median(ours):8.1f} ms")
    for name, theirs in zip(("softmax by torch", "attention by torch"), others):
        ratio = median(a / b for a, b in zip(ours, theirs))
        print(f"{'':34} {name:18} {1000 * median(theirs):8.1f} ms   ratio {ratio:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--tokens", type=int, default=200, help="tokens to generate")
    options = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(options.threads)
    data = encode(default_text())
    steps, writers = zip(
        reference_steps(data), yardstick_steps(data, False), yardstick_steps(data, True)
    )
    size = ", ".join(f"{name} {value}" for name, value in SIZES.items())
    print(f"{size}; {options.threads} threads, {options.rounds} rounds in turn")
    report(f"train step, batch {BATCH}", in_turn(steps, options.rounds))
    for B in (1, BATCH):
        prompt = torch.zeros(B, 1, dtype=torch.int64)
        times = in_turn(writers, max(5, options.rounds // 10), prompt, options.tokens)
        report(f"generate {options.tokens} tokens, batch {B}", times)


if __name__ == "__main__":
    main()
