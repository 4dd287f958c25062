"""NMMKLSelector among the tools of scikit-learn, and its paths among those of this package."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import kernelpath as kp
from report.browser import chromium, opened

RING = kp.datasets.make_ring(n_samples=120, n_features=8, random_state=0)
FRAME = pd.DataFrame(RING.X, columns=RING.feature_names)
RELEVANT = [RING.feature_names[j] for j in RING.relevant]
CASES = [
    kp.NMMKLSelector(1),
    kp.NMMKLSelector("all", kernel="rbf"),
    kp.NMMKLSelector(1, C=0.1, ridge=0.0, rounding="weights", task="regression"),
]


@parametrize_with_checks(CASES)
def test_checks_of_scikit_learn(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # their tables are of a kind that deserves warnings
        check(estimator)


# -- parameters, names ----------------------------------------------------------------------------


def test_clone_and_parameters():
    selector = kp.NMMKLSelector([1, 2], kernel="rbf", must_include=["f0"], groups=list("aabbccdd"))
    twin = clone(selector)
    assert twin.get_params() == selector.get_params()
    twin.set_params(C=0.3, n_features_to_select=2, must_include=None, groups=None)
    assert (twin.C, selector.C) == (0.3, 1.0)
    assert not hasattr(clone(twin.fit(FRAME, RING.y)), "path_")
    before = selector.get_params()
    selector.fit(FRAME, RING.y)
    assert selector.get_params() == before


def test_names_and_frames():
    selector = kp.NMMKLSelector(2, kernel="rbf").set_output(transform="pandas")
    chosen = selector.fit_transform(FRAME, RING.y)
    assert chosen.columns.tolist() == RELEVANT
    assert selector.get_feature_names_out().tolist() == RELEVANT
    pd.testing.assert_frame_equal(chosen, FRAME[RELEVANT])
    np.testing.assert_array_equal(selector.inverse_transform(chosen)[:, RING.relevant], chosen)
    plain = kp.NMMKLSelector(2, kernel="rbf").fit(RING.X, RING.y)
    assert plain.get_feature_names_out().tolist() == [f"x{j}" for j in RING.relevant]


def test_a_search_over_budgets():
    steps = [("select", kp.NMMKLSelector(kernel="rbf")), ("machine", SVC())]
    grid = {"select__n_features_to_select": [1, 2, 4], "select__C": [0.1, 1.0]}
    search = GridSearchCV(Pipeline(steps), grid, cv=3).fit(FRAME, RING.y)
    assert search.best_params_["select__n_features_to_select"] == 2
    assert search.best_score_ > 0.85
    assert search.best_estimator_[:-1].get_feature_names_out().tolist() == RELEVANT


# -- paths ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model():
    selector = kp.NMMKLSelector([1, 2, 3, 5], kernel="rbf")
    return kp.PathCV(selector, cv=3, predictor="joint_rbf", references=False).fit(FRAME, RING.y)


def test_cross_validation_finds_the_budget(model):
    assert model.scores_.n_features.tolist() == [1, 2, 3, 5]
    assert model.operating_point_.n_features == 2
    assert sorted(model.operating_point_.feature_names) == sorted(RELEVANT)
    assert model.operating_point_.parameter == 2.0
    straight = kp.PathCV(
        kp.NMMKLSelector([1, 2, 3, 5]), cv=3, predictor="joint_rbf", references=False
    )
    scores = straight.fit(FRAME, RING.y).scores_
    assert scores.mean[1] < model.scores_.mean[1] - 0.1


@pytest.mark.parametrize("kernel", ["linear", "rbf", "auto", kp.Laplace()])
def test_the_predictor_has_the_kernel_of_the_selector(kernel):
    selector = kp.NMMKLSelector([2, 3], kernel=kernel)
    scored = kp.PathCV(selector, cv=2, predictor="weighted_kernel", references=False).fit(
        FRAME, RING.y
    )
    assert np.isfinite(scored.scores_.mean).all()
    assert scored.predict(FRAME).shape == RING.y.shape


def test_a_path_as_a_file(model, tmp_path):
    path = model.path_
    path.save(tmp_path / "budgets.kpath")
    again = kp.load_path(tmp_path / "budgets.kpath")
    assert (again.method, again.parameter_name) == ("nmmkl", "budget")
    assert again.is_nested == path.is_nested
    assert list(again.events) == list(path.events)
    np.testing.assert_array_equal(again.supports.toarray(), path.supports.toarray())
    np.testing.assert_array_equal(again.gaps, path.gaps)
    model.save(tmp_path / "budgets.kpmodel")
    loaded = kp.load_model(tmp_path / "budgets.kpmodel")
    np.testing.assert_array_equal(loaded.predict(FRAME), model.predict(FRAME))


@pytest.fixture(scope="module")
def wandering():
    """Summary of a path that is not nested: the best two without the best one."""
    rng = np.random.default_rng(1)
    y = np.repeat([-1, 1], 100)
    e, f, g = rng.normal(size=(3, 200))
    X = np.column_stack([1.1 * y + e, 1.1 * y - e + 0.4 * f, 1.55 * y + g])
    frame = pd.DataFrame(X, columns=["left", "right", "best"])
    return kp.NMMKLSelector("all", C=0.1).fit(frame, y).path_.summary(frame, y)


def test_summaries_of_budgets(model, wandering):
    assert not wandering["entries"]["nested"]
    assert [size["n_features"] for size in wandering["sizes"]] == [1, 2, 3]
    shown = [[wandering["features"][j]["name"] for j in size["features"]]
             for size in wandering["sizes"][:2]]  # fmt: skip
    assert shown == [["best"], ["left", "right"]]
    assert wandering["method"] == model.summary()["method"] == "nmmkl"


@pytest.mark.slow
@pytest.mark.xdist_group("browser")
def test_pages_of_budgets_are_drawn(model, wandering, tmp_path):
    try:
        manager = chromium()
        browser = manager.__enter__()
    except LookupError as error:
        pytest.skip(f"no browser: {error}")
    try:
        for name, summary in (("scored", model.summary()), ("path", wandering)):
            with opened(browser, tmp_path, summary) as one:
                assert one.complaints == []
                drawn = one.page.eval_on_selector_all("svg", "all => all.map((s) => s.outerHTML)")
                assert drawn
                assert not any(word in "".join(drawn) for word in ("NaN", "undefined"))
                file = tmp_path / f"{name}.png"
                one.page.screenshot(path=file, full_page=True)
                assert file.stat().st_size > 10_000
    finally:
        manager.__exit__(None, None, None)
