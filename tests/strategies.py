"""The vocabulary of the rules: configurations, tensors by seed, tokens, hot weights by name.

Sizes are small and pairwise distinct, so that no transposition passes by luck: h >= 2, d_k >= 2,
B >= 2, T >= 3, L >= 2. The degenerate sizes (1) are drawn by rules that say so.
"""

import zlib

import torch
from hypothesis import strategies as st

seeds = st.integers(0, 2**20)
float_dtypes = st.sampled_from([torch.float64, torch.float32])
wide_dtypes = [torch.float64, torch.float32]
half_dtypes = st.sampled_from([torch.float16, torch.bfloat16])


@st.composite
def configs(draw, **fixed):
    """Keyword arguments of a GPTConfig; ``fixed`` ones are taken as they are."""
    n_head = fixed.get("n_head") or draw(st.sampled_from([2, 3, 4]))
    d_k = draw(st.sampled_from([4, 2, 6]))
    config = {
        "vocab_size": draw(st.sampled_from([13, 17, 23])),
        "block_size": draw(st.integers(5, 9)),
        "n_layer": draw(st.sampled_from([2, 3])),
        "n_head": n_head,
        "d_model": n_head * d_k,
        "d_ff": draw(st.sampled_from([None, 11, 19])),
        "bias": draw(st.booleans()),
        "norm": draw(st.sampled_from(["layernorm", "rmsnorm"])),
        "mlp": draw(st.sampled_from(["gelu", "swiglu", "relu"])),
        "positions": draw(st.sampled_from(["learned", "rotary"])),
        "tied": draw(st.booleans()),
    }
    return config | fixed


def generator(seed):
    """A torch generator of its own: no rule depends on the order of global draws."""
    return torch.Generator().manual_seed(seed)


def normal(seed, *size, dtype=torch.float64, scale=1.0):
    """Normal numbers of a seed, the same in every dtype up to rounding."""
    return (torch.randn(size, generator=generator(seed), dtype=torch.float64) * scale).to(dtype)


def tokens(seed, B, T, vocab_size):
    """(B, T) token ids."""
    return torch.randint(vocab_size, (B, T), generator=generator(seed))


def heat(module, seed):
    """Give every parameter hot numbers by its name, through ``load_state_dict``.

    Matrices N(0, 1 / fan-in), embeddings N(0, 1), gains 1 + 0.3 N, biases 0.3 N. At the initial
    scale of 0.02 attention is nearly uniform and most faults hide in the rounding.
    How the projections of attention are laid out is free: all of them read d_model channels.
    """
    reads = {
        name.removesuffix("out_proj.weight"): parameter.size(-1)
        for name, parameter in module.named_parameters(remove_duplicate=False)
        if name.endswith("out_proj.weight")
    }

    def hot(name, parameter):
        fan_in = next((width for prefix, width in reads.items() if name.startswith(prefix)), None)
        return _hot(name, parameter, seed, fan_in or parameter.size(-1))

    return load(module, hot)


def load(module, value):
    """Load ``value(name, parameter)`` (None: leave) into every parameter; buffers stay as are.

    A tensor with several names, of which any may come first, takes the first value that is not
    None.
    """
    state = module.state_dict()
    names = list(module.named_parameters(remove_duplicate=False))
    chosen = {}
    for name, parameter in names:
        if chosen.get(id(parameter)) is None:
            chosen[id(parameter)] = value(name, parameter)
    for name, parameter in names:
        if chosen[id(parameter)] is not None:
            # a layer that is a convolution of width 1 keeps its matrix as (out, in, 1)
            state[name] = chosen[id(parameter)].to(parameter.dtype).view(parameter.shape)
    module.load_state_dict(state)
    return module


def _hot(name, parameter, seed, fan_in):
    own = generator(zlib.crc32(name.encode()) ^ seed)
    noise = torch.randn(parameter.shape, generator=own, dtype=torch.float64)
    if parameter.dim() == 1:
        return 0.3 * noise if "bias" in name else 1 + 0.3 * noise
    if {"wte", "wpe"} & set(name.split(".")):
        return noise
    return noise / fan_in**0.5


def places(model):
    """The learned positions, wpe being a module or the table itself; None without positions."""
    wpe = getattr(model, "wpe", None)
    return next(wpe.parameters()) if isinstance(wpe, torch.nn.Module) else wpe


def config(gpt, keywords):
    """The package's own GPTConfig."""
    return gpt.model.GPTConfig(**keywords)


def model(gpt, keywords, seed, dtype=torch.float64):
    """A GPT of the package with hot weights, in eval mode."""
    return heat(gpt.model.GPT(config(gpt, keywords)).to(dtype), seed).eval()
