"""The block is an nn.ModuleDict whose keys are the four members, so they are attributes all the
same.
"""

from torch import nn

from . import attention, feedforward, normalization

NORMS = {"layernorm": normalization.LayerNorm, "rmsnorm": normalization.RMSNorm}
MLPS = {
    "relu": feedforward.FeedForward,
    "gelu": feedforward.FeedForward,
    "swiglu": feedforward.SwiGLU,
}


class Block(nn.ModuleDict):
    def __init__(self, config):
        super().__init__(
            {
                "ln_1": NORMS[config.norm](config.d_model),
                "attn": attention.MultiHeadAttention(config),
                "ln_2": NORMS[config.norm](config.d_model),
                "mlp": MLPS[config.mlp](config),
            }
        )

    def forward(self, x):
        after_attention = x.add(self["attn"](self["ln_1"](x)))
        after_mlp = after_attention.add(self["mlp"](self["ln_2"](after_attention)))
        return after_mlp
