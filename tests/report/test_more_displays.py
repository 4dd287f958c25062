"""Displays of a summary, one by one: what they store, that they draw it, odd cases."""

from __future__ import annotations

import copy

import matplotlib as mpl
import numpy as np
import pytest

from kernelpath.evaluation.scores import PathScores
from kernelpath.report.displays import _canvas as canvas
from kernelpath.report.displays.accuracy import AccuracyDisplay
from kernelpath.report.displays.certificates import ROUNDING, CertificateDisplay
from kernelpath.report.displays.entries import EntriesDisplay
from kernelpath.report.displays.redundancy import RedundancyDisplay
from kernelpath.report.displays.stability import StabilityDisplay
from kernelpath.report.displays.views import ViewsDisplay, _few_ticks
from kernelpath.report.summary import summarize_path
from path_examples import WEIGHTS, from_masks, make_path
from report.display_examples import (
    assert_nothing_collides,
    words,
)

mpl.use("Agg")
COMES_AND_GOES = [[1, 0, 0, 0], [0, 1, 1, 0], [1, 0, 1, 1]]


# -- entries ---------------------------------------------------------------------------------------


def test_entries_are_those_of_the_summary(iris):
    display = EntriesDisplay.from_summary(iris)
    section = iris["entries"]
    assert display.sizes.tolist() == section["sizes"] == [1, 2, 3, 4]
    assert display.present.astype(int).tolist() == [row["present"] for row in section["rows"]]
    assert display.names[0] == iris["features"][section["rows"][0]["feature"]]["name"]
    assert display.nested
    assert display.chosen == iris["cv"]["chosen"]["n_features"]
    assert not display.left.any()


def test_who_leaves_is_marked():
    display = EntriesDisplay.from_summary(summarize_path(from_masks(COMES_AND_GOES)))
    assert display.names == ["x0", "x1", "x2", "x3"]
    np.testing.assert_array_equal(
        display.left.astype(int), [[0, 1, 0], [0, 0, 1], [0] * 3, [0] * 3]
    )
    ax = display.plot()
    marks = [line for line in ax.lines if line.get_marker() == "x"]
    assert [mark.get_xdata().tolist() for mark in marks] == [[1], [2], [], []]
    colors = [text.get_color() for text in ax.get_yticklabels()]
    assert colors == [canvas.PALETTE[1]] * 2 + [canvas.INK] * 2
    assert "× leaves although the number grows" in words(ax)
    assert_nothing_collides(ax)


def test_bars_of_the_selected_features_cover_their_sizes():
    ax = EntriesDisplay.from_summary(summarize_path(from_masks(COMES_AND_GOES))).plot()
    bars = next(bar for bar in ax.collections if bar.get_paths())  # of the first feature
    edges = [(path.vertices[:, 0].min(), path.vertices[:, 0].max()) for path in bars.get_paths()]
    assert edges == [(-0.5, 0.5), (1.5, 2.5)]


def test_a_nested_path_says_so_and_shows_the_chosen_size(iris):
    ax = EntriesDisplay.from_summary(iris).plot()
    chosen = iris["cv"]["chosen"]["n_features"]
    assert words(ax) == ["Nested: who is in stays in.", f"Shaded: the chosen {chosen}."]
    assert_nothing_collides(ax)


def test_only_whole_sizes_are_drawn_and_the_rest_is_said():
    sizes = np.array([2, 20, 30, 50, 60])
    present = np.arange(60)[:, None] < sizes
    names = [f"feature number {i}" for i in range(60)]
    ax = EntriesDisplay(sizes, names, present, nested=True).plot()
    assert len(ax.get_yticks()) == 30
    assert len(ax.get_xticks()) == 3
    assert ax.get_xlabel() == "number of features (sizes above 30 are not drawn)"
    assert_nothing_collides(ax)
    ax = EntriesDisplay(sizes[3:], names, present[:, 3:], nested=True).plot()
    assert len(ax.get_yticks()) == 30
    assert ax.get_xlabel() == "number of features (30 more features are not drawn)"


# -- certificates ----------------------------------------------------------------------------------


def certificates(kkt, gap, **changes):
    n = len(kkt)
    path = make_path(WEIGHTS[:1].repeat(n, axis=0), events=(), kkt=kkt, gaps=gap, **changes)
    return CertificateDisplay.from_summary(summarize_path(path))


def test_certificates_are_those_of_the_summary(iris):
    display = CertificateDisplay.from_summary(iris)
    np.testing.assert_array_equal(display.kkt, iris["points"]["kkt"])
    np.testing.assert_array_equal(display.gap, iris["points"]["gap"])
    np.testing.assert_array_equal(display.parameters, iris["points"]["parameter"])
    assert_nothing_collides(display.plot())


def test_zeros_are_drawn_at_a_floor_that_is_said():
    display = certificates([1e-15, 0.0, 1e-12], [1e-4, 0.0, np.nan])
    ax = display.plot()
    assert ax.get_yscale() == "log"
    kkt, zero_kkt, gap, zero_gap = ax.lines[:4]
    np.testing.assert_array_equal(kkt.get_ydata(), [1e-15, np.nan, 1e-12])
    np.testing.assert_array_equal(gap.get_ydata(), [1e-4, np.nan, np.nan])
    for line in (zero_kkt, zero_gap):
        np.testing.assert_array_equal(line.get_ydata(), [np.nan, display.floor, np.nan])
    assert display.floor < 1e-17 < ROUNDING
    assert all(tick > 1e-17 for tick in ax.get_yticks())  # 0 has no place on the scale
    assert set(words(ax)) == {"exact zeros, drawn here", "KKT residual", "gap", "rounding error"}
    low, high = ax.get_ylim()
    assert low < display.floor
    assert high > 1e-4
    assert_nothing_collides(ax)


def test_without_zeros_there_is_no_floor():
    ax = certificates([1e-15, 1e-14], [1e-4, 1e-5]).plot()
    assert "0" not in [text.get_text() for text in ax.get_yticklabels()]
    assert set(words(ax)) == {"KKT residual", "gap", "rounding error"}


@pytest.mark.parametrize(
    ("kkt", "gap", "lines"),
    [
        ([0.0, 0.0], [0.0, 0.0], {"KKT residual", "gap"}),
        ([1e-3, 1e2], [np.nan, np.nan], {"KKT residual"}),
        ([np.nan, np.nan], [1.0, 0.0], {"gap"}),
        ([1e-300], [1e300], {"KKT residual", "gap"}),
        ([0.0], [np.nan], {"KKT residual"}),
    ],
)
def test_odd_certificates(kkt, gap, lines):
    ax = certificates(kkt, gap).plot()
    assert set(words(ax)) & {"KKT residual", "gap"} == lines
    assert_nothing_collides(ax)
    assert len(ax.get_yticks()) <= 11


def test_no_certificates():
    display = certificates([np.nan, np.nan], [np.nan, np.nan])
    assert not display.known
    assert words(display.plot()) == ["No point of the path says how optimal it is."]


# -- stability -------------------------------------------------------------------------------------


def stability(**changes):
    parts = {
        "sizes": np.array([1, 2, 3]),
        "index": np.array([0.4, 0.9, np.nan]),
        "low": np.array([-0.3, 0.8, np.nan]),
        "high": np.array([0.7, 1.0, np.nan]),
        "names": ["a", "b"],
        "frequency": np.array([[1.0, 1.0, 1.0], [0.0, np.nan, 1.0]]),
        "chosen": 2,
    }
    return StabilityDisplay(**(parts | changes))


def test_stability_is_that_of_the_summary(iris):
    display, section = StabilityDisplay.from_summary(iris), iris["stability"]
    assert display.sizes.tolist() == section["n_features"]
    for name in ("index", "low", "high"):
        np.testing.assert_array_equal(getattr(display, name), canvas.floats(section[name]))
    assert display.frequency.tolist() == [row["frequency"] for row in section["rows"]]
    assert display.names == [iris["features"][row["feature"]]["name"] for row in section["rows"]]
    assert_nothing_collides(display.plot())


def test_index_above_and_features_below():
    top, bottom = stability().plot()
    (line,) = [line for line in top.lines if line.get_marker() == "o"]
    np.testing.assert_array_equal(line.get_ydata(), [0.4, 0.9])
    bars = next(one for one in top.collections if hasattr(one, "get_segments")).get_segments()
    np.testing.assert_array_equal([bar[:, 1] for bar in bars], [[-0.3, 0.7], [0.8, 1.0]])
    assert top.get_ylim()[0] < -0.3
    mesh = bottom.collections[0]
    shown = mesh.get_array()
    np.testing.assert_array_equal(shown.filled(-1), [[1, 1, 1], [0, -1, 1]])
    assert mesh.get_clim() == (0, 1)
    assert top.get_xlim() == bottom.get_xlim()
    left, right = top.get_position(), bottom.get_position()
    assert (left.x0, left.x1) == pytest.approx((right.x0, right.x1))  # columns stand in line
    assert "chosen" in words(top)


def test_a_line_that_stops_says_why():
    axes = stability().plot()  # undefined at the last size
    assert any("undefined where all choose all, or none" in text for text in words(axes[0]))
    assert_nothing_collides(axes)
    whole = {"index": np.array([0.4, 0.9, 0.5]), "low": np.zeros(3), "high": np.ones(3)}
    assert not any("undefined" in text for text in words(stability(**whole).plot()[0]))


def test_stability_of_odd_shapes():
    undefined = np.full(3, np.nan)
    top, _ = stability(index=undefined, low=undefined, high=undefined).plot()
    assert any("undefined" in text for text in words(top))
    one = {"sizes": np.array([5]), "index": np.array([0.4]), "frequency": np.array([[1.0], [0.2]])}
    axes = stability(**one, low=np.array([0.1]), high=np.array([0.6]), chosen=5).plot()
    assert_nothing_collides(axes)
    many = [f"a long name of a feature, the one that is number {i}" for i in range(60)]
    sizes = np.unique(np.geomspace(1, 100_000, 60).astype(int))
    flat = np.full(len(sizes), 0.5)
    axes = stability(sizes=sizes, index=flat, low=flat, high=flat, names=many, chosen=1,
                     frequency=np.ones((60, len(sizes)))).plot()  # fmt: skip
    assert len(axes[1].get_yticks()) == 20
    assert "the 20 features that folds choose most often" in axes[1].get_xlabel()
    assert_nothing_collides(axes)


# -- views -----------------------------------------------------------------------------------------


def test_views_are_those_of_the_summary(mixed):
    for summary in mixed.values():
        display = ViewsDisplay.from_summary(summary)
        for ours, view in zip(display.views, summary["views"], strict=True):
            assert ours.name == summary["features"][view["feature"]]["name"]
            assert ours.classes == view["classes"]
            if view["kind"] == "numeric":
                np.testing.assert_array_equal(ours.grid, view["grid"])
                np.testing.assert_array_equal(ours.curves, np.array(view["curves"], dtype=float))
                np.testing.assert_array_equal(ours.x, view["points"]["x"])
                np.testing.assert_array_equal(ours.y, view["points"]["y"])
            else:
                assert ours.categories == view["categories"]
                assert ours.counts.tolist() == view["counts"]
                np.testing.assert_array_equal(ours.means, view["means"])
                assert ours.n_hidden == view["n_hidden"]


@pytest.mark.parametrize(("name", "n_lines"), [("values", 1), ("two", 1), ("four", 4)])
def test_curves_and_bars(mixed, name, n_lines):
    display = ViewsDisplay.from_summary(mixed[name])
    axes = display.plot()
    assert len({ax.get_ylim() for ax in axes.ravel() if ax.axison}) == 1  # one scale for all
    for ax, view in zip(axes.ravel(), display.views):
        assert ax.get_title("left") == view.name
        if view.categories:
            heights = [bar.get_height() for bar in ax.patches]
            np.testing.assert_allclose(heights, view.means.ravel())
            assert len(ax.get_xticks()) == len(view.categories)
        else:
            curves = [line for line in ax.lines if line.get_linestyle() == "-"]
            np.testing.assert_array_equal([line.get_ydata() for line in curves], view.curves)
            assert len({line.get_color() for line in curves}) == n_lines
            marks = [line for line in ax.lines if line.get_linestyle() == "None"]
            assert sum(len(line.get_xdata()) for line in marks) == len(view.x)
    legend = axes[0, 0].figure.legends
    assert len(legend) == (n_lines > 1)
    wanted = {"values": "target", "two": "share of well", "four": "share"}[name]
    assert axes[0, 0].get_ylabel() == wanted
    assert any("3 rarer categories not drawn" in ax.get_xlabel() for ax in axes.ravel())
    assert_nothing_collides(axes)


def test_bars_far_from_zero_become_dots(mixed):
    summary = copy.deepcopy(mixed["values"])
    for view in summary["views"]:
        for key in ("means", "curves"):
            if key in view:
                view[key] = [[value and 1000 + value for value in row] for row in view[key]]
        if "points" in view:
            view["points"]["y"] = [[1000 + value for value in row] for row in view["points"]["y"]]
    axes = ViewsDisplay.from_summary(summary).plot()
    assert all(len(ax.patches) == 0 for ax in axes.ravel())
    assert axes[0, 0].get_ylim()[0] > 900


def test_a_value_between_gaps_has_a_dot(mixed):
    summary = copy.deepcopy(mixed["values"])
    view = next(view for view in summary["views"] if view["kind"] == "numeric")
    n = len(view["grid"])
    view["curves"] = [[1.0] * 10 + [None] * 10 + [3.0] + [None] * (n - 22) + [2.0]]
    (ax,) = ViewsDisplay.from_summary(summary | {"views": [view]}).plot().ravel()
    curve = ax.lines[-1]
    assert curve.get_marker() == "o"
    assert curve.get_markevery() == [20, n - 1]


def test_views_with_unknown_numbers(mixed):
    summary = copy.deepcopy(mixed["two"])
    for view in summary["views"]:
        if view["kind"] == "numeric":
            view["curves"] = [[None] * len(view["grid"])]
            view["grid"] = [None] * len(view["grid"])
        else:
            view["means"][0][0] = None
    ViewsDisplay.from_summary(summary).plot()
    one = summary | {"views": summary["views"][:1]}
    assert ViewsDisplay.from_summary(one).plot().shape == (1, 1)


@pytest.mark.parametrize(
    ("low", "high"), [(0, 1), (-1e9, 3e9), (1e7, 1e7 + 2), (0, 1e-7), (-3, 5e4)]
)
def test_ticks_of_views_are_few_short_and_different(low, high):
    places, texts = _few_ticks(low, high)
    assert 2 <= len(places) <= 6
    assert len(set(texts)) == len(texts)
    assert all(low <= place <= high for place in places)
    values = [float(text.replace("\N{MINUS SIGN}", "-").replace(",", "")) for text in texts]
    np.testing.assert_allclose(values, places, rtol=0, atol=1e-2 * (high - low))


# -- redundancy ------------------------------------------------------------------------------------


def test_redundancy_is_that_of_the_summary(mixed):
    section = mixed["two"]["redundancy"]
    display = RedundancyDisplay.from_summary(mixed["two"])
    np.testing.assert_array_equal(display.similarity, section["similarity"])
    assert display.names == [mixed["two"]["features"][i]["name"] for i in section["features"]]
    ax = display.plot()
    n = len(display.names)
    shown = ax.collections[0].get_array()
    off = ~np.eye(n, dtype=bool)
    np.testing.assert_array_equal(np.asarray(shown)[off], display.similarity[off])
    assert np.ma.getmaskarray(shown).sum() == n  # a feature with itself says nothing
    assert len(ax.texts) == n * (n - 1) + 1
    assert_nothing_collides(ax)


@pytest.mark.parametrize("n", [2, 14, 15, 30])
def test_values_are_written_if_few(n):
    names = [f"a fairly long name for feature number {i}" for i in range(n)]
    similarity = np.random.default_rng(0).random((n, n))
    similarity[0, 1] = np.nan
    ax = RedundancyDisplay(names, similarity).plot()
    assert len(ax.texts) - 1 == (n * (n - 1) - 1 if n <= 14 else 0)
    assert_nothing_collides(ax)


# -- scores ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [[1, 2, 3, 4], list(range(1, 10)), [1, 2, 5, 10, 40, 60]])
def test_few_sizes_are_all_ticks(sizes):
    scores = PathScores(sizes, np.linspace(0.5, 0.9, 2 * len(sizes)).reshape(2, -1))
    ax = AccuracyDisplay.from_scores(scores, n_columns=60).plot()
    assert ax.get_xticks().tolist() == sizes
    assert_nothing_collides(ax)
