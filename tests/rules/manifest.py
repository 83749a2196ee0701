"""All rules, in the order of the data flow."""

from . import day43, day44, day45, day46, day47, day48, day49, sampling, training  # noqa: F401
from .engine import RULES, Rule, Verdict, in_order, run

__all__ = ["RULES", "Rule", "Verdict", "in_order", "run"]
