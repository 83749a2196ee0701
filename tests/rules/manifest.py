"""All rules, in the order of the data flow."""

from . import (  # noqa: F401
    day43,
    day44,
    day45,
    day46,
    day47,
    day48,
    day49,
    sampling,
    saving,
    steps,
    training,
)
from .engine import RULES, Rule, Verdict, in_order, run

__all__ = ["RULES", "Rule", "Verdict", "in_order", "run"]
