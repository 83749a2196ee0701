"""Softmax runs in float32 whatever comes in (as Llama's does) and gives the caller's dtype back."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from .positions import rotary


def softmax(x, dim=-1):
    return F.softmax(x, dim=dim, dtype=torch.float32).to(x.dtype)


def causal_mask(T, device=None):
    return torch.ones((T, T), device=device).triu(diagonal=1).to(torch.bool)


def attention(q, k, v, mask=None):
    attn_weights = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(q.shape[-1])
    if mask is None:
        mask = causal_mask(q.shape[-2], q.device)
    attn_weights = attn_weights.masked_fill(mask, torch.finfo(q.dtype).min)
    return torch.matmul(softmax(attn_weights), v)


class MultiHeadAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.head_dim = config.d_model // config.n_head
        self.q_proj = nn.Linear(config.d_model, config.n_head * self.head_dim, bias=config.bias)
        self.k_proj = nn.Linear(config.d_model, config.n_head * self.head_dim, bias=config.bias)
        self.v_proj = nn.Linear(config.d_model, config.n_head * self.head_dim, bias=config.bias)
        self.out_proj = nn.Linear(config.n_head * self.head_dim, config.d_model, bias=config.bias)
        self.use_rope = config.positions == "rotary"
        self.attention_dropout = config.dropout

    def forward(self, hidden_states):
        shape = (*hidden_states.shape[:-1], -1, self.head_dim)
        query = self.q_proj(hidden_states).view(shape).transpose(1, 2)
        key = self.k_proj(hidden_states).view(shape).transpose(1, 2)
        value = self.v_proj(hidden_states).view(shape).transpose(1, 2)
        if self.use_rope:
            query, key = rotary(query), rotary(key)
        output = attention(query, key, value).transpose(1, 2).reshape(hidden_states.shape)
        return F.dropout(self.out_proj(output), self.attention_dropout, self.training)
