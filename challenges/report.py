"""The parts of a check's screen: measured symptoms, answers, rules, the first broken rule."""

from tests.rules import tell

from . import files, scoring, workspace
from .layout import GLUE, Screen, pad, unbroken, width

BROKEN_LINES = 6


def notes(say, round, options):
    """What must be said before anything else: skipped predictions, an update."""
    progress = round.progress
    found = []
    if progress.sealed is None and round.letters:
        found.append(say("note.unpredicted"))
    if round.revised and not round.accepted:
        command = unbroken(f"pytest {files.shown(round.challenge.folder)} --again")
        found.append(say("note.revised", command=command))
    if progress.updated:
        found.append(say("note.updated_solved" if progress.accepted else "note.updated"))
    if options.selected is not None:
        total = len(round.challenge.rules)
        found.append(say("note.selected", count=len(options.selected), total=total))
    found += round.pictures
    if round.judgement.printed.strip():
        lines = round.judgement.printed.strip().count("\n") + 1
        path = files.shown(round.challenge.work / workspace.REPORT)
        found.append(say("note.printed", lines=lines, file=path))
    return found


def torn(say, screen, progress):
    """Say so when the ledger's chain is torn."""
    if progress.ledger.torn:
        lines = ", ".join(map(str, progress.ledger.torn[:3]))
        path = files.shown(progress.challenge.ledger)
        screen.add(say("note.torn", file=path, lines=lines), "warn")
        screen.add()


def measured(say, screen, round, brevity):
    """Predicted beside measured, with the numbers that were seen: all, the first, or none."""
    if round.measured is None or not round.letters:
        return
    screen.add(say("screen.measured"), "title")
    for letter, rows in scoring.compare(round).items():
        words = [unbroken(f"{scoring.SIGNS[outcome]} {word}") for word, outcome, _ in rows]
        sentences = [row[f"text_{say.lang}"] for _, _, row in rows]
        if brevity:
            screen.add(f" {GLUE}".join(words), first=f"  ({letter}) ")
            for sentence in sentences[: 2 - brevity]:
                screen.add(sentence, "dim", first=" " * 6)
        else:
            for i, (word, sentence) in enumerate(zip(words, sentences)):
                screen.add(word, first=f"  {f'({letter})' if i == 0 else '':<3} ")
                screen.add(sentence, "dim", first=" " * 8)
    screen.add()


def measured_in_short(say, screen, round):
    """One line for the checks after the first."""
    if round.measured is not None and round.letters:
        right = sum(scoring.foreseen(round).values())
        screen.add(say("screen.foreseen", right=right, count=len(round.letters)), "dim")


def marks(round):
    """The learner's answers, each held to its key; none before anything is measured."""
    return round.measured["marks"] if round.measured else []


def answers(say, screen, round, right_too=True):
    """One line an answer: right, wrong, or what was forgotten."""
    found = marks(round)
    if not found:
        return
    right = sum(mark.right for mark in found)
    screen.add(say("screen.answers_right", right=right, total=len(found)), "title")
    room = max(width(mark.question.id) for mark in found)
    for mark in found:
        if mark.right and not right_too:
            continue
        outcome = mark.outcome if mark.outcome in ("open", "right", "wrong") else "wrong"
        style = {"right": "good", "wrong": "bad", "open": "dim"}[outcome]
        line = f"  {pad(mark.question.id, room)}  {say(f'answer.{outcome}')}"
        told = mark.told(say.lang)
        if told:
            screen.add(told, style, first=line + ": ", rest=" " * (room + 4))
        else:
            screen.raw(line, style)
    screen.add()


def printed(say, round):
    """What the judged code printed, for the end of the report file."""
    text = round.judgement.printed.rstrip()
    return f"\n\n{say('screen.printed')}\n{text}" if text else ""


def in_words(lang, verdict):
    """A verdict for JUnit XML: the law, the experiment, the observation."""
    say = tell.words(lang)
    parts = [tell.law(say, verdict["rule"]), tell.tried(say, verdict), tell.observed(say, verdict)]
    return "\n".join(part for part in parts if part)


def answers_in_short(say, screen, round):
    """Which answers are not right yet, in one line."""
    wrong = [mark.question.id for mark in marks(round) if not mark.right]
    if wrong:
        screen.add(say("screen.answers_wrong", names=", ".join(wrong)), "dim")
    screen.add()


def rules(say, screen, round, room):
    """Every rule in the order of the data flow, one line each; holding ones folded to fit ``room``.

    With None for ``room`` nothing is folded, with 0 there is the count alone.
    """
    verdicts = round.judgement.verdicts
    held = sum(verdict["outcome"] == "holds" for verdict in verdicts)
    numbers = {"held": held, "total": len(verdicts)}
    if room == 0:
        screen.add(say("screen.held_only", **numbers), "title")
        screen.add()
        return
    screen.add(say("screen.held", **numbers), "title")
    lines = _unfolded(verdicts) if room is None else _folded(verdicts, room - 2)
    for day, left, outcome, count in lines:
        if outcome is None:
            screen.raw("       " + say(left, count=count), "dim")
        else:
            style = {"holds": "good", "broken": "bad"}.get(outcome, "warn")
            screen.sides(f"  {day!s:>3}  {left}", say(f"outcome.{outcome}"), style)
    screen.add()


def _unfolded(verdicts):
    return [(v["day"], v["rule"], v["outcome"], 1) for v in verdicts]


def _folded(verdicts, room):
    """Runs of holding rules as one line each; after ``room`` lines the rest as one or two."""
    lines, held = [], 0
    for i, verdict in enumerate(verdicts):
        if verdict["outcome"] == "holds":
            held += 1
            continue
        if len(lines) + 2 + bool(held) > room:
            rest = verdicts[i:]
            wrong = sum(v["outcome"] != "holds" for v in rest)
            if held:
                lines.append((None, "fold.held", None, held))
            return [*lines, (None, "fold.wrong", None, wrong)]
        if held:
            lines.append((None, "fold.held", None, held))
        lines.append((verdict["day"], verdict["rule"], verdict["outcome"], 1))
        held = 0
    return [*lines, (None, "fold.held", None, held)] if held else lines


def broken(say, round, like, verdict=None):
    """A rule that does not hold, by default the first, as at most six lines."""
    verdict = verdict or round.judgement.first
    if verdict is None:
        return [say("screen.selected_hold")]
    told = _told(say, round, verdict)
    # What is left out where six lines are too few: the title says the law shorter, the observation
    # says more than what is allowed, the sheet holds the words.
    for count in range(4):
        left_out = ("law", "allowed", "words")[:count]
        screen = Screen(like.columns, like.colour)
        style = "bad" if verdict["outcome"] == "broken" else "warn"
        title = f"{say('screen.rule_of', day=verdict['day'])}  {told['title']}"
        screen.sides(title, say(f"outcome.{verdict['outcome']}"), style)
        rows = _rows(say, {name: "" if name in left_out else text for name, text in told.items()})
        room = max(width(label) for label, _ in rows)
        for label, text in rows:
            screen.labelled(label, text, room)
        if len(screen.lines) <= BROKEN_LINES:
            break
    return screen.lines


def _told(say, round, verdict):
    """The sentences of a verdict by name."""
    rules_say, rule = tell.words(say.lang), verdict["rule"]
    of_day = {x: p for x, p in round.predicted.items() if p.day == verdict["day"] and p.symptoms}
    unsaid = say("broken.nothing_said", day=verdict["day"])
    command = unbroken(f"python -m challenges hint {round.challenge.name}")
    return {
        "title": rules_say(f"rule.{rule}.title"),
        "law": tell.law(rules_say, rule),
        "tried": tell.tried(rules_say, verdict),
        "observed": tell.observed(rules_say, verdict),
        "allowed": tell.allowed(rules_say, verdict),
        "words": "; ".join(f"({x}) {', '.join(p.symptoms)}" for x, p in of_day.items())
        or (unsaid if round.progress.sealed and round.letters else ""),
        "letters": ", ".join(f"({x})" for x in of_day),
        "next": say("broken_next.command", command=command) if round.letters else "",
    }


def _rows(say, told):
    """[(label, text)] of the sentences that are there, what is allowed beside the observation."""
    observed = told["observed"]
    if told["allowed"]:
        observed = say("broken.but", observed=observed.rstrip("。."), allowed=told["allowed"])
    rows = [(name, told[name]) for name in ("law", "tried")]
    rows += [("observed", observed), ("said", told["words"] or told["letters"])]
    rows.append(("next", told["next"]))
    return [(say(f"broken.{label}"), text) for label, text in rows if text]
