"""The layers stand in an nn.Sequential and are reachable as w1 and w2 as well: one tensor with two
names.
"""

from torch import nn


class FeedForward(nn.Module):
    def __init__(self, config):
        super().__init__()
        d_ff = config.d_ff or 4 * config.d_model
        self.w1 = nn.Linear(config.d_model, d_ff, bias=config.bias)
        self.w2 = nn.Linear(d_ff, config.d_model, bias=config.bias)
        activation = {"relu": nn.ReLU, "gelu": nn.GELU}[config.mlp]()
        self.net = nn.Sequential(self.w1, activation, nn.Dropout(config.dropout), self.w2)

    def forward(self, x):
        return self.net(x)


class SwiGLU(nn.Module):
    def __init__(self, config):
        super().__init__()
        d_ff = config.d_ff or (16 * config.d_model + 3) // 6  # nearest integer to 8 d / 3
        self.w_gate = nn.Linear(config.d_model, d_ff, bias=False)
        self.w_up = nn.Linear(config.d_model, d_ff, bias=False)
        self.w_down = nn.Linear(d_ff, config.d_model, bias=False)
        self.net = nn.Sequential(self.w_gate, nn.SiLU())

    def forward(self, x):
        return self.w_down(self.w_up(x) * self.net(x))
