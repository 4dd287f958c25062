"""Every size of a path that is one order of the features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kernelpath.errors import DataError
from kernelpath.path.points import PathPoint, register_extension
from kernelpath.utils.archive_forms import WHOLE, Form
from kernelpath.utils.words import counted

NO_LOSS = "the loss was not computed at this size"


@register_extension
@dataclass(frozen=True)
class JointExtension:
    """The first features of an order, at every size from those always in to all.

    Attributes
    ----------
    taken : ndarray of int
        Columns, the first to be taken first.
    n_kept : int
        How many of them are always in.

    Examples
    --------
    >>> JointExtension(np.array([2, 0, 1]), 1).sizes.tolist()
    [1, 2, 3]
    """

    taken: NDArray[np.int64]
    n_kept: int = 0
    kind = "joint"
    #: What the arrays of a saved one must be.
    FORMS: ClassVar[dict[str, Form]] = {"taken": Form(WHOLE, ("taken",), low=0)}

    @property
    def n_usable(self) -> int:
        """Number of columns that can be selected."""
        return len(self.taken)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Numbers of columns that a point can have."""
        return np.arange(self.n_kept, len(self.taken) + 1)

    def order(self) -> NDArray[np.int64]:
        """Columns in the order in which they are taken."""
        return self.taken

    def at(self, path: Any, k: int) -> PathPoint:
        """Return the point with exactly ``k`` columns."""
        if k < self.n_kept:
            always = counted(self.n_kept, "feature")
            raise DataError(f"no point has exactly {counted(k, 'feature')}: {always} must be in")
        stored = np.flatnonzero(path.n_selected == k)
        if len(stored):
            return path[int(stored[0])]
        support = np.zeros(path.n_features, dtype=bool)
        support[self.taken[:k]] = True
        return PathPoint(
            position=-1, parameter=float(k), weights=support.astype(np.float64), support=support,
            value=np.nan, kkt=np.nan, gap=None, note=NO_LOSS, feature_names=path._names,
        )  # fmt: skip

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray]]:
        """JSON-able settings and arrays."""
        return {"n_kept": self.n_kept}, {"taken": self.taken}

    @classmethod
    def from_state(cls, meta: dict[str, Any], arrays: dict[str, NDArray]) -> JointExtension:
        """Build the extension again."""
        n_kept, taken = meta["n_kept"], arrays["taken"].astype(np.int64)
        if isinstance(n_kept, bool) or not isinstance(n_kept, int) or not 0 <= n_kept <= len(taken):
            raise ValueError(f"{n_kept!r} columns are always in")
        if len(np.unique(taken)) != len(taken):
            raise ValueError("a column is taken twice")
        return cls(taken, n_kept)
