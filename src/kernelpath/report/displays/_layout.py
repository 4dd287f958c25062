"""Where things go in a picture: ticks that can be read, and free places for texts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

CHANCE = "#5F6368"
FEW_SIZES = 12
"""So many sizes, or fewer, are ticks themselves, unless round numbers tell more."""


def scale_x(ax: Any, scale: str, sizes: NDArray, n_columns: int) -> None:
    """Limits and readable ticks for some sizes; if they are few, every one that has room.

    With the scale "cost" these are no sizes but what they cost.
    """
    from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

    if scale == "cost":
        room = 0.03 * float(np.ptp(sizes)) or 1.0
        ax.set_xlim(sizes.min() - room, sizes.max() + room)
        ax.xaxis.set_major_locator(MaxNLocator(nbins=8, steps=[1, 2, 5, 10]))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
        return
    low, high = int(sizes.min()), int(sizes.max())
    write = percent_text if scale == "fraction" else "{:,.0f}".format
    labels = FuncFormatter(lambda value, _: write(value))
    if scale == "linear":
        room = 0.03 * (high - low) or 1.0
        ax.set_xlim(max(low - room, 0), high + room)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8, steps=[1, 2, 5, 10]))
        ax.xaxis.set_major_formatter(labels)
        return
    unit = n_columns if scale == "fraction" else 1
    room = (high / low) ** 0.03 if high > low else 2.0
    ax.set_xscale("log")
    ax.set_xlim(low / unit / room, high / unit * room)
    percent = 100 / unit if scale == "fraction" else 1
    most = min(ticks_that_fit(ax), 10)
    ticks = log_ticks(low * percent, high * percent, most, whole=scale == "log")
    if scale == "log" and len(np.unique(sizes)) <= FEW_SIZES:
        own = spaced_sizes(sizes, 72 * ax.bbox.width / ax.figure.dpi)
        ticks = own if len(own) >= len(ticks) else ticks
    ax.xaxis.set_major_locator(FixedLocator((ticks if scale == "log" else ticks / 100).tolist()))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(labels)


def spaced_sizes(sizes: NDArray[np.int64], width: float) -> NDArray[np.float64]:
    """Sizes whose numbers do not touch on a logarithmic axis of so many points; round ones first.

    Examples
    --------
    >>> spaced_sizes(np.arange(1, 10), 400.0).tolist()
    [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]
    >>> spaced_sizes(np.arange(1, 10), 100.0).tolist()
    [1.0, 2.0, 3.0, 5.0, 7.0]
    """
    sizes = np.unique(sizes)
    room = np.log(sizes[-1] / sizes[0]) or 1.0
    places = np.log(sizes / sizes[0]) / room * width
    half = np.array([3.2 * len(f"{size:,}") + 3.0 for size in sizes.tolist()])
    units = 10.0 ** np.floor(np.log10(sizes))
    lead = sizes / units
    rank = np.select([lead == 1, lead == 5, lead == 2], [0, 1, 2], 3)
    kept: list[int] = []
    for i in np.lexsort([sizes, rank]).tolist():
        if all(abs(places[i] - places[j]) >= half[i] + half[j] for j in kept):
            kept.append(i)
    return sizes[np.sort(kept)].astype(np.float64)


def ticks_that_fit(ax: Any) -> int:
    """How many numbers can stand side by side below the axes."""
    return int(np.clip(2.2 * ax.bbox.width / ax.figure.dpi, 4, 14))


def percent_text(share: float) -> str:
    """A share as a percentage, with the digits it needs."""
    value = f"{100 * share:#.3g}" if share >= 0.01 else f"{100 * share:.10f}"
    return value.rstrip("0").rstrip(".") + " %"


def log_ticks(low: float, high: float, most: int, *, whole: bool) -> NDArray[np.float64]:
    """Ticks 1, 2, 5, 10, ... from ``low`` to ``high``, or fewer if these are too many."""
    decades = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    tens, slack = np.empty(0), 1 + 1e-9
    for steps in ((1, 2, 5), (1, 1.5, 2, 3, 5, 7), (1,)):
        tens = np.outer(decades, steps).ravel()
        tens = tens[(tens >= low / slack) & (tens <= high * slack)]
        tens = tens[tens == np.round(tens)] if whole else tens
        if 3 <= len(tens) <= most:
            return tens
    if high > 10 * low:
        return tens[:: -(-len(tens) // most)]
    step = np.ceil((high - low) / 5) if whole else (high - low) / 4  # too narrow for round numbers
    return low + step * np.arange(np.floor((high - low) / step * slack) + 1 if step else 1)


def pixels(ax: Any, x: Any, y: Any, weight: float) -> NDArray[np.float64]:
    """Points every few pixels along a line, each with a weight."""
    corners = ax.transData.transform(np.column_stack([x, y]))
    along = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(corners, axis=0).T))])
    places = np.linspace(0, along[-1], int(along[-1] / 3) + 1)
    line = [np.interp(places, along, corners[:, i]) for i in (0, 1)]
    return np.column_stack([*line, np.full(len(places), weight)])


def measure(ax: Any, label: str, style: dict[str, Any]) -> NDArray[np.float64]:
    """Width and height of a text in pixels."""
    probe = ax.text(0, 0, label, **style)
    box = probe.get_window_extent()
    probe.remove()
    return np.array([box.width, box.height])


def free_place(
    across: Any, up: Any, size: Any, taken: NDArray[np.float64], target: Any
) -> NDArray[np.float64]:
    """The centre, on a grid, at which a box covers least, and then is nearest to ``target``."""
    half = np.asarray(size) / 2 + 0.6 * size[1]  # in heights of the text, whatever the resolution
    # One product of matrices counts for all places of the grid.
    columns = np.abs(across[:, None] - taken[:, 0]) < half[0]
    rows = np.abs(up[:, None] - taken[:, 1]) < half[1]
    covered = (columns * taken[:, 2]) @ rows.T
    away = np.abs(np.stack(np.meshgrid(across, up, indexing="ij"), axis=-1) - target)
    outside = np.hypot(*np.moveaxis(np.maximum(away - half, 0), -1, 0))  # from the edge of the box
    cost = covered + 0.15 * outside + 0.01 * away.sum(axis=-1)
    i, j = np.unravel_index(np.argmin(cost), cost.shape)
    return np.array([across[i], up[j]])


def write_on_line(ax: Any, label: str, y: float, taken: NDArray[np.float64]) -> NDArray[np.float64]:
    """Write a small text above or below a horizontal line; the pixels it takes."""
    style = {"fontsize": 8.5, "color": CHANCE, "zorder": 2}
    width, height = measure(ax, label, style)
    level = ax.transData.transform((ax.get_xlim()[0], y))[1]
    edge = (width + height) / 2
    across = np.linspace(ax.bbox.x1 - edge, ax.bbox.x0 + edge, 30)
    # The line itself is no obstacle to its own name, so the distance is one that clears it.
    sides = [s for s in (1, -1) if ax.bbox.y0 < level + s * 1.8 * height < ax.bbox.y1] or [1]
    up = level + 1.2 * height * np.array(sides)
    centre = free_place(across, up, (width, height), taken, (across[0], up[0]))
    place = ax.transAxes.inverted().transform(centre)
    ax.text(*place, label, transform=ax.transAxes, ha="center", va="center", **style)
    spots = np.linspace(-width / 2, width / 2, 20) + centre[0]
    return np.column_stack([spots, np.full(20, centre[1]), np.full(20, 20.0)])


def apart(wanted: list[float], low: float, high: float, distance: float) -> list[float]:
    """Places near those wanted (increasing), at least ``distance`` from each other."""
    places: list[float] = []
    for value in wanted:
        places.append(max(value, places[-1] + distance) if places else max(value, low))
    if places and places[-1] > high:  # push the pile down from the top
        places[-1] = high
        for j in range(len(places) - 2, -1, -1):
            places[j] = min(places[j], places[j + 1] - distance)
    return places


def column_ticks(sizes: NDArray[np.int64], most: int) -> list[int]:
    """Columns of a chart with one column per size whose size is written: round ones.

    Examples
    --------
    >>> column_ticks(np.arange(1, 31), 12)
    [0, 4, 9, 14, 19, 24, 29]
    """
    if len(sizes) <= most:
        return list(range(len(sizes)))
    gap = -(-len(sizes) // most)
    units = 10 ** np.floor(np.log10(np.maximum(sizes, 1))).astype(np.int64)
    lead = sizes / units
    # In this order: 1, 10, 100; then 5, 50; 2, 20; 15, 30 and the like.
    tiers = [lead == 1, lead == 5, lead == 2, (units > 1) & (2 * lead == np.round(2 * lead))]
    chosen: list[int] = []
    for tier in tiers:
        for place in np.flatnonzero(tier).tolist():
            if all(abs(place - other) >= gap for other in chosen):
                chosen.append(place)
    return sorted(chosen) if len(chosen) >= 3 else list(range(0, len(sizes), gap))
