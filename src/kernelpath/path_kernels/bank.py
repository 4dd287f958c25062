"""One centred, trace-normalised kernel per column, and their weighted sums."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from kernelpath.alignment.api import align_table, kernel_per_column
from kernelpath.errors import DataError
from kernelpath.kernels.feature import FeatureKernel
from kernelpath.path_kernels import _dense_loops
from kernelpath.path_kernels.columns import ColumnKernels, check_new, matching, take_columns
from kernelpath.path_kernels.point_weights import PointWeights
from kernelpath.path_kernels.split import SplitColumns
from kernelpath.tables.table import Table
from kernelpath.tables.targets import check_sample_weight
from kernelpath.utils.progress import begin, progress_bar, working

MEMORY_LIMIT = 2**30


@dataclass(frozen=True)
class Combined:
    """The combined kernel at one point, centred with the training rows.

    Attributes
    ----------
    train : ndarray of shape (n, n)
        Symmetric.
    new : ndarray of shape (n_new, n) or None
    column_means : ndarray of shape (n,)
        Means over the training rows that were subtracted from the kernel, in the form that
        :func:`cross_kernel` returns.
    """

    train: NDArray[np.float64]
    new: NDArray[np.float64] | None
    column_means: NDArray[np.float64]


@dataclass(frozen=True)
class KernelBank:
    r"""One centred, trace-normalised kernel per column, fitted on training rows.

    .. math:: K(w) = \sum_i w_i \frac{H K_i H}{\operatorname{tr}(H K_i H)}

    Attributes
    ----------
    values : ndarray or sparse matrix of shape (n, n_columns)
        Training rows.
    kernels : tuple of FeatureKernel
        The distinct kernels.
    which : ndarray of shape (n_columns,)
        Index into ``kernels`` of each column.
    gamma, center, traces, alignments : ndarray of shape (n_columns,)
        Width, mean, trace of the centred kernel (0 for constant columns) and alignment with the
        target (0 without one).
    constant : ndarray of bool, shape (n_columns,)
    row_weight : ndarray of shape (n,), optional
        Sample weights divided by their sum.
    names : ndarray, optional
        What to call the columns in messages.

    Examples
    --------
    >>> from kernelpath.tables.table import as_column_table
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> bank = KernelBank.fit(as_column_table(X))
    >>> both, first = bank.combine([[0.5, 1.0, 0.0], [2.0, 0.0, 0.0]])
    >>> float(both.train.trace().round(6)), float(first.train.trace().round(6))
    (1.5, 2.0)
    """

    values: Any
    kernels: tuple[FeatureKernel, ...]
    which: NDArray[np.intp]
    gamma: NDArray[np.float64]
    center: NDArray[np.float64]
    traces: NDArray[np.float64]
    alignments: NDArray[np.float64]
    constant: NDArray[np.bool_]
    row_weight: NDArray[np.float64] | None = None
    names: NDArray | None = None

    @classmethod
    def fit(
        cls,
        table: Table,
        y: ArrayLike | None = None,
        *,
        kernel: str | FeatureKernel = "rbf",
        bandwidth: str | Sequence[float] = "std",
        gamma: ArrayLike | None = None,
        each_width: NDArray[np.float64] | None = None,
        sample_weight: ArrayLike | None = None,
        task: str = "auto",
        n_jobs: int | None = None,
    ) -> KernelBank:
        """Find width, mean and trace of every column; without ``y`` the alignments are 0."""
        n_samples, n_columns = table.shape
        row_weight = None
        if sample_weight is not None:
            row_weight = check_sample_weight(sample_weight, n_samples)
        result, _ = align_table(
            table,
            _any_target(n_samples, row_weight) if y is None else y,
            kernel=kernel,
            bandwidth=bandwidth,
            gamma=gamma,
            each_width=each_width,
            sample_weight=row_weight,
            task="classification" if y is None else task,
            n_jobs=n_jobs,
        )
        lost = ~result.constant & ~(np.isfinite(result.gamma) & (result.gamma > 0))
        if lost.any():
            raise DataError(
                f"{table.sentence(np.flatnonzero(lost), 'has', 'have')} a width of its kernel that "
                "is not in the range of numbers; leave out rows with values far from all others."
            )
        groups = kernel_per_column(kernel, table)
        which = np.zeros(n_columns, dtype=np.intp)
        for i, (_, where) in enumerate(groups):
            which[where] = i
        bank = cls(
            values=table.values,
            kernels=tuple(one for one, _ in groups),
            which=which,
            gamma=result.gamma,
            center=result.center,
            traces=result.traces,
            alignments=np.zeros(n_columns) if y is None else result.values,
            constant=result.constant,
            row_weight=None if row_weight is None else row_weight / row_weight.sum(),
            names=table.names,
        )
        every = np.arange(n_columns)  # with them rows of weight 0, absent from all statistics
        checked = check_new(table.values, n_columns, every, bank.column_kernels(every), table.names)
        return bank if checked is table.values else replace(bank, values=checked)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.which)

    def take(self, columns: ArrayLike) -> KernelBank:
        """Restrict the bank to some columns, given by index or as a mask."""
        index = np.arange(self.n_columns)[np.asarray(columns)]
        per_column = ("which", "gamma", "center", "traces", "alignments", "constant")
        return replace(
            self,
            values=take_columns(self.values, index),
            names=index if self.names is None else self.names[index],
            **{name: getattr(self, name)[index] for name in per_column},
        )

    def point_weights(self, weights: ArrayLike) -> NDArray[np.float64]:
        """Weights divided by traces, 0 for constant columns: what multiplies the raw kernels."""
        given = PointWeights.of(weights, self._inverse_traces())
        result = np.zeros((given.n_points, self.n_columns))
        result[:, given.columns] = given.dense(slice(0, given.n_points))
        return result if np.ndim(weights) == 2 else result[0]

    def _inverse_traces(self) -> NDArray[np.float64]:
        usable = ~self.constant & (self.traces > 0)
        return np.divide(1.0, self.traces, out=np.zeros(self.n_columns), where=usable)

    def combine(
        self,
        weights: Any,
        new: Any | None = None,
        *,
        memory_limit: int | None = None,
        precision: str = "double",
    ) -> Iterator[Combined]:
        """Yield the centred combined kernel of each row of weights.

        Parameters
        ----------
        weights : array or sparse matrix of shape (n_points, n_columns)
            Not negative; a weight on a constant column counts as 0.
        new : array or sparse matrix of shape (n_new, n_columns), optional
        memory_limit : int, optional
            Bytes for the kernels of several points, which share one evaluation of the base
            kernels; 1 GiB if not given.
        precision : {"double", "single"}
            Of the sums over dense columns.  Single precision takes half the time and memory, with
            errors of about 1e-6 of the kernel.
        """
        given = PointWeights.of(weights, self._inverse_traces())
        if new is not None:
            used = self.column_kernels(given.columns)
            new = check_new(new, self.n_columns, given.columns, used, self.names)
            new = matching(new, self.values)
        limit = MEMORY_LIMIT if memory_limit is None else memory_limit
        return self._points(given, new, limit, check_precision(precision))

    def _points(
        self, weights: PointWeights, new: Any | None, limit: int, dtype: DTypeLike
    ) -> Iterator[Combined]:
        n = self.values.shape[0]
        n_new = 0 if new is None else new.shape[0]
        train = take_columns(self.values, weights.columns)
        with working("kernels of the columns"):
            parts = SplitColumns.split(
                train,
                new,
                self.column_kernels(weights.columns),
                weights,
                row_weight=self.row_weight,
                limit=limit,
            )
        weight = np.full(n, 1.0 / n) if self.row_weight is None else self.row_weight
        store = parts.store(limit, weights.n_points, dtype)  # one: fresh memory is slow
        size = max(1, len(store))
        for start in range(0, weights.n_points, size):
            stop = min(start + size, weights.n_points)
            with progress_bar():  # not while the caller works on what was yielded
                tell = _counted(start, stop, weights.n_points)
                block = parts.block(slice(start, stop), store, tell)
            for point in range(start, stop):
                own, fresh = np.zeros((n, n)), np.zeros((n_new, n))
                shift = block.add(point, own, fresh)
                means = np.empty(n)
                _dense_loops.triangle_means(own, weight, means)
                grand = float(weight @ means)
                _dense_loops.centre_triangle(own, means, grand)
                _dense_loops.centre_rows(fresh, weight, means, grand)
                if shift is not None:
                    means += shift[:n] + weight @ shift[:n]
                yield Combined(own, None if new is None else fresh, means)

    def column_kernels(self, columns: NDArray[np.intp]) -> ColumnKernels:
        """Kernels of some columns, as arrays."""
        return ColumnKernels.of(
            self.kernels, self.which[columns], self.gamma[columns], self.center[columns]
        )


def _counted(start: int, stop: int, n_points: int) -> Callable[[float], None]:
    """What counts the points of one block of many."""
    update = begin("combined kernels")
    return lambda share: update(start + share * (stop - start), n_points)


def check_precision(precision: str) -> DTypeLike:
    """Type of the numbers, or say what is wrong with the name."""
    if precision not in ("double", "single"):
        raise ValueError(f"precision must be 'double' or 'single', got {precision!r}")
    return np.float64 if precision == "double" else np.float32


def _any_target(n_samples: int, row_weight: NDArray[np.float64] | None) -> NDArray[np.int64]:
    """Two classes, one row against the others: the traces depend on no target."""
    y = np.zeros(n_samples, dtype=np.int64)
    y[0 if row_weight is None else int(np.argmax(row_weight > 0))] = 1
    return y
