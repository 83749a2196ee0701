"""Both feed-forwards draw their own weights when they are built, the matrix that writes out
smaller.
"""

import math

from torch import nn
from torch.nn import functional as F


def linear(n_in, n_out, bias, std):
    made = nn.Linear(n_in, n_out, bias=bias)
    nn.init.normal_(made.weight, std=std)
    if bias:
        nn.init.zeros_(made.bias)
    return made


class FeedForward(nn.Module):
    def __init__(self, config):
        super().__init__()
        d, d_ff = config.d_model, config.d_ff or 4 * config.d_model
        self.w1 = linear(d, d_ff, config.bias, 0.02)
        self.w2 = linear(d_ff, d, config.bias, 0.02 / math.sqrt(2 * config.n_layer))
        self.act = {"relu": F.relu, "gelu": F.gelu}[config.mlp]
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x):
        return self.dropout(self.w2(self.act(self.w1(x))))


class SwiGLU(nn.Module):
    def __init__(self, config):
        super().__init__()
        d, d_ff = config.d_model, config.d_ff or round(8 * config.d_model / 3)
        self.w_gate = linear(d, d_ff, False, 0.02)
        self.w_up = linear(d, d_ff, False, 0.02)
        self.w_down = linear(d_ff, d, False, 0.02 / math.sqrt(2 * config.n_layer))
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x):
        return self.dropout(self.w_down(F.silu(self.w_gate(x)) * self.w_up(x)))
