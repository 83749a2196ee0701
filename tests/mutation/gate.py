"""Does the proof hold? Every mutant is killed by a recorded rule, or listed with its reason."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from .results import KILLED, SURVIVED

LISTED = Path(__file__).with_name("equivalent.toml")
FIELDS = ("module", "function", "removed", "added", "reason")
MOST = 0.02  # of the mutants may be listed: more, and the list hides what rules do not see


class BadList(Exception):
    """An entry of equivalent.toml without one of its fields: its number and the field."""


@dataclass(frozen=True)
class Problem:
    """A reason for which the gate stays shut: a message id and what it speaks of."""

    message: str
    found: dict


def read(second=False, path=LISTED):
    """The listed equivalents: (module, function, removed, added) to the reason.

    ``second``: those of the second mutator instead, which say ``mutator = "second"``.
    """
    entries = tomllib.loads(Path(path).read_text(encoding="utf-8")).get("equivalent", [])
    listed = {}
    for number, entry in enumerate(entries, start=1):
        for field in FIELDS:
            if not str(entry.get(field, "")).strip():
                raise BadList(f"equivalent.toml, entry {number}: {field} is missing")
        if second == (entry.get("mutator") == "second"):
            listed[tuple(entry[field] for field in FIELDS[:4])] = entry["reason"]
    return listed


def problems(results, listed, whole=True):
    """All that keeps the gate shut, worst first.

    ``whole``: all origins and modules were run, so that an entry without a mutant is stale.
    """
    found = []
    survivors = {result.mutant.key for result in results if result.verdict == SURVIVED}
    for result in results:
        about = {"mutant": result.mutant, "by": result.by}
        if result.verdict == SURVIVED and result.mutant.key not in listed:
            found.append(Problem("survived", about))
        elif result.verdict not in (SURVIVED, KILLED):
            found.append(Problem(result.verdict, about | {"what": result.killers[0][2]}))
    found += _stale(results, listed, survivors, whole)
    used = sum(result.mutant.key in survivors & set(listed) for result in results)
    if whole and used > MOST * len(results):
        share = {"share": used / len(results), "most": MOST}
        found.append(Problem("too_many_listed", {"listed": used, "all": len(results)} | share))
    return found


def _stale(results, listed, survivors, whole):
    """Entries whose mutant is gone, or is killed by now."""
    made = {result.mutant.key for result in results}
    for key in listed:
        if key in made and key not in survivors:
            yield Problem("listed_but_killed", {"key": key})
        elif whole and key not in made:
            yield Problem("listed_but_gone", {"key": key})
