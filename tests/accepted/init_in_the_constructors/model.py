"""GPT only draws the embeddings and the head: its parts have drawn their weights, and the norms
start at 1.
"""

from dataclasses import dataclass

from torch import nn

from .block import Block
from .normalization import LayerNorm, RMSNorm

NORMS = {"layernorm": LayerNorm, "rmsnorm": RMSNorm}
MLPS = ("relu", "gelu", "swiglu")
POSITIONS = ("learned", "rotary")


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
        for name in ("vocab_size", "block_size", "n_layer", "n_head", "d_model", "d_ff"):
            if name == "d_ff" and self.d_ff is None:
                continue
            if not getattr(self, name) >= 1:
                raise ValueError(f"{name}: {getattr(self, name)} is less than 1")
        if self.d_model / self.n_head != self.d_model // self.n_head:
            raise ValueError(f"d_model / n_head = {self.d_model} / {self.n_head} is not whole")
        if not (self.dropout >= 0 and self.dropout < 1):
            raise ValueError(f"dropout: {self.dropout} is not in [0, 1)")
        for word, known in ((self.norm, NORMS), (self.mlp, MLPS), (self.positions, POSITIONS)):
            if word not in known:
                raise ValueError(f"{word!r} is not one of {list(known)}")


class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        nn.init.normal_(self.wte.weight, 0.0, 0.02)
        if config.positions == "learned":
            self.wpe = nn.Embedding(config.block_size, config.d_model)
            nn.init.normal_(self.wpe.weight, 0.0, 0.02)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.n_layer)])
        self.ln_f = NORMS[config.norm](config.d_model)
        self.lm_head = nn.Linear(config.d_model, config.vocab_size, bias=False)
        nn.init.normal_(self.lm_head.weight, 0.0, 0.02)
        if config.tied:
            self.lm_head.weight = self.wte.weight

    def forward(self, idx):
        length = idx.shape[1]
        if length > self.config.block_size:
            raise ValueError(f"{length} is longer than the context of {self.config.block_size}")
        h = self.wte.weight[idx]
        if self.config.positions == "learned":
            h = h + self.wpe.weight[None, :length]
        for block in self.blocks:
            h = block(h)
        return self.ln_f(h) @ self.lm_head.weight.T
