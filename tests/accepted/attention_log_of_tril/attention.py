"""The mask is log(tril(ones)), 0 where visible and -inf where hidden, in a buffer cut to (T, T):
exp of score plus -inf is 0.
"""

import torch
from torch import nn

from .positions import rotary


def softmax(x, dim=-1):
    return torch.special.softmax(x, dim)


def causal_mask(T, device=None):
    return torch.log(torch.tril(torch.ones(T, T, device=device))).isinf()


def attention(q, k, v, mask=None):
    if mask is None:
        mask = causal_mask(q.size(-2), device=q.device)
    return weighted_values(q, k, v, torch.log(1 - mask.to(q.dtype)))


def weighted_values(q, k, v, log_visible):
    scores = q @ k.transpose(-1, -2) / q.new_tensor(q.size(-1)).sqrt()
    return (scores + log_visible).softmax(-1) @ v


class MultiHeadAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.n_head = config.n_head
        self.rotate = config.positions == "rotary"
        self.qkv = nn.Linear(config.d_model, 3 * config.d_model, bias=config.bias)
        self.out_proj = nn.Linear(config.d_model, config.d_model, bias=config.bias)
        self.dropout = nn.Dropout(config.dropout)
        tril = torch.tril(torch.ones(config.block_size, config.block_size))
        self.register_buffer("log_visible", tril.log(), persistent=False)

    def forward(self, x):
        B, T, C = x.shape
        qkv = self.qkv(x).reshape(B, T, 3, self.n_head, C // self.n_head)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)  # (B, h, T, d_k)
        if self.rotate:
            q, k = rotary(q), rotary(k)
        y = weighted_values(q, k, v, self.log_visible[:T, :T])
        return self.dropout(self.out_proj(y.transpose(1, 2).reshape(B, T, C)))
