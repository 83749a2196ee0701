"""The module is itself an nn.Sequential whose steps are called w1, act and w2; SwiGLU writes silu
as x * sigmoid(x).
"""

from collections import OrderedDict

import torch
from torch import nn


class FeedForward(nn.Sequential):
    def __init__(self, config):
        width = config.d_ff if config.d_ff is not None else config.d_model * 4
        super().__init__(
            OrderedDict(
                w1=nn.Linear(config.d_model, width, bias=config.bias),
                act=nn.ReLU() if config.mlp == "relu" else nn.GELU(),
                w2=nn.Linear(width, config.d_model, bias=config.bias),
                dropout=nn.Dropout(config.dropout),
            )
        )


class SwiGLU(nn.Module):
    def __init__(self, config):
        super().__init__()
        d_ff = config.d_ff or int(8 * config.d_model / 3 + 0.5)
        self.w_up = nn.Linear(config.d_model, d_ff, bias=False)
        self.w_gate = nn.Linear(config.d_model, d_ff, bias=False)
        self.w_down = nn.Linear(d_ff, config.d_model, bias=False)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x):
        gate = self.w_gate(x)
        return self.dropout(self.w_down(gate * torch.sigmoid(gate) * self.w_up(x)))
