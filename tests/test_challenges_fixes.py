"""Day 49's fixes: every incomplete set is rejected and told the truth, nothing is given away."""

import ast
import itertools
import re
from functools import cache

import pytest

from buggy import overlay, vocabulary
from challenges import challenge as challenges
from challenges import (
    commands,
    desk,
    files,
    handout,
    layout,
    progress,
    questions,
    report,
    reveal,
    screens,
    sheet,
    words,
    workspace,
)
from tests.rules.judge import Judgement
from tests.rules.manifest import RULES, in_order, run
from tests.scripted import own_challenge

DAY49 = challenges.find("day49")
FAULTS = dict(zip("ABCD", challenges.choose(DAY49)))
PARTIAL = [set(c) for n in (1, 2, 3, 4) for c in itertools.combinations("ABCD", n)]


def names(letters):
    return "".join(sorted(letters))


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """``package("BD")``: day 49 as handed out with all but (B) and (D) fixed, loaded."""

    @cache
    def load(letters):
        folder = tmp_path_factory.mktemp(letters)
        for module, text in handed_out(letters).items():
            (folder / f"{module}.py").write_text(text, encoding="utf-8")
        return overlay.load(folder)

    return load


def handed_out(letters):
    """The three files of day 49 with only these faults left in them."""
    left = handout.sources([FAULTS[letter] for letter in letters], marked=False)
    every = handout.sources(list(FAULTS.values()))
    return {module: left.get(module) or source(module) for module in every}


def source(module):
    return (overlay.REFERENCE / f"{module}.py").read_text(encoding="utf-8")


@cache
def first_broken(gpt):
    for rule in in_order():
        verdict = run(rule, gpt, shrink=True)
        if verdict.outcome != "holds":
            return verdict
    return None


@pytest.mark.parametrize("letters", PARTIAL, ids=names)
def test_an_incomplete_fix_is_told_a_law_that_is_really_broken(package, letters):
    """The law named first is broken by one of the faults that are left, planted alone."""
    letters = "".join(sorted(letters))
    verdict = first_broken(package(letters))
    assert verdict is not None
    rule = RULES[verdict.rule]
    alone = [run(rule, package(letter)).outcome for letter in letters]
    assert "broken" in alone
    assert rule.day in {FAULTS[letter].day for letter in letters}


# Three styles of the complete fix

SDPA = """
    if mask is None:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=~mask)
"""
EINSUM = """
    if mask is None:
        mask = causal_mask(q.size(-2), q.device)
    scores = torch.einsum("...td,...sd->...ts", q, k) / math.sqrt(q.shape[-1])
    scores = scores.masked_fill(mask, torch.finfo(scores.dtype).min)
    return torch.einsum("...ts,...sd->...td", torch.softmax(scores, dim=-1), v)
"""
LOOP = """
    if mask is None:
        mask = causal_mask(q.size(-2), q.device)
    mask = mask.expand(*q.shape[:-1], q.size(-2))
    if q.dim() > 2:  # one sequence at a time, then one head
        return torch.stack([attention(*head) for head in zip(q, k, v, mask)])
    scores = (q * q.shape[-1] ** -0.5) @ k.transpose(-1, -2)
    return torch.softmax(scores.masked_fill(mask, float("-inf")), dim=-1) @ v
"""
BLOCK = """
    def forward(self, x):
        update = self.attn(self.ln_1(x))
        x = x + update
        update = self.mlp(self.ln_2(x))
        return x + update
"""
DATA = """
    L = len(chunk) - 1
    return chunk[:L], chunk[1 : L + 1]
"""


def rewritten(module, function, body, before=""):
    """The module with another body of a function, or another method."""
    text = source(module)
    node = next(n for n in ast.walk(ast.parse(text)) if getattr(n, "name", None) == function)
    lines = text.split("\n")
    whole = body.lstrip().startswith("def ")
    first = node.lineno if whole else node.body[1].lineno  # behind signature and docstring
    lines[first - 1 : node.end_lineno] = body.strip("\n").split("\n")
    return before + "\n".join(lines)


STYLES = {"sdpa": SDPA, "einsum": EINSUM, "loop": LOOP}


@pytest.mark.parametrize("style", STYLES)
def test_a_complete_fix_is_accepted_in_any_style(tmp_path, style):
    torch_f = "from torch.nn import functional as F\n"
    (tmp_path / "attention.py").write_text(
        rewritten("attention", "attention", STYLES[style], torch_f), encoding="utf-8"
    )
    (tmp_path / "block.py").write_text(rewritten("block", "forward", BLOCK), encoding="utf-8")
    (tmp_path / "data.py").write_text(rewritten("data", "shift_pair", DATA), encoding="utf-8")
    gpt = overlay.load(tmp_path)
    verdicts = [run(rule, gpt, examples=2) for rule in in_order()]
    broken = [verdict for verdict in verdicts if verdict.outcome != "holds"]
    assert broken == []


# Nothing is given away before acceptance


@cache
def secrets():
    """Texts that no screen may hold: planted and correct lines, ids; and (file, line) pairs."""
    texts, places = set(), set()
    given = handout.sources(list(FAULTS.values()))
    for letter, fault in FAULTS.items():
        texts.add(fault.id)
        for edit in fault.edits:
            texts |= {edit.correct, edit.planted}
            texts |= {line[2:] for line in reveal.lines(edit)}
            for number, line in enumerate(given[edit.module].split("\n"), 1):
                if f"# ({letter})" in line:
                    places.add((f"{edit.module}.py", number))
    return texts, places


def gives_away(screen):
    """What a screen gives away of the faults."""
    texts, places = secrets()
    flat = " ".join(screen.split())
    found = [text for text in texts if " ".join(text.split()) in flat]
    for file, number in re.findall(r"(\w+\.py)\D{1,8}(\d+)", screen):
        found += [(file, number)] if (file, int(number)) in places else []
    return found


def test_the_search_for_secrets_finds_them():
    fault = FAULTS["C"]
    assert gives_away(fault.edits[0].planted)
    assert gives_away("see  x = x +\n self.attn(self.ln_1(x)) there")
    assert gives_away(fault.id)
    number = handout.sources([fault])["block"].split("\n")
    line = next(i for i, text in enumerate(number, 1) if "# (A)" in text)
    assert gives_away(f"block.py:{line} raised") or gives_away(f"block.py, line {line}")


def symptoms(shown):
    row = {"number": 0.1, "text_en": "0.1 seen", "text_ja": "0.1 でした"}
    return {word: row | {"shown": word in shown} for word in vocabulary.words()}


@pytest.fixture
def day49(tmp_path, monkeypatch):
    """Day 49 in a folder of its own, started."""
    found = own_challenge(tmp_path, monkeypatch)
    with files.lock(found.folder):
        workspace.begin(found, words.speaker("en"))
    return found


def round_of(challenge, verdict, say):
    """A check in which that verdict came first and nothing after it held."""
    found = desk.Round(challenge, progress.Progress(challenge), list(FAULTS.values()))
    everything = sheet.Prediction(43, tuple(vocabulary.words()[:3]), "", 3)
    found.predicted = dict.fromkeys("ABCD", everything)
    rest = {"outcome": "broken", "day": 44, "tried": {}, "observed": None, "allowed": None}
    verdicts = [rest | {"rule": rule.id, "day": rule.day} for rule in in_order()]
    verdicts = [verdict.as_dict() if v["rule"] == verdict.rule else v for v in verdicts]
    verdicts.sort(key=lambda v: v["rule"] != verdict.rule)
    found.judgement = Judgement(verdicts)
    measured = [symptoms(fault.symptoms) for fault in FAULTS.values()]
    marks = questions.marked(questions.load(challenge), {}, {"nan_faults": "wrong"})
    found.measured = {"symptoms": measured, "marks": marks}
    return found


@pytest.mark.parametrize("lang", ["en", "ja"])
@pytest.mark.parametrize("letters", PARTIAL, ids=names)
def test_no_check_of_a_partial_state_gives_anything_away(
    package, day49, letters, lang, monkeypatch
):
    """And every screen fits: 30 lines, six for the broken rule, 80 or 120 columns."""
    say = words.speaker(lang)
    verdict = first_broken(package("".join(sorted(letters))))
    found = round_of(day49, verdict, say)
    for columns in ("80", "120"):
        monkeypatch.setenv("COLUMNS", columns)
        short = screens.check(say, found, desk.Options())
        for screen in (short, screens.check(say, found, desk.Options(), full=True)):
            assert gives_away(screen) == []
            assert max(map(layout.width, screen.split("\n"))) <= int(columns)
        assert len(short.split("\n")) <= 30
        assert len(report.broken(say, found, layout.Screen(int(columns), False))) <= 6


@pytest.mark.slow
@pytest.mark.parametrize("letter", "ABCD")
def test_no_broken_rule_of_any_fault_gives_anything_away(package, day49, letter):
    for verdict in (run(rule, package(letter), shrink=True) for rule in in_order()):
        if verdict.outcome == "holds":
            continue
        for lang in ("en", "ja"):
            say = words.speaker(lang)
            found = round_of(day49, verdict, say)
            assert gives_away(screens.check(say, found, desk.Options())) == [], verdict.rule
            assert len(report.broken(say, found, layout.Screen(80, False))) <= 6, verdict.rule


@pytest.mark.parametrize("lang", ["en", "ja"])
def test_the_first_screen_the_sheets_and_the_hints_give_nothing_away(day49, lang, capsys):
    say = words.speaker(lang)
    standing = progress.Progress(day49)
    texts = [screens.first(say, standing)]
    texts += workspace.sheets(day49, list(FAULTS.values()), say).values()
    texts.append((day49.work / "ledger.jsonl").read_text(encoding="utf-8"))
    for letter in "ABCD":
        for _ in range(4):
            options = type("Options", (), {"name": "day49", "letter": letter})
            commands.hint(say, options)
            texts.append(capsys.readouterr().out)
    for text in texts:
        assert gives_away(text) == []
