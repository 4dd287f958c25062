"""Masked cells, dates and what is missing are never numbers, wherever they are given."""

from __future__ import annotations

import datetime
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import kernelpath as kp
from kernelpath import baselines

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
    "GMKL": lambda: kp.GMKLClassifier(),
    "GMKL product": lambda: kp.GMKLClassifier(kernel="product"),
    "PathCV": lambda: kp.PathCV(kp.LpKTASelector(step=0.5), cv=2, n_features=[1, 2]),
    "PathCV forest": lambda: kp.PathCV(
        kp.LpKTASelector(step=0.5), predictor=_forest(), cv=2, n_features=[2]
    ),
    "NMMKL": lambda: kp.NMMKLSelector(2),
    "L1KR": lambda: kp.L1KRClassifier(norm_budget=0.3, search_branches=False),
    "SVMLW": lambda: baselines.SVMLW(2),
    "Fisher": lambda: baselines.Fisher(2),
    "L1SVM": lambda: baselines.L1SVM(2),
    "FSV": lambda: baselines.FSV(2),
    "L0Approximation": lambda: baselines.L0Approximation(2),
    "R2W2": lambda: baselines.R2W2(2),
}
REGRESSORS = {
    "LpKTA": lambda: kp.LpKTASelector(step=0.5),
    "GMKL": lambda: kp.GMKLRegressor(),
    "PathCV": lambda: kp.PathCV(kp.LpKTASelector(step=0.5), cv=2, n_features=[1, 2]),
    "NMMKL": lambda: kp.NMMKLSelector(2),
    "L1KR": lambda: kp.L1KRRegressor(norm_budget=0.3, search_branches=False),
    "SVRLW": lambda: baselines.SVRLW(2),
    "LassoLW": lambda: baselines.LassoLW(2),
    "ForwardStepwise": lambda: baselines.ForwardStepwise(2),
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


TABLES = {
    "masked": (_masked(X, MASK), "masked"),
    "rows masked": ([_masked(row, m) for row, m in zip(X, MASK)], "masked"),
    "NaT": (_with_nat(X), "datetime64.*convert to numbers"),
    "dates": (_dates(X), "datetime64.*convert to numbers"),
    "durations": ((1000 * X).astype("m8[s]"), "timedelta64.*convert to numbers"),
    "None": (_objects(None), "NaN"),
    "pd.NA": (_objects(pd.NA), "NaN"),
    "pd.NaT": (_objects(pd.NaT), "NaN"),
    "np NaT object": (_objects(np.datetime64("NaT")), "NaN"),
    "masked object": (_objects(np.ma.masked), "NaN"),
    "NaN object": (_objects(float("nan")), "NaN"),
    "NaN": (np.where(MASK, np.nan, X), "NaN"),
    "inf": (np.where(MASK, np.inf, X), "NaN or inf"),
    "date object": (_objects(datetime.date(2020, 1, 1)), "type date"),
    "Timestamp object": (_objects(pd.Timestamp(2020, 1, 1)), "type Timestamp"),
    "datetime64 object": (_objects(np.datetime64("2020-01-01")), "type datetime64"),
    "complex object": (_objects(1j), "type complex"),
    "complex": (X + 0j, "[Cc]omplex"),
    "list with None": ([[None, 1.0, 2.0, 3.0], *X[1:].tolist()], "NaN"),
    "list with NaT": ([[np.datetime64("NaT"), 1.0, 2.0, 3.0], *X[1:].tolist()], "NaN"),
    "list with masked": ([[np.ma.masked, 1.0, 2.0, 3.0], *X[1:].tolist()], "NaN"),
    "text": (X.astype(str).astype(object) + "a", "text"),
    "frame with dates": (
        pd.DataFrame(X).rename(columns=str).assign(b=pd.date_range("2024", periods=N)), "datetime64"
    ),
    "sparse NaN": (sparse.csr_array(np.where(MASK, np.nan, X)), "NaN"),
}  # fmt: skip


def _refused(act, words):
    with pytest.raises(ValueError, match=words):
        act()


@pytest.mark.parametrize("case", TABLES)
@pytest.mark.parametrize(("make", "y"), ESTIMATORS)
def test_a_table_with_cells_that_are_no_numbers_is_refused(make, y, case):
    table, words = TABLES[case]
    if "Forest" in str(make().get_params().get("predictor")) and "NaN" in words:
        pytest.skip("the forest says itself what it takes")
    _refused(lambda: make().fit(table, y), words)


@pytest.mark.parametrize(("make", "y"), ESTIMATORS)
def test_new_rows_are_read_like_those_of_fit(make, y):
    fitted = make().fit(X, y)
    methods = [name for name in ("predict", "decision_function") if hasattr(fitted, name)]
    for case in ("masked", "NaT", "dates", "pd.NaT", "pd.NA", "masked object"):
        table, words = TABLES[case]
        if "Forest" in str(fitted.get_params().get("predictor")) and words == "NaN":
            continue
        for method in methods:
            _refused(lambda m=method, t=table: getattr(fitted, m)(t), words)
        if methods and hasattr(fitted, "score"):
            _refused(lambda t=table: fitted.score(t, y), words)
    for case in ("masked", "NaT"):
        _refused(lambda t=TABLES[case][0]: fitted.transform(t), TABLES[case][1])


def _with_na(y):
    values = y.astype(object)
    values[5] = pd.NA
    return values


TARGETS = {
    "masked": (lambda y: _masked(y, ROW), "y is a masked array"),
    "masked column": (lambda y: _masked(y, ROW)[:, None], "y is a masked array"),
    "list with masked": (lambda y: [np.ma.masked, *y[1:].tolist()], "y is a masked array"),
    "dates": (lambda y: (1000 * y).astype("M8[s]"), "datetime64"),
    "NaT": (lambda y: np.where(ROW, np.datetime64("NaT", "s"), y.astype("M8[s]")), "datetime64"),
    "NaN": (lambda y: np.where(ROW, np.nan, y), "NaN"),
    "None": (lambda y: np.where(ROW, None, y.astype(object)), "missing|NaN"),
    "pd.NaT": (lambda y: np.where(ROW, pd.NaT, y.astype(object)), "missing|NaN"),
    "pd.NA": (_with_na, "missing|NaN"),
    "complex": (lambda y: y + 1j, "[Cc]omplex"),
}


@pytest.mark.parametrize("case", TARGETS)
@pytest.mark.parametrize(("make", "y"), ESTIMATORS)
def test_a_target_with_cells_that_are_no_values_is_refused(make, y, case):
    change, words = TARGETS[case]
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


@pytest.mark.parametrize("case", TABLES)
def test_functions_that_take_a_table_refuse_it_as_well(case):
    table, words = TABLES[case]
    path = kp.LpKTASelector(step=0.5).fit(X, LABELS).path_
    _refused(lambda: kp.alignments(table, LABELS), words)
    if case == "text":
        return
    _refused(lambda: list(kp.combined_kernels(path, table)), words + "|has the column")
    _refused(lambda: list(kp.combined_kernels(path, X, X_new=table)), words + "|has the column")


@pytest.mark.parametrize("case", ["masked", "NaT", "rows masked"])
def test_summaries_refuse_such_tables_and_targets(case):
    path = kp.LpKTASelector(step=0.5).fit(X, LABELS).path_
    table, words = TABLES[case]
    _refused(lambda: path.summary(table, LABELS), words)
    _refused(lambda: path.summary(X, _masked(LABELS, ROW)), "y is a masked array")


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
