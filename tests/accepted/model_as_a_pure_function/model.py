"""The forward pass is a function of the parameters, called by torch.func."""

import math
from dataclasses import dataclass
from functools import partial

from torch import nn
from torch.nn import functional as F

from .block import Block
from .normalization import LayerNorm, RMSNorm
from .positions import rotary

CHOICES = {
    "norm": ("layernorm", "rmsnorm"),
    "mlp": ("relu", "gelu", "swiglu"),
    "positions": ("learned", "rotary"),
}
SIZES = ("vocab_size", "block_size", "n_layer", "n_head", "d_model", "d_ff")


@dataclass(frozen=True)
class GPTConfig:
    """The sizes and choices of a GPT.

    ``bias`` is that of the projections and the feed-forward; norms always have theirs, the head
    and SwiGLU never. ``d_ff=None`` is four times d_model (SwiGLU: 8 d_model / 3, rounded).
    Raises ValueError for what cannot be built.
    """

    vocab_size: int
    block_size: int
    n_layer: int
    n_head: int
    d_model: int
    d_ff: int | None = None
    bias: bool = True
    dropout: float = 0.0
    norm: str = "layernorm"
    mlp: str = "gelu"
    positions: str = "learned"
    tied: bool = True

    def __post_init__(self):
        for name in SIZES:
            size = getattr(self, name)
            if size is not None and size < 1:
                raise ValueError(f"{name} must be at least 1, found {size}")
        for name, known in CHOICES.items():
            word = getattr(self, name)
            if word not in known:
                raise ValueError(f"{name} must be one of {', '.join(known)}, found {word!r}")
        if self.d_model % self.n_head != 0:
            raise ValueError(f"d_model {self.d_model} is not divisible by n_head {self.n_head}")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must be in [0, 1), found {self.dropout}")


class GPT(nn.Module):
    """Token ids (B, T) to next-token logits (B, T, vocab_size).

    Learned positions are added to the embeddings; rotary ones act inside attention. With
    ``tied`` the head reads out with the very tensor that embeds (arXiv:1608.05859).
    """

    def __init__(self, config):
        super().__init__()
        self.config = config
        norm = RMSNorm if config.norm == "rmsnorm" else LayerNorm
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        if config.positions == "learned":
            self.wpe = nn.Embedding(config.block_size, config.d_model)
        self.dropout = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.n_layer))
        self.ln_f = norm(config.d_model)
        self.lm_head = nn.Linear(config.d_model, config.vocab_size, bias=False)
        if config.tied:
            self.lm_head.weight = self.wte.weight
        self.init_weights()

    def init_weights(self):
        """Start as GPT-2 did: normal with std 0.02, biases zero.

        The two matrices of each block that write to the residual stream start smaller by
        sqrt(2 n_layer), so that the sum of all 2 n_layer updates keeps its variance at any depth
        (GPT-2 report, section 2.3).
        """
        writers = ("out_proj.weight", "w2.weight", "w_down.weight")
        for name, parameter in self.named_parameters():
            if name.endswith(writers):
                nn.init.normal_(parameter, std=0.02 / math.sqrt(2 * self.config.n_layer))
            elif parameter.dim() >= 2:
                nn.init.normal_(parameter, std=0.02)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)

    def forward(self, idx):
        """idx: (B, T) integers. Raises ValueError when T exceeds the context, block_size."""
        T = idx.size(1)
        if T > self.config.block_size:
            raise ValueError(f"{T} tokens do not fit into block_size {self.config.block_size}")
        return gpt(tree(self), idx, self.config, self.training)


def tree(module):
    """The parameters as nested dicts."""
    out = {}
    for name, parameter in module.named_parameters(remove_duplicate=False):
        *path, leaf = name.split(".")
        here = out
        for step in path:
            here = here.setdefault(step, {})
        here[leaf] = parameter
    return out


def norm(p, x):
    d = x.shape[-1:]
    return (
        F.layer_norm(x, d, p["weight"], p["bias"], 1e-5)
        if "bias" in p
        else F.rms_norm(x, d, p["weight"], 1e-5)
    )


def linear(p, x):
    return F.linear(x, p["weight"], p.get("bias"))


def attend(p, x, config):
    q, k, v = (
        linear(p["qkv_proj"], x)
        .unflatten(-1, (3, config.n_head, -1))
        .movedim(-3, 0)
        .transpose(2, 3)
    )
    if config.positions == "rotary":
        q, k = rotary(q), rotary(k)
    return linear(
        p["out_proj"],
        F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2),
    )


def think(p, x, config):
    if config.mlp == "swiglu":
        return linear(p["w_down"], F.silu(linear(p["w_gate"], x)) * linear(p["w_up"], x))
    return linear(p["w2"], getattr(F, config.mlp)(linear(p["w1"], x)))


def gpt(params, idx, config, training):
    drop = partial(F.dropout, p=config.dropout, training=training)
    x = params["wte"]["weight"][idx]
    if "wpe" in params:
        x = x + params["wpe"]["weight"][: idx.shape[1]]
    x = drop(x)
    for i in range(config.n_layer):
        p = params["blocks"][str(i)]
        x = x + drop(attend(p["attn"], norm(p["ln_1"], x), config))
        x = x + drop(think(p["mlp"], norm(p["ln_2"], x), config))
    return norm(params["ln_f"], x) @ params["lm_head"]["weight"].T
