"""How a solver came to its solution: what `history_` of an estimator holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kernelpath.utils import checks
from kernelpath.utils.words import counted

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]
AXES = {"seconds": "seconds", "n_svm": "support vector machines", "iteration": "iterations"}


@dataclass(frozen=True, eq=False, repr=False)
class ConvergenceHistory:
    """Objective and bounds after every iteration of a solver.

    Attributes
    ----------
    objective : ndarray of shape (n_iter,)
        From above: no point of the solver costs more than it says.
    lower : ndarray of shape (n_iter,)
        Largest certified lower bound of the optimum so far; minus infinity where there is none.
    n_svm, n_steps : ndarray of int, shape (n_iter,)
        Support vector machines solved so far, and steps of their solver.
    seconds : ndarray of shape (n_iter,)
        Since the start, on the clock of the wall.

    Examples
    --------
    >>> import kernelpath as kp
    >>> data = kp.datasets.make_ring(n_samples=80, n_features=5, random_state=0)
    >>> history = kp.GMKLClassifier(solver="spg").fit(data.X, data.y).history_
    >>> bool(history.gap[-1] < 1e-3), len(history) == len(history.to_frame())
    (True, True)
    """

    objective: Array
    lower: Array
    n_svm: NDArray[np.int64]
    n_steps: NDArray[np.int64]
    seconds: Array

    @classmethod
    def of(cls, history: Sequence[dict[str, float]]) -> ConvergenceHistory:
        """What a solver wrote down."""

        def column(name: str) -> list[float]:
            return [one[name] for one in history]

        return cls(
            objective=np.array(column("objective"), dtype=np.float64),
            lower=np.array(column("lower"), dtype=np.float64),
            n_svm=np.array(column("n_svm"), dtype=np.int64),
            n_steps=np.array(column("n_steps"), dtype=np.int64),
            seconds=np.array(column("seconds"), dtype=np.float64),
        )

    def __len__(self) -> int:
        """Iterations."""
        return len(self.objective)

    @property
    def gap(self) -> Array:
        """Relative distance of the best objective so far from the bound; infinite without one."""
        best = np.minimum.accumulate(self.objective)
        with np.errstate(invalid="ignore"):
            return np.maximum(best - self.lower, 0.0) / np.maximum(np.abs(best), 1e-300)

    def to_frame(self) -> pd.DataFrame:
        """One row per iteration."""
        import pandas as pd

        names = ("objective", "lower", "gap", "n_svm", "n_steps", "seconds")
        columns = {name: np.array(getattr(self, name)) for name in names}
        return pd.DataFrame(columns, index=pd.RangeIndex(1, len(self) + 1, name="iteration"))

    def plot(self, x: str = "seconds", *, ax: Any = None) -> Any:
        """Draw objective and bound against ``"seconds"``, ``"n_svm"`` or ``"iteration"``.

        Returns
        -------
        matplotlib Axes
        """
        from kernelpath.report.displays.convergence import ConvergenceDisplay

        checks.one_of("x", x, AXES)
        return ConvergenceDisplay.from_history(self, x=x).plot(ax)

    def __repr__(self) -> str:
        if not len(self):
            return "ConvergenceHistory(no iteration)"
        return (
            f"ConvergenceHistory({counted(len(self), 'iteration')}, objective "
            f"{self.objective[0]:.6g} to {self.objective.min():.6g}, gap {self.gap[-1]:.1e})"
        )
