"""Dropout sits on the two updates as well; its places are open, and with p = 0 or in eval it does
nothing.
"""

from torch import nn
from torch.nn import functional as F

from .attention import MultiHeadAttention
from .feedforward import FeedForward, SwiGLU
from .normalization import LayerNorm, RMSNorm


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        d_model = config.d_model
        if config.mlp == "swiglu":
            self.mlp = SwiGLU(config)
        else:
            self.mlp = FeedForward(config)
        self.attn = MultiHeadAttention(config)
        if config.norm == "rmsnorm":
            self.ln_2 = RMSNorm(d_model)
            self.ln_1 = RMSNorm(d_model)
        else:
            self.ln_2 = LayerNorm(d_model)
            self.ln_1 = LayerNorm(d_model)
        self.p_drop = config.dropout

    def add(self, x, update):
        return x + F.dropout(update, p=self.p_drop, training=self.training)

    def forward(self, x):
        x = self.add(x, self.attn(self.ln_1(x)))
        x = self.add(x, self.mlp(self.ln_2(x)))
        return x
