"""Bad input: which error, and that its message says where and what to do."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import kernelpath as kp
from kernelpath.alignment import columns as sources

N = 30
RNG = np.random.default_rng(50)
X = RNG.normal(size=(N, 4))
Y = np.arange(N) % 2
NAMES = ["age", "height", "weight", "blood pressure"]


def _fails(*words, error=kp.DataError, table=X, y=Y, **options):
    """The call fails with every word in the message."""
    with np.errstate(invalid="ignore", over="ignore"), pytest.raises(error) as caught:
        kp.alignments(table, y, **options)
    message = str(caught.value)
    missing = [word for word in words if word not in message]
    assert not missing, message
    assert "\n" not in message
    return message


# -- values of the table ----------------------------------------------------------------------


LAYOUTS = [np.ascontiguousarray, np.asfortranarray, sp.csr_array]


def _same(table, other, y=Y, **options):
    """Two tables have the same alignments, to the last bit, and these are numbers."""
    found = kp.alignments(table, y, **options)
    np.testing.assert_array_equal(found, kp.alignments(other, y, **options))
    assert np.isfinite(found).all()
    return found


@pytest.mark.parametrize("bad", [np.inf, -np.inf])
@pytest.mark.parametrize("row", [0, 11, N - 1])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kernel", ["rbf", "delta"])
def test_infinity_names_the_columns(bad, row, layout, kernel):
    table = X.copy()
    table[row, [1, 3]] = bad
    message = _fails("contains infinity", "columns 1, 3", table=layout(table), kernel=kernel)
    assert "write NaN where a value is missing" in message
    table[5, 0] = np.nan
    assert _fails("columns 1, 3", table=layout(table), kernel=kernel) == message


@pytest.mark.parametrize("row", [0, 11, N - 1])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kernel", ["rbf", "delta"])
def test_columns_beside_those_with_nan_stay_what_they_are(row, layout, kernel):
    table = np.round(X)
    table[row, [1, 3]] = np.nan
    found = kp.alignments(layout(table), Y, kernel=kernel)
    plain = kp.alignments(layout(np.round(X)), Y, kernel=kernel)
    np.testing.assert_allclose(found[[0, 2]], plain[[0, 2]], rtol=1e-12)
    assert np.isfinite(found).all()
    if kernel == "delta":
        named = np.where(np.isnan(table), 99.0, table)  # a category of its own
        np.testing.assert_allclose(found, kp.alignments(named, Y, kernel=kernel), rtol=1e-12)
    else:
        assert np.all(found[[1, 3]] != plain[[1, 3]])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_nan_beside_huge_values(layout):
    table = X.copy()
    table[4, [1, 3]] = 1e200
    plain = kp.alignments(layout(table), Y)
    table[5, 2] = np.nan
    found = kp.alignments(layout(table), Y)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found[[0, 1, 3]], plain[[0, 1, 3]], rtol=1e-8)
    table[5, 2] = np.inf
    assert "1, " not in _fails("contains infinity", "column 2", table=layout(table))


def test_masked_lazy_and_absent_input():
    masked = np.ma.masked_greater(X, 1.0)
    _same(masked, np.where(X > 1.0, np.nan, X))
    _fails("collect", table=pl.DataFrame(X).lazy())
    with pytest.raises(kp.DataError, match="y is None"):
        kp.alignments(X, None)


def test_numbers_stored_as_objects_are_numbers():
    frame = pd.DataFrame(X, columns=NAMES)
    objects = frame.astype({NAMES[0]: object})
    expected = kp.alignments(frame, Y)
    np.testing.assert_array_equal(kp.alignments(objects, Y), expected)
    np.testing.assert_array_equal(kp.alignments(objects, Y, kernel="auto"), expected)


def test_columns_of_a_multiindex_have_names():
    frame = pd.DataFrame(X, columns=pd.MultiIndex.from_product([["a"], range(X.shape[1])]))
    frame.iloc[2, 1] = np.inf
    _fails("contains infinity in column", "('a', 1)", table=frame)
    frame.iloc[2, 1] = np.nan
    _same(frame, frame.to_numpy())


@pytest.mark.parametrize("method", ["auto", "fast", "exact"])
def test_missing_numbers_and_infinity_in_float32(method):
    table = X.astype(np.float32)
    table[5, 2] = np.nan
    _same(table, table.astype(np.float64), method=method)
    table[6, 2] = np.inf
    _fails("contains infinity in column 2", table=table, method=method)


def test_infinity_names_the_columns_of_a_frame():
    frame = pd.DataFrame(X, columns=NAMES)
    frame.loc[3, "weight"] = np.nan
    _same(frame, frame.to_numpy())
    _same(pl.from_pandas(frame), frame.to_numpy())
    frame.loc[4, "blood pressure"] = np.inf
    message = _fails("contains infinity in column 'blood pressure'", table=frame)
    assert "'weight'" not in message
    assert _fails(table=pl.from_pandas(frame)) == message
    frame.loc[5, "age"] = -np.inf
    _fails("columns 'age', 'blood pressure'", table=frame)


def test_missing_values_of_nullable_and_text_columns():
    frame = pd.DataFrame(X, columns=NAMES)
    counts = np.where(np.arange(N) % 3 == 1, np.nan, np.arange(N) % 7)
    expected = np.column_stack([X, counts])
    nullable = frame.assign(count=pd.array(counts, dtype="Int64"))
    assert nullable["count"].isna().sum() == N // 3
    _same(nullable, expected)
    _same(frame.assign(count=nullable["count"].astype(object)), expected)
    _same(frame.assign(count=nullable["count"].astype(str)), expected)  # "<NA>" among text
    towns = ["Ulm", "Bonn", None, "Ulm", "Rom"] * (N // 5)
    codes = [0.0, 1.0, np.nan, 0.0, 2.0] * (N // 5)
    for town in (pd.Series(towns, dtype=object), pd.Series(towns, dtype="category")):
        table = frame.assign(town=town)
        found = _same(table, frame.assign(town=pd.Series(codes).astype("category")))
        delta = kp.alignments(np.array(codes)[:, None], Y, kernel="delta")
        np.testing.assert_allclose(found[-1], delta[0], rtol=1e-12)
        _same(table, table.fillna({"town": np.nan}))


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray, sp.csc_array])
def test_bad_columns_are_named_wherever_they_stand(layout, n_jobs, monkeypatch):
    """Also those that another task would have met."""
    table = np.random.default_rng(51).normal(size=(N, 40))
    table[3, 1] = table[9, 38] = np.nan
    plain = kp.alignments(layout(table), Y)
    monkeypatch.setattr(sources, "DENSE_BLOCK", (64, 64))
    monkeypatch.setattr(sources, "SPARSE_BLOCK", 100)
    found = kp.alignments(layout(table), Y, n_jobs=n_jobs)
    np.testing.assert_allclose(found, plain, rtol=1e-7)
    table[3, 1] = table[9, 38] = np.inf
    _fails("columns 1, 38", table=layout(table), n_jobs=n_jobs)


def test_many_bad_columns_are_counted_not_listed():
    table = np.full((N, 50), np.inf)
    message = _fails("columns 0, 1, 2, 3, 4 and 45 more", table=table)
    assert len(message) < 300


def test_columns_without_any_value_have_no_alignment():
    table = np.column_stack([np.full(N, np.nan), X])
    found = kp.alignments(table, Y)
    assert found[0] == 0.0
    np.testing.assert_allclose(found[1:], kp.alignments(X, Y), rtol=1e-12)


def test_numbers_just_small_enough_work():
    found = kp.alignments(X * 1e139, Y)
    np.testing.assert_allclose(found, kp.alignments(X, Y), rtol=1e-8)


# -- types and shapes of the table ------------------------------------------------------------


def test_text_columns_ask_for_the_auto_kernel():
    frame = pd.DataFrame(X, columns=NAMES)
    frame["town"] = ["Ulm", "Bonn"] * (N // 2)
    for table in (frame, pl.from_pandas(frame), frame.astype({"town": "category"})):
        for kernel in ("rbf", "linear", "laplace"):
            _fails("'town'", "kernel='auto'", table=table, kernel=kernel)


def test_datetime_columns_count_days():
    frame = pd.DataFrame(X, columns=NAMES)
    days = np.arange(N) * 3.0 + 19_723
    expected = np.asfortranarray(np.column_stack([X, days]))  # as a frame is read
    dates = frame.assign(visit=pd.date_range("2024-01-01", periods=N, freq="3D"))
    for kernel in ("rbf", "auto"):
        _same(dates, expected, kernel=kernel)
        _same(pl.from_pandas(dates), expected, kernel=kernel)
    expected[4, -1] = np.nan
    dates.loc[4, "visit"] = pd.NaT
    _same(dates, expected)


def test_capital_letters_of_names_survive_in_messages():
    frame = pd.DataFrame({"x": X[:, 0], "Visit Day": np.where(Y == 1, np.inf, 0.0)})
    _fails("'Visit Day'", table=frame)
    lists = pd.DataFrame({"x": X[:, 0], "Visit Day": [[1, 2]] * N})
    _fails("Column 'Visit Day' holds values of the type list", table=lists)


@pytest.mark.parametrize(
    "table",
    [
        np.empty((N, 0)),
        pd.DataFrame(index=range(N)),
        sp.csr_array((N, 0)),
        pl.DataFrame(),
    ],
    ids=["array", "pandas", "sparse", "polars"],
)
@pytest.mark.parametrize("kernel", ["rbf", "auto"])
def test_no_columns(table, kernel):
    with pytest.raises(ValueError, match=r"0 feature|[Aa]t least (1|one|2)|no columns"):
        kp.alignments(table, Y, kernel=kernel)


@pytest.mark.parametrize("wrap", [np.asarray, sp.csr_array, pd.DataFrame])
def test_one_row(wrap):
    with pytest.raises(ValueError, match=r"[Aa]t least 2 rows|n_samples = 1"):
        kp.alignments(wrap(X[:1]), Y[:1])


@pytest.mark.parametrize("wrap", [np.asarray, sp.csr_array, pd.DataFrame])
def test_no_rows(wrap):
    with pytest.raises(ValueError, match=r"0 sample|rows"):
        kp.alignments(wrap(X[:0]), Y[:0])


@pytest.mark.parametrize(
    "table", [X[:, 0], X[:, :, None], X[:, 0].tolist(), pd.Series(X[:, 0]), 3.0]
)
def test_not_a_table(table):
    with pytest.raises(ValueError, match=r"2D|two-dimensional|dim"):
        kp.alignments(table, Y)


def test_text_and_complex_arrays():
    text = np.random.default_rng(0).choice(["a", "b"], (N, 2))
    np.testing.assert_array_equal(kp.alignments(text, Y), kp.alignments(pd.DataFrame(text), Y))
    with pytest.raises(ValueError, match=r"[Cc]omplex"):
        kp.alignments(X + 1j, Y)
    with pytest.raises(ValueError, match=r"[Cc]omplex"):
        kp.alignments(sp.csr_array(X + 1j), Y)


# -- target -----------------------------------------------------------------------------------


def test_one_class():
    _fails("one class", "two classes", y=np.zeros(N))
    _fails("one class", "'sick'", y=["sick"] * N)
    _fails("one class", sample_weight=(Y == 1) * 1.0)


def test_constant_continuous_target():
    _fails("constant", y=np.full(N, 2.5), task="regression")


def test_lengths_must_agree():
    _fails(str(N), str(N - 1), y=Y[:-1])
    _fails(str(N), y=np.append(Y, 1))
    _fails(y=[])


@pytest.mark.parametrize(
    "y",
    [
        np.where(Y == 1, np.nan, 0.5 * np.arange(N)),
        np.where(Y == 1, np.inf, 1.0),
        [None, "a", "b"] * (N // 3),
        np.array([None, 1.0, 2.0] * (N // 3), dtype=object),
        pd.Series(["a", None, "b"] * (N // 3)),
        pd.Series(["a", None, "b"] * (N // 3), dtype="string"),
        pd.Series(["a", None, "b"] * (N // 3), dtype="category"),
        pd.Series([1, None, 0] * (N // 3), dtype="Int64"),
        pd.Series([True, None, False] * (N // 3), dtype="boolean"),
        pl.Series([1, None, 0] * (N // 3)),
        pl.Series(["a", None, "b"] * (N // 3)),
    ],
    ids=[
        "nan", "inf", "None", "None in numbers", "pandas str", "pandas string", "category",
        "Int64", "boolean", "polars int", "polars str",
    ],
)  # fmt: skip
def test_missing_target_values(y):
    _fails("NaN", "rows", y=y)


def test_missing_text_labels_are_not_a_class():
    _fails(y=np.array(["a", np.nan, "b"] * (N // 3), dtype=object))


def test_shape_and_type_of_the_target():
    _fails("one-dimensional", y=np.ones((N, 2, 2)))
    _fails(y=pd.Series(pd.date_range("2024-01-01", periods=N)))
    with pytest.raises(ValueError, match=r"[Cc]omplex"):
        kp.alignments(X, Y + 1j)
    with pytest.raises(ValueError, match="y"):
        kp.alignments(X, None)
    _fails("text", y=["a", "b"] * (N // 2), task="regression")
    _fails("'auto'", "'clustering'", task="clustering", error=ValueError)


# -- sample weights ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("weights", "word"),
    [
        (np.append(-1.0, np.ones(N - 1)), "negative"),
        (np.append(np.nan, np.ones(N - 1)), "finite"),
        (np.append(np.inf, np.ones(N - 1)), "finite"),
        (np.zeros(N), "fewer than 2"),
        (np.append(1.0, np.zeros(N - 1)), "fewer than 2"),
        (np.ones(N - 1), "rows"),
        (np.ones((N, 2)), "shape"),
        (-1.0, "negative"),
        (["heavy"] * N, "sample_weight"),
    ],
)
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_bad_weights(weights, word, layout):
    with pytest.raises(ValueError, match=word):
        kp.alignments(layout(X), Y, sample_weight=weights)


def test_weights_beyond_the_range_of_floats_never_give_nan():
    try:
        found = kp.alignments(X, Y, sample_weight=np.full(N, 1e200))
    except ValueError as error:
        found = str(error)
    assert np.all(np.isfinite(found)) if isinstance(found, np.ndarray) else "weight" in found


# -- options ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "hint"),
    [("rbff", "'rbf'"), ("lapace", "'laplace'"), ("poly", "'polynomial'"), ("Linear", "'linear'")],
)
def test_unknown_kernels_suggest_a_name(kernel, hint):
    _fails("did you mean", hint, "'auto'", kernel=kernel, error=ValueError)


@pytest.mark.parametrize("kernel", [None, 3, "quantum", kp.RBF, ["rbf"]])
def test_not_a_kernel(kernel):
    _fails("kernel must be", kernel=kernel, error=ValueError)


@pytest.mark.parametrize("bandwidth", ["mean", 1.0, None, [], [1.0, 0.0], ["wide"]])
def test_bad_bandwidth_points_to_gamma(bandwidth):
    _fails("bandwidth must be", "gamma", bandwidth=bandwidth, error=(ValueError, TypeError))


@pytest.mark.parametrize("method", ["slow", None, 1])
def test_bad_method(method):
    _fails("method must be", "'exact'", method=method, error=ValueError)


@pytest.mark.parametrize("tol", [0, -1e-8, np.nan, np.inf, 1e-13, 1.0, "1e-8", None, [1e-8], True])
def test_bad_tol(tol):
    _fails("tol must be", tol=tol, error=(ValueError, TypeError))


@pytest.mark.parametrize(
    "gamma",
    [0.0, -1.0, np.nan, np.inf, [1.0, 2.0], np.ones((4, 1)), "wide", [1.0, 2.0, 3.0, 0.0]],
)
def test_bad_gamma(gamma):
    _fails("gamma", gamma=gamma, error=ValueError)


@pytest.mark.parametrize("degree", [0, 7, 2.0, "3", -1])
def test_bad_degree(degree):
    with pytest.raises(ValueError, match="degree"):
        kp.Polynomial(degree=degree)


@pytest.mark.parametrize("coef0", [-1.0, np.nan, np.inf])
def test_bad_coef0(coef0):
    with pytest.raises(ValueError, match="coef0"):
        kp.Polynomial(coef0=coef0)


def test_errors_come_before_any_work():
    """A wrong option fails although the table is wrong as well."""
    with pytest.raises(ValueError, match="method"):
        kp.alignments(np.full((N, 2), np.nan), Y, method="slow")


def test_data_errors_are_value_errors():
    assert issubclass(kp.DataError, ValueError)
    assert issubclass(kp.DataError, kp.KernelPathError)


def test_a_class_of_its_own_for_every_row():
    y = [f"p{i}" for i in range(N)]
    words = ["Every row has its own class (30 classes", "give the target", "task='regression'"]
    _fails(*words, y=y)
    weight = np.append(np.ones(N - 5), np.zeros(5))
    _fails("Every row has its own class (25 classes", y=y, sample_weight=weight)
    for estimator in (kp.LpKTASelector(), kp.NMMKLSelector(2)):
        with pytest.raises(kp.DataError, match="Every row has its own class"):
            estimator.fit(X, y)
    kp.alignments(X, [*y[:-1], y[0]])
    kp.alignments(X[:2], y[:2])
    whole = kp.alignments(X, np.arange(N))  # numbers are a quantity
    np.testing.assert_array_equal(whole, kp.alignments(X, np.arange(N), task="regression"))
