"""The pytest side of an exercise: its items, when the desk runs, and what is printed."""

import sys

import pytest
from _pytest.terminal import TerminalReporter

from . import challenge as challenges
from . import desk, questions, status
from .layout import tell_person

ONE_PROCESS = pytest.StashKey()


class ChallengeFile(pytest.File):
    """A ``challenge.toml``: one item a rule, and one a question where the sheet is the exercise."""

    def collect(self):
        for name in names(challenges.read(self.path.parent)):
            yield Judged.from_parent(self, name=name)


def names(challenge):
    """The names of the items of a challenge."""
    asked = [] if challenge.levels else [question.id for question in questions.load(challenge)]
    return asked + challenge.rules


class NotHolding(Exception):
    """What JUnit XML and pytest's own report show of an item that does not hold."""


class Judged(pytest.Item):
    """A rule or a question; what came of it was found before the items run."""

    def runtest(self):
        outcome = self.config.pluginmanager.get_plugin("exercise").outcomes[self.path.parent]
        failure = outcome.failures.get(self.name, outcome.reason)
        if failure:
            raise NotHolding(failure)

    def repr_failure(self, excinfo, style=None):
        if isinstance(excinfo.value, NotHolding):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self):
        return self.path, None, self.name


class Exercise:
    """Runs the desk once for each challenge, between collection and the items."""

    def __init__(self, config, say):
        self.config, self.say = config, say
        self.outcomes = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session):
        if session.config.option.collectonly or session.testsfailed:
            return
        chosen = {}
        for item in session.items:
            if isinstance(item, Judged):
                chosen.setdefault(item.path.parent, []).append(item.name)
        for folder, items in chosen.items():
            self.outcomes[folder] = self._run(challenges.read(folder), items)
        words = self.config.option.keyword
        if not chosen and words:
            tell_person(self.say("note.none_selected", words=words))
        elif not chosen:
            tell_person(status.overview(self.say))

    def _run(self, challenge, chosen):
        option = self.config.option
        rules = [rule for rule in challenge.rules if rule in chosen]
        options = desk.Options(
            no_predictions=option.no_predictions,
            again=option.again,
            plots=option.plots,
            verbose=option.verbose > 0,
            selected=None if len(chosen) == len(names(challenge)) else tuple(rules),
            limit=option.limit,
            on_verdict=self._progress if sys.stderr.isatty() else None,
        )
        outcome = desk.run(challenge, options, self.say)
        tell_person(outcome.text)
        if self.config.stash.get(ONE_PROCESS, False):
            tell_person(self.say("note.one_process"))
        return outcome

    def _progress(self, round, verdict, done, total):
        end = "" if done < total else "\r\033[K"
        print(f"\r{self.say('cli.progress', done=done, total=total)}", end=end, file=sys.stderr)
        sys.stderr.flush()

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session, exitstatus):
        """0 when every challenge was accepted, 3 when the fault is ours, else 1."""
        if session.config.option.collectonly or exitstatus in (2, 3, 4):
            return
        statuses = [outcome.status for outcome in self.outcomes.values()] or [desk.UNSOLVED]
        session.exitstatus = max([*statuses, int(exitstatus == 1)])


class QuietReporter(TerminalReporter):
    """pytest's reporter without header, dots, tracebacks and summary: the desk has spoken.

    Errors of pytest itself, of the collection and of the command line are still told.
    """

    def _nothing(self, *arguments, **keywords):
        """Say nothing."""

    report_collect = _nothing
    pytest_collection = _nothing
    pytest_runtestloop = _nothing
    pytest_runtest_logstart = _nothing
    pytest_runtest_logreport = _nothing
    pytest_runtest_logfinish = _nothing
    pytest_terminal_summary = _nothing
    pytest_warning_recorded = _nothing
    pytest_unconfigure = _nothing

    def pytest_sessionstart(self, session):
        self._session = session

    def pytest_collection_finish(self, session):
        if self.config.option.collectonly:
            super().pytest_collection_finish(session)

    def pytest_keyboard_interrupt(self, excinfo):
        exercise = self.config.pluginmanager.get_plugin("exercise")
        self.write_line("")
        self.write_line(exercise.say("screen.interrupted"))

    def pytest_sessionfinish(self, session, exitstatus):
        self.summary_errors()
