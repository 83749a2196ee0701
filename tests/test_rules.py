"""Every rule has been seen red: a package that it rejects stands here or in the catalogue.

A rule that cannot fail is a defect. The catalogue's faults name the rule that rejects them; the
rules that no fault names first have a few wrong lines here.
"""

import pytest

from buggy import overlay
from buggy.faults import load_all
from buggy.planting import Edit, plant
from tests.rules.engine import BROKEN, HOLDS, run
from tests.rules.manifest import RULES

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
        "scores = scores.masked_fill(mask, -math.inf)\n    return softmax(scores) @ v",
        "return softmax(scores).masked_fill(mask, 0.0) @ v",
    ),
    "the_past_is_visible": ("attention", "triu(diagonal=1)", "tril(diagonal=-1)"),
    "outputs_are_weighted_sums_of_values": (
        "attention",
        "return softmax(scores) @ v",
        "return softmax(scores) @ v + 1e-3",
    ),
    "large_scores_stay_finite": ("attention", "x - x.detach().amax(dim, keepdim=True)", "x"),
    "an_odd_width_has_no_pairs": ("positions", "if d_k % 2 == 1:", "if False:"),
    "rotary_turns_the_gradient_back": ("positions", "turned.flatten", "turned.detach().flatten"),
    "heads_keep_shape_and_input": ("attention", PROJECTED, f"{PROJECTED}.squeeze(1)"),
    "many_tokens_blend_as_their_pairs_do": ("attention", "(q.size(-1))", "(q[..., 0].numel())"),
    "queries_keys_and_values_are_linear": (
        "attention",
        ATTEND,
        "y = attention(nn.functional.normalize(q, dim=-1), k, v)",
    ),
    "sequences_of_a_batch_do_not_mix": ("attention", ATTEND, "y = attention(q, k, v + v.mean(0))"),
    "heads_see_the_whole_past": (
        "attention",
        ATTEND,
        "y = attention(q, k, v, torch.eye(x.size(1), dtype=torch.bool).logical_not())",
    ),
    "the_gradient_of_attention_is_its_slope": (
        "attention",
        ATTEND,
        "y = attention(q, k.detach(), v)",
    ),
    "layer_norm_looks_at_one_token": ("normalization", LAYER_NORM_END, "return y + y.mean(0)"),
    "a_constant_token_stays_finite": (
        "normalization",
        "torch.rsqrt(variance + self.eps)",
        "torch.rsqrt(variance)",
    ),
    "rms_norm_looks_at_one_token": ("normalization", RMS, f"{RMS} + 1e-3 * wide.mean(0)"),
    "rms_norm_ends_with_a_gain": ("normalization", RMS, f"{RMS} * self.weight"),
    "rms_norm_passes_the_gradient_on": ("normalization", RMS, f"{RMS}.detach()"),
    "a_zero_token_stays_finite": ("normalization", RMS, "torch.rsqrt(mean_square)"),
    "the_feed_forward_works_token_by_token": ("feedforward", HIDDEN, f"{HIDDEN} + x.mean()"),
    "the_gradient_of_the_feed_forward_is_its_slope": (
        "feedforward",
        HIDDEN,
        "hidden = self.activation(self.w1(x.detach()))",
    ),
    "swiglu_works_token_by_token": ("feedforward", GATED, f"{GATED} * (1 + x.mean())"),
    "the_gradient_of_swiglu_is_its_slope": ("feedforward", GATED, f"{GATED}.detach()"),
    "the_feed_forward_drops_out_only_in_training": (
        "feedforward",
        "return self.dropout(self.w2(hidden))",
        "return F.dropout(self.w2(hidden), self.dropout.p)",
    ),
    "swiglu_drops_out_only_in_training": (
        "feedforward",
        "return self.dropout(self.w_down(hidden))",
        "return F.dropout(self.w_down(hidden), self.dropout.p)",
    ),
    "a_block_uses_the_feed_forward_of_its_config": (
        "block",
        'SwiGLU if config.mlp == "swiglu" else FeedForward',
        "SwiGLU",
    ),
    "a_logit_for_every_token_of_the_vocabulary": ("model", HEAD, f"{HEAD}[:, :, 1:]"),
    "the_order_of_tokens_counts": ("model", "x + self.wpe.weight[:T]", "x + self.wpe.weight[0]"),
    "train_and_eval_reach_every_module": (
        "model",
        "    def init_weights(self):",
        "    def train(self, mode=True):\n        self.training = mode\n        return self\n\n"
        "    def init_weights(self):",
    ),
    "a_state_dict_carries_the_whole_model": (
        "model",
        STREAM,
        "x = x + self.__dict__.setdefault('lost', torch.randn(x.size(-1), dtype=x.dtype))",
    ),
    "the_model_runs_in_half_precision": ("model", STREAM, "x = self.dropout(x) * 1e6"),
    "the_future_is_invisible": ("model", STREAM, f"{STREAM} + 1e-9 * x.mean(1, keepdim=True)"),
    "a_prefix_keeps_its_logits": ("model", "self.wpe.weight[:T]", "self.wpe.weight[:T].flip(0)"),
    "every_parameter_learns": ("model", "in self.blocks:", "in self.blocks[:-1]:"),
    "sequences_are_judged_apart": ("model", STREAM, f"{STREAM} + x.mean(0)"),
    "the_first_loss_is_near_ln_v": (
        "model",
        "elif parameter.dim() >= 2:\n                nn.init.normal_(parameter, std=0.02)",
        "elif parameter.dim() >= 2:\n                nn.init.normal_(parameter)",
    ),
    "the_gradient_of_the_loss_is_p_minus_one_hot": (
        "loss",
        "F.cross_entropy(rows,",
        "F.cross_entropy((rows + rows.detach()) / 2,",
    ),
    "temperature_zero_is_greedy": (
        "sampling",
        "if temperature == 0:",
        "if temperature == 0 and top_k is None:",
    ),
    "writing_is_done_in_eval_mode": ("sampling", "    model.eval()\n", ""),
    "a_block_in_half_precision_is_nearly_exact": (
        "block",
        "return x + self.mlp(self.ln_2(x))",
        "return x + self.mlp(self.ln_2(x)) * (1.0 if x.itemsize > 2 else 0.5)",
    ),
    "the_gradient_of_a_block_is_its_slope": ("block", "self.ln_2(x)", "self.ln_2(x.detach())"),
    "impossible_draws_are_refused": ("sampling", "if temperature < 0:", "if False:"),
    "a_real_model_writes_its_most_likely_tokens": (
        "sampling",
        "model(context)[:, -1]",
        "model(context.flip(1))[:, 0]",
    ),
    "no_gradients_are_nothing_to_clip": (
        "training",
        " for p in parameters if p.grad is not None]",
        " for p in parameters]",
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
        "losses.append(train_step(model, optimizer, pairs, max_norm))",
        "losses.append(next_token_loss(model(pairs[0][0]), pairs[0][1]).item())",
    ),
}

FAULTS = {}
for fault in load_all():
    FAULTS.setdefault(fault.rule, fault)


@pytest.mark.filterwarnings("ignore")  # wrong code may warn: the verdict is what is asked
@pytest.mark.parametrize("rule", RULES)
def test_the_rule_rejects_a_wrong_package(rule, tmp_path):
    """Broken by a claim on the wrong package, holding on the right one."""
    edits = [Edit(*WRONG[rule])] if rule in WRONG else FAULTS[rule].edits
    if rule == "a_state_dict_carries_the_whole_model":
        edits.append(Edit("model", "from torch import nn", "import torch\nfrom torch import nn"))
    plant(edits, tmp_path)
    wrong, right = overlay.load(tmp_path), overlay.load()
    try:
        assert run(RULES[rule], wrong).outcome == BROKEN
        assert run(RULES[rule], right).outcome == HOLDS
    finally:
        overlay.unload(wrong)
        overlay.unload(right)
