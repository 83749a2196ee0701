"""Text for a terminal: one screen at a known width, with or without colour."""

import os
import re
import shutil
import sys

from buggy.wrapping import GLUE, cut, pad, unbroken, width, wrap

__all__ = ["GLUE", "Screen", "cut", "pad", "plain", "tell_person", "unbroken", "width", "wrap"]
COLOURS = {"good": "32", "bad": "31;1", "warn": "33", "title": "1", "dim": "2"}


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
