"""Targets of every form: one column, several, and survival times in a structured array.

One column is a plain vector everywhere; only what takes the other two asks here.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernelpath.errors import ConstantColumnWarning, DataError, naming
from kernelpath.tables.outputs import OUTPUTS, Outputs
from kernelpath.tables.survival import is_survival, survival_fields, survival_target
from kernelpath.tables.targets import Target, as_vector, encode_target

SURVIVAL = "survival"
JOINT = (OUTPUTS, SURVIVAL)
"""Kinds of targets that are more than one column."""
IN_WORDS = {OUTPUTS: "several columns", SURVIVAL: "survival times"}


def joint_target(y: Any) -> Any:
    """A target of several columns or fields, whose rows can be taken; None for one column.

    Examples
    --------
    >>> joint_target([0, 1]) is None, joint_target([[0, 1], [1, 1], [0, 0]]).shape
    (True, (3, 2))
    """
    if is_survival(y):
        return np.asarray(y)
    return Outputs.of(y)


def kind_of(y: Any) -> str | None:
    """Kind of a joint target; None for one column."""
    if isinstance(y, Outputs):
        return OUTPUTS
    return SURVIVAL if is_survival(y) else None


def encode_any(y: Any, *, task: str = "auto", sample_weight: ArrayLike | None = None) -> Target:
    """Encode a target of any form; survival times by their residuals.

    Examples
    --------
    >>> y = np.array([(True, 1.0), (False, 2.0)], dtype=[("event", bool), ("time", float)])
    >>> encode_any(y).columns[:, 1].round(6)
    array([ 1., -1.])
    """
    joint = joint_target(y)
    if joint is None:
        return encode_target(y, task=task, sample_weight=sample_weight)
    if isinstance(joint, Outputs):
        return joint.encoded(task, sample_weight)
    if task == "classification":
        error = DataError("Survival times have no classes; leave task='classification' out.")
        raise naming(error, "task")
    residuals = survival_target(joint, sample_weight=sample_weight)
    columns = encode_target(residuals, task="regression", sample_weight=sample_weight).columns
    return Target(SURVIVAL, columns, None, None, None)


def taken(y: Any, rows: NDArray) -> Any:
    """Some rows of a target of any form."""
    return y[rows] if isinstance(y, Outputs) else np.asarray(y)[rows]


def as_any_target(y: Any, task: str = "auto") -> Any:
    """A target without holes as it is learned and judged, or what is wrong with it."""
    joint = joint_target(y)
    if isinstance(joint, Outputs):
        return joint.judged(task, by_folds=True)
    if joint is not None:
        survival_fields(joint)
        return joint
    return as_vector(y)


def row_codes(y: Any) -> NDArray:
    """One value for each row, the same where rows are; one column is itself.

    Examples
    --------
    >>> row_codes(Outputs(np.array([[0, 1], [1, 1], [0, 1]]))).tolist()
    [0, 1, 0]
    """
    if kind_of(y) is None:
        return np.asarray(y)
    import pandas as pd

    rows = pd.Series([tuple(row) for row in np.asarray(y).tolist()], dtype=object)
    return pd.factorize(rows)[0].astype(np.int64)


def constant_target(y: NDArray, weight: NDArray[np.float64] | None) -> NDArray:
    """What is predicted without features: the mean of each column, or its most frequent label.

    Of survival times it is one risk for all rows, 0.

    Examples
    --------
    >>> constant_target(np.array([[0.5, 1], [1.5, 0], [4.0, 1]]), None).tolist()
    [[2.0, 1.0]]
    """
    if is_survival(y):
        return np.zeros(1)
    outputs, found = Outputs(y).judged(), []
    assert outputs.tasks is not None
    for column, task in zip(outputs.vectors(), outputs.tasks):
        if task == "regression":
            found.append(np.average(column, weights=weight))
            continue
        labels, codes = np.unique(column, return_inverse=True)
        found.append(labels[np.bincount(codes, weights=weight).argmax()])
    return np.array([found], dtype=outputs.values.dtype)


def refuse_unlearnable(y: Any, which: str) -> None:
    """Refuse a part of the rows whose target has nothing to learn from."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConstantColumnWarning)
            encode_any(y)
    except DataError as error:
        raise DataError(f"In {which}: {error}") from error
