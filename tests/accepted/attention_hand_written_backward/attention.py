"""The gradient is written out by hand in an autograd Function; it is the derivative that autograd
would find.
"""

import torch
from torch import nn

from .positions import rotary


def softmax(x, dim=-1):
    return Softmax.apply(x, dim)


def causal_mask(T, device=None):
    return torch.ones(T, T, dtype=torch.bool, device=device).tril().logical_not()


class Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, dim):
        e = (x - x.amax(dim, keepdim=True)).exp()
        p = e / e.sum(dim, keepdim=True)
        ctx.dim = dim
        ctx.save_for_backward(p)
        return p

    @staticmethod
    def backward(ctx, grad):
        (p,) = ctx.saved_tensors
        pull = grad * p
        return pull - p * pull.sum(ctx.dim, keepdim=True), None


class Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, mask):
        scale = q.size(-1) ** -0.5
        p = softmax((q @ k.mT * scale).masked_fill(mask, -torch.inf))
        ctx.scale = scale
        ctx.save_for_backward(q, k, v, p)
        return p @ v

    @staticmethod
    def backward(ctx, grad):
        q, k, v, p = ctx.saved_tensors
        pull = grad @ v.mT * p
        d_scores = (pull - p * pull.sum(-1, keepdim=True)) * ctx.scale  # 0 where hidden: p is 0
        return d_scores @ k, d_scores.mT @ q, p.mT @ grad, None


def attention(q, k, v, mask=None):
    return Attention.apply(q, k, v, causal_mask(q.size(-2), q.device) if mask is None else mask)


class MultiHeadAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.n_head = config.n_head
        self.turn = config.positions == "rotary"
        self.qkv = nn.ModuleDict(
            {
                n: nn.Linear(config.d_model, config.d_model, bias=config.bias)
                for n in ("q", "k", "v")
            }
        )
        self.out_proj = nn.Linear(config.d_model, config.d_model, bias=config.bias)
        self.dropout = nn.Dropout(config.dropout)

    def heads(self, name, x):
        return self.qkv[name](x).unflatten(-1, (self.n_head, -1)).transpose(1, 2)

    def forward(self, x):
        q, k, v = self.heads("q", x), self.heads("k", x), self.heads("v", x)
        if self.turn:
            q, k = rotary(q), rotary(k)
        return self.dropout(self.out_proj(attention(q, k, v).transpose(1, 2).flatten(2)))
