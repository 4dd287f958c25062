"""Pictures of a test of every feature: volcano and quantiles.  Stored data, drawn by ``plot``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kernelpath.errors import not_one_of
from kernelpath.path.significance import RATES
from kernelpath.report.displays._canvas import (
    FAINT,
    GREY,
    INK,
    PALETTE,
    Picture,
    any_glyph,
    dressed,
    floats,
    labels,
    plain_text,
    screenless,
    signed,
    write_note,
)
from kernelpath.report.displays._canvas import write_sentence as sentence
from kernelpath.report.displays._layout import free_place, measure, write_on_line
from kernelpath.utils.words import counted

if TYPE_CHECKING:
    from kernelpath.path.significance import AlignmentTest

KINDS = ("volcano", "qq")
ORDER = 10.0  # -log10 p from which p-values are an order only
DECADE = 6.0  # height of a factor of ten up there, in units of those below
MOST_NAMED, MOST_TRIED = 8, 40
FAR = 2.2  # heights of a name from its point, beyond which it is left out
WIDE = 30.0  # alignment from which the axis is one of square roots
STRIP = 1.6  # least height of the strip of orders
BAND = 0.95  # share of the features by chance that the band holds
SINGLE = 60  # features up to which points are large
CELL = 4.0  # pixels; points within one cover the same
FOUND, SHADE = PALETTE[0], "#F1F3F4"


@dataclass(frozen=True)
class SignificanceDisplay(Picture):
    """Features above chance: ``"volcano"``, or observed against expected p-values, ``"qq"``.

    Attributes
    ----------
    names : list of str
    alignment : ndarray of shape (n_features,)
    log_p : ndarray of shape (n_features,)
        Natural logarithms of the p-values.
    found : ndarray of shape (n_features,), bool
        Discoveries.
    level : float
        Of the error rate.
    threshold : float
        Logarithm of the largest p-value of a discovery, or of the one that a first would need.
    kind : {"volcano", "qq"}
    rate : str
        Name of the error rate.

    Examples
    --------
    >>> display = SignificanceDisplay(
    ...     ["a", "b"], np.array([9.0, 1.0]), np.log([1e-4, 0.4]), np.array([True, False]),
    ...     level=0.1, threshold=float(np.log(0.05)),
    ... )
    >>> display.known, display.heights.round(1).tolist()
    (True, [4.0, 0.4])
    """

    names: list[str]
    alignment: NDArray[np.float64]
    log_p: NDArray[np.float64]
    found: NDArray[np.bool_]
    level: float
    threshold: float
    kind: str = "volcano"
    rate: str = "false discovery rate"

    _sentence: ClassVar[str] = "There is no feature that could be tested."

    @classmethod
    def from_test(
        cls,
        test: AlignmentTest,
        *,
        kind: str = "volcano",
        level: float = 0.1,
        method: str = "bh",
    ) -> SignificanceDisplay:
        """Take the features of a test, but constant ones.

        Parameters
        ----------
        test : AlignmentTest
        kind : {"volcano", "qq"}
        level : float
            Of the error rate.
        method : {"bh", "by", "e-bh", "max"}
            As in :meth:`AlignmentTest.adjusted`.
        """
        if kind not in KINDS:
            raise not_one_of("kind", kind, KINDS)
        found = np.isin(np.arange(len(test.log_p)), test.discoveries(level, method))
        varies, names = ~np.isnan(test.z), test.feature_names
        return cls(
            names=[str(names[i]) for i in np.flatnonzero(varies)],
            alignment=floats(test.alignment[varies]),
            log_p=floats(test.log_p[varies]),
            found=found[varies],
            level=float(level),
            threshold=(
                _best_by_chance(test, level)
                if method == "max"
                else threshold_of(int(found.sum()), int(varies.sum()), level, method)
            ),
            kind=kind,
            rate=RATES[method],
        )

    @property
    def known(self) -> bool:
        """Whether there is a feature."""
        return len(self.names) > 0

    @property
    def heights(self) -> NDArray[np.float64]:
        """``-log10 p``."""
        return np.maximum(-self.log_p / np.log(10.0), 0.0)

    @property
    def figure_size(self) -> tuple[float, float]:
        """Width and height in inches of a figure made for this picture."""
        return (7.6, 4.6) if self.kind == "volcano" else (5.4, 5.0)

    def _draw(self, ax: Any, *, fit: bool) -> Any:
        if not self.known:
            return sentence(ax, self._sentence)
        return self._draw_volcano(ax, fit) if self.kind == "volcano" else self._draw_qq(ax, fit)

    # -- volcano -----------------------------------------------------------------------------------

    def _draw_volcano(self, ax: Any, fit: bool) -> Any:
        dressed(ax)
        line = -self.threshold / np.log(10.0)
        x, y = self._scale(ax, line)
        few, here = len(x) <= 2000, self.found
        # Single points are to be seen, also those in the corner: there the axes hide no half.
        big = len(x) <= SINGLE
        dots = {"ls": "none", "marker": "o", "mew": 0, "rasterized": not few, "clip_on": not big}
        others = {"ms": 7, "color": FAINT, "alpha": 0.85} if big else {"color": GREY, "alpha": 0.6}
        ax.plot(x[~here], y[~here], zorder=2.6, **({"ms": 4 if few else 3} | others | dots))
        ax.plot(x[here], y[here], ms=8 if big else 5.5, color=FOUND, alpha=0.9, zorder=3, **dots)
        ax.axhline(line, color=PALETTE[1], lw=1.1, ls=(0, (5, 3)), zorder=2.5)
        ax.set_xlabel("alignment")
        ax.set_ylabel(r"$-\log_{10}$ p")
        ax.set_title("Which features are above chance?", loc="left", pad=22)
        found = counted(int(here.sum()), "feature") if here.any() else "no feature"
        note = f"blue: {found} at a {self.rate} of {self.level:g}, of {len(x):,} tested"
        write_note(ax, note if here.any() else note.removeprefix("blue: "), fit=fit)
        taken = _cells(ax.transData.transform(np.column_stack([x, y])))
        need = self.rate if here.any() else "a first discovery at"
        taken = np.vstack([taken, _write_line(ax, f"{need} {self.level:g}: ", line, taken)])
        if y.max() > ORDER:
            taken = np.vstack([taken, _write_order(ax, taken)])
        first = [i for i in np.argsort(-y, kind="stable")[:MOST_TRIED].tolist() if here[i]]
        written = 0
        for i, name in zip(first, labels([self.names[i] for i in first])):
            more = _write_name(ax, name, (float(x[i]), float(y[i])), taken)
            written += len(more) > len(taken)
            taken = more
            if written == MOST_NAMED:
                break
        return ax

    def _scale(self, ax: Any, line: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Places of the points, with limits and ticks; high ones stand closer together."""
        from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

        x, y = self.alignment, self.heights
        top = max(float(y.max()), line, 1.3)
        high = float(1.05 * _lower(top))
        high = max(high, ORDER + STRIP) if top > ORDER else high
        ax.set_yscale("function", functions=(_lower, _raise))
        ax.set_ylim(0, float(_raise(high)))
        ticks = np.arange(0, min(top, ORDER) + 1e-9, 2.0 if top > 6 else 1.0)
        if top > ORDER:
            ax.axhspan(ORDER, ax.get_ylim()[1], color=SHADE, lw=0, zorder=0)
            more = np.outer(10.0 ** np.arange(1, 12), (1, 2, 5)).ravel()[1:]
            more = more[more <= ax.get_ylim()[1]]
            apart = max(1, round(0.22 * float(_lower(more[-1]) - ORDER))) if len(more) else 1
            ticks = np.append(ticks, more[::-1][::apart][::-1])
        ax.yaxis.set_major_locator(FixedLocator(ticks.tolist()))
        ax.yaxis.set_minor_locator(NullLocator())
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        right = 1.06 * float(x.max()) or 1.0
        if right > WIDE:
            ax.set_xscale("function", functions=(_root, np.square))
            ax.xaxis.set_major_locator(FixedLocator(_root_ticks(right)))
            ax.xaxis.set_minor_locator(NullLocator())
            ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        else:
            ax.set_xticks(_even_ticks(right))
        ax.set_xlim(0, right)
        return x, y

    # -- quantiles ---------------------------------------------------------------------------------

    def _draw_qq(self, ax: Any, fit: bool) -> Any:
        dressed(ax, grid="both")
        order = np.argsort(-self.heights, kind="stable")
        seen, here, m = self.heights[order], self.found[order], len(order)
        expected = -np.log10((np.arange(m) + 0.5) / m)
        right = 1.06 * float(expected[0]) + 0.05
        cut = min(max(float(seen[0]), right / 1.06), ORDER)
        self._draw_band(ax, m)
        ax.plot([0, right], [0, right], color=INK, lw=1.0, zorder=2)
        over = seen > ORDER
        dots = {"ls": "none", "mew": 0, "rasterized": m > 2000, "clip_on": False}
        for which, style in (
            (~here & ~over, {"marker": "o", "color": GREY, "ms": 3.5, "zorder": 3}),
            (here & ~over, {"marker": "o", "color": FOUND, "ms": 4.5, "zorder": 4}),
            (over, {"marker": "^", "color": FOUND, "ms": 6, "zorder": 4}),
        ):
            ax.plot(expected[which], np.minimum(seen[which], ORDER), **dots, **style)
        ax.set_xlim(0, right)
        top = cut * (1.0 if over.any() else 1.05)
        ax.set_ylim(0, top)
        ax.set_xticks(_even_ticks(right))
        ax.set_yticks(_even_ticks(top))
        ax.set_xlabel(r"expected by chance, $-\log_{10}$ p")
        ax.set_ylabel(r"observed, $-\log_{10}$ p")
        ax.set_title("Are the p-values those of chance?", loc="left", pad=22)
        band = f"line: as by chance; grey: {BAND:.0%} of independent features by chance"
        if over.any():
            above = f"triangles: {counted(int(over.sum()), 'feature')} below 1e-{ORDER:.0f}"
            style = {"fontsize": 8.5, "color": FAINT, "ha": "left", "va": "top"}
            ax.annotate(above, (0, 1), (6, -6), "axes fraction", "offset points", **style)
        write_note(ax, band.replace("95%", "95 %"), fit=fit, fontsize=8.5)
        return ax

    def _draw_band(self, ax: Any, m: int) -> None:
        """Where the smallest, second smallest, ... of so many p-values are by chance."""
        from scipy.stats import beta

        rank = np.unique(np.geomspace(1, m, 200).round())
        low, high = (beta.ppf(q, rank, m + 1 - rank) for q in ((1 - BAND) / 2, (1 + BAND) / 2))
        middle = -np.log10((rank - 0.5) / m)
        ax.fill_between(middle, -np.log10(high), -np.log10(low), color=GREY, alpha=0.25, lw=0)


def threshold_of(n_found: int, n_features: int, level: float, method: str = "bh") -> float:
    """Logarithm of the p-value up to which so many are discoveries, or a first one would be.

    Examples
    --------
    >>> round(float(np.exp(threshold_of(4, 200, 0.1))), 6)
    0.002
    """
    share = np.log(level * max(n_found, 1) / max(n_features, 1))
    if method == "e-bh":
        return float(2.0 * (share - np.log(2.0)))
    if method == "by":
        share -= np.log(np.sum(1.0 / np.arange(1, n_features + 1)))
    return float(share)


def _best_by_chance(test: AlignmentTest, level: float) -> float:
    """Logarithm of the p-value that the best feature by chance reaches so seldom."""
    assert test.least_by_chance is not None  # else there would be no discoveries
    least = np.sort(test.least_by_chance)
    return float(least[min(int(level * (len(least) + 1) + 1e-9), len(least)) - 1])


def save_significance(display: SignificanceDisplay, file: Any, format: str = "png") -> None:
    """Write the picture to a file or file object, without a screen."""
    figure = screenless(display.figure_size)
    display.draw_on(figure)
    with any_glyph():
        figure.savefig(file, format=format, metadata=signed(format))


def _lower(y: Any) -> NDArray[np.float64]:
    """Height of ``-log10 p``: itself, and logarithmic where it is an order only."""
    y = np.asarray(y, dtype=np.float64)
    return np.where(y <= ORDER, y, ORDER + DECADE * np.log10(np.maximum(y, ORDER) / ORDER))


def _raise(height: Any) -> NDArray[np.float64]:
    height = np.asarray(height, dtype=np.float64)
    return np.where(height <= ORDER, height, ORDER * 10 ** ((height - ORDER) / DECADE))


def _even_ticks(high: float) -> list[float]:
    """Round numbers from 0, none of them beyond the end.

    Examples
    --------
    >>> _even_ticks(23.0)
    [0.0, 5.0, 10.0, 15.0, 20.0]
    """
    from matplotlib.ticker import MaxNLocator

    ticks = np.asarray(MaxNLocator(nbins=6, steps=[1, 2, 5, 10]).tick_values(0.0, high))
    return ticks[(ticks >= 0) & (ticks <= high)].tolist()


def _root(value: Any) -> NDArray[np.float64]:
    return np.sqrt(np.maximum(value, 0.0))


def _root_ticks(right: float) -> list[float]:
    """Round numbers that stand apart on an axis of square roots.

    Examples
    --------
    >>> _root_ticks(200.0)
    [0.0, 2.0, 10.0, 20.0, 50.0, 100.0, 200.0]
    """
    numbers = np.outer(10.0 ** np.arange(12), (1, 2, 5)).ravel()
    kept: list[float] = []
    for number in numbers[numbers <= right][::-1].tolist():
        if not kept or np.sqrt(kept[-1]) - np.sqrt(number) > 0.08 * np.sqrt(right):
            kept.append(number)
    return [0.0, *kept[::-1]]


def _p(height: float) -> str:
    """A p-value whose ``-log10`` this is.

    Examples
    --------
    >>> _p(2.0), _p(6.3)
    ('0.01', '5e-7')
    """
    value = 10.0**-height
    text = f"{value:.2g}" if value >= 1e-4 else f"{value:.1g}"
    return text.replace("e-0", "e-")


def _cells(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Pixels that points cover, each once, and what covering one costs."""
    cells = np.unique(np.round(points / CELL), axis=0) * CELL
    return np.column_stack([cells, np.full(len(cells), 30.0)])


def _write_line(ax: Any, words: str, line: float, taken: NDArray[np.float64]) -> Any:
    """Say at the threshold what it is; where there is little room, the p-value alone."""
    p = f"p \N{LESS-THAN OR EQUAL TO} {_p(line)}"
    fits = measure(ax, words + p, {"fontsize": 8.5})[0] < 0.7 * ax.bbox.width
    return write_on_line(ax, words + p if fits else p, line, taken)


def _write_order(ax: Any, taken: NDArray[np.float64]) -> NDArray[np.float64]:
    """Say in the strip above, at the left if that is free, what it is; pixels that it takes."""
    style = {"fontsize": 8.5, "color": FAINT, "zorder": 2}
    words = f"p below 1e-{ORDER:.0f}: an order, no longer a probability"
    size = measure(ax, words, style)
    if size[0] > 0.8 * ax.bbox.width:
        words = f"p below 1e-{ORDER:.0f}"
        size = measure(ax, words, style)
    low = ax.bbox.x0 + size[0] / 2 + 0.4 * size[1]
    across = np.linspace(low, max(ax.bbox.x1 - size[0] / 2, low), 20)
    floor = ax.transData.transform((0, ORDER))[1]
    up = np.linspace(floor + 0.8 * size[1], max(ax.bbox.y1 - 0.7 * size[1], floor), 6)
    centre = free_place(across, up, size, taken, (across[0], up[-1]))
    place = ax.transAxes.inverted().transform(centre)
    ax.text(*place, words, transform=ax.transAxes, ha="center", va="center", **style)
    return _covered(centre, size)


def _covered(centre: NDArray[np.float64], size: NDArray[np.float64]) -> NDArray[np.float64]:
    """Pixels of a text, which no other may cover."""
    spots = np.linspace(-size[0] / 2, size[0] / 2, 2 + int(size[0] / 6)) + centre[0]
    rows = centre[1] + size[1] * np.array([-0.3, 0.3])
    grid = np.stack(np.meshgrid(spots, rows), axis=-1).reshape(-1, 2)
    return np.column_stack([grid, np.full(len(grid), 300.0)])


def _write_name(
    ax: Any, name: str, place: tuple[float, float], taken: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Write a name near its point, with a line to it where it is not beside it.

    Where all is full it is left out.
    """
    style = {"fontsize": 8.5, "color": INK, "zorder": 5}
    width, height = size = measure(ax, name.replace("$", r"\$"), style)
    pixel = ax.transData.transform(place)
    edge = size / 2 + 0.3 * height
    reach = size / 2 + FAR * height
    low, high = (
        np.maximum(ax.bbox.p0 + edge, pixel - reach),
        np.minimum(ax.bbox.p1 - edge, pixel + reach),
    )
    if (low > high).any() or width == 0:
        return taken
    beside = width / 2 + 0.55 * height
    across = np.append(np.linspace(low[0], high[0], 60), pixel[0] + np.array([-beside, 0, beside]))
    up = np.append(np.linspace(low[1], high[1], 40), pixel[1] + height * np.array([-1.05, 0, 1.05]))
    across = across[(across >= low[0]) & (across <= high[0])]
    centre = free_place(across, up[(up >= low[1]) & (up <= high[1])], size, taken, pixel)
    inside = (np.abs(taken[:, :2] - centre) < size / 2 + 0.15 * height).all(axis=1)
    if inside.any():
        return taken
    gap = np.abs(centre - pixel) - size / 2
    line = {"arrowstyle": "-", "color": FAINT, "lw": 0.6, "shrinkA": 1, "shrinkB": 3}
    line["relpos"] = tuple(np.clip((pixel - centre) / size + 0.5, 0, 1).tolist())
    text = ax.annotate(
        name, place, xytext=ax.transAxes.inverted().transform(centre), textcoords="axes fraction",
        ha="center", va="center", **style,
        arrowprops=line if np.hypot(*np.maximum(gap, 0)) > 0.6 * height else None,
    )  # fmt: skip
    plain_text(text)
    way = pixel + np.linspace(0, 1, 30)[:, None] * (centre - pixel)
    return np.vstack([taken, np.column_stack([way, np.full(30, 40.0)]), _covered(centre, size)])
