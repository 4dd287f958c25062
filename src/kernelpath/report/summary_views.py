"""What the selected features look like: each against the target, and how far they repeat others.

A view shows the target over one feature, with the curve that the kernel of that feature alone
would fit.  Redundancy is the alignment of two feature kernels, 1 for kernels that say the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelpath.kernels import kernel_values
from kernelpath.path_kernels.bank import KernelBank
from kernelpath.path_kernels.columns import take_columns
from kernelpath.tables.kinds import CODED, DATES, ColumnReading, Kind
from kernelpath.tables.table import Table
from kernelpath.utils.units import in_units, size_exponent

MOST_ROWS, MOST_POINTS = 2000, 250
"""Rows from which a curve is fitted, and those that are drawn."""
LANDMARKS, GRID = 40, 81
GAP = 0.2
"""Share of the drawn range: across a wider gap between two rows no curve is drawn."""
ENOUGH_ROWS, ENOUGH_SHARE = 10, 1 / 16
"""Rows nearby that a curve can stand on; the share of all of them if that is less."""
SHORT_STRETCH = 4
"""Steps of the grid: a shorter piece of a curve says nothing."""
MOST_CATEGORIES, MOST_CLASSES = 12, 6
REDUNDANCY_ROWS, MOST_COMPARED = 400, 30
RIDGES = 10.0 ** np.arange(-6.0, 1.5, 0.5)


def feature_views(
    table: Table,
    y: NDArray,
    task: str,
    columns: Sequence[int],
    *,
    kernel: Mapping[str, Any] | None = None,
    readings: Mapping[int, ColumnReading] | None = None,
    widths: NDArray[np.float64] | None = None,
    seed: int = 0,
) -> list[dict[str, Any]]:
    """Views of some columns: points, and the curve of the target over the feature.

    ``readings`` says how columns that are not of a type of numbers were read, ``widths`` how wide
    the kernel of each column is, in standard deviations, where they differ.
    """
    rows = _sample(table.shape[0], MOST_ROWS, seed)
    outcome = _Outcome.of(y, task)
    target = outcome.columns(y[rows])
    unit = int(size_exponent(np.abs(target).max()))
    target = in_units(target, unit)
    shown = _sample(len(rows), MOST_POINTS, seed + 1)
    views = []
    for column in columns:
        values = _values(table, column, rows)
        reading = (readings or {}).get(int(column))
        if table.categorical[column] or (reading is not None and reading.kind in CODED):
            views.append(_categorical(int(column), values, target, outcome, reading))
        else:
            seen = ~np.isnan(values)  # what is missing has no place on the axis
            points = np.flatnonzero(np.isin(np.flatnonzero(seen), shown))
            part = (values[seen], target[seen])
            own = dict(kernel or {})
            if widths is not None:
                own["each_width"] = widths[[column]]
            views.append(_numeric(int(column), *part, outcome, points, own))
            views[-1]["dates"] = reading is not None and reading.kind in DATES
        exponent = 0 if table.exponents is None else int(table.exponents[column])
        _to_own_units(views[-1], exponent, unit)
    return views


def _to_own_units(view: dict[str, Any], exponent: int, unit: int) -> None:
    """Give huge and tiny numbers of a view back in the units of the user."""
    if view["kind"] == "numeric" and exponent:
        view["grid"] = in_units(view["grid"], -exponent).tolist()
        view["points"]["x"] = in_units(view["points"]["x"], -exponent).tolist()
    if unit:
        for holder, key in ((view, "curves"), (view, "means"), (view.get("points", {}), "y")):
            if key in holder:
                holder[key] = in_units(holder[key], -unit).tolist()


class _Outcome:
    """The target as columns to be drawn: the values, or one share per class."""

    def __init__(self, kind: str, labels: list[Any]) -> None:
        self.kind, self.labels = kind, labels

    @classmethod
    def of(cls, y: NDArray, task: str) -> _Outcome:
        if task == "regression":
            return cls("value", [])
        labels, counts = np.unique(y, return_counts=True)
        if len(labels) == 2:  # the share of one says that of the other
            return cls("share", [labels[1]])
        known = sorted(labels.tolist(), key=_natural)  # of equally large ones, the first by name
        count = dict(zip(labels.tolist(), counts.tolist()))
        largest = sorted(known, key=lambda label: -count[label])[:MOST_CLASSES]
        return cls("share", [label for label in known if label in largest])

    def columns(self, y: NDArray) -> NDArray[np.float64]:
        if self.kind == "value":
            return np.asarray(y, dtype=np.float64)[:, None]
        return np.stack([(y == label).astype(np.float64) for label in self.labels], axis=1)

    @property
    def names(self) -> list[str]:
        return [str(label) for label in self.labels]


def _numeric(
    column: int,
    x: NDArray[np.float64],
    target: NDArray[np.float64],
    outcome: _Outcome,
    shown: NDArray[np.intp],
    kernel: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Points and curve over a numeric column.

    The curve is drawn only where there are rows: it is NaN inside gaps wider than a fifth of the
    drawn range, so that a column of a few values has a dot at each, and where so few rows are near
    that they alone would bend it.  It is clipped to the range of the target, which a smooth curve
    can leave where rows are few.
    """
    grid, empty = _grid(x)
    empty |= _is_lonely(x, grid)
    curves = kernel_curve(x, target, grid, kernel)
    curves = np.clip(curves, target.min(axis=0), target.max(axis=0))
    curves[empty] = np.nan
    return {
        "column": column,
        "kind": "numeric",
        "outcome": outcome.kind,
        "classes": outcome.names,
        "grid": grid.tolist(),
        "curves": curves.T.tolist(),
        "points": {"x": x[shown].tolist(), "y": target[shown].T.tolist()},
    }


def _grid(x: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Values to draw the curve at, with the edges of wide gaps, and which lie inside of a gap."""
    low, high = np.quantile(x, [0.005, 0.995])
    if low == high:
        low, high = float(x.min()), float(x.max())
    grid = np.linspace(low, high, GRID)
    levels = np.unique(x)
    wide = np.flatnonzero(np.diff(levels) > GAP * (high - low) * (1 + 1e-9))
    starts, ends = levels[wide], levels[wide + 1]
    edges = np.unique(np.append(starts, ends))
    edges = edges[(edges >= low) & (edges <= high)]
    near = np.isclose(grid[:, None], edges, rtol=0.0, atol=1e-9 * (high - low)).any(axis=1)
    grid = np.sort(np.append(grid[~near], edges))
    inside = (grid[:, None] > starts) & (grid[:, None] < ends)
    return grid, np.asarray(inside.any(axis=1))


def _is_lonely(x: NDArray[np.float64], grid: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Where too few rows are near: the tails of a column with outliers."""
    near = GAP / 2 * (grid[-1] - grid[0])
    x = np.sort(x)
    count = np.searchsorted(x, grid + near, side="right") - np.searchsorted(x, grid - near)
    lonely = np.asarray(count < min(ENOUGH_ROWS, int(ENOUGH_SHARE * len(x))))
    stretches = np.flatnonzero(np.diff(np.r_[True, lonely, True])).reshape(-1, 2)
    for start, end in stretches:
        if end - start < SHORT_STRETCH:
            lonely[start:end] = True
    return lonely


def _categorical(
    column: int,
    codes: NDArray[np.float64],
    target: NDArray[np.float64],
    outcome: _Outcome,
    reading: ColumnReading | None,
) -> dict[str, Any]:
    """Means by category: the most frequent ones, in their own order or by name, missing last."""
    levels, inverse, counts = np.unique(codes, return_inverse=True, return_counts=True)
    labels = [] if reading is None else list(reading.categories or ())
    ordered = reading is None or reading.kind is Kind.ORDERED

    def name(level: float) -> str:
        if np.isnan(level):
            return "missing"
        return str(labels[int(level)]) if 0 <= int(level) < len(labels) else f"{level:g}"

    def place_of(place: int) -> tuple[Any, ...]:
        level = levels[place]
        return (np.isnan(level), level if ordered else _by_number(name(level)))

    order = sorted(np.argsort(-counts, kind="stable")[:MOST_CATEGORIES], key=place_of)
    means = np.stack([target[inverse == place].mean(axis=0) for place in order], axis=1)
    return {
        "column": column,
        "kind": "categorical",
        "outcome": outcome.kind,
        "classes": outcome.names,
        "categories": [name(levels[place]) for place in order],
        "counts": counts[order].tolist(),
        "means": means.tolist(),
        "n_hidden": len(levels) - len(order),
    }


def _natural(label: Any) -> Any:
    """Key of a class: its number, or its name with numbers inside as numbers."""
    return _by_number(label) if isinstance(label, str) else label


def _by_number(name: str) -> list[Any]:
    """Key by which "room 9" comes before "room 10"."""
    parts = re.split(r"(\d+)", name.casefold())
    return [int(part) if i % 2 else part for i, part in enumerate(parts)]


def kernel_curve(
    x: NDArray[np.float64],
    target: NDArray[np.float64],
    grid: NDArray[np.float64],
    kernel: Mapping[str, Any] | None = None,
) -> NDArray[np.float64]:
    """Kernel ridge regression on one feature, at the points of a grid, (len(grid), n_targets).

    The kernel is that of the feature; quantiles serve as landmarks, and generalised
    cross-validation chooses the ridge.

    Examples
    --------
    >>> x = np.linspace(-2.0, 2.0, 200)
    >>> curve = kernel_curve(x, (x**2)[:, None], np.array([-1.0, 1.0]))
    >>> curve.round(1).ravel().tolist()
    [1.0, 1.0]
    """
    landmarks = np.unique(np.quantile(x, np.linspace(0.0, 1.0, LANDMARKS)))
    column = Table(x[:, None], None, np.zeros(1, dtype=bool))
    options = dict(kernel or {})
    if options.get("kernel") in (None, "auto"):
        options["kernel"] = "rbf"
    if "gamma" in options and np.ndim(options["gamma"]) > 0:
        options.pop("gamma")  # one per column of the whole table
    bank = KernelBank.fit(column, **options)
    gamma, center = float(bank.gamma[0]), float(bank.center[0])

    def gram(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
        return kernel_values(bank.kernels[0], a - center, b - center, gamma)

    inner = gram(landmarks, landmarks)
    values, vectors = np.linalg.eigh(inner)
    kept = values > 1e-10 * max(values[-1], 1e-300)
    root = vectors[:, kept] / np.sqrt(values[kept])
    features = gram(x, landmarks) @ root
    means, offset = features.mean(axis=0), target.mean(axis=0)
    left, singular, right = np.linalg.svd(features - means, full_matrices=False)
    projected = left.T @ (target - offset)
    total = np.square(target - offset).sum()
    best, chosen = np.inf, RIDGES[0]
    for ridge in RIDGES * len(x):
        shrink = singular**2 / (singular**2 + ridge)
        residual = total - np.sum((2 * shrink - shrink**2)[:, None] * projected**2)
        score = residual / max(len(x) - 1.0 - shrink.sum(), 1e-9) ** 2
        if score < best:
            best, chosen = score, ridge
    coef = right.T @ ((singular / (singular**2 + chosen))[:, None] * projected)
    return (gram(grid, landmarks) @ root - means) @ coef + offset


def redundancy(
    table: Table,
    columns: Sequence[int],
    *,
    kernel: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> NDArray[np.float64]:
    r"""Alignment :math:`\langle K_i, K_j \rangle / (\|K_i\| \|K_j\|)` of centred feature kernels.

    Computed from a sample of the rows; at most thirty columns.
    """
    some = np.asarray(columns[:MOST_COMPARED], dtype=np.intp)
    rows = _sample(table.shape[0], REDUNDANCY_ROWS, seed)
    values = table.values.tocsr()[rows] if sp.issparse(table.values) else table.values[rows]
    part = table.of_columns(some, take_columns(values, some))
    options = {name: value for name, value in dict(kernel or {}).items() if name != "gamma"}
    bank = KernelBank.fit(part, **(options or {"kernel": "auto"}))
    flat = np.stack([c.train.ravel() for c in bank.combine(np.eye(len(some)), precision="single")])
    norms = np.sqrt(np.einsum("ij,ij->i", flat, flat))
    flat /= np.where(norms > 0, norms, 1.0)[:, None]
    result = flat @ flat.T
    np.fill_diagonal(result, 1.0)
    return np.clip(result, 0.0, 1.0)


def _sample(n: int, most: int, seed: int) -> NDArray[np.intp]:
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, most, replace=False))


def _values(table: Table, column: int, rows: NDArray[np.intp]) -> NDArray[np.float64]:
    values = table.values
    if sp.issparse(values):
        return np.asarray(values.tocsc()[:, [column]].toarray(), dtype=np.float64).ravel()[rows]
    return np.asarray(values[rows, column], dtype=np.float64)
