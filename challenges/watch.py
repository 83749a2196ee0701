"""``python -m challenges watch day49``: judge again on every save, from a warm interpreter.

Nothing is ever cleared from the screen. Without ``fork`` every judgement starts cold; without
watchfiles the folder is looked at three times a second.
"""

import datetime
import json
import os
import subprocess
import sys
import time

from tests.rules import judge as judging

from . import desk, files, measure, report, rulebook
from .layout import Screen, tell_person

EVERY = 0.3  # seconds between two looks at the folder
WATCHED = (".py", ".toml")


def main(say, challenge):
    """Watch until interrupted; stops by itself when the challenge is accepted."""
    warm = Warm() if hasattr(os, "fork") else None
    watcher = Watcher(say, challenge, warm.judge if warm else None)
    folder = files.shown(challenge.work)
    tell_person(say("watch.begin", folder=folder))
    try:
        watcher.judge(())
        for names in saves(challenge.work):
            if watcher.judge(names):
                return 0
    except KeyboardInterrupt:
        tell_person("\n" + say("watch.end"))
    finally:
        if warm:
            warm.close()
    return 0


class Watcher:
    """Judges and tells, and remembers what held before."""

    def __init__(self, say, challenge, judge):
        self.say, self.challenge = say, challenge
        self.options = desk.Options(judge=judge, on_verdict=self._early)
        self.held = None

    def judge(self, names):
        """Judge once; True when the challenge is accepted."""
        now = datetime.datetime.now().strftime("%H:%M:%S")
        tell_person(f"\n{now}  {', '.join(names)}".rstrip())
        self.outcomes, self.told, self.begun = {}, False, time.monotonic()
        outcome = desk.run(self.challenge, self.options, self.say)
        drill = not self.challenge.levels
        if drill or outcome.status == desk.SOLVED or not outcome.failures:
            tell_person(outcome.text)
        else:
            self._summary(outcome.failures)
        return outcome.status == desk.SOLVED

    def _early(self, round, verdict, done, total):
        """Explain the first broken rule as soon as every rule before it is known to hold."""
        self.outcomes[verdict["rule"]] = verdict
        if self.told:
            return
        for rule in rulebook.ids():
            if rule not in self.outcomes:
                return
            if self.outcomes[rule]["outcome"] != "holds":
                break
        else:
            return
        self.told = True
        tell_person("\n".join(report.broken(self.say, round, Screen(), self.outcomes[rule])))

    def _summary(self, failures):
        """How many hold, and which rules a save has mended or broken."""
        held = {rule for rule, failure in failures.items() if not failure}
        seconds = f"{time.monotonic() - self.begun:.1f}"
        numbers = {"held": len(held), "total": len(failures), "seconds": seconds}
        tell_person(self.say("watch.held", **numbers))
        if self.held is not None:
            for key, rules in (("mended", held - self.held), ("broke", self.held - held)):
                names = [rule for rule in rulebook.ids() if rule in rules]
                if names:
                    more = self.say("watch.more", count=len(names) - 3) if len(names) > 3 else ""
                    tell_person(self.say(f"watch.{key}", rules=", ".join(names[:3]) + more))
        self.held = held


class Warm:
    """The warm interpreter, spoken to with the arguments of ``tests.rules.judge.judge``."""

    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "challenges.warm"],
            cwd=measure.ROOT,
            env=measure.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def judge(self, folder, *, rules=None, limit, shrink, on_verdict):
        """A Judgement, as ``tests.rules.judge.judge`` gives it."""
        wanted = rules or rulebook.ids()
        order = {"folder": str(folder), "rules": wanted, "limit": limit, "shrink": shrink}
        self.process.stdin.write(json.dumps(order | {"seed": 0}) + "\n")
        self.process.stdin.flush()
        found = {}
        for line in self.process.stdout:
            item = json.loads(line)
            if "end" in item:
                refused = item["end"].get("refused")
                verdicts = [found[rule] for rule in wanted if rule in found]
                printed = item["end"].get("printed", "")
                return judging.Judgement(verdicts, tuple(refused) if refused else None, printed)
            if "rule" in item:
                found[item["rule"]] = item
                if on_verdict:
                    on_verdict(item, len(found), len(wanted))
        raise files.Trouble("our_fault", trace="the warm interpreter ended")

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def saves(folder):
    """The names of the files saved, each time that some are."""
    try:
        from watchfiles import watch
    except ImportError:
        yield from _polled(folder)
        return
    for changes in watch(folder, debounce=200, step=50, recursive=False, raise_interrupt=True):
        names = sorted({os.path.basename(path) for _, path in changes})
        names = [name for name in names if name.endswith(WATCHED)]
        if names:
            yield names


def _polled(folder):
    before = _stamps(folder)
    while True:
        time.sleep(EVERY)
        now = _stamps(folder)
        names = sorted(name for name in before | now if before.get(name) != now.get(name))
        before = now
        if names:
            yield names


def _stamps(folder):
    return {
        path.name: (path.stat().st_mtime_ns, path.stat().st_size)
        for path in folder.iterdir()
        if path.name.endswith(WATCHED)
    }
