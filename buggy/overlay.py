"""Load a GPT package from a folder of changed modules laid over ``reference/``.

A planted variant, a learner's work and an accepted variant are the same thing: a package whose
search path is ``[its folder, reference's folder]``. ``from .attention import attention`` inside
any module then finds the changed module first, and tracebacks show the real file.
"""

import ast
import functools
import importlib
import itertools
import os
import sys
import threading
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import module_from_spec
from pathlib import Path

REFERENCE = Path(__file__).resolve().parent.parent / "reference"
JUDGED = [
    "attention",
    "normalization",
    "feedforward",
    "block",
    "positions",
    "model",
    "data",
    "loss",
    "sampling",
    "training",
    "ledger",
]

_numbers = itertools.count()
_lock = threading.Lock()


class Refused(Exception):
    """A folder that cannot be laid over the reference: a message id and what it speaks of."""

    def __init__(self, message, **found):
        self.message, self.found = message, found
        super().__init__(f"{message}: {found}")


@functools.lru_cache(maxsize=256)
def _compiled(source, path):
    """The code of a source: thousands of packages share the modules that nobody changed."""
    return SourceFileLoader("", path).source_to_code(source, path)


class _FreshLoader(SourceFileLoader):
    """Compile the source at every load.

    The bytecode cache knows a file by its size and the second it was written in: an edit of
    ``diagonal=0`` to ``diagonal=1`` within that second would run the old code.
    """

    def get_code(self, fullname):
        path = self.get_filename(fullname)
        return _compiled(self.get_data(path), path)


class _Finder:
    """Finds the modules of overlay packages, and of nothing else."""

    def find_spec(self, fullname, path=None, target=None):
        if not fullname.startswith("_gpt_"):
            return None
        spec = PathFinder.find_spec(fullname, path)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _FreshLoader(fullname, spec.origin)
            spec.cached = None
        return spec


class Package:
    """A loaded GPT package; its attributes are its modules, imported on first use."""

    def __init__(self, name, folder):
        self._name, self._folder = name, folder

    def __getattr__(self, module):
        if module.startswith("_"):
            raise AttributeError(module)
        with _lock:
            return importlib.import_module(f"{self._name}.{module}")

    def __repr__(self):
        return f"Package({str(self._folder)!r})"


def files(folder):
    """The Python files of a folder that would be laid over the reference, by module name."""
    return {path.stem: path for path in sorted(Path(folder).glob("*.py"))}


def check(folder):
    """Raise Refused unless the folder holds readable modules of a GPT package and nothing odd.

    A misspelt file would be ignored silently and the reference judged in its place.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise Refused("no_folder", folder=str(folder))
    if Path(os.path.realpath(folder)) == REFERENCE:
        return  # the reference laid over itself
    found = files(folder)
    known = ", ".join(f"{name}.py" for name in JUDGED)
    for entry in sorted(folder.iterdir()):
        if _looks_like_a_module(entry) and (entry.stem not in JUDGED or entry.suffix != ".py"):
            raise Refused("unknown_file", file=entry.name, known=known)
    if not found:
        raise Refused("no_modules", folder=str(folder), known=known)
    for path in found.values():
        _check_source(path)


def load(folder=None):
    """A fresh package: the folder's modules over the reference's, or the reference alone.

    Every call loads every module anew under a name of its own. Raises Refused as ``check`` does.
    """
    path = [str(REFERENCE)]
    if folder is not None:
        check(folder)
        path.insert(0, str(Path(folder).resolve()))
    with _lock:
        if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
            sys.meta_path.insert(0, _Finder())
        name = f"_gpt_{next(_numbers)}"
        spec = ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = path
        sys.modules[name] = module_from_spec(spec)
    importlib.invalidate_caches()
    return Package(name, folder)


def unload(package):
    """Forget a package's modules, so that thousands of variants can be loaded in one process."""
    for name in [n for n in sys.modules if n.split(".")[0] == package._name]:
        del sys.modules[name]


def _looks_like_a_module(entry):
    """Python files, and copies of them: ``attention.PY``, ``attention.py.bak``, ``x.py~``."""
    name = entry.name.lower()
    return name != "__pycache__" and not name.startswith(".") and ".py" in name


def _check_source(path):
    try:
        tree = ast.parse(path.read_bytes(), filename=str(path))
    except OSError as error:
        raise Refused("unreadable", file=path.name, reason=error.strerror) from None
    except (SyntaxError, ValueError) as error:  # ValueError: NUL bytes
        line = getattr(error, "lineno", None) or 1
        reason = getattr(error, "msg", None) or str(error)
        raise Refused("syntax", file=path.name, line=line, reason=reason) from None
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [node.module]
        for name in names:
            if name.split(".")[0] in ("reference", "buggy", "tests", "challenges"):
                raise Refused("absolute_import", file=path.name, line=node.lineno, name=name)
