"""What a package shows to a person who runs it: every word of the vocabulary, measured.

``python -m buggy.symptoms FOLDER [FOLDER ...] [--json] [--seed N] [--lang en|ja]`` measures folders
of modules laid over the reference. Nothing here is judged right or wrong: rules do that.
"""

import argparse
import json
import sys
from pathlib import Path

from tests.rules.words import language

from . import (
    attending,
    compiler,
    generation,
    half_precision,
    limits,
    overlay,
    training_runs,
    untrained,
    updates,
    vocabulary,
)
from .lab import SYMPTOMS, Lab, Measurement, Symptom, seen

__all__ = ["SYMPTOMS", "Measurement", "Symptom", "as_json", "describe", "measure"]
EXPERIMENTS = (untrained, attending, training_runs, updates, generation, limits, half_precision)


def measure(package, seed=0, only=None, changes=None):
    """Measure a package: ``{word: Measurement}`` for every word, or for those of ``only``.

    The sizes are fixed; ``changes`` ({"tied": False}, say) replace choices of every config.

    An exception of the package ends the measurement it happens in, not the others: the number is
    then "raises ...". ``no_visible_symptom`` is shown when none of all the others is.
    Raises KeyError for a word that is not in the vocabulary.
    """
    compiler.keep_out()
    wanted = vocabulary.words() if only is None else list(only)
    others = [word for word in vocabulary.words() if word != vocabulary.NOTHING]
    needed = others if vocabulary.NOTHING in wanted else wanted
    lab = Lab(package, seed, changes)
    found = {word: _measure(lab, SYMPTOMS[word]) for word in needed}
    if vocabulary.NOTHING in wanted:
        found[vocabulary.NOTHING] = _nothing(found)
    return {word: found[word] for word in wanted}


def _measure(lab, symptom):
    made, error = lab.attempt(symptom.word, lambda: symptom.measure(lab))
    if error is None:
        return made
    return seen(False, limits.raises(error), "raises", error=type(error).__name__)


def _nothing(found):
    shown = sum(measurement.shown for measurement in found.values())
    count = {"count": shown} if shown else {"count": len(found)}
    return seen(not shown, shown, "something" if shown else "nothing", **count)


def describe(measurements, lang="en"):
    """``{word: what was seen, in a sentence}``."""
    return {word: vocabulary.sentence(m.text, lang) for word, m in measurements.items()}


def as_json(measurements):
    """The form in which measurements leave the process."""
    en, ja = describe(measurements, "en"), describe(measurements, "ja")
    return {
        word: {"shown": m.shown, "number": m.number, "text_en": en[word], "text_ja": ja[word]}
        for word, m in measurements.items()
    }


def measure_folders(folders, seed=0, only=None):
    """Several folders in one process: ``{folder: {word: Measurement}}``, torch imported once."""
    found = {}
    for folder in folders:
        package = overlay.load(None if Path(folder) == overlay.REFERENCE else folder)
        found[str(folder)] = measure(package, seed, only)
        overlay.unload(package)
    return found


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m buggy.symptoms")
    parser.add_argument("folders", nargs="+", metavar="FOLDER")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lang")
    options = parser.parse_args(arguments)
    found = measure_folders(options.folders, options.seed)
    if options.json:
        print(json.dumps({folder: as_json(m) for folder, m in found.items()}, ensure_ascii=False))
        return 0
    for folder, measurements in found.items():
        print(folder)
        for word, text in describe(measurements, language(options.lang)).items():
            print(f"  {'*' if measurements[word].shown else ' '} {word:<42} {text}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
