"""``python -m reference sample``: let a trained model write."""

import torch

from .cli_run import Run, read_checkpoint
from .cli_words import Refusal
from .data import decode, encode
from .model import GPT, GPTConfig
from .sampling import generate


def main(options, words, console):
    """Write on from a prompt with the model of a run."""
    model = load(Run(options.out).checkpoint)
    torch.manual_seed(options.seed)
    prompt = options.prompt or "\n"
    write(model, prompt, options.tokens, options.temperature, options.top_k, console)
    return 0


def load(path):
    """The model of a checkpoint, with the config that stands in it."""
    state = read_checkpoint(path)
    try:
        model = GPT(GPTConfig(**state["config"]))
        model.load_state_dict(state["model"])
    except (TypeError, ValueError, RuntimeError) as error:
        raise Refusal("refused.no_model", path=path, out=path.parent) from error
    return model


def write(model, prompt, tokens, temperature, top_k, console):
    """Print the prompt and what follows; signs that would steer the terminal are dropped."""
    idx = torch.from_numpy(encode(prompt).copy()).long()[None]  # (1, T)
    try:
        text = decode(generate(model, idx, tokens, temperature, top_k)[0].tolist())
    except RuntimeError as error:  # torch draws from no shares that are not finite
        raise Refusal("refused.not_finite") from error
    console.print("".join(sign for sign in text if sign.isprintable() or sign in "\n\t"))
