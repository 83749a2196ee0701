"""A wrong package for every rule that no fault of the catalogue names first: one edit each.

Wherever the rule can be the first to see something, its package is one of which it is: that is
what the rule is needed for (``python -m tests.mutation --full``).
"""

ATTEND = "y = attention(q, k, v)"
STREAM = "x = self.dropout(x)"
HEAD = "return self.lm_head(self.ln_f(x))"
HIDDEN = "hidden = self.activation(self.w1(x))"
GATED = "F.silu(self.w_gate(x))"
PROJECTED = "return self.dropout(self.out_proj(y))"
LAYER_NORM_END = "return y if self.bias is None else y + self.bias"
RMS = "torch.rsqrt(mean_square + self.eps)"

WRONG = {
    "a_config_keeps_what_it_is_given": ("model", "bias: bool = True", "bias: bool = False"),
    "the_visible_shares_sum_to_one": (
        "attention",
        "return softmax(scores) @ v",
        "late = torch.arange(q.size(-2), dtype=q.dtype)[:, None] > 0\n"
        "    return softmax(scores) @ v * (1 - 0.01 * late)",
    ),
    "the_past_is_visible": (
        "attention",
        "    scores = scores.masked_fill(mask",
        "    if q.size(-2) > 16:\n"
        "        scores = scores.masked_fill(torch.ones_like(scores, "
        "dtype=torch.bool).tril(-16), -math.inf)\n"
        "    scores = scores.masked_fill(mask",
    ),
    "outputs_are_weighted_sums_of_values": (
        "attention",
        "return softmax(scores) @ v",
        "return softmax(scores).float() @ v.float()",
    ),
    "large_scores_stay_finite": (
        "attention",
        "    scores = scores.masked_fill(mask, -math.inf)\n    return softmax(scores) @ v",
        "    scores = scores - scores.masked_fill(mask, -math.inf).detach().amax(-1, "
        "keepdim=True)\n"
        "    shares = torch.where(mask, 0.0, scores.exp())\n"
        "    return shares / shares.sum(-1, keepdim=True) @ v",
    ),
    "an_odd_width_has_no_pairs": ("positions", "if d_k % 2 == 1:", "if False:"),
    "rotary_turns_the_gradient_back": ("positions", "turned.flatten", "turned.detach().flatten"),
    "heads_keep_shape_and_input": ("attention", PROJECTED, f"{PROJECTED}.squeeze(1)"),
    "many_tokens_blend_as_their_pairs_do": (
        "attention",
        "y = attention(q, k, v)",
        "y = attention(q / max(1.0, math.log(x.size(1))), k, v)",
    ),
    "queries_keys_and_values_are_linear": (
        "attention",
        ATTEND,
        "y = attention(nn.functional.normalize(q, dim=-1), k, v)",
    ),
    "sequences_of_a_batch_do_not_mix": (
        "attention",
        "    scores = scores.masked_fill",
        "    if scores.dim() == 4 and scores.size(0) == scores.size(1):\n"
        "        mask = mask.mT\n"
        "    scores = scores.masked_fill",
    ),
    "heads_see_the_whole_past": (
        "attention",
        "y = attention(q, k, v)",
        "i = torch.arange(x.size(1))\n"
        "        y = attention(q, k, v, (i > i[:, None]) | (i < i[:, None] - 6))",
    ),
    "the_gradient_of_attention_is_its_slope": (
        "attention",
        "return self.dropout(self.out_proj(y))",
        "y = self.out_proj(y)\n        y.data = self.dropout(y).data\n        return y",
    ),
    "layer_norm_looks_at_one_token": (
        "normalization",
        "return y if self.bias is None else y + self.bias",
        "return (y if self.bias is None else y + self.bias) + 1e-9 * x.mean()",
    ),
    "a_constant_token_stays_finite": (
        "normalization",
        "variance = (centred * centred).sum(-1, keepdim=True) / d_model",
        "variance = (wide * wide).mean(-1, keepdim=True) - wide.mean(-1, keepdim=True).square()",
    ),
    "rms_norm_ends_with_a_gain": ("normalization", RMS, f"{RMS} * self.weight"),
    "rms_norm_looks_at_one_token": (
        "normalization",
        "* torch.rsqrt(mean_square + self.eps)",
        "* torch.rsqrt(mean_square + self.eps + 1e-9 * wide.mean().abs())",
    ),
    "rms_norm_passes_the_gradient_on": ("normalization", RMS, f"{RMS}.detach()"),
    "a_zero_token_stays_finite": (
        "normalization",
        "(wide * wide).sum(-1, keepdim=True) / x.size(-1)",
        "(wide * wide).sum(-1, keepdim=True).sqrt().square() / x.size(-1)",
    ),
    "the_feed_forward_works_token_by_token": (
        "feedforward",
        "hidden = self.activation(self.w1(x))",
        "hidden = self.activation(self.w1(x)) + 1e-9 * x.mean()",
    ),
    "the_feed_forward_drops_out_only_in_training": (
        "feedforward",
        "return self.dropout(self.w2(hidden))",
        "return F.dropout(self.w2(hidden), self.dropout.p)",
    ),
    "the_gradient_of_the_feed_forward_is_its_slope": (
        "feedforward",
        HIDDEN,
        "hidden = self.activation(self.w1(x.detach()))",
    ),
    "swiglu_works_token_by_token": ("feedforward", GATED, f"{GATED} * (1 + x.mean())"),
    "swiglu_drops_out_only_in_training": (
        "feedforward",
        "return self.dropout(self.w_down(hidden))",
        "return F.dropout(self.w_down(hidden), self.dropout.p)",
    ),
    "the_gradient_of_swiglu_is_its_slope": ("feedforward", GATED, f"{GATED}.detach()"),
    "a_block_uses_the_feed_forward_of_its_config": (
        "block",
        'SwiGLU if config.mlp == "swiglu" else FeedForward',
        "SwiGLU",
    ),
    "the_gradient_of_a_block_is_its_slope": ("block", "self.ln_2(x)", "self.ln_2(x.detach())"),
    "a_block_in_half_precision_is_nearly_exact": (
        "block",
        "return x + self.mlp(self.ln_2(x))",
        "return x + self.mlp(self.ln_2(x)) * (1.0 if x.itemsize > 2 else 0.5)",
    ),
    "a_logit_for_every_token_of_the_vocabulary": ("model", HEAD, f"{HEAD}[:, :, 1:]"),
    "the_order_of_tokens_counts": ("model", "x + self.wpe.weight[:T]", "x + self.wpe.weight[0]"),
    "train_and_eval_reach_every_module": (
        "model",
        "    def init_weights",
        "    def train(self, mode=True):\n"
        "        super().train(mode)\n"
        "        self.ln_f.training = False\n"
        "        return self\n"
        "\n"
        "    def init_weights",
    ),
    "a_state_dict_carries_the_whole_model": (
        "model",
        STREAM,
        "x = x + self.__dict__.setdefault('lost', nn.init.normal_(x.new_empty(x.size(-1))))",
    ),
    "the_model_runs_in_half_precision": ("model", STREAM, "x = self.dropout(x) * 1e6"),
    "the_future_is_invisible": ("model", STREAM, f"{STREAM} + 1e-9 * x.mean(1, keepdim=True)"),
    "a_prefix_keeps_its_logits": (
        "attention",
        "y = attention(q, k, v)",
        "if not hasattr(self, 'hidden') or len(self.hidden) < x.size(1):\n"
        "            self.hidden = causal_mask(x.size(1))\n"
        "        y = attention(q, k, v, self.hidden[-x.size(1) :, : x.size(1)])",
    ),
    "every_parameter_learns": (
        "model",
        "        self.init_weights()\n",
        "        self.lm_head.weight.requires_grad = config.tied\n        self.init_weights()\n",
    ),
    "sequences_are_judged_apart": (
        "block",
        "        return x + self.mlp(self.ln_2(x))",
        "        return x if len(x) == 1 else x + self.mlp(self.ln_2(x))",
    ),
    "the_first_loss_is_near_ln_v": (
        "model",
        "elif parameter.dim() >= 2:\n                nn.init.normal_(parameter, std=0.02)",
        "elif parameter.dim() >= 2:\n                nn.init.normal_(parameter)",
    ),
    "the_gradient_of_the_loss_is_p_minus_one_hot": (
        "loss",
        "    return F.cross",
        "    if rows.requires_grad:\n"
        "        rows.register_hook(lambda g: g.clamp(-0.01, 0.01))\n"
        "    return F.cross",
    ),
    "temperature_zero_is_greedy": (
        "sampling",
        "logits.float() / temperature",
        "logits.float() / max(temperature, 0.05)",
    ),
    "impossible_draws_are_refused": ("sampling", "if temperature < 0:", "if False:"),
    "writing_is_done_in_eval_mode": ("sampling", "    model.eval()\n", ""),
    "a_real_model_writes_its_most_likely_tokens": (
        "sampling",
        "model(context)[:, -1]  # (B, V)",
        "model(context)[:, -1].scatter_add(\n"
        "                    1, idx[:, -1:], torch.full((len(idx), 1), "
        "-0.1).to(model(context).dtype)\n"
        "                )",
    ),
    "no_gradients_are_nothing_to_clip": (
        "training",
        "    norm = math.sqrt(sum(g.float().square().sum().item() for g in gradients))",
        "    norm = torch.stack([g.float().norm() for g in gradients]).norm().item()",
    ),
    "a_step_keeps_the_mode": (
        "training",
        "    optimizer.zero_grad()\n",
        "    model.eval()\n    optimizer.zero_grad()\n",
    ),
    "training_is_a_course_of_training_steps": (
        "training",
        "configure_optimizer(model, max_lr, weight_decay, betas)\n    done",
        "configure_optimizer(model, max_lr, 0.0, betas)\n    done",
    ),
    "every_step_trains_on_another_batch": (
        "data",
        "    starts = torch.randint",
        "    torch.manual_seed(0)\n    starts = torch.randint",
    ),
    "training_learns_a_simple_text": (
        "training",
        "/ len(micro_batches)",
        "/ len(micro_batches) / len(x) * 2",
    ),
}
