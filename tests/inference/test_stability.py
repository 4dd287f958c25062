"""Stability selection: counts against plain loops, any table, any number of jobs, interrupts."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.feature_selection import f_classif
from sklearn.linear_model import Lasso
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kernelpath as kp
from kernelpath.errors import DataError
from kernelpath.inference.bounds import expected_false
from kernelpath.inference.halves import Halving
from kernelpath.inference.pairs import PairCounts
from kernelpath.tracers.any_selector import trace

CALLS: list = []
STOP = {"at": None}


def ring(n=80, d=12, seed=80):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 1] ** 2 + X[:, 3] ** 2 > 1.5, "out", "in")


class Spy(BaseEstimator):
    """Ranks by F; counts its fits, and stops at one of them."""

    def fit(self, X, y):
        CALLS.append(len(y))
        if STOP["at"] is not None and len(CALLS) >= STOP["at"]:
            raise KeyboardInterrupt
        self.scores_ = f_classif(X, y)[0]
        return self


@pytest.fixture(autouse=True)
def _no_calls():
    CALLS.clear()
    STOP["at"] = None
    yield
    STOP["at"] = None


def slow_probabilities(selector, X, y, sizes, n_pairs, classes, seed=0):
    """Plain loops over pairs, halves, sizes and features."""
    halving = Halving.of(y, classes)
    chosen = np.zeros((len(sizes), X.shape[1]))
    both = np.zeros_like(chosen)
    for number in range(n_pairs):
        sides = []
        for rows in halving.pair(seed, number):
            path = trace(selector, X[rows], y[rows])
            sides.append([set(path.at(k).columns.tolist()) for k in sizes])
        for i in range(len(sizes)):
            for j in range(X.shape[1]):
                chosen[i, j] += (j in sides[0][i]) + (j in sides[1][i])
                both[i, j] += j in sides[0][i] and j in sides[1][i]
    return chosen / (2 * n_pairs), both / n_pairs


def same(a, b):
    np.testing.assert_array_equal(a.n_features_, b.n_features_)
    np.testing.assert_array_equal(a.probabilities_, b.probabilities_)
    np.testing.assert_array_equal(a.simultaneous_, b.simultaneous_)
    assert a.stable_ == b.stable_


# -- what is counted -------------------------------------------------------------------------------


def test_probabilities_are_those_of_plain_loops():
    X, y = ring(n=160)
    selector = kp.LpKTASelector(bandwidth="std")  # 80 rows are few for three widths
    model = kp.StabilityPath(selector, 6, sizes=[1, 2, 5], n_features=2).fit(X, y)
    shares, both = slow_probabilities(selector, X, y, [1, 2, 5], 6, True)
    np.testing.assert_allclose(model.probabilities_, shares, atol=1e-15)
    np.testing.assert_allclose(model.simultaneous_, both, atol=1e-15)
    np.testing.assert_allclose(model.scores_, shares.mean(axis=0), atol=1e-15)
    assert np.any((shares > 0) & (shares < 1))  # not all alike
    expected = shares[1] >= 0.75
    np.testing.assert_array_equal(model.get_support(), expected)
    assert set(np.flatnonzero(expected)) == {1, 3}


def test_a_quantity_and_a_ranking_function_are_taken():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(61, 8))
    y = X[:, 2] + 0.5 * rng.normal(size=61)

    def rank(X, y):
        return np.abs(X.T @ (y - y.mean()))

    model = kp.StabilityPath(rank, 5, sizes=[1, 3], random_state=3).fit(X, y)
    shares, _ = slow_probabilities(rank, X, y, [1, 3], 5, False, seed=3)
    np.testing.assert_allclose(model.probabilities_, shares, atol=1e-15)
    assert model.task_ == "regression"


@pytest.mark.parametrize(
    "selector", [make_pipeline(StandardScaler(), Lasso(0.01)), kp.NMMKLSelector([1, 2])]
)
def test_other_selectors_are_taken(selector):
    X, y = ring()
    y = (y == "out").astype(int)
    model = kp.StabilityPath(selector, 2).fit(X, y)
    sizes = np.array([1, 2]) if not hasattr(selector, "steps") else np.arange(1, 7)
    np.testing.assert_array_equal(model.n_features_, sizes)
    np.testing.assert_allclose(model.probabilities_.sum(axis=1), sizes)


def test_shares_at_a_size_add_up_to_it():
    X, y = ring()
    model = kp.StabilityPath(n_pairs=4).fit(X, y)
    np.testing.assert_allclose(model.probabilities_.sum(axis=1), model.n_features_)
    assert (model.simultaneous_ <= model.probabilities_ + 1e-12).all()
    assert (model.simultaneous_ >= 2 * model.probabilities_ - 1 - 1e-12).all()
    np.testing.assert_array_equal(model.n_features_, np.arange(1, 7))  # half of the columns
    columns = [3, 1]
    np.testing.assert_array_equal(model.probabilities_of(columns), model.probabilities_[:, columns])


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_results_do_not_depend_on_the_number_of_jobs(n_jobs):
    X, y = ring()
    one = kp.StabilityPath(f_classif, 4, sizes=[1, 4], n_features=4).fit(X, y)
    same(kp.StabilityPath(f_classif, 4, sizes=[1, 4], n_features=4, n_jobs=n_jobs).fit(X, y), one)


def test_column_order_does_not_matter():
    X, y = ring()
    order = np.random.default_rng(1).permutation(X.shape[1])
    one, other = (kp.StabilityPath(n_pairs=4).fit(Z, y) for Z in (X, X[:, order]))
    np.testing.assert_allclose(other.probabilities_, one.probabilities_[:, order], atol=1e-15)


# -- which are stable ------------------------------------------------------------------------------


def test_auto_takes_the_largest_size_that_the_bound_allows():
    X, y = ring(d=40)
    model = kp.StabilityPath(f_classif, 3, max_false=0.5, threshold=0.8).fit(X, y)
    every = [k for k in range(1, 41) if expected_false(k, 40, 0.8, 3) <= 0.5]
    assert model.stable_.n_features == max(every)
    assert model.stable_.expected_false == expected_false(max(every), 40, 0.8, 3)
    strict = model.stable_features(1.0, "auto")
    known = [k for k in model.n_features_ if expected_false(int(k), 40, 1.0, 3) <= 0.5]
    assert strict.n_features == max(known) > max(every)
    assert model.bound(1.0, 2, "none") == pytest.approx(4 / 40)
    assert model.bound() == model.stable_.expected_false


def test_a_size_between_those_of_the_grid_is_counted_when_it_is_wanted():
    X, y = ring(d=120)
    assert 41 not in kp.StabilityPath(f_classif, 1).fit(X, y).n_features_
    model = kp.StabilityPath(f_classif, 1, n_features=41).fit(X, y)
    assert model.stable_.n_features == 41 in model.n_features_


def test_a_bound_that_cannot_be_kept_is_said():
    X, y = ring(d=4)
    with pytest.warns(UserWarning, match="max_false=0.01 cannot be kept: with 1 feature"):
        model = kp.StabilityPath(n_pairs=2, max_false=0.01).fit(X, y)
    assert model.stable_.n_features == 1


def test_constant_columns_are_no_candidates():
    X, y = ring()
    X[:, [0, 5]] = 3.0
    with pytest.warns(UserWarning, match="Columns 0, 5 are constant"):
        model = kp.StabilityPath(n_pairs=2, sizes=[2]).fit(X, y)
    assert model.n_candidates_ == 10
    assert model.bound(0.75, 2, "none") == pytest.approx(4 / (0.5 * 10))


def test_tables_say_what_was_found():
    X, y = ring(n=160)
    frame = pd.DataFrame(X, columns=list("abcdefghijkl"))
    model = kp.StabilityPath(n_pairs=5, n_features=3).fit(frame, y)
    sizes = model.to_frame()
    shares = model.probabilities_
    np.testing.assert_array_equal(sizes["n_stable"], (shares >= 0.75).sum(axis=1))
    np.testing.assert_array_equal(sizes["n_chosen"], (shares > 0).sum(axis=1))
    np.testing.assert_array_equal(model.to_frame(1.0)["n_stable"], (shares == 1).sum(axis=1))
    assert sizes["expected_false"].tolist() == [model.bound(n_features=k) for k in range(1, 7)]
    own = model.of(3)
    assert own["probability"].is_monotonic_decreasing
    np.testing.assert_array_equal(own["probability"], shares[2][own["feature"]])
    np.testing.assert_array_equal(own["simultaneous"], model.simultaneous_[2][own["feature"]])
    assert own["name"].tolist() == [frame.columns[j] for j in own["feature"]]
    assert set(own[own["stable"]]["name"]) == set(model.stable_.names)
    assert model.stable_.to_frame()["name"].tolist() == list(model.stable_.names)
    assert repr(model.stable_).startswith("StableFeatures(2 of 12 columns at size 3, threshold 0.7")
    assert model.transform(frame).shape == (160, 2)
    assert set(model.get_feature_names_out()) == {"b", "d"}


def test_the_bound_holds_where_nothing_is_relevant():
    """120 tables of noise: the mean number of stable features is below the bound."""
    counts = []
    for seed in range(120):
        X = np.random.default_rng(seed).normal(size=(40, 30))
        y = np.arange(40) % 2
        model = kp.StabilityPath(f_classif, 5, sizes=[5], n_features=5, threshold=0.7).fit(X, y)
        counts.append(len(model.stable_))
    counts = np.array(counts)
    assert 0 < counts.mean() <= model.bound() + 2 * counts.std() / np.sqrt(len(counts))
    assert model.bound() < model.bound(assumption="none")


# -- any table -------------------------------------------------------------------------------------


def test_sparse_stays_sparse():
    rng = np.random.default_rng(2)
    X = sp.random_array((60, 40), density=0.2, rng=rng, format="csr")
    y = (X[:, [3]].toarray().ravel() > 0).astype(int)
    dense = kp.StabilityPath(n_pairs=3, sizes=[1, 2], n_features=2).fit(X.toarray(), y)

    def rank(Z, y):
        assert sp.issparse(Z)
        return np.asarray(Z.sum(axis=0)).ravel()

    kp.StabilityPath(rank, 2).fit(X, y)
    same(kp.StabilityPath(n_pairs=3, sizes=[1, 2], n_features=2).fit(X, y), dense)


def test_text_missing_values_and_rows_without_target():
    X, y = ring(n=200)
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(12)])
    frame["c1"] = np.where(np.abs(frame["c1"]) > 1, "far", "near")
    frame.loc[::20, "c3"] = np.nan
    target = pd.Series(y, dtype=object)
    target[[4, 9]] = None
    with pytest.warns(UserWarning, match="2 rows without a target"):
        model = kp.StabilityPath(n_pairs=4, n_features=2).fit(frame, target)
    kept = target.notna().to_numpy()
    same(kp.StabilityPath(n_pairs=4, n_features=2).fit(frame[kept], y[kept]), model)
    assert set(model.stable_.names) == {"c1", "c3"}
    polars = pytest.importorskip("polars")
    polar = polars.from_pandas(frame[kept])
    same(kp.StabilityPath(n_pairs=4, n_features=2).fit(polar, y[kept]), model)


def test_groups_are_not_divided():
    X, y = ring()
    groups = np.repeat(np.arange(20), 4)

    class Seen(BaseEstimator):
        def fit(self, X, y):
            CALLS.append(sorted(X[:, 11].astype(int).tolist()))
            self.scores_ = [*f_classif(X[:, :11], y)[0].tolist(), -1.0]
            return self

    X[:, 11] = groups
    kp.StabilityPath(Seen(), 3).fit(X, y, groups=groups)
    assert len(CALLS) == 7
    for one, other in zip(CALLS[1::2], CALLS[2::2]):
        assert not set(one) & set(other)
        assert len(set(one)) == len(set(other)) == 10
        assert all(one.count(g) == 4 for g in one)


def test_huge_numbers_and_must_include_are_taken():
    X, y = ring()
    scales = 10.0 ** np.linspace(-200, 200, 12)
    options = {"n_pairs": 3, "n_features": 2}
    plain = kp.StabilityPath(**options).fit(X, y)
    same(kp.StabilityPath(**options).fit(X * scales, y), plain)
    forced = kp.StabilityPath(kp.LpKTASelector(must_include=[7]), **options).fit(X, y)
    assert forced.probabilities_[:, 7].min() == 1.0


# -- interrupts ------------------------------------------------------------------------------------


@pytest.mark.parametrize("stop_at", [1, 2, 3, 6, 9])
@pytest.mark.parametrize("on_disk", [False, True])
def test_an_interrupted_fit_goes_on(stop_at, on_disk, tmp_path):
    X, y = ring()
    memory = tmp_path / "work" if on_disk else None
    whole = kp.StabilityPath(Spy(), 4).fit(X, y)
    assert len(CALLS) == 9
    CALLS.clear()
    STOP["at"] = stop_at
    model = kp.StabilityPath(Spy(), 4, memory=memory)
    with pytest.raises(KeyboardInterrupt) as caught:
        model.fit(X, y)
    done = max(stop_at - 2, 0) // 2
    if stop_at > 1:
        assert f"{done} of 4 pairs are counted" in caught.value.__notes__[0]
        assert ("work" in caught.value.__notes__[0]) == on_disk
    assert not hasattr(model, "stable_")
    STOP["at"] = None
    CALLS.clear()
    again = clone(model) if on_disk else model  # as in a new process
    same(again.fit(X, y), whole)
    assert len(CALLS) == 9 - 2 * done  # the path of all rows is traced again
    assert b"Spy" not in b"".join(f.read_bytes() for f in tmp_path.rglob("*.kpfold"))


def test_other_data_and_settings_do_not_take_what_is_kept(tmp_path):
    X, y = ring()
    kp.StabilityPath(Spy(), 3, memory=tmp_path).fit(X, y)
    for options, data in (
        ({"random_state": 1}, (X, y)), ({"n_pairs": 2}, (X, y)), ({"sizes": [1]}, (X, y)),
        ({}, (X + np.eye(80, 12), y)), ({}, (X, np.roll(y, 1))),
    ):  # fmt: skip
        CALLS.clear()
        n_pairs = options.pop("n_pairs", 3)
        kp.StabilityPath(Spy(), n_pairs, memory=tmp_path, **options).fit(*data)
        assert len(CALLS) == 1 + 2 * n_pairs
    CALLS.clear()
    kp.StabilityPath(Spy(), 3, memory=tmp_path).fit(X, y)
    assert len(CALLS) == 1


def test_a_damaged_file_counts_as_nothing(tmp_path):
    X, y = ring()
    whole = kp.StabilityPath(Spy(), 3, memory=tmp_path).fit(X, y)
    (file,) = tmp_path.glob("*.kpfold")
    file.write_bytes(file.read_bytes()[:-200])
    CALLS.clear()
    same(kp.StabilityPath(Spy(), 3, memory=tmp_path).fit(X, y), whole)
    assert len(CALLS) == 7


def test_counts_that_do_not_fit_are_refused():
    counts = PairCounts.empty(2, 1, 3)
    counts.add(1, ([np.array([0, 2])], [np.array([2])]))
    arrays = counts.arrays()
    PairCounts.forms(2, 1, 3).check(arrays)
    again = PairCounts.from_arrays(arrays, 3)
    np.testing.assert_array_equal(again.chosen.toarray(), counts.chosen.toarray())
    np.testing.assert_array_equal(again.done, [False, True])
    for name, value in (
        ("chosen_columns", np.array([0, 5])), ("chosen_counts", np.array([5, 1])),
        ("done", np.ones(3, bool)),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=name):
            PairCounts.forms(2, 1, 3).check(arrays | {name: value})
    with pytest.raises(ValueError, match="counted twice"):
        PairCounts.from_arrays(arrays | {"chosen_columns": np.array([2, 2])}, 3)


# -- scikit-learn ----------------------------------------------------------------------------------


def test_clone_settings_and_pickle():
    X, y = ring()
    model = kp.StabilityPath(kp.LpKTASelector(), 3, threshold=0.9, memory=None)
    assert clone(model).get_params()["threshold"] == 0.9
    model.fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    same(again, model)
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    model.set_params(n_pairs=7)
    np.testing.assert_array_equal(again.probabilities_, model.probabilities_)


def test_it_ranks_inside_path_cv():
    X, y = ring(n=120)
    model = kp.PathCV(
        kp.StabilityPath(n_pairs=3), cv=2, n_features=[1, 2], references=False,
        predictor=kp.JointRBFSVM(gamma=(1.0,), C=(10.0,)),
    ).fit(X, y)  # fmt: skip
    assert set(np.flatnonzero(model.path_.at(n_features=2).support)) == {1, 3}
    assert model.scores_.mean[1] > 0.75


def test_a_fit_forgets_the_one_before():
    X, y = ring()
    model = kp.StabilityPath(Spy(), 2, n_features=2).fit(X, y)
    STOP["at"] = len(CALLS) + 2
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:60], y[:60])
    with pytest.raises(Exception, match="not fitted"):
        _ = model.probabilities_


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_pairs": 0}, "n_pairs must be a whole number from 1 on, got 0"),
        ({"n_pairs": 2.5}, "n_pairs must be a whole number"),
        ({"threshold": 0.5}, "threshold must be a share of the halves, above 0.5 and at most 1"),
        ({"threshold": 1.01}, "threshold must be a share"),
        ({"threshold": "0.8"}, "threshold must be a share"),
        ({"n_features": 0}, "n_features must be 'auto' or a whole number from 1 on"),
        ({"n_features": "all"}, "n_features must be 'auto' or a whole number"),
        ({"max_false": 0}, "max_false must be a positive number"),
        ({"assumption": "concave"}, "assumption must be one of .*did you mean 'r-concave'"),
        ({"sizes": []}, "sizes is empty"),
        ({"sizes": [1.5]}, "sizes must be whole numbers of features, got 1.5"),
        ({"sizes": [0, 2]}, "sizes must lie between 1 and 12, the most that can be chosen, got 0"),
        ({"sizes": 13}, "sizes must lie between 1 and 12"),
        ({"n_features": 13}, "n_features=13, but at most 12 features can be chosen"),
        ({"n_features": 3, "sizes": [1, 2, 7]}, "there is no size of 3 features"),
        ({"n_jobs": 0}, "n_jobs must be None or a whole number other than 0, got 0"),
        ({"memory": 3}, "memory must be None or the path of a folder, got 3"),
        ({"missing": "ignore"}, "missing must be one of"),
        ({"identifiers": "ignore"}, "identifiers must be one of"),
        ({"task": "ranking"}, "task must be one of"),
    ],
)
def test_settings_are_refused_in_words(options, words):
    X, y = ring()
    with pytest.raises(ValueError, match=words):
        kp.StabilityPath(**{"n_pairs": 1, "selector": f_classif} | options).fit(X, y)


def test_data_are_refused_in_words():
    X, y = ring()
    model = kp.StabilityPath(f_classif, 1)
    with pytest.raises(DataError, match="X has 80 rows, but y has 79 values"):
        model.fit(X, y[1:])
    with pytest.raises(ValueError, match="requires y to be passed"):
        model.fit(X, None)
    with pytest.raises(DataError, match="groups has 3 values"):
        model.fit(X, y, groups=[1, 2, 3])
    with pytest.raises(TypeError, match="selector must be a selector of kernelpath"):
        kp.StabilityPath("lp-kta").fit(X, y)
    with pytest.raises(DataError, match="Class 'odd' has one row"):
        model.fit(X, np.append(y[1:], "odd"))
    with pytest.raises(DataError, match="infinity in column 2"):
        kp.StabilityPath(n_pairs=1).fit(np.where(np.arange(12) == 2, np.inf, X), y)
    fitted = model.fit(X, y)
    with pytest.raises(DataError, match="there is no size of 11 features"):
        fitted.of(11)
    with pytest.raises(ValueError, match="threshold must be a share"):
        fitted.stable_features(0.4)


def test_holes_are_refused_where_they_are_an_error():
    X, y = ring()
    X[3, 4] = np.nan
    with pytest.raises(DataError, match="contains NaN in column 4"):
        kp.StabilityPath(n_pairs=1, missing="error").fit(X, y)
    kp.StabilityPath(n_pairs=1, missing="impute").fit(X, y)
    with pytest.warns(UserWarning, match="1 row with missing values"):
        kp.StabilityPath(n_pairs=1, missing="drop").fit(X, y)
