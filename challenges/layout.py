"""Text for a terminal: widths of full-width characters, wrapping, columns, colour."""

import os
import re
import shutil
import sys
import unicodedata

COLOURS = {"good": "32", "bad": "31;1", "warn": "33", "title": "1", "dim": "2"}
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


class Screen:
    """Lines collected for one screen, at a known width and with or without colour."""

    def __init__(self, columns=None, colour=None):
        self.columns = columns or min(100, max(60, shutil.get_terminal_size().columns))
        self.colour = colours() if colour is None else colour
        self.lines = []

    def paint(self, text, style):
        """The text in a style, where colour is wanted."""
        if not self.colour or style is None:
            return text
        return f"\033[{COLOURS[style]}m{text}\033[0m"

    def add(self, text="", style=None, first="", rest=None):
        """Add a paragraph, wrapped; ``first`` stands before its first line."""
        if not text and not first:
            self.lines.append("")
            return
        for line in wrap(text, self.columns, first, rest):
            self.lines.append(self.paint(line, style))

    def raw(self, line="", style=None):
        """Add one line as it is: code, paths and commands are never wrapped."""
        self.lines.append(self.paint(line, style))

    def sides(self, left, right, style=None, left_style=None):
        """Add a line with text at both ends."""
        room = self.columns - width(right) - 2
        left = pad(cut(left, room), room + 2)
        self.lines.append(self.paint(left, left_style) + self.paint(right, style))

    def labelled(self, label, text, room, style=None):
        """Add ``label  text``, the text wrapped beside its label."""
        self.add(text, style, first=f"  {pad(label, room)}  ")

    def text(self):
        return "\n".join(self.lines)


def plain(text):
    """The text without colour."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def colours(stream=None):
    """Whether to colour: on a terminal only, and never with NO_COLOR."""
    stream = sys.stdout if stream is None else stream
    return "NO_COLOR" not in os.environ and stream.isatty()


def tell_person(text):
    """Print, also where the terminal's encoding lacks a character."""
    try:
        print(text, flush=True)
    except UnicodeEncodeError:
        encoding = sys.stdout.encoding
        print(text.encode(encoding, errors="replace").decode(encoding), flush=True)
