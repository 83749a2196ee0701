"""The desk's sentences in the chosen language, beside those of the rules."""

from pathlib import Path

from tests.rules import tell
from tests.rules.words import Words, language

MESSAGES = Path(__file__).with_name("messages.toml")


def speaker(chosen=None):
    """The desk's sentences and those of the rules: ``say("screen.title")``."""
    return Words(language(chosen), tell.MESSAGES, MESSAGES)
