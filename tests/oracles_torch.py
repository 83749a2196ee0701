"""What torch itself computes, beside the reference: the same numbers in, and how far apart.

A comparison is a dict from what was compared to the largest relative difference, as in oracles.py;
each has an argument that makes the reference wrong, so that it can be seen to fail.
"""

import torch
from torch import nn
from torch.nn import functional as F

from reference.attention import MultiHeadAttention, attention
from reference.block import Block
from reference.loss import next_token_loss
from reference.model import GPTConfig
from reference.normalization import LayerNorm, RMSNorm
from reference.training import clip_gradients, configure_optimizer
from tests import strategies as draw
from tests.oracles import difference, nudged


def with_gradients(function, *inputs):
    """The output, then the gradient of each input under a fixed random cotangent."""
    leaves = [tensor.detach().clone().requires_grad_() for tensor in inputs]
    out = function(*leaves)
    grads = torch.autograd.grad(out, leaves, draw.normal(5, *out.shape, dtype=out.dtype))
    return [out.detach(), *grads]


def gaps(names, ours, theirs):
    return {name: difference(a, b) for name, a, b in zip(names, ours, theirs)}


def compare_attention(size, dtype, causal, scale=1.0):
    """``attention`` against torch's own, which marks what may be seen, not what is hidden."""
    B, h, T, d_k = size
    q, k, v = (draw.normal(i, B, h, T, d_k, dtype=dtype, scale=2.0) for i in range(3))
    hidden = draw.normal(9, B, 1, T, T) > 0
    hidden[..., 0] = False  # every row sees something
    mask = None if causal else hidden
    how = {"is_causal": True} if causal else {"attn_mask": ~hidden}
    ours = with_gradients(lambda q, k, v: attention(scale * q, k, v, mask), q, k, v)
    theirs = with_gradients(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, **how), q, k, v)
    return gaps(("output", "gradient of q", "gradient of k", "gradient of v"), ours, theirs)


def module_gaps(ours, theirs, call, x, names):
    """Output, gradient of the input, gradient of every parameter; ``names`` leads to theirs."""
    mine = with_gradients(ours, x)
    yours = with_gradients(lambda x: call(theirs, x), x)
    found = gaps(("output", "gradient of x"), mine, yours)
    for function in (ours, lambda x: call(theirs, x)):
        out = function(x)
        out.backward(draw.normal(5, *out.shape, dtype=out.dtype))
    parameters = dict(theirs.named_parameters())
    for name, parameter in ours.named_parameters():
        found[f"gradient of {name}"] = difference(parameter.grad, parameters[names[name]].grad)
    return found


def copied(ours, theirs, names, seed, nudge):
    """Random numbers for theirs, the same for ours."""
    draw.load(theirs, lambda name, p: draw.normal(seed + p.numel(), *p.shape, scale=0.5))
    tensors = theirs.state_dict()
    ours.load_state_dict({name: tensors[names[name]] for name in ours.state_dict()})
    return nudged(ours, nudge), theirs


def causal(T):
    return torch.ones(T, T, dtype=torch.bool).triu(1)


def compare_heads(size, dtype, bias, nudge=None):
    """MultiHeadAttention against nn.MultiheadAttention."""
    B, h, T, d_k = size
    config = GPTConfig(7, T, 1, h, h * d_k, bias=bias)
    names = {f"qkv_proj.{kind}": f"in_proj_{kind}" for kind in ("weight", "bias")}
    names |= {f"out_proj.{kind}": f"out_proj.{kind}" for kind in ("weight", "bias")}
    twin = nn.MultiheadAttention(h * d_k, h, bias=bias, batch_first=True)
    ours, theirs = copied(
        MultiHeadAttention(config).to(dtype), twin.to(dtype), names, seed=B, nudge=nudge
    )
    x = draw.normal(3, B, T, h * d_k, dtype=dtype)
    call = lambda twin, x: twin(x, x, x, attn_mask=causal(T), need_weights=False)[0]  # noqa: E731
    return module_gaps(ours, theirs, call, x, names)


BLOCK_NAMES = {
    "ln_1": "norm1",
    "ln_2": "norm2",
    "attn.qkv_proj": "self_attn.in_proj",
    "attn.out_proj": "self_attn.out_proj",
    "mlp.w1": "linear1",
    "mlp.w2": "linear2",
}


def compare_block(size, dtype, mlp, nudge=None):
    """Block against nn.TransformerEncoderLayer(norm_first=True) with a causal mask."""
    B, h, T, d_k = size
    config = GPTConfig(7, T, 1, h, h * d_k, d_ff=11, mlp=mlp)
    ours = Block(config).to(dtype)
    names = {}
    for name in ours.state_dict():
        path, kind = name.rsplit(".", 1)
        names[name] = f"{BLOCK_NAMES[path]}{'_' if path == 'attn.qkv_proj' else '.'}{kind}"
    twin = nn.TransformerEncoderLayer(
        h * d_k, h, 11, dropout=0.0, activation=mlp, batch_first=True, norm_first=True
    )
    ours, theirs = copied(ours, twin.to(dtype), names, seed=B, nudge=nudge)
    x = draw.normal(3, B, T, h * d_k, dtype=dtype)
    return module_gaps(ours, theirs, lambda twin, x: twin(x, src_mask=causal(T)), x, names)


def compare_norm(kind, dtype, scale, nudge=None):
    """LayerNorm against F.layer_norm, RMSNorm against nn.RMSNorm, at numbers of any scale."""
    d_model = 13
    x = draw.normal(1, 3, 5, d_model, dtype=dtype, scale=scale) + scale
    names = {"weight": "weight", "bias": "bias"}
    if kind == "layer_norm":
        mine, twin = LayerNorm(d_model), nn.LayerNorm(d_model)
        call = lambda twin, x: F.layer_norm(x, (d_model,), twin.weight, twin.bias)  # noqa: E731
    else:
        mine, twin = RMSNorm(d_model), nn.RMSNorm(d_model, eps=1e-5)
        call = lambda twin, x: twin(x)  # noqa: E731
    ours, theirs = copied(mine.to(dtype), twin.to(dtype), names, seed=2, nudge=nudge)
    return module_gaps(ours, theirs, call, x, names)


def compare_loss(dtype, scale=1.0):
    """next_token_loss against F.cross_entropy, with ignored targets."""
    logits = draw.normal(4, 3, 5, 17, dtype=dtype, scale=4.0)
    y = draw.tokens(4, 3, 5, 17)
    y[0, 2] = y[2, 4] = -100
    ours = with_gradients(lambda logits: next_token_loss(scale * logits, y), logits)
    theirs = with_gradients(lambda logits: F.cross_entropy(logits.mT, y), logits)
    return gaps(("loss", "gradient of logits"), ours, theirs)


def gradients(dtype, scale):
    """Parameters of several shapes with gradients, one without."""
    parameters = [nn.Parameter(torch.zeros(s, dtype=dtype)) for s in ((3, 4), (5,), (), (2, 3, 2))]
    for seed, parameter in enumerate(parameters):
        parameter.grad = draw.normal(seed, *parameter.shape, dtype=dtype, scale=scale)
    return [*parameters, nn.Parameter(torch.zeros(2, dtype=dtype))]


def compare_clipping(dtype, scale, factor=1.0):
    """clip_gradients against torch.nn.utils.clip_grad_norm_."""
    ours, theirs = gradients(dtype, factor * scale), gradients(dtype, scale)
    found = {"norm": torch.tensor(clip_gradients(ours, 1.0), dtype=dtype)}
    want = {"norm": nn.utils.clip_grad_norm_(theirs, 1.0)}
    for i in range(4):
        found[f"gradient of {i}"], want[f"gradient of {i}"] = ours[i].grad, theirs[i].grad
    return {name: difference(found[name], want[name]) for name in want}


def compare_adamw(dtype, decay=0.3):
    """configure_optimizer against two torch.optim.AdamW, one a group of the rule of two axes."""
    shapes = ((3, 4), (5,), (2, 3, 2))
    ours, theirs = (
        nn.ParameterList(draw.normal(i, *s, dtype=dtype) for i, s in enumerate(shapes))
        for _ in range(2)
    )
    mine = configure_optimizer(ours, 1e-2, decay, (0.8, 0.9))
    matrices, vectors = (theirs[0], theirs[2]), (theirs[1],)
    yours = [
        torch.optim.AdamW(matrices, lr=1e-2, betas=(0.8, 0.9), weight_decay=0.3),
        torch.optim.AdamW(vectors, lr=1e-2, betas=(0.8, 0.9), weight_decay=0.0),
    ]
    for step in range(5):
        for i, (a, b) in enumerate(zip(ours, theirs)):
            a.grad = draw.normal(10 * step + i, *a.shape, dtype=dtype)
            b.grad = a.grad.clone()
        for optimizer in (mine, *yours):
            optimizer.step()
    return {
        f"value of {i}": difference(a.data, b.data) for i, (a, b) in enumerate(zip(ours, theirs))
    }
