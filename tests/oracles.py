"""Twins of the reference that nobody here wrote: the same weights, and how far apart they are.

A comparison is a dict from what was compared to the largest difference, relative to the largest
number of the twin. ``nudge`` moves one weight of the reference only, so that every comparison can
be seen to fail.
"""

import os

os.environ["HF_HUB_OFFLINE"] = "1"  # random weights: nothing is ever fetched

from contextlib import contextmanager
from unittest import mock

import torch
import transformers
from transformers.models.llama import modeling_llama

from reference.loss import next_token_loss
from reference.model import GPT, GPTConfig
from reference.positions import half_split_order
from tests import strategies as draw

transformers.logging.set_verbosity_error()


def difference(ours, theirs):
    """The largest difference over the largest number; where all are 0, the difference itself."""
    return (ours - theirs).abs().max().item() / (theirs.abs().max().item() or 1.0)


def nudged(model, nudge):
    """Scale the ``nudge``-th parameter up by a thousandth; None leaves all as they are."""
    if nudge is not None:
        parameters = list(model.parameters())
        with torch.no_grad():
            parameters[nudge % len(parameters)].mul_(1.001)
    return model


@contextmanager
def in_dtype(dtype):
    """Let transformers compute in the dtype of its models.

    Its norms, angles and losses are always float32. In float64 its own code is told that float32
    means float64; nothing else is changed.
    """
    if dtype != torch.float64:
        yield
        return

    class Float64Torch:
        float32 = float = torch.float64

        def __getattr__(self, name):
            return getattr(torch, name)

    with (
        mock.patch.object(modeling_llama, "torch", Float64Torch()),
        mock.patch.object(torch.Tensor, "float", torch.Tensor.double),
    ):
        yield


def gpt2(keywords):
    """GPT2LMHeadModel of the same sizes; its GELU is the exact one, as here."""
    d_model = keywords["d_model"]
    return transformers.GPT2LMHeadModel(
        transformers.GPT2Config(
            vocab_size=keywords["vocab_size"],
            n_positions=keywords["block_size"],
            n_embd=d_model,
            n_layer=keywords["n_layer"],
            n_head=keywords["n_head"],
            n_inner=keywords["d_ff"],
            activation_function=keywords["mlp"],
            tie_word_embeddings=keywords["tied"],
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            bos_token_id=None,
            eos_token_id=None,
        )
    )


GPT2_NAMES = {
    "wte": "transformer.wte",
    "wpe": "transformer.wpe",
    "ln_f": "transformer.ln_f",
    "lm_head": "lm_head",
    "ln_1": "ln_1",
    "ln_2": "ln_2",
    "attn.qkv_proj": "attn.c_attn",
    "attn.out_proj": "attn.c_proj",
    "mlp.w1": "mlp.c_fc",
    "mlp.w2": "mlp.c_proj",
}


def gpt2_tensors(name, tensors, keywords):
    """What GPT-2 calls our tensor ``name``, laid out as ours: its matrices are transposed."""
    path, kind = name.rsplit(".", 1)
    prefix = ""
    if path.startswith("blocks."):
        _, layer, path = path.split(".", 2)
        prefix = f"transformer.h.{layer}."
    tensor = tensors[f"{prefix}{GPT2_NAMES[path]}.{kind}"]
    return tensor.mT if prefix and tensor.dim() == 2 else tensor


def llama(keywords):
    """LlamaForCausalLM of the same sizes, with its eager attention."""
    d_ff = keywords["d_ff"] or round(8 * keywords["d_model"] / 3)
    return transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=keywords["vocab_size"],
            max_position_embeddings=keywords["block_size"],
            hidden_size=keywords["d_model"],
            num_hidden_layers=keywords["n_layer"],
            num_attention_heads=keywords["n_head"],
            intermediate_size=d_ff,
            tie_word_embeddings=keywords["tied"],
            rms_norm_eps=1e-5,
            bos_token_id=None,
            eos_token_id=None,
            attn_implementation="eager",
        )
    )


LLAMA_NAMES = {
    "wte": "model.embed_tokens",
    "ln_f": "model.norm",
    "lm_head": "lm_head",
    "ln_1": "input_layernorm",
    "ln_2": "post_attention_layernorm",
    "attn.out_proj": "self_attn.o_proj",
    "mlp.w_gate": "mlp.gate_proj",
    "mlp.w_up": "mlp.up_proj",
    "mlp.w_down": "mlp.down_proj",
}


def llama_tensors(name, tensors, keywords):
    """What Llama calls our tensor ``name``, with the rows of q and k in our order of channels."""
    path, _ = name.rsplit(".", 1)
    prefix = "model.layers.{}.".format(path.split(".")[1]) if path.startswith("blocks.") else ""
    path = path.split(".", 2)[-1] if prefix else path
    if path != "attn.qkv_proj":
        return tensors[f"{prefix}{LLAMA_NAMES[path]}.weight"]
    q, k, v = (tensors[f"{prefix}self_attn.{part}_proj.weight"] for part in "qkv")
    n_head, d_k = keywords["n_head"], keywords["d_model"] // keywords["n_head"]
    back = half_split_order(d_k).argsort()
    q, k = (w.unflatten(0, (n_head, d_k))[:, back].flatten(0, 1) for w in (q, k))
    return torch.cat((q, k, v))


TWINS = {"gpt2": (gpt2, gpt2_tensors), "llama": (llama, llama_tensors)}


def twins(kind, keywords, seed, dtype, nudge=None):
    """The reference and its twin with the same hot weights, in eval mode."""
    build, tensors_of = TWINS[kind]
    theirs = draw.load(build(keywords).to(dtype), lambda name, p: hot(p, seed)).eval()
    ours = GPT(GPTConfig(**keywords)).to(dtype).eval()
    tensors = theirs.state_dict()
    ours.load_state_dict({n: tensors_of(n, tensors, keywords) for n in ours.state_dict()})
    return nudged(ours, nudge), theirs


def hot(parameter, seed):
    """Numbers at which attention is far from uniform and nothing saturates."""
    scale = 0.3 if parameter.dim() == 1 else parameter.size(-1) ** -0.5
    return draw.normal(seed + parameter.numel(), *parameter.shape, scale=scale) + (
        1.0 if parameter.dim() == 1 else 0.0
    )


def compare_model(kind, keywords, seed, dtype, nudge=None):
    """Logits, loss with labels, and the gradient of every parameter."""
    tokens = draw.tokens(seed, 3, keywords["block_size"], keywords["vocab_size"])  # (B, T)
    with in_dtype(dtype):
        ours, theirs = twins(kind, keywords, seed, dtype, nudge)
        out = theirs(tokens, labels=tokens)
        out.loss.backward()
    logits = ours(tokens)
    y = torch.cat((tokens[:, 1:], torch.full((3, 1), -100)), dim=1)  # theirs shifts by itself
    loss = next_token_loss(logits, y)
    loss.backward()
    grads = {name: parameter.grad for name, parameter in theirs.named_parameters()}
    found = {
        "logits": difference(logits.detach(), out.logits.detach()),
        "loss": difference(loss.detach(), out.loss.detach()),
    }
    for name, parameter in ours.named_parameters():
        want = TWINS[kind][1](name, grads, keywords)
        found[f"gradient of {name}"] = difference(parameter.grad, want)
    return found
