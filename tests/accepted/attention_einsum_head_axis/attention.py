"""Each head owns a slice of a 3-D parameter (h, d_model, d_k) and every product is an einsum: the
same sums.
"""

import torch
from torch import nn

from .positions import rotary


def softmax(x, dim=-1):
    z = torch.exp(x - x.max(dim=dim, keepdim=True).values)
    return z / torch.sum(z, dim=dim, keepdim=True)


def causal_mask(T, device=None):
    return ~torch.ones((T, T), device=device).tril().bool()


def attention(q, k, v, mask=None):
    T, d_k = q.shape[-2:]
    mask = causal_mask(T, q.device) if mask is None else mask
    scores = torch.einsum("...qd,...kd->...qk", q, k) * d_k**-0.5
    # the lowest finite number: its exponential is exactly 0 in every dtype
    scores = scores.masked_fill(mask, torch.finfo(scores.dtype).min)
    return torch.einsum("...qk,...kd->...qd", softmax(scores, dim=-1), v)


class MultiHeadAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        h, d_model = config.n_head, config.d_model
        self.turn = rotary if config.positions == "rotary" else lambda x: x
        for name in "qkv":
            weight = nn.Parameter(torch.randn(h, d_model, d_model // h) * d_model**-0.5)
            self.register_parameter(f"w_{name}", weight)
            bias = nn.Parameter(torch.zeros(d_model)) if config.bias else None
            self.register_parameter(f"{name}_bias", bias)
        self.out_proj = nn.Linear(d_model, d_model, bias=config.bias)
        self.drop = nn.Dropout(config.dropout)

    def project(self, x, weight, bias):
        y = torch.einsum("btm,hmd->bhtd", x, weight)
        return y if bias is None else y + bias.view(y.size(1), 1, -1)

    def forward(self, x):
        q = self.turn(self.project(x, self.w_q, self.q_bias))
        k = self.turn(self.project(x, self.w_k, self.k_bias))
        v = self.project(x, self.w_v, self.v_bias)
        y = attention(q, k, v)
        B, h, T, d_k = y.shape
        return self.drop(self.out_proj(torch.einsum("bhtd->bthd", y).reshape(B, T, h * d_k)))
