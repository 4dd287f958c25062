"""Nasty tables and targets in every estimator: right, or refused in words.

A case is a table, a target, or both.  Every estimator is fitted and then predicts or transforms the
same rows.  *Right* means that all results are numbers; where a case is the plain table in another
dress (an order of memory, a type, a scale), also that the same features are selected.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import kernelpath as kp
from hardening.tally import Tally
from kernelpath import baselines

RIGHT, REFUSED, BY_SKLEARN = "right", "refused in words", "refused by scikit-learn's checks"
KEPT = (RIGHT, REFUSED, BY_SKLEARN)
OF_COUNTS = ("ChiSquare",)  # rightly refuses a table with negative numbers
N, D = 40, 5


@dataclass(frozen=True)
class Case:
    """What is given to an estimator.

    Attributes
    ----------
    name : str
    X : anything
    labels, numbers : anything
        Targets for classifiers and regressors.
    same : bool
        Whether it is the plain table in another dress.
    must_refuse : bool
    equal_to : anything
        The same table as numbers with NaN; the same features are selected from it.
    kept_rows : ndarray of int or None
        Rows that have a target; the same features are selected from them alone.
    """

    name: str
    X: Any
    labels: Any
    numbers: Any
    same: bool = False
    must_refuse: bool = False
    equal_to: Any = None
    kept_rows: Any = None

    def plainly(self) -> Case | None:
        """The case to compare with, if there is one: NaN for what is missing, rows left out."""
        if self.equal_to is not None:
            return replace(self, X=self.equal_to)
        if self.kept_rows is not None:
            known = (np.asarray(y)[self.kept_rows] for y in (self.labels, self.numbers))
            return Case(self.name, self.X[self.kept_rows], *known)
        return None


def _cv(**settings: Any) -> Any:
    return kp.PathCV(kp.LpKTASelector(step=0.5), cv=2, n_features=[1, 2], **settings)


CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "LpKTA": lambda: kp.LpKTASelector(step=0.5, task="classification"),
    "GMKL sum": lambda: kp.GMKLClassifier(),
    "GMKL product": lambda: kp.GMKLClassifier(kernel="product"),
    "PathCV weighted": lambda: _cv(predictor="weighted_kernel", task="classification"),
    "PathCV joint": lambda: _cv(
        predictor=kp.JointRBFSVM(gamma=1.0, C=10.0), task="classification", references=False
    ),
    "NMMKL": lambda: kp.NMMKLSelector(1, task="classification"),
    "L1KR": lambda: kp.L1KRClassifier(norm_budget=0.3, search_branches=False, max_features=3),
    "SVMLW": lambda: baselines.SVMLW(1),
    "Fisher": lambda: baselines.Fisher(1),
    "L1SVM": lambda: baselines.L1SVM(1),
    "FSV": lambda: baselines.FSV(1),
    "L0Approximation": lambda: baselines.L0Approximation(1),
    "R2W2": lambda: baselines.R2W2(1),
    "BAHSIC": lambda: baselines.BAHSIC(1, task="classification"),
    "HSICLasso": lambda: baselines.HSICLasso(1, task="classification"),
    "L1MKLPath": lambda: baselines.L1MKLPath(max_features=1),
    "SMOMKL": lambda: baselines.SMOMKL(1),
    "L1SVMPath": lambda: baselines.L1SVMPath(max_features=1),
    "HKL": lambda: baselines.HKL(strengths=6, task="classification"),
    "ChiSquare": lambda: baselines.ChiSquare(1),
    "GiniIndex": lambda: baselines.GiniIndex(1),
    "InformationGain": lambda: baselines.InformationGain(1),
    "KruskalWallis": lambda: baselines.KruskalWallis(1),
    "MRMR": lambda: baselines.MRMR(1),
    "ReliefF": lambda: baselines.ReliefF(1),
    "Spectral": lambda: baselines.Spectral(1),
}
REGRESSORS: dict[str, Callable[[], Any]] = {
    "LpKTA numbers": lambda: kp.LpKTASelector(step=0.5, task="regression"),
    "GMKL numbers": lambda: kp.GMKLRegressor(),
    "PathCV numbers": lambda: _cv(predictor="weighted_kernel", task="regression"),
    "NMMKL numbers": lambda: kp.NMMKLSelector(1, task="regression"),
    "L1KR numbers": lambda: kp.L1KRRegressor(
        norm_budget=0.3, search_branches=False, max_features=3
    ),
    "SVRLW": lambda: baselines.SVRLW(1),
    "LassoLW": lambda: baselines.LassoLW(1),
    "ForwardStepwise": lambda: baselines.ForwardStepwise(1),
    "BAHSIC numbers": lambda: baselines.BAHSIC(1, task="regression"),
    "HSICLasso numbers": lambda: baselines.HSICLasso(1, task="regression"),
    "HKL numbers": lambda: baselines.HKL(strengths=6, task="regression"),
    "InformationGain numbers": lambda: baselines.InformationGain(1, task="regression"),
    "MRMR numbers": lambda: baselines.MRMR(1, criterion="fcq", task="regression"),
    "ReliefF numbers": lambda: baselines.ReliefF(1, task="regression"),
    "Spectral numbers": lambda: baselines.Spectral(1, task="regression"),
}


def trials(long: bool, seed: int) -> list[Tally]:
    """All cases in all estimators; without ``long`` every case in one, every estimator in some."""
    tally = Tally("nasty tables and targets: fit, then predict or transform", KEPT)
    with tempfile.TemporaryDirectory() as folder:
        cases = list(_cases(np.random.default_rng(seed), folder))
        pairs = [
            (case, name, make, is_class)
            for case in cases
            for group, is_class in ((CLASSIFIERS, True), (REGRESSORS, False))
            for name, make in group.items()
        ]
        plain: dict[str, Any] = {}
        for case, name, make, is_class in pairs if long else pairs[seed % 20 :: 20]:
            if case.same and name not in plain:
                plain[name] = _run(make, cases[0], is_class)[1]
            outcome, support = _run(make, case, is_class)
            if outcome == RIGHT and case.must_refuse:
                outcome = "taken for numbers"
            if outcome == RIGHT and case.same and not np.array_equal(support, plain[name]):
                outcome = "other features"
            other = case.plainly()
            if other is not None:
                wanted, expected = _run(make, other, is_class)
                if outcome == wanted == RIGHT and not np.array_equal(support, expected):
                    outcome = "other features"
                elif outcome != wanted or (outcome != RIGHT and name not in OF_COUNTS):
                    outcome = f"{outcome}, but {wanted} as numbers"
            tally.add(outcome, f"{case.name} in {name}, seed {seed}")
    return [tally]


def _run(make: Callable[[], Any], case: Case, is_class: bool) -> tuple[str, Any]:
    """Outcome of one case, and the features that were selected."""
    y = case.labels if is_class else case.numbers
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of NumPy above all
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            model = make().fit(case.X, y)
            parts = [np.asarray(model.get_support(), dtype=float)]
            parts += _numbers_of(model)
            for method in ("predict", "decision_function"):
                if hasattr(model, method):
                    parts.append(np.asarray(getattr(model, method)(case.X)))
            if not hasattr(model, "predict"):
                parts.append(_dense(model.transform(case.X)))
        except kp.DataError as error:
            return (REFUSED if str(error).strip() else "refused without a word"), None
        except (ValueError, TypeError) as error:
            return (BY_SKLEARN if str(error).strip() else "refused without a word"), None
        except Exception as error:
            return f"{type(error).__name__}: {error}"[:120], None
    for part in parts:
        if part.dtype.kind == "f" and not np.isfinite(part).all():
            return "NaN or inf in the results", None
    return RIGHT, parts[0] > 0


def _numbers_of(model: Any) -> list[np.ndarray]:
    """What was learned about the columns, and the scores of a cross-validation."""
    names = ("weights_", "alignments_", "feature_importances_", "relaxed_weights_")
    found = [np.asarray(getattr(model, name)) for name in names if hasattr(model, name)]
    return [*found, model.scores_.mean] if isinstance(model, kp.PathCV) else found


def _dense(values: Any) -> np.ndarray:
    if sparse.issparse(values):
        return values.toarray()
    array = np.asarray(values)
    return array.astype(float) if array.dtype.kind in "biuf" else np.zeros(1)


# -- the cases ------------------------------------------------------------------------------------


def _cases(rng: np.random.Generator, folder: str) -> Iterator[Case]:
    X = rng.normal(size=(N, D)).round(2)
    numbers = X[:, 0] * 1.5 + 0.4 * X[:, 1] ** 2 + 0.1 * rng.normal(size=N)
    labels = (X[:, 0] + 0.2 * rng.normal(size=N) > 0).astype(int)
    both = (labels, numbers)
    yield Case("plain", X, *both, same=True)
    yield from _dresses(X, both, folder)
    yield from _scales(X, both)
    yield from _cells(X, both)
    yield from _columns(X, both, rng)
    yield from _rows(X, both)
    yield from _targets(X, both)


def _dresses(X: np.ndarray, both: Any, folder: str) -> Iterator[Case]:
    """The same numbers in other memory, types and containers."""
    file = os.path.join(folder, "table.bin")
    X.tofile(file)
    padded = np.zeros((2 * N, 2 * D))
    padded[::2, ::2] = X
    frozen = X.copy()
    frozen.setflags(write=False)
    stored = sparse.coo_matrix((np.append(X.ravel(), [0.0, 0.0]),
        (np.append(np.repeat(np.arange(N), D), [0, 1]), np.append(np.tile(np.arange(D), N), [0, 1]))
    ))  # fmt: skip
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(D)])
    dresses = {
        "Fortran order": np.asfortranarray(X),
        "read-only": frozen,
        "negative strides": X[::-1][::-1],
        "reversed twice, columns": np.ascontiguousarray(X[:, ::-1])[:, ::-1],
        "every second cell": padded[::2, ::2],
        "memory map": np.memmap(file, dtype=float, mode="r", shape=X.shape),
        "big-endian": X.astype(">f8"),
        "objects": X.astype(object),
        "lists": X.tolist(),
        "mask that masks nothing": np.ma.masked_array(X, mask=np.zeros_like(X, dtype=bool)),
        "csr": sparse.csr_array(X),
        "csc": sparse.csc_matrix(X),
        "coo with duplicates": stored,
        "frame": frame,
        "frame of nullable numbers": frame.astype("Float64"),
        "sparse frame": frame.astype(pd.SparseDtype(float, 0.0)),
        "centimetres": X * 100.0,
        "longdouble": X.astype(np.longdouble),
    }
    for name, table in dresses.items():
        yield Case(name, table, *both, same=True)
    tenfold = np.round(100 * X)
    for kind in ("i2", "i4", "i8", "f4"):
        yield Case(f"numbers of type {kind}", tenfold.astype(kind), *both, same=True)
    small = np.clip(np.round(20 * X), -120, 120)
    yield Case("numbers of type i1", small.astype("i1"), *both)
    yield Case("numbers of type u1", (small + 120).astype("u1"), *both)
    yield Case("numbers of type u8", (tenfold + 1000).astype("u8"), *both)
    yield Case("numbers of type f2", X.astype("f2"), *both)
    yield Case("booleans", X > 0, *both)


def _scales(X: np.ndarray, both: Any) -> Iterator[Case]:
    for size in (1e-310, 1e-300, 1e-200, 1e-145, 1e-100, 1e100, 1e145, 1e200, 1e300):
        yield Case(f"one column times {size:g}", X * [size, 1, 1, 1, 1], *both, same=True)
        yield Case(f"target times {size:g}", X, both[0], both[1] * size, same=True)
    mixed = X * [1e300, 1e-300, 1, 1e-160, 1e160]
    yield Case("columns of 1e-300 and 1e300 together", mixed, *both, same=True)
    yield Case("the same, sparse", sparse.csr_array(mixed), *both, same=True)
    yield Case("one value of 1e300", _with(X, 1e300), *both)
    yield Case("one value of 1e-300 in a column of zeros", _zeros_but(X, 1e-300), *both)
    yield Case("offset of 1e6", X + 1e6, *both, same=True)
    yield Case("offset of 1e300", X + 1e300, *both)
    yield Case("largest number", _with(X, np.finfo(float).max), *both)
    yield Case("smallest number", _with(X, 5e-324), *both)


def _cells(X: np.ndarray, both: Any) -> Iterator[Case]:
    """Cells that are missing, or no numbers."""
    mask = np.zeros_like(X, dtype=bool)
    mask[3, 1] = True
    dates = (1000 * X).astype("M8[s]")
    nat = dates.copy()
    nat[3, 1] = np.datetime64("NaT")
    days = (1000 * X).astype(np.int64) / 86400
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(D)])
    objects, hole = X.astype(object), _with(X, np.nan)
    calendar = pd.Series(pd.date_range("2024", periods=N)).sample(frac=1.0, random_state=0)
    since_1970 = (calendar - pd.Timestamp(1970, 1, 1)).dt.days.to_numpy(dtype=float)
    missing = {
        "NaN, float32": (hole.astype("f4"), hole.astype("f4").astype(float)),
        "NaN, sparse": (sparse.csr_array(hole), sparse.csc_array(hole)),
        "NaN, frame": (frame.mask(mask), hole),
        "NA, frame": (frame.astype("Float64").mask(mask), hole),
        "masked": (np.ma.masked_array(_with(X, 1e6), mask=mask), hole),
        "NaT": (nat, _with(days, np.nan)),
        "dates": (dates, days),
        "durations": ((1000 * X).astype("m8[s]"), days),
        "None": (_with(objects, None), hole),
        "pd.NaT": (_with(objects, pd.NaT), hole),
        "pd.NA": (_with(objects, pd.NA), hole),
        "NaT as object": (_with(objects, np.datetime64("NaT")), hole),
        "masked as object": (_with(objects, np.ma.masked), hole),
        "mask of objects": (np.ma.masked_array(objects, mask=mask), hole),
        "question mark, frame": (frame.astype(str).mask(mask, "?"), hole),
        "column of dates": (
            frame.assign(c1=calendar.to_numpy()), frame.assign(c1=since_1970)
        ),
    }  # fmt: skip
    for name, (table, numbers) in missing.items():
        yield Case(f"table with {name}", table, *both, equal_to=numbers)
    tables = {
        "inf": _with(X, np.inf),
        "-inf": _with(X, -np.inf),
        "inf beside NaN": np.where(mask, np.inf, _zeros_but(X, np.nan)),
        "date as object": _with(objects, np.datetime64("2020-01-01")),
        "list as object": _with(objects, [1, 2]),
        "complex": X + 1j,
        "text": np.char.add("a", X.astype(str)),
        "records": np.zeros(N, dtype=[("a", float), ("b", float)]),
        "one dimension": X[:, 0],
        "three dimensions": X[:, :, None],
        "ragged lists": [[1.0], [1.0, 2.0]] * (N // 2),
    }
    for name, table in tables.items():
        yield Case(f"table with {name}", table, *both, must_refuse=True)
    yield Case("frame with text", frame.assign(c1=["u", "v"] * (N // 2)), *both)


def _columns(X: np.ndarray, both: Any, rng: np.random.Generator) -> Iterator[Case]:
    flat = X.copy()
    flat[:, 2] = 7.0
    copies = np.column_stack([X, X[:, 0], -X[:, 0]])
    yield Case("a constant column", flat, *both)
    yield Case("constant but for rounding", _column(X, 1.0 + 1e-16 * X[:, 0]), *both)
    yield Case("constant but for 1e-12", _column(X, 1.0 + 1e-12 * X[:, 2]), *both)
    yield Case("all columns constant", np.ones_like(X), *both, must_refuse=True)
    yield Case("no columns", X[:, :0], *both, must_refuse=True)
    yield Case("one column", X[:, :1], *both)
    yield Case("copies of a column", copies, *both)
    yield Case("collinear", np.column_stack([X, X @ rng.normal(size=D)]), *both)
    yield Case("collinear but for 1e-9", np.column_stack([X, X[:, 0] + 1e-9 * X[:, 1]]), *both)
    yield Case("more columns than rows", np.hstack([X, rng.normal(size=(N, 2 * N))]), *both)
    yield Case("mostly zeros", np.where(np.abs(X) > 1.5, X, 0.0), *both)
    few = np.where(np.abs(X) > 1.5, X, 0.0)
    every = sparse.csr_array((few.ravel(), np.tile(np.arange(D), N), np.arange(0, N * D + 1, D)))
    yield Case("mostly zeros, sparse", sparse.csr_array(few), *both)
    yield Case("mostly zeros, all of them stored", every, *both)
    yield Case("all zeros, sparse", sparse.csr_array(np.zeros_like(X)), *both, must_refuse=True)
    yield Case("heavy tails", rng.standard_cauchy(size=(N, D)) ** 3, *both)


def _rows(X: np.ndarray, both: Any) -> Iterator[Case]:
    labels, numbers = both
    for n in (0, 1, 2, 3, 4, 5):
        yield Case(f"{n} rows", X[:n], _alternating(n), numbers[:n], must_refuse=n < 2)
    yield Case("every row twice", np.repeat(X, 2, 0), np.repeat(labels, 2), np.repeat(numbers, 2))
    yield Case("all rows equal", np.tile(X[:1], (N, 1)), *both, must_refuse=True)
    yield Case("more values than rows", X[:-1], *both, must_refuse=True)


def _targets(X: np.ndarray, both: Any) -> Iterator[Case]:
    labels, numbers = both
    rows = np.arange(N) == 5
    rare = (np.arange(N) == int(np.argmax(X[:, 0]))).astype(int)
    yield Case("classes of 39 and 1", X, rare, numbers)
    yield Case("three classes", X, labels + (X[:, 1] > 0.8), numbers)
    yield Case("as many classes as rows", X, np.arange(N), np.arange(N))
    yield Case("labels as text", X, np.where(labels, "yes", "no"), numbers.astype("f4"), same=True)
    yield Case("labels as booleans", X, labels > 0, numbers.tolist(), same=True)
    yield Case("labels as bytes", X, np.where(labels, b"y", b"n"), numbers.astype(object))
    yield Case(
        "labels as objects", X, np.where(labels, "yes", "no").astype(object), numbers[:, None]
    )
    yield Case("one value far away", X, labels, np.where(rows, 1e100, numbers))
    yield Case("nearly constant", X, labels, 1.0 + 1e-12 * numbers)
    missing = {
        "NaN": (np.where(rows, np.nan, labels), np.where(rows, np.nan, numbers)),
        "masked": (
            np.ma.masked_array(labels, mask=rows), np.ma.masked_array(numbers, mask=rows)
        ),
        "None": (_none(labels, rows), _none(numbers, rows)),
    }  # fmt: skip
    for name, (some, more) in missing.items():
        yield Case(f"target with {name}", X, some, more, kept_rows=np.flatnonzero(~rows))
    bad = {
        "one value only": (np.ones(N), np.ones(N)),
        "no values": (labels[:0], numbers[:0]),
        "nothing": (None, None),
        "inf": (np.where(rows, np.inf, labels), np.where(rows, np.inf, numbers)),
        "no value": (np.full(N, np.nan), np.full(N, np.nan)),
        "dates": (labels.astype("M8[s]"), (1000 * numbers).astype("M8[s]")),
        "complex": (labels + 1j, numbers + 1j),
        "two columns": (np.c_[labels, labels], np.c_[numbers, numbers]),
    }  # fmt: skip
    for name, (some, more) in bad.items():
        yield Case(f"target with {name}", X, some, more, must_refuse=True)


def _alternating(n: int) -> np.ndarray:
    return np.arange(n) % 2


def _none(values: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return np.where(rows, None, values.astype(object))


def _with(X: np.ndarray, cell: Any) -> np.ndarray:
    table = X.copy()
    table[3, 1] = cell
    return table


def _column(X: np.ndarray, values: np.ndarray) -> np.ndarray:
    table = X.copy()
    table[:, 2] = values
    return table


def _zeros_but(X: np.ndarray, value: float) -> np.ndarray:
    return _column(X, np.where(np.arange(N) == 4, value, 0.0))
