"""The picture of score against number of features: stored data, drawing, awkward cases."""

from __future__ import annotations

import io
import subprocess
import sys
import warnings
from itertools import pairwise

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from typer.testing import CliRunner

import kernelpath as kp
from kernelpath.cli.main import app
from kernelpath.errors import DataError
from kernelpath.evaluation.references import ReferenceScore
from kernelpath.evaluation.scores import PathScores
from kernelpath.report.displays import _canvas as canvas
from kernelpath.report.displays import accuracy
from kernelpath.report.displays import path as displays
from kernelpath.report.displays.accuracy import AccuracyDisplay, plot_scores, save_scores
from kernelpath.report.displays.path import SizeDisplay
from kernelpath.report.words import feature_words

mpl.use("Agg")
PNG = b"\x89PNG\r\n\x1a\n"
STRANGE = ["$\\frac{", "<b>", "two\nlines", "\U0001f9ec", "n" * 300]
FEW = np.arange(1, 21)
MANY = np.unique(np.geomspace(1, 100_000, 60).astype(int))


@pytest.fixture
def plt():
    from matplotlib import pyplot

    return pyplot


def rising(sizes=FEW, top=0.9, low=0.55, rate=0.3, folds=5, seed=0, **changes):
    sizes, rng = np.asarray(sizes), np.random.default_rng(seed)
    means = low + (top - low) * (1 - np.exp(-rate * sizes))
    per_fold = means + 0.02 * (top - low) * rng.normal(size=(folds, len(sizes)))
    arguments = {"chance": np.full(folds, low - 0.05), "scoring": "accuracy"}
    return PathScores(sizes, per_fold, **(arguments | changes))


def shown(scores, **options):
    return AccuracyDisplay.from_scores(scores, **({"n_columns": 100_000} | options))


def labels(ax):
    return [text.get_text() for text in ax.texts]


def text_of(ax, part):
    (text,) = [text for text in ax.texts if part in text.get_text()]
    return text


def png(display):
    file = io.BytesIO()
    save_scores(display, file)
    return file.getvalue()


def tick_labels(ax):
    return [ax.xaxis.get_major_formatter()(tick) for tick in ax.get_xticks()]


def test_data_are_stored_without_drawing(plt):
    scores, other = rising(), rising(top=0.8)
    display = shown(scores, chosen=7, baselines={"other": other}, label="ours", n_columns=30)
    np.testing.assert_array_equal(display.main.mean, scores.mean)
    np.testing.assert_array_equal(display.main.se, scores.se)
    np.testing.assert_array_equal(display.baselines[0].mean, other.mean)
    assert (display.main.name, display.baselines[0].name) == ("ours", "other")
    assert (display.chosen, display.n_columns, display.x) == (7, 30, "log")
    assert display.chance == pytest.approx(0.5)
    assert plt.get_fignums() == []


def test_the_number_of_columns_is_known_from_the_supports():
    chosen = np.zeros((2, 1, 12), dtype=bool)
    display = AccuracyDisplay.from_scores(PathScores([3], [[0.5], [0.6]], chosen))
    assert display.n_columns == 12
    with pytest.raises(ValueError, match="n_columns is needed"):
        AccuracyDisplay.from_scores(rising())


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(DataError, match="smaller size is 20"):
        shown(rising(), chosen=21)
    with pytest.raises(ValueError, match="'log', 'linear', 'fraction', 'cost', got 'sqrt'"):
        shown(rising(), x="sqrt")
    with pytest.raises(ValueError, match="'b' is scored by 'r2', not 'accuracy'"):
        shown(rising(), baselines={"b": rising(scoring="r2")})
    with pytest.raises(ValueError, match="n_columns is 10, but 20 features"):
        shown(rising(), n_columns=10)


def test_the_curves_are_the_scores():
    scores, other = rising(), rising(FEW[:9], top=0.8)
    ax = shown(scores, chosen=7, baselines={"other": other}, n_columns=30).plot()
    thin, bold, chance, dot = ax.lines
    for line, drawn in ((thin, other), (bold, scores)):
        np.testing.assert_array_equal(line.get_xdata(), drawn.n_features)
        np.testing.assert_array_equal(line.get_ydata(), drawn.mean)
    assert bold.get_color() == displays.PALETTE[0] != thin.get_color()
    assert bold.get_linewidth() > thin.get_linewidth()
    assert set(chance.get_ydata()) == {scores.chance_mean}
    assert chance.get_linestyle() == "--"
    assert (dot.get_xdata()[0], dot.get_ydata()[0]) == (7, scores.mean[6])
    (band,) = ax.collections
    heights = band.get_paths()[0].vertices[:, 1]
    assert heights.max() == pytest.approx((scores.mean + scores.se).max())
    assert heights.min() == pytest.approx((scores.mean - scores.se).min())


def test_words_around_the_curves():
    ax = shown(rising(), n_columns=30).plot()
    assert ax.get_title("left") == "Accuracy against number of features"
    assert ax.get_xlabel() == "number of features (of 30)"
    assert ax.get_ylabel() == "accuracy"
    assert labels(ax) == ["no features"]  # one curve needs no name
    ax = shown(rising(scoring="neg_log_loss"), x="fraction").plot()
    assert ax.get_title("left") == "Negative log loss against share of features"
    assert ax.get_xlabel() == "share of 100,000 features"
    assert ax.get_ylabel() == "negative log loss"


def reference(mean, n_features=30, spread=0.01, **changes):
    return ReferenceScore([mean - spread, mean + spread], n_features, **changes)


def test_references_are_levels_with_names_and_errors():
    models = {"Logistic regression": reference(0.82), "Boosting": reference(0.86)}
    ax = shown(rising(), references=models, n_columns=30).plot()
    assert {"Logistic regression, all 30", "Boosting, all 30", "this path"} <= set(labels(ax))
    for level in (0.82, 0.86):
        assert any(set(line.get_ydata()) == {level} for line in ax.lines)
        ends = np.array([level - 0.01, level + 0.01])
        two = [line.get_ydata() for line in ax.lines if len(line.get_ydata()) == 2]
        assert any(np.allclose(heights, ends) for heights in two)
    low, high = ax.get_ylim()
    assert low < 0.82 < 0.86 < high
    own = Figure().subplots()
    legend = shown(rising(), references=models, n_columns=30).plot(own).get_legend()
    said = [text.get_text() for text in legend.get_texts()]
    assert said == ["this path", "Logistic regression, all 30", "Boosting, all 30"]


def test_levels_far_away_are_said_and_do_not_press_the_curve_flat():
    flat = rising(top=0.95, low=0.9, chance=np.full(5, 0.3))
    models = {"Ridge regression": reference(-9.5), "Boosting": reference(0.96)}
    ax = shown(flat, references=models, chosen=7, n_columns=30).plot()
    low, high = ax.get_ylim()
    assert 0.9 < low < 0.92
    assert 0.96 < high < 1.1
    assert "below: Ridge regression, all 30 \N{MINUS SIGN}9.500, no features 0.300" in labels(ax)
    assert "no features" not in labels(ax)
    near = rising(top=0.95, low=0.6, chance=np.full(5, 0.5))
    assert "no features" in labels(shown(near, n_columns=30).plot())


def test_the_display_of_a_model_has_its_baselines_and_references():
    data = kp.datasets.make_ring(n_samples=60, n_features=4, random_state=0)
    model = kp.PathCV(cv=2, predictor="weighted_kernel", baselines=("f_test",), n_features=[1, 2])
    model.fit(data.X, data.y)
    display = AccuracyDisplay.from_model(model)
    again = AccuracyDisplay.from_summary(model.summary())
    names = ["Logistic regression, all 4", "Boosting, all 4"]
    for one in (display, again):
        assert [curve.name for curve in one.references] == names
        assert [curve.name for curve in one.baselines] == ["f_test"]
        assert one.chosen == model.operating_point_.n_features
    for one, other in zip(display.references, again.references):
        np.testing.assert_allclose([*one.mean, *one.se], [*other.mean, *other.se], rtol=1e-6)
    assert AccuracyDisplay.from_model(model, baselines={}).baselines == ()
    assert {*names, "f_test"} <= set(labels(model.plot()))


def test_no_chance_no_line():
    ax = shown(rising(chance=None)).plot()
    assert len(ax.lines) == 1
    assert labels(ax) == []


@pytest.mark.parametrize(
    ("scores", "k", "text"),
    [
        (PathScores([1, 13], [[0.6, 0.902], [0.5, 0.886]]), 13, "13 features, 0.894 ± 0.008"),
        (PathScores([1, 13], [[0.6, 0.9]]), 1, "1 feature, 0.600"),
        (PathScores([1, 1300], [[-0.6, -0.5]]), 1300, "1,300 features, −0.500"),
    ],
)
def test_the_chosen_size_is_written_out(scores, k, text):
    assert labels(shown(scores, chosen=k).plot()) == [text]


DISPLAYS = {
    "start": lambda: shown(rising(), chosen=1, n_columns=20),
    "end": lambda: shown(rising(), chosen=20, n_columns=20),
    "middle": lambda: shown(rising(MANY, rate=0.01), chosen=int(MANY[25])),
    "fraction": lambda: shown(rising(MANY, rate=0.01), chosen=int(MANY[25]), x="fraction"),
    "linear": lambda: shown(rising(MANY, rate=1e-4), chosen=int(MANY[-1]), x="linear"),
    "r2": lambda: shown(rising(MANY, 0.4, -0.6, 0.05, scoring="r2"), chosen=int(MANY[3])),
    "error": lambda: shown(rising(MANY, -1200, -6000, 0.05), chosen=1),
    "single": lambda: shown(rising([13]), chosen=13),
    "flat": lambda: shown(PathScores([1, 2, 3], np.full((3, 3), 0.8)), chosen=3),
    "zero": lambda: shown(PathScores([1, 2, 3], np.zeros((3, 3)), chance=np.zeros(3)), chosen=1),
    "falling": lambda: shown(rising(MANY, 0.5, 0.9, 0.01), chosen=1),
    "baselines": lambda: shown(
        rising(MANY, rate=0.05),
        chosen=int(MANY[20]),
        baselines={f"method {i}": rising(MANY, 0.9 - 0.02 * i, rate=0.01) for i in range(3)},
    ),
}


@pytest.mark.parametrize("name", DISPLAYS)
def test_the_text_at_the_chosen_size_is_inside_and_off_the_curve(name):
    display = DISPLAYS[name]()
    ax = display.plot()
    figure = ax.figure
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    text = text_of(ax, f"{display.chosen:,} feature")
    box = mpl.text.Text.get_window_extent(text, renderer)  # without the line that leads to it
    assert ax.bbox.x0 <= box.x0 < box.x1 <= ax.bbox.x1
    assert ax.bbox.y0 <= box.y0 < box.y1 <= ax.bbox.y1
    x = display.main.n_features / (display.n_columns if display.x == "fraction" else 1)
    corners = ax.transData.transform(np.column_stack([x, display.main.mean]))
    steps = np.linspace(0, len(corners) - 1, 4000)
    line = [np.interp(steps, np.arange(len(corners)), corners[:, i]) for i in (0, 1)]
    assert not any(box.contains(*point) for point in zip(*line))
    for other in ax.texts:
        if other is not text:
            assert not box.overlaps(mpl.text.Text.get_window_extent(other, renderer))
    figure_box = figure.get_window_extent(renderer)
    for other in ax.texts:
        words = mpl.text.Text.get_window_extent(other, renderer)
        assert figure_box.x0 <= words.x0 <= words.x1 <= figure_box.x1


@pytest.mark.parametrize(
    ("sizes", "x", "ticks"),
    [
        (FEW, "log", ["1", "2", "5", "10", "20"]),
        ([1, 43, 500], "log", ["1", "2", "5", "10", "20", "50", "100", "200", "500"]),
        (MANY, "log", ["1", "10", "100", "1,000", "10,000", "100,000"]),
        ([30, 150], "log", ["30", "50", "70", "100", "150"]),
        ([21, 22, 25], "log", ["21", "22", "23", "24", "25"]),
        ([13], "log", ["13"]),
        (MANY, "fraction", ["0.001 %", "0.01 %", "0.1 %", "1 %", "10 %", "100 %"]),
        ([50_000, 100_000], "fraction", ["50 %", "70 %", "100 %"]),
        ([25_000], "fraction", ["25 %"]),
    ],
)
def test_ticks_are_readable(sizes, x, ticks):
    ax = shown(rising(sizes), x=x).plot()
    assert tick_labels(ax) == ticks
    assert len(ax.get_xticks(minor=True)) == 0
    low, high = ax.get_xlim()
    assert all(low <= tick <= high for tick in ax.get_xticks())


def test_linear_ticks_are_whole_numbers():
    ax = shown(rising(np.arange(1, 501)), x="linear", n_columns=500).plot()
    assert ax.get_xscale() == "linear"
    assert [label for label in tick_labels(ax) if label in ("0", "100", "500")]
    ticks = shown(rising([1, 2, 3]), x="linear").plot().get_xticks()
    np.testing.assert_array_equal(ticks, np.round(ticks))


def test_narrow_axes_have_fewer_ticks(plt):
    _, ax = plt.subplots(figsize=(2.8, 2.4))
    shown(rising(MANY), chosen=1).plot(ax)
    assert tick_labels(ax) == ["1", "100", "10,000"]


def test_one_size_is_visible():
    ax = shown(rising([13]), baselines={"other": rising([14])}).plot()
    thin, bold = ax.lines[0], ax.containers[0].lines[0]
    assert thin.get_marker() == bold.get_marker() == "o"
    assert ax.containers[0].has_yerr
    ax = shown(rising([13], folds=1)).plot()
    assert not ax.containers[0].has_yerr
    low, high = ax.get_xlim()
    assert low < 13 < high


def test_one_fold_has_no_band():
    ax = shown(rising(folds=1)).plot()
    assert len(ax.collections) == 0


def test_scores_without_a_finished_fold():
    nothing = PathScores([1, 2], np.full((3, 2), np.nan), scoring="accuracy")
    ax = shown(nothing, chosen=2, baselines={"also none": nothing}).plot()
    assert labels(ax) == ["No fold is finished, so there are no scores yet."]
    assert png(shown(nothing)).startswith(PNG)
    ax = shown(nothing, chosen=2, baselines={"other": rising()}).plot()
    assert labels(ax) == ["other"]
    ax = shown(rising(), baselines={"none": nothing, "other": rising()}).plot()
    assert "none" not in labels(ax)


def test_strange_names_are_drawn_as_they_are():
    curves = {name: rising(top=0.7 + 0.04 * i) for i, name in enumerate(STRANGE)}
    display = shown(rising(scoring="accuracy"), baselines=curves, label="$x$", chosen=3)
    ax = display.plot()  # warnings are errors: a letter that the font lacks is no warning
    assert {"$\\frac{", "<b>", "two lines", "$x$"} <= set(labels(ax))
    assert all(label.isprintable() and len(label) <= 30 for label in labels(ax))
    assert png(display).startswith(PNG)
    odd = shown(rising(scoring="$\\frac{ " + "s" * 90))
    assert png(odd).startswith(PNG)
    assert len(odd.plot().get_ylabel()) <= canvas.LONGEST_LABEL


def test_many_baselines_are_told_apart():
    curves = {f"method {i}": rising(top=0.9 - 0.01 * i) for i in range(16)}
    ax = shown(rising(), baselines=curves).plot()
    looks = {(line.get_color(), line.get_linestyle()) for line in ax.lines[:16]}
    assert len(looks) == 16
    assert displays.PALETTE[0] not in {color for color, _ in looks}
    ax.figure.canvas.draw()
    names = [text for text in ax.texts if "method" in text.get_text()]
    boxes = [mpl.text.Text.get_window_extent(text) for text in names]
    tops = sorted((box.y0, box.y1) for box in boxes)
    assert all(low[1] <= high[0] + 1 for low, high in pairwise(tops))


def summary_of(scores, se=None, baselines=(), chosen=2, chance=0.5):
    """The parts of a summary that the picture reads."""
    sizes = [
        {"n_features": i + 1, "score": score, "se": 0.01 if se is None else se[i]}
        for i, score in enumerate(scores)
    ]
    others = [
        {"name": f"other {i}", "n_features": [1, 2, 4], "score": list(row), "se": [None] * 3}
        for i, row in enumerate(baselines)
    ]
    cv = {"scoring": "accuracy", "chance": chance, "chosen": {"n_features": chosen}}
    return {"method": "$m$", "n_features": 9, "sizes": sizes, "cv": cv, "baselines": others}


def test_a_summary_is_drawn_as_it_is():
    summary = summary_of([0.6, 0.8, 0.9], baselines=[[0.5, 0.6, 0.7]])
    display = AccuracyDisplay.from_summary(summary)
    np.testing.assert_array_equal(display.main.n_features, [1, 2, 3])
    np.testing.assert_array_equal(display.main.mean, [0.6, 0.8, 0.9])
    np.testing.assert_array_equal(display.main.se, [0.01] * 3)
    np.testing.assert_array_equal(display.baselines[0].n_features, [1, 2, 4])
    np.testing.assert_array_equal(display.baselines[0].mean, [0.5, 0.6, 0.7])
    assert (display.chosen, display.chance, display.n_columns) == (2, 0.5, 9)
    ax = display.plot()
    assert {"$m$", "other 0", "no features", "2 features, 0.800 ± 0.010"} == set(labels(ax))
    assert AccuracyDisplay.from_summary(summary, x="fraction").x == "fraction"
    with pytest.raises(ValueError, match="got 'sqrt'"):
        AccuracyDisplay.from_summary(summary, x="sqrt")


def test_unknown_scores_of_a_summary_are_left_out():
    summary = summary_of([0.6, None, 0.9, None], baselines=[[None] * 3, [0.5, None, 0.7]])
    display = AccuracyDisplay.from_summary(summary)
    np.testing.assert_array_equal(np.isnan(display.main.mean), [False, True, False, True])
    ax = display.plot()
    np.testing.assert_array_equal(ax.lines[1].get_xdata(), [1, 3])
    assert set(labels(ax)) == {"$m$", "other 1", "no features"}  # the chosen size has no score
    assert png(display).startswith(PNG)
    ax = AccuracyDisplay.from_summary(summary_of([0.6, 0.7], se=[None, 0.1], chance=None)).plot()
    assert len(ax.collections) == 1
    assert labels(ax) == ["2 features, 0.700 ± 0.100"]


@pytest.mark.parametrize("scores", [[None, None], []])
def test_a_summary_without_scores_says_so(scores):
    nothing = AccuracyDisplay.from_summary(summary_of(scores))
    assert labels(nothing.plot()) == [accuracy.NO_FOLD]
    assert not nothing.known
    nothing = AccuracyDisplay.from_summary(summary_of(scores) | {"cv": None})
    assert labels(nothing.plot()) == [accuracy.NO_SCORES]
    assert png(nothing).startswith(PNG)


def test_plot_on_a_given_axes_leaves_its_figure_alone(plt):
    figure, axes = plt.subplots(1, 2)
    before = [ax.get_position().bounds for ax in axes]
    assert shown(rising(), chosen=3).plot(axes[0]) is axes[0]
    assert plot_scores(rising(), ax=axes[1], n_columns=40, baselines={"b": rising()}) is axes[1]
    assert [ax.get_position().bounds for ax in axes] == before
    assert plt.get_fignums() == [figure.number]
    assert plot_scores(rising(), n_columns=40).figure.number in plt.get_fignums()


def test_save_to_files(tmp_path, plt):
    display = DISPLAYS["baselines"]()
    save_scores(display, tmp_path / "scores.png")
    assert (tmp_path / "scores.png").read_bytes().startswith(PNG)
    save_scores(display, str(tmp_path / "scores.svg"), format="svg")
    assert "<svg" in (tmp_path / "scores.svg").read_text()
    assert png(display) == png(display)
    assert plt.get_fignums() == []


def test_without_matplotlib_the_message_says_what_to_install(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(canvas, "import_module", missing)
    display = shown(rising())  # data need no matplotlib
    for draw in (display.plot, lambda: png(display)):
        with pytest.raises(ImportError, match=r"pip install 'kernelpath\[plot\]'"):
            draw()


def test_importing_does_not_import_matplotlib():
    code = f"import sys, {accuracy.__name__}; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


def test_scores_against_costs(plt):
    costs = np.linspace(0.5, 40.25, len(FEW))
    scores = rising(costs_per_fold=np.tile(costs, (5, 1)), full_costs=costs)
    other = rising(top=0.8, costs_per_fold=np.tile(costs + 2, (5, 1)))
    display = shown(scores, chosen=7, baselines={"forest": other}, x="cost")
    ax = display.plot()
    assert ax.get_xlabel() == "cost of the features, mean over folds"
    assert ax.get_xscale() == "linear"
    main, thin = ax.lines[1], ax.lines[0]
    np.testing.assert_allclose(main.get_xdata(), costs)
    np.testing.assert_allclose(thin.get_xdata(), costs + 2)
    assert any("7 features" in text for text in labels(ax))
    with pytest.raises(ValueError, match="fit with costs="):
        shown(rising(), x="cost")
    with pytest.raises(ValueError, match="fit with costs="):
        shown(scores, baselines={"forest": rising()}, x="cost")
    assert shown(rising([3], costs_per_fold=np.full((5, 1), 2.0)), x="cost").plot() is not None


def test_one_number_of_features_everywhere(tmp_path):
    """Of six columns one names rows and one is constant: four features, and no other number."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 4)), columns=list("abcd"))
    frame = frame.assign(person=[f"p{i}" for i in range(60)], site=1.0)
    y = (frame["a"] + frame["b"] + frame["c"] > 0).astype(int)
    model = kp.PathCV(cv=3, n_features=[1, 2], predictor="logistic", references=False, rule="best")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.fit(frame, y)
    summary = model.summary()
    words = feature_words(summary["data"])  # at the head of the page and on the terminal
    assert words == "4 features (1 identifier and 1 constant column left out)"
    for display in (AccuracyDisplay.from_model(model), AccuracyDisplay.from_summary(summary)):
        assert display.plot().get_xlabel() == "number of features (of 4)"
    assert SizeDisplay.from_summary(summary).plot().get_title("left") == "Features kept, of 4"
    frame.assign(y=y).to_csv(tmp_path / "table.csv", index=False)
    command = ["path", "table.csv", "-t", "y", "-o", "run", "--cv", "3", "--sizes", "1,2"]
    drawn = []
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        patch.setattr(AccuracyDisplay, "draw_on", _noting(drawn, AccuracyDisplay.draw_on))
        patch.setattr(SizeDisplay, "_draw", _noting(drawn, SizeDisplay._draw))
        result = CliRunner().invoke(app, [*command, "--predictor", "logistic"])
    assert result.exit_code == 0, result.output
    assert [one.n_columns for one in drawn if isinstance(one, AccuracyDisplay)] == [4]
    assert [one.n_features for one in drawn if isinstance(one, SizeDisplay)] == [4]


def _noting(drawn, method):
    def noting(self, *args, **kwargs):
        drawn.append(self)
        return method(self, *args, **kwargs)

    return noting
