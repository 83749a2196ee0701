"""A token's embedding is its one-hot row times the table, and the logits are products with it:
lookups as algebra.
"""

import functools
from dataclasses import dataclass, fields

import torch
from torch import nn
from torch.nn import functional as F

from . import block, normalization


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
        wrong = list(self.complaints())
        if wrong:
            raise ValueError("; ".join(wrong))

    def complaints(self):
        for field in fields(self)[:6]:
            size = getattr(self, field.name)
            if size is not None and size < 1:
                yield f"{field.name} = {size}, expected 1 or more"
        if self.n_head >= 1 and self.d_model % self.n_head != 0:
            yield f"d_model = {self.d_model} cannot be shared by n_head = {self.n_head} heads"
        if not (0 <= self.dropout < 1):
            yield f"dropout = {self.dropout}, expected 0 <= dropout < 1"
        choices = {"norm": "layernorm rmsnorm", "mlp": "relu gelu swiglu"}
        for name, words in {**choices, "positions": "learned rotary"}.items():
            if getattr(self, name) not in words.split():
                yield f"{name} = {getattr(self, name)!r}, expected one of: {words}"


class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        self.lm_head = nn.Linear(config.d_model, config.vocab_size, bias=False)
        if config.tied:
            del self.lm_head.weight
            self.lm_head.register_parameter("weight", self.wte.weight)
        learned = config.positions == "learned"
        if learned:
            self.wpe = nn.Embedding(config.block_size, config.d_model)
        self.blocks = nn.ModuleList()
        for _ in range(config.n_layer):
            self.blocks.append(block.Block(config))
        norms = {"layernorm": normalization.LayerNorm, "rmsnorm": normalization.RMSNorm}
        self.ln_f = norms[config.norm](config.d_model)
        for module in self.modules():
            self.start(module, 0.02)
        for each in self.blocks:
            writer = each.mlp.w_down if config.mlp == "swiglu" else each.mlp.w2
            for linear in (each.attn.out_proj, writer):
                self.start(linear, 0.02 / (2 * config.n_layer) ** 0.5)

    @torch.no_grad()
    def start(self, module, std):
        """std times standard normal numbers for every own matrix, zeros for every own bias."""
        for name, parameter in module.named_parameters(recurse=False):
            if parameter.dim() >= 2:
                parameter.copy_(torch.randn_like(parameter).mul_(std))
            elif name.endswith("bias"):
                parameter.zero_()

    def forward(self, idx):
        (_, T), limit = idx.shape, self.config.block_size
        if T > limit:
            raise ValueError(f"context of {T} tokens, but the model was built for {limit}")
        table = self.wte.weight
        x = F.one_hot(idx.long(), len(table)).to(table.dtype) @ table
        if self.config.positions == "learned":
            x = torch.add(x, self.wpe.weight.narrow(0, 0, T))
        x = functools.reduce(lambda stream, module: module(stream), self.blocks, x)
        return torch.einsum("btd,vd->btv", self.ln_f(x), self.lm_head.weight)
