"""What all pictures share: colours, how they get onto a page, and names that can be drawn.

matplotlib is an optional dependency and imported inside the functions.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kernelpath.report.plain_text import visible

# Okabe and Ito: distinguishable with every form of colour blindness.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7A5195", "#6F6F00")
GREY, INK, FAINT = "#9AA0A6", "#202124", "#5F6368"
SEQUENTIAL = "Blues"
"""Light to dark in one hue: readable in grey and with every form of colour blindness."""
LONGEST_LABEL = 22
UNKNOWN = "\N{WHITE SQUARE}"


class Picture:
    """A display: stores what it draws, and can draw it on given axes or on a figure of its own."""

    _sentence: ClassVar[str] = "There is nothing to draw."

    @property
    def figure_size(self) -> tuple[float, float]:
        """Width and height in inches of a figure made for this picture."""
        return (7.0, 4.2)

    @property
    def known(self) -> bool:
        """Whether there is anything to draw; if not, ``plot`` writes a sentence."""
        raise NotImplementedError

    def plot(self, ax: Any = None) -> Any:
        """Draw on ``ax`` (a new figure by default) and return the axes."""
        if ax is not None:
            return self._draw(ax, fit=False)
        return self.draw_on(pyplot().figure(figsize=self.figure_size))

    def draw_on(self, figure: Any) -> Any:
        """Draw on an empty figure, with margins that hold all labels, and return the axes."""
        figure.set_layout_engine("constrained", w_pad=0.08, h_pad=0.08)
        ax = figure.subplots()
        if not self.known:
            return write_sentence(ax, self._sentence)
        axes = self._draw(ax, fit=True)
        with any_glyph():
            figure.draw_without_rendering()  # finds the margins, which then stay
        figure.set_layout_engine("none")
        return axes

    def _draw(self, ax: Any, *, fit: bool) -> Any:
        """Draw; with ``fit`` the figure is ours."""
        raise NotImplementedError


# -- figures --------------------------------------------------------------------------------------


@contextmanager
def any_glyph() -> Iterator[None]:
    """A letter that the font lacks is drawn with a box, without a warning."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph \d+ .* missing from")
        yield


def imported(name: str) -> Any:
    """Matplotlib or a part of it; the error says what to install."""
    try:
        return import_module(name)
    except ImportError:
        raise ImportError(
            "Plots need matplotlib, which is not installed: pip install 'kernelpath[plot]'"
        ) from None


def pyplot() -> Any:
    """matplotlib.pyplot, imported when it is needed."""
    return imported("matplotlib.pyplot")


def signed(format: str) -> dict[str, str] | None:
    """Metadata by which a picture is known as ours.

    Examples
    --------
    >>> signed("png"), signed("svg")
    ({'Software': 'kernelpath'}, None)
    """
    return {"Software": "kernelpath"} if format == "png" else None


def screenless(size: tuple[float, float], dpi: float = 150) -> Any:
    """Figure that pyplot does not know and that needs no screen.

    The resolution is that of the file from the start: texts are measured, and hinting depends
    on it.
    """
    imported("matplotlib")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, dpi=dpi)
    FigureCanvasAgg(figure)
    return figure


def dressed(ax: Any, grid: str = "y") -> Any:
    """Axes in the style of all pictures; new ones by default."""
    if ax is None:
        _, ax = pyplot().subplots(figsize=(7, 4.2))
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    if grid:
        ax.grid(axis=grid, color="#E8EAED", lw=0.8)
    ax.set_axisbelow(True)
    return ax


def panels(
    ax: Any, n_rows: int, n_columns: int, *, space: Mapping[str, float], **spec: Any
) -> NDArray[Any]:
    """Axes in rows and columns within the bounds of ``ax``, which itself becomes invisible.

    The space between them is as given, unless the figure has an engine that finds it.
    """
    ax.set_axis_off()
    spec |= space if ax.figure.get_layout_engine() is None else {}
    place = ax.get_subplotspec()
    if place is not None:
        grid = place.subgridspec(n_rows, n_columns, **spec)
    else:
        x0, y0, x1, y1 = ax.get_position().extents
        edges = {"left": x0, "bottom": y0, "right": x1, "top": y1}
        grid = ax.figure.add_gridspec(n_rows, n_columns, **edges, **spec)
    found = [ax.figure.add_subplot(grid[i, j]) for i in range(n_rows) for j in range(n_columns)]
    return np.array(found, dtype=object).reshape(n_rows, n_columns)


def write_sentence(ax: Any, text: str) -> Any:
    """A sentence in the middle, in place of a chart that would be empty."""
    ax.set_axis_off()
    ax.text(
        0.5, 0.5, text, transform=ax.transAxes, ha="center", va="center", color=FAINT, wrap=True
    )
    return ax


def write_note(ax: Any, words: str, *, fit: bool, **style: Any) -> None:
    """A line between title and axes; on given axes, which may have neighbours, only if it fits."""
    style = {"fontsize": 9, "color": FAINT, "va": "bottom"} | style
    note = ax.annotate(words, (0, 1), (0, 6), "axes fraction", "offset points", **style)
    if not fit and note.get_window_extent().width > 1.02 * ax.bbox.width:
        note.remove()


def colour_bar(ax: Any, mesh: Any, words: str) -> Any:
    """Narrow scale of colours from 0 to 1, right of the axes."""
    height = min(1.0, 1.6 * ax.figure.dpi / ax.bbox.height)
    inset = ax.inset_axes((1.02, 1 - height, 0.022, height))
    bar = ax.figure.colorbar(mesh, cax=inset, ticks=[0, 0.5, 1])
    bar.ax.set_yticklabels(["0", "0.5", "1"], fontsize=8)
    bar.set_label(words, fontsize=8.5)
    bar.outline.set_visible(False)
    return bar


# -- names ----------------------------------------------------------------------------------------


def label(name: str, longest: int = LONGEST_LABEL) -> str:
    """A name that can be drawn: printable, in letters that the font has, and short."""
    known = _letters()
    clean = "".join(_drawn(c, known) for c in visible(str(name)))
    return clean if len(clean) <= longest else clean[: longest - 1] + "…"


def labels(names: Sequence[str], longest: int = LONGEST_LABEL) -> list[str]:
    """Names that can be drawn; those alike at the start are shortened in the middle instead."""
    short = [label(name, longest) for name in names]
    count = Counter(short)
    head = longest // 2
    for i, name in enumerate(names):
        whole = label(name, 4 * len(name))  # a control character is written as four
        if count[short[i]] > 1 and len(whole) > longest:
            short[i] = whole[:head] + "…" + whole[len(whole) - (longest - head - 1) :]
    return short


def _drawn(letter: str, known: frozenset[int] | None) -> str:
    if not letter.isprintable():
        return " "
    return letter if known is None or ord(letter) in known else UNKNOWN


def _letters() -> frozenset[int] | None:
    """Letters of the fonts in use; None, for all, while there is no matplotlib."""
    try:
        manager = import_module("matplotlib.font_manager")
    except ImportError:
        return None
    return _letters_of(tuple(manager.FontProperties().get_family()))


@lru_cache(maxsize=8)
def _letters_of(families: tuple[str, ...]) -> frozenset[int]:
    from matplotlib.font_manager import FontProperties, findfont, get_font

    found: set[int] = set()
    for family in families:
        try:
            file = findfont(FontProperties(family=[family]), fallback_to_default=False)
        except ValueError:  # a family that is not installed
            continue
        found |= set(get_font(file).get_charmap())
    return frozenset(found or get_font(findfont(FontProperties())).get_charmap())


def plain_text(text: Any) -> Any:
    """Take a dollar sign in a name for a dollar sign."""
    text.set_parse_math(False)
    return text


# -- summaries ------------------------------------------------------------------------------------


def floats(values: Any) -> NDArray[np.float64]:
    """Numbers of a summary as an array, unknown ones NaN.

    Examples
    --------
    >>> floats([1, None, 0.5])
    array([1. , nan, 0.5])
    """
    return np.array(values, dtype=np.float64)


def table_of(rows: Sequence[Any], n_columns: int) -> NDArray[np.float64]:
    """Rows of numbers as a matrix, also when there is no row."""
    return floats(rows).reshape(len(rows), n_columns)


def names_of(summary: Mapping[str, Any], places: Sequence[int]) -> list[str]:
    """Names of features that a section gives by position."""
    return [summary["features"][place]["name"] for place in places]


def chosen_size(summary: Mapping[str, Any]) -> int | None:
    """Number of features of the operating point, if there is one."""
    return None if summary["cv"] is None else int(summary["cv"]["chosen"]["n_features"])
