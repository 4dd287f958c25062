"""The picture of stability selection: what it stores, and that it draws it."""

from __future__ import annotations

from itertools import pairwise

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

import kernelpath as kp
from kernelpath.report.displays._canvas import GREY
from kernelpath.report.displays.selection import MOST_NAMED, SelectionDisplay


@pytest.fixture(autouse=True)
def no_screen():
    matplotlib.use("Agg")
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def model():
    data = kp.datasets.make_wide(n_samples=300, n_features=60, random_state=0)
    return kp.StabilityPath(n_pairs=6).fit(data.X, data.y)


def test_the_picture_holds_what_the_model_found(model):
    display = SelectionDisplay.from_model(model, n_others=5)
    found, shares = model.stable_, model.probabilities_
    assert 0 < len(found) < MOST_NAMED
    assert display.names == list(found.names)
    np.testing.assert_array_equal(display.stable, shares[:, found.features].T)
    rest = [j for j in np.argsort(-model.scores_, kind="stable") if j not in found.features]
    np.testing.assert_array_equal(display.others, shares[:, rest[:5]].T)
    seen = np.count_nonzero(model.scores_)
    assert display.n_hidden == seen - len(found) - 5 > 0
    strict = SelectionDisplay.from_model(model, threshold=1.0)
    assert (strict.threshold, strict.chosen) == (1.0, model.stable_features(1.0).n_features)


def test_every_line_is_drawn(model):
    display = SelectionDisplay.from_model(model)
    ax = display.plot()
    curves = [line for line in ax.lines if len(line.get_xdata()) == len(model.n_features_)]
    assert len(curves) == len(display.stable) + len(display.others)
    assert sum(line.get_color() == GREY for line in curves) == len(display.others)
    written = {text.get_text() for text in ax.texts}
    assert written >= set(display.names) | {"threshold 0.75"}
    assert any("false expected" in text for text in written)
    level, size = (line for line in ax.lines if len(line.get_xdata()) == 2 and line not in curves)
    assert set(level.get_ydata()) == {0.75}
    assert set(size.get_xdata()) == {model.stable_.n_features}
    assert ax.get_title("left") == f"{len(display.stable)} stable features of 60"


def test_the_model_draws_on_given_axes(model):
    _, axes = plt.subplots(1, 2)
    assert model.plot(axes[1], threshold=0.9) is axes[1]
    assert not axes[0].lines
    assert any(text.get_text() == "threshold 0.9" for text in axes[1].texts)


@pytest.mark.parametrize("count", [0, 1, 30])
def test_no_one_and_many_stable_features_can_be_drawn(count):
    sizes = np.array([1, 2, 40])
    display = SelectionDisplay(
        sizes=sizes, names=[f"a $long$ name of feature {i}" for i in range(count)],
        stable=np.tile([0.2, 0.9, 1.0], (count, 1)), others=np.full((3, 3), 0.1), n_hidden=0,
        n_columns=80, threshold=0.75, chosen=2, expected_false=0.1,
    )  # fmt: skip
    ax = display.plot()
    names = [text for text in ax.texts if text.get_text().startswith("a $")]
    assert len(names) == count
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in names]
    heights = sorted(box.y0 for box in boxes)
    assert all(b - a > 8 for a, b in pairwise(heights))


def test_nothing_to_draw_is_a_sentence():
    display = SelectionDisplay(
        sizes=np.array([1]), names=[], stable=np.zeros((0, 1)), others=np.zeros((0, 1)),
        n_hidden=0, n_columns=3, threshold=0.75, chosen=1, expected_false=0.1,
    )  # fmt: skip
    assert not display.known
    assert "No feature is chosen" in display.plot().texts[0].get_text()
