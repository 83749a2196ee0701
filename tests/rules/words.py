"""Sentences by id, in English and Japanese, from TOML files in which both stand together."""

import locale
import os
import tomllib
from functools import cache
from pathlib import Path

LANGUAGES = ("en", "ja")


def language(chosen=None):
    """The chosen language, else BUGHUNT_LANG, else the locale's, else English."""
    for wish in (chosen, os.environ.get("BUGHUNT_LANG"), _locale()):
        if wish and wish[:2].lower() in LANGUAGES:
            return wish[:2].lower()
    return "en"


def _locale():
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if os.environ.get(name):
            return os.environ[name]
    return locale.getlocale()[0]


@cache
def _read(path):
    return tomllib.loads(Path(path).read_text(encoding="utf-8"))


class Words:
    """``Words("en", file)("refused.no_folder", folder="x")`` is the sentence of that id."""

    def __init__(self, lang, *paths):
        self.lang = lang
        self._entries = {}
        for path in paths:
            self._entries |= _read(str(path))

    def __call__(self, key, /, **numbers):
        """Look up ``section.name`` and fill in its placeholders."""
        entry = self._entries
        for part in key.split("."):
            entry = entry[part]
        return entry[self.lang].format(**numbers)

    def __contains__(self, key):
        entry = self._entries
        for part in key.split("."):
            if part not in entry:
                return False
            entry = entry[part]
        return self.lang in entry
