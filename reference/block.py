"""Days 46-47: one block of the stack."""

from torch import nn

from .attention import MultiHeadAttention
from .feedforward import FeedForward, SwiGLU
from .normalization import LayerNorm, RMSNorm


class Block(nn.Module):
    """Gather, then think: two updates added to the residual stream. (B, T, d_model) to the same.

    Pre-LN: each sub-layer reads a normalised copy and the stream itself is never normalised, so
    the identity path runs from the embeddings to the last block (day 46; arXiv:2002.04745).
    """

    def __init__(self, config):
        super().__init__()
        norm = RMSNorm if config.norm == "rmsnorm" else LayerNorm
        mlp = SwiGLU if config.mlp == "swiglu" else FeedForward
        self.ln_1 = norm(config.d_model)
        self.attn = MultiHeadAttention(config)
        self.ln_2 = norm(config.d_model)
        self.mlp = mlp(config)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))
