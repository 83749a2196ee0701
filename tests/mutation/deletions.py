"""Operators that leave something out: statements, operands, calls, entries, contexts.

An operator takes a node of the syntax tree and its place, and yields ``(node, text)`` pairs, each
a mutant: the node's source is replaced by the text.
"""

import ast

PLAIN = (ast.Name, ast.Attribute, ast.Call, ast.Constant, ast.Subscript, ast.Tuple, ast.List)
KEPT = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.Pass)


def operand(node):
    """The node as text that can stand inside any expression."""
    written = ast.unparse(node)
    return written if isinstance(node, PLAIN) else f"({written})"


def without(items, skipped):
    """The list without that very item."""
    return [item for item in items if item is not skipped]


def statement_deleted(node, place):
    """No ``zero_grad``, no tied weight, no check, no return."""
    if isinstance(node, ast.stmt) and not isinstance(node, KEPT):
        yield node, "pass"


def condition_forced(node, place):
    """The body always runs."""
    if isinstance(node, ast.If):
        yield node.test, "True"
    if isinstance(node, ast.comprehension):
        for condition in node.ifs:
            yield condition, "True"


def context_left_out(node, place):
    """``with torch.no_grad():`` becomes a plain block."""
    if isinstance(node, ast.With):
        for item in node.items:
            yield item.context_expr, "__import__('contextlib').nullcontext()"


def operand_deleted(node, place):
    """A residual, a bias, a scale, one side of a range missing."""
    if isinstance(node, ast.BinOp):
        yield node, operand(node.left)
        yield node, operand(node.right)
    elif isinstance(node, ast.UnaryOp):
        yield node, operand(node.operand)
    elif isinstance(node, ast.BoolOp):
        for skipped in node.values:
            rest = without(node.values, skipped)
            yield node, operand(rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest))
    elif isinstance(node, ast.Compare) and len(node.ops) > 1:
        yield node, operand(ast.Compare(node.left, node.ops[:-1], node.comparators[:-1]))
        yield node, operand(ast.Compare(node.comparators[0], node.ops[1:], node.comparators[1:]))


def call_skipped(node, place):
    """``f(x)`` and ``x.f()`` become ``x``: a norm, a dropout, a ``contiguous`` missing."""
    if not isinstance(node, ast.Call) or place.in_raise:
        return
    if node.args and not isinstance(node.args[0], ast.Starred):
        yield node, operand(node.args[0])
    if isinstance(node.func, ast.Attribute) and not _is_module(node.func.value, place):
        yield node, operand(node.func.value)


def entry_deleted(node, place):
    """An entry of a tuple, a list or a dict missing."""
    if isinstance(node, (ast.Tuple, ast.List)) and isinstance(node.ctx, ast.Load):
        for skipped in node.elts if len(node.elts) > 1 else ():
            yield node, ast.unparse(type(node)(without(node.elts, skipped), node.ctx))
    elif isinstance(node, ast.Dict):
        for i in range(len(node.keys)):
            keys, values = list(node.keys), list(node.values)
            del keys[i], values[i]
            yield node, ast.unparse(ast.Dict(keys, values))


def bound_deleted(node, place):
    """A slice without its start, its end or its step; a subscript missing."""
    if isinstance(node, ast.Slice):
        bounds = {name: getattr(node, name) for name in ("lower", "upper", "step")}
        for name in [name for name in bounds if bounds[name] is not None]:
            yield node, ast.unparse(ast.Slice(**bounds | {name: None})) or ":"
    elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        yield node, operand(node.value)


def number_left_out(node, place):
    """A message without one of its numbers."""
    if isinstance(node, ast.JoinedStr):
        for skipped in node.values:
            if isinstance(skipped, ast.FormattedValue):
                yield node, ast.unparse(ast.JoinedStr(without(node.values, skipped)))


def decorator_deleted(node, place):
    """A decorator, or its arguments, missing."""
    if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
        for decorator in node.decorator_list:
            yield decorator, "(lambda it: it)"
            if isinstance(decorator, ast.Call):
                yield decorator, ast.unparse(decorator.func)


def _is_module(node, place):
    return isinstance(node, ast.Name) and node.id in place.modules


OPERATORS = [
    statement_deleted,
    condition_forced,
    context_left_out,
    operand_deleted,
    call_skipped,
    entry_deleted,
    bound_deleted,
    number_left_out,
    decorator_deleted,
]
