r"""The target as the contractions see it: centred columns with :math:`\sum_j w_j v_j = 0`.

Two classes become -1 and +1, more classes one indicator column each, a continuous target is
standardised to mean 0 and variance 1.  All are then centred, so that the kernel itself need not be.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernelpath.errors import DataError, naming, not_one_of
from kernelpath.tables.table import is_missing, plain_array, without_mask
from kernelpath.utils.warn import warn
from kernelpath.utils.words import counted

MOST_LABELS = 30
"""A target with more different whole numbers than this is a quantity."""
MOST_GAPPED_LABELS = 10  # beyond, labels are numbered from 0 or 1 without gaps
ROWS_PER_LABEL = 5  # on average, for more labels than that

LARGEST_WEIGHT = 1e120
BYTES = "The labels in y are bytes; make them text, as with np.char.decode(y.astype('S'))."
TASKS = ("auto", "classification", "regression")
JOINT_TARGETS = (
    "kp.alignments, kp.LpKTASelector and kp.AdditivePathSelector, and by PathCV with a predictor "
    "and a scoring of your own"
)


@dataclass(frozen=True)
class Target:
    """An encoded target.

    Attributes
    ----------
    task : {"classification", "regression", "outputs", "survival"}
    columns : ndarray of shape (n_samples, 1 + n_columns)
        ``[w, w v_1, w v_2, ...]``: the sample weights and the weighted centred target columns.
        Those of several outputs are scaled here, so that their sum is the mean of the outputs.
    group : ndarray of shape (n_samples,) or None
        Class of each row, when all rows weigh 1; sums over rows are then taken per class.
    codes : ndarray of shape (n_classes, n_columns) or None
        The centred target columns of each class.
    classes : ndarray or None
    """

    task: str
    columns: NDArray[np.float64]
    group: NDArray[np.intp] | None
    codes: NDArray[np.float64] | None
    classes: NDArray | None

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return self.columns.shape[0]

    @property
    def total_weight(self) -> float:
        """Sum of the sample weights; the number of rows when there are none."""
        return float(self.columns[:, 0].sum())

    @property
    def absolute_mass(self) -> NDArray[np.float64]:
        """``sum_j |w_j v_j|`` of each column: it turns a kernel error into an alignment error."""
        return np.abs(self.columns[:, 1:]).sum(axis=0)


def infer_task(y: NDArray, task: str = "auto", judged: bool = False) -> str:
    """Say whether ``y`` asks for classification or regression.

    Text, booleans and two different values are classes.  Up to 10 different whole numbers are
    too, and up to 30 that count from 0 or 1 without gaps, with 5 rows each on average.  Other
    numbers are a quantity; so are those with gaps, and where folds are to be ``judged`` all, of
    which one occurs only once: that would be a label which cannot be learned and judged.

    Examples
    --------
    >>> infer_task(np.array(["a", "b", "a"]))
    'classification'
    >>> infer_task(np.array([0.5, 1.25, 3.0]))
    'regression'
    >>> infer_task(np.array([4, 6, 8, 4, 6, 8])), infer_task(np.array([4, 6, 8, 4, 6, 9]))
    ('classification', 'regression')
    """
    if task not in TASKS:
        raise not_one_of("task", task, TASKS)
    if task != "auto":
        return task
    if y.dtype.kind in "fiu":
        return "classification" if _are_labels(y, judged) else "regression"
    return "classification"


def _are_labels(y: NDArray, judged: bool) -> bool:
    """Whether numbers look like labels of classes."""
    known, count = np.unique(y, return_counts=True)
    if len(known) <= 2:
        return True
    if not _whole_and_few(known):
        return False
    gaps = not _without_gaps(known)
    if (gaps or judged) and count.min() < 2:
        return False
    few = len(known) <= MOST_GAPPED_LABELS
    return few or (not gaps and len(y) >= ROWS_PER_LABEL * len(known))


def _whole_and_few(known: NDArray) -> bool:
    return len(known) <= MOST_LABELS and bool(np.all(known == np.floor(known)))


def _without_gaps(known: NDArray) -> bool:
    """Whether whole numbers count from 0 or 1."""
    return bool(known[0] in (0, 1) and known[-1] - known[0] == len(known) - 1)


def say_how_it_is_read(y: NDArray, task: str) -> None:
    """Say what whole numbers are taken for, where a person might mean the other."""
    if task != "auto" or y.dtype.kind not in "fiu":
        return
    known = np.unique(y)
    if len(known) <= 2 or not _whole_and_few(known):
        return
    labels = _are_labels(y, judged=True)
    if labels and _without_gaps(known):
        return
    as_, other, name = ("classes", "a quantity", "regression")
    if not labels:
        as_, other, name = ("a quantity", "classes", "classification")
    text = (
        f"The target holds {len(known)} different whole numbers and is taken for {as_}; "
        f"task='{name}' takes it for {other}."
    )
    warn(naming(UserWarning(text), "task"))


def encode_target(
    y: ArrayLike, *, task: str = "auto", sample_weight: ArrayLike | None = None
) -> Target:
    """Encode ``y``; integer sample weights are equivalent to repeated rows.

    Examples
    --------
    >>> encode_target(["a", "b", "b", "b"]).columns[:, 1]
    array([-1.5,  0.5,  0.5,  0.5])
    """
    y = as_vector(y)
    task = infer_task(y, task)
    n = len(y)
    weights = np.ones(n) if sample_weight is None else check_sample_weight(sample_weight, n)
    if task == "regression":
        return _encode_continuous(y, weights)
    # A class whose rows have no weight is not there; its rows count nowhere, whatever their code.
    classes = np.unique(y[weights > 0])
    if len(classes) < 2:
        refuse_weightless(y, weights)
        raise DataError(
            f"The target has one class only ({classes.tolist()}); at least two classes are needed."
        )
    if y.dtype.kind != "f" and len(classes) == np.count_nonzero(weights) > 2:
        error = DataError(
            f"Every row has its own class ({len(classes)} classes in as many rows), as if y were "
            "an id: give the target, or, if it is a quantity, numbers with task='regression'."
        )
        raise naming(error, "task")
    group = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    if len(classes) == 2:
        codes = np.array([[-1.0], [1.0]])
    else:
        codes = np.eye(len(classes))
    mass = np.bincount(group, weights=weights, minlength=len(classes))
    codes = codes - (mass @ codes) / mass.sum()
    columns = np.empty((n, 1 + codes.shape[1]))
    columns[:, 0] = weights
    columns[:, 1:] = weights[:, None] * codes[group]
    if sample_weight is not None:
        return Target("classification", columns, None, None, classes)
    return Target("classification", columns, group.astype(np.intp), codes, classes)


def against_rest(y: NDArray, classes: NDArray) -> list[NDArray[np.float64]]:
    """Targets of -1 and 1: one for two classes, for more each class against all others.

    Examples
    --------
    >>> y = np.array(["b", "a", "c"])
    >>> against_rest(y[:2], np.unique(y[:2])), len(against_rest(y, np.unique(y)))
    ([array([ 1., -1.])], 3)
    """
    codes = np.searchsorted(classes, y)
    which: Iterable[int] = [1] if len(classes) == 2 else range(len(classes))
    return [np.where(codes == k, 1.0, -1.0) for k in which]


def refuse_one_target(y: NDArray, kept: NDArray[np.intp], why: str, way: str) -> None:
    """Refuse rows of one class or value, where others were left out and that may be the reason."""
    import pandas as pd

    rows: Any = np.asarray(y)[kept]
    if rows.ndim > 1 or rows.dtype.names:  # several columns or fields
        rows = pd.Series([tuple(row) for row in rows.tolist()], dtype=object)
    left = pd.unique(pd.Series(rows))
    if len(left) == 1:
        error = DataError(
            f"Of {counted(len(y), 'row')}, {why} left out, and all others have the target "
            f"{str(left[0])[:40]!r}: one class or value is not enough; {way}."
        )
        raise naming(error, "missing")


def check_lengths(n_rows: int, y: NDArray) -> None:
    """Refuse a target of another length than the table."""
    if len(y) != n_rows:
        raise DataError(f"X has {counted(n_rows, 'row')}, but y has {counted(len(y), 'value')}.")


def check_sample_weight(sample_weight: ArrayLike, n_samples: int) -> NDArray[np.float64]:
    """Return the sample weights as floats, or say what is wrong with them."""
    given = plain_weight(sample_weight)
    try:
        weights = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("sample_weight must be numbers, one per row.") from None
    if weights.ndim == 0:
        weights = np.full(n_samples, float(weights))
    check_weight_shape(weights, n_samples)
    if not np.all(np.isfinite(weights)) or weights.min() < 0 or weights.max() > LARGEST_WEIGHT:
        raise DataError("sample_weight must be finite, not negative and at most 1e120.")
    if np.count_nonzero(weights) < 2:
        raise DataError("sample_weight leaves fewer than 2 rows: all other weights are zero.")
    return weights


def check_weight_shape(weights: NDArray, n_samples: int) -> None:
    """Refuse anything but one weight for each row."""
    if weights.shape != (n_samples,):
        rows = counted(n_samples, "row")
        raise DataError(f"sample_weight has shape {weights.shape}, but the table has {rows}.")


def refuse_weightless(y: NDArray, weights: NDArray[np.float64]) -> None:
    """Refuse weights that are 0 in all rows but those of one class or value."""
    kept = np.flatnonzero(weights > 0)
    if len(kept) < len(y):
        none = counted(len(y) - len(kept), "row")
        why = f"{none} of weight 0 {'is' if len(y) - len(kept) == 1 else 'are'}"
        refuse_one_target(y, kept, why, "give rows of other classes a weight")


def plain_weight(sample_weight: ArrayLike | None) -> ArrayLike | None:
    """Sample weights as they were given, if no cell is masked or a date."""
    return plain_array(sample_weight, "sample_weight")


def plain_target(y: Any) -> Any:
    """The target as it was given, but for masked values: they are missing, the others stay.

    Examples
    --------
    >>> plain_target(np.ma.masked_array([1.0, 2.0], mask=[False, True])).tolist()
    [1.0, nan]
    >>> plain_target(np.ma.masked_array(["a", "b"], mask=[False, True])).tolist()
    ['a', None]
    """
    if isinstance(y, list | tuple):
        y = [None if value is np.ma.masked else value for value in y]
    elif np.ma.is_masked(y) and y.dtype.kind in "biuUS":  # NaN would make floats of labels
        y = y.astype(object)
    return plain_array(without_mask(y), "y")


def refuse_joint(y: Any) -> None:
    """Refuse a target of several columns or fields, and say who takes it."""
    dtype = getattr(y, "dtype", None)
    if getattr(dtype, "names", None) is not None:
        raise DataError(
            f"y must be one-dimensional, got a structured array of the type {dtype}: "
            f"survival times are taken by {JOINT_TARGETS}, and kp.survival_target(y) makes one "
            "column of them."
        )
    try:
        shape = y.shape if hasattr(y, "shape") else np.asarray(y).shape
    except ValueError:  # lists of several lengths
        return
    if len(shape) == 2 and shape[1] > 1:
        raise DataError(
            f"y must be one-dimensional, got an array of shape {shape}: several columns are taken "
            f"by {JOINT_TARGETS}."
        )


def as_vector(y: ArrayLike) -> NDArray:
    """Return the target as one vector of numbers or text, or say what is wrong with it."""
    y = np.asarray(plain_array(y, "y"))
    refuse_joint(y)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1:
        raise DataError(f"y must be one-dimensional, got an array of shape {y.shape}.")
    if len(y) == 0:
        raise DataError("y is empty.")
    if y.dtype.kind == "O":
        y = _from_objects(y)
    if y.dtype.kind == "S":
        raise DataError(BYTES)
    if y.dtype.kind == "c":
        raise DataError("Complex data not supported: y holds complex numbers.")
    if y.dtype.kind not in "biufUO":
        raise DataError(f"y has the type {y.dtype}; give numbers or labels.")
    if y.dtype.kind == "f" and not np.all(np.isfinite(y)):
        count = int(np.sum(~np.isfinite(y)))
        rows = counted(count, "row")
        raise DataError(f"The target y has NaN or inf in {rows}; leave such rows out.")
    return y


def _from_objects(y: NDArray) -> NDArray:
    """Numbers held as objects become numbers; anything else becomes text labels."""
    missing = np.array([is_missing(value) for value in y.tolist()])
    if missing.any():
        raise DataError(
            f"The target y has missing values (NaN) in {counted(int(missing.sum()), 'row')}; "
            "leave such rows out."
        )
    kinds = set(map(type, y.tolist()))
    if any(issubclass(kind, bytes) for kind in kinds):
        raise DataError(BYTES)
    numeric = {kind for kind in kinds if issubclass(kind, Number | np.number)}
    if kinds <= {bool, np.bool_}:
        return y.astype(bool)
    if numeric and any(issubclass(kind, str) for kind in kinds):
        raise DataError(
            "Unknown label type: y mixes numbers and text; give one of the two, as with "
            "y.astype(str)."
        )
    if all(issubclass(kind, int | np.integer) for kind in kinds):
        return y.astype(np.int64)
    if numeric == kinds:
        return y.astype(np.float64)
    return y.astype(str)


def _encode_continuous(y: NDArray, weights: NDArray[np.float64]) -> Target:
    try:
        values = y.astype(np.float64)
    except ValueError:
        error = DataError(
            "The target holds text, which cannot be a continuous target; "
            "use task='classification' or convert it to numbers."
        )
        raise naming(error, "task") from None
    values = np.where(weights > 0, values, values[weights > 0][0])  # the others are not there
    values = values / (np.abs(values).max() or 1.0)  # neither overflow nor underflow below
    values -= values[0]  # a huge common offset must not cost digits
    total = weights.sum()
    centred = values - (weights @ values) / total
    centred -= (weights @ centred) / total
    variance = (weights @ np.square(centred)) / total
    if not variance > 0:
        raise DataError("The target is constant; there is nothing to select features for.")
    columns = np.column_stack([weights, weights * (centred / np.sqrt(variance))])
    return Target("regression", columns, None, None, None)
