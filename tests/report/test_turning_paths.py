"""Pictures, words and pages of paths whose parameter turns back."""

from __future__ import annotations

import io

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from sklearn.datasets import make_friedman1

import kernelpath as kp
from kernelpath.estimators.l1kr import L1KRRegressor
from kernelpath.report.displays.certificates import CertificateDisplay
from kernelpath.report.displays.path import SizeDisplay, WeightsDisplay, plot_path
from kernelpath.report.form import schema
from kernelpath.report.html import render_html
from kernelpath.report.summary_lines import sizes_at_junctures, turns
from report.display_examples import turning_path, words

HOSTILE = ["<script>alert(1)</script>", "$a_b^$", "two\nlines", "n" * 300]


@pytest.fixture(scope="module")
def friedman():
    return make_friedman1(200, 10, random_state=0)


@pytest.fixture(scope="module")
def traced(friedman):
    return L1KRRegressor(norm_budget=1.0).fit(*friedman).path_


def test_turns():
    assert turns([1, 2, 3, 2, 1, 4]).tolist() == [2, 4]
    assert turns([1, 2, 2, 1]).tolist() == [2]
    assert turns([1, np.nan, 2, 1]).tolist() == [2]
    for straight in ([], [1.0], [2, 1], [1, 1, 1], [3, 2, 2, 1]):
        assert turns(straight).tolist() == []


def test_turns_are_the_events_of_the_path(traced):
    told = [event.position for event in traced.events if event.kind == "turn"]
    assert told
    assert turns(traced.parameters).tolist() == told


def test_the_first_feature_is_counted_once(traced):
    for path in (traced, turning_path()):
        where, sizes = sizes_at_junctures(path)
        assert sizes[-1] == path.n_selected[-1]
        assert sizes.max() == path.n_selected.max()
        assert len(where) == len(sizes)
    assert sizes_at_junctures(turning_path())[1].tolist() == [2, 3, 2, 3, 4]


def test_a_summary(traced, friedman):
    summary = traced.summary(*friedman)
    Draft202012Validator(schema()).validate(summary)
    assert "sum of weights turns" in summary["headline"]
    assert len(summary["views"]) > 1
    assert not summary["entries"]["nested"]
    largest = [max(line["weights"]) for line in summary["weights"]["named"]]
    assert largest == sorted(largest, reverse=True)
    file = io.BytesIO()
    traced.save(file)
    assert kp.load_path(io.BytesIO(file.getvalue())) == traced
    frame = traced.to_frame()
    np.testing.assert_array_equal(frame["sum of weights"], traced.parameters)
    assert set(traced.entry_order()) == set(np.flatnonzero(traced.supports.toarray().any(axis=0)))


def test_words():
    summary = turning_path().summary()
    assert summary["headline"] == (
        "The path leads from 1 to 4 of 4 features. On the way the sum of weights turns twice."
    )
    assert summary["headline"] in turning_path()._repr_html_()
    page = render_html(summary)
    for text in ("The heaviest features are named", "How exact each point is", "stationary point"):
        assert text in page
    assert "the gap bounds" not in page


def test_lines_follow_the_path_and_go_back_with_it():
    path = turning_path()
    ax = WeightsDisplay.from_path(path).plot()
    lines = [line for line in ax.lines if line.get_linestyle() != "None"]
    for line in lines:
        np.testing.assert_array_equal(line.get_xdata(), path.parameters)
    heights = np.nan_to_num([line.get_ydata() for line in lines])
    np.testing.assert_allclose(heights.sum(axis=0), 1.0)  # shares of the sum
    rings = [line for line in ax.lines if line.get_linestyle() == "None"]
    assert len(rings) == len(lines) == 4
    np.testing.assert_array_equal(rings[0].get_xdata(), path.parameters[[2, 3]])
    assert "Rings: here the sum of weights turns, 2 times" in words(ax)
    assert ax.get_ylabel() == "share of the sum of weights"
    assert WeightsDisplay.from_path(path, n_named=2).names == ["x2", "x0"]  # heaviest first


def test_a_path_without_a_turn_has_no_rings():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    path = L1KRRegressor(norm_budget=0.3).fit(X, X[:, 0] * X[:, 1]).path_
    assert len(turns(path.parameters)) == 0
    ax = WeightsDisplay.from_path(path).plot()
    assert not any("Rings" in text for text in words(ax))
    assert "turns" not in path.summary()["headline"]


def test_sizes_of_a_path_that_turns():
    path = turning_path()
    ax = SizeDisplay.from_path(path).plot()
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), path.parameters)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), path.n_selected)
    assert not ax.collections  # no area below a line that goes back


def test_a_summary_gives_the_same_picture(traced):
    ours, its = WeightsDisplay.from_summary(traced.summary()), WeightsDisplay.from_path(traced)
    assert ours.names == its.names
    assert len(ours.plot().lines) == len(its.plot().lines)


@pytest.mark.parametrize("end", [6, 4])
def test_names_are_joined_to_lines_that_reach_them(end):
    whole = turning_path()
    W = whole.weights.toarray()[:end]
    changes = {name: getattr(whole, name)[:end] for name in ("parameters", "values", "kkt", "gaps")}
    path = kp.FeaturePath(
        method="l1kr", parameter_name=whole.parameter_name, weights=W, supports=W > 0, **changes
    )
    ax = WeightsDisplay.from_path(path).plot()
    arrows = [text.arrow_patch.get_alpha() for text in ax.texts if text.get_text() in ("x0", "x2")]
    assert arrows == [0.7 * (end == 6)] * 2


def test_hostile_names():
    path = turning_path(HOSTILE)
    axes = plot_path(path)
    assert "$a_b^$" in words(axes[1])
    assert "<script>alert" not in render_html(path.summary())


def test_no_gap_no_claim_of_optimality():
    ax = CertificateDisplay.from_summary(turning_path().summary()).plot()
    assert ax.get_title(loc="left") == "How exact the points are"
    assert ax.get_ylabel() == "residual"


def test_the_page_says_which_branch():
    X, y = make_friedman1(120, 30, noise=1.5, random_state=0)
    model = L1KRRegressor(norm_budget=0.3, random_state=0).fit(X, y)
    assert model.branch_ == "another branch"
    pages = []
    for path in model.paths_:
        summary = path.summary(X, y)
        Draft202012Validator(schema()).validate(summary)
        pages.append((summary, render_html(summary)))
    (first, first_page), (second, second_page) = pages
    assert (first["branch"], second["branch"]) == ("from zero weights", "another branch")
    assert "branch" not in {one["kind"] for one in first["notices"]}
    assert second["notices"][0]["kind"] == "branch"
    assert "<dt>Branch</dt><dd>from zero weights</dd>" in first_page
    assert second["notices"][0]["text"] in second_page


def test_other_methods_have_no_branch():
    data = kp.datasets.make_wide(60, 20, random_state=0)
    summary = kp.LpKTASelector().fit(data.X, data.y).path_.summary(data.X, data.y)
    assert summary["branch"] is None
    assert "<dt>Branch</dt>" not in render_html(summary)
    del summary["branch"]  # summaries of files that are older
    Draft202012Validator(schema()).validate(summary)
    render_html(summary)
