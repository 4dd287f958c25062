r"""Columns of a table as the features of an lp-KTA problem, where they are not one each.

Columns that go together are one feature ``g`` of the problem.  Its kernel is the mean of the
trace-normalised kernels of its columns, over its cost :math:`c_g`:

.. math:: K_g = \frac{1}{c_g |g|} \sum_{i \in g} K_i, \qquad
          a_g = \frac{1}{c_g |g|} \sum_{i \in g} a_i,

so the weighted sum :math:`\sum_g \eta_g K_g` gives each column of ``g`` the weight
:math:`\eta_g / (c_g |g|)`.  Constant columns have no kernel and are not counted in :math:`|g|`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelpath.path.feature_path import EventTable
from kernelpath.tables.constraints import LARGEST_COST, Constraints
from kernelpath.tracers.lp_kta.problem import PNormProblem


@dataclass(frozen=True, eq=False)
class Units:
    """What is known of the columns, and which of them are one feature of a problem.

    Attributes
    ----------
    constraints : Constraints
    alignments, reference : ndarray of shape (n_columns,)
    usable : ndarray of bool, shape (n_columns,)
        Columns that are not constant.
    """

    constraints: Constraints
    alignments: NDArray[np.float64]
    usable: NDArray[np.bool_]
    reference: NDArray[np.float64]

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """Weight of every column where its feature has weight 1."""
        unit, costs = self.constraints.unit, self.constraints.relative_costs
        n_usable = np.bincount(unit, self.usable)
        return self.usable / np.maximum(n_usable, 1.0)[unit] / costs[unit]

    def values(self, alignments: NDArray[np.float64]) -> NDArray[np.float64]:
        """Alignments of the features from those of the columns."""
        found = np.bincount(self.constraints.unit, alignments * self.shares)
        return np.where(self.constraints.reachable, found, 0.0)

    def problem(self, **settings: Any) -> PNormProblem:
        """The problem of the features; the reference of one is the mean of its columns'."""
        unit, sizes = self.constraints.unit, self.constraints.unit_sizes
        kept = self.constraints.unit_kept
        return PNormProblem(
            alignments=self.values(self.alignments),
            usable=(np.bincount(unit, self.usable) > 0) & self.constraints.reachable,
            reference=np.bincount(unit, self.reference) / sizes,
            kept=kept if kept.any() else None,
            **settings,
        )

    def rows(self, weights: sparse.csr_array) -> sparse.csr_array:
        """Rows of weights of features as rows of weights of columns; zeros stay stored."""
        sizes = self.constraints.unit_sizes[weights.indices]
        indices = self.constraints.columns(weights.indices)
        data = np.repeat(weights.data, sizes) * self.shares[indices]
        indptr = np.concatenate([[0], np.cumsum(sizes)])[weights.indptr]
        shape = (weights.shape[0], len(self.alignments))
        made = sparse.csr_array((data, indices, indptr), shape=shape)
        made.sort_indices()
        return made

    def events(self, events: EventTable) -> EventTable:
        """Events of features as events of their columns."""
        sizes = self.constraints.unit_sizes[events.features]
        return EventTable(
            np.repeat(events.kinds, sizes),
            self.constraints.columns(events.features),
            np.repeat(events.parameters, sizes),
            np.repeat(events.positions, sizes),
        )

    def to_arrays(self) -> dict[str, NDArray]:
        """Arrays that :meth:`from_arrays` reads."""
        own = self.constraints
        costs = {} if own.costs is None else {"costs": own.costs}
        return {
            "alignments": self.alignments,
            "usable": self.usable,
            "reference": self.reference,
            "unit": own.unit.astype(np.int64),
            "kept": own.kept,
            **costs,
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray]) -> Units:
        """Build them again; a ValueError if they do not fit together."""
        unit, kept = arrays["unit"].astype(np.intp), arrays["kept"]
        known = np.unique(unit)
        if not np.array_equal(known, np.arange(len(known))):
            raise ValueError("the groups of columns are not numbered from 0 on")
        own = Constraints(unit, kept, arrays.get("costs"))
        if not np.array_equal(own.unit_kept[unit], kept):
            raise ValueError("of a group of columns only some are kept")
        if (
            own.costs is not None
            and own.costs[np.isfinite(own.costs)].max(initial=0) > LARGEST_COST
        ):
            raise ValueError(f"a cost is above {LARGEST_COST:g}")
        alignments = arrays["alignments"]
        reference = np.broadcast_to(arrays["reference"], alignments.shape)
        return cls(own, alignments, arrays["usable"], reference)
