"""Scores of every size in every fold: what is refused, what is computed, what is stored."""

from __future__ import annotations

import json
import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from scipy import sparse

from kernelpath.errors import DataError
from kernelpath.evaluation.scores import PathScores, score_text
from kernelpath.path.feature_path import Supports

PER_FOLD = np.array([[0.6, 0.8, 0.9], [0.7, 0.9, 0.8], [0.5, 0.85, 0.88]])
CHOSEN = np.zeros((3, 3, 6), dtype=bool)  # folds, sizes, columns
for fold, order in enumerate([[0, 1, 2, 3], [0, 2, 1, 5], [4, 0, 1, 3]]):
    for row, size in enumerate([1, 2, 4]):
        CHOSEN[fold, row, order[:size]] = True


def make_scores(**changes):
    arguments = {
        "n_features": [1, 2, 4],
        "per_fold": PER_FOLD,
        "supports": CHOSEN,
        "parameters": [[1.0, 1.2, np.nan]] * 3,
        "predictors": [["joint_rbf", "joint_rbf", "linear"]] * 3,
        "chance": [0.5, 0.52, 0.51],
        "scoring": "accuracy",
    }
    return PathScores(**(arguments | changes))


def unfinished(*folds):
    per_fold = PER_FOLD.copy()
    per_fold[list(folds)] = np.nan
    return per_fold


def test_means_and_errors_are_those_of_the_definition():
    scores = make_scores()
    for j, column in enumerate(PER_FOLD.T):
        mean = sum(column) / 3
        deviation = (sum((column - mean) ** 2) / 2) ** 0.5
        assert scores.mean[j] == pytest.approx(mean)
        assert scores.se[j] == pytest.approx(deviation / 3**0.5)
        assert scores.at(n_features=[1, 2, 4][j]) == (scores.mean[j], scores.se[j])
    assert scores.n_folds == 3
    assert scores.n_columns == 6
    assert scores.chance_mean == pytest.approx(0.51)
    assert scores.n_features.dtype == scores.n_used.dtype == np.int64
    np.testing.assert_array_equal(scores.n_used, [[1, 2, 4]] * 3)
    np.testing.assert_array_equal(scores.supports[1].indices(1), [0, 2])
    assert scores.predictors[0] == ("joint_rbf", "joint_rbf", "linear")


def test_what_is_not_given_is_unknown():
    scores = PathScores([3, 7], [[0.1, 0.2]])
    assert scores.supports == ()
    assert scores.n_columns is None
    assert np.isnan(scores.parameters).all()
    assert np.isnan(scores.chance).all()
    assert np.isnan(scores.chance_mean)
    assert scores.predictors == (("", ""),)
    np.testing.assert_array_equal(scores.n_used, [[3, 7]])


def test_one_fold_has_no_standard_error():
    scores = PathScores([1, 2], [[0.4, 0.6]])
    np.testing.assert_array_equal(scores.mean, [0.4, 0.6])
    assert np.isnan(scores.se).all()
    assert (
        repr(scores) == "PathScores(score, 2 sizes from 1 to 2, 1 fold, best 0.600 at 2 features)"
    )


def test_unfinished_folds_do_not_count():
    scores = make_scores(per_fold=unfinished(1))
    np.testing.assert_array_equal(scores.finished, [True, False, True])
    np.testing.assert_allclose(scores.mean, PER_FOLD[[0, 2]].mean(axis=0))
    np.testing.assert_allclose(scores.se, PER_FOLD[[0, 2]].std(axis=0, ddof=1) / 2**0.5)
    assert scores.chance_mean == pytest.approx(0.505)
    assert "2 of 3 folds" in repr(scores)
    one = make_scores(per_fold=unfinished(0, 1))
    np.testing.assert_array_equal(one.mean, PER_FOLD[2])
    assert np.isnan(one.se).all()
    none = make_scores(per_fold=unfinished(0, 1, 2))
    assert np.isnan(none.mean).all()
    assert np.isnan(none.se).all()
    assert np.isnan(none.chance_mean)
    assert len(none.reaching(-1.0)) == 0
    assert repr(none) == "PathScores(accuracy, 3 sizes from 1 to 4, 0 of 3 folds)"
    with pytest.raises(DataError, match="no fold is finished"):
        none.best()


def test_a_chance_that_one_fold_does_not_know():
    scores = make_scores(chance=[0.5, np.nan, 0.6])
    assert scores.chance_mean == pytest.approx(0.55)


def test_a_fold_with_fewer_usable_columns():
    chosen = CHOSEN.copy()
    chosen[2, 2] = chosen[2, 1]
    scores = make_scores(supports=chosen)
    np.testing.assert_array_equal(scores.n_used[2], [1, 2, 2])
    assert scores == make_scores(supports=chosen, n_used=[[1, 2, 4], [1, 2, 4], [1, 2, 2]])
    with pytest.raises(ValueError, match="sizes of the supports"):
        make_scores(supports=chosen, n_used=[[1, 2, 4]] * 3)
    # what an unfinished fold holds is not judged
    make_scores(per_fold=unfinished(2), supports=chosen, n_used=[[1, 2, 4]] * 3)


def test_sizes_that_were_not_scored():
    scores = make_scores()
    with pytest.raises(DataError, match="smaller size is 2, the nearest larger size is 4"):
        scores.at(n_features=3)
    with pytest.raises(DataError, match="none is smaller"):
        scores.at(n_features=0)
    for wrong in (2.0, True, "2", None):
        with pytest.raises(TypeError, match="integer"):
            scores.at(n_features=wrong)
    assert scores.position(np.int32(4)) == 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_features": [1, 1, 4]}, "increasing"),
        ({"n_features": [4, 2, 1]}, "increasing"),
        ({"n_features": [0, 2, 4]}, "at least 1"),
        ({"n_features": []}, "at least one size"),
        ({"n_features": [1.0, 2.0, 4.5]}, "integers"),
        ({"n_features": [[1, 2, 4]]}, "one dimension"),
        ({"per_fold": PER_FOLD[:, :2]}, r"per_fold must have shape \(n_folds, 3\)"),
        ({"per_fold": PER_FOLD[0]}, "per_fold"),
        ({"per_fold": np.empty((0, 3))}, "at least one row"),
        ({"per_fold": [["a", "b", "c"]]}, "matrix of numbers"),
        ({"per_fold": np.where(PER_FOLD == 0.5, np.nan, PER_FOLD)}, "fold 2 has scores for some"),
        ({"per_fold": np.where(PER_FOLD == 0.5, -np.inf, PER_FOLD)}, "infinite"),
        ({"supports": CHOSEN[:2]}, "each of 3 folds"),
        ({"supports": CHOSEN[:, :2]}, "supports of fold 0 must have 3 rows"),
        ({"supports": [*CHOSEN[:2], CHOSEN[2, :, :5]]}, "supports of fold 2 have shape"),
        ({"parameters": [1.0, 2.0, 3.0]}, "parameters"),
        ({"predictors": [["a", "b", "c"]]}, "3 folds of 3 names"),
        ({"predictors": 3}, "3 folds of 3 names"),
        ({"predictors": [["a", "b", 1]] * 3}, "strings"),
        ({"n_used": [[1, 2, 5]] * 3}, "from 0 to n_features"),
        ({"n_used": [[-1, 2, 4]] * 3}, "from 0 to n_features"),
        ({"n_used": [[1, 2]] * 3}, r"n_used must have shape \(3, 3\)"),
        ({"chance": [0.5]}, "chance"),
    ],
)
def test_what_does_not_fit_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        make_scores(**changes)


def test_scores_are_frozen_and_leave_the_arrays_of_the_caller_alone():
    given = PER_FOLD.copy()
    scores = make_scores(per_fold=given)
    given[0, 0] = 9.0
    assert scores.per_fold[0, 0] == 0.6
    for array in (scores.per_fold, scores.n_features, scores.n_used, scores.parameters):
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 0
    for name in ("per_fold", "mean", "new"):
        with pytest.raises(FrozenInstanceError):
            setattr(scores, name, 1)
    assert given.flags.writeable


def test_content_decides_equality():
    scores = make_scores()
    assert scores == make_scores(supports=[Supports(sparse.csr_array(m)) for m in CHOSEN])
    assert scores == pickle.loads(pickle.dumps(scores))
    other = CHOSEN.copy()
    other[0, 0, :2] = [False, True]
    for changes in ({"per_fold": PER_FOLD + 1}, {"supports": other}, {"supports": ()},
                    {"scoring": "r2"}, {"chance": None}, {"predictors": None}):  # fmt: skip
        assert scores != make_scores(**changes)
    assert scores != "scores"


@pytest.mark.parametrize(
    "changes",
    [{}, {"supports": ()}, {"per_fold": unfinished(1)}, {"supports": np.zeros((3, 3, 6), bool)}],
)
def test_state_goes_through_json_and_arrays(changes):
    scores = make_scores(**changes)
    meta, arrays = scores.to_state()
    assert not any(array.dtype.hasobject for array in arrays.values())
    again = PathScores.from_state(json.loads(json.dumps(meta, allow_nan=False)), arrays)
    assert again == scores
    assert repr(again) == repr(scores)


def test_a_damaged_state_is_refused():
    meta, arrays = make_scores().to_state()
    for name in arrays:
        with pytest.raises(ValueError, match=name):
            PathScores.from_state(meta, {k: v for k, v in arrays.items() if k != name})
    for name in meta:
        with pytest.raises(ValueError, match=name):
            PathScores.from_state({k: v for k, v in meta.items() if k != name}, arrays)
    for changes in (
        {"supports_indices": arrays["supports_indices"][:-1]},
        {"supports_indices": arrays["supports_indices"] + 6},
        {"supports_indptr": arrays["supports_indptr"][:, ::-1]},
        {"supports_indptr": -arrays["supports_indptr"]},
    ):
        with pytest.raises(ValueError, match="support"):
            PathScores.from_state(meta, arrays | changes)
    for n_columns in (3, -1, "6", True):
        with pytest.raises(ValueError, match=r"n_columns|CSR"):
            PathScores.from_state(meta | {"n_columns": n_columns}, arrays)


def test_frame():
    frame = make_scores().to_frame()
    assert list(frame.columns) == ["n_features", "mean", "se", "fold_0", "fold_1", "fold_2"]
    np.testing.assert_array_equal(frame["fold_1"], PER_FOLD[1])
    assert frame["n_features"].dtype == np.int64
    frame.loc[0, "fold_0"] = 5.0  # a copy, so the scores stay as they are
    assert make_scores().per_fold[0, 0] == 0.6


def test_rounding_does_not_decide_ties():
    noise = [0.1, 0.2, 0.3]
    per_fold = np.array([noise, noise[::-1]]).T  # the same scores, summed in two orders
    per_fold = np.column_stack([per_fold[:, 0] - 1e-16, per_fold[:, 1] + 1e-16])
    scores = PathScores([2, 9], per_fold)
    assert scores.mean[1] > scores.mean[0]
    assert scores.best() == 0
    apart = PathScores([2, 9], per_fold + np.array([0.0, 1e-9]))
    assert apart.best() == 1


def test_one_disastrous_size_does_not_blur_the_others():
    scores = PathScores([1, 2, 3], [[-1e13, 0.5, 0.501], [-1e13, 0.5, 0.501]])
    assert scores.best() == 2
    np.testing.assert_array_equal(scores.reaching(0.5), [1, 2])


@pytest.mark.parametrize(
    ("score", "se", "text"),
    [
        (0.8941, 0.0083, "0.894 +- 0.008"),
        (0.5, np.nan, "0.500"),
        (0.0, 0.0, "0.000 +- 0.000"),
        (0.8, 1e-17, "0.800 +- 0.000"),
        (0.8, 0.0001, "0.800 +- 0.0001"),
        (-12345.6, 210.4, "-12346 +- 210"),
        (-12345.6, 0.25, "-12346 +- 0.25"),
        (1.23456e-5, 2e-7, "1.235e-05 +- 2e-07"),
        (np.nan, np.nan, "nan"),
    ],
)
def test_scores_are_written_for_reading(score, se, text):
    assert score_text(score, se) == text
    assert score_text(score, se, "±") == text.replace("+-", "±")
