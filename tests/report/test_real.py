"""Which features are real: the section of a summary, its page and the line in the path picture."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest

import kernelpath as kp
from kernelpath.report import real
from kernelpath.report.html import render_html
from kernelpath.report.real import discovery_words, known_test, real_section
from kernelpath.report.summary import summarize_path
from kernelpath.tables.table import as_column_table
from report.browser import scored, traced

mpl.use("Agg")


@pytest.fixture(scope="module")
def data():
    return kp.datasets.make_wide(n_samples=200, n_features=80, random_state=0)


@pytest.fixture(scope="module")
def path(data):
    return kp.LpKTASelector(statistic="alignment", bandwidth="std").fit(data.X, data.y).path_


def test_a_path_without_p_values_gets_those_of_a_quick_test(data, path):
    assert path.test is None
    test = known_test(path, as_column_table(data.X), data.y)
    expected = kp.alignment_test(data.X, data.y)
    np.testing.assert_array_equal(test.log_p, expected.log_p)
    section = summarize_path(path, data.X, data.y)["test"]
    found = expected.discoveries(0.1)
    assert section["n_discoveries"] == len(found)
    assert section["n_tested"] == 80
    np.testing.assert_allclose(
        section["log10_p"], expected.log_p[_columns(section, found)] / np.log(10), atol=1e-3
    )


def _columns(section, found):
    assert len(section["features"]) == max(len(found), 5)
    return found[: len(section["features"])]


def test_a_path_that_ranks_by_p_values_keeps_its_own(data):
    own = kp.LpKTASelector(statistic="calibrated").fit(data.X, data.y).path_
    assert known_test(own) is own.test
    assert summarize_path(own)["test"]["n_discoveries"] == len(own.test.discoveries(0.1))


def test_no_test_where_it_would_take_long_or_is_not_possible(data, path, monkeypatch):
    few = as_column_table(data.X[:6])
    assert known_test(path, few, data.y[:6]) is None
    assert known_test(path) is None
    assert summarize_path(path)["test"] is None
    monkeypatch.setattr(real, "QUICK", 100)
    assert known_test(path, as_column_table(data.X), data.y) is None
    assert summarize_path(path, data.X, data.y)["test"] is None


def test_many_features_are_sampled_but_no_discovery_is_left_out(monkeypatch):
    monkeypatch.setattr(real, "MOST_POINTS", 700)
    rng = np.random.default_rng(0)
    log_p = np.log(rng.random(5000))
    log_p[100:120] = -40.0
    ones = np.ones(5000)
    test = kp.AlignmentTest(rng.random(5000), ones, log_p, ones, ones)
    places: dict[int, int] = {}
    section = real_section(test, lambda i: places.setdefault(int(i), len(places)))
    points = section["points"]
    assert len(points["log10_p"]) == 700
    assert sum(points["found"]) == section["n_discoveries"] >= 20
    assert points["log10_p"][:20] == section["log10_p"][:20]
    assert max(points["log10_p"]) > -0.01  # to the last


def test_words():
    log_p = np.log([0.5, 0.6, 0.9])
    test = kp.AlignmentTest(*np.ones((2, 3)), log_p, *np.ones((2, 3)))
    assert discovery_words(test) == "no feature at a false discovery rate of 0.1"
    assert discovery_words(None) == ""
    empty = kp.AlignmentTest(np.ones(1), np.full(1, np.nan), np.zeros(1), np.ones(1), np.ones(1))
    assert discovery_words(empty) == ""


def test_the_page_says_how_many_and_which():
    summary = scored()
    page = render_html(summary)
    n = summary["test"]["n_discoveries"]
    assert f"{n} feature" in page
    assert "at a false discovery rate of 0.1" in page
    assert "Which features are real?" in page
    assert 'id="volcano"' in page
    assert "are among them" in page


def test_features_that_act_together_do_not_fail_a_test_of_single_columns():
    summary = scored()
    assert "act only together" not in render_html(summary)
    joint = summary | {"method": "joint"}
    page = render_html(joint)
    assert "Features that act only together cannot be seen by a test of single columns" in page
    assert "among them" not in page
    assert "tested one by one" in page
    assert "data-together" in page
    assert kp.SizeDisplay.from_summary(summary).n_real is not None
    assert kp.SizeDisplay.from_summary(joint).n_real is None


def test_the_map_speaks_of_weights_only_where_there_are_any():
    summary = scored()
    section = {"features": [0, 1], "similarity": [[1.0, 0.5], [0.5, 1.0]]}
    sizes = [one | {"weights": [1.0] * len(one["weights"])} for one in summary["sizes"]]
    assert "Similarity of the heaviest" in render_html(summary | {"redundancy": section})
    page = render_html(summary | {"redundancy": section, "sizes": sizes})
    assert "Similarity of the chosen features" in page
    assert "heaviest" not in _words(page)
    section = section | {"similarity": [[1.0, 0.1], [0.1, 1.0]]}
    page = render_html(summary | {"redundancy": section, "sizes": sizes})
    size = summary["cv"]["chosen"]["n_features"]
    few = f"2 of the {size}" if size > 2 else "The 2"
    assert f"{few} chosen features have little in common" in page


def _words(page):
    start = page.index("Redundancy</h2>")
    return page[start : page.index("</section>", start)]


def test_older_summaries_have_no_such_section():
    summary = traced()
    del summary["test"]
    assert "Which features are real?" not in render_html(summary)


def test_the_path_picture_shows_where_chance_takes_over(data, path):
    test = kp.alignment_test(data.X, data.y)
    n = len(test.discoveries(0.1))
    axes = kp.SizeDisplay.from_path(path, test=test).plot()
    words = " ".join(text.get_text() for text in axes.texts)
    assert f"{n} features at a false discovery rate of 0.1" in words
    assert any(np.allclose(line.get_ydata(), n) for line in axes.lines)
    (said,) = [text for text in axes.texts if "chance takes over" in text.get_text()]
    assert said.get_path_effects()  # white around the letters, where the steps are behind them
    low, high = axes.get_ylim()
    assert low < n < high
    plain = kp.SizeDisplay.from_path(path).plot()
    assert "chance" not in " ".join(text.get_text() for text in plain.texts)
    again = kp.SizeDisplay.from_summary(summarize_path(path, data.X, data.y))
    assert again.n_real == n
