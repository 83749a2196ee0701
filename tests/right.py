"""Correct in another way, where a line or two of the reference make the difference.

What would otherwise be a copy of a whole module in ``accepted/``; each was once rejected. The
edits are planted as a fault's are.
"""

DROPPED = "self.dropout(self.out_proj(y))"

RIGHT = {
    "a_run_seeds_itself_once": (
        ("training", "    model.train()\n", "    model.train()\n    torch.manual_seed(1337)\n"),
    ),
    "a_file_for_people_stands_beside_the_checkpoint": (
        (
            "training",
            "        os.replace(part, path)\n",
            "        os.replace(part, path)\n"
            '        Path(f"{path}.txt").write_text(f"{step} {model.config}")\n',
        ),
    ),
    "half_a_model_is_not_saved": (
        (
            "training",
            "    packed = io.BytesIO()",
            "    with torch.device('meta'):\n"
            "        whole = type(model)(model.config)\n"
            "    if whole.state_dict().keys() != state['model'].keys():\n"
            "        raise ValueError('a weight is missing')\n"
            "    packed = io.BytesIO()",
        ),
    ),
    "dropout_is_drawn_by_numpy": (
        ("attention", "import math\n", "import math\n\nimport numpy as np\n"),
        (
            "attention",
            f"return {DROPPED}",
            "y, p = self.out_proj(y), self.dropout.p\n"
            "        if not self.training or p == 0:\n"
            "            return y\n"
            "        kept = torch.from_numpy(np.random.random_sample(tuple(y.shape)) >= p)\n"
            "        return y * kept.to(y) / (1 - p)",
        ),
        (
            "training",
            '        "generator": torch.get_rng_state(),\n',
            '        "generator": torch.get_rng_state(),\n'
            '        "numpy": [torch.from_numpy(x.astype("int64")) if i == 1 else x\n'
            "                  for i, x in enumerate(np.random.get_state())],\n",
        ),
        (
            "training",
            '    torch.set_rng_state(state["generator"])\n',
            '    torch.set_rng_state(state["generator"])\n'
            '    kept = state["numpy"]\n'
            '    np.random.set_state((kept[0], kept[1].numpy().astype("uint32"), *kept[2:]))\n',
        ),
        ("training", "import torch\n", "import numpy as np\nimport torch\n"),
    ),
    "dropout_has_a_generator_of_its_own": (
        (
            "attention",
            "class MultiHeadAttention",
            "class OwnDropout(nn.Module):\n"
            "    def __init__(self, p):\n"
            "        super().__init__()\n"
            "        self.p, self.key = p, torch.Generator()\n"
            "        self.key.manual_seed(int(torch.randint(2**62, ())))\n\n"
            "    def get_extra_state(self):\n"
            "        return self.key.get_state()\n\n"
            "    def set_extra_state(self, state):\n"
            "        self.key.set_state(state)\n\n"
            "    def forward(self, x):\n"
            "        if not self.training or self.p == 0:\n"
            "            return x\n"
            "        kept = torch.rand(x.shape, generator=self.key) >= self.p\n"
            "        return x * kept.to(x.dtype) / (1 - self.p)\n\n\n"
            "class MultiHeadAttention",
        ),
        ("attention", "nn.Dropout(config.dropout)", "OwnDropout(config.dropout)"),
    ),
    "the_output_projection_is_a_convolution_of_width_1": (
        (
            "attention",
            "nn.Linear(config.d_model, config.d_model, bias=config.bias)",
            "nn.Conv1d(config.d_model, config.d_model, 1, bias=config.bias)",
        ),
        ("attention", "self.out_proj(y)", "self.out_proj(y.mT).mT"),
    ),
    "a_feed_forward_takes_three_axes": (
        (
            "feedforward",
            "        hidden = self.activation(self.w1(x))",
            "        B, T, d_model = x.shape\n        hidden = self.activation(self.w1(x))",
        ),
    ),
}
