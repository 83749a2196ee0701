"""The folder ``work/`` of a challenge: made by generation, kept, backed up, made again."""

import datetime
import json
import shutil

from buggy import faults as catalogue
from buggy import overlay, planting
from tests.rules.words import LANGUAGES

from . import challenge as challenges
from . import files, handout, ledger, questions, sheet, words

PREDICTIONS, ANSWERS = "predictions.toml", "answers.toml"
REPORT, MEASURED = "report.txt", "measured.json"
RENEWAL = ".renewal"  # what a reset under way is about to make
# What reading the faults of an exercise raises when the repository has moved on.
CHANGED = (files.Trouble, catalogue.BadFault, planting.StaleFault, handout.NoPlace)


def modules(challenge, faults):
    """``{module: text}`` of the files that the learner is given."""
    texts = handout.sources(faults, challenge.marked) if faults else {}
    if challenge.table.get("files") == "all":
        for name in overlay.JUDGED:
            texts.setdefault(name, (overlay.REFERENCE / f"{name}.py").read_text("utf-8"))
    for name in challenge.table.get("empty", []):
        module, function = name.split(".")
        source = texts.get(module) or (overlay.REFERENCE / f"{module}.py").read_text("utf-8")
        texts[module] = handout.emptied(source, function)
    order = overlay.JUDGED
    return {module: texts[module] for module in sorted(texts, key=order.index)}


def given_hash(progress):
    """The fingerprint of what would be handed out today for this exercise."""
    return _hash(modules(progress.challenge, progress.faults()))


def _hash(texts):
    return ledger.fingerprint("\0".join(f"{name}\0{text}" for name, text in texts.items()))


def sheets(challenge, faults, say):
    """``{file name: text}`` of the empty sheets."""
    letters = challenges.LETTERS[: len(faults)]
    found = {}
    if faults:
        found[PREDICTIONS] = sheet.template(say, challenge, letters, say.lang)
    if challenge.questions:
        found[ANSWERS] = questions.template(say, challenge)
    return found


def begin(challenge, say, level=1, seed=None):
    """Make ``work/`` unless it is there; True when it was made. Call it under the lock."""
    files.sweep(challenge.folder, challenge.work)
    if (challenge.work / RENEWAL).exists():
        _finish_renewal(challenge, say)  # a reset that was killed half way
    if ledger.read(challenge.ledger).last("start"):
        return False
    faults = challenges.choose(challenge, level, seed)
    texts = everything(challenge, faults, say)
    if not files.new_folder(challenge.work, texts):
        for name, text in texts.items():  # the ledger was deleted: keep what is there
            if not (challenge.work / name).exists():
                files.write(challenge.work / name, text)
    _note(challenge, faults, level, seed)
    return True


def everything(challenge, faults, say):
    """``{file name: text}`` of all that is handed out."""
    named = {f"{module}.py": text for module, text in modules(challenge, faults).items()}
    return named | sheets(challenge, faults, say)


def retold(challenge, faults, say):
    """Whether the sheets lay there untouched in another language: they are given anew in ours.

    The first screen names the command for the other language; whoever follows it starts there.
    Call it under the lock.
    """
    for other in set(LANGUAGES) - {say.lang}:
        given = sheets(challenge, faults, words.speaker(other))
        if given and all(_holds(challenge.work / name, text) for name, text in given.items()):
            for name, text in sheets(challenge, faults, say).items():
                files.write(challenge.work / name, text)
            return True
    return False


def _holds(path, text):
    try:
        return path.read_text(encoding="utf-8") == text
    except (OSError, UnicodeDecodeError):
        return False


def _note(challenge, faults, level, seed):
    ledger.append(
        challenge.ledger,
        "start",
        faults=[challenges.seal_id(fault.id) for fault in faults],
        level=level,
        seed=seed,
        given=_hash(modules(challenge, faults)),
    )


def renew(challenge, say, level=1, seed=None):
    """Start over: the work as it stands goes to a backup, whose path is returned.

    Call it under the lock. The ledger stays. A note of what is under way lets the next run finish
    a renewal that was killed.
    """
    challenges.choose(challenge, level, seed)  # refuse before anything is moved
    kept = backup(challenge)
    files.write(challenge.work / RENEWAL, json.dumps({"level": level, "seed": seed}))
    _finish_renewal(challenge, say)
    return kept


def _finish_renewal(challenge, say):
    order = json.loads((challenge.work / RENEWAL).read_text(encoding="utf-8"))
    faults = challenges.choose(challenge, **order)
    texts = everything(challenge, faults, say)
    for name, text in texts.items():
        files.write(challenge.work / name, text)
    with files.writing(challenge.work):
        for path in challenge.work.iterdir():
            if path.name not in texts and (path.suffix == ".py" or path.name == REPORT):
                path.unlink()  # of the exercise before, and in the backup
        shutil.rmtree(challenge.work / "plots", ignore_errors=True)
    _note(challenge, faults, **order)
    with files.writing(challenge.work):
        (challenge.work / RENEWAL).unlink()


def backup(challenge):
    """Copy the work as it stands to ``backup/<time>``; returns that folder."""
    stamp = datetime.datetime.now().strftime("%Y-%m-%d_%H%M%S")
    target = challenge.folder / "backup" / stamp
    number = 1
    with files.writing(target):
        while target.exists():
            number += 1
            target = target.with_name(f"{stamp}_{number}")
        part = target.with_name(f".{target.name}.part")
        shutil.rmtree(part, ignore_errors=True)
        shutil.copytree(challenge.work, part)
        part.rename(target)
    return target


def missing(challenge, texts):
    """The names of handed-out files that are no longer there."""
    return [f"{module}.py" for module in texts if not (challenge.work / f"{module}.py").is_file()]


def fingerprints(challenge):
    """``{file name: short hash}`` of the learner's modules."""
    found = overlay.files(challenge.work)
    return {path.name: ledger.fingerprint(path.read_bytes()) for path in found.values()}
