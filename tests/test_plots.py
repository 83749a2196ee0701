"""Pictures and sketches: they are drawn, in grey too, in the reader's language, or say why not."""

import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from buggy import curves, overlay, plots, sketch, vocabulary
from reference import fonts
from tests.rules.words import Words

ROOT = Path(__file__).resolve().parent.parent
# Numbers as curves.py makes them, without the cost of training.
RIGHT = {
    "loss": {"random_tokens": [4.6] * 60, "counting": [3.2 * 0.8**i for i in range(45)]},
    "attention": {"map": np.tril(np.ones((16, 16)) / 8).tolist()},
    "who_moved": {"map": np.triu(np.ones((10, 10))).tolist()},
    "gradient": {"blocks": [0.3] * 32},
}
NAN = {
    "loss": {"random_tokens": [math.nan] * 60, "counting": [3.2] + [math.inf] * 44},
    "attention": {"map": [[math.nan] * 16] * 16},
    "who_moved": {"map": [[0.0] * 10] * 10},
    "gradient": {"blocks": [0.0] * 32},
}
RAISES = {kind: {"raises": "IndexError"} for kind in plots.KINDS}


def say(lang):
    return Words(lang, vocabulary.MESSAGES)


@pytest.mark.parametrize("kind", plots.KINDS)
@pytest.mark.parametrize("ours", [RIGHT, NAN, RAISES], ids=["right", "nan", "raises"])
def test_every_picture_can_be_drawn_of_anything(kind, ours, tmp_path):
    path = tmp_path / "picture.png"
    plots.picture(kind, ours[kind], RIGHT[kind], say("en")).savefig(path)
    assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("kind", plots.KINDS)
def test_numbers_are_made_of_the_package_and_beside_the_reference(kind):
    package = overlay.load()
    numbers = curves.numbers(package, kind)
    assert numbers.keys() == RIGHT[kind].keys()
    assert curves.numbers(package, kind) == numbers  # the same seed, the same picture
    overlay.unload(package)


def test_the_reference_moves_nobody_before_the_changed_token():
    moved = np.array(curves.numbers(overlay.load(), "who_moved")["map"])
    assert (np.tril(moved, -1) == 0).all()
    assert (np.diag(moved) > 0).all()


def test_a_package_that_raises_is_drawn_as_such():
    class Broken:
        def __getattr__(self, name):
            raise IndexError(name)

    assert curves.numbers(Broken(), "attention") == {"raises": "IndexError"}


def test_curves_differ_in_line_marker_and_lightness():
    def lightness(colour):
        r, g, b = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
        return 0.299 * r + 0.587 * g + 0.114 * b

    for name in ("linestyle", "marker"):
        assert plots.OURS[name] != plots.REFERENCE[name]
    assert lightness(plots.OURS["color"]) > lightness(plots.REFERENCE["color"]) + 0.2


def test_without_a_japanese_font_titles_are_english_and_a_sentence_tells(tmp_path, monkeypatch):
    monkeypatch.setattr(plots, "japanese_font", lambda: None)
    monkeypatch.setattr(curves, "numbers", lambda package, kind, seed: RIGHT[kind])
    paths, told = plots.draw(None, tmp_path, "ja", kinds=["loss"], reference="the same")
    assert [path.name for path in paths] == ["loss.png"]
    assert told == [say("ja")("plot.no_font")]
    assert "pip install" in told[0]


def test_a_font_that_lacks_japanese_letters_is_not_taken():
    from matplotlib import font_manager

    assert not fonts.draws(font_manager.findfont("DejaVu Sans"), fonts.LETTERS)
    assert fonts.draws(font_manager.findfont("DejaVu Sans"), "ln V")
    assert not fonts.draws(__file__, "a")


def test_a_box_for_every_letter_is_no_font():
    """matplotlib carries such a font, with a "glyph" for whatever there is."""
    from matplotlib import font_manager

    for font in font_manager.fontManager.ttflist:
        if font.name.startswith("Last Resort"):
            assert not fonts.draws(font.fname, fonts.LETTERS)


def test_every_letter_of_the_japanese_titles_is_drawn(tmp_path):
    """matplotlib warns of a missing glyph, and warnings are errors here."""
    font = fonts.japanese_font()
    if font is None:  # then the fallback above is what a reader gets
        assert not list(fonts._carried())
        return
    for kind in plots.KINDS:
        plots.picture(kind, RIGHT[kind], NAN[kind], say("ja"), font).savefig(tmp_path / "x.png")
        plots.picture(kind, RAISES[kind], RIGHT[kind], say("ja"), font).savefig(tmp_path / "x.png")


def test_without_matplotlib_one_sentence_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(plots.NoPicture, match="no_matplotlib"):
        plots.picture("loss", RIGHT["loss"], RIGHT["loss"], say("en"))
    assert "pip install" in say("en")("plot.no_matplotlib")


# Sketches


def test_a_curve_is_low_where_its_values_are_low():
    assert sketch.curve([0, 1, 2, 3.9], 0, 4, width=4) == "▁▃▅█"
    assert sketch.curve([math.nan, 9, -9], 0, 4) == "×█▁"


def test_curves_share_one_scale_and_end_in_one_column():
    text = sketch.curves({"このパッケージ": [4.0, 0.0], "reference": [4.0, 4.0]})
    assert text.splitlines() == ["このパッケージ  █▁  4 … 0", "reference       ██  4 … 4"]


def test_small_differences_of_gradients_look_small():
    assert "▁" not in sketch.curves({"a": [0.30, 0.28], "b": [0.31, 0.29]}, powers=True)
    assert "▁" in sketch.curves({"a": [0.3], "b": [0.003]}, powers=True)


def test_a_map_shows_every_leak_however_small():
    text = sketch.maps({"a": [[1.0, 1e-6], [0.0, math.nan]], "b": [[1.0, 0.0], [0.5, 1.0]]})
    assert text.splitlines() == ["a       b", "██░░    ██", "  ××    ▒▒██"]


def test_the_command_writes_pictures_and_prints_sketches(tmp_path):
    command = [sys.executable, "-m", "buggy.plots", "reference", "--kind", "attention"]
    command += ["--out", str(tmp_path / "図"), "--json", "--lang", "ja"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    told = json.loads(run.stdout)
    assert told["paths"] == [str(tmp_path / "図" / "attention.png")]
    assert Path(told["paths"][0]).stat().st_size > 5000
    assert "正しい GPT" in told["sketches"]["attention"]
