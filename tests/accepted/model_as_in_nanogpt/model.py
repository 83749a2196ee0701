"""self.apply initialises, positions are wpe(arange), and when tied the embedding takes the head's
tensor: one tensor has no direction.
"""

import math
from dataclasses import dataclass

import torch
from torch import nn

from .block import Block
from .normalization import LayerNorm, RMSNorm


@dataclass(frozen=True)
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
        for size in ("vocab_size", "block_size", "n_layer", "n_head", "d_model"):
            if getattr(self, size) <= 0:
                raise ValueError(f"{size} must be positive, got {getattr(self, size)}")
        if self.d_ff is not None and self.d_ff <= 0:
            raise ValueError(f"d_ff must be positive, got {self.d_ff}")
        if self.d_model % self.n_head:
            raise ValueError(f"n_head = {self.n_head} does not divide d_model = {self.d_model}")
        if not 0.0 <= self.dropout < 1.0:
            raise ValueError(f"dropout is a probability below 1, got {self.dropout}")
        if self.norm not in ("layernorm", "rmsnorm"):
            raise ValueError(f"unknown norm {self.norm!r}")
        if self.mlp not in ("relu", "gelu", "swiglu"):
            raise ValueError(f"unknown mlp {self.mlp!r}")
        if self.positions not in ("learned", "rotary"):
            raise ValueError(f"unknown positions {self.positions!r}")


class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        if config.positions == "learned":
            self.wpe = nn.Embedding(config.block_size, config.d_model)
        self.drop = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.n_layer)])
        self.ln_f = {"layernorm": LayerNorm, "rmsnorm": RMSNorm}[config.norm](config.d_model)
        self.lm_head = nn.Linear(config.d_model, config.vocab_size, bias=False)
        if config.tied:
            self.wte.weight = self.lm_head.weight
        self.apply(self._init_weights)
        for name, p in self.blocks.named_parameters():
            if name.endswith(("attn.out_proj.weight", "mlp.w2.weight", "mlp.w_down.weight")):
                nn.init.normal_(p, mean=0.0, std=0.02 / math.sqrt(2 * config.n_layer))

    @staticmethod
    def _init_weights(module):
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, mean=0.0, std=0.02)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, mean=0.0, std=0.02)

    def forward(self, idx):
        t = idx.size(1)
        if t > self.config.block_size:
            raise ValueError(
                f"cannot forward a sequence of length {t}, block_size is {self.config.block_size}"
            )
        x = self.wte(idx)  # (B, T, d_model)
        if self.config.positions == "learned":
            x = x + self.wpe(torch.arange(0, t, dtype=torch.long, device=idx.device))
        x = self.drop(x)
        for block in self.blocks:
            x = block(x)
        return self.lm_head(self.ln_f(x))
