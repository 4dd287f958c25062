"""The choice among several paths: areas, preference, and candidates that fall behind."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import kernelpath as kp
from kernelpath.evaluation.contest import AREA_SIZES, Contest, _hopeful, first_not_worse


def test_the_first_within_one_error_wins():
    best = np.array([0.9, 0.8, 0.7])
    near = best - [0.01, 0.03, -0.02]  # 0.007 ± 0.015 below
    far = best - [0.10, 0.09, 0.11]
    assert first_not_worse(np.array([near, best])) == 0
    assert first_not_worse(np.array([far, best])) == 1
    assert first_not_worse(np.array([best, near])) == 0
    assert first_not_worse(np.array([far, near, best])) == 1
    assert first_not_worse(np.array([np.full(3, np.nan), far])) == 1  # left out


def test_hopeless_candidates_are_behind_in_every_fold():
    chance = np.array([0.5, 0.5])
    scores = np.array([[0.9, 0.9], [0.8, 0.87], [0.8, 0.8]])[:, :, None]
    assert _hopeful(scores, chance, [0, 1, 2]) == [0, 1]  # a tenth of 0.4 is 0.04
    assert _hopeful(scores, np.array([np.nan, np.nan]), [0, 1, 2]) == [0, 1, 2]
    assert _hopeful(-scores, np.array([0.0, 0.0]), [0, 1, 2]) == [1, 2]  # all below chance


@pytest.mark.parametrize(
    ("others", "said"),
    [
        ([0.8, 0.9], "equal to that of b, which comes after it in the order."),
        ([0.7, 0.82], "0.090 ± 0.010 above that of b."),
        ([0.82, 0.9], "0.010 ± 0.010 below that of b, which comes after it in the order."),
        (
            [0.78, 0.92],
            "on average equal (± 0.020) to that of b, which comes after it in the order.",
        ),
        ([0.7998, 0.8998], "0.0002 ± 0.0000 above that of b."),
    ],
)
def test_the_sentence_tells_ties_from_wins(others, said):
    scores = np.array([[0.8, 0.9], others])[:, :, None]
    contest = Contest(("a", "b"), np.array([2]), scores, 0, "accuracy", {})
    assert contest.sentence() == f"a was chosen: its curve is {said}"


def test_candidates_by_chance_are_told():
    scores = np.array([[0.5, 0.52], [0.5, 0.52]])[:, :, None]
    known = [
        Contest(("a", "b"), np.array([2]), scores, 0, "accuracy", {}, np.full(2, chance))
        for chance in (0.5, 0.4, np.nan)
    ]
    said = [one.sentence().partition("in the order.")[2] for one in known]
    assert said == [" None of the candidates is better than chance (0.500).", "", ""]


def rank_by_first(X, y):
    return -np.arange(X.shape[1], dtype=float)


def rank_by_last(X, y):
    return np.arange(X.shape[1], dtype=float)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 25))
    return X, (X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=150) > 0).astype(int)


def test_areas_are_those_of_plain_loops(table):
    """Scores of the contest, by scikit-learn alone."""
    X, y = table
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    selector = kp.AutoPathSelector(
        5, candidates={"first": rank_by_first, "f": kp.baselines.Fisher("all")}, cv=folds
    )
    selector.fit(X, y)
    found = selector.contest_
    assert found.sizes.tolist() == list(AREA_SIZES)
    for place, k in enumerate(AREA_SIZES):
        machine = make_pipeline(StandardScaler(), SVC(C=10.0, gamma=1.0 / k))
        expected = cross_val_score(machine, X[:, :k], y, cv=folds)
        np.testing.assert_allclose(found.scores[0, :, place], expected, atol=0.021)  # a row of 50
    assert selector.candidates_["first"] == pytest.approx(found.scores[0].mean())
    assert found.areas.shape == (2, 3)


def test_the_better_one_wins_and_is_traced_on_all_rows(table):
    X, y = table
    candidates = {"last": rank_by_last, "lp-kta": kp.LpKTASelector()}
    selector = kp.AutoPathSelector(2, candidates=candidates).fit(X, y)
    assert selector.chosen_ == "lp-kta"
    assert np.isnan(selector.candidates_["last"])  # left out after two folds
    assert "all others fell behind" in selector.contest_.sentence()
    assert sorted(selector.get_support(indices=True).tolist()) == [0, 1]
    alone = kp.LpKTASelector().fit(X, y).path_
    np.testing.assert_array_equal(selector.path_.entry_order(), alone.entry_order())
    assert isinstance(selector.selector_, kp.LpKTASelector)


def test_path_cv_holds_the_contest_on_its_folds(table):
    X, y = table
    folds = StratifiedKFold(3, shuffle=True, random_state=1)
    chooser = kp.AutoPathSelector(candidates=["additive", "lp-kta"])
    options = {"cv": folds, "predictor": kp.JointRBFSVM(1.0, 10.0), "references": False}
    model = kp.PathCV(chooser, n_features=[1, 2, 3], **options).fit(X, y)
    assert model.contest_.scores.shape[1] == 3
    alone = {"additive": kp.AdditivePathSelector(), "lp-kta": kp.LpKTASelector()}
    plain = kp.PathCV(alone[model.contest_.name], n_features=[1, 2, 3], **options).fit(X, y)
    np.testing.assert_array_equal(model.scores_.per_fold, plain.scores_.per_fold)
    np.testing.assert_array_equal(
        model.contest_.scores[model.contest_.chosen][:, :2], plain.scores_.per_fold[:, 1:]
    )


def test_nested_scores_choose_anew(table):
    X, y = table
    chooser = kp.AutoPathSelector(candidates=["lp-kta", "additive"])
    options = {"cv": 2, "predictor": kp.JointRBFSVM(1.0, 10.0), "references": False}
    model = kp.PathCV(chooser, n_features=[1, 2], nested=True, **options).fit(X[:80], y[:80])
    assert len(model.nested_score_.per_fold) == 2


def test_the_choice_depends_on_rows_and_weights(table):
    X, y = table
    auto = kp.AutoPathSelector()
    assert list(auto.candidates_for(500, weighted=False))[:2] == ["exchange", "interaction"]
    few = ["additive", "elastic", "lp-kta"]
    assert list(auto.candidates_for(40, weighted=False)) == few
    assert list(auto.candidates_for(500, weighted=True)) == few
    quick = kp.AutoPathSelector(3, quick=True, must_include=[7]).fit(X, y)
    assert quick.chosen_ == "exchange"
    assert quick.contest_ is None
    assert quick.get_support()[7]
    assert kp.AutoPathSelector(quick=True).fit(X[:70], y[:70]).chosen_ == "additive"


def test_a_candidate_that_fails_is_left_out_with_its_reason(table):
    def broken(X, y):
        raise kp.DataError("cannot rank this")

    X, y = table
    given = {"broken": broken, "first": rank_by_first, "last": rank_by_last}
    found = kp.AutoPathSelector(2, candidates=given, cv=2).fit(X, y).contest_
    assert found.names == ("first", "last")
    assert "cannot rank this" in found.notes["broken"]
    with pytest.raises(kp.DataError, match="cannot rank this"):
        kp.AutoPathSelector(candidates={"a": broken, "b": broken}, cv=2).fit(X, y)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"candidates": "best"}, "'auto' or a list of names or a dict"),
        ({"candidates": []}, "candidates must be 'auto'"),
        ({"candidates": ["additiv"]}, "each of candidates.*did you mean 'additive'"),
        ({"candidates": ["additive"], "quick": True}, "no effect with quick=True"),
        ({"quick": 1}, "quick"),
    ],
)
def test_refused(table, options, words):
    with pytest.raises((ValueError, TypeError), match=words):
        kp.AutoPathSelector(**options).fit(*table)


def test_a_grid_has_no_effect(table):
    with pytest.raises(ValueError, match="selector_grid has no effect on AutoPathSelector"):
        kp.PathCV(kp.AutoPathSelector(), selector_grid={"cv": [2, 3]}).fit(*table)


def test_the_size_is_the_fewest_within_one_error_of_the_best():
    scores = np.array([[[0.70, 0.90, 0.92, 0.91], [0.60, 0.88, 0.90, 0.93]]])
    found = Contest(("one",), np.array([2, 3, 5, 8]), scores, 0, "accuracy", {})
    assert found.fewest_good() == 5  # 0.91 of 0.92 ± 0.01
    data = kp.datasets.make_xor(200, 10, order=2, random_state=0)
    selector = kp.AutoPathSelector(candidates=["interaction", "lp-kta"], cv=3)
    chosen = selector.fit(data.X, data.y).get_support(indices=True)
    assert chosen.tolist() == data.relevant.tolist()
