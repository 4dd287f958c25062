"""Picture of how a solver came to its solution.  Stored data first, drawn by ``plot``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kernelpath.mkl.convergence import AXES, ConvergenceHistory
from kernelpath.report.displays._canvas import PALETTE, Picture, dressed, write_note, write_sentence
from kernelpath.report.displays.path import End, label_ends
from kernelpath.utils.words import counted

WIDE = 20.0  # from the smallest to the largest number: beyond, an axis is logarithmic


@dataclass(frozen=True)
class ConvergenceDisplay(Picture):
    """Objective from above and its certified bound from below, against time or work.

    Attributes
    ----------
    x, objective, lower : ndarray of shape (n_iter,)
        The bound is NaN where there is none.
    x_name : str
        What ``x`` counts.
    gap : float
        At the end; infinite without a bound.

    Examples
    --------
    >>> import kernelpath as kp
    >>> data = kp.datasets.make_ring(n_samples=80, n_features=5, random_state=0)
    >>> model = kp.GMKLClassifier(solver="spg").fit(data.X, data.y)
    >>> kp.ConvergenceDisplay.from_history(model.history_, x="n_svm").x_name
    'support vector machines'
    """

    x: NDArray[np.float64]
    objective: NDArray[np.float64]
    lower: NDArray[np.float64]
    x_name: str
    gap: float

    _sentence: ClassVar[str] = "The solver made no iteration."

    @classmethod
    def from_history(cls, history: ConvergenceHistory, x: str = "seconds") -> ConvergenceDisplay:
        """Take the numbers of a history."""
        steps = np.arange(1, len(history) + 1)
        return cls(
            x=np.asarray(steps if x == "iteration" else getattr(history, x), dtype=np.float64),
            objective=history.objective,
            lower=np.where(np.isfinite(history.lower), history.lower, np.nan),
            x_name=AXES[x],
            gap=float(history.gap[-1]) if len(history) else np.inf,
        )

    @property
    def known(self) -> bool:
        """Whether there was any iteration."""
        return len(self.x) > 0

    def _draw(self, ax: Any, *, fit: bool) -> Any:
        if not self.known:
            return write_sentence(ax, self._sentence)
        dressed(ax)
        marker = "o" if len(self.x) < 40 else ""
        style: dict[str, Any] = {"marker": marker, "ms": 3.5, "lw": 1.6}
        ax.plot(self.x, self.objective, color=PALETTE[0], zorder=3, **style)
        ends = [End(float(self.objective[-1]), -1, PALETTE[0], "objective")]
        if np.isfinite(self.lower[-1]):
            ax.plot(self.x, self.lower, color=PALETTE[1], zorder=2, **style)
            ends.append(End(float(self.lower[-1]), -1, PALETTE[1], "lower bound"))
        self._scale(ax)
        label_ends(ax, ends, self.x)
        ax.set_xlabel(self.x_name)
        ax.set_ylabel("objective")
        ax.set_title(f"{counted(len(self.x), 'iteration')} of the solver", loc="left", pad=22)
        proven = f"at most {self.gap:.1e} of it above the optimum at the end"
        write_note(ax, proven if np.isfinite(self.gap) else "without a certificate", fit=fit)
        return ax

    def _scale(self, ax: Any) -> None:
        """Logarithms where numbers differ by much; bounds that say nothing are not shown whole."""
        least, most = float(self.objective.min()), float(self.objective.max())
        bounds = self.lower[np.isfinite(self.lower) & (self.lower > 0.5 * least)]
        bottom = min(least, float(bounds.min(initial=least)))
        if bottom > 0 and most > WIDE * bottom:
            ax.set_yscale("log")
            ax.set_ylim(bottom / 1.1, most * 1.1)
        else:
            room = 0.05 * max(most - bottom, 1e-9 * abs(most), 1e-300)
            ax.set_ylim(bottom - room, most + room)
        first = float(self.x[0])
        if first > 0 and self.x[-1] > WIDE * first:
            ax.set_xscale("log")
