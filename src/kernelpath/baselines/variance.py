"""VarianceFilter: how much a column varies, whatever the target is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.sparsefuncs import mean_variance_axis

from kernelpath.baselines._base import CLASSES, NUMBERS, Answer, BaselineSelector, Ranking, ranked
from kernelpath.baselines.chi_square import negative_columns
from kernelpath.errors import DataError
from kernelpath.tables.constant import constant_columns
from kernelpath.tables.table import Table, take_columns
from kernelpath.tables.targets import TASKS
from kernelpath.utils import checks
from kernelpath.utils.units import in_units, sizes_of

MEASURES = ("variance", "variation", "log")


class VarianceFilter(BaselineSelector):
    r"""The columns that vary most; the target is not looked at.

    Parameters
    ----------
    n_features_to_select : int, sequence of int, or "all", optional
        Budget; or several, or all from 1 on: then ``path_`` holds them all, and the largest one
        is selected.  Default: all from 1 to 10, or as many as there are.
    measure : {"variance", "variation", "log"}
        ``"variance"``: of the values as they are, as scikit-learn's ``VarianceThreshold``: it
        compares columns of one unit, such as pixels; the same lengths in millimetres vary a
        million times as much as in metres.  ``"variation"``: standard deviation over mean, which
        has no unit.  ``"log"``: variance of :math:`\log(1 + x)`, for counts, whose spread grows
        with their mean.  The last two need values from 0 on.
    task : {"auto", "classification", "regression"}
        What the target is; it changes no score.

    Attributes
    ----------
    path_ : FeaturePath
        One nested point for each budget; weights are the scores.
    scores_ : ndarray of shape (n_features,)
    ranking_ : ndarray of int, shape (n_features,)
        1 is the best; constant columns share the last rank.
    support_ : ndarray of bool, shape (n_features,)
    budgets_, n_features_in_, feature_names_in_, classes_

    Notes
    -----
    Columns are not standardised, and sparse tables stay sparse.  A target is still given, so that
    the filter can stand where any other method stands.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelpath as kp
    >>> counts = np.array([[900.0, 0.0], [1000.0, 9.0], [1100.0, 0.0], [1000.0, 9.0]])
    >>> for measure in ("variance", "variation", "log"):
    ...     kp.baselines.VarianceFilter(1, measure=measure).fit(counts, [0, 1, 0, 1]).path_[0].names
    ('x0',)
    ('x1',)
    ('x1',)
    """

    METHOD: ClassVar[str] = "variance_filter"
    TASKS: ClassVar[tuple[str, ...]] = (CLASSES, NUMBERS)
    POSITIVE: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self, n_features_to_select: Any = None, *, measure: str = "variance", task: str = "auto"
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.measure = measure
        self.task = task

    def _check_settings(self) -> None:
        super()._check_settings()
        checks.one_of("task", self.task, TASKS)
        checks.one_of("measure", self.measure, MEASURES)

    def _check_kernel(self, table: Table) -> None:
        super()._check_kernel(table)
        if self.measure == "variance":
            return
        negative = negative_columns(table.values)
        if len(negative):
            hold = "holds" if len(negative) == 1 else "hold"
            raise DataError(
                f"VarianceFilter(measure={self.measure!r}) takes counts and other amounts from 0 "
                f"on, and {table.label(negative)} {hold} negative values; leave such columns out, "
                "or set measure='variance'."
            )

    def _columns(self, table: Table) -> tuple[Any, NDArray[np.intp]]:
        """The values as they are, without constant columns."""
        values = table.values.tocsc() if sparse.issparse(table.values) else table.values
        usable = np.flatnonzero(~constant_columns(replace(table, values=values)))
        return take_columns(values, usable).astype(np.float64, copy=False), usable

    def _rank(self, Z: Any, answer: Answer, budgets: list[int]) -> Ranking:
        spread, exponents = spreads(Z, self.measure)
        with np.errstate(over="ignore", under="ignore"):
            deviation = np.ldexp(spread, exponents)  # at most the largest value
            scores = deviation if self.measure == "variation" else np.square(deviation)
        most = np.finfo(np.float64).max
        return ranked(np.minimum(scores, most), then=deviation)


def spreads(values: Any, measure: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Standard deviation of every column, over its mean or of logarithms, and its exponent.

    Examples
    --------
    >>> spreads(np.array([[0.0], [2.0]]), "variance")
    (array([0.5]), array([1]))
    """
    if measure == "log":
        if sparse.issparse(values):
            values = values.log1p()
        else:
            values = np.log1p(values)
    exponents = np.asarray(np.frexp(sizes_of(values))[1], dtype=np.int64) - 1
    scaled = in_units(values, exponents)
    if sparse.issparse(scaled):
        mean, variance = mean_variance_axis(scaled.tocsc(), axis=0)
    else:
        mean, variance = scaled.mean(axis=0), scaled.var(axis=0)
    deviation = np.sqrt(variance)
    if measure == "variation":
        return deviation / mean, np.zeros_like(exponents)
    return deviation, exponents
