r"""An explicit map of the combined kernel, for more rows than a kernel matrix allows.

Every column is mapped by itself, to a few numbers whose products give its weighted kernel up to
``f(x) + f(z)``, which a linear model with an intercept does not see.  Linear, polynomial and
categorical kernels and columns with few values have exact maps; other columns
take the Nystrom map of a few of their own values.  Nothing in here but arrays.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from kernelpath.errors import ExtensionError
from kernelpath.kernels import codes
from kernelpath.kernels.missing import far_values
from kernelpath.path_kernels.bank import KernelBank
from kernelpath.path_kernels.columns import ColumnKernels, check_new, matching
from kernelpath.tables.table import canonical

POWERS, CATEGORIES, NYSTROM = 0, 1, 2
SMALLEST_EIGENVALUE = 1e-10
MAX_ROWS = 100_000
ROW_BLOCK = 65_536


@dataclass(frozen=True)
class ExplicitMap:
    """Rows as points whose inner products are the combined kernel, up to ``f(x) + f(z)``.

    Columns are numbered by their order in ``columns``; ragged arrays come with pointers.

    Attributes
    ----------
    shape : ndarray of shape (2,)
        Number of columns of the table, and whether it is sparse.
    columns : ndarray of shape (n_used,)
        Columns with a weight.
    kinds : ndarray of shape (n_used,)
        Powers, categories or Nystrom.
    codes, gamma, center, factors : ndarray
        The kernel of each used column.
    anchor : ndarray of shape (n_used,)
        Value that is mapped to 0.
    landmark_ptr, landmarks : ndarray
        Values to compare with: all categories, or the landmarks.
    matrix_ptr, matrices : ndarray
        What multiplies the comparisons: a matrix for Nystrom, a scale for each number otherwise.
    out_ptr : ndarray of shape (n_used + 1,)
        Where the numbers of a column stand in the result.

    Examples
    --------
    >>> from kernelpath.tables.table import as_column_table
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> bank = KernelBank.fit(as_column_table(X))
    >>> weights = np.array([0.7, 0.3, 0.0])
    >>> phi = ExplicitMap.fit(bank, weights).transform(X)
    >>> phi = phi - phi.mean(axis=0)
    >>> (exact,) = bank.combine(weights)
    >>> bool(np.linalg.norm(phi @ phi.T - exact.train) < 1e-3 * np.linalg.norm(exact.train))
    True
    """

    shape: NDArray[np.int64]
    columns: NDArray[np.int64]
    kinds: NDArray[np.int64]
    codes: NDArray[np.int64]
    gamma: NDArray[np.float64]
    center: NDArray[np.float64]
    factors: NDArray[np.float64]
    anchor: NDArray[np.float64]
    landmark_ptr: NDArray[np.int64]
    landmarks: NDArray[np.float64]
    matrix_ptr: NDArray[np.int64]
    matrices: NDArray[np.float64]
    out_ptr: NDArray[np.int64]

    @classmethod
    def fit(
        cls,
        bank: KernelBank,
        weights: ArrayLike,
        n_components: int = 10,
        max_rows: int = MAX_ROWS,
    ) -> ExplicitMap:
        """Choose the map of every column with a weight.

        Parameters
        ----------
        bank : KernelBank
        weights : array of shape (n_columns,)
        n_components : int
            Most numbers for a column whose kernel has no exact map.
        max_rows : int
            Rows, evenly spaced, among whose values landmarks and categories are found.
        """
        if n_components < 1 or max_rows < 1:
            raise ValueError("n_components and max_rows must be at least 1")
        scale = bank.point_weights(np.ravel(weights))
        used = np.flatnonzero(scale)
        kernels = bank.column_kernels(used)
        if kernels.own is not None:
            raise ExtensionError("A kernel of your own has no map that consists of numbers alone.")
        sparse = sp.issparse(bank.values)
        values = canonical(sp.csc_matrix(bank.values)) if sparse else bank.values
        makers = [
            _fit_column(
                kernels.take(np.array([i])),
                _distinct(values, int(c), max_rows),
                scale[c],
                sparse,
                n_components,
            )
            for i, c in enumerate(used)
        ]
        kinds, anchors, landmarks, matrices, sizes = zip(*makers) if makers else ((),) * 5
        return cls(
            shape=np.array([values.shape[1], sparse], dtype=np.int64),
            columns=used.astype(np.int64),
            kinds=np.array(kinds, dtype=np.int64),
            codes=kernels.codes,
            gamma=kernels.gamma,
            center=kernels.center,
            factors=kernels.factors,
            anchor=np.array(anchors, dtype=np.float64),
            landmark_ptr=_pointers([len(part) for part in landmarks]),
            landmarks=np.concatenate([np.empty(0), *landmarks]),
            matrix_ptr=_pointers([part.size for part in matrices]),
            matrices=np.concatenate([np.empty(0), *(part.ravel() for part in matrices)]),
            out_ptr=_pointers(sizes),
        )

    @property
    def _kernels(self) -> ColumnKernels:
        return ColumnKernels(self.codes, self.gamma, self.center, self.factors)

    @property
    def n_out(self) -> int:
        """Numbers per row."""
        return int(self.out_ptr[-1])

    def to_arrays(self) -> dict[str, NDArray]:
        """Everything the map consists of."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray]) -> ExplicitMap:
        """Build the map again from :meth:`to_arrays`."""
        return cls(**{field.name: np.asarray(arrays[field.name]) for field in fields(cls)})

    def transform(self, values: Any) -> Any:
        """Map rows with the columns of the table; CSR if the training table was sparse."""
        used = self.columns.astype(np.intp)
        new = check_new(values, int(self.shape[0]), used, self._kernels)
        if self.shape[1]:
            return self._transform_sparse(matching(new, sp.csc_matrix((0, 0))))
        new = matching(new, np.empty(0))
        result = np.empty((new.shape[0], self.n_out))
        for start in range(0, len(new), ROW_BLOCK):
            block = slice(start, start + ROW_BLOCK)
            for i in range(len(used)):
                own = slice(self.out_ptr[i], self.out_ptr[i + 1])
                result[block, own] = self._map(i, new[block, i].astype(np.float64))
        return result

    def _transform_sparse(self, new: Any) -> sp.csr_matrix:
        """Only non-zeros are mapped: 0 goes to 0, or has one image that fills the column."""
        new = canonical(sp.csc_matrix(new))
        parts = []
        for i in range(new.shape[1]):
            own = slice(new.indptr[i], new.indptr[i + 1])
            rows, image = new.indices[own], self._map(i, new.data[own].astype(np.float64))
            zero = self._map(i, np.zeros(1))
            if zero.any():
                full = np.repeat(zero, new.shape[0], axis=0)
                full[rows] = image
                parts.append(sp.csr_matrix(full))
                continue
            width = image.shape[1]
            ptr = np.zeros(new.shape[0] + 1, dtype=np.int64)
            ptr[rows + 1] = width
            indices = np.tile(np.arange(width), len(rows))
            shape = (new.shape[0], width)
            parts.append(sp.csr_matrix((image.ravel(), indices, np.cumsum(ptr)), shape=shape))
        result = sp.hstack(parts, format="csr") if parts else sp.csr_matrix((new.shape[0], 0))
        result.eliminate_zeros()
        return result

    def _map(self, i: int, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values of the ``i``-th used column as rows of numbers."""
        matrix = self.matrices[self.matrix_ptr[i] : self.matrix_ptr[i + 1]]
        landmarks = self.landmarks[self.landmark_ptr[i] : self.landmark_ptr[i + 1]]
        if self.kinds[i] == POWERS:
            zero = (self.anchor[i] - self.center[i]) * np.sqrt(self.gamma[i])
            return matrix * _powers(
                (x - self.center[i]) * np.sqrt(self.gamma[i]), zero, len(matrix)
            )
        if self.kinds[i] == CATEGORIES:
            return matrix * _categories(x, landmarks, bool(self.shape[1]))
        near = _anchored(self._kernels.take(np.array([i])), x, landmarks, self.anchor[i])
        return near @ matrix.reshape(len(landmarks), -1)


def _distinct(values: Any, column: int, max_rows: int) -> NDArray[np.float64]:
    """Distinct values among evenly spaced rows of a column; non-zeros of a sparse one."""
    if sp.issparse(values):
        x = values.data[values.indptr[column] : values.indptr[column + 1]]
    else:
        x = values[:, column]
    return np.unique(x[:: -(-max(len(x), 1) // max_rows)].astype(np.float64))


def _pointers(sizes: Any) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(np.asarray(sizes, dtype=np.int64))]).astype(np.int64)


def _powers(t: NDArray[np.float64], zero: float, degree: int) -> NDArray[np.float64]:
    """``t^b - zero^b`` for the powers from 1."""
    b = np.arange(1, degree + 1)
    return t[:, None] ** b - zero**b


def _categories(
    x: NDArray[np.float64], categories: NDArray[np.float64], sparse: bool
) -> NDArray[np.float64]:
    """Indicators of the categories; for sparse tables only of non-zeros, and of being one."""
    one_hot = (x[:, None] == categories).astype(np.float64)
    return np.column_stack([x != 0, one_hot]).astype(np.float64) if sparse else one_hot


def _anchored(
    kernel: ColumnKernels, x: NDArray[np.float64], landmarks: NDArray[np.float64], anchor: float
) -> NDArray[np.float64]:
    """``d(x, a) + d(a, l) - d(x, l)`` for every value and landmark, ``a`` being the anchor.

    Unlike the kernel it has no constant part, so a wide kernel loses no digits to it.
    """
    q, m = len(landmarks), len(x)
    points = kernel.standardise(np.concatenate([x, landmarks, [anchor]])[None])
    d = kernel.distances(points, (m, m + q + 1), (0, m + q))[0]
    return (d[-1, :m] + d[-1, m:, None] - d[:-1, :m]).T


def _fit_column(
    kernel: ColumnKernels, x: NDArray[np.float64], weight: float, sparse: bool, n_components: int
) -> tuple[int, float, NDArray[np.float64], NDArray[np.float64], int]:
    """Kind, anchor, landmarks, matrix and number of outputs of a column.

    ``x`` holds the distinct training values, those of a sparse table without 0.
    """
    root = np.sqrt(weight)
    if kernel.polynomial[0]:
        degree = int(kernel.degree[0])
        anchor = 0.0 if sparse and kernel.shiftable[0] else float(kernel.center[0])
        return POWERS, anchor, np.empty(0), root * np.sqrt(kernel.factors[0, :degree]), degree
    if kernel.codes[0] == codes.DELTA:
        scale = np.full(len(x) + sparse, root)
        return CATEGORIES, 0.0, x, scale, len(scale)
    far = x == far_values(kernel.codes, kernel.gamma, kernel.center)  # what is missing
    chosen = _spread(x[~far], n_components + (not sparse))
    anchor = 0.0 if sparse or len(chosen) == 0 else chosen[len(chosen) // 2]
    landmarks = np.append(chosen[chosen != anchor], x[far])
    near = _anchored(kernel, landmarks, landmarks, anchor)
    values, vectors = np.linalg.eigh(near)
    keep = values > SMALLEST_EIGENVALUE * values.max(initial=0.0)
    matrix = root * vectors[:, keep] / np.sqrt(values[keep])
    return NYSTROM, anchor, landmarks, matrix, matrix.shape[1]


def _spread(values: NDArray[np.float64], n_wanted: int) -> NDArray[np.float64]:
    """Some of the sorted values, both ends included.

    Between quantiles, which leave the tails without support, and a regular grid, which a single
    outlier spoils: as dense as the cube root of the density of the values.
    """
    if len(values) <= n_wanted:
        return values
    position = np.concatenate([[0.0], np.cumsum(np.cbrt(np.square(np.diff(values))))])
    wanted = np.linspace(0.0, position[-1], n_wanted)
    right = np.clip(np.searchsorted(position, wanted), 1, len(values) - 1)
    left_is_nearer = wanted - position[right - 1] < position[right] - wanted
    return values[np.unique(right - left_is_nearer)]
