"""One group over all channels makes group_norm a layer norm; the root mean square is a
vector norm.
"""

import torch
from torch import nn


def widen(*tensors):
    """float64, None left as it is."""
    return [None if t is None else t.double() for t in tensors]


class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5, bias=True):
        super().__init__()
        self.d_model, self.eps = d_model, eps
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model)) if bias else None

    def forward(self, x):
        rows, weight, bias = widen(x.reshape(-1, self.d_model), self.weight, self.bias)
        return torch.group_norm(rows, 1, weight, bias, self.eps).view(x.shape).to(x.dtype)


class RMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.d_model, self.eps = d_model, eps
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        wide, weight = widen(x, self.weight)
        length = torch.linalg.vector_norm(wide, dim=-1, keepdim=True)  # sqrt(d_model) times the rms
        return (wide * weight).div((length**2 / self.d_model + self.eps).sqrt()).to(x.dtype)
