"""Displays: what they store, that they draw it, and pictures of awkward paths."""

from __future__ import annotations

import io
import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest

import kernelpath as kp
from kernelpath.path.feature_path import EventTable, PathEvent
from kernelpath.report.displays import _canvas as canvas
from kernelpath.report.displays._layout import apart, column_ticks
from kernelpath.report.displays.certificates import CertificateDisplay
from kernelpath.report.displays.path import SizeDisplay, WeightsDisplay, plot_path, save_plot
from kernelpath.report.summary import summarize_path
from kernelpath.report.summary_lines import STEPS
from path_examples import WEIGHTS, Ranking, make_path

mpl.use("Agg")
PNG = b"\x89PNG\r\n\x1a\n"
STRANGE = ["$a_b^$", "two\nlines", "tab\t\x1b[31m", "\U0001f9ec", "n" * 300]


@pytest.fixture
def plt():
    from matplotlib import pyplot

    return pyplot


@pytest.fixture(scope="module")
def traced():
    data = kp.datasets.make_ring(n_samples=120, n_features=30, random_state=0)
    return kp.LpKTASelector(statistic="alignment").fit(data.X, data.y).path_  # all at p = 2


def eliminations(*steps):
    return [PathEvent("eliminate", feature, "", p, i) for feature, p, i in steps]


COMPLETE = eliminations((3, 1.7, 1), (2, 1.5, 2), (1, 1.1, 3))


def labels(ax):
    return [text.get_text() for text in ax.texts]


def png(path):
    file = io.BytesIO()
    save_plot(path, file)
    return file.getvalue()


def test_weights_are_stored_without_drawing(plt):
    path = make_path(feature_names=list("abcde"))
    display = WeightsDisplay.from_path(path, n_named=2, n_others=1)
    assert display.names == ["a", "b"]
    np.testing.assert_array_equal(display.named, WEIGHTS[:, :2].T)
    np.testing.assert_array_equal(display.others, WEIGHTS[:, 2:3].T)
    assert display.n_hidden == 1  # d; e never has a weight
    np.testing.assert_array_equal(display.parameters, path.parameters)
    assert plt.get_fignums() == []


def test_the_entry_order_decides_who_is_named():
    path = make_path(extension=Ranking([2, 4, 1]))
    display = WeightsDisplay.from_path(path)
    assert display.names == ["x2", "x1"]  # x4 is ranked but has no weight
    assert display.others.shape == (0, 4)


def test_a_stored_zero_is_no_weight():
    supports = WEIGHTS > 0
    supports[:, 4] = True
    path = make_path(supports=supports)
    assert "x4" not in WeightsDisplay.from_path(path).names
    WeightsDisplay.from_path(path).plot()


def test_sizes_follow_the_events(traced):
    display = SizeDisplay.from_path(make_path(events=COMPLETE))
    np.testing.assert_array_equal(display.junctures, [1.7, 1.5, 1.1])
    np.testing.assert_array_equal(display.sizes_after, [3, 2, 1])
    assert display.n_features == 5
    display = SizeDisplay.from_path(traced)
    assert display.sizes_after[-1] == traced.n_selected[-1]
    for p, size in zip(display.parameters, display.n_selected):
        left = np.count_nonzero(display.junctures >= p)
        assert size == display.n_selected[0] - left


def test_events_that_enter_and_turn():
    masks = np.array([[1, 0], [1, 1], [0, 1]])
    events = [
        PathEvent("enter", 1, "", 1.6, 1),
        PathEvent("turn", -1, "", 1.5, 2),
        PathEvent("leave", 0, "", 1.2, 2),
    ]
    display = SizeDisplay.from_path(make_path(masks.astype(float), events=events))
    np.testing.assert_array_equal(display.sizes_after, [2, 1])
    np.testing.assert_array_equal(display.junctures, [1.6, 1.2])


def test_events_that_do_not_tell_the_whole_story_are_left_out():
    for events in ((), COMPLETE[:1], COMPLETE * 2):
        display = SizeDisplay.from_path(make_path(events=events))
        assert len(display.junctures) == len(display.sizes_after) == 0
        line = display.plot().lines[0]
        np.testing.assert_array_equal(line.get_ydata(), [4, 3, 2, 1])
    assert set(STEPS) == set(EventTable.KINDS)


def test_what_happens_at_one_parameter_happens_at_once():
    both = (("leave", 0, 1.6), ("enter", 1, 1.6), ("leave", 2, 1.4), ("leave", 3, 1.4))
    events = [PathEvent(kind, j, f"x{j}", p, 3) for kind, j, p in (*both, ("leave", 1, 1.2))]
    display = SizeDisplay.from_path(make_path(events=events))
    np.testing.assert_array_equal(display.junctures, [1.4, 1.2])
    np.testing.assert_array_equal(display.sizes_after, [2, 1])


def test_several_decades_of_strengths_are_on_a_logarithmic_axis(plt):
    data = kp.datasets.make_ring(n_samples=60, n_features=5, random_state=0)
    path = kp.GMKLClassifier(strengths=8).fit(data.X, data.y).path_
    axes = [*plot_path(path), CertificateDisplay.from_summary(path.summary()).plot()]
    for ax in axes:
        assert ax.get_xscale() == "log"
        np.testing.assert_allclose(ax.get_xlim(), path.parameters[[0, -1]])
        ticks, words = ax.get_xticks(), [tick.get_text() for tick in ax.get_xticklabels()]
        assert path.parameters[-1] <= min(ticks) < max(ticks) <= path.parameters[0]
        assert [float(word.replace(",", "")) for word in words] == pytest.approx(list(ticks))


def test_plot_on_a_given_axes(plt, traced):
    _, axes = plt.subplots(1, 3)
    assert WeightsDisplay.from_path(traced).plot(axes[0]) is axes[0]
    assert SizeDisplay.from_path(traced).plot(ax=axes[1]) is axes[1]
    assert traced.plot(ax=axes[2], n_named=3) is axes[2]
    assert len(plt.get_fignums()) == 1
    assert len(labels(axes[2])) == 3
    for ax in (axes[0], axes[1]):
        assert ax.get_xlabel() == "norm exponent p"
        assert ax.get_xlim() == (2.0, 1.0)  # the path starts on the left


def test_plot_on_a_new_figure(plt, traced):
    axes = plot_path(traced)
    assert [ax.get_title("left") for ax in axes] == [
        "Features kept, of 30",
        "Weights along the path",
    ]
    assert len(plt.get_fignums()) == 1
    WeightsDisplay.from_path(traced).plot()
    SizeDisplay.from_path(traced).plot()
    assert len(plt.get_fignums()) == 3
    axes[0].figure.canvas.draw()


def test_lines_are_the_weights(traced):
    display = WeightsDisplay.from_path(traced, n_named=2, n_others=4)
    ax = display.plot()
    drawn = np.array([line.get_ydata() for line in ax.lines])
    wanted = np.vstack([display.others, display.named])
    np.testing.assert_array_equal(np.nan_to_num(drawn), wanted)


def test_an_increasing_parameter_runs_to_the_right():
    path = make_path(parameters=[1, 2, 3, 4], parameter_name="m", events=())
    for ax in plot_path(path):
        assert ax.get_xlim() == (1, 4)
        assert ax.get_xlabel() == "m"


@pytest.mark.parametrize("shape", [(3, 4), (1, 1), (2, 0)])
def test_an_empty_path_says_so(shape):
    path = make_path(np.zeros(shape), events=())
    display = WeightsDisplay.from_path(path)
    assert display.names == []
    assert labels(display.plot()) == ["No feature has a weight of its own on the path."]
    assert png(path).startswith(PNG)


@pytest.mark.parametrize("weights", [[[0.4]], [[0.4], [0.3]], [[0.4], [0.0]]])
def test_one_feature(weights):
    path = make_path(np.array(weights), events=())
    assert WeightsDisplay.from_path(path).names == ["x0"]
    assert png(path).startswith(PNG)


def test_one_point_is_visible():
    path = make_path(WEIGHTS[:1], events=())
    for ax in plot_path(path):
        assert ax.get_xlim() == (2.5, 1.5)
        assert all(line.get_marker() == "o" for line in ax.lines)
    size = SizeDisplay.from_path(path).plot()
    assert labels(size) == ["4"]  # one label, not one for each end


@pytest.mark.parametrize("n_features", [3, 50, 51, 400])
def test_small_sizes_are_whole_numbers_and_large_ones_logarithmic(n_features):
    weights = np.vstack([np.ones(n_features), np.eye(n_features)[0]])
    ax = SizeDisplay.from_path(make_path(weights, events=())).plot()
    assert ax.get_yscale() == ("linear" if n_features <= 50 else "log")
    if n_features <= 50:
        ticks = ax.get_yticks()
        np.testing.assert_array_equal(ticks, np.round(ticks))
        assert ax.get_ylim()[0] == 0


def test_a_large_path_that_ends_empty():
    weights = np.vstack([np.ones(100), np.zeros(100)])
    path = make_path(weights, events=())
    assert SizeDisplay.from_path(path).plot().get_yscale() == "symlog"
    assert png(path).startswith(PNG)


def test_strange_names_are_drawn_as_they_are():
    weights = 0.3 + 0.1 * np.arange(10).reshape(2, 5)
    path = make_path(weights, feature_names=STRANGE, events=())
    ax = WeightsDisplay.from_path(path).plot()
    shown = labels(ax)
    assert "$a_b^$" in shown  # not read as mathematics, which would fail
    assert "two lines" in shown
    assert all(label.isprintable() and len(label) <= 22 for label in shown)
    assert png(path).startswith(PNG)
    plot_path(path)  # warnings are errors here: a letter that the font lacks is no warning


def test_labels_keep_their_distance():
    places = apart([0.0, 0.0, 0.001, 0.5, 0.99, 0.999, 1.0], 0.0, 1.0, 0.05)
    assert np.diff(places).min() >= 0.05 - 1e-12
    assert places[-1] <= 1
    assert places[3] == 0.5
    assert apart([0.2], 0.0, 1.0, 0.05) == [0.2]


def test_columns_with_a_number_are_round_and_apart():
    assert column_ticks(np.arange(1, 11), 12) == list(range(10))
    sizes = np.unique(np.geomspace(1, 100_000, 80).astype(int))
    for some in (sizes, np.arange(1, 61), np.arange(1001, 1100), np.array([3, 7])):
        ticks = column_ticks(some, 12)
        assert 2 <= len(ticks) <= 12
        assert np.diff(ticks).min() >= len(some) // 12
    assert {0, 9, 19, 49} <= set(column_ticks(np.arange(1, 61), 14))  # 1, 10, 20, 50


def test_names_alike_at_the_start_are_told_apart():
    names = ["expression of the gene A", "expression of the gene B", "short", "m" * 80]
    short = canvas.labels(names, 14)
    assert len(set(short)) == 4
    assert short[0].endswith("A")
    assert short[2] == "short"
    assert all(len(name) <= 14 for name in short)
    assert canvas.label("\U0001f9ec gene") == canvas.UNKNOWN + " gene"  # no such letter in the font


def test_a_summary_gives_the_same_pictures_as_the_path(traced):
    summary = summarize_path(traced)
    ours, its = WeightsDisplay.from_summary(summary), WeightsDisplay.from_path(traced)
    assert ours.names == its.names
    assert ours.n_hidden == its.n_hidden
    np.testing.assert_allclose(ours.named, its.named, rtol=1e-4)
    np.testing.assert_allclose(ours.others, its.others, rtol=1e-3)
    sizes, other = SizeDisplay.from_summary(summary), SizeDisplay.from_path(traced)
    np.testing.assert_array_equal(sizes.n_selected, other.n_selected)
    np.testing.assert_array_equal(sizes.sizes_after, other.sizes_after)
    np.testing.assert_allclose(sizes.junctures, other.junctures, rtol=1e-6)
    assert (sizes.n_features, sizes.parameter_name) == (30, "p")
    assert len(ours.plot().lines) == len(its.plot().lines) == 30
    assert len(sizes.plot().lines) == 1


def test_a_summary_with_unknown_numbers_is_drawn(traced):
    summary = summarize_path(traced)
    summary["points"]["parameter"][0] = None
    summary["weights"]["named"][0]["weights"] = [None] * len(traced.parameters)
    summary["weights"]["others"][0][3] = None
    assert len(WeightsDisplay.from_summary(summary).plot().texts) == 8
    assert labels(SizeDisplay.from_summary(summary).plot())[1] == str(traced.n_selected[-1])
    summary["points"]["parameter"] = [None] * len(traced.parameters)
    assert labels(SizeDisplay.from_summary(summary).plot()) == ["The path has no points."]


def test_nothing_is_cut_off_or_covered(plt):
    names = [f"a rather long name of feature {i}" for i in range(8)]
    path = make_path(np.full((2, 8), 0.3) + 0.001 * np.arange(8), feature_names=names, events=())
    ax = WeightsDisplay.from_path(path).plot()
    ax.figure.canvas.draw()
    boxes = [mpl.text.Text.get_window_extent(text) for text in ax.texts]
    assert all(box.x1 <= ax.figure.bbox.x1 for box in boxes)
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


@pytest.mark.parametrize("n_features", [60, 500, 20_000])
def test_logarithmic_ticks_are_plain_numbers(n_features):
    ends, none = np.array([2.0, 1.0]), np.empty(0)
    ax = SizeDisplay(ends, np.array([n_features, 1]), none, none, n_features, "p").plot()
    ax.figure.canvas.draw()
    written = [text.get_text() for text in ax.get_yticklabels(which="both")]
    assert 3 <= len(written) <= 8
    assert all(text.replace(",", "").isdigit() for text in written)


def test_save_plot_to_files(tmp_path, traced, plt):
    save_plot(traced, tmp_path / "path.png")
    assert (tmp_path / "path.png").read_bytes().startswith(PNG)
    save_plot(traced, str(tmp_path / "path.svg"), format="svg")
    assert "<svg" in (tmp_path / "path.svg").read_text()
    assert png(traced) == png(traced)  # no date and no random part
    assert plt.get_fignums() == []


def test_without_matplotlib_the_message_says_what_to_install(monkeypatch, traced):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(canvas, "import_module", missing)
    for draw in (plot_path, png):
        with pytest.raises(ImportError, match=r"pip install 'kernelpath\[plot\]'"):
            draw(traced)
    assert WeightsDisplay.from_path(traced).names  # data need no matplotlib


def test_importing_displays_does_not_import_matplotlib():
    code = "import sys, kernelpath.report.displays.path; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


def test_a_choice_shows_who_is_in_instead_of_weights():
    import kernelpath as kp

    data = kp.datasets.make_ring(n_samples=60, n_features=5, random_state=0)
    path = kp.NMMKLSelector([1, 2, 4], kernel="rbf").fit(data.X, data.y).path_
    assert not WeightsDisplay.from_path(path).known
    assert path.summary()["weights"]["named"] == []
    sizes, entries = plot_path(path)
    assert entries.get_title(loc="left") == "Who is selected at which number of features"
    ticks = sizes.get_xticks()
    np.testing.assert_array_equal(ticks, np.round(ticks))
    assert png(path).startswith(PNG)
