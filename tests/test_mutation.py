"""The operators of the proof, on lines as small as can be, and which rules a mutant is shown to."""

import ast
import textwrap

import pytest

from tests.mutation import changes, deletions, mutants
from tests.mutation.place import walk
from tests.mutation.pool import ROOT, Pool
from tests.mutation.survey import reach, reaching

NOTHING = "__import__('contextlib').nullcontext()"
# an operator, the body of a function of x, all that becomes of it
CASES = [
    ("statement_deleted", "a.zero_grad()\na.step()", ["a.step()", "a.zero_grad()"]),
    ("statement_deleted", "'text'\nreturn x", ["'text'"]),
    ("condition_forced", "if x > 1:\n    g()", ["if True:\n    g()"]),
    ("condition_forced", "[p for p in x if p]", ["[p for p in x if True]"]),
    ("context_left_out", "with c:\n    g()", [f"with {NOTHING}:\n    g()"]),
    ("operand_deleted", "x + g(x)", ["x", "g(x)"]),
    ("operand_deleted", "2 * (x - 1)", ["2", "x - 1", "2 * x", "2 * 1"]),
    ("operand_deleted", "-x", ["x"]),
    ("operand_deleted", "a and b and c", ["b and c", "a and c", "a and b"]),
    ("operand_deleted", "0 <= x < 1", ["0 <= x", "x < 1"]),
    ("call_skipped", "self.norm(x)", ["x", "self"]),
    ("call_skipped", "torch.exp(x)", ["x"]),
    ("call_skipped", "raise ValueError(x)", []),
    ("entry_deleted", "('a', 'b')", ["('b',)", "('a',)"]),
    ("entry_deleted", "{'a': 1}", ["{}"]),
    ("bound_deleted", "x[1:]", ["x[:]", "x"]),
    ("number_left_out", "f'{x} of {3}'", ["f' of {3}'", "f'{x} of '"]),
    ("operands_swapped", "a - b", ["b - a"]),
    ("operands_swapped", "a + b", []),
    ("arguments_swapped", "g(q, k, v)", ["g(k, q, v)", "g(q, v, k)"]),
    ("arguments_swapped", "x.transpose(1, 2)", []),
    ("sibling_taken", "x.triu()", ["x.tril()"]),
    ("gradient_cut", "y = x", ["y = x.detach()"]),
    (
        "gradient_cut",
        "y = self.wte(i)\nreturn y",
        ["y = self.wte(i).detach()\nreturn y", "y = self.wte(i)\nreturn y.detach()"],
    ),
    ("gradient_cut", "n = x.size(1)\nreturn n", []),
    ("gradient_cut", "return g(x, d)", ["return g(x, d).detach()", "return g(x.detach(), d)"]),
    ("gradient_cut", "with torch.no_grad():\n    return g(x)", []),
    ("argument_changed_in_place", "x - 1", ["x.sub_(1)"]),
    ("argument_changed_in_place", "a - 1", []),
    ("argument_changed_in_place", "x.exp()", ["x.exp_()"]),
    ("number_changed", "return 3", ["return 2", "return 6"]),
    ("number_changed", "return True", []),
]


def operator(name):
    return next(o for o in deletions.OPERATORS + changes.OPERATORS if o.__name__ == name)


def body(source):
    """The statements of the last function, without ``pass``, as Python writes them."""
    statements = ast.parse(source).body[-1].body
    return "\n".join(ast.unparse(s) for s in statements if not isinstance(s, ast.Pass))


@pytest.mark.parametrize(("name", "lines", "wanted"), CASES)
def test_an_operator_makes_these_mutants_and_no_others(name, lines, wanted):
    source = f"import torch\ndef f(x):\n{textwrap.indent(lines, '    ')}"
    found = [
        body(mutants.splice(source, target, text))
        for node, place in walk(ast.parse(source))
        for target, text in operator(name)(node, place)
    ]
    assert sorted(found) == sorted(wanted)


SETTINGS = '''
SIZES = ('a', 3)
@dataclass(frozen=True)
class C:
    """Text."""
    p: float = 0.5
    tied: bool = True
    width: int | None = None
    def f(self, eps=1e-5):
        return 7
'''


def test_what_stock_mutmut_never_sees_is_changed():
    """Module constants, field defaults, defaults of functions, decorators; never an annotation."""
    made = [source.splitlines() for _, _, source in mutants.added("model", SETTINGS)]
    found = {line for lines in made for line in lines} - set(SETTINGS.splitlines())
    assert {
        "SIZES = ('XXaXX', 3)",
        "    p: float = 1.5",
        "    p: float = -0.5",
        "    tied: bool = False",
        "    width: int | None = 1",
        "    def f(self, eps=1.00001):",
        "@dataclass",
        "@(lambda it: it)",
    } <= found
    assert all('"""Text."""' in "\n".join(lines) for lines in made)
    assert all("int | None" in line for line in found if "width" in line)


def test_splicing_counts_bytes_and_keeps_the_rest():
    source = 'def f(x):\n    y = "重み" + x  # 説明\n    return y\n'
    node = ast.parse(source).body[0].body[0].value.right
    assert mutants.splice(source, node, "z") == source.replace("+ x", "+ z")


SMALL = "def f(x, n=2):\n    y = x + n\n    return y\n\n\nTOP = 5\n"


def make(module="m", source=SMALL):
    return mutants.make(module, source, ("added",))


def test_mutants_differ_from_the_source_and_from_one_another():
    trees = [ast.dump(ast.parse(m.source)) for m in make()] + [ast.dump(ast.parse(SMALL))]
    assert len(set(trees)) == len(trees)
    assert len({m.id for m in make()}) == len(make())


def test_a_mutant_knows_where_it_stands():
    by_key = {(m.function, m.removed, m.added): m for m in make()}
    assert by_key["f", "y = x + n", "y = x"].lines == range(2, 3)
    assert by_key["f", "def f(x, n=2):", "def f(x, n=3):"].lines == range(1, 4)
    assert by_key["module", "TOP = 5", "TOP = 6"].lines is None


def test_only_rules_that_run_the_changed_line_are_asked():
    found = {
        "far": {"entry": "other.g", "seconds": 0.1, "lines": {"m": [3]}},
        "dear": {"entry": "m.f", "seconds": 2.0, "lines": {"m": [2, 3]}},
        "cheap": {"entry": "m.f", "seconds": 1.0, "lines": {"m": [2]}},
    }
    mutant = next(m for m in make() if m.added == "y = x")
    assert reaching(mutant, found) == ["cheap", "dear"]
    constant = next(m for m in make() if m.added == "TOP = 6")
    assert reaching(constant, found) == ["cheap", "dear", "far"]


def test_a_reach_is_the_lines_that_run(tmp_path):
    (tmp_path / "m.py").write_text("def f(x):\n    if x:\n        return 1\n    return 2\n")
    names = {}
    code = compile((tmp_path / "m.py").read_text(), str(tmp_path / "m.py"), "exec")
    exec(code, names)
    assert reach(lambda: names["f"](0), tmp_path) == {"m": [1, 2, 4]}
    assert reach(lambda: names["f"](0), tmp_path / "elsewhere") == {}


@pytest.mark.slow
def test_the_libraries_make_their_mutants_and_a_pool_judges_them():
    """Needs the extra ``proof``: mutmut's and cosmic-ray's mutants of a small module."""
    source = (ROOT / "reference" / "block.py").read_text(encoding="utf-8")
    made = mutants.make("block", source, ("stock", "second"))
    assert {m.origin for m in made} == {"stock", "second"}
    assert all("__mutmut_" in m.name for m in made if m.origin == "stock")
    with Pool(2) as pool:
        answers = pool.judge(made)
    assert all(answers[m.id]["killers"] for m in made)
