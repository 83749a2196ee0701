"""Operators that put something else in its place; the form is that of ``deletions``."""

import ast

from .deletions import operand

SWAPPED = (ast.Sub, ast.Div, ast.MatMult, ast.Pow, ast.Mod, ast.FloorDiv)
SYMMETRIC = ("transpose", "promote_types", "min", "max")  # the order of arguments is nothing
IN_PLACE = {ast.Add: "add_", ast.Sub: "sub_", ast.Mult: "mul_", ast.Div: "div_"}
IN_PLACE_METHODS = ("masked_fill", "exp", "square")
SIBLINGS = {  # what stands beside it in the manual, and is taken for it
    "amax": "amin",
    "argmax": "argmin",
    "bool": "uint8",
    "cos": "sin",
    "endswith": "startswith",
    "eval": "train",
    "exp": "exp2",
    "float": "half",
    "float32": "float16",
    "gelu": "relu",
    "int64": "int32",
    "max": "min",
    "mean": "sum",
    "min": "max",
    "normal_": "uniform_",
    "ones": "zeros",
    "parameters": "buffers",
    "relu": "sigmoid",
    "round": "int",
    "rsqrt": "sqrt",
    "silu": "sigmoid",
    "sin": "cos",
    "sqrt": "exp",
    "square": "abs",
    "sum": "mean",
    "triu": "tril",
    "zeros": "ones",
    "zeros_": "ones_",
}


def operands_swapped(node, place):
    """``b - a`` for ``a - b``."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, SWAPPED):
        yield node, operand(ast.BinOp(node.right, node.op, node.left))


def arguments_swapped(node, place):
    """Neighbouring positional arguments, the keys where the queries belong."""
    if not isinstance(node, ast.Call) or _name(node.func) in SYMMETRIC:
        return
    for i in range(len(node.args) - 1):
        args = list(node.args)
        args[i], args[i + 1] = args[i + 1], args[i]
        yield node, ast.unparse(ast.Call(node.func, args, node.keywords))


def sibling_taken(node, place):
    """``tril`` for ``triu``."""
    sibling = SIBLINGS.get(_name(node))
    if sibling and isinstance(node.ctx, ast.Load):
        yield node, f"{operand(node.value)}.{sibling}" if hasattr(node, "attr") else sibling


def gradient_cut(node, place):
    """The same value, and no gradient through it: of all that is computed from a tensor."""
    if isinstance(node, (ast.Assign, ast.Return)) and node.value is not None:
        parts = [node.value]
    elif isinstance(node, ast.BinOp):
        parts = [node.left, node.right]
    else:
        parts = node.args if isinstance(node, ast.Call) else []
    for part in parts:
        if not isinstance(part, (ast.Starred, ast.GeneratorExp, ast.Tuple)) and place.flows(part):
            yield part, f"{operand(part)}.detach()"


def argument_changed_in_place(node, place):
    """The same value, written into the caller's tensor."""
    if isinstance(node, ast.BinOp) and type(node.op) in IN_PLACE and _given(node.left, place):
        method = IN_PLACE[type(node.op)]
        yield node, f"{node.left.id}.{method}({ast.unparse(node.right)})"
    name = _name(getattr(node, "func", None))
    if name in IN_PLACE_METHODS and _given(getattr(node.func, "value", None), place):
        method = ast.Attribute(node.func.value, f"{name}_", ast.Load())
        yield node, ast.unparse(ast.Call(method, node.args, node.keywords))


def constant_changed(node, place):
    """Where stock mutmut does not look: defaults, class attributes, module constants."""
    if not isinstance(node, ast.Constant) or not place.unseen:
        return
    value = node.value
    if value is None:
        yield node, "1"
    elif isinstance(value, bool):
        yield node, str(not value)
    elif isinstance(value, str):
        yield node, repr(f"XX{value}XX")
    else:
        yield node, repr(value + 1)
        yield from _other_numbers(node)


def number_changed(node, place):
    """One less, twice as much: stock mutmut only adds one."""
    if not isinstance(node, ast.Constant) or place.unseen:
        return
    if isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
        yield from _other_numbers(node)


def _other_numbers(node):
    yield node, repr(node.value - 1)
    yield node, repr(node.value * 2 if node.value else -1)


def _name(node):
    return getattr(node, "attr", getattr(node, "id", ""))


def _given(node, place):
    """The caller's own: a parameter of the function by its name."""
    return isinstance(node, ast.Name) and node.id in place.parameters


OPERATORS = [
    operands_swapped,
    arguments_swapped,
    sibling_taken,
    gradient_cut,
    argument_changed_in_place,
    constant_changed,
    number_changed,
]
