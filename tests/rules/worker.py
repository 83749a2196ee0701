"""The process in which the judged code runs. Spoken to by ``judge``; not for people.

Standard input: one rule id a line. Standard output: one JSON object a line, first the manifest,
then a verdict for each id. What the judged code prints goes to standard error.
"""

import json
import os
import sys
import warnings


def main():
    """Serve rules until standard input ends."""
    options = json.loads(sys.argv[1])
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")

    import torch

    torch.set_num_threads(1)
    from buggy import compiler, overlay

    compiler.keep_out()

    from .manifest import in_order

    def say(item):
        out.write(json.dumps(item) + "\n")
        out.flush()

    say({"manifest": [[rule.id, rule.day] for rule in in_order()]})
    try:
        package = overlay.load(options["folder"])
    except overlay.Refused as error:
        say({"refused": error.message, "found": error.found})
        return
    _serve(package, options, say)


def _serve(package, options, say):
    from .manifest import RULES

    smoked = {}
    for line in sys.stdin:
        rule = RULES[line.strip()]
        if rule.entry not in smoked:
            smoked[rule.entry] = _smoke(package, rule.entry)
        say(_verdict(rule, package, options, smoked[rule.entry]).as_dict())


def _smoke(package, entry):
    """None, or why no rule about this entry can be judged: (message id, numbers)."""
    from . import claims, engine, smoke

    error = smoke.fails(package, entry)
    if error is None:
        return None
    module, name = entry.split(".")
    frames = engine.frames(error, package)
    numbers = {"entry": name, "file": f"{module}.py", "found": claims.describe(error)}
    if isinstance(error, NotImplementedError):
        return "not_written", numbers
    place = frames[-1] if frames else numbers["file"]
    if isinstance(error, SystemExit):
        return "exit", numbers | {"place": place}
    if isinstance(error, AttributeError) and f"has no attribute {name!r}" in str(error):
        return "missing", numbers
    return "fails", numbers | {"place": place}


def _verdict(rule, package, options, smoked):
    from . import engine

    if smoked is not None:
        return engine.Verdict(
            rule.id, rule.day, engine.UNJUDGED, observed=smoked[0], numbers=smoked[1]
        )
    knobs = {"examples": options["examples"], "seed": options["seed"], "shrink": options["shrink"]}
    verdict = engine.run(rule, package, **knobs)
    if verdict.outcome == engine.ERROR and options["folder"] is not None:
        _second_opinion(rule, verdict, knobs)
    return verdict


def _second_opinion(rule, verdict, knobs):
    """An error in a rule is ours, unless the same experiment works on the reference."""
    from buggy import overlay

    from . import engine

    if engine.run(rule, overlay.load(), **knobs).outcome == engine.HOLDS:
        verdict.outcome, verdict.observed, verdict.allowed = engine.BROKEN, "unusable", "an_answer"


if __name__ == "__main__":
    main()
