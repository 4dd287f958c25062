"""The pictures of a test: what they store, that they draw it, odd cases."""

from __future__ import annotations

import io

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot

import kernelpath as kp
from kernelpath.report.displays import significance
from kernelpath.report.displays._canvas import FAINT, INK, PALETTE
from kernelpath.report.displays.significance import (
    KINDS,
    MOST_NAMED,
    ORDER,
    SignificanceDisplay,
    save_significance,
    threshold_of,
)
from report.display_examples import assert_nothing_collides, words

mpl.use("Agg")
STRANGE = ["$a_b^$", "$\\frac{", "two\nlines\x1b[31m", "\U0001f9ec 基因", "n" * 300, "", "<b>"]


def made_test(log10_p, alignment=None, names=None):
    """A test with these p-values."""
    log_p = -np.log(10.0) * np.asarray(log10_p, dtype=float)
    m = len(log_p)
    aligned = 1.0 - log_p if alignment is None else np.asarray(alignment, dtype=float)
    names = tuple(f"x{j}" for j in range(m)) if names is None else tuple(names)
    return kp.AlignmentTest(aligned, aligned - 1.0, log_p, np.ones(m), np.ones(m), names)


def by_chance(m=300, seed=0, more=()):
    p = np.random.default_rng(seed).random(m)
    return np.concatenate([more, -np.log10(p)])


@pytest.fixture(scope="module")
def test():
    data = kp.datasets.make_wide(n_samples=120, n_features=150, random_state=0)
    return kp.alignment_test(np.column_stack([data.X, np.ones(120)]), data.y)


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


def shown(ax, color):
    """Points of a colour, in the units of the axes."""
    lines = [line for line in ax.lines if line.get_ls() == "None" and line.get_color() == color]
    return np.concatenate([np.column_stack(line.get_data()) for line in lines])


@pytest.mark.filterwarnings("ignore::kernelpath.errors.ConstantColumnWarning")
def test_points_are_those_of_the_test(test):
    display = SignificanceDisplay.from_test(test, level=0.2)
    assert len(display.names) == 150  # the constant one is not tested
    assert "x150" not in display.names
    found = test.discoveries(0.2)
    assert sorted(np.flatnonzero(display.found)) == sorted(found)
    ax = display.plot()
    blue = shown(ax, PALETTE[0])
    np.testing.assert_allclose(np.sort(blue[:, 0]), np.sort(test.alignment[found]))
    np.testing.assert_allclose(np.sort(blue[:, 1]), np.sort(-test.log_p[found] / np.log(10)))
    assert len(blue) + len(shown(ax, significance.GREY)) == 150
    names = {f"x{j}" for j in found[:MOST_NAMED]}
    assert {text for text in words(ax) if text.startswith("x")} <= names
    assert_nothing_collides(ax)
    again = test.plot("qq", level=0.2)
    assert again.get_xlabel().startswith("expected by chance")
    assert_nothing_collides(again)


def test_the_threshold_parts_discoveries_from_the_others():
    for method in ("bh", "by", "e-bh"):
        test = made_test(by_chance(more=[12.0, 9.0, 8.0, 7.5, 6.0]))
        display = SignificanceDisplay.from_test(test, level=0.1, method=method)
        assert display.found.sum() >= 3
        assert display.log_p[display.found].max() <= display.threshold
        assert display.log_p[~display.found].min() > display.threshold
        ax = display.plot()
        (line,) = [line for line in ax.lines if line.get_ls() == "--"]
        assert line.get_ydata()[0] == pytest.approx(-display.threshold / np.log(10))
    assert threshold_of(0, 100, 0.1) == pytest.approx(np.log(1e-3))


def test_a_test_without_discoveries_says_what_one_needs():
    test = made_test(by_chance(200, seed=3))
    assert len(test.discoveries(0.1)) == 0
    ax = test.plot()
    assert any(text.startswith("no feature at a false discovery rate") for text in words(ax))
    assert "a first discovery at 0.1: p ≤ 0.0005" in words(ax)
    assert len(shown(ax, PALETTE[0])) == 0
    assert_nothing_collides(ax)
    assert_nothing_collides(test.plot("qq"))


def test_small_p_values_are_an_order_only():
    above = np.concatenate([np.linspace(11, 300, 12), by_chance()])
    ax = made_test(above).plot()
    assert any("an order, no longer a probability" in text for text in words(ax))
    strip = ax.patches[0].get_extents()
    low = ax.transData.transform((0, ORDER))[1]
    assert strip.y0 == pytest.approx(low, abs=1)
    ticks = ax.get_yticks()
    assert ticks[-1] > ORDER > 0
    places = ax.transData.transform(np.column_stack([np.zeros(len(ticks)), ticks]))[:, 1]
    assert np.diff(places).min() > 12  # pixels
    assert_nothing_collides(ax)
    ax = made_test(above).plot("qq")
    assert ax.get_ylim()[1] == ORDER
    assert "triangles: 12 features below 1e-10" in words(ax)
    assert shown(ax, PALETTE[0])[:, 1].max() == ORDER
    assert_nothing_collides(ax)
    assert not any("order" in text for text in words(made_test(by_chance(more=[6.0])).plot()))


def test_names_keep_apart_and_cover_no_discovery():
    rng = np.random.default_rng(0)
    heights = np.concatenate([8 + 0.1 * rng.random(30), by_chance()])
    names = [f"a fairly long name {j}" for j in range(330)]
    ax = made_test(heights, alignment=20 + 0.2 * rng.random(330), names=names).plot()
    assert_nothing_collides(ax)
    named = [text for text in ax.texts if text.get_color() == INK]
    assert 1 <= len(named) <= MOST_NAMED
    points = ax.transData.transform(shown(ax, PALETTE[0]))
    for text in named:
        box = mpl.text.Text.get_window_extent(text)
        assert not any(box.contains(*point) for point in points)


def test_points_of_a_curve_lie_in_the_band_of_chance():
    m = 500
    ax = made_test(-np.log10((np.arange(m) + 0.5) / m)).plot("qq")
    seen = shown(ax, significance.GREY)
    np.testing.assert_allclose(seen[:, 0], seen[:, 1])
    (band,) = ax.collections
    low, high = band.get_paths()[0].get_extents().intervaly
    assert low < 0.01 < 3 < high


@pytest.mark.parametrize("kind", KINDS)
def test_strange_names_and_given_axes(kind):
    test = made_test(by_chance(50, more=np.linspace(4, 12, 7)), names=STRANGE + ["x"] * 50)
    figure, axes = pyplot.subplots(1, 2, figsize=(8, 3.4))
    before = axes[1].get_position().bounds
    assert test.plot(kind, ax=axes[0]) is axes[0]
    assert axes[1].get_position().bounds == before
    with significance.any_glyph():
        figure.savefig(io.BytesIO())
        test.plot(kind).figure.savefig(io.BytesIO(), format="svg")
    assert "$a_b^$" in words(test.plot("volcano"))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("heights", [[0.0], [0.3], [15.0], [0.0, 400.0], [1e-12, 1e-13]])
def test_one_or_two_features(kind, heights):
    ax = made_test(heights).plot(kind)
    assert ax.axison
    assert_nothing_collides(ax)


def test_points_of_few_features_are_large_and_whole():
    sizes = []
    for n in (12, 200):
        made = made_test(-np.full(n, 0.02))
        (points,) = [
            line
            for line in SignificanceDisplay.from_test(made).plot().lines
            if line.get_marker() == "o" and len(line.get_xdata())
        ]
        sizes.append(points.get_markersize())
        assert points.get_clip_on() == (n == 200)
        pyplot.close("all")
    assert sizes[0] > 1.5 * sizes[1]


def test_nothing_to_draw_is_a_sentence():
    zeros, untested = np.zeros(2), np.full(2, np.nan)
    test = kp.AlignmentTest(zeros, untested, zeros, untested, np.ones(2), ("a", "b"))
    display = SignificanceDisplay.from_test(test)
    assert not display.known
    assert words(display.plot()) == [display._sentence]
    assert len(test.discoveries(0.1)) == 0


def test_large_alignments_have_an_axis_of_roots():
    rng = np.random.default_rng(0)
    aligned = np.concatenate([[150.0, 90.0, 40.0], rng.exponential(size=300)])
    ax = made_test(by_chance(more=[60.0, 40.0, 20.0]), alignment=aligned).plot()
    ticks = ax.get_xticks()
    assert ticks[0] == 0
    assert ticks[-1] == 100
    assert_nothing_collides(ax)


def test_files_are_signed_and_the_same_again(tmp_path):
    display = SignificanceDisplay.from_test(made_test(by_chance(more=[5.0])))
    for name in ("one.png", "two.png"):
        save_significance(display, tmp_path / name)
    content = (tmp_path / "one.png").read_bytes()
    assert content == (tmp_path / "two.png").read_bytes()
    assert b"Software\0kernelpath" in content
    assert pyplot.get_fignums() == []


def test_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="kind"):
        made_test([1.0]).plot("manhattan")
    assert FAINT != INK
    assert isinstance(made_test([1.0]).to_frame(), pd.DataFrame)


def test_names_of_many_features_are_made_once(monkeypatch):
    """A hundred thousand features are drawn in seconds, not in hours."""
    test, calls = kp.AlignmentTest(*np.ones((5, 40))), []
    own = kp.AlignmentTest.feature_names.fget
    monkeypatch.setattr(
        kp.AlignmentTest, "feature_names", property(lambda t: calls.append(1) or own(t))
    )
    SignificanceDisplay.from_test(test)
    assert len(calls) == 1
