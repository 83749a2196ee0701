"""The forms in which people write answers, read forgivingly and one way."""

import ast
import math
import operator
import re
from fractions import Fraction

UNITS = {"": 1, "B": 1, "byte": 1, "bytes": 1, "バイト": 1}
UNITS |= {f"{prefix}iB": 1024**n for n, prefix in enumerate(("K", "M", "G"), 1)}
UNITS |= {f"{prefix}B": 1000**n for n, prefix in enumerate(("k", "M", "G"), 1)}
UNITS |= {"M": 10**6, "million": 10**6, "k": 1000, "K": 1000, "%": 0.01}
UNITS |= {f"{prefix}FLOP": n for prefix, n in (("", 1), ("M", 10**6), ("G", 10**9))}
UNITS |= {f"{unit}s": UNITS[unit] for unit in ("FLOP", "MFLOP", "GFLOP")}
FUNCTIONS = {"ln": math.log, "log": math.log, "sqrt": math.sqrt, "exp": math.exp}
OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_UNIT = re.compile(r"^(.*?[0-9.)])\s*([A-Za-zバイト%]+)$")


class Unreadable(ValueError):
    """An answer that cannot be read as the kind that was asked for."""


def number(given):
    """A number from 1_048_576, "1,048,576", "1 MiB", "2/3", "66.7%", "ln(100)", "4*768**2"."""
    if isinstance(given, bool) or not isinstance(given, (int, float, str)):
        raise Unreadable
    if not isinstance(given, str):
        return given
    text = given.strip().replace("−", "-").replace("×", "*").replace("≈", "").replace("^", "**")
    text = re.sub(r"(?<=\d)[,\s_](?=\d{3}(?!\d))", "", text).strip()
    text = re.sub(r"^(ln|sqrt|√)\s+", r"\1", text)
    text = re.sub(r"√\(?([\d.]+)\)?", r"sqrt(\1)", text)
    text = re.sub(r"^(ln|sqrt)([\d.]+)$", r"\1(\2)", text)
    unit = 1
    match = _UNIT.match(text)
    if match and match.group(2) in UNITS:
        text, unit = match.group(1), UNITS[match.group(2)]
    try:
        return _value(ast.parse(text, mode="eval").body) * unit
    except (SyntaxError, ValueError, ArithmeticError, TypeError, MemoryError, RecursionError):
        raise Unreadable from None


def _value(node):
    """The arithmetic of numbers, and nothing else of Python."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        value = _value(node.operand)
        return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        left, right = _value(node.left), _value(node.right)
        if isinstance(node.op, ast.Pow) and (abs(right) > 64 or abs(left) > 1e9):
            raise Unreadable
        return OPERATORS[type(node.op)](left, right)
    if isinstance(node, ast.Name) and node.id == "e":
        return math.e
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") in FUNCTIONS and node.args:
        return FUNCTIONS[node.func.id](*map(_value, node.args))
    raise Unreadable


def tensor(given):
    """A vector or matrix of numbers as nested lists, from TOML lists or from ``"[[1, 2], …]"``."""
    if isinstance(given, str):
        given = _rows(given)
    if not isinstance(given, list) or not given:
        raise Unreadable
    rows = [tensor(row) if isinstance(row, list) else number(row) for row in given]
    depths = {isinstance(row, list) and len(row) for row in rows}
    if len(depths) != 1:
        raise Unreadable  # ragged
    return rows


def _rows(text):
    """ "[1, 2]", "1 2", "1, 2; 3, 4" and "(2, 4, 64)" as lists of texts."""
    text = text.strip().translate(str.maketrans("()（），、；", "[][],,;"))
    if ";" in text or "\n" in text:
        parts = [part for part in re.split(r"[;\n]", text.strip("[] ")) if part.strip()]
        return [_rows(part) for part in parts]
    if text.startswith("["):
        if not text.endswith("]"):
            raise Unreadable
        inner = text[1:-1].strip()
        return [_rows(part) if part.startswith("[") else part for part in _split(inner)]
    return _split(text) if "," in text else text.split()


def _split(text):
    """Split at the commas that stand outside brackets."""
    parts, depth = [""], 0
    for character in text:
        depth += (character == "[") - (character == "]")
        if depth < 0:
            raise Unreadable
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def flat(value):
    """The numbers of nested lists in order, and their shape."""
    if not isinstance(value, list):
        return [value], ()
    pairs = [flat(row) for row in value]
    return [x for numbers, _ in pairs for x in numbers], (len(value), *pairs[0][1])


def shape(given):
    """A tuple of sizes from [2, 4, 64], "(2, 4, 64)", "2x4x64" or "2 4 64"."""
    if isinstance(given, str):
        given = re.sub(r"(?<=\d)\s*[x×*]\s*(?=\d)", ",", given)
    sizes, depth = flat(tensor(given))
    if len(depth) != 1 or any(size != int(size) for size in sizes):
        raise Unreadable
    return tuple(int(size) for size in sizes)


def letters(given):
    """A set of letters from ["A", "B"], "A, B", "(A) (B)"; "none" is the empty set."""
    words = given if isinstance(given, list) else [given]
    if not all(isinstance(word, str) for word in words):
        raise Unreadable
    found = set()
    for word in words:
        text = re.sub(r"[^A-Za-z]+", " ", word).split()
        if text in (["none"], []):
            continue
        if not all(len(part) == 1 or part == "and" for part in text):
            raise Unreadable
        found |= {part.upper() for part in text if part != "and"}
    return frozenset(found)


def fraction(value):
    """A number as people write it: 32,832, 2/3, 4.605."""
    if isinstance(value, float) and value != int(value):
        near = Fraction(value).limit_denominator(12)
        return str(near) if abs(float(near) - value) < 1e-9 else f"{value:.5g}"
    return f"{int(value):,}"


def words(given):
    """A tuple of option words from "a", ["a", "b"], "a, b" or "a -> b"."""
    given = re.split(r"\s*(?:,|、|->|→|\n)\s*", given.strip()) if isinstance(given, str) else given
    if not isinstance(given, list) or not all(isinstance(word, str) for word in given):
        raise Unreadable
    return tuple(word.strip() for word in given if word.strip())
