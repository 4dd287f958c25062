"""Picture of how far selected features repeat each other.  Stored data, drawn by ``plot``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kernelpath.report.displays._canvas import (
    INK,
    LONGEST_LABEL,
    SEQUENTIAL,
    Picture,
    colour_bar,
    labels,
    names_of,
    plain_text,
    table_of,
    write_note,
)
from kernelpath.report.displays._canvas import write_sentence as sentence

MOST_WRITTEN = 14  # features up to which the numbers are written
MISSING = "#F1F3F4"


@dataclass(frozen=True)
class RedundancyDisplay(Picture):
    """Alignment of the kernels of the heaviest features: 1 for two that say the same.

    Attributes
    ----------
    names : list of str
        Heaviest first.
    similarity : ndarray of shape (n_features, n_features)
        From 0 to 1; NaN where unknown.

    Examples
    --------
    >>> display = RedundancyDisplay(["a", "b"], np.array([[1.0, 0.3], [0.3, 1.0]]))
    >>> display.known
    True
    """

    names: list[str]
    similarity: NDArray[np.float64]

    _sentence: ClassVar[str] = "There are no two features to compare."

    @classmethod
    def from_summary(cls, summary: Mapping[str, Any]) -> RedundancyDisplay:
        """Take the features that the summary compares."""
        section = summary["redundancy"] or {"features": [], "similarity": []}
        return cls(
            names=names_of(summary, section["features"]),
            similarity=table_of(section["similarity"], len(section["features"])),
        )

    @property
    def known(self) -> bool:
        """Whether two features are compared."""
        return len(self.names) > 1 and bool(np.isfinite(self.similarity).any())

    @property
    def figure_size(self) -> tuple[float, float]:
        """Width and height in inches, for cells of the same size."""
        cell = 0.42 if len(self.names) <= MOST_WRITTEN else 0.235
        side = cell * max(len(self.names), 5)
        words = 0.085 * min(max(map(len, self.names), default=0), LONGEST_LABEL)
        return (max(side + words + 1.2, 4.2), side + words + 0.9)

    def _draw(self, ax: Any, *, fit: bool) -> Any:
        if not self.known:
            return sentence(ax, self._sentence)
        n = len(self.names)
        ax.set_facecolor(MISSING)
        # What a feature shares with itself says nothing.
        shown = np.ma.masked_invalid(np.where(np.eye(n, dtype=bool), np.nan, self.similarity))
        mesh = ax.pcolormesh(
            np.arange(n + 1) - 0.5, np.arange(n + 1) - 0.5, shown,
            cmap=SEQUENTIAL, vmin=0, vmax=1, edgecolor="white", lw=0.8,
        )  # fmt: skip
        ax.set_aspect("equal")
        ax.set_ylim(n - 0.5, -0.5)
        names, small = labels(self.names), 8.5 if n <= MOST_WRITTEN else 8
        ax.set_yticks(range(n), names, fontsize=small)
        ax.set_xticks(range(n), names, fontsize=small, rotation=90)
        for text in (*ax.get_xticklabels(), *ax.get_yticklabels()):
            plain_text(text)
        ax.tick_params(length=0)
        for side in ax.spines.values():
            side.set_visible(False)
        if n <= MOST_WRITTEN:
            self._write(ax)
        colour_bar(ax, mesh, "similarity")
        ax.set_title("Who repeats whom", loc="left", pad=22)
        write_note(ax, "Similarity of two kernels; 1: they say the same", fit=fit)
        return ax

    def _write(self, ax: Any) -> None:
        """The numbers, each in ink that can be read on its cell."""
        style = {"ha": "center", "va": "center", "fontsize": 8}
        for (i, j), value in np.ndenumerate(self.similarity):
            if i != j and np.isfinite(value):
                ax.text(j, i, f"{value:.2f}", color="white" if value > 0.55 else INK, **style)
