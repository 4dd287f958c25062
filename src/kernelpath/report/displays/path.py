"""Pictures of a path.  A display stores what it draws; ``plot`` only draws it.

matplotlib is an optional dependency and imported inside the functions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelpath.path.feature_path import FeaturePath
from kernelpath.report.displays._canvas import (
    GREY,
    INK,
    PALETTE,
    Picture,
    any_glyph,
    dressed,
    floats,
    label,
    labels,
    names_of,
    plain_text,
    pyplot,
    screenless,
    signed,
    table_of,
    write_note,
    write_sentence,
)
from kernelpath.report.displays._layout import apart, log_ticks
from kernelpath.report.displays.entries import EntriesDisplay
from kernelpath.report.summary_lines import (
    N_NAMED,
    N_OTHERS,
    SHARED,
    sizes_at_junctures,
    turns,
    weight_lines,
)
from kernelpath.report.words import LEVEL, acts_together, n_usable, rate_words

if TYPE_CHECKING:
    from kernelpath.path.significance import AlignmentTest

WIDE = 50  # from the smallest to the largest parameter: beyond, the axis is logarithmic
MOST_POWERS = 8  # of ten on it


@dataclass(frozen=True)
class WeightsDisplay(Picture):
    """Weights along the path: the heaviest features by name, a sample of the others in grey.

    Attributes
    ----------
    parameters : ndarray of shape (n_points,)
    named : ndarray of shape (n_named, n_points)
    names : list of str
    others : ndarray of shape (n_others, n_points)
    n_hidden : int
        Features with a weight that are not drawn.
    parameter_name : str

    Examples
    --------
    >>> import kernelpath as kp
    >>> data = kp.datasets.make_ring(n_samples=60, n_features=4, random_state=0)
    >>> path = kp.LpKTASelector().fit(data.X, data.y).path_
    >>> WeightsDisplay.from_path(path).named.shape
    (4, 101)
    """

    parameters: NDArray[np.float64]
    named: NDArray[np.float64]
    names: list[str]
    others: NDArray[np.float64]
    n_hidden: int
    parameter_name: str

    @classmethod
    def from_path(
        cls, path: FeaturePath, n_named: int = N_NAMED, n_others: int = N_OTHERS
    ) -> WeightsDisplay:
        """Take the features that enter first, or weigh most where features come and go."""
        W, first, shown, n_hidden = weight_lines(path, n_named, n_others)
        return cls(
            parameters=path.parameters,
            named=W[:, first].toarray().T,
            names=[str(path.feature_names[i]) for i in first],
            others=W[:, shown].toarray().T,
            n_hidden=n_hidden,
            parameter_name=path.parameter_name,
        )

    @classmethod
    def from_summary(cls, summary: Mapping[str, Any]) -> WeightsDisplay:
        """Take the lines that the summary has."""
        section, parameters = summary["weights"], floats(summary["points"]["parameter"])
        return cls(
            parameters=parameters,
            named=table_of([one["weights"] for one in section["named"]], len(parameters)),
            names=names_of(summary, [one["feature"] for one in section["named"]]),
            others=table_of([one["weights"] for one in section["others"]], len(parameters)),
            n_hidden=int(section["n_hidden"]),
            parameter_name=summary["parameter_name"],
        )

    @property
    def known(self) -> bool:
        """Whether any feature has a weight."""
        return bool(np.any(self.named > 0) or np.any(self.others > 0))

    _sentence = "No feature has a weight of its own on the path."

    def _draw(self, ax: Any, *, fit: bool) -> Any:
        if not self.known:
            return write_sentence(ax, self._sentence)
        ax = dressed(ax)
        x, named, others = self.parameters, *map(self._heights, (self.named, self.others))
        marker = "o" if len(x) == 1 else ""  # a line through one point cannot be seen
        for row in others:
            line = {"color": GREY, "lw": 0.6, "alpha": 0.45, "zorder": 1, "marker": marker}
            ax.plot(x, np.where(row > 0, row, np.nan), **line)
        ends, turned = [], turns(x)
        for i, (row, name) in enumerate(zip(named, labels(self.names))):
            color, seen = PALETTE[i % len(PALETTE)], np.where(row > 0, row, np.nan)
            ax.plot(x, seen, color=color, lw=1.9, zorder=3, marker=marker)
            if len(turned):
                ring = {"color": color, "mfc": "white", "ms": 4.5, "marker": "o", "ls": "none"}
                ax.plot(x[turned], seen[turned], zorder=4, **ring)
            lasts = int(np.flatnonzero(row > 0)[-1]) if np.any(row > 0) else -1
            ends.append(End(float(np.nan_to_num(row[-1])), lasts, color, name))
        scale_along(ax, x)
        plain_text(ax.set_xlabel(parameter_label(self.parameter_name)))
        shared = self.parameter_name == SHARED
        ax.set_ylabel("share of the sum of weights" if shared else "feature weight")
        ax.set_ylim(0, 1.06 * float(np.nanmax(np.append(named.ravel(), others.ravel()))))
        label_ends(ax, ends, x)
        ax.set_title("Weights along the path", loc="left", pad=22 if len(turned) else None)
        if len(turned):
            times = "once" if len(turned) == 1 else f"{len(turned)} times"
            write_note(ax, f"Rings: here the {label(self.parameter_name)} turns, {times}", fit=fit)
        return ax

    def _heights(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Weights, or their shares of a parameter that is their sum."""
        if self.parameter_name != SHARED:
            return weights
        total = np.where(self.parameters > 0, self.parameters, np.nan)
        return np.where(weights > 0, weights / total, 0.0)


@dataclass(frozen=True)
class SizeDisplay(Picture):
    """Number of selected features against the path parameter.

    Attributes
    ----------
    parameters, n_selected : ndarray of shape (n_points,)
    junctures, sizes_after : ndarray
        Where single features leave, and how many are left then.
    n_features : int
    parameter_name : str
    n_real : int or None
        Discoveries at a false discovery rate of 0.1, above which chance takes over, if known; None
        where features may act only together, of which a test of single columns knows nothing.

    Examples
    --------
    >>> import kernelpath as kp
    >>> data = kp.datasets.make_ring(n_samples=60, n_features=4, random_state=0)
    >>> path = kp.LpKTASelector().fit(data.X, data.y).path_
    >>> SizeDisplay.from_path(path).n_selected[0]
    np.int64(4)
    """

    parameters: NDArray[np.float64]
    n_selected: NDArray[np.int64]
    junctures: NDArray[np.float64]
    sizes_after: NDArray[np.int64]
    n_features: int
    parameter_name: str
    n_real: int | None = None

    @classmethod
    def from_path(
        cls, path: FeaturePath, n_features: int | None = None, test: AlignmentTest | None = None
    ) -> SizeDisplay:
        """Sizes at the grid points, and the juncture points between them.

        ``n_features`` can be selected; default all columns, since a path knows of no other.
        ``test`` has p-values of its features, where the path itself does not.
        """
        test = test or path.test
        where, sizes = sizes_at_junctures(path)
        settings = path.provenance.get("parameters", {})
        together = acts_together({"method": path.method, "settings": settings})
        return cls(
            parameters=path.parameters,
            n_selected=path.n_selected,
            junctures=where,
            sizes_after=sizes,
            n_features=path.n_features if n_features is None else n_features,
            parameter_name=path.parameter_name,
            n_real=None if test is None or together else len(test.discoveries(LEVEL)),
        )

    @classmethod
    def from_summary(cls, summary: Mapping[str, Any]) -> SizeDisplay:
        """Take the points and the juncture points of the summary."""
        points, junctures = summary["points"], summary["junctures"]
        test = summary.get("test") or {}
        return cls(
            parameters=floats(points["parameter"]),
            n_selected=np.array(points["n_selected"], dtype=np.int64),
            junctures=floats(junctures["parameter"]),
            sizes_after=np.array(junctures["n_selected"], dtype=np.int64),
            n_features=n_usable(summary),
            parameter_name=summary["parameter_name"],
            n_real=None if acts_together(summary) else test.get("n_discoveries"),
        )

    @property
    def known(self) -> bool:
        """Whether there is a point."""
        return bool(np.isfinite(self.parameters).any())

    _sentence = "The path has no points."

    def _draw(self, ax: Any, *, fit: bool) -> Any:
        if not self.known:
            return write_sentence(ax, self._sentence)
        ax = dressed(ax)
        told = np.isfinite(self.parameters)
        parameters, n_selected = self.parameters[told], self.n_selected[told]
        x, sizes = parameters, n_selected
        turned = len(turns(parameters)) > 0
        if 0 < len(self.junctures) <= 5000 and not turned:
            x = np.concatenate([x[:1], self.junctures, x[-1:]])
            sizes = np.concatenate([sizes[:1], self.sizes_after, self.sizes_after[-1:]])
        marker = "o" if len(x) == 1 else ""
        ax.step(x, sizes, where="post", color=PALETTE[0], lw=1.9, marker=marker)
        if not turned:  # there would be no inside
            ax.fill_between(x, sizes, step="post", color=PALETTE[0], alpha=0.12, lw=0)
        scale_along(ax, parameters)
        smallest, largest = int(sizes.min()), max(int(sizes.max()), 1)
        if largest <= 50:
            ax.set_ylim(0, 1.15 * largest)
            ax.yaxis.get_major_locator().set_params(integer=True)
        else:
            ax.set_yscale("symlog" if smallest == 0 else "log")
            ax.set_ylim(max(0.8, 0.6 * smallest) if smallest else 0, 1.4 * largest)
            ticks = log_ticks(max(smallest, 1), largest, 8, whole=True)
            ax.set_yticks(ticks if smallest else np.append(0, ticks))
            ax.minorticks_off()
        plain_text(ax.set_xlabel(parameter_label(self.parameter_name)))
        ax.set_ylabel("selected features")
        # The first above the line, the last right of the axes: the line covers neither.  Where
        # both are on the right, the first is below the line.
        back = turned and parameters[0] > np.median(parameters)
        first = (0, (-6, -6), "right", "top") if back else (0, (6, 6), "left", "baseline")
        for i, shift, side, up in (first, (-1, (6, 0), "left", "center"))[: len(parameters)]:
            size = int(n_selected[i])
            ax.annotate(
                f"{size:,}", (parameters[i], size), xytext=shift, ha=side, va=up,
                textcoords="offset points", fontsize=9, color=INK, annotation_clip=False,
            )  # fmt: skip
        ax.set_title(f"Features kept, of {self.n_features:,}", loc="left")
        ax.yaxis.set_major_formatter("{x:,.0f}")
        if self.n_real and self.n_real < largest:
            self._draw_chance(ax, x, sizes)
        return ax

    def _draw_chance(self, ax: Any, x: NDArray[np.float64], sizes: NDArray[np.int64]) -> None:
        """Where chance takes over: more features than there are discoveries."""
        from matplotlib.patheffects import withStroke

        assert self.n_real is not None
        ax.axhline(self.n_real, color=PALETTE[1], lw=1.1, ls=(0, (5, 3)), zorder=2.5)
        low, high = ax.get_ylim()
        if self.n_real < 1.3 * low:
            ax.set_ylim(0.6 * self.n_real, high)
            ax.set_yticks(log_ticks(self.n_real, int(sizes.max()), 8, whole=True))
        within = np.flatnonzero(sizes <= self.n_real)
        if sizes[0] > self.n_real and len(within) and len(turns(x)) == 0:
            ring = {"color": PALETTE[1], "mfc": "white", "ms": 5.5, "mew": 1.6, "zorder": 4}
            ax.plot(x[within[0]], self.n_real, marker="o", ls="none", clip_on=False, **ring)
        words = ax.annotate(
            f"{rate_words(self.n_real, LEVEL)};\nabove, chance takes over", (0, self.n_real),
            xytext=(6, 4), xycoords=("axes fraction", "data"), textcoords="offset points",
            fontsize=8.5, color=INK, zorder=5,
        )  # fmt: skip
        words.set_path_effects([withStroke(linewidth=3.5, foreground="white")])  # over the steps


def plot_path(path: FeaturePath, ax: Any = None, *, n_named: int = 8) -> Any:
    """Draw a path: weights on ``ax``, or sizes and weights side by side on a new figure.

    Where all weights are the same, who is in at which size takes their place.

    Returns
    -------
    matplotlib Axes or ndarray of Axes
    """
    weights = _weights_or_entries(path, n_named)
    if ax is not None and np.size(ax) == 1:
        return weights.plot(np.ravel(ax)[0])
    if ax is not None:
        left, right = np.ravel(ax)
        SizeDisplay.from_path(path).plot(left)
        weights.plot(right)
        return ax
    figure, axes = pyplot().subplots(1, 2, figsize=(11, 4.2), width_ratios=(1, 1.35))
    SizeDisplay.from_path(path).plot(axes[0])
    weights.plot(axes[1])
    with any_glyph():
        figure.tight_layout()
    return axes


def save_plot(
    path: FeaturePath,
    file: Any,
    format: str = "png",
    n_features: int | None = None,
    test: AlignmentTest | None = None,
) -> None:
    """Write the picture of a path to a file or file object, without a screen.

    ``n_features`` can be selected, as far as that is known; ``test`` as in ``SizeDisplay``.
    """
    figure = screenless((11, 4.2))
    axes = figure.subplots(1, 2, width_ratios=(1, 1.35))
    SizeDisplay.from_path(path, n_features, test).plot(axes[0])
    _weights_or_entries(path).plot(axes[1])
    with any_glyph():
        figure.tight_layout()
        figure.savefig(file, format=format, metadata=signed(format))


def _weights_or_entries(path: FeaturePath, n_named: int = 8) -> Picture:
    weights = WeightsDisplay.from_path(path, n_named=n_named)
    if weights.known:
        return weights
    entries = EntriesDisplay.from_summary(path.summary())
    return entries if entries.known else weights


def parameter_label(name: str) -> str:
    """Words for the axis of the path parameter."""
    return "norm exponent p" if name == "p" else label(name, 40)


def scale_along(ax: Any, x: NDArray[np.float64]) -> None:
    """From the start of the path, on the left, to its end; logarithmic over several decades.

    A parameter that turns grows to the right.
    """
    x = x[np.isfinite(x)]
    low, high = float(x.min()), float(x.max())
    if low > 0 and high > WIDE * low:
        ax.set_xscale("log")
        powers = range(int(np.ceil(np.log10(low))), int(np.floor(np.log10(high))) + 1)
        powers = powers[:: -(-len(powers) // MOST_POWERS)]
        words = [f"{10**p:,}" if 0 <= p <= 3 else f"1e{p}" for p in powers]
        ax.set_xticks([10.0**p for p in powers], words)
        ax.minorticks_off()
    elif np.array_equal(x, np.round(x)):  # counts have no ticks in between
        ax.xaxis.get_major_locator().set_params(integer=True)
    if low == high:
        low, high = low - 0.5, high + 0.5
    falls = x[0] >= x[-1] and len(turns(x)) == 0
    ax.set_xlim(*((high, low) if falls else (low, high)))


class End(NamedTuple):
    """A named line at the right edge: its height there and its last position."""

    height: float
    lasts: int
    color: str
    name: str


def label_ends(ax: Any, ends: list[End], x: NDArray[np.float64]) -> None:
    """Write names at the right edge, moved apart where they would touch.

    They are joined to lines that end there: those of a parameter that has turned may not.
    """
    if not ends:
        return
    edge = ax.get_xlim()[1]
    joined = len(turns(x)) == 0 or x[-1] == edge
    ends = sorted(ends)
    # In parts of the height of the axes, whatever their scale is.
    corners = ax.transData.transform([(edge, end.height) for end in ends])
    heights = ax.transAxes.inverted().transform(corners)[:, 1]
    line = 11.5 / 72 * ax.figure.dpi / ax.bbox.height  # a line of text of nine points
    step = min(max(0.058, line), 1 / len(ends))
    for place, end in zip(apart(heights.tolist(), 0.0, 1.0, step), ends):
        text = ax.annotate(
            end.name, (edge, end.height), xytext=(1.045, place),
            textcoords="axes fraction", color=end.color, fontsize=9, va="center",
            arrowprops={
                "arrowstyle": "-", "color": end.color, "lw": 0.7, "alpha": 0.7 * joined,
                "relpos": (0.0, 0.5), "shrinkA": 1, "shrinkB": 1,
            },
            annotation_clip=False,
        )  # fmt: skip
        plain_text(text)  # a dollar sign in a name is a dollar sign
