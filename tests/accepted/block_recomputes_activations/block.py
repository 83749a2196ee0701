"""Each half is checkpointed: its activations are computed again in the backward pass, with the same
dropout.
"""

from torch import nn
from torch.utils.checkpoint import checkpoint

from .attention import MultiHeadAttention
from .feedforward import FeedForward, SwiGLU
from .normalization import LayerNorm, RMSNorm


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        make_norm = {"layernorm": LayerNorm, "rmsnorm": RMSNorm}[config.norm]
        self.ln_1, self.ln_2 = make_norm(config.d_model), make_norm(config.d_model)
        self.attn = MultiHeadAttention(config)
        self.mlp = SwiGLU(config) if config.mlp == "swiglu" else FeedForward(config)

    def gather(self, x):
        return self.attn(self.ln_1(x))

    def think(self, x):
        return self.mlp(self.ln_2(x))

    def forward(self, x):
        for update in (self.gather, self.think):
            x = x + checkpoint(update, x, use_reentrant=False)
        return x
