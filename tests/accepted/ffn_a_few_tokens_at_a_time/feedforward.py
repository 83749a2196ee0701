"""Tokens go through in chunks to save memory; each token is on its own here, so the cut cannot
matter.
"""

import torch
from torch import nn
from torch.nn import functional as F

CHUNK = 4


def by_chunks(function, x):
    rows = x.reshape(-1, x.size(-1))
    return torch.cat([function(part) for part in rows.split(CHUNK)]).view(x.shape)


class FeedForward(nn.Module):
    def __init__(self, config):
        super().__init__()
        d_ff = config.d_ff or 4 * config.d_model
        self.w1 = nn.Linear(config.d_model, d_ff, bias=config.bias)
        self.w2 = nn.Linear(d_ff, config.d_model, bias=config.bias)
        self.act = nn.Threshold(0.0, 0.0) if config.mlp == "relu" else nn.GELU(approximate="none")
        self.drop = nn.Dropout(config.dropout)

    def forward(self, x):
        return self.drop(by_chunks(lambda part: self.w2(self.act(self.w1(part))), x))


class SwiGLU(nn.Module):
    def __init__(self, config):
        super().__init__()
        d_ff = config.d_ff or round(8 / 3 * config.d_model)
        self.w_gate = nn.Linear(config.d_model, d_ff, bias=False)
        self.w_up = nn.Linear(config.d_model, d_ff, bias=False)
        self.w_down = nn.Linear(d_ff, config.d_model, bias=False)
        self.drop = nn.Dropout(config.dropout)

    def forward(self, x):
        def gated(part):
            return self.w_down(F.silu(self.w_gate(part), inplace=False) * self.w_up(part))

        return self.drop(by_chunks(gated, x))
