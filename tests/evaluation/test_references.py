"""Plain models of all columns on the folds of the path."""

from __future__ import annotations

import io
import json

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

import kernelpath as kp
from evaluation.helpers import path_cv, ring
from kernelpath.errors import ReadingWarning
from kernelpath.evaluation import references as module
from kernelpath.evaluation.checkpoint import fold_key
from kernelpath.evaluation.references import ReferenceScore, make_references

X, Y = ring(90)
NAMES = ["logistic", "boosting"]


def scored(X=X, Y=Y, **options):
    return path_cv(references=True, **options).fit(X, Y)


def test_references_are_scored_on_the_folds_of_the_path(monkeypatch):
    monkeypatch.setattr(module, "MOST_TUNED", 0)  # one strength of the penalty
    model = scored()
    found = model.reference_scores_["logistic"]
    for fold, (train, test) in enumerate(model._run.splits):
        mean, std = X[train].mean(axis=0), X[train].std(axis=0)
        machine = LogisticRegression(C=10 / X.shape[1], tol=1e-8)
        machine.fit((X[train] - mean) / std, Y[train])
        assert found.per_fold[fold] == machine.score((X[test] - mean) / std, Y[test])
    assert found.n_features == X.shape[1]
    assert found.mean == found.per_fold.mean()
    assert found.se == pytest.approx(found.per_fold.std(ddof=1) / np.sqrt(2))
    assert list(model.reference_scores_) == NAMES
    assert model.reference_notes_ == {}


@pytest.mark.parametrize(
    ("setting", "names"),
    [(True, NAMES), (False, []), (("logistic",), ["logistic"]), ("boosting", ["boosting"])],
)
def test_references_are_those_asked_for(setting, names):
    model = path_cv(references=setting).fit(X, Y)
    assert list(model.reference_scores_) == names
    assert [one["name"] for one in model.summary()["references"]] == names


@pytest.mark.parametrize("setting", [None, 1, ("lasso",), "forests", ("logistic", 3), {}])
def test_other_references_are_refused(setting):
    with pytest.raises(ValueError, match="references must be"):
        path_cv(references=setting).fit(X, Y)


def test_they_leave_the_path_as_it_is():
    model, plain = scored(), path_cv().fit(X, Y)
    assert model.scores_ == plain.scores_
    assert model.operating_point_ == plain.operating_point_
    assert model.plan_.total == plain.plan_.total + model.plan_.n_reference_fits


def test_rows_held_out_do_not_leak_into_them():
    split = np.arange(60), np.arange(60, 90)
    other = X.copy()
    other[split[1]] += 1000.0
    tuned, scores = [], []
    for table in (X, other):
        model = scored(table, Y, cv=[split], rule="best")
        run = model._run
        key = fold_key(run.references["logistic"].study, run.fingerprint, split)
        tuned.append(run.store.results[key].tuned)
        scores.append(model.reference_scores_["logistic"].mean)
    assert tuned[0] == tuned[1]  # what was learned is the same
    assert scores[0] != scores[1]  # what was held out is not


def test_tables_with_text_and_holes():
    frame = pd.DataFrame(X[:, :4], columns=list("abcd")).assign(
        town=np.where(X[:, 0] > 0, "x", "y")
    )
    frame.loc[::7, "b"] = np.nan
    frame.loc[::9, "town"] = None
    model = scored(frame, Y)
    assert [one.n_features for one in model.reference_scores_.values()] == [5, 5]


def test_sparse_tables_and_continuous_targets():
    target = X[:, 0] ** 2 + X[:, 1]
    model = scored(sparse.csr_array(X), target)
    labels = [one["label"] for one in model.summary()["references"]]
    assert labels == ["Ridge regression", "Boosting"]


def test_estimators_of_others_are_held_against_them_too():
    model = scored(predictor=GaussianNB())
    assert list(model.reference_scores_) == NAMES


def test_identifiers_are_none_of_all_columns():
    frame = pd.DataFrame(X[:, :3], columns=list("abc")).assign(row_id=np.arange(len(X)))
    with pytest.warns(ReadingWarning):
        model = scored(frame, Y)
    assert model.reference_scores_["boosting"].n_features == 3
    kinds = {one["kind"]: one["text"] for one in model.summary()["notices"]}
    assert "row_id" in kinds["identifiers"]
    assert "constant" not in kinds


def test_wide_tables_go_without_boosting_unless_it_is_asked_for(monkeypatch):
    monkeypatch.setattr(module, "MOST_BOOSTED", X.shape[1] - 1)
    model = scored()
    assert list(model.reference_scores_) == ["logistic"]
    assert model.reference_notes_["boosting"].startswith(f"left out: with {X.shape[1]} columns")
    section = model.summary()["references"][1]
    assert section["score"] is None
    assert section["note"] == model.reference_notes_["boosting"]
    assert list(path_cv(references=NAMES).fit(X, Y).reference_scores_) == NAMES
    monkeypatch.setattr(module, "MOST_CELLS", 10)
    assert list(path_cv(references=NAMES).fit(X, Y).reference_scores_) == ["logistic"]


def test_long_tables_are_sampled(monkeypatch):
    monkeypatch.setattr(module, "MOST_ROWS", 30)
    model = scored()
    assert model.reference_scores_["logistic"].note == "learned from 30 rows of each fold"
    for (train, test), (own, same) in zip(
        model._run.splits, model._run.references["logistic"].splits
    ):
        assert len(own) == 30
        assert set(own) <= set(train)
        np.testing.assert_array_equal(same, test)


def test_a_measure_that_they_do_not_serve_leaves_them_out():
    def depth(estimator, X, y):
        if not hasattr(estimator, "theta_"):
            raise AttributeError("no theta_")
        return float(estimator.score(X, y))

    model = path_cv(predictor=GaussianNB(), references=True, scoring=depth)
    with pytest.raises(kp.DataError):  # which refuses even a constant
        model.fit(X, Y)

    def lazy(estimator, X, y):
        if (
            type(estimator).__name__ == "HeldOutClassifier"
            and len(np.unique(estimator.predict(X))) > 1
        ):
            raise ValueError("only estimators of others")
        return float(np.mean(estimator.predict(X) == y))

    model = path_cv(predictor=GaussianNB(), references=True, scoring=lazy).fit(X, Y)
    assert model.reference_scores_ == {}
    assert all("only estimators of others" in note for note in model.reference_notes_.values())


def test_they_resume(tmp_path, monkeypatch):
    first = scored(memory=tmp_path)
    calls = []
    fit = module.LinearPredictor.models
    monkeypatch.setattr(
        module.LinearPredictor, "models", lambda *given: calls.append(1) or fit(*given)
    )
    again = scored(memory=tmp_path)
    assert calls == []
    assert again.reference_scores_ == first.reference_scores_
    assert again._run.meter.done == again.plan_.total


def test_they_are_saved_with_the_model():
    model, file = scored(), io.BytesIO()
    model.save(file)
    again = kp.load_model(io.BytesIO(file.getvalue()))
    assert again.reference_scores_ == model.reference_scores_
    assert again.reference_notes_ == model.reference_notes_
    assert again.summary()["references"] == model.summary()["references"]
    json.dumps(again.summary(), allow_nan=False)


def test_nested_fits_go_without_them(monkeypatch):
    seen = []
    make = make_references
    monkeypatch.setattr(
        "kernelpath.estimators._path_cv_checks.make_references",
        lambda study, splits, wanted: seen.append(wanted) or make(study, splits, wanted),
    )
    scored(nested=True)
    assert seen == [True, False, False]


def test_the_difference_is_paired_by_fold():
    scores = kp.PathScores([1, 4], [[0.5, 0.7], [0.6, 0.9], [0.4, 0.8]])
    gain = ReferenceScore([0.8, 0.9, 0.9], 9).above(scores, 4)
    assert gain.beyond_error
    differences = np.array([0.1, 0.0, 0.1])
    assert gain.mean == pytest.approx(differences.mean())
    assert gain.se == pytest.approx(differences.std(ddof=1) / np.sqrt(3))


def test_one_row_in_one_fold_is_not_more_than_an_error():
    own = np.array([35 / 36, 35 / 36, 35 / 36, 34 / 35, 34 / 35])
    scores = kp.PathScores([8], own[:, None])
    gain = ReferenceScore(own + np.array([0, 0, 0, 1 / 35, 0]), 13).above(scores, 8)
    assert gain.mean == pytest.approx(gain.se)
    assert not gain.beyond_error


@pytest.mark.parametrize("per_fold", [[], [0.5, np.nan], [np.inf]])
def test_a_score_has_a_number_for_each_fold(per_fold):
    with pytest.raises(ValueError, match="finite score for each fold"):
        ReferenceScore(per_fold, 3)
