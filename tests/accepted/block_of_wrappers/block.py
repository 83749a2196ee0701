"""Residual and norm wrap each sub-layer as modules; the members are second names of them."""

from torch import nn

from .attention import MultiHeadAttention
from .feedforward import FeedForward, SwiGLU
from .normalization import LayerNorm, RMSNorm


class Residual(nn.Module):
    def __init__(self, norm, fn):
        super().__init__()
        self.norm, self.fn = norm, fn

    def forward(self, x):
        return self.fn(self.norm(x)) + x


class Block(nn.Module):
    """Gather, then think: two updates added to the residual stream. (B, T, d_model) to the same.

    Pre-LN: each sub-layer reads a normalised copy and the stream itself is never normalised, so
    the identity path runs from the embeddings to the last block (day 46; arXiv:2002.04745).
    """

    def __init__(self, config):
        super().__init__()
        norm = RMSNorm if config.norm == "rmsnorm" else LayerNorm
        mlp = SwiGLU if config.mlp == "swiglu" else FeedForward
        self.layers = nn.Sequential(
            Residual(norm(config.d_model), MultiHeadAttention(config)),
            Residual(norm(config.d_model), mlp(config)),
        )
        (self.ln_1, self.attn), (self.ln_2, self.mlp) = ((r.norm, r.fn) for r in self.layers)

    def forward(self, x):
        return self.layers(x)
