"""An additive mask of 0 and -inf, which SDPA adds to the scores; shares are exp(log_softmax), the
same number.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F

from .positions import rotary


def softmax(x, dim=-1):
    return torch.exp(F.log_softmax(x, dim))


def causal_mask(T, device=None):
    return torch.full((T, T), True, device=device).triu(1)


def additive(mask, dtype):
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(mask, -math.inf)


def attention(q, k, v, mask=None):
    if mask is None:
        mask = causal_mask(q.size(-2), q.device)
    bias = additive(mask, q.dtype).expand(*q.shape[:-1], q.size(-2))
    return F.scaled_dot_product_attention(q, k, v, attn_mask=bias)


class MultiHeadAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.in_proj = nn.Linear(config.d_model, 3 * config.d_model, bias=config.bias)
        self.out_proj = nn.Linear(config.d_model, config.d_model, bias=config.bias)

    def forward(self, x):
        B, T, d_model = x.shape
        qkv = self.in_proj(x).view(B, T, 3, self.config.n_head, -1)
        qk, v = qkv[:, :, :2].permute(2, 0, 3, 1, 4), qkv[:, :, 2].transpose(1, 2)
        if self.config.positions == "rotary":
            qk = rotary(qk)  # both at once: the turn depends on T alone
        y = attention(qk[0], qk[1], v).transpose(1, 2).reshape(B, T, d_model)
        return F.dropout(self.out_proj(y), self.config.dropout, self.training)
