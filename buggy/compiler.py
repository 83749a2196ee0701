"""Spare the second that torch's compiler takes to load: nothing here is compiled.

The first optimiser imports all of ``torch._dynamo``, only to tell it to keep out of the way. That
is two thirds of ``import torch`` again, in every process that trains.
"""

import importlib
import sys
from types import ModuleType

NAME = "torch._dynamo"


class _Absent(ModuleType):
    """Stands where ``torch._dynamo`` will be, and makes room for it once more is asked of it."""

    @staticmethod
    def disable(fn=None, *_, **__):
        """The function as it is: there is no compiler to keep away from it."""
        return (lambda function: function) if fn is None else fn

    @staticmethod
    def graph_break(*_, **__):
        """There is no graph to break."""

    def __getattr__(self, name):
        if name.startswith("__") and name != "__path__":  # whoever walks through sys.modules
            raise AttributeError(name)
        if sys.modules.get(NAME) is self:
            del sys.modules[NAME]
        return getattr(importlib.import_module(NAME), name)


def keep_out():
    """Let optimisers do without the compiler; code that compiles still gets it."""
    if NAME not in sys.modules:
        sys.modules[NAME] = _Absent(NAME)  # torch finds its lazy modules here
