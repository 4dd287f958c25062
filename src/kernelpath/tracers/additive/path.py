"""What was traced as a :class:`FeaturePath` that has a point for every number of features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelpath.errors import DataError
from kernelpath.path.build import build_path
from kernelpath.path.feature_path import FeaturePath, PathPoint, register_extension
from kernelpath.path.points import BEYOND, ON_PATH, nearest_sizes
from kernelpath.tables.constraints import Constraints
from kernelpath.tracers.additive.problem import Array
from kernelpath.tracers.additive.trace import Traced
from kernelpath.utils.archive_forms import REAL, Form
from kernelpath.utils.words import counted

METHOD, PARAMETER = "additive", "strength"


def path_of(
    traced: Traced,
    constant: NDArray[np.bool_],
    units: Constraints | None = None,
    **more: Any,
) -> FeaturePath:
    """Path over columns from points over groups of them.

    Parameters
    ----------
    traced : Traced
    constant : ndarray of bool, shape (n_columns,)
    units : Constraints or None
        Columns that are one group each, and those that are in every support; one each without.
    **more
        Names and provenance.
    """
    d = len(constant)
    units = units or Constraints(np.arange(d), np.zeros(d, dtype=bool))
    kept = np.flatnonzero(units.unit_kept)
    usable = np.bincount(units.unit, ~constant) > 0
    shares = ~constant / np.maximum(np.bincount(units.unit, ~constant), 1.0)[units.unit]
    norm = np.zeros(units.n_units)
    weights, supports = [], []
    for groups, norms in zip(traced.groups, traced.norms):
        norm[:] = 0.0
        norm[groups] = norms
        columns = np.sort(units.columns(np.union1d(groups, kept)))
        weights.append(norm[units.unit[columns]] * shares[columns])
        supports.append(columns)
    order = traced.order()
    order = np.concatenate([kept, order[usable[order] & ~units.unit_kept[order]]])
    ends = np.concatenate([[0], np.cumsum(units.unit_sizes[order])])[len(kept) :]
    sizes = np.union1d(ends, [len(columns) for columns in supports])
    relevance = traced.relevance[units.unit] * shares
    indptr = np.cumsum([0, *(len(columns) for columns in supports)])
    rows = sparse.csr_array(
        (np.concatenate(weights), np.concatenate(supports), indptr), shape=(len(supports), d)
    )
    return build_path(
        method=METHOD,
        parameter_name=PARAMETER,
        parameters=traced.strengths,
        weights=rows,
        values=traced.values,
        kkt=traced.kkt,
        gaps=traced.gaps,
        extension=AdditiveExtension(units.columns(order), sizes, relevance),
        **more,
    )


@register_extension
@dataclass(frozen=True)
class AdditiveExtension:
    """Every size of an additive path, also between its points and beyond its end.

    Attributes
    ----------
    entered : ndarray of int
        Columns that can be selected, in the order of their entry.
    sizes : ndarray of int
        Numbers of columns that a point can have.
    relevance : ndarray of shape (n_columns,)
        Strength at which a column would enter if it were the only one.
    """

    entered: NDArray[np.int64]
    sizes: NDArray[np.int64]
    relevance: Array
    kind = METHOD
    #: What the arrays of a saved one must be.
    FORMS: ClassVar[dict[str, Form]] = {
        "entered": Form("i8", ("entered",), low=0),
        "sizes": Form("i8", ("sizes",), low=0),
        "relevance": Form(REAL, ("columns",), low=0),
    }

    @property
    def n_usable(self) -> int:
        """Number of columns that can be selected."""
        return len(self.entered)

    def order(self) -> NDArray[np.int64]:
        """Columns in the order of entry; those that never enter by relevance."""
        return self.entered

    def at(self, path: FeaturePath, k: int) -> PathPoint:
        """Return the point with exactly ``k`` columns.

        A point of the path, if there is one; of several, that with the least objective.  Else the
        first columns in the order of entry.
        """
        stored = np.flatnonzero(path.n_selected == k)
        if len(stored):
            return path[int(stored[np.argmin(path.values[stored])])]
        if k not in self.sizes:
            raise DataError(
                f"no point has exactly {counted(k, 'feature')}, since some are always in "
                f"or go together; {nearest_sizes(self.sizes, k)}"
            )
        larger = np.flatnonzero(path.n_selected > k)
        place = int(larger[0]) if len(larger) else len(path) - 1
        weights = np.zeros(path.n_features)
        columns = self.entered[:k]
        weights[columns] = path[place].weights[columns]
        if len(larger):
            note = (
                f"between two points: the first {k} by entry, with their weights at strength "
                f"{path.parameters[place]:.6g}"
            )
        else:
            note = "beyond the path: those that have not entered follow by relevance"
            self._fill(weights, columns)
        support = np.zeros(path.n_features, dtype=bool)
        support[columns] = True
        return PathPoint(
            position=-1,
            parameter=float(path.parameters[place]),
            weights=weights,
            support=support,
            value=float("nan"),
            kkt=float("nan"),
            gap=None,
            note=note,
            feature_names=path._names,
            origin=ON_PATH if len(larger) else BEYOND,
        )

    def _fill(self, weights: Array, columns: NDArray[np.int64]) -> None:
        """Small weights for columns beyond the path, in proportion to their relevance."""
        without = columns[weights[columns] == 0.0]
        known = weights[weights > 0]
        top = self.relevance[without].max(initial=0.0)
        if top > 0:
            weights[without] = self.relevance[without] / top * (known.min() if len(known) else 1.0)

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray]]:
        """Arrays to save."""
        return {}, {
            "entered": self.entered.astype(np.int64),
            "sizes": self.sizes.astype(np.int64),
            "relevance": self.relevance,
        }

    @classmethod
    def from_state(cls, meta: dict[str, Any], arrays: dict[str, NDArray]) -> AdditiveExtension:
        """Build the extension again from what ``to_state`` gave."""
        entered, sizes = arrays["entered"], arrays["sizes"]
        d = len(arrays["relevance"])
        if len(np.unique(entered)) < len(entered) or entered.max(initial=-1) >= d:
            raise ValueError("the order of entry is none of the columns")
        if len(sizes) == 0 or np.any(np.diff(sizes) <= 0) or sizes[-1] != len(entered):
            raise ValueError("the sizes are not increasing up to all columns")
        return cls(entered, sizes, arrays["relevance"])
