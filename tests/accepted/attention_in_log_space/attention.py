"""Shares are exp(score - logsumexp of the scores): the quotient of softmax written as a difference
of logarithms.
"""

import math

import torch
from torch import nn

from .positions import rotary


def softmax(x, dim=-1):
    x = x - x.amax(dim, keepdim=True)  # logarithms near 0 keep their digits
    return torch.exp(x - torch.logsumexp(x, dim, keepdim=True))


def causal_mask(T, device=None):
    return torch.ones(T, T, dtype=torch.uint8, device=device).tril().logical_not()


def attention(q, k, v, mask=None):
    if mask is None:
        mask = causal_mask(q.size(-2), q.device)
    log_scale = -0.5 * math.log(q.size(-1))
    scores = torch.einsum("...id,...jd->...ij", q * math.exp(log_scale), k)
    scores = scores.masked_fill(mask, -math.inf)
    return torch.einsum("...ij,...jd->...id", softmax(scores), v)


class MultiHeadAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.n_head = config.n_head
        self.turns = config.positions == "rotary"
        self.qk = nn.Linear(config.d_model, 2 * config.d_model, bias=config.bias)
        self.v = nn.Linear(config.d_model, config.d_model, bias=config.bias)
        self.out_proj = nn.Linear(config.d_model, config.d_model, bias=config.bias)
        self.dropout_in = nn.Dropout(config.dropout)

    def forward(self, x):
        B, T, d_model = x.shape
        qk = self.qk(x).view(B, T, 2 * self.n_head, -1).transpose(1, 2)  # queries, then keys
        qk = rotary(qk) if self.turns else qk
        q, k = qk[:, : self.n_head], qk[:, self.n_head :]
        v = self.v(self.dropout_in(x)).view(B, T, self.n_head, -1).transpose(1, 2)
        return self.out_proj(attention(q, k, v).transpose(1, 2).reshape(B, T, d_model))
