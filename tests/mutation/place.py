"""Where a walk through a module stands, as far as the operators want to know."""

import ast
from dataclasses import dataclass, replace

FLOWING = {"x", "q", "k", "v", "logits", "loss"}  # parameters of functions that hold tensors
PARAMETERS = ("weight", "bias")
SIZES = ("shape", "dtype", "device", "size", "dim")  # what is read off a tensor without its values


@dataclass(frozen=True)
class Place:
    """``unseen``: stock mutmut makes no mutants here (module and class level, defaults,
    decorators, decorated functions)."""

    modules: frozenset
    docstrings: frozenset
    gradients: bool = True
    parameters: frozenset = frozenset()
    tensors: frozenset = frozenset()
    unseen: bool = True
    in_raise: bool = False

    def flows(self, node):
        """The node is computed from a tensor parameter: a gradient may flow through it."""
        return self.gradients and _computed_from(node, self.tensors)

    def enter(self, field, child):
        """The place inside ``child``, which its parent holds as ``field``."""
        if isinstance(child, ast.Raise):
            return replace(self, in_raise=True)
        if isinstance(child, ast.arguments) or field == "decorator_list":
            return replace(self, unseen=True)
        if isinstance(child, ast.FunctionDef):
            arguments = child.args.args + child.args.kwonlyargs
            names = frozenset(a.arg for a in arguments) - {"self"}
            unseen = bool(child.decorator_list)
            return replace(self, parameters=names, tensors=_tensors(child), unseen=unseen)
        return self


def walk(tree):
    """All (node, place) pairs but docstrings, annotations, and the insides of f-strings, whose
    columns lie."""
    yield from _descend(tree, Place(_modules(tree), _docstrings(tree), _has_gradients(tree)))


def _descend(node, place):
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or id(child) in place.docstrings:
                continue
            inside = place.enter(field, child)
            yield child, inside
            if not isinstance(child, ast.JoinedStr):
                yield from _descend(child, inside)


def _modules(tree):
    """Names that stand for modules: ``torch.ones`` is no method of a value."""
    return frozenset(
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
        if isinstance(node, ast.Import) or alias.name in ("nn", "functional", "topics")
    )


def _has_gradients(tree):
    """A module that works under ``torch.no_grad`` has no gradients to cut."""
    return "no_grad" not in {getattr(node, "attr", "") for node in ast.walk(tree)}


def _docstrings(tree):
    bodies = (node.body for node in ast.walk(tree) if isinstance(node, _DOCUMENTED))
    return frozenset(
        id(body[0])
        for body in bodies
        if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    )


_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef)


def _tensors(function):
    """The names of a function that hold its tensors or what is computed from them."""
    names = FLOWING & {a.arg for a in function.args.args}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and _computed_from(node.value, names):
            names |= {n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)}
    return frozenset(names)


def _computed_from(node, names):
    if isinstance(node, ast.Name):
        return node.id in names
    if isinstance(node, ast.Call) and _of_self(node.func):
        return True  # a member: what it computes holds its parameters
    if getattr(node, "attr", None) in PARAMETERS and isinstance(node.ctx, ast.Load):
        return True
    if isinstance(node, ast.Compare) or getattr(node, "attr", None) in SIZES:
        return False
    return any(_computed_from(child, names) for child in ast.iter_child_nodes(node))


def _of_self(node):
    return isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "self"
