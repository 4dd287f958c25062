"""The least p-value of all features that chance would make: the target permuted for all together.

The null moments of a feature are the same for every permutation of the target, so that only its
statistics are summed again, for many permutations in one pass over the columns.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kernelpath.alignment.columns import ColumnBlock, TableColumns
from kernelpath.alignment.engine import over_columns
from kernelpath.alignment.null_moments import NullMoments
from kernelpath.alignment.null_sums import ColumnSums, NullContraction
from kernelpath.alignment.tails import pearson_quantile
from kernelpath.tables.targets import Target

Array = NDArray[np.float64]
AT_ONCE = 64  # permutations of a pass
SELDOM = 0.05
"""A p-value that the least of many features is below; only those that may be are computed."""


@dataclass
class LeastByChance:
    """The least p-value, in logs, in each of some permutations of the target.

    Parameters
    ----------
    n_permutations : int
    seed : int
    progress : callable, optional
        Told how many permutations are done, and how many there are.
    """

    n_permutations: int
    seed: int
    progress: Callable[[int, int], None] | None = None
    log_p: Array = field(init=False)

    def __post_init__(self) -> None:
        self.log_p = np.zeros(self.n_permutations)
        self._lock = threading.Lock()

    def blocks(self, target: Target) -> Iterator[tuple[slice, Target]]:
        """Some permutations at a time, as a target that has their columns side by side."""
        weight, columns = target.columns[:, :1], target.columns[:, 1:]
        for start in range(0, self.n_permutations, AT_ONCE):
            which = slice(start, min(start + AT_ONCE, self.n_permutations))
            rng = np.random.default_rng([self.seed, start])
            shuffled = [columns[rng.permutation(len(columns))] for _ in range(start, which.stop)]
            yield which, replace(target, columns=np.hstack([weight, *shuffled]), group=None)
            if self.progress is not None:
                self.progress(which.stop, self.n_permutations)

    def take(self, which: slice, log_p: Array) -> None:
        """Account for some features: ``log_p`` has the least of theirs."""
        with self._lock:  # the least of all is the same in any order
            np.minimum(self.log_p[which], log_p, out=self.log_p[which])


class Chance(Protocol):
    """What chance makes of one target."""

    factors: Array

    def moments(self, found: ColumnSums) -> NullMoments:
        """Of each feature at each width."""

    def p_values(self, found: ColumnSums, constant: NDArray[np.bool_]) -> Array:
        """Logarithms of combined p-values."""


@dataclass(frozen=True)
class Tested:
    """Columns as they were tested.

    Attributes
    ----------
    sums : ColumnSums
    gammas : ndarray of shape (n_features, n_widths)
    constant, blurred : ndarray of bool, shape (n_features,)
        Columns that are left out, and those that need more digits than a grid gives.
    """

    sums: ColumnSums
    gammas: Array
    constant: NDArray[np.bool_]
    blurred: NDArray[np.bool_]

    def of(self, features: slice) -> Tested:
        """Some of them, not copied."""
        return Tested(
            self.sums.of(features),
            self.gammas[features],
            self.constant[features],
            self.blurred[features],
        )


def account(
    by_chance: LeastByChance,
    source: TableColumns,
    contraction: NullContraction,
    chance: Chance,
    tested: Tested,
    n_jobs: int | None,
) -> None:
    """Statistics of all features in all permutations, and the least p-value of each of these."""
    for which, target in by_chance.blocks(contraction.target):
        run = NullContraction(target, contraction.kernel, contraction.factors, contraction.exact)

        def work(
            features: slice, block: ColumnBlock, _: None, run: Any = run, which: slice = which
        ) -> None:
            own = tested.of(features)
            found = run.run(block, own.gammas.T, own.constant)
            run.refine(block, own.gammas.T, own.blurred, found)
            by_chance.take(which, least(own, found.forms, chance))

        def opened(features: slice, run: Any = run) -> tuple[ColumnBlock, None]:
            return source.open(features, run.columns), None

        over_columns(work, opened, source, n_jobs, None)


def least(own: Tested, forms: Array, chance: Chance) -> Array:
    """The least combined p-value of some features in each permutation.

    ``forms`` (n_features, n_widths, n_permutations * n_columns) has the permutations one after the
    other.
    """
    d, n_widths, _ = forms.shape
    split = forms.reshape(d, n_widths, -1, len(chance.factors))
    moments = chance.moments(own.sums)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = (split @ chance.factors**2 - moments.mean[..., None]) / np.sqrt(
            moments.variance[..., None]
        )
    # A combined p-value is no less than the least of its parts.
    may = np.any(z > pearson_quantile(SELDOM, moments.skewness)[..., None], axis=1)
    may |= own.sums.n_levels[:, None] == 2  # which have a law of their own
    may |= ~may.any(axis=0)  # no feature is so seldom: all are looked at
    feature, permutation = np.nonzero(may)
    found = ColumnSums(
        own.sums.sums[feature],
        split[feature, :, permutation],
        own.sums.n_levels[feature],
        own.sums.negligible[feature],
    )
    log_p = np.zeros(may.shape[1])
    np.minimum.at(log_p, permutation, chance.p_values(found, own.constant[feature]))
    return log_p
