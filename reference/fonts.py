"""Find a font that really has Japanese letters, for the titles of pictures."""

import importlib.util
from functools import cache
from pathlib import Path

# Packages that carry a font as a plain file; matplotlib-fontja is part of the extra `plots`.
PACKAGES = ("matplotlib_fontja", "japanize_matplotlib")
LETTERS = "損失と勾配のアテンション（長音ー）"


@cache
def japanese_font():
    """The name of a font that matplotlib can draw Japanese with, or None.

    Looks at packages that carry one, then at the fonts installed on the machine.
    """
    try:
        from matplotlib import font_manager
    except ImportError:
        return None
    for path in _carried():
        if draws(path, LETTERS):
            font_manager.fontManager.addfont(path)
            return font_manager.FontProperties(fname=path).get_name()
    for font in sorted(font_manager.fontManager.ttflist, key=lambda font: font.name):
        if _likely(font) and draws(font.fname, LETTERS):
            return font.name
    return None


def draws(path, letters):
    """Whether the font file has a glyph of its own for every letter.

    matplotlib's last resort draws one box for all letters of a script.
    """
    from matplotlib.ft2font import FT2Font

    try:
        font = FT2Font(str(path))
        glyphs = {letter: font.get_char_index(ord(letter)) for letter in letters}
    except (OSError, RuntimeError):
        return False
    return all(glyphs.values()) and len(set(glyphs.values())) == len(glyphs)


def _carried():
    """Font files inside packages, found without importing them: import would change rcParams."""
    for name in PACKAGES:
        spec = importlib.util.find_spec(name)
        for folder in spec.submodule_search_locations or [] if spec else []:
            yield from sorted(map(str, Path(folder).glob("fonts/*.ttf")))


def _likely(font):
    """Upright and of normal weight: opening every font of a machine would take seconds."""
    return font.style == "normal" and font.weight in (400, "normal", "regular", "book")
