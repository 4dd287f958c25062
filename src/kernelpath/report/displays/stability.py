"""Picture of how far the folds agree on the features.  Stored data first, drawn by ``plot``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kernelpath.report.displays._canvas import (
    FAINT,
    GREY,
    INK,
    PALETTE,
    SEQUENTIAL,
    Picture,
    chosen_size,
    colour_bar,
    dressed,
    floats,
    labels,
    names_of,
    panels,
    plain_text,
    table_of,
    write_note,
)
from kernelpath.report.displays._canvas import write_sentence as sentence
from kernelpath.report.displays._layout import column_ticks, ticks_that_fit

MOST_ROWS = 20
LONGEST = 28
MISSING = "#F1F3F4"


@dataclass(frozen=True)
class StabilityDisplay(Picture):
    """Do the folds choose the same features?  An index above, the features themselves below.

    Attributes
    ----------
    sizes : ndarray of shape (n_sizes,)
        Numbers of features.
    index, low, high : ndarray of shape (n_sizes,)
        Stability index, 1 when all folds choose the same, and its interval; NaN where undefined.
    names : list of str
        Features that the folds choose most often.
    frequency : ndarray of shape (n_names, n_sizes)
        Share of the folds that choose the feature.
    chosen : int or None
        Number of features of the operating point.

    Examples
    --------
    >>> half = np.array([0.5, 0.5])
    >>> display = StabilityDisplay(
    ...     np.array([1, 2]), half, half - 0.1, half + 0.1, ["a"], np.array([[0.5, 1.0]])
    ... )
    >>> display.known
    True
    """

    sizes: NDArray[np.int64]
    index: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    names: list[str]
    frequency: NDArray[np.float64]
    chosen: int | None = None

    _sentence: ClassVar[str] = "Without a cross-validation nothing is known about stability."

    @classmethod
    def from_summary(cls, summary: Mapping[str, Any]) -> StabilityDisplay:
        """Take the section on stability; without a cross-validation there is nothing to draw."""
        empty: dict[str, Any] = {"n_features": [], "index": [], "low": [], "high": [], "rows": []}
        section = summary["stability"] or empty
        rows, sizes = section["rows"], section["n_features"]
        return cls(
            sizes=np.array(sizes, dtype=np.int64),
            index=floats(section["index"]),
            low=floats(section["low"]),
            high=floats(section["high"]),
            names=names_of(summary, [row["feature"] for row in rows]),
            frequency=table_of([row["frequency"] for row in rows], len(sizes)),
            chosen=chosen_size(summary),
        )

    @property
    def known(self) -> bool:
        """Whether folds were compared."""
        return bool(np.isfinite(self.index).any() or np.isfinite(self.frequency).any())

    @property
    def figure_size(self) -> tuple[float, float]:
        """Width and height in inches: the more rows, the higher."""
        return (8.0, 3.1 + 0.205 * max(self._n_rows, 3))

    @property
    def _n_rows(self) -> int:
        return min(len(self.names), MOST_ROWS)

    def plot(self, ax: Any = None) -> Any:
        """Draw within the bounds of ``ax`` (a new figure by default); return the two axes."""
        return super().plot(ax)

    def _draw(self, ax: Any, *, fit: bool) -> Any:
        if not self.known:
            return sentence(ax, self._sentence)
        heights = (1.75, 0.205 * max(self._n_rows, 3))
        top, bottom = panels(ax, 2, 1, height_ratios=heights, space={"hspace": 0.35}).ravel()
        self._draw_index(top, fit)
        self._draw_features(bottom)
        for one in (top, bottom):
            one.set_xlim(-0.5, len(self.sizes) - 0.5)
            for place in np.flatnonzero(self.sizes == self.chosen).tolist():
                box = {"facecolor": INK, "alpha": 0.09, "lw": 0, "zorder": 0.5}
                if one is bottom:
                    box |= {"facecolor": "none", "edgecolor": PALETTE[1], "alpha": 1, "lw": 1.5}
                    box["zorder"] = 4
                one.axvspan(place - 0.5, place + 0.5, **box)
        ticks = column_ticks(self.sizes, ticks_that_fit(bottom))
        bottom.set_xticks(ticks, [f"{self.sizes[i]:,}" for i in ticks])
        top.set_xticks([])
        hidden = len(self.names) > self._n_rows
        rows = f" (rows: the {self._n_rows} features that folds choose most often)"
        bottom.set_xlabel("number of features" + rows * (hidden and fit))
        return np.array([top, bottom], dtype=object)

    def _draw_index(self, ax: Any, fit: bool) -> None:
        dressed(ax)
        x = np.arange(len(self.sizes))
        told = np.isfinite(self.index)
        low = np.nanmin(np.concatenate([self.low, self.index, [0.0]]))
        ax.set_ylim(min(1.1 * float(low), 0.0) - 0.03, 1.06)
        ax.set_yticks([0, 0.5, 1], ["0", "0.5", "1"])
        ax.axhline(0, color=GREY, lw=1.1, ls=(0, (5, 3)), zorder=2)
        if not told.any():
            words = "The index is undefined: every fold chooses all features, or none."
            ax.text(0.5, 0.5, words, transform=ax.transAxes, ha="center", va="center", color=FAINT)
        else:
            bars = np.isfinite(self.low) & np.isfinite(self.high)
            ax.vlines(x[bars], self.low[bars], self.high[bars], PALETTE[0], lw=5, alpha=0.28)
            ax.plot(x[told], self.index[told], color=PALETTE[0], lw=1.6, marker="o", ms=4, zorder=4)
        ax.set_ylabel("stability index")
        ax.set_title("Do the folds choose the same features?", loc="left", pad=22)
        undefined = told.any() and not told.all()
        more = "; undefined where all choose all, or none" if undefined else " of the index"
        note = f"1: all folds choose the same, 0: as if by chance; bars: interval{more}"
        write_note(ax, note, fit=fit)
        for place in np.flatnonzero(self.sizes == self.chosen).tolist():
            ax.annotate(
                "chosen", (place, 0), (0, -4), ("data", "axes fraction"), "offset points",
                ha="center", va="top", fontsize=8.5, color=PALETTE[1], annotation_clip=False,
            )  # fmt: skip

    def _draw_features(self, ax: Any) -> None:
        n = self._n_rows
        ax.set_facecolor(MISSING)
        mesh = ax.pcolormesh(
            np.arange(len(self.sizes) + 1) - 0.5, np.arange(n + 1) - 0.5,
            np.ma.masked_invalid(self.frequency[:n]),
            cmap=SEQUENTIAL, vmin=0, vmax=1, edgecolor="white", lw=0.6,
        )  # fmt: skip
        ax.set_ylim(n - 0.5, -0.5)
        ax.set_yticks(range(n), labels(self.names[:n], LONGEST), fontsize=8.5)
        for text in ax.get_yticklabels():
            plain_text(text)
        ax.tick_params(axis="y", length=0)
        for side in ("top", "right", "left"):
            ax.spines[side].set_visible(False)
        colour_bar(ax, mesh, "share of folds")
