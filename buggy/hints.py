"""What a ladder of hints must and must not say."""

import difflib
import re

from .faults import LANGUAGES

# A line of a file, not a row of a matrix that is called 0, t or T
_LINE = re.compile(r"\b[Ll]ines? \d+|\.py\b|\bL\d+\b|\d+ ?行目")
_LESSON = {"en": re.compile(r"\bDay (\d+)"), "ja": re.compile(r"(\d+) 日目")}
_CODE = re.compile(r"[=()\[\]*/.]")


def check(fault, failed):
    """Raise ``failed(verdict, message, …)`` unless the hints climb and give nothing away."""
    for lang in LANGUAGES:
        rungs = fault.hints(lang)
        for number, rung in enumerate(rungs, 1):
            where = {"lang": lang, "rung": number}
            if _LINE.search(rung):
                raise failed("INVALID", "hint_line", found=_LINE.search(rung)[0], **where)
            for text in answers(fault):
                if text in rung:
                    raise failed("INVALID", "hint_answer", found=text, **where)
        if not climbs(rungs, fault.day, lang):
            raise failed("INVALID", "hint_climb", lang=lang, day=fault.day)


def climbs(rungs, day, lang):
    """Different rungs, of which the last, and no other, names the lesson (day X has none)."""
    named = [[int(n) for n in _LESSON[lang].findall(rung)] for rung in rungs]
    lesson = [] if day == "X" else [day]
    return len(set(rungs)) == len(rungs) and not any(named[:-1]) and named[-1] == lesson


def answers(fault):
    """The texts that would give a fault away: words of code that differ, and whole lines."""
    found = set()
    for edit in fault.edits:
        old, new = edit.correct.split(), edit.planted.split()
        matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
        for tag, i, j, k, m in matcher.get_opcodes():
            if tag != "equal":
                found |= {word for word in old[i:j] + new[k:m] if _tells(word)}
        for line in (edit.correct + "\n" + edit.planted).split("\n"):
            if len(line.strip()) >= 12:
                found.add(line.strip())
    return sorted(found)


def _tells(word):
    return len(word) >= 6 and _CODE.search(word) is not None
