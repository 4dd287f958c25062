r"""Targets of several columns: each is coded as it would be alone, and they count alike.

With :math:`m` outputs the coded columns of each are divided by :math:`\sqrt m`, so that the sum of
:math:`v^\top K v` over all of them is the mean over the outputs of what each has alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from kernelpath.errors import ConstantColumnWarning, DataError, naming, settings_named
from kernelpath.tables.table import as_pandas, column_list, plain_array
from kernelpath.tables.targets import (
    Target,
    as_vector,
    check_sample_weight,
    encode_target,
    infer_task,
    plain_target,
)
from kernelpath.utils.warn import warn

OUTPUTS = "outputs"


@dataclass(frozen=True, eq=False)
class Outputs:
    """A target of several columns, rows and columns as they were given.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_outputs)
    names : ndarray of str or None
        Names of the columns of a dataframe.
    tasks : tuple of {"classification", "regression"} or None
        What each column is taken for, once that was judged.

    Examples
    --------
    >>> y = Outputs(np.array([[0.5, 1], [1.5, 0], [2.5, 1]]))
    >>> y[[0, 2]].values.tolist(), y.judged().tasks
    ([[0.5, 1.0], [2.5, 1.0]], ('regression', 'classification'))
    """

    values: NDArray
    names: NDArray | None = None
    tasks: tuple[str, ...] | None = None

    @classmethod
    def of(cls, y: Any) -> Outputs | None:
        """The columns of an array or dataframe; None if there are not several."""
        if isinstance(y, Outputs):
            return y
        if len(getattr(y, "columns", ())) > 1:
            frame, columns = as_pandas(y), []
            names = np.array([str(name) for name in frame.columns])
            for j in range(len(names)):
                with _naming(_label([j], names)):
                    columns.append(plain_array(frame.iloc[:, j], "y"))
            return cls(_stacked(columns), names)
        y = plain_target(y)
        try:
            array = y.toarray() if sparse.issparse(y) else np.asarray(y)
        except ValueError:  # lists of several lengths
            return None
        return cls(array) if array.ndim == 2 and array.shape[1] > 1 else None

    @property
    def shape(self) -> tuple[int, ...]:
        """Numbers of rows and of columns."""
        return self.values.shape

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: Any) -> Outputs:
        """Some rows, by number or mask."""
        return replace(self, values=self.values[rows])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray:
        array = np.asarray(self.values, dtype=dtype)
        return array.copy() if copy else array

    def label(self, *columns: int) -> str:
        """How some columns are called at the beginning of a sentence."""
        return _label(columns, self.names)

    def vectors(self) -> list[NDArray]:
        """Each column as a vector of numbers or text, or what is wrong with one."""
        found = []
        for j in range(self.shape[1]):
            with _naming(self.label(j)):
                found.append(as_vector(self.values[:, j]))
        return found

    def judged(self, task: str = "auto", *, by_folds: bool = False) -> Outputs:
        """The same as numbers or labels, each with its task; see `infer_task`."""
        columns = self.vectors()
        tasks = self.tasks
        if tasks is None or task != "auto":
            tasks = tuple(infer_task(column, task, judged=by_folds) for column in columns)
        return replace(self, values=_stacked(columns), tasks=tasks)

    def _varied(self, weights: NDArray[np.float64]) -> list[int]:
        """Columns that have two values among the rows with a weight; the others are named."""
        rows = weights > 0
        varied = [len(np.unique(column[rows])) > 1 for column in self.vectors()]
        left = [j for j, varies in enumerate(varied) if not varies]
        if all(not varies for varies in varied):
            raise DataError("Every column of y is constant; there is nothing to select for.")
        if left:
            fate = "is constant and is" if len(left) == 1 else "are constant and are"
            warn(f"{self.label(*left)} {fate} left out.", ConstantColumnWarning)
        return [j for j, varies in enumerate(varied) if varies]

    def encoded(self, task: str = "auto", sample_weight: ArrayLike | None = None) -> Target:
        """All columns encoded; the sum over them is the mean over the outputs.

        Examples
        --------
        >>> y = Outputs(np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0], [0.0, 1.0]]))
        >>> np.square(y.encoded().columns[:, 1:]).sum(axis=1)
        array([1., 1., 1., 1.])
        """
        n = len(self)
        weights = np.ones(n) if sample_weight is None else check_sample_weight(sample_weight, n)
        y = self.judged(task)
        vectors, tasks, varied = y.vectors(), y.tasks or (), y._varied(weights)
        columns, scale = [weights[:, None]], 1.0 / np.sqrt(len(varied))
        for j in varied:
            with _naming(self.label(j)):
                own = encode_target(vectors[j], task=tasks[j], sample_weight=sample_weight)
            columns.append(scale * own.columns[:, 1:])
        return Target(OUTPUTS, np.hstack(columns), None, None, None)


def _label(columns: Sequence[int], names: NDArray | None) -> str:
    return f"C{column_list(np.array(columns), names)[1:]} of y"


@contextmanager
def _naming(label: str) -> Iterator[None]:
    """Let a refusal say which column it is about."""
    try:
        yield
    except DataError as error:
        raise naming(DataError(f"{label}: {error}"), *settings_named(error)) from None


def _stacked(columns: list[Any]) -> NDArray:
    """Columns of numbers side by side as numbers; beside text as objects."""
    arrays = [np.asarray(column) for column in columns]
    if not all(array.dtype.kind in "biuf" for array in arrays):
        arrays = [array.astype(object) for array in arrays]
    return np.column_stack(arrays)
