"""GELU by GPT-2's tanh formula and silu by a tanh identity, in float32 at least so that x^3 cannot
overflow.
"""

import math

import torch
from torch import nn


def new_gelu(x):
    inner = math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))
    return 0.5 * x * (1.0 + torch.tanh(inner))


def silu(x):
    return x * (0.5 * torch.tanh(0.5 * x) + 0.5)  # sigmoid(x) = (1 + tanh(x / 2)) / 2


def relu(x):
    return (x > 0).to(x.dtype) * x


def in_float32(function, x):
    return function(x.to(torch.promote_types(x.dtype, torch.float32))).to(x.dtype)


class FeedForward(nn.Module):
    def __init__(self, config):
        super().__init__()
        d_ff = config.d_ff if config.d_ff else 4 * config.d_model
        self.w1 = nn.Linear(config.d_model, d_ff, bias=config.bias)
        self.w2 = nn.Linear(d_ff, config.d_model, bias=config.bias)
        self.act = relu if config.mlp == "relu" else new_gelu

    def forward(self, x):
        return self.w2(in_float32(self.act, self.w1(x)))


class SwiGLU(nn.Module):
    def __init__(self, config):
        super().__init__()
        third, rest = divmod(8 * config.d_model, 3)
        d_ff = config.d_ff if config.d_ff else third + (rest == 2)
        self.w_gate = nn.Linear(config.d_model, d_ff, bias=False)
        self.w_up = nn.Linear(config.d_model, d_ff, bias=False)
        self.w_down = nn.Linear(d_ff, config.d_model, bias=False)

    def forward(self, x):
        return self.w_down(in_float32(silu, self.w_gate(x)) * self.w_up(x))
