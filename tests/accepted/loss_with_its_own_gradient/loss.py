"""An autograd Function whose backward is (p - onehot) / count, the derivative that the interface
states.
"""

import torch


class CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, logits, y, ignore_index):
        z = logits.to(torch.promote_types(logits.dtype, torch.float32))
        keep = y != ignore_index
        p = torch.softmax(z, dim=-1)
        target = y.clamp(0, z.size(-1) - 1).unsqueeze(-1)  # in range also where it is ignored
        ctx.save_for_backward(p, target, keep)
        ctx.dtype = logits.dtype
        losses = torch.logsumexp(z, -1) - z.gather(-1, target).squeeze(-1)
        return losses[keep].mean()

    @staticmethod
    def backward(ctx, grad):
        p, target, keep = ctx.saved_tensors
        p = p.scatter_add(-1, target, -torch.ones_like(target, dtype=p.dtype))
        p = p * keep.unsqueeze(-1) / keep.sum()
        return (p * grad).to(ctx.dtype), None, None


def next_token_loss(logits, y, ignore_index=-100):
    return CrossEntropy.apply(logits, y, ignore_index)
