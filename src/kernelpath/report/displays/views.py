"""Pictures of the target over one feature at a time.  Stored data first, drawn by ``plot``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kernelpath.report.displays._canvas import (
    FAINT,
    GREY,
    PALETTE,
    Picture,
    dressed,
    floats,
    label,
    labels,
    names_of,
    panels,
    plain_text,
    table_of,
)
from kernelpath.report.displays._canvas import write_sentence as sentence
from kernelpath.report.words import n_classes
from kernelpath.utils.words import counted

N_COLUMNS = 4
LONGEST = 14  # letters of a category or class
RUG = 0.07  # distance of the rows of marks below the axis, one for each class


@dataclass(frozen=True)
class FeatureView:
    """The target over one feature.

    Attributes
    ----------
    name : str
    outcome : {"value", "share"}
        Whether heights are values of the target, or shares of classes.
    classes : list of str
        Empty for values; one class says all when there are two.
    grid : ndarray of shape (n_grid,)
        Values of a numeric feature, dates as days since 1970; empty for a categorical one.
    curves : ndarray of shape (n_lines, n_grid)
        NaN where rows are too few.
    x : ndarray of shape (n_rows,)
    y : ndarray of shape (n_lines, n_rows)
        Some rows of the table.
    categories : list of str
        Empty for a numeric feature.
    counts : ndarray of shape (n_categories,)
    means : ndarray of shape (n_lines, n_categories)
    n_hidden : int
        Categories that are not listed.
    dates : bool
        Whether the values of the feature are dates.
    """

    name: str
    outcome: str
    classes: list[str]
    grid: NDArray[np.float64]
    curves: NDArray[np.float64]
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    categories: list[str]
    counts: NDArray[np.int64]
    means: NDArray[np.float64]
    n_hidden: int
    dates: bool = False

    @classmethod
    def from_section(cls, name: str, view: Mapping[str, Any]) -> FeatureView:
        """Take what a summary says of one feature."""
        points = view.get("points", {"x": [], "y": []})
        grid, categories = floats(view.get("grid", [])), list(view.get("categories", []))
        return cls(
            name=name,
            outcome=view["outcome"],
            classes=list(view["classes"]),
            grid=grid,
            curves=table_of(view.get("curves", []), len(grid)),
            x=floats(points["x"]),
            y=table_of(points["y"], len(points["x"])),
            categories=categories,
            counts=np.array(view.get("counts", []), dtype=np.int64),
            means=table_of(view.get("means", []), len(categories)),
            n_hidden=int(view.get("n_hidden", 0)),
            dates=bool(view.get("dates", False)),
        )

    @property
    def known(self) -> bool:
        """Whether there is anything to draw."""
        return any(np.isfinite(one).any() for one in (self.curves, self.y, self.means))


@dataclass(frozen=True)
class ViewsDisplay(Picture):
    """Small pictures: the target over each of the heaviest features.

    The curve is what the kernel of that feature alone fits, where there are rows: it stops at
    wide gaps, and a value with gaps on both sides has a dot.  A categorical feature has bars, and
    a target of several classes a line or bar for each.

    Attributes
    ----------
    views : tuple of FeatureView
    n_classes : int
        Of the target, also those that are not drawn; 0 if unknown or of numbers.

    Examples
    --------
    >>> ViewsDisplay(()).known
    False
    """

    views: tuple[FeatureView, ...]
    n_classes: int = 0

    _sentence: ClassVar[str] = "The summary was made without the table, or no feature is selected."

    @classmethod
    def from_summary(cls, summary: Mapping[str, Any]) -> ViewsDisplay:
        """Take the views of the heaviest features."""
        views = summary["views"]
        names = names_of(summary, [view["feature"] for view in views])
        drawn = tuple(FeatureView.from_section(*pair) for pair in zip(names, views))
        return cls(drawn, n_classes(summary))

    @property
    def known(self) -> bool:
        """Whether there is a view."""
        return any(view.known for view in self.views)

    @property
    def _shape(self) -> tuple[int, int]:
        n = max(len(self.views), 1)
        columns = n if n <= N_COLUMNS else 3 if n in (5, 6, 9) else N_COLUMNS
        return -(-n // columns), columns

    @property
    def figure_size(self) -> tuple[float, float]:
        """Width and height in inches, by the number of views."""
        rows, columns = self._shape
        tall = [i // columns for i, view in enumerate(self.views) if _is_upright(view)]
        return (max(2.75 * columns + 0.5, 4.8), 2.15 * rows + 1.3 * len(set(tall)) + 0.9)

    def plot(self, ax: Any = None) -> Any:
        """Draw within the bounds of ``ax`` (a new figure by default); return an array of axes."""
        return super().plot(ax)

    def _draw(self, ax: Any, *, fit: bool) -> Any:
        if not self.known:
            return sentence(ax, self._sentence)
        rows, columns = self._shape
        axes = panels(ax, rows, columns, space={"hspace": 0.75, "wspace": 0.15})
        limits = self._limits()
        width = axes[0, 0].bbox.width / axes[0, 0].figure.dpi
        longest = 28 if fit else int(np.clip(width / 0.08, 6, 28))  # letters above a panel
        names = labels([view.name for view in self.views], longest)
        for i, (one, view) in enumerate(zip(axes.ravel(), self.views)):
            dressed(one)
            one.set_ylim(*limits)
            _draw_bars(one, view) if view.categories else _draw_curves(one, view)
            plain_text(one.set_title(names[i], loc="left", fontsize=9.5))
            one.tick_params(labelsize=8, length=2.5)
            if view.outcome == "share":
                one.set_yticks([0, 0.5, 1], ["0", "0.5", "1"])
            if i % columns:
                one.set_yticklabels([])
            else:
                plain_text(one.set_ylabel(_outcome_label(view), fontsize=9))
        for one in axes.ravel()[len(self.views) :]:
            one.set_axis_off()
        self._write_words(axes, fit)
        return axes

    def _limits(self) -> tuple[float, float]:
        """One scale of the target for all views."""
        if self.views[0].outcome == "share":
            n = len(self.views[0].classes)
            return (-0.12, 1.12) if n == 1 else (-RUG * (n + 0.7), 1.05)
        parts = [np.append(v.curves.ravel(), np.append(v.y.ravel(), v.means)) for v in self.views]
        seen = np.concatenate(parts)
        low, high = float(np.nanmin(seen)), float(np.nanmax(seen))
        bars = any(view.categories for view in self.views)
        if bars and 0 < low < 0.5 * high:  # bars should start at zero if it is near
            low = 0.0
        room = 0.05 * (high - low) or 0.5
        return (low if bars and low == 0 else low - room), high + room

    def _write_words(self, axes: NDArray[Any], fit: bool) -> None:
        """Title and, for several classes, their colours."""
        figure, classes = axes[0, 0].figure, self.views[0].classes
        if fit:
            fits = any(not view.categories for view in self.views)
            words = "Target over each feature" + ", with the fit of its kernel" * fits
            if 1 < len(classes) < self.n_classes:
                words += f", {len(classes)} of {self.n_classes:,} classes"
            figure.suptitle(words, x=0.012, ha="left", fontsize=12)
        if len(classes) < 2:
            return
        from matplotlib.lines import Line2D

        names = [name.replace("$", r"\$") for name in labels(classes, LONGEST)]
        handles = [
            Line2D([], [], color=PALETTE[i % len(PALETTE)], lw=2.4, label=name)
            for i, name in enumerate(names)
        ]
        style = {"frameon": False, "fontsize": 9, "handlelength": 1.2}
        if fit:
            width = 0.55 + 0.085 * max(len(name) for name in names)
            wide = max(int((figure.get_figwidth() - 0.2) / width), 1)
            figure.legend(handles=handles, loc="outside lower center", ncols=wide, **style)
        else:
            # In an empty panel if there is one: beside given axes there may be others.
            axes.ravel()[-1].legend(handles=handles, **(style | {"fontsize": 7}))


def _outcome_label(view: FeatureView) -> str:
    if view.outcome == "value":
        return "target"
    return f"share of {label(view.classes[0], 16)}" if len(view.classes) == 1 else "share"


def _draw_curves(ax: Any, view: FeatureView) -> None:
    """Rows of the table, and a curve for each class."""
    if view.outcome == "value":
        ax.plot(view.x, view.y[0], "o", color=GREY, ms=2.6, alpha=0.55, mew=0, zorder=2)
    else:
        _draw_rugs(ax, view)
    for i, curve in enumerate(view.curves):
        told = np.isfinite(curve)
        alone = told & ~np.r_[False, told[:-1]] & ~np.r_[told[1:], False]  # no line shows these
        line = {"color": PALETTE[i % len(PALETTE)], "lw": 2.0, "zorder": 4}
        marks = {"marker": "o", "ms": 5, "markevery": np.flatnonzero(alone).tolist()}
        ax.plot(view.grid, curve, **line, **(marks if alone.any() else {}))
    seen = view.grid[np.isfinite(view.grid)]
    if seen.size == 0:
        seen = view.x[np.isfinite(view.x)]
    low, high = float(seen.min()), float(seen.max())
    room = 0.03 * (high - low) or max(0.5, abs(high) * 0.05)
    ax.set_xlim(low - room, high + room)
    if view.dates:
        _date_ticks(ax)
    else:
        ax.set_xticks(*_few_ticks(*ax.get_xlim()))


def _draw_rugs(ax: Any, view: FeatureView) -> None:
    """Marks of the rows: a class against the other above and below, or a row for each."""
    marks = {"marker": "|", "ls": "none", "ms": 4.5, "mew": 0.7, "alpha": 0.4, "zorder": 2}
    if len(view.y) == 1:
        inside = view.y[0] > 0.5
        for these, height, color in ((inside, 1.06, PALETTE[0]), (~inside, -0.06, GREY)):
            ax.plot(view.x[these], np.full(these.sum(), height), color=color, **marks)
        return
    for i, row in enumerate(view.y):
        these = row > 0.5
        height = -RUG * (i + 1)
        color = PALETTE[i % len(PALETTE)]
        ax.plot(view.x[these], np.full(these.sum(), height), color=color, **marks)


def _draw_bars(ax: Any, view: FeatureView) -> None:
    """Means by category, the most frequent first, with their numbers of rows."""
    n_lines, n = view.means.shape
    x, width = np.arange(n), 0.78 / n_lines
    low, high = ax.get_ylim()
    for i, means in enumerate(view.means):
        place = x + (i - (n_lines - 1) / 2) * width
        color = PALETTE[i % len(PALETTE)]
        if low <= 0 <= high:
            ax.bar(place, means, 0.92 * width, color=color, zorder=3)
        else:  # a bar that does not start at zero would mislead
            ax.plot(place, means, "o", color=color, ms=6, zorder=3)
    ax.set_xlim(-0.6, n - 0.4)
    short = labels(view.categories, LONGEST)
    upright = _is_upright(view)
    joined = [f"{a} ({b:,})" if upright else f"{a}\n({b:,})" for a, b in zip(short, view.counts)]
    ax.set_xticks(x, joined, rotation=90 if upright else 0)
    for text in ax.get_xticklabels():
        plain_text(text)
    if view.n_hidden:
        few = counted(view.n_hidden, "rarer category", "rarer categories")
        ax.set_xlabel(f"{few} not drawn", fontsize=8, color=FAINT)


def _is_upright(view: FeatureView) -> bool:
    """Whether the names of the categories are too long to be written side by side."""
    return sum(max(min(len(name), LONGEST), 5) for name in view.categories) > 30


def _date_ticks(ax: Any) -> None:
    """Some round dates; matplotlib counts days from 1970 as well."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator = AutoDateLocator(minticks=2, maxticks=4)
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(ConciseDateFormatter(locator))


def _few_ticks(low: float, high: float) -> tuple[list[float], list[str]]:
    """Some round places, written with as few digits as they need."""
    from matplotlib.ticker import MaxNLocator

    places = np.asarray(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high))
    places = places[(places >= low) & (places <= high)]
    step = float(np.diff(places).min()) if len(places) > 1 else high - low
    if max(abs(low), abs(high)) >= 1e6 or step < 1e-4:
        digits = int(np.ceil(np.log10(max(abs(low), abs(high)) / step))) + 1
        words = [
            f"{place:.{min(digits, 15)}g}".replace("e+0", "e").replace("e+", "e")
            for place in places
        ]
    else:
        digits = next(d for d in range(9) if np.allclose(places, places.round(d), 0, 1e-3 * step))
        words = [f"{place:,.{digits}f}" for place in places]
    return places.tolist(), [word.replace("-", "\N{MINUS SIGN}") for word in words]
