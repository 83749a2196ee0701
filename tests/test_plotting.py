"""The picture of a run: every loss where it belongs, the two levels, readable in grey."""

import numpy as np
import pytest
from matplotlib import colors
from matplotlib.figure import Figure

from reference import cli_train, plotting
from reference.cli_run import Run
from reference.cli_words import Words

ROWS = [(1, 5.5, None), (2, 4.0, 3.75), (3, 3.0, None), (4, 2.5, 2.25)]


@pytest.fixture
def axes():
    return Figure().add_subplot()


def grey(color):
    return len(set(colors.to_rgb(color))) == 1


def test_losses_are_drawn_at_their_steps(axes):
    plotting.plot_losses(axes, ROWS, Words("en"))
    raw, mean, validation = axes.lines
    assert raw.get_xydata().tolist() == [[1, 5.5], [2, 4.0], [3, 3.0], [4, 2.5]]
    assert mean.get_ydata().tolist() == [5.5, 4.75, 12.5 / 3, 3.75]
    assert validation.get_xydata().tolist() == [[2, 3.75], [4, 2.25]]
    assert validation.get_label() == "validation, last 2.250"
    assert all(grey(line.get_color()) for line in axes.lines)
    assert len({line.get_color() for line in axes.lines}) == 3


def test_without_validation_there_is_no_line_for_it(axes):
    plotting.plot_losses(axes, ROWS[:1], Words("en"))
    assert len(axes.lines) == 2


def test_the_levels_are_named_and_told_apart_by_their_dashes(axes):
    plotting.plot_levels(axes, 4, 5.545, 3.264, Words("en"))
    assert [set(line.get_ydata()) for line in axes.lines] == [{5.545}, {3.264}]
    assert len({line.get_linestyle() for line in axes.lines}) == 2
    assert all(grey(line.get_color()) for line in axes.lines)
    said = [text.get_text() for text in axes.texts]
    assert said[0] == "ln V = 5.545: nothing known"
    assert said[1] == "unigram entropy = 3.264: byte frequencies known"


def test_the_mean_is_over_the_last_losses():
    assert plotting.smooth([1, 2, 3, 4], width=2) == [1, 1.5, 2.5, 3.5]


def test_labels_are_japanese_where_a_font_holds_it(monkeypatch):
    """Else they are English: better than a row of empty boxes."""
    monkeypatch.setattr(plotting, "japanese_font", lambda: "Meiryo")
    words, fonts = plotting.labels(Words("ja"))
    assert (words.lang, fonts) == ("ja", ["Meiryo", "DejaVu Sans"])
    monkeypatch.setattr(plotting, "japanese_font", lambda: None)
    words, fonts = plotting.labels(Words("ja"))
    assert (words.lang, fonts) == ("en", ["DejaVu Sans"])
    words, fonts = plotting.labels(Words("en"))
    assert (words.lang, fonts) == ("en", ["DejaVu Sans"])


def test_the_picture_is_a_png_and_its_language_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(plotting, "japanese_font", lambda: None)
    path = tmp_path / "losses.png"
    for lang in ("en", "ja"):
        assert plotting.loss_curve(path, ROWS, 5.545, 3.264, Words(lang)) == "en"
        assert path.read_bytes().startswith(b"\x89PNG")


def test_english_labels_for_a_japanese_reader_are_explained(tmp_path, monkeypatch):
    for drawn, said in (("ja", "にあります。"), ("en", "図の文字は英語です。")):
        monkeypatch.setattr(plotting, "loss_curve", lambda *_, drawn=drawn: drawn)
        run = Run(tmp_path)
        assert cli_train.draw(run, np.zeros(3, dtype=np.uint8), Words("ja")).endswith(said)
