"""ChiSquare: every feature by itself, by how its amounts are spread over the classes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelpath.baselines._base import Answer, BaselineSelector, Ranking, ranked
from kernelpath.errors import DataError
from kernelpath.tables.constant import constant_columns
from kernelpath.tables.table import Table, take_columns
from kernelpath.utils.units import exponents_of, in_units, size_exponent


class ChiSquare(BaselineSelector):
    r"""Chi-square: are the counts of a feature spread over the classes as its rows are [liu1995]_.

    .. math:: \chi^2 = \sum_k \frac{(O_k - E_k)^2}{E_k}, \qquad
              O_k = \sum_{i \in k} x_i, \quad E_k = \frac{n_k}{n} \sum_i x_i

    with the :math:`n_k` rows of class :math:`k`.  Features are counts, or other amounts from 0 on,
    such as the words of a text; they are taken as they are, in their units, since a larger count is
    more evidence.  Every feature is judged by itself: copies of a good one are as good.

    Parameters
    ----------
    n_features_to_select : int, sequence of int, or "all", optional
        Budget; or several, or all from 1 on: then ``path_`` holds them all, and the largest one
        is selected.  Default: all from 1 to 10, or as many as there are.

    Attributes
    ----------
    path_ : FeaturePath
        One nested point for each budget; weights are the scores.
    scores_ : ndarray of shape (n_features,)
        The statistic of each feature, that of ``sklearn.feature_selection.chi2``.
    ranking_ : ndarray of int, shape (n_features,)
        1 is the best; constant columns share the last rank.
    support_ : ndarray of bool, shape (n_features,)
    budgets_, n_features_in_, feature_names_in_, classes_

    Notes
    -----
    Columns are not standardised, and sparse tables stay sparse.  Negative values are refused.

    References
    ----------
    .. [liu1995] Liu, Setiono. Chi2: feature selection and discretization of numeric attributes.
       IEEE International Conference on Tools with Artificial Intelligence, 1995.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelpath as kp
    >>> words = np.array([[3, 1, 0], [2, 1, 1], [0, 1, 0], [0, 2, 1]])
    >>> kp.baselines.ChiSquare("all").fit(words, ["spam", "spam", "mail", "mail"]).scores_
    array([5. , 0.2, 0. ])
    """

    METHOD: ClassVar[str] = "chi_square"
    POSITIVE: ClassVar[tuple[str, ...]] = ()

    def __init__(self, n_features_to_select: Any = None) -> None:
        self.n_features_to_select = n_features_to_select

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    def _check_kernel(self, table: Table) -> None:
        super()._check_kernel(table)
        negative = negative_columns(table.values)
        if len(negative):
            hold = "holds" if len(negative) == 1 else "hold"
            raise DataError(
                "Negative values in data passed to ChiSquare, which takes counts and other amounts "
                f"from 0 on: {table.label(negative)} {hold} some; leave such columns out, or take "
                "a method for any numbers, such as KruskalWallis."
            )

    def _columns(self, table: Table) -> tuple[Any, NDArray[np.intp]]:
        """The values as they are, without constant columns."""
        values = table.values.tocsc() if sparse.issparse(table.values) else table.values
        usable = np.flatnonzero(~constant_columns(replace(table, values=values)))
        return take_columns(values, usable).astype(np.float64, copy=False), usable

    def _rank(self, Z: Any, answer: Answer, budgets: list[int]) -> Ranking:
        return ranked(chi_squares(Z, answer.codes))


def negative_columns(values: Any) -> NDArray[np.intp]:
    """Columns of an array or sparse matrix that hold a negative number; NaN is none.

    Examples
    --------
    >>> negative_columns(np.array([[1.0, -1.0, np.nan], [0.0, 2.0, 3.0]])).tolist()
    [1]
    """
    if sparse.issparse(values):
        if not (values.data < 0).any():
            return np.zeros(0, dtype=np.intp)
        entries = values.tocoo()
        return np.unique(np.asarray(entries.col)[entries.data < 0]).astype(np.intp)
    if values.dtype.kind in ("b", "u") or values.min() >= 0:  # mostly: one pass; NaN is not
        return np.zeros(0, dtype=np.intp)
    least = np.fmin.reduce(values, axis=0)
    return np.flatnonzero(least < 0)


def chi_squares(counts: Any, codes: NDArray[np.intp]) -> NDArray[np.float64]:
    """Statistic of each column of an array or sparse matrix, none of which is all 0.

    Examples
    --------
    >>> chi_squares(np.array([[3.0, 1.0], [1.0, 1.0]]), np.array([0, 1])).tolist()
    [1.0, 0.0]
    """
    with np.errstate(over="ignore"):
        observed = _class_sums(counts, codes)
        total = observed.sum(axis=0)
    exponents = np.zeros(len(total), dtype=np.int64)
    if size_exponent(total).any() or not np.isfinite(total).all():
        exponents = exponents_of(counts)  # squares of these are beyond reach
        observed = _class_sums(in_units(counts, exponents), codes)
        total = observed.sum(axis=0)
    expected = np.outer(np.bincount(codes) / len(codes), total)
    found = (np.square(observed - expected) / expected).sum(axis=0)
    with np.errstate(over="ignore"):
        return np.minimum(np.ldexp(found, exponents), np.finfo(np.float64).max)


def _class_sums(counts: Any, codes: NDArray[np.intp]) -> NDArray[np.float64]:
    """Sums of the columns over the rows of each class."""
    member = np.equal.outer(np.arange(codes.max() + 1), codes).astype(np.float64)
    return np.asarray((counts.T @ member.T).T if sparse.issparse(counts) else member @ counts)
