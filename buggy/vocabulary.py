"""The closed vocabulary of symptoms, readable without torch: words, names, meanings, sentences."""

import tomllib
from functools import cache
from pathlib import Path

from tests.rules.words import Words

MESSAGES = Path(__file__).with_name("messages.toml")
NOTHING = "no_visible_symptom"


@cache
def tables():
    """Everything in the file of messages."""
    return tomllib.loads(MESSAGES.read_text(encoding="utf-8"))


def words():
    """Every word, in the order in which a person meets the symptoms; the last is NOTHING."""
    return list(tables()["symptom"])


def name(word, lang="en"):
    """The symptom in a few words of the language. The word itself is never translated."""
    return tables()["symptom"][word]["name"][lang]


def meaning(word, lang="en"):
    """What the word stands for, in one short sentence."""
    return tables()["symptom"][word]["meaning"][lang]


def sentence(text, lang="en"):
    """A (message id, numbers) pair in words; a number may itself be such a pair, a phrase."""
    message, numbers = text
    told = {k: sentence(v, lang) if isinstance(v, tuple) else v for k, v in numbers.items()}
    return Words(lang, MESSAGES)(message, **told)
