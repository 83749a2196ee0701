"""The stream and its two updates are kept in a list and summed when read: addition, only later."""

import torch
from torch import nn

from .attention import MultiHeadAttention
from .feedforward import FeedForward, SwiGLU
from .normalization import LayerNorm, RMSNorm


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.norms = nn.ModuleList()
        self.ln_1 = self.new_norm(config)
        self.attn = MultiHeadAttention(config)
        self.ln_2 = self.new_norm(config)
        self.mlp = (SwiGLU if config.mlp == "swiglu" else FeedForward)(config)

    @staticmethod
    def new_norm(config):
        match config.norm:
            case "rmsnorm":
                return RMSNorm(config.d_model)
            case "layernorm":
                return LayerNorm(config.d_model)

    def forward(self, x):
        stream = [x]
        stream.append(self.attn(self.ln_1(sum(stream[1:], stream[0]))))
        stream.append(self.mlp(self.ln_2(sum(stream[1:], stream[0]))))
        return torch.stack(stream).sum(dim=0)
