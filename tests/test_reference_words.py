"""The sentences of ``python -m reference``: complete, in step, and in the language asked for."""

import re
import string
import tomllib

from reference.cli_options import COMMANDS
from reference.cli_words import SENTENCES, language


def sentences():
    sections = tomllib.loads(SENTENCES.read_text(encoding="utf-8"))
    return {f"{s}.{name}": entry for s, names in sections.items() for name, entry in names.items()}


def test_the_language_is_chosen_then_named_then_that_of_the_locale(monkeypatch):
    assert language() == "en"
    monkeypatch.setenv("LANG", "ja_JP.UTF-8")
    assert language() == "ja"
    monkeypatch.setenv("LC_ALL", "C")
    assert language() == "en"
    monkeypatch.setenv("BUGHUNT_LANG", "ja")
    assert (language(), language("en")) == ("ja", "en")


def test_both_languages_say_the_same():
    """Same ids, same numbers to fill in; Japanese in Japanese."""
    for key, entry in sentences().items():
        assert set(entry) == {"en", "ja"}, key
        fields = [
            sorted((name, form) for _, name, form, _ in string.Formatter().parse(text) if name)
            for text in entry.values()
        ]
        assert fields[0] == fields[1], key
        assert not re.search(r"[ぁ-んァ-ン一-龯]", entry["en"]), key


def test_every_sentence_is_used_and_every_used_one_exists():
    source = "\n".join(path.read_text(encoding="utf-8") for path in SENTENCES.parent.glob("*.py"))
    used = set(re.findall(r'"((?:help|refused|train|plot|ledger)\.\w+)"', source))
    used |= {f"help.{command}" for command in COMMANDS}
    rows = re.findall(r'\(f?"(\w+)(?:"|:\{)', source)  # the first in each row of a table
    used |= {f"ledger.{key}" for key in rows if f"ledger.{key}" in sentences()}
    assert used == set(sentences())
