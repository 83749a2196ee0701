"""Verdicts in words: the sentences of messages.toml, filled with the numbers that were seen."""

from pathlib import Path

from .words import Words, language

MESSAGES = Path(__file__).with_name("messages.toml")


def words(lang=None):
    """The rules' sentences in one language."""
    return Words(language(lang), MESSAGES)


def law(say, rule):
    """The law of a rule in one sentence."""
    return say(f"rule.{rule}.law")


def tried(say, verdict):
    """What was tried, or "" when nothing was."""
    if not verdict["tried"]:
        return ""
    return say(f"rule.{verdict['rule']}.tried", **_written(say, verdict["tried"]))


def observed(say, verdict):
    """What the package did, or ""."""
    return _sentence(say, "observed", verdict)


def allowed(say, verdict):
    """What every correct GPT does, and why that much, or ""."""
    return _sentence(say, "allowed", verdict)


def refusal(say, refused):
    """Why a folder cannot be judged."""
    message, numbers = refused
    return say(f"refused.{message}", **_written(say, numbers))


def as_dict(say, verdict):
    """The verdict for ``--json``: ids and numbers replaced by sentences."""
    return {
        "rule": verdict["rule"],
        "day": verdict["day"],
        "outcome": verdict["outcome"],
        "law": law(say, verdict["rule"]),
        "tried": tried(say, verdict),
        "observed": observed(say, verdict),
        "allowed": allowed(say, verdict),
        "seconds": round(verdict["seconds"], 4),
    }


def _sentence(say, section, verdict):
    if not verdict[section]:
        return ""
    return say(f"{section}.{verdict[section]}", **_written(say, verdict["numbers"]))


def _written(say, numbers):
    return {name: _write(say, name, value) for name, value in numbers.items()}


def _write(say, name, value):
    if name == "what":
        return say(f"what.{value}") if f"what.{value}" in say else f"`{value}`"
    if name == "place" and isinstance(value, (list, tuple)):
        places = [f"{say(f'axis.{axis}')} {i}" for axis, i in value]
        return say("axis.comma").join(places) or say("axis.it")
    if isinstance(value, float):
        return f"{value:.3g}"
    if isinstance(value, (list, tuple)):
        return f"({', '.join(str(item) for item in value)})"
    return str(value)
