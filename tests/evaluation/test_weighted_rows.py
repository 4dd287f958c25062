"""Weighted rows are repeated rows, in every part of PathCV."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import sklearn
from scipy import sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, make_scorer, r2_score

import kernelpath as kp
from evaluation.helpers import JOINT, WEIGHTED, curve, path_cv, ring, same_scores, three_classes
from kernelpath.evaluation.study import Copies
from kernelpath.tables.rows import one_by_group, told_apart

PROBLEMS = {"ring": ring, "three_classes": three_classes, "curve": curve}
KINDS = {"dense": np.asarray, "sparse": sp.csr_array}


def _three_parts(make, seed=5):
    """A table of three parts, given as folds; rows of the first have weights, or are repeated."""
    X, y = make(n=45)
    rng = np.random.default_rng(seed)
    weight = np.concatenate([rng.integers(0, 4, 45), np.ones(90)]).astype(float)
    X, y, part = np.vstack([X] * 3), np.concatenate([y] * 3), np.repeat([0, 1, 2], 45)
    order = rng.permutation(135)
    X, y, part, weight = X[order], y[order], part[order], weight[order]
    again = np.repeat(np.arange(135), weight.astype(int))
    return (X, y, part, weight), (X[again], y[again], part[again], None)


def _fit(table, kind, **options):
    X, y, part, weight = table
    folds = [(np.flatnonzero(part != i), np.flatnonzero(part == i)) for i in range(3)]
    model = path_cv(**{"cv": folds, "predictor": "auto", **options})
    return model.fit(KINDS[kind](X), y, sample_weight=weight)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("problem", PROBLEMS)
def test_weighted_rows_are_repeated_rows(problem, kind):
    weighted, repeated = (_fit(table, kind) for table in _three_parts(PROBLEMS[problem]))
    np.testing.assert_allclose(weighted.scores_.per_fold, repeated.scores_.per_fold, rtol=1e-6)
    assert weighted.scores_.predictors == repeated.scores_.predictors
    assert weighted.operating_point_.settings == repeated.operating_point_.settings
    new = PROBLEMS[problem](n=30, seed=9)[0]
    out = "predict" if problem == "curve" else "decision_function"
    np.testing.assert_allclose(getattr(weighted, out)(new), getattr(repeated, out)(new), atol=1e-5)


@pytest.mark.parametrize("predictor", [JOINT, WEIGHTED], ids=lambda p: p.name)
@pytest.mark.parametrize("options", [{"class_weight": "balanced"}, {"probability": True}], ids=str)
def test_with_balanced_classes_and_probabilities(predictor, options):
    options = {"predictor": predictor, "n_features": 2, **options}
    weighted, repeated = (_fit(table, "dense", **options) for table in _three_parts(three_classes))
    out = "predict_proba" if "probability" in options else "decision_function"
    new = three_classes(n=30, seed=9)[0]
    np.testing.assert_allclose(getattr(weighted, out)(new), getattr(repeated, out)(new), rtol=1e-5)


def test_scores_are_weighted():
    X, y = ring()
    rng = np.random.default_rng(3)
    weight = rng.uniform(0.1, 5.0, len(y))
    folds = [(np.arange(40), np.arange(40, 80)), (np.arange(40, 80), np.arange(40))]
    model = path_cv(predictor=LogisticRegression(), n_features=6, cv=folds)
    model.fit(X, y, sample_weight=weight)
    for (train, test), score in zip(folds, model.scores_.per_fold[:, 0], strict=True):
        twin = LogisticRegression().fit(X[train], y[train], sample_weight=weight[train])
        expected = accuracy_score(y[test], twin.predict(X[test]), sample_weight=weight[test])
        assert score == pytest.approx(expected)
    blind = path_cv(predictor=LogisticRegression(), n_features=6, cv=folds, scoring=_unweighted)
    with pytest.warns(UserWarning, match="scoring _unweighted takes no sample_weight") as told:
        blind.fit(X, y, sample_weight=weight)
    assert [one.filename for one in told] == [__file__]
    assert not np.allclose(blind.scores_.per_fold, model.scores_.per_fold)


def _unweighted(estimator, X, y):
    return float(np.mean(estimator.predict(X) == y))


def test_kept_scores_know_whether_weights_were_routed(tmp_path):
    """With routing on, only steps that ask for weights see them: other scores, other kept files."""
    X, y = ring()
    weight = np.random.default_rng(3).uniform(0.1, 5.0, len(y))
    with sklearn.config_context(enable_metadata_routing=True):
        selector = kp.LpKTASelector().set_fit_request(sample_weight=True)
    counted = path_cv(selector, memory=tmp_path).fit(X, y, sample_weight=weight).scores_
    with sklearn.config_context(enable_metadata_routing=True):
        routed = path_cv(selector, memory=tmp_path).fit(X, y, sample_weight=weight).scores_
        alone = path_cv(selector).fit(X, y, sample_weight=weight).scores_
    same_scores(routed, alone)
    assert not np.array_equal(routed.per_fold, counted.per_fold)


def test_scorers_that_take_weights():
    X, y = curve()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for scoring in ("r2", make_scorer(r2_score), "neg_mean_absolute_error"):
            path_cv(scoring=scoring).fit(X, y, sample_weight=np.ones(len(y)))


@pytest.mark.parametrize("cv", [3, "splits"])
def test_rows_of_weight_zero_are_not_there(cv):
    X, y = ring()
    there = np.arange(len(y)) % 5 != 2
    weight = there.astype(float)
    folds = 3
    if cv == "splits":
        fold = np.arange(len(y)) % 3
        folds = [(np.flatnonzero(fold != i), np.flatnonzero(fold == i)) for i in range(3)]
        fold = fold[there]
        fewer = [(np.flatnonzero(fold != i), np.flatnonzero(fold == i)) for i in range(3)]
    wild = X.copy()
    wild[~there] = 1e9
    a = path_cv(cv=folds, predictor="auto").fit(wild, y, sample_weight=weight)
    b = path_cv(cv=fewer if cv == "splits" else 3, predictor="auto")
    same_scores(a.scores_, b.fit(X[there], y[there], sample_weight=np.ones(there.sum())).scores_)
    np.testing.assert_array_equal(a.predict(X), b.predict(X))


def test_copies_of_measured_rows_stay_together_in_inner_folds():
    X, y = ring()
    again = np.repeat(np.arange(80), 2)
    model = path_cv(cv=2, predictor="auto").fit(X[again], y[again])
    study = model._run.study
    rows = np.arange(160)
    for train, test in study.inner_splits(rows):
        assert not set(again[train]) & set(again[test])
        assert sorted([*train, *test]) == rows.tolist()
    few = (X > 0).astype(float)  # 64 kinds of rows at most: the same one is rightly met again
    coarse = path_cv(cv=2, predictor="auto").fit(few[again], y[again])._run.study
    assert not coarse.copies.kept_together
    assert any(set(again[train]) & set(again[test]) for train, test in coarse.inner_splits(rows))


def test_copies_do_not_depend_on_storage_or_order():
    X, y = ring()
    X[7], y[7] = X[3], y[3]
    plain = Copies.of(X, y, False)
    assert plain.group[7] == plain.group[3]
    assert len(np.unique(plain.group)) == 79
    np.testing.assert_array_equal(Copies.of(sp.csr_array(X), y, False).group, plain.group)
    order = np.random.default_rng(0).permutation(80)
    np.testing.assert_array_equal(Copies.of(X[order], y[order], False).group, plain.group[order])
    assert told_apart(sp.csr_array(X[np.arange(80) != 7]))


def test_no_copies_no_change():
    assert one_by_group(np.arange(5), None) is None
    X, y = ring()
    assert path_cv().fit(X, y)._run.study._distinct(np.arange(80)) is None
