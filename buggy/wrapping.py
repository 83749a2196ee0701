"""Text in columns: the widths of full-width characters, padding, wrapping."""

import unicodedata

GLUE = "\u00a0"  # a space at which no line ends
NO_LINE_START = (
    "、。，．・：；？！」』）】〕］｝〉》ー" + "ぁぃぅぇぉっゃゅょァィゥェォッャュョ" + ",.:;?!)]}%"
)
NO_LINE_END = "「『（【〔［｛〈《([{"


def width(text):
    """Columns that the text takes: full-width characters take two, combining ones none."""
    return sum(_columns(character) for character in text)


def _columns(character):
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def pad(text, columns):
    """The text with spaces up to so many columns."""
    return text + " " * (columns - width(text))


def cut(text, columns):
    """The text, ended by an ellipsis when it is wider than so many columns."""
    if width(text) <= columns:
        return text
    kept = ""
    for character in text:
        if width(kept + character) > columns - 1:
            break
        kept += character
    return kept + "…"


def wrap(text, columns, first="", rest=None):
    """Lines of at most so many columns; ``first`` and ``rest`` stand before them.

    Breaks at spaces and between full-width characters, never before a closing mark.
    """
    rest = " " * width(first) if rest is None else rest
    lines, line, gap = [], first, ""
    empty = True
    for piece in _pieces(text):
        if piece == " ":
            gap = "" if empty else " "
            continue
        if not empty and width(line + gap + piece) > columns:
            lines.append(line)
            line, gap, empty = rest, "", True
            piece = piece.lstrip(GLUE)
        line += gap + piece
        gap, empty = "", False
    return [line.replace(GLUE, " ") for line in [*lines, line.rstrip(" ")]]


def unbroken(text):
    """A command or a path that must stay on one line."""
    return text.replace(" ", GLUE)


def _pieces(text):
    """Words and full-width characters, with the marks that must stay beside them."""
    pieces = []
    for character in text:
        wide = _columns(character) == 2
        if character != GLUE and character.isspace():
            pieces.append(" ")
        elif pieces and pieces[-1] != " " and _sticks(pieces[-1], character, wide):
            pieces[-1] += character
        else:
            pieces.append(character)
    return pieces


def _sticks(before, character, wide):
    if character in NO_LINE_START or before[-1] in NO_LINE_END:
        return True
    return not wide and _columns(before[-1]) == 1
