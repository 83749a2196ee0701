"""A convolution of kernel size 1 over the positions with the Linears' weights: the same matrix at
every position.
"""

import torch
from torch import nn
from torch.nn import functional as F


def pointwise(linear, x):
    """x: (N, channels, positions)."""
    return F.conv1d(x, linear.weight.unsqueeze(-1), linear.bias)


class FeedForward(nn.Module):
    def __init__(self, config):
        super().__init__()
        d_ff = config.d_ff if config.d_ff is not None else config.d_model << 2
        self.act = torch.relu if config.mlp == "relu" else nn.functional.gelu
        self.w1 = nn.Linear(config.d_model, d_ff, bias=config.bias)
        self.w2 = nn.Linear(d_ff, config.d_model, bias=config.bias)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x):
        rows = x.reshape(1, -1, x.size(-1)).mT  # (1, d_model, positions)
        y = pointwise(self.w2, self.dropout(self.act(pointwise(self.w1, rows))))
        return y.mT.reshape(x.shape)


class SwiGLU(nn.Module):
    def __init__(self, config):
        super().__init__()
        d_ff = config.d_ff if config.d_ff is not None else round(config.d_model / 3 * 8)
        self.w_gate = nn.Linear(config.d_model, d_ff, bias=False)
        self.w_up = nn.Linear(config.d_model, d_ff, bias=False)
        self.w_down = nn.Linear(d_ff, config.d_model, bias=False)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x):
        rows = x.reshape(1, -1, x.size(-1)).mT
        hidden = F.silu(pointwise(self.w_gate, rows)).mul(pointwise(self.w_up, rows))
        return self.dropout(pointwise(self.w_down, hidden)).mT.reshape(x.shape)
