"""What every measurement of a symptom is made of: a package, fixed sizes, a seed of its own.

A measurement touches a package only through the names of the interface, so that any module can be
replaced by a stranger's. Each experiment is seeded by its own name: its numbers are the same
whether it is made alone or with all others, and in any order.
"""

import contextlib
import functools
import math
import warnings
import zlib
from dataclasses import dataclass

import numpy as np
import torch

SYMPTOMS = {}

# The lesson's tiny GPT: V, T and d_model are those of the assessment of day 49.
TINY = {"vocab_size": 100, "block_size": 16, "n_layer": 2, "n_head": 4, "d_model": 32}
# The same with every other choice of the config, so that no module escapes.
OTHER = TINY | {"norm": "rmsnorm", "mlp": "swiglu", "positions": "rotary", "tied": False}


@dataclass(frozen=True)
class Measurement:
    """Whether a symptom is shown, the number it was judged by, and what to say about it.

    text: (message id, numbers) for ``vocabulary.sentence``; a number may be such a pair itself.
    """

    shown: bool
    number: float | str
    text: tuple


@dataclass(frozen=True)
class Symptom:
    """A word and how it is judged: threshold and budget, and the margin on both sides of it.

    margin: what correct packages and the catalogue's faults come to, over 40 and 12 seeds.
    """

    word: str
    threshold: str
    budget: str
    margin: str
    measure: object


def symptom(word, *, threshold, budget, margin):
    """Register ``function(lab) -> Measurement`` as the meaning of a word."""

    def register(function):
        SYMPTOMS[word] = Symptom(word, threshold, budget, margin, function)
        return function

    return register


def seen(shown, number, message, **numbers):
    """A Measurement whose sentence is ``seen.<message>``."""
    return Measurement(bool(shown), number, (f"seen.{message}", numbers))


def phrase(message, **numbers):
    """A part of a sentence."""
    return f"phrase.{message}", numbers


def experiment(function):
    """A method of Lab made once a package, under a seed of its own; a crash is kept and raised."""
    name = function.__name__

    @functools.wraps(function)
    def once(lab, *choices):
        key = (name, *choices)
        if key not in lab.made:
            lab.made[key] = lab.attempt(name, lambda: function(lab, *choices))
        made, error = lab.made[key]
        if error is not None:
            raise error
        return made

    return once


class Lab:
    """One package on the bench, under one seed.

    ``changes`` go into every config: what is true of a fault may depend on depth, tying or width.
    """

    def __init__(self, package, seed=0, changes=None):
        self.gpt, self.seed, self.changes, self.made = package, seed, changes or {}, {}

    def attempt(self, name, work):
        """(result, None) or (None, exception) of work done under the experiment's own seed."""
        own = zlib.crc32(f"{name} {self.seed}".encode())
        with quietly(own):
            try:
                return work(), None
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # a package may even call sys.exit
                return None, error.with_traceback(None)

    def config(self, keywords, **more):
        """The package's own GPTConfig."""
        return self.gpt.model.GPTConfig(**keywords | more | self.changes)

    def model(self, keywords, **more):
        """A fresh GPT of the package."""
        return self.gpt.model.GPT(self.config(keywords, **more))

    def optimizer(self, model, lr):
        """The package's own optimiser, without decay: only gradients move a weight."""
        return self.gpt.training.configure_optimizer(model, lr, 0.0, (0.9, 0.95))


@contextlib.contextmanager
def quietly(seed):
    """Seed all generators inside, leave them outside as they were; nobody's warnings come out."""
    state = np.random.get_state()
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.default_generator.manual_seed(seed)  # as claims.seed, and as cheap
        np.random.seed(seed % 2**32)
        try:
            yield
        finally:
            np.random.set_state(state)


def random_tokens(vocab_size, *size):
    """Tokens of which nothing can be predicted."""
    return torch.randint(vocab_size, size)


def hot(module):
    """Load weights of unit scale: at the initial 0.02 attention is uniform and nothing shows.

    Matrices N(0, 1 / fan-in), embeddings N(0, 1), gains 1 + 0.3 N, biases 0.3 N.
    """
    state, done = module.state_dict(), {}
    for name, parameter in module.named_parameters(remove_duplicate=False):
        if id(parameter) not in done:
            noise = torch.randn(parameter.shape)
            if parameter.dim() == 1:
                noise = 0.3 * noise if "bias" in name else 1 + 0.3 * noise
            elif not name.startswith(("wte", "wpe")):
                noise = noise / math.sqrt(parameter.shape[-1])
            done[id(parameter)] = noise
        state[name] = done[id(parameter)]
    module.load_state_dict(state)
    return module.eval()


def far_apart(a, b):
    """The largest difference of two tensors; NaN when either has one."""
    return (a - b).abs().max().item()
