"""Hidden exponentials are set to 0 before the sum is taken, so the visible shares still
sum to 1.
"""

import torch
from torch import nn

from .positions import rotary


def softmax(x, dim=-1):
    e = (x - x.detach().amax(dim, keepdim=True)).exp_()
    return torch.nn.functional.normalize(e, p=1.0, dim=dim, eps=0.0)


def causal_mask(T, device=None):
    return (
        torch.arange(T * T, device=device).view(T, T) % T > torch.arange(T, device=device)[:, None]
    )


def attention(q, k, v, mask=None):
    mask = causal_mask(q.size(-2), q.device) if mask is None else mask
    scores = q.matmul(k.mT).mul(q.size(-1) ** -0.5)
    top = scores.masked_fill(mask, -torch.inf).amax(-1, keepdim=True).detach()
    # hidden scores become the top one before exp: no overflow, and no gradient through 0 * inf
    e = torch.where(mask, top, scores).sub(top).exp().masked_fill(mask, 0.0)
    return (e / e.sum(-1, keepdim=True)).matmul(v)


class MultiHeadAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.shape = (config.n_head, config.d_model // config.n_head)
        self.rotary = config.positions == "rotary"
        self.proj = nn.ModuleList(
            nn.Linear(config.d_model, config.d_model, bias=config.bias) for _ in range(3)
        )
        self.out_proj = nn.Linear(config.d_model, config.d_model, bias=config.bias)
        self.drop = nn.Dropout(config.dropout)

    def forward(self, x):
        q, k, v = (p(x).unflatten(-1, self.shape).permute(0, 2, 1, 3) for p in self.proj)
        q, k = (rotary(q), rotary(k)) if self.rotary else (q, k)
        return self.drop(self.out_proj(attention(q, k, v).permute(0, 2, 1, 3).flatten(2)))
