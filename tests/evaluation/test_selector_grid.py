"""Settings of the selector, chosen inside the folds."""

from __future__ import annotations

import io
from itertools import product

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kernelpath as kp
from evaluation.helpers import ring

GRID = {"gamma": [1e-3, 1.0, 100.0]}
SIZES = [1, 2, 4]
X, Y = ring(90, 6)
PLAIN = LogisticRegression()


def fitted(grid=GRID, selector=None, table=X, target=Y, **settings):
    defaults = {"cv": 3, "n_features": SIZES, "references": False, "predictor": "logistic"}
    settings = defaults | settings
    selector = kp.LpKTASelector(step=0.5) if selector is None else selector
    return kp.PathCV(selector, selector_grid=grid, **settings).fit(table, target)


def by_hand(rows, predictor, grid=GRID):
    """The choice from some rows, with inner folds and loops in plain sight."""
    heights = []
    for values in product(*grid.values()):
        selector = kp.LpKTASelector(step=0.5, task="classification", **dict(zip(grid, values)))
        scores = np.zeros((3, len(SIZES)))
        inner = StratifiedKFold(3, shuffle=True, random_state=0).split(rows, Y[rows])
        for i, (train, test) in enumerate(inner):
            path = selector.fit(X[rows][train], Y[rows][train]).path_
            for j, k in enumerate(SIZES):
                some = path.at(n_features=k).support
                predictor.fit(X[rows][train][:, some], Y[rows][train])
                scores[i, j] = predictor.score(X[rows][test][:, some], Y[rows][test])
        heights.append(scores.mean())
    best = int(np.argmax(heights))
    return dict(zip(grid, list(product(*grid.values()))[best]))


class Chance(BaseEstimator):
    """Ranks by a column of noise, or by what is there."""

    def __init__(self, blind=True):
        self.blind = blind

    def fit(self, X, y):
        gap = np.abs(np.square(X[y == 1]).mean(axis=0) - np.square(X[y == 0]).mean(axis=0))
        self.scores_ = -gap if self.blind else gap
        return self


def test_it_is_the_choice_of_plain_loops():
    model = fitted(predictor=PLAIN)
    folds = StratifiedKFold(3, shuffle=True, random_state=0).split(X, Y)
    assert model.selector_settings_per_fold_ == [by_hand(train, PLAIN) for train, _ in folds]
    assert model.selector_settings_ == by_hand(np.arange(len(Y)), PLAIN)
    assert model.path_.provenance["parameters"]["gamma"] == model.selector_settings_["gamma"]


def test_it_finds_the_setting_that_sees_anything():
    model = fitted({"blind": [True, False]}, Chance(), predictor="joint_rbf")
    assert model.selector_settings_ == {"blind": False}
    assert model.selector_settings_per_fold_ == [{"blind": False}] * 3
    alone = kp.PathCV(
        Chance(blind=False), cv=3, n_features=SIZES, references=False, predictor="joint_rbf"
    ).fit(X, Y)
    assert model.scores_ == alone.scores_
    np.testing.assert_array_equal(model.predict(X), alone.predict(X))


def test_the_rows_held_out_have_no_say():
    """Labels of the first test rows are turned round: the choice of that fold stays."""
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, Y))
    turned = Y.copy()
    turned[folds[0][1]] = 1 - turned[folds[0][1]]
    one, other = (fitted(target=y, cv=folds, predictor=PLAIN) for y in (Y, turned))
    assert one.selector_settings_per_fold_[0] == other.selector_settings_per_fold_[0]
    np.testing.assert_array_equal(
        one.scores_.supports[0].toarray(), other.scores_.supports[0].toarray()
    )


def test_one_combination_is_that_setting():
    model = fitted({"gamma": [2.0]})
    alone = kp.PathCV(
        kp.LpKTASelector(step=0.5, gamma=2.0), cv=3, n_features=SIZES, references=False,
        predictor="logistic",
    ).fit(X, Y)  # fmt: skip
    assert model.scores_ == alone.scores_
    assert model.selector_settings_per_fold_ == [{"gamma": 2.0}] * 3


def test_folds_at_once_and_folders_change_nothing(tmp_path):
    model = fitted()
    for other in (fitted(n_jobs=2), fitted(memory=tmp_path), fitted(memory=tmp_path)):
        assert other.scores_ == model.scores_
        assert other.selector_settings_per_fold_ == model.selector_settings_per_fold_
        assert other.path_ == model.path_


def test_a_folder_of_a_fit_without_a_grid_is_no_hindrance(tmp_path):
    for gamma in GRID["gamma"]:
        selector = kp.LpKTASelector(step=0.5, gamma=gamma)
        alone = kp.PathCV(selector, predictor=PLAIN, cv=3, n_features=SIZES, memory=tmp_path)
        alone.set_params(references=False).fit(X, Y)
    assert (
        fitted(predictor=PLAIN, memory=tmp_path).selector_settings_per_fold_
        == fitted(predictor=PLAIN).selector_settings_per_fold_
    )


def test_all_models_are_counted():
    for n_jobs in (1, 2):
        model = fitted(n_jobs=n_jobs)
        assert model._run.meter.done == model.plan_.total
    assert model.plan_.n_traces == 3 * (1 + 3 * 3)


def test_it_goes_with_nested_pipelines_files_and_baselines():
    model = fitted(nested=True, baselines=["f_test"])
    assert len(model.nested_score_.per_fold) == 3
    assert "f_test" in model.baseline_scores_
    file = io.BytesIO()
    model.save(file)
    again = kp.load_model(io.BytesIO(file.getvalue()))
    assert again.selector_grid == GRID
    assert again.selector_settings_ == model.selector_settings_
    assert again.selector_settings_per_fold_ == model.selector_settings_per_fold_
    assert "gamma" in model.summary()["settings"]["selector_grid, folds chose"]
    pipe = make_pipeline(StandardScaler(), LogisticRegression())
    tuned = fitted({"logisticregression__C": [0.1, 10.0]}, pipe, predictor=PLAIN)
    assert set(tuned.selector_settings_) == {"logisticregression__C"}


@pytest.mark.parametrize(
    ("grid", "words"),
    [
        ({"gama": [1.0]}, "did you mean 'gamma'"),
        ({"gamma": 1.0}, "list of values for gamma"),
        ({"kernel": "rbf"}, "list of values for kernel"),
        ({"gamma": []}, "no value for gamma"),
        ({}, "must be a dict"),
        ([1.0], "must be a dict"),
        ({"norm_strength": [-1.0, 1.0]}, "norm_strength must"),
        ({"gamma": list(range(1, 300))}, "299 combinations"),
    ],
)
def test_what_is_no_grid_is_refused(grid, words):
    with pytest.raises(ValueError, match=words):
        fitted(grid)


def test_a_function_has_no_settings():
    with pytest.raises(ValueError, match="a function without settings"):
        fitted(selector=lambda X, y: np.arange(X.shape[1]))
