"""All displays alike: figures of a summary, strange names, empty paths, given axes."""

from __future__ import annotations

import copy
import io
import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot

from kernelpath.report.displays import _canvas as canvas
from kernelpath.report.displays.certificates import CertificateDisplay
from kernelpath.report.displays.entries import EntriesDisplay
from kernelpath.report.displays.figures import DISPLAYS, report_figures, save_figure
from kernelpath.report.displays.path import WeightsDisplay
from kernelpath.report.displays.redundancy import RedundancyDisplay
from kernelpath.report.displays.stability import StabilityDisplay
from kernelpath.report.displays.views import ViewsDisplay
from kernelpath.report.summary import summarize_path
from path_examples import WEIGHTS, make_path
from report.display_examples import (
    assert_nothing_collides,
    iris_summary,
    words,
)

mpl.use("Agg")
PNG = b"\x89PNG\r\n\x1a\n"
STRANGE = [
    "$a_b^$",
    "$\\frac{",
    "two\nlines\x1b[31m",
    "\U0001f9ec 基因 \ud83d",
    "n" * 300,
    "",
    "<b>",
]
MORE = [EntriesDisplay, CertificateDisplay, StabilityDisplay, ViewsDisplay, RedundancyDisplay]


def renamed(summary, names):
    changed = copy.deepcopy(summary)
    for feature, name in zip(changed["features"], names * 20):
        feature["name"] = name
    return changed


def test_figures_of_all_that_is_known(iris, mixed):
    assert list(report_figures(mixed["two"], dpi=50)) == [
        "sizes", "weights", "entries", "views", "redundancy", "certificates",
    ]  # fmt: skip
    figures = report_figures(iris, dpi=60)
    assert set(figures) == set(DISPLAYS)
    assert pyplot.get_fignums() == []
    for figure in figures.values():
        assert figure.dpi == 60
        file = io.BytesIO()
        save_figure(figure, file)
        assert file.getvalue().startswith(PNG)
    again = report_figures(iris, dpi=60)["stability"]
    first, second = io.BytesIO(), io.BytesIO()
    save_figure(figures["stability"], first)
    save_figure(again, second)
    assert first.getvalue() == second.getvalue()


@pytest.mark.parametrize("format", ["png", "svg"])
def test_strange_names_are_drawn_as_they_are(iris, mixed, format):
    for summary in (iris, mixed["four"]):
        strange = renamed(summary, STRANGE)
        strange["parameter_name"] = strange["method"] = "$\\frac{"
        for view in strange["views"]:
            view["classes"] = STRANGE[: len(view["classes"])]
        for figure in report_figures(strange, dpi=50).values():
            figure.savefig(io.BytesIO(), format=format)  # warnings are errors here
    ax = EntriesDisplay.from_summary(renamed(iris, STRANGE)).plot()
    shown = [text.get_text() for text in ax.get_yticklabels()]
    assert {"$a_b^$", "$\\frac{", "two lines\\x1b[31m"} <= set(shown)
    assert all(text.isprintable() and len(text) <= 28 for text in shown)


def test_an_empty_path_draws_sentences():
    for shape in ((3, 4), (1, 1), (2, 0)):
        summary = summarize_path(make_path(np.zeros(shape), events=()))
        assert set(report_figures(summary, dpi=50)) == {"sizes", "certificates"}
        for cls in (EntriesDisplay, StabilityDisplay, ViewsDisplay, RedundancyDisplay):
            display = cls.from_summary(summary)
            ax = display.plot()
            assert words(ax) == [display._sentence]
            assert not ax.axison
            assert_nothing_collides(ax)


def test_one_feature_and_one_point():
    for weights in (np.array([[0.4]]), np.array([[0.4], [0.3]]), WEIGHTS[:1]):
        path = make_path(weights, events=())
        X = np.random.default_rng(0).normal(size=(20, weights.shape[1]))
        figures = report_figures(summarize_path(path, X, X[:, 0] > 0), dpi=50)
        assert {"sizes", "weights", "entries", "views", "certificates"} <= set(figures)
        assert ("redundancy" in figures) == (weights.shape[1] > 1)
        for figure in figures.values():
            figure.savefig(io.BytesIO())


@pytest.mark.parametrize("cls", [*MORE, WeightsDisplay])
def test_given_axes_are_used(iris, cls):
    figure, axes = pyplot.subplots(1, 2, figsize=(12, 5))
    before = axes[1].get_position().bounds
    drawn = np.ravel(cls.from_summary(iris).plot(ax=axes[0]))
    assert all(ax.figure is figure for ax in drawn)
    if drawn[0] is not axes[0]:  # several panels within the bounds of the given axes
        bounds = axes[0].get_position()
        assert not axes[0].axison
        for ax in drawn:
            place = ax.get_position()
            assert bounds.x0 - 1e-9 <= place.x0 <= place.x1 <= bounds.x1 + 1e-9
            assert bounds.y0 - 1e-9 <= place.y0 <= place.y1 <= bounds.y1 + 1e-9
    assert axes[1].get_position().bounds == before
    assert pyplot.get_fignums() == [figure.number]
    free = figure.add_axes((0.6, 0.6, 0.3, 0.3))  # not of a grid
    cls.from_summary(iris).plot(free)
    figure.canvas.draw()


def test_titles_of_narrow_panels_keep_apart(mixed):
    names = [f"a name of feature number {i}" for i in range(7)]
    figure, axes = pyplot.subplots(1, 2, figsize=(13, 5), layout="constrained")
    drawn = ViewsDisplay.from_summary(renamed(mixed["four"], names)).plot(axes[0])
    StabilityDisplay.from_summary(iris_summary()).plot(axes[1])
    figure.canvas.draw()
    titles = [ax._left_title.get_window_extent() for ax in drawn.ravel()]
    assert not any(a.overlaps(b) for i, a in enumerate(titles) for b in titles[:i])


def test_a_note_is_left_out_where_it_would_reach_a_neighbour():
    for width, n_notes in ((3, 0), (30, 1)):
        _, axes = pyplot.subplots(1, 2, figsize=(width, 5))
        top, _ = StabilityDisplay.from_summary(iris_summary()).plot(axes[0])
        assert sum("as if by chance" in text for text in words(top)) == n_notes


def test_displays_change_nothing(iris):
    before = copy.deepcopy(iris)
    report_figures(iris, dpi=40)
    assert iris == before


def test_without_matplotlib_the_message_says_what_to_install(monkeypatch, iris):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(canvas, "import_module", missing)
    for cls in MORE:
        display = cls.from_summary(iris)  # data need no matplotlib
        with pytest.raises(ImportError, match=r"pip install 'kernelpath\[plot\]'"):
            display.plot()
    with pytest.raises(ImportError, match=r"pip install 'kernelpath\[plot\]'"):
        report_figures(iris)


def test_importing_does_not_import_matplotlib():
    code = "import sys, kernelpath.report.displays.figures; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0
