"""Mutants of the reference: one small change of one module each, by origin.

Stock mutants are those of ``mutmut run``, added ones our own operators', second ones cosmic-ray's.
"""

import ast
import collections
import difflib
import hashlib
from dataclasses import dataclass

from . import changes, deletions
from .place import walk


@dataclass(frozen=True)
class Mutant:
    """One changed module: what was changed in which function, and the whole new source.

    ``lines``: the lines of the old source that run differently; None when that is the import of
    the module. ``name``: mutmut's.
    """

    module: str
    origin: str
    operator: str
    function: str
    lines: range | None
    removed: str
    added: str
    source: str
    name: str = ""

    @property
    def key(self):
        """What a person would point at; an entry of equivalent.toml names it."""
        return self.module, self.function, self.removed, self.added

    @property
    def id(self):
        """Unique, and the same as long as the module is."""
        digest = hashlib.sha256(self.source.encode()).hexdigest()[:10]
        return f"{self.module}.{self.function}.{digest}"


def added(module, source):
    """Our own operators: yields (operator, name, changed source)."""
    for node, place in walk(ast.parse(source)):
        for operator in deletions.OPERATORS + changes.OPERATORS:
            for target, text in operator(node, place):
                yield operator.__name__, "", splice(source, target, text)


def stock(module, source):
    """Those that ``mutmut run`` makes, with the names that it gives them."""
    import libcst
    from mutmut.mutation.file_mutation import MutationVisitor
    from mutmut.mutation.mutators import mutation_operators
    from mutmut.mutation.pragma_handling import IgnoredCode
    from mutmut.mutation.trampoline_templates import mangle_function_name

    visitor = MutationVisitor(mutation_operators, IgnoredCode(set(), set(), set()))
    tree = libcst.MetadataWrapper(libcst.parse_module(source)).visit(visitor)
    owner = _owners(tree)
    counts = collections.Counter()
    for mutation in visitor.mutations:
        function = mutation.contained_by_top_level_function
        if not isinstance(function, libcst.FunctionDef):
            continue  # no trampoline can hold it: mutmut drops it
        mangled = mangle_function_name(name=function.name.value, class_name=owner[function])
        counts[mangled] += 1
        name = f"reference.{module}.{mangled}__mutmut_{counts[mangled]}"
        changed = tree.deep_replace(mutation.original_node, mutation.mutated_node)
        yield type(mutation.original_node).__name__, name, changed.code


def second(module, source):
    """Those of cosmic-ray's operators."""
    from cosmic_ray import plugins
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.mutating import mutate_code

    nodes = list(ast_nodes(get_ast(source)))
    for name in plugins.operator_names():
        operator = plugins.get_operator(name)
        if operator.arguments():
            continue  # replaces a variable that its user must name
        count = sum(len(list(operator().mutation_positions(node))) for node in nodes)
        for occurrence in range(count):
            yield name.removeprefix("core/"), "", mutate_code(source, operator(), occurrence)


ORIGINS = {"stock": stock, "added": added, "second": second}


def make(module, source, origins=("stock", "added")):
    """All mutants of a module that differ from it and from one another, by line."""
    seen = {ast.dump(ast.parse(source))}
    found = []
    for origin in origins:
        for operator, name, changed in ORIGINS[origin](module, source):
            try:
                meaning = ast.dump(ast.parse(changed))
            except SyntaxError:
                continue  # killed by the parser: counts for nothing
            if meaning not in seen:
                seen.add(meaning)
                found.append(_mutant(module, origin, operator, source, changed, name))
    return sorted(
        found, key=lambda mutant: (mutant.function, mutant.origin, mutant.removed, mutant.added)
    )


def splice(source, node, text):
    """The source with the node's text replaced. Columns of the syntax tree count UTF-8 bytes."""
    whole = source.encode()
    lines = whole.splitlines(keepends=True)
    start = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
    end = sum(map(len, lines[: node.end_lineno - 1])) + node.end_col_offset
    return (whole[:start] + text.encode() + whole[end:]).decode()


def _mutant(module, origin, operator, source, changed, name):
    before, after = source.splitlines(), changed.splitlines()
    opcodes = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    blocks = [(a, b, c, d) for tag, a, b, c, d in opcodes if tag != "equal"]
    changed_lines = range(blocks[0][0] + 1, max(blocks[-1][1], blocks[0][0] + 1) + 1)
    removed = "\n".join(line.strip() for a, b, _, _ in blocks for line in before[a:b])
    put = "\n".join(line.strip() for _, _, c, d in blocks for line in after[c:d])
    function, lines = _where(ast.parse(source), changed_lines)
    return Mutant(module, origin, operator, function, lines, removed, put, changed, name)


def _where(tree, changed, prefix=""):
    """The innermost function or class around the changed lines, and the lines that they decide.

    A default decides the whole function; what stands outside all functions decides everything.
    """
    for node in tree.body:
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            continue
        start = min([node.lineno] + [d.lineno for d in node.decorator_list])
        if start <= changed.start <= node.end_lineno:
            name = prefix + node.name
            if isinstance(node, ast.ClassDef):
                return _where(node, changed, f"{name}.")
            if changed.start < node.lineno:
                return name, None  # a decorator
            in_body = changed.start >= node.body[0].lineno
            return name, changed if in_body else range(node.lineno, node.end_lineno + 1)
    return prefix.rstrip(".") or "module", None


def _owners(tree):
    """The class of each function that mutmut could mutate, or None."""
    import libcst

    found = {}
    for statement in tree.body:
        if isinstance(statement, libcst.ClassDef):
            found |= dict.fromkeys(statement.body.body, statement.name.value)
        else:
            found[statement] = None
    return found
