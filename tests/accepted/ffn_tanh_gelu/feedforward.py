"""GELU in the tanh form, which the interface accepts; SwiGLU runs both input matrices as one and
cuts the result.
"""

import torch
from torch import nn
from torch.nn import functional as F


class FeedForward(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.relu = config.mlp == "relu"
        d_ff = 4 * config.d_model if config.d_ff is None else config.d_ff
        self.w1 = nn.Linear(config.d_model, d_ff, config.bias)
        self.w2 = nn.Linear(d_ff, config.d_model, config.bias)
        self.p = config.dropout

    def forward(self, x):
        h = self.w1(x)
        h = F.relu(h) if self.relu else F.gelu(h, approximate="tanh")
        return F.dropout(self.w2(h), self.p, self.training)


class SwiGLU(nn.Module):
    def __init__(self, config):
        super().__init__()
        d_ff = round(4 * config.d_model * 2 / 3) if config.d_ff is None else config.d_ff
        self.w_gate = nn.Linear(config.d_model, d_ff, False)
        self.w_up = nn.Linear(config.d_model, d_ff, False)
        self.w_down = nn.Linear(d_ff, config.d_model, False)
        self.p = config.dropout

    def forward(self, x):
        both = torch.cat((self.w_gate.weight, self.w_up.weight))  # (2 d_ff, d_model)
        gate, up = F.linear(x, both).chunk(2, dim=-1)
        return F.dropout(self.w_down(F.silu(gate) * up), self.p, self.training)
