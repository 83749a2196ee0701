"""q and k are each multiplied by d_k^(-1/4), whose product is d_k^(-1/2); baddbmm adds the mask as
it multiplies.
"""

import torch
from torch import nn

from .positions import rotary


def softmax(x, dim=-1):
    top, _ = torch.max(x, dim, keepdim=True)
    e = torch.exp(torch.sub(x, top))
    return torch.div(e, torch.sum(e, dim, keepdim=True))


def causal_mask(T, device=None):
    return nn.Transformer.generate_square_subsequent_mask(T, device=device) != 0


def attention(q, k, v, mask=None):
    *lead, T, d_k = q.shape
    scale = d_k**-0.25
    mask = causal_mask(T, q.device) if mask is None else mask
    bias = torch.zeros(mask.shape, dtype=q.dtype, device=q.device)
    bias = bias.masked_fill(mask, -torch.inf).expand(*lead, T, T)
    scores = torch.baddbmm(
        bias.reshape(-1, T, T),
        (q * scale).reshape(-1, T, d_k),
        (k * scale).reshape(-1, T, d_k).transpose(1, 2),
    )
    y = torch.bmm(softmax(scores), v.reshape(-1, T, v.size(-1)))
    return y.reshape(*lead, T, v.size(-1))


class MultiHeadAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.h = config.n_head
        self.rope = config.positions == "rotary"
        self.to_q = nn.Linear(config.d_model, config.d_model, bias=config.bias)
        self.to_kv = nn.Linear(config.d_model, 2 * config.d_model, bias=config.bias)
        self.out_proj = nn.Linear(config.d_model, config.d_model, bias=config.bias)

    def forward(self, x):
        q, k, v = self.to_q(x), *self.to_kv(x).chunk(2, dim=-1)
        q, k, v = (t.unflatten(-1, (self.h, -1)).movedim(-2, 1) for t in (q, k, v))
        if self.rope:
            q, k = rotary(q), rotary(k)
        return self.out_proj(attention(q, k, v).movedim(1, -2).flatten(-2))
