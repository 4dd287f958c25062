"""Masked cells, None, NaT and NA are missing values, the same as NaN, wherever they are given.

What is neither a number nor missing is refused.
"""

from __future__ import annotations

import datetime
import warnings
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import kernelpath as kp
from kernelpath import baselines
from kernelpath.errors import MissingValuesWarning, ReadingWarning

RNG = np.random.default_rng(7)
N, D = 36, 4
X = RNG.normal(size=(N, D))
NUMBERS = X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.1 * RNG.normal(size=N)
LABELS = (X[:, 0] + 0.3 * X[:, 1] > 0).astype(int)
MASK = np.zeros((N, D), dtype=bool)
MASK[3, 1] = True
ROW = np.zeros(N, dtype=bool)
ROW[5] = True

CLASSIFIERS = {
    "LpKTA": lambda: kp.LpKTASelector(step=0.5),
    "additive": lambda: kp.AdditivePathSelector(2),
    "GMKL": lambda: kp.GMKLClassifier(),
    "GMKL product": lambda: kp.GMKLClassifier(kernel="product"),
    "PathCV": lambda: kp.PathCV(
        kp.LpKTASelector(step=0.5), cv=2, n_features=[1, 2], references=False
    ),
    "PathCV forest": lambda: kp.PathCV(
        kp.LpKTASelector(step=0.5), predictor=_forest(), cv=2, n_features=[2], references=False
    ),
    "Joint": lambda: kp.JointPathSelector(2),
    "NMMKL": lambda: kp.NMMKLSelector(2),
    "L1KR": lambda: kp.L1KRClassifier(norm_budget=0.3, search_branches=False),
    "SVMLW": lambda: baselines.SVMLW(2),
    "Fisher": lambda: baselines.Fisher(2),
    "L1SVM": lambda: baselines.L1SVM(2),
    "FSV": lambda: baselines.FSV(2),
    "L0Approximation": lambda: baselines.L0Approximation(2),
    "R2W2": lambda: baselines.R2W2(2),
    "BAHSIC": lambda: baselines.BAHSIC(2),
    "HSICLasso": lambda: baselines.HSICLasso(2),
    "L1MKLPath": lambda: baselines.L1MKLPath(max_features=2),
    "SMOMKL": lambda: baselines.SMOMKL(2),
    "L1SVMPath": lambda: baselines.L1SVMPath(max_features=2),
    "HKL": lambda: baselines.HKL(2, strengths=6),
    "GiniIndex": lambda: baselines.GiniIndex(2),
    "MRMR": lambda: baselines.MRMR(2),
    "ReliefF": lambda: baselines.ReliefF(2),
}
REGRESSORS = {
    "LpKTA": lambda: kp.LpKTASelector(step=0.5),
    "additive": lambda: kp.AdditivePathSelector(2),
    "GMKL": lambda: kp.GMKLRegressor(),
    "PathCV": lambda: kp.PathCV(  # joint kernels have indicators of holes in dense tables alone
        kp.LpKTASelector(step=0.5),
        cv=2,
        n_features=[1, 2],
        references=False,
        predictor="weighted_kernel",
    ),
    "Joint": lambda: kp.JointPathSelector(2),
    "NMMKL": lambda: kp.NMMKLSelector(2),
    "L1KR": lambda: kp.L1KRRegressor(norm_budget=0.3, search_branches=False),
    "SVRLW": lambda: baselines.SVRLW(2),
    "LassoLW": lambda: baselines.LassoLW(2),
    "ForwardStepwise": lambda: baselines.ForwardStepwise(2),
    "BAHSIC": lambda: baselines.BAHSIC(2),
    "HSICLasso": lambda: baselines.HSICLasso(2),
    "HKL": lambda: baselines.HKL(2, strengths=6),
}
ESTIMATORS = [
    pytest.param(make, y, id=f"{name}-{kind}")
    for kind, group, y in (
        ("classes", CLASSIFIERS, LABELS),
        ("numbers", REGRESSORS, NUMBERS),
    )
    for name, make in group.items()
]
WEIGHTED = [case for case in ESTIMATORS if case.id.split("-")[0] in ("LpKTA", "GMKL", "PathCV")]


def _forest():
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(n_estimators=3, random_state=0)


def _masked(values, mask, below=1e6):
    """An array with garbage under its mask."""
    data = np.array(values, dtype=float)
    data[mask] = below
    return np.ma.masked_array(data, mask=mask)


def _objects(cell):
    table = X.astype(object)
    table[3, 1] = cell
    return table


def _dates(values):
    return (1000 * values).astype("M8[s]")


def _with_nat(values):
    dates = _dates(values)
    dates[3, 1] = np.datetime64("NaT")
    return dates


HOLE = np.where(MASK, np.nan, X)
FIRST_HOLE = np.where(np.arange(N * D).reshape(N, D) == 0, np.nan, X)
SECONDS = (1000 * X).astype(np.int64)
LISTS = X[1:].tolist()
MISSING = {
    "masked": (_masked(X, MASK), HOLE),
    "rows masked": ([_masked(row, m) for row, m in zip(X, MASK)], HOLE),
    "None": (_objects(None), HOLE),
    "pd.NA": (_objects(pd.NA), HOLE),
    "pd.NaT": (_objects(pd.NaT), HOLE),
    "np NaT object": (_objects(np.datetime64("NaT")), HOLE),
    "masked object": (_objects(np.ma.masked), HOLE),
    "mask of objects": (np.ma.masked_array(X.astype(object), mask=MASK), HOLE),
    "NaN object": (_objects(float("nan")), HOLE),
    "list with None": ([[None, *X[0, 1:]], *LISTS], FIRST_HOLE),
    "list with NaT": ([[np.datetime64("NaT"), *X[0, 1:]], *LISTS], FIRST_HOLE),
    "list with masked": ([[np.ma.masked, *X[0, 1:]], *LISTS], FIRST_HOLE),
    "NaT": (_with_nat(X), np.where(MASK, np.nan, SECONDS / 86400)),
    "dates": (_dates(X), SECONDS / 86400),
    "durations": ((1000 * X).astype("m8[s]"), SECONDS / 86400),
    "masked dates": (np.ma.masked_array(_dates(X), MASK), np.where(MASK, np.nan, SECONDS / 86400)),
}
"""Tables, and the same ones as numbers with NaN."""

REFUSED = {
    "inf": (np.where(MASK, np.inf, X), "contains? infinity in column 1"),
    "-inf beside NaN": (np.where(MASK, -np.inf, FIRST_HOLE), "contains? infinity in column 1"),
    "sparse inf": (sparse.csr_array(np.where(MASK, np.inf, X)), "contains? infinity in column 1"),
    "date object": (_objects(datetime.date(2020, 1, 1)), "type date"),
    "Timestamp object": (_objects(pd.Timestamp(2020, 1, 1)), "type Timestamp"),
    "datetime64 object": (_objects(np.datetime64("2020-01-01")), "type datetime64"),
    "complex object": (_objects(1j), "type complex"),
    "complex": (X + 0j, "[Cc]omplex"),
}  # fmt: skip


def _refused(act, words):
    with pytest.raises(ValueError, match=words):
        act()


def _results(fitted, table=X):
    """All that a fit leaves and says about a table, as arrays."""
    found = {"support": fitted.get_support(), "kept": fitted.transform(table)}
    for name in ("weights_", "alignments_", "scores_", "ranking_", "feature_importances_"):
        value = getattr(fitted, name, None)
        if isinstance(value, np.ndarray):
            found[name] = value
    if isinstance(fitted, kp.PathCV):
        found["scores"] = fitted.scores_.per_fold
    found |= _path(fitted)
    for name in ("predict", "decision_function"):
        if hasattr(fitted, name):
            found[name] = getattr(fitted, name)(table)
    return {name: _dense(value) for name, value in found.items()}


def _path(fitted):
    path = getattr(fitted, "path_", None)
    if path is None:  # one point of it
        return {"path": fitted.weights_, "supports": fitted.get_support()}
    found = {"path": path.weights, "supports": path.supports, "values": path.values}
    return {name: _dense(value) for name, value in found.items()}


def _dense(value):
    value = value.toarray() if sparse.issparse(value) else np.asarray(value)
    return value.astype(float) if value.dtype.kind == "O" else value


def _same(found, expected, **options):
    """The same results, to the last bit; or nearly, with ``options``."""
    assert found.keys() == expected.keys()
    for name, value in found.items():
        if options and value.dtype.kind == "f":
            np.testing.assert_allclose(value, expected[name], **options, err_msg=name)
        else:
            np.testing.assert_array_equal(value, expected[name], err_msg=name)


@cache
def _fit_of_numbers(make, regression, case):
    """Fit of a table of ``MISSING`` as numbers; equal tables are fitted once."""
    first = next(name for name, (_, same) in MISSING.items() if same is MISSING[case][1])
    if first != case:
        return _fit_of_numbers(make, regression, first)
    return make().fit(MISSING[case][1], NUMBERS if regression else LABELS)


def _by_medians(table, fill=None):
    return np.where(np.isnan(table), np.nanmedian(table if fill is None else fill, axis=0), table)


def _imputes(fitted):
    own = kp.AdditivePathSelector | kp.LpKTASelector | kp.PathCV | kp.JointPathSelector
    return not isinstance(fitted, own)


@pytest.mark.parametrize("case", MISSING)
@pytest.mark.parametrize(("make", "y"), ESTIMATORS)
def test_what_is_missing_is_the_same_as_nan(make, y, case):
    given, numbers = MISSING[case]
    expected = _fit_of_numbers(make, y is NUMBERS, case)
    _same(_results(make().fit(given, y), given), _results(expected, numbers))


@pytest.mark.parametrize(("make", "y"), ESTIMATORS)
def test_methods_that_impute_take_medians(make, y):
    table = np.where(np.random.default_rng(1).random((N, D)) < 0.1, np.nan, X)
    fitted, filled = make().fit(table, y), make().fit(_by_medians(table), y)
    if _imputes(fitted):
        del (found := _results(fitted, table))["kept"]  # which are as they were
        del (expected := _results(filled, _by_medians(table)))["kept"]
        _same(found, expected)
    else:
        found, expected = _path(fitted), _path(filled)
        assert any(np.any(found[name] != expected[name]) for name in ("path", "values"))
    np.testing.assert_array_equal(fitted.transform(table), table[:, fitted.get_support()])


@pytest.mark.parametrize(("make", "y"), ESTIMATORS)
def test_sparse_tables_with_nan(make, y):
    given, model = sparse.csr_array(HOLE), make()
    if "Forest" in str(model.get_params().get("predictor")):
        _refused(lambda: model.fit(given, y), "RandomForestClassifier does not accept missing")
        return
    fitted = model.fit(given, y)
    if _imputes(fitted):
        filled = sparse.csr_array(_by_medians(HOLE))
        _same(_path(fitted), _path(make().fit(filled, y)))
        if hasattr(fitted, "predict"):
            np.testing.assert_array_equal(fitted.predict(given), fitted.predict(filled))
    else:
        expected = _results(_fit_of_numbers(make, y is NUMBERS, "masked"), HOLE)
        _same(_results(fitted, given), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("make", "y"), ESTIMATORS)
def test_a_column_of_dates_counts_days(make, y):
    numbers = pd.DataFrame(X).rename(columns=str)
    days = np.random.default_rng(2).permutation(N) + 19_000
    missing = np.arange(N) == 3
    dates = pd.Series(days.astype("M8[D]").astype("M8[s]")).mask(missing)
    with pytest.warns(ReadingWarning, match="Dates count as days since 1970 .column 'b'"):
        fitted = make().fit(numbers.assign(b=dates), y)
    kept = fitted.set_output(transform="default").transform(numbers.assign(b=dates))
    assert kept.shape == (N, fitted.get_support().sum())
    plain = make().fit(numbers.assign(b=np.where(missing, np.nan, days)), y)
    _same(_path(fitted), _path(plain))


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize(("make", "y"), ESTIMATORS)
def test_a_table_with_cells_that_are_no_numbers_is_refused(make, y, case):
    table, words = REFUSED[case]
    _refused(lambda: make().fit(table, y), words)


@pytest.mark.filterwarnings("ignore:Values are missing:kernelpath.errors.MissingValuesWarning")
@pytest.mark.parametrize(("make", "y"), ESTIMATORS)
def test_new_rows_are_read_like_those_of_fit(make, y):
    fitted = make().fit(X, y)
    cases = ("masked", "NaT", "dates", "pd.NaT", "pd.NA", "masked object", "list with None")
    for given, numbers in map(MISSING.get, cases):
        found, expected = _results(fitted, given), _results(fitted, numbers)
        _same(found, expected)
        if _imputes(fitted) and "predict" in found:
            filled = _by_medians(numbers, X)
            np.testing.assert_array_equal(found["predict"], fitted.predict(filled))
        if hasattr(fitted, "score"):
            assert fitted.score(given, y) == fitted.score(numbers, y)
    if hasattr(fitted, "predict"):
        for case in ("complex object", "date object"):
            table, words = REFUSED[case]
            _refused(lambda t=table: fitted.predict(t), words)
        _refused(lambda: fitted.predict(np.full_like(X, np.inf)), "infinity")


def _with_na(y):
    values = y.astype(object)
    values[5] = pd.NA
    return values


TARGETS = {
    "masked": lambda y: _masked(y, ROW),
    "masked, of its own type": lambda y: np.ma.masked_array(y, mask=ROW),
    "masked column": lambda y: _masked(y, ROW)[:, None],
    "list with masked": lambda y: [np.ma.masked if hole else v for v, hole in zip(y, ROW)],
    "list with None": lambda y: [None if hole else v for v, hole in zip(y, ROW)],
    "NaN": lambda y: np.where(ROW, np.nan, y),
    "None": lambda y: np.where(ROW, None, y.astype(object)),
    "pd.NaT": lambda y: np.where(ROW, pd.NaT, y.astype(object)),
    "pd.NA": _with_na,
    "nullable series": lambda y: pd.Series(y).convert_dtypes().mask(ROW),
}


@pytest.mark.parametrize("case", TARGETS)
@pytest.mark.parametrize(("make", "y"), ESTIMATORS)
@pytest.mark.filterwarnings("ignore:A column-vector y was passed")
def test_rows_without_a_target_are_left_out(make, y, case):
    with pytest.warns(MissingValuesWarning, match="Left out: 1 row without a target, of 36"):
        fitted = make().fit(X, TARGETS[case](y))
    _same(_results(fitted), _results(_fit_without_row(make, y is NUMBERS)))


@cache
def _fit_without_row(make, regression):
    return make().fit(X[~ROW], (NUMBERS if regression else LABELS)[~ROW])


@pytest.mark.parametrize("kind", [str, bool, np.int64, object])
@pytest.mark.parametrize("make", CLASSIFIERS.values(), ids=CLASSIFIERS)
def test_labels_under_a_mask_keep_their_type(make, kind):
    labels = LABELS.astype(kind)
    with pytest.warns(MissingValuesWarning, match="Left out: 1 row without a target"):
        fitted = make().fit(X, np.ma.masked_array(labels, mask=ROW))
    plain = make().fit(X[~ROW], labels[~ROW])
    _same(_path(fitted), _path(plain))
    if hasattr(fitted, "predict"):
        assert fitted.classes_.dtype.kind == plain.classes_.dtype.kind
        np.testing.assert_array_equal(fitted.predict(X), plain.predict(X))


@pytest.mark.parametrize(("make", "y"), ESTIMATORS)
def test_nothing_is_left_without_any_target(make, y):
    _refused(lambda: make().fit(X, np.full(N, np.nan)), "All 36 rows have no target")


REFUSED_TARGETS = {
    "dates": (lambda y: (1000 * y).astype("M8[s]"), "datetime64"),
    "NaT": (lambda y: np.where(ROW, np.datetime64("NaT", "s"), y.astype("M8[s]")), "datetime64"),
    "inf": (lambda y: np.where(ROW, np.inf, y), "inf"),
    "complex": (lambda y: y + 1j, "[Cc]omplex"),
}


@pytest.mark.parametrize("case", REFUSED_TARGETS)
@pytest.mark.parametrize(("make", "y"), ESTIMATORS)
def test_a_target_with_cells_that_are_no_values_is_refused(make, y, case):
    change, words = REFUSED_TARGETS[case]
    _refused(lambda: make().fit(X, change(y)), words)


@pytest.mark.parametrize(("make", "y"), ESTIMATORS)
def test_scores_see_no_masked_target(make, y):
    fitted = make().fit(X, y)
    if not hasattr(fitted, "score"):
        pytest.skip("it predicts nothing")
    _refused(lambda: fitted.score(X, _masked(y, ROW)), "y is a masked array")
    _refused(lambda: fitted.score(X, np.where(ROW, np.nan, y)), "NaN")
    assert np.isfinite(fitted.score(X, y))


@pytest.mark.parametrize(("make", "y"), WEIGHTED)
def test_sample_weights_with_cells_that_are_no_numbers_are_refused(make, y):
    weight = np.ones(N)
    for bad, words in (
        (_masked(weight, ROW), "sample_weight is a masked array"),
        (weight.astype("m8[s]"), "sample_weight holds values of the type timedelta64"),
        (np.where(ROW, np.nan, weight), "sample_weight must be finite"),
        (np.where(ROW, None, weight), "sample_weight"),
    ):
        _refused(lambda w=bad: make().fit(X, y, sample_weight=w), words)


def test_groups_with_masked_or_missing_cells_are_refused():
    groups = np.arange(N) % 6
    for bad, words in (
        (np.ma.masked_array(groups, mask=ROW), "groups is a masked array"),
        (np.where(ROW, np.nan, groups), "groups has missing"),
        (np.where(ROW, pd.NaT, groups.astype(object)), "groups has missing"),
        (np.where(ROW, np.datetime64("NaT", "s"), groups.astype("M8[s]")), "groups has missing"),
    ):
        _refused(lambda g=bad: CLASSIFIERS["PathCV"]().fit(X, LABELS, groups=g), words)
    of_columns = np.ma.masked_array([0, 0, 1, 1], mask=[True, False, False, False])
    _refused(lambda: kp.NMMKLSelector(1, groups=of_columns).fit(X, LABELS), "groups is a masked")
    _refused(lambda: kp.NMMKLSelector(1, groups=[0, 0, pd.NA, 1]).fit(X, LABELS), "missing")


@pytest.mark.parametrize("case", MISSING)
def test_functions_that_take_a_table_read_it_alike(case):
    given, numbers = MISSING[case]
    np.testing.assert_array_equal(kp.alignments(given, LABELS), kp.alignments(numbers, LABELS))
    path = kp.LpKTASelector(step=0.5).fit(numbers, LABELS).path_
    for some, same in (((given,), (numbers,)), ((X, None, given), (X, None, numbers))):
        pairs = zip(kp.combined_kernels(path, *some), kp.combined_kernels(path, *same), strict=True)
        for one, other in pairs:
            np.testing.assert_array_equal(one.train, other.train)
            np.testing.assert_array_equal(one.new, other.new)


@pytest.mark.parametrize("case", REFUSED)
def test_functions_that_take_a_table_refuse_it_as_well(case):
    table, words = REFUSED[case]
    path = kp.LpKTASelector(step=0.5).fit(X, LABELS).path_
    _refused(lambda: kp.alignments(table, LABELS), words)
    _refused(lambda: list(kp.combined_kernels(path, table)), words)
    _refused(lambda: list(kp.combined_kernels(path, X, X_new=table)), words)


@pytest.mark.parametrize("case", ["masked", "NaT", "rows masked"])
def test_summaries_read_such_tables(case):
    given, numbers = MISSING[case]
    path = kp.LpKTASelector(step=0.5).fit(numbers, LABELS).path_
    assert str(path.summary(given, LABELS)) == str(path.summary(numbers, LABELS))
    found = path.summary(X, _masked(LABELS, ROW))["data"]
    assert found["rows_left_out"]["no_target"] == np.count_nonzero(ROW)  # as fit does
    _refused(lambda: path.summary(REFUSED["inf"][0], LABELS), "infinity in column 1")


def test_settings_that_are_arrays_have_no_masked_cells():
    masked = np.ma.masked_array(np.ones(D), mask=MASK[3])
    _refused(lambda: kp.alignments(X, LABELS, gamma=masked), "gamma is a masked array")
    _refused(lambda: kp.LpKTASelector(gamma=masked).fit(X, LABELS), "gamma is a masked array")
    _refused(lambda: kp.LpKTASelector(reference=masked).fit(X, LABELS), "reference is a masked")
    _refused(
        lambda: kp.alignments(X, LABELS, sample_weight=_masked(np.ones(N), ROW)), "sample_weight"
    )


def test_given_kernel_matrices_have_no_masked_cells():
    K = X @ X.T
    cells = np.zeros((N, N), dtype=bool)
    cells[0, 1] = cells[1, 0] = True
    model = kp.GMKLClassifier(kernel="precomputed")
    for given in (
        _masked(K, cells),
        [np.eye(N), _masked(K, cells)],
        {"a": _masked(K, cells)},
        np.ma.masked_array([K, K], mask=[cells, cells]),
        K.astype("M8[s]"),
    ):
        _refused(lambda k=given: model.fit(k, LABELS), "Kernel matrix . (is a masked|holds values)")
    fitted = model.fit([K, np.eye(N)], LABELS)
    _refused(lambda: fitted.predict([_masked(K, cells), np.eye(N)]), "Kernel matrix 0 is a masked")


@pytest.mark.parametrize(("make", "y"), ESTIMATORS)
def test_a_mask_that_masks_nothing_changes_nothing(make, y):
    nothing = np.zeros((N, D), dtype=bool)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        plain = make().fit(X, y)
        masked = make().fit(
            np.ma.masked_array(X, mask=nothing), np.ma.masked_array(y, mask=nothing[:, 0])
        )
    np.testing.assert_array_equal(masked.get_support(), plain.get_support())
    np.testing.assert_array_equal(masked.transform(X), plain.transform(X))


@pytest.mark.parametrize("make", [kp.LpKTASelector, lambda **own: kp.PathCV(cv=2, **own)])
def test_why_one_class_is_left(make):
    x = np.arange(40.0)
    frame = pd.DataFrame({"x": np.where(x < 20, np.nan, x), "z": x % 7})
    y = np.where(x < 20, "no", "yes").astype(object)
    with pytest.raises(kp.DataError, match=r"20 rows with missing values \(missing='drop'\) are"):
        make(missing="drop").fit(frame, y)
    y[:20] = None
    with pytest.raises(kp.DataError, match="Of 40 rows, 20 rows without a target are left out"):
        make().fit(frame, y)
    y[:20] = "no"
    with pytest.raises(kp.DataError, match=r"20 rows of weight 0 are left out.*target 'yes'"):
        make().fit(frame, y, sample_weight=(x >= 20).astype(float))


WHOLE = {
    "nullable": lambda y: pd.Series(y, dtype="Int64"),
    "Arrow": lambda y: pd.Series(y, dtype="int64[pyarrow]"),
    "a frame": lambda y: pd.Series(y, dtype="Int64").to_frame("y"),
    "polars": pl.Series,
    "a list": list,
}


@pytest.mark.filterwarnings("ignore:A column-vector y was passed")
@pytest.mark.parametrize("kind", WHOLE)
@pytest.mark.parametrize("classifier", [True, False])
def test_labels_beside_holes_stay_whole(kind, classifier):
    X = pd.DataFrame({"a": np.arange(40) % 8 / 3.0, "b": np.cos(np.arange(40))})
    labels = [int(one) for one in X["a"] > 1.0]
    model = kp.GMKLClassifier(strengths=3)
    if classifier:
        model = kp.PathCV(cv=3, n_features=[1], predictor="logistic", references=False)
    with pytest.warns(MissingValuesWarning, match="1 row without a target"):
        model.fit(X, WHOLE[kind]([*labels[:3], None, *labels[4:]]))
    assert model.classes_.dtype.kind == "i"
    assert model.predict(X).dtype.kind == "i"
