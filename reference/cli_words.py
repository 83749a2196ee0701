"""What the command line says: sentences by id, in English and Japanese, and refusals."""

import os
import tomllib
from pathlib import Path

LANGUAGES = ("en", "ja")
SENTENCES = Path(__file__).with_name("messages.toml")


class Refusal(Exception):
    """Bad input: the id of a sentence and what is to be filled in. It ends the command."""

    def __init__(self, key, **found):
        super().__init__(key)
        self.key, self.found = key, found


class Words:
    """``Words("ja")("refused.no_file", path="a.txt")`` is that sentence, filled in."""

    def __init__(self, lang):
        self.lang = lang
        self.sections = tomllib.loads(SENTENCES.read_text(encoding="utf-8"))

    def __call__(self, key, **found):
        section, name = key.split(".")
        return self.sections[section][name][self.lang].format(**found)


def language(chosen=None):
    """The language of ``--lang``, else of BUGHUNT_LANG, else of the locale, else English."""
    names = ("BUGHUNT_LANG", "LC_ALL", "LC_MESSAGES", "LANG")
    for wish in (chosen, *(os.environ.get(name) for name in names)):
        if wish:
            return wish[:2].lower() if wish[:2].lower() in LANGUAGES else "en"
    return "en"
