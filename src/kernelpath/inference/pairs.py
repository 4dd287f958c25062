"""What is chosen from both halves of many pairs: counted, kept on disk, the same in any order."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray
from scipy import sparse

from kernelpath.evaluation.checkpoint import SECONDS_BETWEEN, SHARE_OF_WORK, FoldStore
from kernelpath.evaluation.run import ONE_THREAD_ROWS
from kernelpath.evaluation.study import Study
from kernelpath.inference.halves import Halves, Halving
from kernelpath.utils.archive_forms import WHOLE, Form, Forms
from kernelpath.utils.progress import Update
from kernelpath.utils.threads import one_thread_up_to

WHAT = "pairs"


@dataclass
class PairCounts:
    """How often every feature was chosen at every size.

    Attributes
    ----------
    done : ndarray of shape (n_pairs,), bool
        Pairs that are counted.
    chosen, both : CSR matrices of shape (n_sizes, n_columns)
        Halves that choose the feature, and pairs of which both do.

    Examples
    --------
    >>> counts = PairCounts.empty(2, 1, 3)
    >>> counts.add(0, ([np.array([0, 2])], [np.array([2])]))
    >>> counts.chosen.toarray().tolist(), counts.both.toarray().tolist()
    ([[1, 0, 2]], [[0, 0, 1]])
    """

    done: NDArray[np.bool_]
    chosen: sparse.csr_array
    both: sparse.csr_array

    @classmethod
    def empty(cls, n_pairs: int, n_sizes: int, n_columns: int) -> PairCounts:
        """Nothing is counted yet."""
        nothing = _as_counts([np.zeros(0, np.intp)] * n_sizes, n_columns)
        return cls(np.zeros(n_pairs, dtype=bool), nothing, nothing.copy())

    def add(self, number: int, choices: tuple[Sequence[NDArray], Sequence[NDArray]]) -> None:
        """Count what the halves of a pair chose at every size."""
        n_columns = self.chosen.shape[1]
        one, other = (_as_counts(each, n_columns) for each in choices)
        chosen, both = self.chosen + one + other, self.both + one.multiply(other).tocsr()
        done = self.done | (np.arange(len(self.done)) == number)
        # All in one step: an interrupt leaves a pair counted, or not.
        vars(self).update(chosen=chosen, both=both, done=done)

    def arrays(self) -> dict[str, NDArray]:
        """Plain arrays, for a file."""
        parts = {"done": self.done}
        for name, matrix in (("chosen", self.chosen), ("both", self.both)):
            matrix.sort_indices()
            parts |= {
                f"{name}_indptr": matrix.indptr.astype(np.int64),
                f"{name}_columns": matrix.indices.astype(np.int64),
                f"{name}_counts": matrix.data.astype(np.int64),
            }
        return parts

    @classmethod
    def forms(cls, n_pairs: int, n_sizes: int, n_columns: int) -> Forms:
        """What these arrays must be."""
        forms = {"done": Form("b1", ("pairs",))}
        for name, most in (("chosen", 2 * n_pairs), ("both", n_pairs)):
            forms |= {
                f"{name}_indptr": Form("i8", ("sizes + 1",), low=0),
                f"{name}_columns": Form(WHOLE, (f"{name} entries",), low=0, high=n_columns - 1),
                f"{name}_counts": Form("i8", (f"{name} entries",), low=0, high=most),
            }
        return Forms(forms, {"pairs": n_pairs, "sizes + 1": n_sizes + 1})

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray], n_columns: int) -> PairCounts:
        """Build them again; a ValueError if they do not fit."""
        found = []
        for name in ("chosen", "both"):
            indptr, columns, counts = (
                arrays[f"{name}_{part}"] for part in ("indptr", "columns", "counts")
            )
            shape = (len(indptr) - 1, n_columns)
            matrix = sparse.csr_array((counts.copy(), columns.copy(), indptr.copy()), shape=shape)
            matrix.check_format(full_check=True)
            if not matrix.has_canonical_format:
                raise ValueError("a feature is counted twice")
            found.append(matrix)
        return cls(arrays["done"].copy(), *found)


def _as_counts(columns: Sequence[NDArray], n_columns: int) -> sparse.csr_array:
    """Chosen columns of every size as a matrix of ones."""
    indptr = np.concatenate([[0], np.cumsum([len(some) for some in columns])])
    indices = np.concatenate([np.zeros(0, np.intp), *columns])
    data = np.ones(len(indices), dtype=np.int64)
    return sparse.csr_array((data, indices, indptr), shape=(len(columns), n_columns))


class PairFile:
    """The counts of one piece of work in a folder, written now and then; or nowhere.

    Parameters
    ----------
    store : FoldStore
    key : str
        Name of the work.
    shape : tuple of int
        Pairs, sizes and columns.
    """

    def __init__(self, store: FoldStore, key: str, shape: tuple[int, int, int]) -> None:
        self.store, self.key, self.shape = store, key, shape
        self._next = -np.inf

    def read(self) -> PairCounts:
        """What an earlier run has counted."""
        known = self.store.read(
            self.key, WHAT,
            lambda header, label: PairCounts.forms(*self.shape),
            lambda header, arrays: PairCounts.from_arrays(arrays, self.shape[2]),
        )  # fmt: skip
        return PairCounts.empty(*self.shape) if known is None else known

    def write(self, counts: PairCounts, force: bool = False) -> None:
        """Keep the counts, unless that was done a moment ago."""
        before = time.monotonic()
        if self.store.folder is None or not (force or before >= self._next):
            return
        self.store.write(self.key, WHAT, {}, counts.arrays())
        now = time.monotonic()
        self._next = now + min(SHARE_OF_WORK * (now - before), SECONDS_BETWEEN)


def count_pairs(
    study: Study,
    halving: Halving,
    counts: PairCounts,
    file: PairFile,
    n_jobs: int | None,
    update: Update,
) -> None:
    """Trace the halves of all pairs that are not counted yet; whatever ends it, counts are kept."""
    todo = np.flatnonzero(~counts.done).tolist()
    total = len(counts.done)
    update(total - len(todo), total)
    try:
        for number, choices in _traced(study, halving, todo, n_jobs):
            counts.add(number, choices)
            file.write(counts)
            update(int(counts.done.sum()), total)
    finally:
        if todo:
            file.write(counts, force=True)


def _traced(
    study: Study, halving: Halving, todo: list[int], n_jobs: int | None
) -> Iterator[tuple[int, Any]]:
    """Choices from both halves of some pairs, as they come."""
    pairs = ((number, halving.pair(study.seed, number)) for number in todo)
    if effective_n_jobs(n_jobs) == 1:
        with one_thread_up_to(ONE_THREAD_ROWS, study.rows.n_rows):
            for number, halves in pairs:
                yield number, _choices(study, halves)
        return
    parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    yield from parallel(delayed(_worker)(study, number, halves) for number, halves in pairs)


def _worker(study: Study, number: int, halves: Halves) -> tuple[int, Any]:
    return number, _choices(study, halves)


def _choices(study: Study, halves: Halves) -> tuple[list[NDArray], list[NDArray]]:
    """Chosen columns at every size of the paths from two halves."""
    one, other = (_of_half(study, rows) for rows in halves)
    return one, other


def _of_half(study: Study, rows: NDArray[np.intp]) -> list[NDArray]:
    traced = study.trace(rows)
    return [np.sort(traced.at(int(k)).columns) for k in study.sizes]
