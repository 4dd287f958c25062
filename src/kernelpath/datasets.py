"""Simulated problems whose relevant features are known, for examples, tests and benchmarks.

Only NumPy is used, and every problem is fixed by its `random_state`. Real data do not live here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelpath.utils.progress import working

_TILE = 64  # noise columns drawn from one stream; changing it changes every simulated table
_POOL, _ROWS, _PLACES, _NOISE = range(4)  # independent streams of one random_state
_MARGIN = 0.5


@dataclass(frozen=True, eq=False)
class Simulated:
    """A simulated problem.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        The features, in raw units.
    y : ndarray of shape (n_samples,)
        Labels -1 and +1, or a continuous target.
    feature_names : list of str
        ``f00000``, ``f00001``, ...: the number is the column.
    relevant : ndarray of int
        Columns of `X` that act on `y`, in increasing order.
    description : str
        One sentence.
    """

    X: np.ndarray
    y: np.ndarray
    feature_names: list[str]
    relevant: np.ndarray
    description: str


def _uniform(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.uniform(-1.0, 1.0, n)


def _normal(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.standard_normal(n)


def _score(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.binomial(2, 0.5, n) - 1.0  # an ordinal score, such as a genotype


def _clusters(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.integers(-1, 2, n) + 0.15 * rng.standard_normal(n)


# (marginal, effect, importance). All but the monotone shapes are even functions of a symmetric
# variable, so their linear correlation is zero. Importances even out the alignments: the less of
# its trace an RBF kernel spends on a shape, the more that shape must matter.
_SHAPES: dict[str, tuple[Callable[..., Any], Callable[..., Any], float]] = {
    "linear": (_normal, lambda z: z, 1.5),
    "band": (_uniform, lambda z: np.where(np.abs(z) > 0.5, 1.0, -1.0), 2.1),
    "square": (_uniform, lambda z: z**2, 2.0),
    "bump": (_normal, lambda z: np.exp(-(z**2)), 1.85),
    "heterozygote": (_score, lambda z: 1.0 - np.abs(z), 1.5),
    "threshold": (_normal, lambda z: np.where(z > 0.0, 1.0, -1.0), 1.5),
    "sine": (_uniform, lambda z: np.sin(1.5 * np.pi * (z + 1.0)), 2.4),
    "cosine": (_uniform, lambda z: np.cos(np.pi * z), 1.9),
    "middle": (_clusters, lambda z: np.exp(-8.0 * z**2), 2.0),
    "absolute": (_uniform, np.abs, 1.95),
    "saturation": (_uniform, lambda z: np.tanh(3.0 * z), 1.25),
    "notch": (_normal, lambda z: np.minimum(np.abs(z), 1.5), 1.85),
}


@working("simulating")
def make_wide(
    n_samples: int = 1000,
    n_features: int = 20_000,
    n_relevant: int = 12,
    *,
    task: str = "classification",
    noise: float = 0.3,
    dtype: Any = np.float64,
    random_state: int = 0,
) -> Simulated:
    r"""Make a wide table in which few features act on the target, most of them non-linearly.

    .. math:: s = \frac{1}{c} \sum_k w_k f_k(x_k) + \mathrm{noise} \cdot e

    with standardised effects :math:`f_k` (bands, bumps, waves, steps, and every fourth monotone),
    scaled so that the sum has unit variance, and standard normal :math:`e`.
    In regression `y` is :math:`s`; in classification it is the sign of :math:`s`, for rows drawn
    with equal classes and :math:`|s| > 0.5`. All other columns are independent of `y`: normal,
    uniform, log-normal, counts and binary, in units of their own.

    Parameters
    ----------
    n_samples, n_features, n_relevant : int
        Size of the table; the relevant columns take random places.
    task : {"classification", "regression"}
        Kind of target.
    noise : float
        Standard deviation of the noise, where that of the signal is 1.
    dtype : dtype
        float32 or float64.
    random_state : int
        Fixes everything. The target does not depend on `n_features`.

    Returns
    -------
    Simulated
        `X` is in column order in memory.

    See Also
    --------
    iter_wide_chunks : the same table in blocks of columns.

    Examples
    --------
    >>> problem = make_wide(n_samples=100, n_features=500, n_relevant=4)
    >>> problem.X.shape, int(problem.y.sum()), len(problem.relevant)
    ((100, 500), 0, 4)
    """
    blocks = iter_wide_chunks(
        n_samples, n_features, n_relevant, task=task, noise=noise, dtype=dtype,
        random_state=random_state, chunk_size=n_features,
    )  # fmt: skip
    return next(blocks)[1]


def iter_wide_chunks(
    n_samples: int = 1000,
    n_features: int = 20_000,
    n_relevant: int = 12,
    *,
    task: str = "classification",
    noise: float = 0.3,
    dtype: Any = np.float64,
    random_state: int = 0,
    chunk_size: int = 4096,
) -> Iterator[tuple[int, Simulated]]:
    """Yield the table of `make_wide` in blocks of columns, for tables larger than memory.

    Parameters
    ----------
    n_samples, n_features, n_relevant, task, noise, dtype, random_state
        As in `make_wide`.
    chunk_size : int
        Columns in a block; it does not change their content.

    Yields
    ------
    start : int
        Column of the table at which the block begins.
    block : Simulated
        `relevant` counts from the beginning of the block; `y` is that of the whole table.

    Examples
    --------
    >>> for start, block in iter_wide_chunks(50, 1000, 3, chunk_size=600):
    ...     start, block.X.shape, block.feature_names[0]
    (0, (50, 600), 'f000')
    (600, (50, 400), 'f600')
    """
    _check_sizes(n_samples, n_features, n_relevant, random_state)
    if task not in ("classification", "regression"):
        raise ValueError(f"task must be 'classification' or 'regression', not {task!r}")
    if chunk_size < 1:
        raise ValueError(f"chunk_size must be at least 1, not {chunk_size}")
    columns, y = _signal(n_samples, n_relevant, task, noise, random_state)
    places = _stream(random_state, _PLACES).choice(n_features, n_relevant, replace=False)
    return _blocks(columns, y, places, n_features, chunk_size, np.dtype(dtype), random_state)


def make_additive(
    n_samples: int = 300, n_features: int = 50, *, noise: float = 1.0, random_state: int = 0
) -> Simulated:
    r"""Make an additive regression problem in the manner of Friedman's first.

    .. math:: y = 10 \sin(\pi x_1) + 20 (x_2 - 0.5)^2 + 10 x_3 + 5 x_4 + 8 |x_5 - 0.5| + e

    Features are uniform on the unit interval; Friedman's interaction is replaced by a sine.

    Parameters
    ----------
    n_samples, n_features : int
        Size of the table; five columns at random places are relevant.
    noise : float
        Standard deviation of the normal noise.
    random_state : int
        Fixes everything.

    Returns
    -------
    Simulated

    Examples
    --------
    >>> make_additive(n_samples=20, n_features=8).relevant.size
    5
    """
    _check_sizes(n_samples, n_features, 5, random_state)
    X, order = _columns("uniform", n_samples, n_features, 5, random_state)
    a, b, c, d, e = X[:, order].T
    y = 10 * np.sin(np.pi * a) + 20 * (b - 0.5) ** 2 + 10 * c + 5 * d + 8 * np.abs(e - 0.5)
    y = y + noise * _stream(random_state, _ROWS).standard_normal(n_samples)
    return _simulated(X, y, order, "Additive non-linear regression on five features.")


def make_xor(
    n_samples: int = 300, n_features: int = 20, *, order: int = 3, random_state: int = 0
) -> Simulated:
    """Make a parity problem: the class is the sign of a product of `order` features.

    Out of reach of one kernel per feature: for `order` of 2 or more every single feature, and
    every sum of functions of single features, is independent of the class. A method that ranks
    these features well has looked at their combination.

    Parameters
    ----------
    n_samples, n_features : int
        Size of the table of standard normal features.
    order : int
        Number of relevant features, at random places.
    random_state : int
        Fixes everything.

    Returns
    -------
    Simulated

    Examples
    --------
    >>> import numpy as np
    >>> problem = make_xor(order=2)
    >>> bool(np.all(np.sign(problem.X[:, problem.relevant].prod(axis=1)) == problem.y))
    True
    """
    _check_sizes(n_samples, n_features, order, random_state)
    X, places = _columns("normal", n_samples, n_features, order, random_state)
    y = np.where((X[:, places] > 0).sum(axis=1) % 2 == order % 2, 1, -1)
    return _simulated(X, y, places, f"Parity of the signs of {order} features.")


def make_ring(n_samples: int = 300, n_features: int = 20, *, random_state: int = 0) -> Simulated:
    """Make a two-class problem: inside or outside a circle in the plane of two features.

    Features are uniform on [-1, 1], and the circle holds half of the square. Either feature alone
    shows part of the effect, but none of it linearly.

    Parameters
    ----------
    n_samples, n_features : int
        Size of the table; two columns at random places are relevant.
    random_state : int
        Fixes everything.

    Returns
    -------
    Simulated

    Examples
    --------
    >>> sorted(set(make_ring().y.tolist()))
    [-1, 1]
    """
    _check_sizes(n_samples, n_features, 2, random_state)
    X, places = _columns("uniform", n_samples, n_features, 2, random_state)
    X = 2.0 * X - 1.0
    y = np.where((X[:, places] ** 2).sum(axis=1) < 2.0 / np.pi, 1, -1)
    return _simulated(X, y, places, "Inside or outside a circle in two features.")


def _check_sizes(n_samples: int, n_features: int, n_relevant: int, random_state: int) -> None:
    if n_samples < 2:
        raise ValueError(f"n_samples must be at least 2, not {n_samples}")
    if not 1 <= n_relevant <= n_features:
        raise ValueError(f"{n_relevant} relevant features do not fit into {n_features} features")
    if not isinstance(random_state, (int, np.integer)) or random_state < 0:
        raise ValueError(f"random_state must be an integer from 0, not {random_state!r}")


def _stream(random_state: int, *path: int) -> np.random.Generator:
    return np.random.default_rng([int(random_state), *path])


def _names(start: int, stop: int, n_features: int) -> list[str]:
    width = len(str(n_features - 1))
    return [f"f{j:0{width}d}" for j in range(start, stop)]


def _columns(
    kind: str, n_samples: int, n_features: int, n_relevant: int, random_state: int
) -> tuple[np.ndarray, np.ndarray]:
    rng = _stream(random_state, _NOISE)
    shape = (n_features, n_samples)  # by columns: a wider table begins with the narrower one
    X = (rng.random(shape) if kind == "uniform" else rng.standard_normal(shape)).T
    return X, _stream(random_state, _PLACES).choice(n_features, n_relevant, replace=False)


def _simulated(X: np.ndarray, y: np.ndarray, places: np.ndarray, description: str) -> Simulated:
    n_features = X.shape[1]
    return Simulated(X, y, _names(0, n_features, n_features), np.sort(places), description)


def _signal(
    n: int, n_relevant: int, task: str, noise: float, random_state: int
) -> tuple[np.ndarray, np.ndarray]:
    """Draw the relevant columns (one a row) and the target."""
    # More rows than needed, as classification keeps only those clear of the threshold.
    rng, pool = _stream(random_state, _POOL), 4 * n + 64
    shapes = list(_SHAPES.values())
    columns, score, scale = np.empty((n_relevant, pool)), np.zeros(pool), 0.0
    for k in range(n_relevant):
        marginal, effect, importance = shapes[k % len(shapes)]
        columns[k] = marginal(rng, pool)
        values = effect(columns[k])
        score += importance * (values - values.mean()) / values.std()
        scale += importance**2
        columns[k] = rng.uniform(-5.0, 5.0) + 10.0 ** rng.uniform(-1.0, 2.0) * columns[k]
    rng = _stream(random_state, _ROWS)
    score = score / np.sqrt(scale) + noise * rng.standard_normal(pool)
    if task == "regression":
        return columns[:, :n], score[:n]
    sizes = {1: (n + 1) // 2, -1: n // 2}
    kept = [np.flatnonzero(side * score > _MARGIN)[:size] for side, size in sizes.items()]
    rows = rng.permutation(np.concatenate(kept))
    return columns[:, rows], np.where(score[rows] > 0, 1, -1)


def _noise_tile(tile: int, n: int, random_state: int) -> np.ndarray:
    """Draw `_TILE` irrelevant columns, one a row."""
    rng = _stream(random_state, _NOISE, tile)
    kinds = rng.choice(5, _TILE, p=[0.5, 0.2, 0.15, 0.1, 0.05])
    offsets, scales = rng.uniform(-5.0, 5.0, _TILE), 10.0 ** rng.uniform(-1.0, 2.0, _TILE)
    rates = rng.uniform(0.0, 1.0, _TILE)
    columns = np.empty((_TILE, n))
    for j, kind in enumerate(kinds):
        if kind == 0:
            columns[j] = offsets[j] + scales[j] * rng.standard_normal(n)
        elif kind == 1:
            columns[j] = offsets[j] + scales[j] * rng.uniform(-1.0, 1.0, n)
        elif kind == 2:
            columns[j] = scales[j] * rng.lognormal(0.0, 0.3 + 0.5 * rates[j], n)
        elif kind == 3:
            columns[j] = rng.poisson(1.0 + 9.0 * rates[j], n)
        else:
            columns[j] = rng.random(n) < 0.2 + 0.6 * rates[j]
    return columns


def _blocks(
    columns: np.ndarray, y: np.ndarray, places: np.ndarray, n_features: int, chunk_size: int,
    dtype: np.dtype, random_state: int,
) -> Iterator[tuple[int, Simulated]]:  # fmt: skip
    n = y.size
    for start in range(0, n_features, chunk_size):
        stop = min(start + chunk_size, n_features)
        block = np.empty((stop - start, n), dtype=dtype)
        for tile in range(start // _TILE, -(-stop // _TILE)):
            first = max(start, tile * _TILE)
            last = min(stop, (tile + 1) * _TILE)
            drawn = _noise_tile(tile, n, random_state)
            block[first - start : last - start] = drawn[first - tile * _TILE : last - tile * _TILE]
        inside = np.flatnonzero((places >= start) & (places < stop))
        block[places[inside] - start] = columns[inside]
        names = _names(start, stop, n_features)
        text = f"{len(places)} of {n_features} features act on the target, mostly non-linearly."
        yield start, Simulated(block.T, y, names, np.sort(places[inside] - start), text)
