"""Blocks are one nn.Sequential, the head is registered first, positions come as (1, T, d_model),
and normals cut at a hundred sigma are normals.
"""

from dataclasses import dataclass

import torch
from torch import nn

from .block import Block
from .normalization import LayerNorm, RMSNorm

KNOWN = {
    "norm": {"layernorm", "rmsnorm"},
    "mlp": {"relu", "gelu", "swiglu"},
    "positions": {"learned", "rotary"},
}


def demand(holds, message):
    if not holds:
        raise ValueError(message)


@dataclass(frozen=True, slots=True)
class GPTConfig:
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
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if name in KNOWN:
                demand(value in KNOWN[name], f"{name}={value!r} is none of {sorted(KNOWN[name])}")
            elif isinstance(value, int) and not isinstance(value, bool) and name != "dropout":
                demand(value >= 1, f"{name}={value} is below 1")
        demand(self.dropout >= 0 and self.dropout < 1, f"dropout={self.dropout} is not in [0, 1)")
        whole = self.d_model // self.n_head * self.n_head
        demand(
            whole == self.d_model, f"d_model={self.d_model} is no multiple of n_head={self.n_head}"
        )


class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.lm_head = nn.Linear(config.d_model, config.vocab_size, bias=False)
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        if config.tied:
            self.wte.weight = self.lm_head.weight
        if config.positions == "learned":
            self.wpe = nn.Embedding(config.block_size, config.d_model)
        self.blocks = nn.Sequential(*(Block(config) for _ in range(config.n_layer)))
        self.ln_f = (RMSNorm if config.norm == "rmsnorm" else LayerNorm)(config.d_model)
        self.emb_dropout = nn.Dropout(config.dropout)
        self.reset_parameters()

    def reset_parameters(self):
        small = 0.02 * (2 * self.config.n_layer) ** -0.5
        for path, parameter in self.named_parameters():
            owner, name = path.split(".")[-2:]
            if parameter.ndim > 1:
                std = small if owner in ("out_proj", "w2", "w_down") else 0.02
                nn.init.trunc_normal_(parameter, std=std, a=-100 * std, b=100 * std)
            elif "bias" in name:
                nn.init.constant_(parameter, 0.0)

    def forward(self, idx):
        T = idx.shape[1]
        if T > self.config.block_size:
            raise ValueError(f"T = {T} is more than block_size = {self.config.block_size}")
        x = self.wte(idx)
        if self.config.positions == "learned":
            x = x + self.wpe(torch.arange(T, device=idx.device)[None])  # (1, T, d_model)
        return self.lm_head(self.ln_f(self.blocks(self.emb_dropout(x))))
