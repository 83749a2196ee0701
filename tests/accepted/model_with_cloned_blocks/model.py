"""Blocks are deep copies of one block whose weights are all drawn afresh, and a buffer counts the
places for wpe.
"""

import copy
import math
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F

from .block import Block
from .normalization import LayerNorm, RMSNorm

MLP = frozenset(("relu", "gelu", "swiglu"))


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
        sizes = [self.vocab_size, self.block_size, self.n_layer, self.n_head, self.d_model]
        sizes += [] if self.d_ff is None else [self.d_ff]
        if min(sizes) < 1:
            raise ValueError(f"a size is below 1: {min(sizes)} in {self}")
        if divmod(self.d_model, self.n_head)[1] != 0:
            raise ValueError(f"{self.d_model} channels cannot be shared by {self.n_head} heads")
        if math.isnan(self.dropout) or self.dropout < 0 or self.dropout >= 1:
            raise ValueError(f"dropout {self.dropout} is outside [0, 1)")
        match (self.norm, self.positions):
            case ("layernorm" | "rmsnorm", "learned" | "rotary") if self.mlp in MLP:
                pass
            case _:
                raise ValueError(f"unknown word among {self.norm}, {self.mlp}, {self.positions}")


class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.ln_f = (
            RMSNorm(config.d_model) if config.norm == "rmsnorm" else LayerNorm(config.d_model)
        )
        first = Block(config)  # the copies are told apart by init_all
        self.blocks = nn.ModuleList(copy.deepcopy(first) for _ in range(config.n_layer))
        if config.positions == "learned":
            self.wpe = nn.Embedding(config.block_size, config.d_model)
            self.register_buffer("places", torch.arange(config.block_size), persistent=False)
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        self.lm_head = nn.Linear(config.d_model, config.vocab_size, bias=False)
        self.init_all(config.n_layer)
        if config.tied:
            self.lm_head.weight = self.wte.weight

    def init_all(self, n_layer):
        gains = {id(n.weight) for n in self.modules() if isinstance(n, (LayerNorm, RMSNorm))}
        for name, p in self.named_parameters():
            writes = ".out_proj." in name or ".w2." in name or ".w_down." in name
            if p.dim() >= 2:
                p.data.normal_(0.0, 0.02 / math.sqrt(2 * n_layer) if writes else 0.02)
            else:
                p.data.fill_(1.0 if id(p) in gains else 0.0)

    def forward(self, idx):
        if idx.size(-1) > self.config.block_size:
            raise ValueError(
                f"block_size is {self.config.block_size}, the text has {idx.size(-1)} tokens"
            )
        x = F.embedding(idx, self.wte.weight)
        if "wpe" in self._modules:
            x = x + self.wpe(self.places[: x.size(1)]).expand_as(x)
        x = F.dropout(x, self.config.dropout, self.training)
        for i in range(len(self.blocks)):
            x = self.blocks[i](x)
        return F.linear(self.ln_f(x), self.lm_head.weight)
