"""Pictures of a path.  A display stores what it draws; ``plot`` only draws it.

matplotlib is an optional dependency and imported inside the functions.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelpath.path import EventTable, FeaturePath

# Okabe and Ito: distinguishable with every form of colour blindness.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7A5195", "#6F6F00")
GREY = "#9AA0A6"
LONGEST_LABEL = 22
STEPS = {"enter": 1, "leave": -1, "eliminate": -1, "turn": 0}  # change of the size


@dataclass(frozen=True)
class WeightsDisplay:
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
    """

    parameters: NDArray[np.float64]
    named: NDArray[np.float64]
    names: list[str]
    others: NDArray[np.float64]
    n_hidden: int
    parameter_name: str

    @classmethod
    def from_path(cls, path: FeaturePath, n_named: int = 8, n_others: int = 120) -> WeightsDisplay:
        """Take the features that enter first, and every so-maniest of the rest."""
        W = path.weights.tocsc()
        W.eliminate_zeros()  # a stored zero draws nothing
        order = path.entry_order()
        order = order[np.diff(W.indptr)[order] > 0]
        first, rest = order[:n_named], order[n_named:]
        if len(rest) > n_others:
            places = np.unique(np.geomspace(1, len(rest), n_others).astype(int) - 1)
            shown = rest[places]
        else:
            shown = rest
        return cls(
            parameters=path.parameters,
            named=W[:, first].toarray().T,
            names=[str(path.feature_names[i]) for i in first],
            others=W[:, shown].toarray().T,
            n_hidden=len(rest) - len(shown),
            parameter_name=path.parameter_name,
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw on ``ax`` (a new one by default) and return it."""
        ax = _axes(ax)
        x = self.parameters
        marker = "o" if len(x) == 1 else ""  # a line through one point cannot be seen
        for row in self.others:
            line = {"color": GREY, "lw": 0.6, "alpha": 0.45, "zorder": 1, "marker": marker}
            ax.plot(x, np.where(row > 0, row, np.nan), **line)
        ends = []
        for i, row in enumerate(self.named):
            color = PALETTE[i % len(PALETTE)]
            ax.plot(x, np.where(row > 0, row, np.nan), color=color, lw=1.9, zorder=3, marker=marker)
            lasts = int(np.flatnonzero(row > 0)[-1])
            ends.append(_End(float(row[-1]), lasts, color, self.names[i]))
        ax.set_xlim(*_x_limits(x))
        ax.set_xlabel(_parameter_label(self.parameter_name))
        ax.set_ylabel("feature weight")
        top = max(float(self.named.max(initial=0.0)), float(self.others.max(initial=0.0)))
        ax.set_ylim(0, 1.06 * top if top > 0 else 1)
        _label_ends(ax, ends)
        if self.named.size == 0:
            ax.text(0.5, 0.5, "no feature has a weight", transform=ax.transAxes, ha="center")
        ax.set_title("Weights along the path", loc="left")
        return ax


@dataclass(frozen=True)
class SizeDisplay:
    """Number of selected features against the path parameter.

    Attributes
    ----------
    parameters, n_selected : ndarray of shape (n_points,)
    junctures, sizes_after : ndarray
        Where single features leave, and how many are left then.
    n_features : int
    parameter_name : str
    """

    parameters: NDArray[np.float64]
    n_selected: NDArray[np.int64]
    junctures: NDArray[np.float64]
    sizes_after: NDArray[np.int64]
    n_features: int
    parameter_name: str

    @classmethod
    def from_path(cls, path: FeaturePath) -> SizeDisplay:
        """Sizes at the grid points, and the juncture points between them."""
        steps = np.array([STEPS[kind] for kind in EventTable.KINDS], dtype=np.int64)
        change = steps[path.events.kinds]
        sizes = path.n_selected[0] + np.cumsum(change)
        # Events need not tell everything; where they do not lead to the end, they are not drawn.
        told = len(sizes) > 0 and sizes.min() >= 0 and sizes[-1] == path.n_selected[-1]
        shown = change != 0 if told else np.zeros(len(change), dtype=bool)
        return cls(
            parameters=path.parameters,
            n_selected=path.n_selected,
            junctures=path.events.parameters[shown],
            sizes_after=sizes[shown],
            n_features=path.n_features,
            parameter_name=path.parameter_name,
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw on ``ax`` (a new one by default) and return it."""
        ax = _axes(ax)
        x, sizes = self.parameters, self.n_selected
        if 0 < len(self.junctures) <= 5000:
            x = np.concatenate([x[:1], self.junctures, x[-1:]])
            sizes = np.concatenate([sizes[:1], self.sizes_after, self.sizes_after[-1:]])
        marker = "o" if len(x) == 1 else ""
        ax.step(x, sizes, where="post", color=PALETTE[0], lw=1.9, marker=marker)
        ax.fill_between(x, sizes, step="post", color=PALETTE[0], alpha=0.12, lw=0)
        ax.set_xlim(*_x_limits(self.parameters))
        smallest, largest = int(sizes.min()), max(int(sizes.max()), 1)
        if largest <= 50:
            ax.set_ylim(0, 1.15 * largest)
            ax.yaxis.get_major_locator().set_params(integer=True)
        else:
            ax.set_yscale("symlog" if smallest == 0 else "log")
            ax.set_ylim(max(0.8, 0.6 * smallest) if smallest else 0, 1.4 * largest)
        ax.set_xlabel(_parameter_label(self.parameter_name))
        ax.set_ylabel("selected features")
        for i, side, shift in ((0, "left", 6), (-1, "right", -6))[: len(self.parameters)]:
            size = int(self.n_selected[i])
            ax.annotate(
                f"{size:,}", (self.parameters[i], size), xytext=(shift, 6),
                textcoords="offset points", ha=side, fontsize=9, color="#202124",
            )  # fmt: skip
        ax.set_title(f"Features kept, of {self.n_features:,}", loc="left")
        ax.yaxis.set_major_formatter("{x:,.0f}")
        return ax


def plot_path(path: FeaturePath, ax: Any = None, *, n_named: int = 8) -> Any:
    """Draw a path: weights on ``ax``, or sizes and weights side by side on a new figure.

    Returns
    -------
    matplotlib Axes or ndarray of Axes
    """
    weights = WeightsDisplay.from_path(path, n_named=n_named)
    if ax is not None and np.size(ax) == 1:
        return weights.plot(np.ravel(ax)[0])
    if ax is not None:
        left, right = np.ravel(ax)
        SizeDisplay.from_path(path).plot(left)
        weights.plot(right)
        return ax
    pyplot = _pyplot()
    figure, axes = pyplot.subplots(1, 2, figsize=(11, 4.2), width_ratios=(1, 1.35))
    SizeDisplay.from_path(path).plot(axes[0])
    weights.plot(axes[1])
    with _any_glyph():
        figure.tight_layout()
    return axes


def save_plot(path: FeaturePath, file: Any, format: str = "png") -> None:
    """Write the picture of a path to a file or file object, without a screen."""
    _import("matplotlib")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.2))
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, 2, width_ratios=(1, 1.35))
    SizeDisplay.from_path(path).plot(axes[0])
    WeightsDisplay.from_path(path).plot(axes[1])
    with _any_glyph():
        figure.tight_layout()
        figure.savefig(file, format=format, dpi=150)


@contextmanager
def _any_glyph() -> Iterator[None]:
    """A name with a letter that the font lacks is drawn with a box, without a warning."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph \d+ .* missing from")
        yield


def _import(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise ImportError(
            "Plots need matplotlib, which is not installed: pip install 'kernelpath[plot]'"
        ) from None


def _pyplot() -> Any:
    return _import("matplotlib.pyplot")


def _axes(ax: Any) -> Any:
    if ax is None:
        _, ax = _pyplot().subplots(figsize=(7, 4.2))
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.grid(axis="y", color="#E8EAED", lw=0.8)
    ax.set_axisbelow(True)
    return ax


def _parameter_label(name: str) -> str:
    return "norm exponent p" if name == "p" else name


def _x_limits(x: NDArray[np.float64]) -> tuple[float, float]:
    """From the start of the path, on the left, to its end."""
    low, high = float(x.min()), float(x.max())
    if low == high:
        low, high = low - 0.5, high + 0.5
    return (high, low) if x[0] >= x[-1] else (low, high)


class _End(NamedTuple):
    """A named feature at the end of the path: its weight there and its last position."""

    weight: float
    lasts: int
    color: str
    name: str


def _label_ends(ax: Any, ends: list[_End]) -> None:
    """Write names at the right edge, moved apart where they would touch."""
    if not ends:
        return
    low, high = ax.get_ylim()
    edge = ax.get_xlim()[1]
    ends = sorted(ends)
    places = _apart([end.weight for end in ends], low, high, 0.058 * (high - low))
    for place, end in zip(places, ends):
        label = ax.annotate(
            _label(end.name), (edge, end.weight),
            xytext=(1.045, (place - low) / (high - low)),
            textcoords="axes fraction", color=end.color, fontsize=9, va="center",
            arrowprops={
                "arrowstyle": "-", "color": end.color, "lw": 0.7, "alpha": 0.7,
                "relpos": (0.0, 0.5), "shrinkA": 1, "shrinkB": 1,
            },
            annotation_clip=False,
        )  # fmt: skip
        label.set_parse_math(False)  # a dollar sign in a name is a dollar sign


def _apart(wanted: list[float], low: float, high: float, distance: float) -> list[float]:
    """Places near those wanted (increasing), at least ``distance`` from each other."""
    places: list[float] = []
    for value in wanted:
        places.append(max(value, places[-1] + distance) if places else max(value, low))
    if places[-1] > high:  # push the pile down from the top
        places[-1] = high
        for j in range(len(places) - 2, -1, -1):
            places[j] = min(places[j], places[j + 1] - distance)
    return places


def _label(name: str) -> str:
    clean = "".join(c if c.isprintable() else " " for c in name)
    return clean if len(clean) <= LONGEST_LABEL else clean[: LONGEST_LABEL - 1] + "…"
