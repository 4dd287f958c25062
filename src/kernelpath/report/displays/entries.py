"""Picture of who is selected at which number of features.  Stored data, drawn by ``plot``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kernelpath.report.displays._canvas import (
    FAINT,
    INK,
    PALETTE,
    Picture,
    chosen_size,
    dressed,
    labels,
    names_of,
    plain_text,
    table_of,
)
from kernelpath.report.displays._canvas import write_sentence as sentence
from kernelpath.report.displays._layout import column_ticks, ticks_that_fit

MOST_ROWS = 30
LEFT = PALETTE[1]
LONGEST = 28
HALF = 0.36  # of the height of a bar


@dataclass(frozen=True)
class EntriesDisplay(Picture):
    """Which features are selected at which number of features.

    A row is a feature, a column a number of features.  On a path that is not nested a feature may
    leave when the number grows; such columns are marked in the row.

    Attributes
    ----------
    sizes : ndarray of shape (n_sizes,)
        Numbers of features, increasing.
    names : list of str
        Features in the order in which they come.
    present : ndarray of shape (n_features, n_sizes), bool
    nested : bool
        Whether the whole path is nested: no feature ever leaves.
    chosen : int or None
        Number of features of the operating point.

    Examples
    --------
    >>> present = np.array([[True, True, False], [False, True, True]])
    >>> display = EntriesDisplay(np.array([1, 2, 3]), ["a", "b"], present, nested=False)
    >>> display.left.tolist()
    [[False, False, True], [False, False, False]]
    """

    sizes: NDArray[np.int64]
    names: list[str]
    present: NDArray[np.bool_]
    nested: bool
    chosen: int | None = None

    _sentence: ClassVar[str] = "There is no feature to follow from size to size."

    @classmethod
    def from_summary(cls, summary: Mapping[str, Any]) -> EntriesDisplay:
        """Take the features that the summary follows from size to size."""
        section = summary["entries"]
        sizes, rows = section["sizes"], section["rows"]
        return cls(
            sizes=np.array(sizes, dtype=np.int64),
            names=names_of(summary, [row["feature"] for row in rows]),
            present=table_of([row["present"] for row in rows], len(sizes)) > 0,
            nested=bool(section["nested"]),
            chosen=chosen_size(summary),
        )

    @property
    def left(self) -> NDArray[np.bool_]:
        """Where a feature is missing that a smaller number of features has."""
        return np.logical_or.accumulate(self.present, axis=1) & ~self.present

    @property
    def known(self) -> bool:
        """Whether any feature is followed."""
        return bool(self.present.any())

    @property
    def figure_size(self) -> tuple[float, float]:
        """Width and height in inches: the more rows, the higher."""
        n_rows, n_columns = self._drawn()
        return (float(np.clip(3.2 + 0.3 * n_columns, 6.0, 9.0)), 1.5 + 0.215 * max(n_rows, 4))

    def _drawn(self) -> tuple[int, int]:
        """Rows and columns that are drawn: whole sizes, as long as the features are few."""
        met = np.logical_or.accumulate(self.present, axis=1).sum(axis=0)
        fits = int(np.count_nonzero(met <= MOST_ROWS))
        if fits == 0:  # already the smallest size has many
            return min(len(self.names), MOST_ROWS), len(self.sizes)
        return int(met[fits - 1]), fits

    def _draw(self, ax: Any, *, fit: bool) -> Any:
        if not self.known:
            return sentence(ax, self._sentence)
        n_rows, n_columns = self._drawn()
        present, left = self.present[:n_rows, :n_columns], self.left[:n_rows, :n_columns]
        dressed(ax, grid="")
        for i in range(n_rows):
            ax.axhline(i, color="#EEF0F2", lw=0.8, zorder=0)
            ax.broken_barh(list(_runs(present[i])), (i - HALF, 2 * HALF), color=PALETTE[0], lw=0)
            gone = {"facecolor": "#FBE9DD", "edgecolor": LEFT, "lw": 1.0}
            ax.broken_barh(list(_runs(left[i])), (i - HALF, 2 * HALF), **gone)
            ax.plot(np.flatnonzero(left[i]), np.full(left[i].sum(), i), "x", color=LEFT, ms=4)
        self._dress(ax, n_rows, n_columns, left)
        return ax

    def _dress(self, ax: Any, n_rows: int, n_columns: int, left: NDArray[np.bool_]) -> None:
        """Names of rows and columns, and the words around them."""
        ax.set_ylim(n_rows - 0.4, -0.6)  # the first at the top
        ax.set_xlim(-0.5, n_columns - 0.5)
        ax.set_yticks(range(n_rows), labels(self.names[:n_rows], LONGEST), fontsize=8.5)
        for text, leaves in zip(ax.get_yticklabels(), [row.any() for row in left]):
            plain_text(text).set_color(LEFT if leaves else INK)
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
        ticks = column_ticks(self.sizes[:n_columns], ticks_that_fit(ax))
        ax.set_xticks(ticks, [f"{self.sizes[i]:,}" for i in ticks])
        ax.set_xlabel("number of features" + self._rest(n_rows, n_columns))
        ax.set_title("Who is selected at which number of features", loc="left", pad=22)
        notes = [("selected", PALETTE[0]), ("× leaves although the number grows", LEFT)]
        if not left.any():
            words = "Nested: who is in stays in." if self.nested else "Here who is in stays in."
            notes = [(words, FAINT)]
        for place in np.flatnonzero(self.sizes[:n_columns] == self.chosen).tolist():
            ax.axvspan(place - 0.5, place + 0.5, color=INK, alpha=0.11, lw=0, zorder=0.5)
            notes.append((f"Shaded: the chosen {self.chosen:,}.", FAINT))
        before: Any = None
        for words, color in notes:  # side by side above the rows
            start: Any = (0, 1) if before is None else (1, 0)
            shift, of = ((0, 6), "axes fraction") if before is None else ((10, 0), before)
            before = ax.annotate(
                words, start, shift, of, "offset points", color=color, fontsize=9, va="bottom"
            )

    def _rest(self, n_rows: int, n_columns: int) -> str:
        """Words for what is not drawn."""
        if n_columns < len(self.sizes):
            return f" (sizes above {self.sizes[n_columns - 1]:,} are not drawn)"
        hidden = len(self.names) - n_rows
        return f" ({hidden:,} more features are not drawn)" if hidden else ""


def _runs(row: NDArray[np.bool_]) -> Iterator[tuple[float, float]]:
    """Start and length of the stretches of a row, as bars around whole numbers."""
    edges = np.flatnonzero(np.diff(np.r_[False, row, False].astype(np.int8)))
    for start, end in edges.reshape(-1, 2).tolist():
        yield start - 0.5, end - start
