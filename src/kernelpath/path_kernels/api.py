"""The public door to the combined kernels of a path."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernelpath.errors import DataError
from kernelpath.kernels import FeatureKernel, check_traced, feature_kernel_settings
from kernelpath.kernels.feature import refuse_idle_widths
from kernelpath.path.feature_path import FeaturePath
from kernelpath.path_kernels.bank import Combined, KernelBank
from kernelpath.path_kernels.columns import take_columns
from kernelpath.tables.encoding import TableEncoder
from kernelpath.tables.table import as_column_table, bytes_of
from kernelpath.utils.words import counted


def combined_kernels(
    path: FeaturePath,
    X: Any,
    y: ArrayLike | None = None,
    X_new: Any | None = None,
    *,
    kernel: str | FeatureKernel | None = None,
    bandwidth: str | None = None,
    gamma: ArrayLike | None = None,
    positions: ArrayLike | None = None,
    memory_limit: int | str | None = None,
    sample_weight: ArrayLike | None = None,
    precision: str = "double",
) -> Iterator[Combined]:
    r"""Kernel matrices of the points of a path, for a kernel method of your choice.

    .. math:: K(w) = \sum_i w_i \frac{H K_i H}{\operatorname{tr}(H K_i H)}

    with :math:`w` the weights of a point, :math:`K_i` the kernel matrix of feature ``i`` alone and
    :math:`H` the centring matrix.  New rows are centred with the means of the training rows.

    Parameters
    ----------
    path : FeaturePath
    X : array, sparse matrix or dataframe of shape (n_samples, n_features)
        Training rows, with the columns of the path.
    y : array of shape (n_samples,), optional
        Not needed: the kernels do not depend on the target.
    X_new : like ``X``, optional
        Further rows.
    kernel, bandwidth, gamma :
        See :func:`kernelpath.alignments`.  Where not given, as the path was computed.
    positions : int or array of int, optional
        Positions in the path; all of them if not given.
    memory_limit : int or str, optional
        Bytes, or text as "2GB", for the points that are computed together, 1 GiB if not given.
        Dense base kernels are evaluated once per group of points.
    sample_weight : array of shape (n_samples,), optional
        Weights of the rows in traces and means; whole numbers mean repeated rows.
    precision : {"double", "single"}
        Of the sums over dense columns, before centring; the matrices are float64 either way.
        Single precision takes half the time and memory, with errors of about 1e-6 of the kernel;
        :class:`~kernelpath.PathCV` uses it in its search, whose SVMs stop at 1e-3.

    Yields
    ------
    Combined
        ``train`` of shape (n_samples, n_samples) with trace ``sum(w)`` (each row counted as often
        as its weight says), and ``new`` of shape
        (n_new, n_samples) or None.  The arrays are yours to keep and to change.

    See Also
    --------
    kernelpath.alignments : how the path weighs one feature.

    Notes
    -----
    Only columns with a weight are read.  A dense column costs one exponential per pair of rows
    for all points together, and one multiplication per pair and point; a column of a sparse
    matrix costs one addition per pair of non-zeros and point.

    Examples
    --------
    >>> import kernelpath as kp
    >>> from sklearn.svm import SVC
    >>> data = kp.datasets.make_ring(n_samples=300, n_features=20, random_state=0)
    >>> X, y, X_new, y_new = data.X[:200], data.y[:200], data.X[200:], data.y[200:]
    >>> path = kp.LpKTASelector().fit(X, y).path_
    >>> (last,) = kp.combined_kernels(path, X, X_new=X_new, positions=-1)
    >>> model = SVC(kernel="precomputed", C=100.0).fit(last.train, y)
    >>> model.score(last.new, y_new) > 0.9
    True
    """
    if not isinstance(path, FeaturePath):
        raise TypeError(f"path must be a FeaturePath, such as selector.path_, got {path!r}")
    encoder, table = TableEncoder.fit(X)
    table = table.within_reach()
    if table.shape[1] != path.n_features:
        raise DataError(
            f"X has {counted(table.shape[1], 'column')}, but the path {path.n_features}."
        )
    _check_names("X", table.names, path.feature_names if table.names is not None else None)
    options = _as_traced(path, {"kernel": kernel, "bandwidth": bandwidth, "gamma": gamma})
    weights = path.weights[_checked_positions(positions, len(path))]
    new = None
    if X_new is not None:
        _check_names("X_new", as_column_table(X_new).names, table.names)
        new = encoder.table(X_new).in_units_of(table.exponents).values
    total = np.bincount(weights.indices, weights=weights.data, minlength=weights.shape[1])
    used = np.flatnonzero(total)
    if len(used) == 0:  # a bank needs a column, be it without weight
        used = np.zeros(1, dtype=np.intp)
    for name in ("gamma", "each_width"):
        if name in options and np.ndim(options[name]) == 1:
            options[name] = np.asarray(options[name])[used]
    part = table.of_columns(used, take_columns(table.values, used))
    bank = KernelBank.fit(part, y, **options, sample_weight=sample_weight)
    if new is not None:
        new = take_columns(new, used)
    limit = None if memory_limit is None else bytes_of(memory_limit, least=1)
    return bank.combine(weights[:, used], new, memory_limit=limit, precision=precision)


def _check_names(table: str, names: Any, expected: Any) -> None:
    """Refuse columns of another name or in another order: weights go by position."""
    if names is None or expected is None:
        return
    wrong = [i for i, (a, b) in enumerate(zip(names, expected)) if str(a) != str(b)]
    if wrong:
        i = wrong[0]
        raise DataError(
            f"{table} has the column {str(names[i])!r} where {str(expected[i])!r} belongs; give "
            "the columns of the path in their order."
        )


def _as_traced(path: FeaturePath, given: dict[str, Any]) -> dict[str, Any]:
    """Settings of the kernels: those given, else those that the path was computed with."""
    traced = feature_kernel_settings(path.provenance.get("parameters", {}), path.test)
    for name, other in (("bandwidth", "gamma"), ("gamma", "bandwidth")):
        if given[name] is not None:  # of the ways to say the widths, the one of now
            traced.pop(other, None)
            traced.pop("each_width", None)
    found = {name: value for name, value in traced.items() if name == "each_width"}
    for name, value in given.items():
        known = traced.get(name) if value is None else value
        if known is not None:
            found[name] = known
    if given["kernel"] is None:
        check_traced(found)
    refuse_idle_widths(given["bandwidth"], given["gamma"])
    return found


def _checked_positions(positions: Any, n_points: int) -> NDArray[np.intp]:
    if positions is None:
        return np.arange(n_points)
    given = np.atleast_1d(np.asarray(positions))
    if given.size == 0:
        return np.zeros(0, dtype=np.intp)
    if given.dtype.kind not in "iu" or given.min() < -n_points or given.max() >= n_points:
        raise DataError(
            f"positions must be whole numbers from {-n_points} to {n_points - 1}, got {positions!r}"
        )
    return np.arange(n_points)[given]
