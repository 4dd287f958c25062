r"""Low-rank factors of the kernels of single columns, made when they are asked for.

.. math:: H K_k H / \operatorname{tr}(H K_k H) \approx G_k^\top G_k

over the rows of a table with shares that sum to 1: the rows of :math:`G_k` are times their roots.
Kernels of few categories and powers of the column have exact factors, others the one of Nystrom
with landmarks among the values of the column, which is exact where these are few.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelpath.kernels import codes
from kernelpath.kernels.missing import far_values
from kernelpath.path_kernels import _factor_loops
from kernelpath.path_kernels.bank import KernelBank
from kernelpath.path_kernels.columns import ColumnKernels, take_columns
from kernelpath.tables.constraints import Constraints

Array = NDArray[np.float64]
N_COMPONENTS = 6
MADE = 2**20  # numbers that are made at a time


@dataclass(frozen=True, eq=False)
class ColumnFactors:
    """Factors of the kernels of columns; of several widths, or columns that go together, stacked.

    Attributes
    ----------
    bank : KernelBank
    gammas : ndarray of shape (n_widths, n_columns)
        Widths of each column, NaN where it has fewer; the kernel is the mean of those of all.
    n_components : int
        Rank of a factor without an exact form.
    units : Constraints or None
        Columns that go together, whose kernel is the mean of theirs; one each without.

    Examples
    --------
    >>> from kernelpath.tables.table import as_column_table
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> factors = ColumnFactors.of(KernelBank.fit(as_column_table(X)))
    >>> rows, ptr = factors.rows(np.array([2, 0]))
    >>> rows.shape, ptr.tolist(), np.square(rows[:6]).sum().round(9)
    ((12, 50), [0, 6, 12], np.float64(1.0))
    """

    bank: KernelBank
    gammas: Array
    n_components: int = N_COMPONENTS
    units: Constraints | None = None

    @classmethod
    def of(
        cls,
        bank: KernelBank,
        gammas: Sequence[Array] = (),
        n_components: int = N_COMPONENTS,
        units: Constraints | None = None,
    ) -> ColumnFactors:
        """Factors of all columns of a bank, at its widths or others."""
        widths = np.array(gammas) if len(gammas) else bank.gamma[None]
        return cls(bank, widths, n_components, units)

    @property
    def n_groups(self) -> int:
        """Number of columns, or of units of them."""
        return self.bank.n_columns if self.units is None else self.units.n_units

    @cached_property
    def root(self) -> Array:
        """Roots of the shares of the rows."""
        n = self.bank.values.shape[0]
        share = np.full(n, 1.0 / n) if self.bank.row_weight is None else self.bank.row_weight
        return np.sqrt(share)

    @cached_property
    def _values(self) -> Any:
        """The rows of the table as they are read: sparse ones by column, once for all."""
        values = self.bank.values
        return values.tocsc() if sparse.issparse(values) else values

    def together(self, n_numbers: int) -> int:
        """How many groups have factors of about so many numbers."""
        each = self.bank.values.shape[0] * self.n_components * len(self.gammas)
        per_group = self.bank.n_columns / max(self.n_groups, 1)
        return max(1, int(n_numbers / (each * per_group)))

    def rows(self, groups: NDArray[np.intp]) -> tuple[Array, NDArray[np.intp]]:
        """Rows of the factors of some groups, one under the other, and where each begins.

        Returns
        -------
        rows : ndarray of shape (total rank, n_rows)
        ptr : ndarray of shape (n_groups + 1,)
        """
        if self.units is None:
            return self._of_columns(groups)
        columns = self.units.columns(groups)
        rows, ptr = self._of_columns(columns)
        usable = ~self.bank.constant[columns]
        sizes = self.units.unit_sizes[groups]
        ends = np.concatenate([[0], np.cumsum(sizes)])
        counts = np.add.reduceat(usable, ends[:-1])
        scale = np.repeat(1.0 / np.sqrt(np.maximum(counts, 1)), sizes)
        rows *= np.repeat(scale, np.diff(ptr))[:, None]
        return rows, ptr[ends]

    def _of_columns(self, columns: NDArray[np.intp]) -> tuple[Array, NDArray[np.intp]]:
        parts: list[list[Array]] = [[] for _ in columns]
        n = self.bank.values.shape[0]
        size = max(1, MADE // (n * (self.n_components + 1)))
        for start in range(0, len(columns), size):
            some = columns[start : start + size]
            values = _feature_major(self._values, some)
            for gamma in self.gammas:
                wide = np.flatnonzero(~np.isnan(gamma[some]))
                own = some[wide]
                kernels = ColumnKernels.of(
                    self.bank.kernels, self.bank.which[own], gamma[own], self.bank.center[own]
                )
                for i, factor in zip(wide.tolist(), self._factors(values[wide], kernels)):
                    parts[start + i].append(factor)
        ranks = [sum(len(factor) for factor in own) for own in parts]
        ptr = np.concatenate([[0], np.cumsum(ranks)]).astype(np.intp)
        rows = np.empty((int(ptr[-1]), n))
        place = 0
        for several in parts:
            scale = 1.0 / np.sqrt(len(several))
            for factor in several:
                np.multiply(factor, scale, out=rows[place : place + len(factor)])
                place += len(factor)
        return rows, ptr

    def _factors(self, values: Array, kernels: ColumnKernels) -> list[Array]:
        """Factor of each of some columns, centred and scaled."""
        made: list[Array] = [np.zeros((1, values.shape[1]))] * len(values)
        category = kernels.codes == codes.DELTA
        smooth = np.flatnonzero(~kernels.polynomial & ~category)
        if len(smooth):
            raw, ranks = self._nystrom(values[smooth], kernels.take(smooth))
            _factor_loops.centre_and_scale(raw, self.root)
            for i, j in enumerate(smooth.tolist()):
                made[j] = raw[i, : max(ranks[i], 1)]
        for j in np.flatnonzero(category).tolist():
            made[j] = self._centred((values[j] == np.unique(values[j])[:, None]).astype(float))
        for j in np.flatnonzero(kernels.polynomial).tolist():
            own = kernels.take(np.array([j]))
            t, degree = own.standardise(values[[j]].copy())[0], int(own.degree[0])
            powers = t ** np.arange(1, degree + 1)[:, None]
            made[j] = self._centred(np.sqrt(own.factors[0, :degree, None]) * powers)
        return made

    def _centred(self, raw: Array) -> Array:
        _factor_loops.centre_and_scale(raw[None], self.root)
        return raw

    def _nystrom(self, values: Array, kernels: ColumnKernels) -> tuple[Array, NDArray[np.int64]]:
        """Rows ``F`` with ``F' F`` the approximation of a kernel by some landmarks; their number.

        The kernel is ``d(x, o) + d(o, z) - d(x, z)`` with one more of them as the origin, which is
        the kernel itself once it is centred, and loses no digits where that is wide.
        """
        n = values.shape[1]
        far = far_values(kernels.codes, kernels.gamma, kernels.center)
        landmarks = np.empty((len(values), self.n_components + 1))
        end = n + max(_factor_loops.landmarks(values, far, landmarks), 2)  # no more than needed
        points = kernels.standardise(np.concatenate([values, landmarks], axis=1)[:, :end].copy())
        d = kernels.distances(points, (n, end), (0, end))
        out = np.empty((len(values), end - n - 1, n))
        ranks = np.empty(len(values), dtype=np.int64)
        _factor_loops.nystrom(d, out, ranks)
        return out, ranks


def _feature_major(values: Any, columns: NDArray[np.intp]) -> Array:
    """Some columns, one in each row."""
    some = take_columns(values, columns)
    dense = some.toarray() if sparse.issparse(some) else some
    return np.ascontiguousarray(dense.T, dtype=np.float64)
