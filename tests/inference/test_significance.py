"""``alignment_test``: adjusted p-values, refinement by permutations, tables, and refusals."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from scipy.stats import false_discovery_control

import kernelpath as kp
from alignment.chance_helpers import calibrated
from kernelpath.errors import ConstantColumnWarning, ReadingWarning
from kernelpath.path import significance
from reference.chance import discovered_by_e_values, feature_matrix, scale_of, target_matrix

N = 40
METHODS = ("bh", "by", "e-bh")


def _of(p):
    """A test with given p-values."""
    p = np.asarray(p, dtype=float)
    d = len(p)
    names = tuple(f"gene {j}" for j in range(d))
    return kp.AlignmentTest(np.arange(d), np.arange(d), np.log(p), np.ones(d), np.ones(d), names)


def _mixture(rng, d=60):
    """Some tiny p-values, ties and a 1 among null ones."""
    p = rng.random(d)
    p[:12] = p[:12] ** 6
    p[20:23] = p[20]
    p[30] = 1.0
    return p


def _table(seed=0, d=12):
    """Two relevant columns, the second as a bump."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, d))
    signal = X[:, 3] + 3.0 * (np.abs(X[:, 5]) < 0.6) + 0.3 * rng.normal(size=N)
    return X, np.where(signal > np.median(signal), "b", "a")


def _weak_table(target="classes", d=30):
    """Some columns near the threshold, some far from it."""
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(N, d)), rng.permutation(np.arange(N) % 2)
    X[:, :6] += np.linspace(0.8, 1.6, 6) * y[:, None]
    return X, np.array(["a", "b"])[y] if target == "classes" else y + 0.3 * rng.normal(size=N)


# -- adjusted p-values ----------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["bh", "by"])
@pytest.mark.parametrize("seed", range(4))
def test_adjusted_p_values_are_those_of_scipy(method, seed):
    p = _mixture(np.random.default_rng(seed))
    found = _of(p).adjusted(method)
    np.testing.assert_allclose(found, false_discovery_control(p, method=method), rtol=1e-12)
    if method == "bh":
        np.testing.assert_array_equal(found, _of(p).q_value)


@pytest.mark.parametrize("level", [0.05, 0.2, 0.5])
@pytest.mark.parametrize("seed", range(4))
def test_e_values_against_a_loop(level, seed):
    p = _mixture(np.random.default_rng(seed)) ** 2
    found = _of(p).discoveries(level, "e-bh")
    assert sorted(found.tolist()) == discovered_by_e_values(p, level)


def test_e_values_find_something():
    p = np.r_[np.full(3, 1e-8), np.linspace(0.1, 1.0, 17)]
    assert _of(p).discoveries(0.1, "e-bh").tolist() == [0, 1, 2]
    assert len(discovered_by_e_values(p, 0.1)) == 3


@pytest.mark.parametrize("method", METHODS)
def test_adjusted_p_values_are_probabilities_in_the_order_of_the_p_values(method):
    test = _of(_mixture(np.random.default_rng(5)))
    adjusted = test.adjusted(method)
    assert np.all((adjusted >= 0) & (adjusted <= 1))
    assert np.all(np.diff(adjusted[np.argsort(test.log_p, kind="stable")]) >= 0)
    assert len(test.discoveries(0.2, method)) == np.sum(adjusted <= 0.2)


def test_discoveries_come_in_order_and_ties_as_they_stand():
    test = _of([0.5, 1e-5, 1e-9, 1e-5, 0.9, 1e-7])
    assert test.discoveries(0.1).tolist() == [2, 5, 1, 3]
    assert test.discoveries(1e-8).tolist() == [2]
    assert test.discoveries(1e-12).tolist() == []


def test_p_values_that_no_number_holds_are_told_apart():
    log_p = np.array([-2000.0, -1500.0, -3000.0, -0.1])
    test = kp.AlignmentTest(*np.ones((2, 4)), log_p, *np.ones((2, 4)), tuple("abcd"))
    assert test.discoveries(0.01).tolist() == [2, 0, 1]
    assert test.p_value[:3].tolist() == [0.0, 0.0, 0.0]
    for method in METHODS:
        assert test.discoveries(0.01, method).tolist() == [2, 0, 1]


def test_by_and_e_values_claim_less_than_bh():
    p = _mixture(np.random.default_rng(6))
    counts = [len(_of(p).discoveries(0.1, method)) for method in METHODS]
    assert counts[0] > counts[1] >= counts[2]


# -- the object -----------------------------------------------------------------------------------


def test_nobody_can_change_it():
    given = np.log([0.1, 0.2])
    test = kp.AlignmentTest(*np.ones((2, 2)), given, *np.ones((2, 2)), ("a", "b"))
    given[0] = -50.0
    assert test.log_p[0] == np.log(0.1)
    with pytest.raises(ValueError, match="read-only"):
        test.log_p[0] = 0.0
    with pytest.raises(FrozenInstanceError):
        test.log_p = given
    frame = test.to_frame()
    frame.loc[0, "alignment"] = 99.0
    assert test.alignment[0] == 1.0


def test_frame_and_words():
    test = _of([0.5, 1e-30, 0.04])
    frame = test.to_frame()
    assert frame.columns.tolist() == ["feature", "alignment", "z", "p_value", "q_value", "width"]
    assert frame["feature"].tolist() == ["gene 0", "gene 1", "gene 2"]
    np.testing.assert_allclose(frame["p_value"], [0.5, 1e-30, 0.04])
    np.testing.assert_allclose(frame["q_value"], [0.5, 3e-30, 0.06])
    words = "AlignmentTest(3 features, 2 at a false discovery rate of 0.1, least p < 1e-10)"
    assert repr(test) == words
    assert "least p 0.04" in repr(_of([0.5, 0.04]))
    assert "1 feature," in repr(_of([0.5]))
    assert significance.shown_p(np.log(2e-10)) == "2e-10"


# -- tables ---------------------------------------------------------------------------------------


def test_it_is_the_calibrated_pass_over_the_columns():
    X, y = _table()
    test = kp.alignment_test(X, y)
    found = calibrated(X, y)
    for name, expected in (("alignment", found.values), ("z", found.z), ("log_p", found.log_p)):
        np.testing.assert_array_equal(getattr(test, name), expected)
    np.testing.assert_array_equal(test.width, found.width)
    np.testing.assert_array_equal(test.gamma, found.gamma)
    assert test.feature_names == tuple(f"x{j}" for j in range(X.shape[1]))
    assert set(test.discoveries(0.1).tolist()) >= {3, 5}
    assert test.discoveries(0.1, "by").tolist() == test.discoveries(0.1, method="by").tolist()


@pytest.mark.parametrize("bandwidth", ["std", "median", "multi", (1, 0.5), [0.3]])
def test_widths(bandwidth):
    X, y = _table()
    given = tuple(bandwidth) if isinstance(bandwidth, list) else bandwidth
    test = kp.alignment_test(X, y, bandwidth=bandwidth)
    np.testing.assert_array_equal(test.log_p, calibrated(X, y, bandwidth=given).log_p)


def test_names_of_frames():
    X, y = _table()
    names = [f"gene {j}" for j in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=names)
    expected = kp.alignment_test(X, y)
    for table in (frame, pl.from_pandas(frame)):
        for target in (y, pd.Series(y), pl.Series(y), y.tolist()):
            test = kp.alignment_test(table, target)
            assert test.feature_names == tuple(names)
            np.testing.assert_allclose(test.log_p, expected.log_p, rtol=1e-12)
    numbered = kp.alignment_test(pd.DataFrame(X), y)
    assert numbered.feature_names[:2] == ("0", "1")


def test_text_dates_and_missing_cells():
    X, y = _table()
    towns = np.where(y == "a", "Ulm", "Bonn")
    towns[:6] = "Rom"
    frame = pd.DataFrame({"x": X[:, 0], "town": towns, "visit": pd.date_range("2024", periods=N)})
    frame["town"] = frame["town"].astype("category")
    frame.loc[3, "visit"] = pd.NaT
    with pytest.warns(ReadingWarning, match="Dates count as days.*'visit'"):
        test = kp.alignment_test(frame, y)
    assert test.discoveries(0.01).tolist() == [1]
    assert np.isnan(test.width).tolist() == [False, True, False]
    days = np.where(np.arange(N) == 3, np.nan, np.arange(N, dtype=float))
    expected = kp.alignment_test(np.column_stack([X[:, 0], days]), y)
    np.testing.assert_allclose(test.log_p[[0, 2]], expected.log_p, rtol=1e-3)
    with pytest.warns(ReadingWarning):
        polars = kp.alignment_test(pl.from_pandas(frame), y)
    np.testing.assert_allclose(polars.log_p, test.log_p, rtol=1e-12)


def test_sparse_tables_stay_sparse():
    rng = np.random.default_rng(1)
    X = sp.random_array((N, 100), density=0.25, rng=rng, format="csr")
    y = np.arange(N) % 2
    np.testing.assert_allclose(
        kp.alignment_test(X, y).log_p, kp.alignment_test(X.toarray(), y).log_p, rtol=1e-6
    )


def test_constant_columns_are_reported_and_certain():
    X, y = _table()
    X[:, 2] = 5.0
    with pytest.warns(UserWarning, match=r"2.*constant"):
        test = kp.alignment_test(X, y)
    assert (test.p_value[2], test.alignment[2]) == (1.0, 0.0)
    assert np.isnan(test.z[2])
    assert 2 not in test.discoveries(0.999)
    without = kp.alignment_test(np.delete(X, 2, axis=1), y)  # nor does it count
    np.testing.assert_allclose(np.delete(test.q_value, 2), without.q_value, rtol=1e-6)


def test_threads_and_progress_change_nothing():
    X, y = _table()
    calls = []
    first = kp.alignment_test(X, y, n_jobs=2, progress=lambda *call: calls.append(call))
    np.testing.assert_array_equal(first.log_p, kp.alignment_test(X, y, n_jobs=1).log_p)
    assert calls[-1] == (12, 12)


@pytest.mark.slow  # without compiled loops
@pytest.mark.parametrize("method", METHODS)
def test_few_false_discoveries(method):
    """The share of false discoveries over 30 tables with ten relevant columns."""
    shares, found = [], []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(100, 100))
        y = rng.integers(0, 2, 100)
        X[:, :10] += 1.2 * y[:, None]
        hits = kp.alignment_test(X, y).discoveries(0.1, method)
        shares.append(np.mean(hits >= 10) if len(hits) else 0.0)
        found.append(np.sum(hits < 10))
    assert np.mean(shares) < 0.1 + 3 * np.std(shares) / np.sqrt(30)
    assert np.mean(found) > (7 if method == "bh" else 2)


# -- refinement by permutations -------------------------------------------------------------------


def _brute_force(X, y, seen, draws, rng):
    """Share of drawn permutations with a p-value as small, for every column."""
    reached = np.zeros(X.shape[1])
    for _ in range(draws):
        reached += kp.alignment_test(X, rng.permutation(y)).log_p <= seen + 1e-9
    return (reached + 1) / (draws + 1)


@pytest.mark.slow  # without compiled loops
def test_p_values_near_the_threshold_are_refined():
    X, y = _weak_table()
    plain = kp.alignment_test(X, y)
    refined = kp.alignment_test(X, y, permutations=1500, random_state=0)
    threshold = np.log(0.1 * max(len(plain.discoveries(0.1)), 1) / 30)
    near = np.abs(plain.log_p - threshold) < np.log(10.0)
    assert 3 <= near.sum() < 20
    np.testing.assert_array_equal(refined.log_p[~near], plain.log_p[~near])
    assert np.all(refined.log_p[near] != plain.log_p[near])
    np.testing.assert_array_equal(refined.z, plain.z)
    part = X[:, near]
    p = _brute_force(part, y, plain.log_p[near], 1500, np.random.default_rng(1))
    # Both are counts: twenty of those that reach, and of 1,500.
    error = np.abs(refined.log_p[near] - np.log(p))
    assert np.all(error < 4 * np.sqrt(1 / 20 + 1 / (1500 * p)))


@pytest.mark.slow  # without compiled loops
def test_one_width_against_dense_permutations():
    rng = np.random.default_rng(6)
    y = np.arange(N) % 2
    X = rng.normal(size=(N, 6))
    X[:, 0] += 0.75 * y
    refined = kp.alignment_test(X, y, bandwidth="std", permutations=3000, random_state=2, level=0.2)
    plain = kp.alignment_test(X, y, bandwidth="std")
    assert refined.log_p[0] != plain.log_p[0]
    A = feature_matrix(X[:, 0], "rbf", 0.5 / scale_of(X[:, 0]) ** 2).astype(float)
    B = target_matrix(y, "classification").astype(float)
    q = [np.sum(A * B[np.ix_(o, o)]) for o in (rng.permutation(N) for _ in range(4000))]
    p = np.mean(np.array(q) >= np.sum(A * B))
    assert abs(refined.log_p[0] - np.log(p)) < 4 * np.sqrt(1 / 20 + 1 / (4000 * p))


@pytest.mark.filterwarnings("ignore:permutations=")
@pytest.mark.slow  # without compiled loops
@pytest.mark.parametrize("target", ["classes", "numbers"])
def test_refinement_is_the_same_for_a_seed(target):
    X, y = _weak_table(target)
    options = {"permutations": 2500, "bandwidth": "std"}
    first = kp.alignment_test(X, y, random_state=7, **options)
    again = kp.alignment_test(X, y, random_state=7, **options)
    other = kp.alignment_test(X, y, random_state=8, **options)
    np.testing.assert_array_equal(first.log_p, again.log_p)
    assert np.any(first.log_p != other.log_p)
    moved = first.log_p != kp.alignment_test(X, y, bandwidth="std").log_p
    assert moved.any()


def test_permutations_that_are_too_few_settle_nothing_that_is_rare():
    X, y = _weak_table()
    plain = kp.alignment_test(X, y, bandwidth="std")
    with pytest.warns(UserWarning, match="permutations=25 is too few to decide"):
        few = kp.alignment_test(X, y, bandwidth="std", permutations=25, random_state=0)
    moved = few.log_p != plain.log_p
    assert np.all(few.p_value[moved] >= 20 / 25)
    best = plain.log_p.argmin()
    assert few.log_p[best] == plain.log_p[best]


@pytest.mark.filterwarnings("ignore:permutations=")
@pytest.mark.slow  # without compiled loops
def test_refinement_of_mixed_columns_with_widths_of_their_own():
    X, y = _weak_table(d=8)
    gamma = np.linspace(0.2, 2.0, 8)
    plain = kp.alignment_test(X, y, bandwidth="std", gamma=gamma)
    options = {"bandwidth": "std", "gamma": gamma, "permutations": 200, "random_state": 0}
    refined = kp.alignment_test(X, y, **options)
    moved = refined.log_p != plain.log_p
    assert moved.any()
    assert np.all(np.abs(refined.log_p - plain.log_p)[moved] < 1.5)
    frame = pd.DataFrame(X[:, :3], columns=list("abc")).assign(town=np.where(y == "a", "U", "B"))
    frame.loc[::3, "town"] = "R"
    options = {"permutations": 50, "random_state": 0}
    mixed = kp.alignment_test(frame, y, **options)
    sparse = kp.alignment_test(sp.csr_array(np.round(X)), y, **options)
    assert np.isfinite(mixed.log_p).all()
    assert np.isfinite(sparse.log_p).all()


# -- refusals -------------------------------------------------------------------------------------


def _refused(*words, X=None, y=None, error=ValueError, **options):
    """One sentence with all the words."""
    table, target = _table()
    X, y = table if X is None else X, target if y is None else y
    with pytest.raises(error) as caught:
        kp.alignment_test(X, y, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert not [word for word in words if word not in message], message


def test_too_few_rows():
    X, y = _table()
    _refused("7 rows", "at least 8", "bandwidth='std'", X=X[:7], y=np.arange(7) % 2)
    assert len(kp.alignment_test(X[:8], np.arange(8) % 2).log_p) == 12
    with pytest.raises(kp.DataError, match=r"7 rows.*at least 8"):
        kp.alignments(X[:7], np.arange(7) % 2, bandwidth="multi")
    weights = np.r_[1.0, np.full(N - 1, 1e-9)]
    with pytest.raises(kp.DataError, match="40 rows, which with their weights are worth 1"):
        kp.alignments(X, y, bandwidth="multi", sample_weight=weights)


def test_targets():
    X, y = _table()
    _refused("one class only", y=np.zeros(N), error=kp.DataError)
    _refused("constant", y=np.full(N, 0.5), error=kp.DataError, task="regression")
    _refused("40 rows", "39 values", y=y[:-1], error=kp.DataError)
    _refused("NaN", y=np.where(np.arange(N) % 2, np.nan, 1.0), error=kp.DataError)
    with pytest.raises(kp.DataError, match="y is None"):
        kp.alignment_test(X, None)


def test_tables():
    X, _ = _table()
    _refused("constant", "nothing to test", X=np.ones((N, 3)), error=kp.DataError)
    _refused("constant", X=sp.csr_array((N, 3)), error=kp.DataError)
    _refused("0 feature", X=np.empty((N, 0)))
    _refused("infinity in column 4", X=np.where(np.arange(12) == 4, np.inf, X), error=kp.DataError)
    text = pd.DataFrame({"town": np.where(np.arange(N) % 2, "Ulm", "Bonn")})
    _refused("'town'", "kernel='auto'", X=text, kernel="rbf", error=kp.DataError)


@pytest.mark.parametrize("level", [0, 1, -0.1, 1.5, np.nan, "0.1", None, True])
def test_levels(level):
    _refused("level", level=level)
    with pytest.raises(ValueError, match="level"):
        _of([0.1]).discoveries(level)


@pytest.mark.parametrize(
    "bandwidth",
    [
        -1.0, 0.5, 0.0, None, "wide", (), [], (1, 1.0), (1.0, -0.5), (0.0,), ("a",), (None,),
        (np.nan,), (np.inf,), (True,), (1e-3,), (200.0,), tuple(range(1, 10)), {1.0, 0.5},
    ],
)  # fmt: skip
def test_bandwidths(bandwidth):
    _refused("bandwidth must be 'std', 'median', 'multi' or a tuple", bandwidth=bandwidth)
    X, y = _table()
    with pytest.raises(ValueError, match="bandwidth must be"):
        kp.alignments(X, y, bandwidth=bandwidth)


def test_eight_widths_are_allowed():
    X, y = _table()
    widths = (100.0, *(2.0**-k for k in range(7)))
    assert np.isfinite(kp.alignment_test(X, y, bandwidth=widths).log_p).all()


def test_gamma_beside_several_widths():
    _refused("gamma", "bandwidth='multi' has no effect", "bandwidth='std'", gamma=1.0)
    _refused("no effect beside gamma", gamma=np.ones(12), bandwidth=(1.0, 0.5))
    X, y = _table()
    test = kp.alignment_test(X, y, gamma=0.5, bandwidth="std")
    np.testing.assert_array_equal(test.gamma, 0.5)


def test_other_settings():
    _refused("method must be one of 'auto', 'exact'", method="fast")
    _refused("kernel must be one of", kernel="gaussian")
    _refused("gamma must be positive", gamma=-1.0, bandwidth="std")
    _refused("task", task="ranking")
    for permutations in (-1, 2.5, "many", True, None):
        _refused("permutations must be a whole number from 0 on", permutations=permutations)
    _refused("seed", permutations=5000, random_state="today")
    for method in ("holm", None, 3):
        with pytest.raises(ValueError, match="method must be one of 'bh', 'by', 'e-bh'"):
            _of([0.1]).adjusted(method)
        with pytest.raises(ValueError, match="method must be one of"):
            _of([0.1]).discoveries(0.1, method)


def test_weights_are_refused():
    X, y = _table()
    with pytest.raises(kp.DataError, match="takes no sample_weight: rows of different weight"):
        kp.alignment_test(X, y, sample_weight=np.ones(N))


def test_columns_that_name_rows_are_left_out_as_by_selectors():
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    y = x + rng.normal(size=60) > 0
    frame = pd.DataFrame({"x": x, "name": [f"n{i}" for i in range(60)], "row_id": np.arange(60)})
    with pytest.warns(ReadingWarning, match="Left out as identifiers.*'name'.*'row_id'"):
        test = kp.alignment_test(frame, y)
    assert np.isnan(test.z).tolist() == [False, True, True]
    assert test.q_value[0] == test.p_value[0]  # one test
    said = "Column 'name' is not tested: no permutation of the target changes"
    with pytest.warns(ConstantColumnWarning, match=said):
        kept = kp.alignment_test(frame, y, identifiers="keep")
    assert np.isnan(kept.z).tolist() == [False, True, False]
    with pytest.warns(ConstantColumnWarning, match="Column 'c' is constant, and not tested"):
        kp.alignment_test(frame[["x"]].assign(c=1.0), y)
    with pytest.raises(ValueError, match="identifiers must be one of"):
        kp.alignment_test(frame, y, identifiers="no")
