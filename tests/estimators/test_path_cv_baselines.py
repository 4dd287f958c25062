"""Methods by name as baselines of PathCV: those of the catalogue, as in a comparison."""

from __future__ import annotations

import io
import re

import numpy as np
import pandas as pd
import pytest

import kernelpath as kp
from evaluation.helpers import JOINT, curve, path_cv, ring, same_scores, three_classes
from kernelpath import catalogue
from kernelpath.estimators import rankers


def never(X, y):
    raise AssertionError("the path was traced")


def refused(data, **settings):
    """The message; a selector that is asked to rank fails the test."""
    with pytest.raises((ValueError, kp.DataError)) as error:
        path_cv(never, **settings).fit(*data)
    assert "\n" not in str(error.value)
    return str(error.value)


# -- the same as in a comparison -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "names"),
    [
        (ring, ["mutual-info", "nmmkl", "gmkl", "svm-lw", "fsv", "f-test", "forest"]),
        (curve, ["l1kr", "lasso-lw", "fisher", "forward-stepwise"]),
    ],
)
def test_names_are_taken_as_a_comparison_takes_them(data, names):
    X, y = data()
    model = path_cv(kp.LpKTASelector(), baselines=names).fit(X, y)
    compared = kp.compare(X, y, ["lp-kta", *names], cv=2, n_features=[1, 2], predictor=JOINT)
    assert list(model.baseline_scores_) == names
    for name in names:
        same_scores(model.baseline_scores_[name], compared.scores[name])


def test_a_seed_reaches_them():
    X, y = ring()
    names = ["mutual-info", "forest"]
    model = path_cv(kp.LpKTASelector(), baselines=names, random_state=3).fit(X, y)
    compared = kp.compare(
        X, y, ["lp-kta", *names], cv=2, n_features=[1, 2], predictor=JOINT, random_state=3
    )
    for name in names:
        same_scores(model.baseline_scores_[name], compared.scores[name])


def test_names_in_a_dict_one_name_and_names_with_underscores():
    X, y = ring()
    named = path_cv(baselines={"information": "mutual_info", "mine": kp.baselines.Fisher("all")})
    assert list(named.fit(X, y).baseline_scores_) == ["information", "mine"]
    single = path_cv(baselines="mutual-info").fit(X, y)
    same_scores(named.baseline_scores_["information"], single.baseline_scores_["mutual-info"])


def test_text_columns_have_a_kernel_or_codes():
    X, y = ring()
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(f=np.where(X[:, 1] > 0, "up", "down"))
    names = ["nmmkl", "gmkl", "lp-kta"]
    model = path_cv(kp.LpKTASelector(kernel="auto"), baselines=names).fit(frame, y)
    same_scores(model.baseline_scores_["lp-kta"], model.scores_)
    assert list(model.baseline_scores_) == names


def test_names_are_drawn_after_a_fit_and_saved():
    import matplotlib

    matplotlib.use("Agg")
    X, y = ring()
    model = path_cv(baselines=["fisher"]).fit(X, y)
    model.plot(baselines=["fisher", "svm-lw"])
    assert list(model.baseline_scores_) == ["fisher", "svm-lw"]
    file = io.BytesIO()
    model.save(file)
    again = kp.load_model(io.BytesIO(file.getvalue()))
    assert again.baselines == ["fisher"]
    assert list(again.baseline_scores_) == ["fisher", "svm-lw"]


# -- refusals before any work ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "name", "message"),
    [
        (curve, "svm-lw", "svm-lw takes classes, and y holds numbers; leave it out of baselines"),
        (ring, "lasso-lw", "lasso-lw takes numbers, and y holds classes; leave it out of baseline"),
        (three_classes, "l1kr", "l1kr takes numbers or two classes, and y has 3; leave it out of"),
        (ring, "mutual-inof", "each of baselines must be one of .* did you mean 'mutual-info'"),
        (lambda: ring(1100), "l1kr", "l1kr takes at most 1,000 rows, and there are 1,100"),
    ],
)
def test_what_cannot_serve_is_refused_in_one_line_before_any_work(data, name, message):
    assert re.match(message, refused(data(), baselines=[name]))


def test_text_is_refused_for_methods_of_numbers():
    X, y = ring()
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(f=np.where(X[:, 1] > 0, "up", "down"))
    found = refused((frame, y), baselines=["mutual-info", "fisher"])
    assert found == (
        "Column 'f' holds text, and fisher takes numbers; leave fisher out of baselines, or encode "
        "text as numbers."
    )


def test_refused_when_drawn():
    X, y = curve()
    model = path_cv().fit(X, y)
    with pytest.raises(kp.DataError, match="r2w2 takes classes"):
        model.plot(baselines=["r2w2"])


# -- wide tables -----------------------------------------------------------------------------------


def test_sizes_beyond_those_of_nmmkl_are_scored_as_its_last(monkeypatch):
    X, y = ring()
    monkeypatch.setattr(catalogue, "MOST_BUDGETS", 2)
    with pytest.warns(UserWarning, match="The baseline nmmkl chooses up to 2 features"):
        model = path_cv(n_features=None, baselines=["nmmkl"]).fit(X, y)
    scores = model.baseline_scores_["nmmkl"]
    assert [len(scores.supports[0].indices(i)) for i in range(6)] == [1, 2, 2, 2, 2, 2]


def test_l1kr_says_how_many_columns_it_looks_at(monkeypatch):
    X, y = ring()
    monkeypatch.setattr(rankers, "MOST_COLUMNS", 3)
    with pytest.warns(UserWarning, match="l1kr looks at") as caught:
        path_cv(baselines=["l1kr"]).fit(X, y)
    assert sum("l1kr looks at 3 columns only" in str(one.message) for one in caught) == 1
