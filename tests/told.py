"""What the rules' sources tell a learner, read from their syntax trees."""

import ast
import inspect
import itertools
from functools import cache
from pathlib import Path

from tests import rules
from tests.rules import claims

FOLDER = Path(rules.__file__).parent
SOURCES = {path.stem: ast.parse(path.read_text("utf-8")) for path in sorted(FOLDER.glob("*.py"))}
BEYOND = ("sampling", "saving", "steps", "training")
RULE_FILES = [name for name in SOURCES if name.startswith("day") or name in BEYOND]
# Where the message ids stand among the arguments of the calls that tell something.
TELLERS = {"Broken": 0, "is_true": 1, "_unanswered": 1, "_unjudged": 1}


@cache
def functions(module):
    """The functions of a module by name, nested ones too."""
    found = [node for node in ast.walk(SOURCES[module]) if isinstance(node, ast.FunctionDef)]
    return {function.name: function for function in found}


def calls(tree, *names):
    """(name, call) for every call of one of the names in a tree."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            function = node.func
            name = function.attr if isinstance(function, ast.Attribute) else ast.unparse(function)
            if name in names:
                yield name, node


def _literals(expression, function):
    """The strings that an argument may be; those of a parameter come from the function's calls."""
    if isinstance(expression, ast.Constant):
        return {expression.value}
    if isinstance(expression, ast.IfExp):
        return _literals(expression.body, function) | _literals(expression.orelse, function)
    place = [argument.arg for argument in function.args.args].index(expression.id)
    callers = [call for tree in SOURCES.values() for _, call in calls(tree, function.name)]
    return {text for call in callers for text in _literals(call.args[place], function)}


@cache
def told():
    """Wherever the sources tell something: [(section, id), ...] and the names of the numbers."""
    found = []
    for module in SOURCES:
        for function in functions(module).values():
            if function.name in TELLERS:
                continue  # it passes on what its callers say
            for name, call in calls(function, *TELLERS):
                numbers = {keyword.arg for keyword in call.keywords}
                sections = zip(("observed", "allowed"), call.args[TELLERS[name] :])
                ids = [
                    [(section, key) for key in _literals(id_, function)]
                    for section, id_ in sections
                ]
                found += [(pair, numbers) for pair in itertools.product(*ids)]
    return found


@cache
def outcomes():
    """(section, id) wherever the engine or the worker sets a verdict's ids without a claim."""
    pairs = []
    for node in (*ast.walk(SOURCES["engine"]), *ast.walk(SOURCES["worker"])):
        if not isinstance(getattr(node, "value", None), ast.Tuple):
            continue
        if isinstance(node, ast.Return):
            pairs.append(("observed", node.value.elts[0]))
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
            names = [getattr(target, "attr", "") for target in node.targets[0].elts]
            pairs += zip(names, node.value.elts)
    return {
        (section, value.value)
        for section, value in pairs
        if section in ("observed", "allowed") and isinstance(value, ast.Constant)
    }


@cache
def spoken_of():
    """Every literal ``what`` that a rule gives to a claim."""
    places = {
        name: list(inspect.signature(claim).parameters).index("what")
        for name, claim in inspect.getmembers(claims, inspect.isfunction)
        if "what" in inspect.signature(claim).parameters
    }
    given = []
    for module in RULE_FILES:
        for name, call in calls(SOURCES[module], *places, "is_true"):
            given += [keyword.value for keyword in call.keywords if keyword.arg == "what"]
            given += call.args[places[name] :][:1] if name in places else []
    return {value.value for value in given if isinstance(value, ast.Constant)}


def axes():
    """Every axis that a rule names."""
    nodes = [node for module in RULE_FILES for node in ast.walk(SOURCES[module])]
    tuples = [node.elts for node in nodes if isinstance(node, ast.Tuple)]
    named = [{getattr(element, "value", None) for element in elements} for elements in tuples]
    return set().union(*(names for names in named if "position" in names)) - {""}


def tried(module, name):
    """The names of the numbers in each ``trying`` that a function reaches."""
    found, todo, seen = [], [(module, name)], set()
    while todo:
        module, name = todo.pop()
        seen.add((module, name))
        function = functions(module)[name]
        for _, call in calls(function, "trying"):
            found.append({keyword.arg for keyword in call.keywords})
        for node in ast.walk(function):
            called = getattr(node, "id", None)
            owner = next((m for m in (module, *RULE_FILES) if called in functions(m)), None)
            if owner is not None and (owner, called) not in seen:
                todo.append((owner, called))
    return found
