"""Day 47: what a token does with what it has gathered, on its own."""

import torch
from torch import nn
from torch.nn import functional as F

ACTIVATIONS = {"relu": torch.relu, "gelu": F.gelu}


class FeedForward(nn.Module):
    """``act(x W1 + b1) W2 + b2``, the same for every position. (..., d_model) to the same.

    The hidden width is ``d_ff``, by default four times d_model; the activation is ReLU (arXiv:
    1706.03762, section 3.3) or GELU (arXiv:1606.08415; GPT-2).
    """

    def __init__(self, config):
        super().__init__()
        d_ff = 4 * config.d_model if config.d_ff is None else config.d_ff
        self.activation = ACTIVATIONS[config.mlp]
        self.w1 = nn.Linear(config.d_model, d_ff, bias=config.bias)
        self.w2 = nn.Linear(d_ff, config.d_model, bias=config.bias)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x):
        B, T, C = x.shape
        x = x.reshape(B * T, C)
        hidden = self.activation(self.w1(x))  # (..., d_ff)
        return self.dropout(self.w2(hidden)).view(B, T, C)  # (..., d_model)


class SwiGLU(nn.Module):
    """``(silu(x Wg) * x Wu) Wd``, without biases. (..., d_model) to the same.

    Three matrices instead of two: at two thirds of ``4 d_model`` they hold as many weights as
    FeedForward's, so ``d_ff`` is by default the integer nearest to ``8 d_model / 3``.
    arXiv:2002.05202, equation 6.
    """

    def __init__(self, config):
        super().__init__()
        d_ff = round(8 * config.d_model / 3) if config.d_ff is None else config.d_ff
        self.w_gate = nn.Linear(config.d_model, d_ff, bias=False)
        self.w_up = nn.Linear(config.d_model, d_ff, bias=False)
        self.w_down = nn.Linear(d_ff, config.d_model, bias=False)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x):
        hidden = F.silu(self.w_gate(x)) * self.w_up(x)  # (..., d_ff)
        return self.dropout(self.w_down(hidden))  # (..., d_model)
