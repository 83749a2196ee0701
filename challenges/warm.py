"""A warm interpreter: torch and the rules are loaded once, and every judgement is a fork.

Run as ``python -m challenges.warm``. Standard input: one JSON object a line, the arguments of a
judgement. Standard output: the verdicts as they come, a JSON object a line, then ``{"end": …}``.
A verdict is used again when no module that its rules touch has changed since.
"""

import ast
import io
import json
import os
import select
import signal
import sys
import tempfile
import time
from pathlib import Path

from buggy import compiler, overlay
from tests.rules import worker
from tests.rules.manifest import RULES, in_order


class Recorder:
    """A package that notes which of its modules are used."""

    def __init__(self, package):
        self._package, self.seen = package, set()

    def __getattr__(self, name):
        if not name.startswith("_"):
            self.seen.add(name)
        return getattr(self._package, name)


class Server:
    """Judges folders, one after another, and remembers the verdicts."""

    def __init__(self):
        self.touched = {}  # interface name -> modules that its rules use
        self.verdicts = {}  # rule -> (hash of those modules, verdict)

    def judge(self, order, say):
        """Say a verdict for every rule of ``order["rules"]``, from two forks and from memory."""
        try:
            overlay.check(order["folder"])
        except overlay.Refused as refusal:
            return {"refused": [refusal.message, refusal.found]}
        sources = _sources(order["folder"])
        rules = [rule.id for rule in in_order() if rule.id in order["rules"]]
        keys = {rule: self._key(rule, sources) for rule in rules}
        known = [r for r in rules if keys[r] and self.verdicts.get(r, (None,))[0] == keys[r]]
        for rule in known:
            say(self.verdicts[rule][1])
        todo = [rule for rule in rules if rule not in known]
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as printed:
            forks = [_Fork(part, order, printed) for part in (todo[::2], todo[1::2]) if part]
            for verdict, seen in _answers(forks, order["limit"]):
                say(verdict)
                self._remember(verdict, seen, sources)
            printed.seek(0)
            return {"printed": printed.read(20_000)}

    def _key(self, rule, sources):
        """The texts on which the verdict depends; None when that is not known yet."""
        touched = self.touched.get(RULES[rule].entry)
        if touched is None:
            return None
        return hash(tuple(sources[name] for name in sorted(_closure(touched, sources))))

    def _remember(self, verdict, seen, sources):
        if verdict["observed"] in ("time_limit", "died", "not_asked"):
            return
        entry = RULES[verdict["rule"]].entry
        self.touched[entry] = self.touched.get(entry, set()) | set(seen)
        self.verdicts[verdict["rule"]] = (self._key(verdict["rule"], sources), verdict)


def _sources(folder):
    """``{module: text}`` of the folder laid over the reference."""
    paths = overlay.files(overlay.REFERENCE) | overlay.files(folder)
    return {name: path.read_bytes() for name, path in paths.items()}


def _closure(modules, sources):
    """The modules and all that they import from the package."""
    found, todo = set(), [module for module in modules if module in sources]
    while todo:
        module = todo.pop()
        if module in found:
            continue
        found.add(module)
        for node in ast.walk(ast.parse(sources[module])):
            if isinstance(node, ast.ImportFrom) and node.level:
                names = [node.module] if node.module else [alias.name for alias in node.names]
                todo += [name for name in names if name in sources]
    return found


class _Fork:
    """A child that judges its rules in order and writes a line for each."""

    def __init__(self, rules, order, printed):
        self.rules = list(rules)
        self.deadline = time.monotonic() + order["limit"]
        read, write = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(read)
            _serve(self.rules, order, printed, write)
        os.close(write)
        self.pipe, self.rest = read, b""

    def lines(self):
        """The whole lines that have come; None when the child has ended."""
        data = os.read(self.pipe, 65536)
        *whole, self.rest = (self.rest + data).split(b"\n")
        return whole if data else None

    def end(self):
        """Stop the child, if it still runs."""
        os.kill(self.pid, 9)
        os.waitpid(self.pid, 0)
        os.close(self.pipe)


def _serve(rules, order, printed, write):
    """In the child: judge, and leave without touching what is the parent's."""
    try:
        os.dup2(printed.fileno(), 1)
        os.dup2(printed.fileno(), 2)
        sys.stdout = sys.stderr = os.fdopen(1, "w", encoding="utf-8", errors="replace")
        package = Recorder(overlay.load(order["folder"]))
        sys.stdin = io.StringIO("\n".join(rules))
        out = os.fdopen(write, "w", encoding="utf-8")

        def say(verdict):
            out.write(json.dumps([verdict, sorted(package.seen)]) + "\n")
            out.flush()
            package.seen.clear()  # each rule says what it has used itself

        worker._serve(package, order | {"examples": None}, say)
        sys.stdout.flush()
        out.flush()
    finally:
        os._exit(0)


def _answers(forks, limit):
    """(verdict, modules seen) from all forks as they come; a late or dead one costs its rest."""
    while forks:
        wait = max(0.0, min(fork.deadline for fork in forks) - time.monotonic())
        ready = select.select([fork.pipe for fork in forks], [], [], wait)[0]
        for fork in list(forks):
            lines = fork.lines() if fork.pipe in ready else []
            for line in lines or ():
                fork.rules.pop(0)
                fork.deadline = time.monotonic() + limit
                yield tuple(json.loads(line))
            if lines is None or time.monotonic() > fork.deadline:
                fork.end()
                forks.remove(fork)
                reason = "died" if lines is None else "time_limit"
                yield from ((_unjudged(r, reason, limit), ()) for r in fork.rules[:1])
                yield from ((_unjudged(r, "not_asked", limit), ()) for r in fork.rules[1:])


def _unjudged(rule, observed, limit):
    return {
        "rule": rule,
        "day": RULES[rule].day,
        "outcome": "cannot_be_judged",
        "tried": {},
        "observed": observed,
        "allowed": None,
        "numbers": {"seconds": limit, "code": 1},
        "seconds": 0.0,
        "trace": None,
    }


def main():
    """Serve until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the one who watches, who ends us
    import torch

    torch.set_num_threads(1)
    compiler.keep_out()
    weight = torch.nn.Parameter(torch.zeros(1))
    weight.grad = torch.zeros(1)
    torch.optim.AdamW([weight]).step()  # the first optimiser sets things up
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def say(item):
        out.write(json.dumps(item) + "\n")
        out.flush()

    server = Server()
    say({"ready": True})
    for line in sys.stdin:
        say({"end": server.judge(json.loads(line), say)})


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    main()
