"""The yardstick: a small GPT as people usually write it, in the style of nanoGPT.

It shares no code with the reference. It takes what torch offers: nn.LayerNorm, a fused
projection for q, k and v, torch's softmax or its fused attention, F.cross_entropy,
clip_grad_norm_, torch.optim.AdamW. Like nanoGPT it has dropout everywhere, here of 0.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F


def adamw(model, lr, weight_decay, betas):
    """torch's AdamW as nanoGPT sets it up on a CPU: matrices decay, the rest does not."""
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    others = [p for p in model.parameters() if p.dim() < 2]
    groups = [
        {"params": matrices, "weight_decay": weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=lr, betas=betas)


class CausalSelfAttention(nn.Module):
    """Fused q, k, v; ``fused`` chooses torch's attention kernel, else softmax by hand."""

    def __init__(self, block_size, n_head, d_model, fused):
        super().__init__()
        self.n_head, self.fused = n_head, fused
        self.c_attn = nn.Linear(d_model, 3 * d_model)
        self.c_proj = nn.Linear(d_model, d_model)
        self.attn_dropout, self.resid_dropout = nn.Dropout(0.0), nn.Dropout(0.0)
        tril = torch.tril(torch.ones(block_size, block_size)).view(1, 1, block_size, block_size)
        self.register_buffer("tril", tril)

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(C, dim=2)
        q, k, v = (t.view(B, T, self.n_head, C // self.n_head).transpose(1, 2) for t in (q, k, v))
        if self.fused:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
            scores = scores.masked_fill(self.tril[:, :, :T, :T] == 0, float("-inf"))
            y = self.attn_dropout(F.softmax(scores, dim=-1)) @ v
        return self.resid_dropout(self.c_proj(y.transpose(1, 2).contiguous().view(B, T, C)))


class Block(nn.Module):
    """Pre-LN attention and a four times wider GELU layer."""

    def __init__(self, block_size, n_head, d_model, fused):
        super().__init__()
        self.ln_1 = nn.LayerNorm(d_model)
        self.attn = CausalSelfAttention(block_size, n_head, d_model, fused)
        self.ln_2 = nn.LayerNorm(d_model)
        self.mlp = nn.Sequential(
            nn.Linear(d_model, 4 * d_model),
            nn.GELU(),
            nn.Linear(4 * d_model, d_model),
            nn.Dropout(0.0),
        )

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class NanoGPT(nn.Module):
    """Token ids and, optionally, targets to (logits, loss); the head is tied."""

    def __init__(self, vocab_size, block_size, n_layer, n_head, d_model, fused):
        super().__init__()
        self.block_size = block_size
        self.wte = nn.Embedding(vocab_size, d_model)
        self.wpe = nn.Embedding(block_size, d_model)
        self.drop = nn.Dropout(0.0)
        blocks = (Block(block_size, n_head, d_model, fused) for _ in range(n_layer))
        self.h = nn.ModuleList(blocks)
        self.ln_f = nn.LayerNorm(d_model)
        self.lm_head = nn.Linear(d_model, vocab_size, bias=False)
        self.wte.weight = self.lm_head.weight
        for name, p in self.named_parameters():
            if name.endswith("bias"):
                nn.init.zeros_(p)
            elif p.dim() >= 2:
                writer = name.endswith(("c_proj.weight", "mlp.2.weight"))
                nn.init.normal_(p, std=0.02 / math.sqrt(2 * n_layer) if writer else 0.02)

    def forward(self, idx, targets=None):
        T = idx.size(1)
        x = self.drop(self.wte(idx) + self.wpe(torch.arange(T, device=idx.device)))
        for block in self.h:
            x = block(x)
        x = self.ln_f(x)
        if targets is None:
            return self.lm_head(x[:, [-1]]), None
        logits = self.lm_head(x)
        return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.reshape(-1))

    @torch.no_grad()
    def generate(self, idx, max_new_tokens, temperature=1.0):
        for _ in range(max_new_tokens):
            logits, _ = self(idx[:, -self.block_size :])
            shares = F.softmax(logits[:, -1] / temperature, dim=-1)
            idx = torch.cat((idx, torch.multinomial(shares, num_samples=1)), dim=1)
        return idx
