"""The options of each command, by their defaults, and the reading of a command line."""

from types import SimpleNamespace

from .cli_words import Refusal

SHAPE = {
    "style": "gpt2",
    "n_layer": 4,
    "n_head": 4,
    "d_model": 128,
    "block_size": 64,
}
COMMANDS = {
    "train": {
        "text": "",
        "out": "run",
        "steps": 1000,
        "batch_size": 16,
        "lr": 1e-3,
        "seed": 0,
        "every": 100,
        "fresh": False,
        **SHAPE,
    },
    "sample": {
        "out": "run",
        "prompt": "",
        "tokens": 300,
        "temperature": 0.8,
        "top_k": 256,
        "seed": 0,
    },
    "ledger": {"vocab_size": 256, **SHAPE},
}
STYLES = {
    "gpt2": {},
    "llama": {
        "bias": False,
        "norm": "rmsnorm",
        "mlp": "swiglu",
        "positions": "rotary",
        "tied": False,
    },
}
FROM_ZERO = ("seed", "tokens")


def parse(command, arguments):
    """``--name value`` and ``--name=value`` as attributes; ``given`` holds the names used.

    Every value has the type of its default. Raises Refusal for what the command does not know.
    """
    defaults = COMMANDS[command]
    given = {}
    rest = iter(arguments)
    for argument in rest:
        option, joined, value = argument.partition("=")
        name = option.removeprefix("--").replace("-", "_")
        if not option.startswith("--") or name not in defaults:
            raise Refusal("refused.option", found=option, command=command)
        if defaults[name] is False:
            given[name] = True
        else:
            given[name] = convert(option, value if joined else next(rest, ""), defaults[name])
    return SimpleNamespace(**(defaults | given), given=set(given))


def convert(option, value, default):
    """The text of a value as the type of the default; numbers in their range."""
    if isinstance(default, str):
        return value
    least = 0 if option[2:] in FROM_ZERO or isinstance(default, float) else 1
    try:
        number = type(default)(value)
    except ValueError:
        number = least - 1
    if not least <= number < 2**63:  # torch counts in int64
        kind = "refused.number" if isinstance(default, float) else "refused.whole"
        raise Refusal(kind, option=option, least=least, found=value)
    return number


def config_of(options, vocab_size):
    """The GPTConfig that the options describe; raises Refusal for a shape that cannot be."""
    from .model import GPTConfig  # torch is slow to import: only when it is needed

    if options.style not in STYLES:
        raise Refusal("refused.style", known=", ".join(STYLES), found=options.style)
    d_model, n_head = options.d_model, options.n_head
    if d_model % n_head != 0:
        raise Refusal("refused.heads", d_model=d_model, n_head=n_head)
    if options.style == "llama" and d_model // n_head % 2 == 1:
        raise Refusal("refused.odd", d_model=d_model, n_head=n_head, d_k=d_model // n_head)
    sizes = {name: getattr(options, name) for name in SHAPE if name != "style"}
    return GPTConfig(vocab_size=vocab_size, **sizes, **STYLES[options.style])
