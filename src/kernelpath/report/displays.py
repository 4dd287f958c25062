"""Pictures of a path.  A display stores what it draws; ``plot`` only draws it.

matplotlib is an optional dependency and imported inside the functions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelpath.path import FeaturePath

# Okabe and Ito: distinguishable with every form of colour blindness.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7A5195", "#6F6F00")
GREY = "#9AA0A6"
LONGEST_LABEL = 22


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
        for row in self.others:
            ax.plot(x, np.where(row > 0, row, np.nan), color=GREY, lw=0.6, alpha=0.45, zorder=1)
        ends = []
        for i, row in enumerate(self.named):
            color = PALETTE[i % len(PALETTE)]
            ax.plot(x, np.where(row > 0, row, np.nan), color=color, lw=1.9, zorder=3)
            last = np.flatnonzero(row > 0)[-1]
            ends.append((row[last], color, self.names[i]))
        ax.set_xlim(x.max(), x.min() if len(x) > 1 else x.min() - 1e-9)
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
        junctures = path.events.parameters
        first = int(path.n_selected[0])
        return cls(
            parameters=path.parameters,
            n_selected=path.n_selected,
            junctures=junctures,
            sizes_after=first - np.arange(1, len(junctures) + 1),
            n_features=path.n_features,
            parameter_name=path.parameter_name,
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw on ``ax`` (a new one by default) and return it."""
        ax = _axes(ax)
        x, sizes = self.parameters, self.n_selected
        if 0 < len(self.junctures) <= 5000 and self.sizes_after[-1] >= 0:
            x = np.concatenate([x[:1], self.junctures, x[-1:]])
            sizes = np.concatenate([sizes[:1], self.sizes_after, self.sizes_after[-1:]])
        ax.step(x, sizes, where="post", color=PALETTE[0], lw=1.9)
        ax.fill_between(x, sizes, step="post", color=PALETTE[0], alpha=0.12, lw=0)
        ax.set_xlim(self.parameters.max(), self.parameters.min())
        smallest = int(sizes.min())
        if int(sizes.max()) > 50:
            ax.set_yscale("symlog" if smallest == 0 else "log")
        ax.set_ylim(
            0 if smallest == 0 else max(0.8, 0.6 * smallest), 1.4 * max(int(sizes.max()), 1)
        )
        ax.set_xlabel(_parameter_label(self.parameter_name))
        ax.set_ylabel("selected features")
        ends = ((self.parameters[0], self.n_selected[0], "left", 6), (self.parameters[-1], self.n_selected[-1], "right", -6))  # fmt: skip
        for at, size, side, shift in ends:
            ax.annotate(
                f"{int(size):,}", (at, max(int(size), 0)), xytext=(shift, 6),
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
    if ax is not None:
        return weights.plot(ax)
    pyplot = _pyplot()
    figure, axes = pyplot.subplots(1, 2, figsize=(11, 4.2), width_ratios=(1, 1.35))
    SizeDisplay.from_path(path).plot(axes[0])
    weights.plot(axes[1])
    figure.tight_layout()
    return axes


def save_plot(path: FeaturePath, file: Any, format: str = "png") -> None:
    """Write the picture of a path to a file object, without a screen."""
    _pyplot()  # a clear message if matplotlib is missing
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.2))
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, 2, width_ratios=(1, 1.35))
    SizeDisplay.from_path(path).plot(axes[0])
    WeightsDisplay.from_path(path).plot(axes[1])
    figure.tight_layout()
    figure.savefig(file, format=format, dpi=150)


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as pyplot
    except ImportError:
        raise ImportError(
            "Plots need matplotlib, which is not installed: pip install 'kernelpath[plot]'"
        ) from None
    return pyplot


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


def _label_ends(ax: Any, ends: list[tuple[float, str, str]]) -> None:
    """Write names at the right edge, moved apart where they would touch."""
    if not ends:
        return
    low, high = ax.get_ylim()
    apart = 0.058 * (high - low)
    order = sorted(range(len(ends)), key=lambda i: ends[i][0])
    places = []
    for i in order:
        wanted = float(ends[i][0])
        places.append(max(wanted, places[-1] + apart) if places else max(wanted, low))
    overflow = places[-1] - high
    if overflow > 0:  # push the pile down from the top
        places[-1] = high
        for j in range(len(places) - 2, -1, -1):
            places[j] = min(places[j], places[j + 1] - apart)
    edge = ax.get_xlim()[1]
    for place, i in zip(places, order):
        value, color, name = ends[i]
        text = name if len(name) <= LONGEST_LABEL else name[: LONGEST_LABEL - 1] + "…"
        label = ax.annotate(
            text.replace("\n", " "), (edge, value), xytext=(1.045, (place - low) / (high - low)),
            textcoords="axes fraction", color=color, fontsize=9, va="center",
            arrowprops={
                "arrowstyle": "-", "color": color, "lw": 0.7, "alpha": 0.7,
                "relpos": (0.0, 0.5), "shrinkA": 1, "shrinkB": 1,
            },
            annotation_clip=False,
        )  # fmt: skip
        label.set_parse_math(False)  # a dollar sign in a name is a dollar sign
