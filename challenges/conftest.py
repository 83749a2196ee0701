"""Makes ``pytest challenges/day49`` an exercise: one item a rule, and a report of our own.

Active only for arguments inside ``challenges/``. This process never imports torch.
"""

import sys
from pathlib import Path

import pytest

from challenges import exercise, words

HERE = Path(__file__).resolve().parent
ASKED = pytest.StashKey()


def pytest_addoption(parser):
    group = parser.getgroup("GPT bug hunt")
    group.addoption("--lang", choices=("en", "ja"), help="language of the exercise")
    group.addoption("--no-predictions", action="store_true", help="judge without predicting first")
    group.addoption("--again", action="store_true", help="seal the sheet as a new attempt")
    group.addoption("--limit", type=float, metavar="S", help="seconds that a rule may take")
    group.addoption("--plots", action="store_true", help="draw the pictures of each fault")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config):
    """A file or a folder inside a challenge means the challenge: nothing else is collected there.

    The rules have processes of their own: with xdist they would be judged once a worker.
    """
    config.args = list(dict.fromkeys(_challenge(config, argument) for argument in config.args))
    if asked(config) and getattr(config.option, "numprocesses", None):
        config.option.numprocesses, config.option.dist = 0, "no"
        config.option.tx = []
        config.stash[exercise.ONE_PROCESS] = True


@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    """Take over the terminal, and write no cache into the repository."""
    if not asked(config):
        return
    for name in ("lfplugin", "nfplugin", "stepwiseplugin"):
        if config.pluginmanager.has_plugin(name):
            config.pluginmanager.unregister(name=name)
    say = words.speaker(config.getoption("lang"))
    config.pluginmanager.register(exercise.Exercise(config, say), "exercise")
    standard = config.pluginmanager.get_plugin("terminalreporter")
    if standard is not None and only_ours(config):
        config.pluginmanager.unregister(standard)
        quiet = exercise.QuietReporter(config, sys.stdout)
        config.pluginmanager.register(quiet, "terminalreporter")


def asked(config):
    """The folders of the challenges that the command line names; [] when it names none of ours."""
    if ASKED not in config.stash:
        config.stash[ASKED] = [path for path in _arguments(config) if _inside(path)]
    return config.stash[ASKED]


def only_ours(config):
    return all(_inside(path) for path in _arguments(config))


def _arguments(config):
    base = config.invocation_params.dir
    return [(base / str(argument).split("::")[0]).resolve() for argument in config.args]


def _challenge(config, argument):
    """The folder of the challenge that a path lies in, or the argument as it is."""
    path = (config.invocation_params.dir / argument).resolve()
    if "::" in argument or not _inside(path):
        return argument
    folders = [folder for folder in path.parents if (folder / "challenge.toml").is_file()]
    inner = (path / "challenge.toml").is_file() or not folders or not _inside(folders[0])
    return argument if inner else str(folders[0])


def _inside(path):
    return path == HERE or HERE in path.parents


def _chosen(config):
    """The folders with a challenge.toml that an argument names, itself or a file below it."""
    found = []
    for path in asked(config):
        folders = [folder for folder in (path, *path.parents) if _inside(folder)]
        found += [f for f in folders if (f / "challenge.toml").is_file()][:1]
    return found


def pytest_ignore_collect(collection_path, config):
    """Of everything below challenges/ only the challenges that were named are collected."""
    if not _inside(collection_path.resolve()):
        return None
    if collection_path.is_dir():
        inner = collection_path.resolve()
        return not any(inner == f or inner in f.parents for f in _chosen(config)) or None
    wanted = [folder / "challenge.toml" for folder in _chosen(config)]
    return collection_path.resolve() not in wanted


def pytest_collect_file(file_path, parent):
    if file_path.name == "challenge.toml" and _inside(file_path.resolve()):
        return exercise.ChallengeFile.from_parent(parent, path=file_path)
    return None
