"""Picture of stability selection: probability against size.  Stored data, drawn by ``plot``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kernelpath.report.displays._canvas import (
    FAINT,
    GREY,
    INK,
    PALETTE,
    Picture,
    dressed,
    labels,
    write_note,
    write_sentence,
)
from kernelpath.report.displays._layout import scale_x
from kernelpath.report.displays.path import End, label_ends
from kernelpath.utils.words import counted

if TYPE_CHECKING:
    from kernelpath.inference.stability import StabilityPath

MOST_NAMED = 20
MOST_OTHERS = 150
BETWEEN = 12.0  # points between two names
DASHES = ("-", "--", ":")


@dataclass(frozen=True)
class SelectionDisplay(Picture):
    """How often every feature is chosen from half of the rows, by number of features.

    Attributes
    ----------
    sizes : ndarray of shape (n_sizes,)
        Numbers of features taken from every half.
    names : list of str
        The stable features, most often chosen first.
    stable : ndarray of shape (n_stable, n_sizes)
        Their selection probabilities.
    others : ndarray of shape (n_others, n_sizes)
        Those of the other features that are chosen most often.
    n_hidden : int
        Features that are chosen and not drawn.
    n_columns : int
    threshold : float
        Probability from which on a feature is stable.
    chosen : int
        The size at which that counts.
    expected_false : float
        Bound on the expected number of features that are stable by accident.

    Examples
    --------
    >>> import kernelpath as kp
    >>> data = kp.datasets.make_ring(n_samples=100, n_features=20, random_state=0)
    >>> stability = kp.StabilityPath(n_pairs=10).fit(data.X, data.y)
    >>> display = kp.SelectionDisplay.from_model(stability)
    >>> display.stable.shape, display.others.shape
    ((2, 10), (18, 10))
    """

    sizes: NDArray[np.int64]
    names: list[str]
    stable: NDArray[np.float64]
    others: NDArray[np.float64]
    n_hidden: int
    n_columns: int
    threshold: float
    chosen: int
    expected_false: float

    _sentence: ClassVar[str] = "No feature is chosen from any half."

    @classmethod
    def from_model(
        cls, model: StabilityPath, threshold: float | None = None, n_others: int = MOST_OTHERS
    ) -> SelectionDisplay:
        """Take the stable features, and the others that are chosen most often."""
        found = model.stable_features(threshold)
        named = found.features[:MOST_NAMED]
        order = np.argsort(-model.scores_, kind="stable")
        order = order[(model.scores_[order] > 0) & ~np.isin(order, named)]
        return cls(
            sizes=model.n_features_,
            names=list(found.names[:MOST_NAMED]),
            stable=model.probabilities_of(named).T,
            others=model.probabilities_of(order[:n_others]).T,
            n_hidden=max(len(order) - n_others, 0),
            n_columns=len(model.scores_),
            threshold=found.threshold,
            chosen=found.n_features,
            expected_false=found.expected_false,
        )

    @property
    def known(self) -> bool:
        """Whether any feature is chosen."""
        return bool(len(self.stable) + len(self.others))

    @property
    def figure_size(self) -> tuple[float, float]:
        """Width and height in inches: the more names, the higher."""
        return (7.6, max(4.2, 1.5 + BETWEEN / 72 * len(self.names)))

    def _draw(self, ax: Any, *, fit: bool) -> Any:
        if not self.known:
            return write_sentence(ax, self._sentence)
        ax = dressed(ax)
        marker = "o" if len(self.sizes) == 1 else ""  # a line through one point cannot be seen
        for row in self.others:
            ax.plot(self.sizes, row, color=GREY, lw=0.6, alpha=0.45, zorder=1, marker=marker)
        for i, row in enumerate(self.stable):
            ax.plot(self.sizes, row, lw=1.9, zorder=3, marker=marker, **_style(i))
        ax.set_ylim(0, 1.03)
        scale_x(ax, "log", self.sizes, self.n_columns)
        dashes = {"color": INK, "lw": 1.1, "ls": (0, (5, 3)), "zorder": 2}
        ax.axhline(self.threshold, **dashes)
        ax.axvline(self.chosen, **dashes)
        style = {"fontsize": 8.5, "color": FAINT, "textcoords": "offset points"}
        ax.annotate(
            f"threshold {self.threshold:g}", (0, self.threshold), (4, 3),
            xycoords=("axes fraction", "data"), va="bottom", **style,
        )  # fmt: skip
        ax.set_xlabel("number of features taken from half of the rows")
        ax.set_ylabel("selection probability")
        stable = counted(len(self.names), "stable feature") if len(self.names) < MOST_NAMED else ""
        title = f"{stable or f'The {MOST_NAMED} most stable features'} of {self.n_columns:,}"
        ax.set_title(title, loc="left", pad=22)
        write_note(ax, self._note(), fit=fit)
        # All lines end high: the name of the one that rises first is the upper one.
        rise = np.argsort(np.argsort(self.stable.mean(axis=1), kind="stable"))
        lines = zip(self.stable[:, -1].tolist(), rise.tolist(), labels(self.names))
        ends = [End(*line[:2], _style(i)["color"], line[2]) for i, line in enumerate(lines)]
        label_ends(ax, ends, self.sizes.astype(np.float64))
        return ax

    def _note(self) -> str:
        few = counted(self.chosen, "feature")
        hidden = f"; {self.n_hidden:,} features not drawn" if self.n_hidden else ""
        return (
            f"with {few} from every half, at most {self.expected_false:.2g} false expected{hidden}"
        )


def _style(i: int) -> dict[str, Any]:
    """Colour and dashes of a stable feature."""
    n = len(PALETTE)
    return {"color": PALETTE[i % n], "ls": DASHES[i // n % len(DASHES)]}
