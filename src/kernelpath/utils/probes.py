"""What users bring along is tried at a few points before anything rests on it.

A certificate computed with a wrong derivative or conjugate certifies nothing.  Here objects are
held against themselves: values against derivatives, functions against their conjugates, projections
against their sets.  What contradicts itself is refused by a sentence that names class and method;
what agrees at these points is believed, and a NaN later on is still an error.  Nothing here knows
the package's own objects: all of them must pass, too.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelpath.errors import ExtensionError

Vector = NDArray[np.float64]

WEIGHTS = np.array([0.003, 0.02, 0.1, 0.5, 1.0, 2.5])
STEP = 1e-4  # relative, of differences that stand for derivatives
CLOSE = 1e-4  # relative: a derivative and a difference that agree
EQUAL = 1e-6  # relative: two ways to compute the same number
INSIDE = 1.0 - 1e-9  # a dual point at the edge of a domain, moved inside
FAILURES = (
    ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError,
    ValueError,
)  # fmt: skip


def is_own(thing: Any) -> bool:
    """Whether the class of an object is not one of the package."""
    return type(thing).__module__.split(".")[0] != "kernelpath"


def refused(thing: Any, method: str, what: str) -> ExtensionError:
    """The sentence that refuses an object."""
    return ExtensionError(f"{type(thing).__name__}.{method} {what}")


def not_nan(thing: Any, method: str, values: Any) -> Any:
    """Values as they are, or an error if one is not a number."""
    # Bounds ask this of single numbers many times: no array is made of them.
    if math.isnan(values) if isinstance(values, float) else np.isnan(values).any():
        raise refused(thing, method, "gives NaN, which no certificate survives; correct it.")
    return values


def call(thing: Any, method: str, *arguments: Any, shape: tuple[int, ...] | None = None) -> Any:
    """What a method gives as an array of floats of a shape; its exceptions become sentences."""
    with _in_words(thing, method), np.errstate(all="ignore"):
        given = getattr(thing, method)(*(read_only(one) for one in arguments))
        values = as_numbers(thing, method, given)
    if shape is not None and values.shape != shape:
        raise refused(
            thing, method, f"gives an array of shape {values.shape} where {shape} is needed."
        )
    return values


@contextmanager
def _in_words(thing: Any, method: str) -> Iterator[None]:
    """Exceptions of a method become a sentence that names it."""
    try:
        yield
    except ExtensionError:
        raise
    except FAILURES as error:
        problem = f"fails at a point of trial: {type(error).__name__}: {error}"
        raise refused(thing, method, problem) from error


def read_only(value: Any) -> Any:
    """An array that cannot be changed in place; anything else as it is."""
    if isinstance(value, np.ndarray):
        value = value.view()
        value.flags.writeable = False
    return value


def as_numbers(thing: Any, method: str, given: Any) -> NDArray[np.float64]:
    """What a method gave, in double precision; complex numbers are refused, not cut."""
    if np.iscomplexobj(given):
        raise refused(thing, method, "gives complex numbers.")
    if np.asarray(given).dtype.kind in "US":
        raise refused(thing, method, "gives text, not numbers.")
    if np.ma.is_masked(given):
        raise refused(thing, method, "gives masked numbers, which are none.")
    return np.asarray(given, dtype=np.float64)


def finite(thing: Any, method: str, values: Any, where: str) -> Any:
    """Values as they are, if all are finite."""
    if not np.isfinite(values).all():
        raise refused(thing, method, f"gives NaN or infinity for {where}.")
    return values


def agree(a: Any, b: Any, scale: Any, tol: float) -> bool:
    """Whether two ways to compute something differ by little, measured by its size."""
    return bool(np.all(np.abs(np.subtract(a, b)) <= tol * np.asarray(scale)))


# -- divergences -----------------------------------------------------------------------------------


def probe_divergence(divergence: Any, points: Any = ()) -> None:
    """Refuse a divergence whose derivatives contradict its generator, or that is not convex.

    ``points`` are further positive weights at which it will be needed.
    """
    x = np.unique(np.concatenate([WEIGHTS, np.asarray(points, dtype=np.float64).ravel()]))
    names = ("generator", "derivative", "second_derivative", "third_derivative")
    values = [_finite_at(divergence, name, x) for name in names]
    at_zero = call(divergence, "generator", 0.0, shape=())
    if not np.isfinite(at_zero):
        raise refused(divergence, "generator", f"is {at_zero} at 0; it must be finite there.")
    slope = call(divergence, "derivative", 0.0, shape=())
    if np.isnan(slope) or slope == np.inf:
        raise refused(
            divergence, "derivative", f"is {slope} at 0; only minus infinity would do there."
        )
    for lower, name in enumerate(names[1:]):
        _probe_derivative(divergence, names[lower], name, x, values[lower], values[lower + 1])
    first, second = values[1], values[2]
    scale = np.abs(first).max() + np.abs(values[0]).max()
    if (np.diff(first) < -EQUAL * scale).any() or (second < -EQUAL * np.abs(second).max()).any():
        raise refused(
            divergence, "derivative", "decreases: the generator must be convex for weights > 0."
        )


def _finite_at(divergence: Any, name: str, x: Vector) -> Vector:
    values = call(divergence, name, x, shape=x.shape)
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise refused(
            divergence, name, f"is {values[bad[0]]} at {x[bad[0]]:g}; it must be finite there."
        )
    return values


def _probe_derivative(
    thing: Any, lower: str, upper: str, x: Vector, values: Vector, slopes: Vector
) -> None:
    step = STEP * x
    rise = (_finite_at(thing, lower, x + step) - _finite_at(thing, lower, x - step)) / (2.0 * step)
    # Differences lose digits where the values are large for their slopes.
    lost = 1e-12 * np.abs(values) / step
    scale = np.abs(slopes) + np.abs(rise)
    wrong = np.flatnonzero(~(np.abs(rise - slopes) <= CLOSE * scale + lost))
    if len(wrong):
        i = wrong[0]
        raise refused(
            thing, upper,
            f"is {slopes[i]:.6g} at {x[i]:g}, but {lower} has the slope {rise[i]:.6g} there.",
        )  # fmt: skip


# -- regularizers ----------------------------------------------------------------------------------


def probe_regularizer(regularizer: Any, n: int, feasible: Any = None) -> None:
    """Refuse a regularizer of ``n`` weights whose parts contradict each other.

    With a set it is tried there: it may have no value elsewhere.
    """
    rng = np.random.default_rng(0)
    points = [scale * rng.uniform(0.2, 1.0, size=n) for scale in (0.1, 1.0, 3.0)]
    if feasible is not None:
        points = [0.5 * (feasible.start(n) + feasible.project(d)) for d in points]
    sparse = points[1] * (np.arange(n) % 2 == 0)
    values = [_value(regularizer, d) for d in (*points, sparse, np.zeros(n))]
    slopes = [call(regularizer, "gradient", d, shape=(n,)) for d in points]
    for slope, d in zip(slopes, points):
        finite(regularizer, "gradient", slope, "positive weights")
        curve = call(regularizer, "hess_diag", d, shape=(n,))
        finite(regularizer, "hess_diag", curve, "positive weights")
    for d in (sparse, np.zeros(n)):
        for method in ("gradient", "hess_diag"):
            not_nan(regularizer, method, call(regularizer, method, d, shape=(n,)))
    for d, value, slope in zip(points, values, slopes):
        _probe_slope(regularizer, d, value, slope, rng)
        _probe_curve(regularizer, d, slope)
    _probe_convex(regularizer, [*points, sparse, np.zeros(n)], values, slopes)
    if hasattr(regularizer, "conjugate"):
        _probe_conjugate(regularizer, [*points, sparse, np.zeros(n)], values, slopes)
    if hasattr(regularizer, "closed_form"):
        _probe_closed_form(regularizer, points[1])
    if hasattr(regularizer, "restrict"):
        _probe_restrict(regularizer, sparse, values[3])


def _value(regularizer: Any, d: Vector) -> float:
    value = float(call(regularizer, "value", d, shape=()))
    if not np.isfinite(value):
        raise refused(regularizer, "value", f"is {value} for weights up to {d.max():.2g}.")
    return value


def _probe_slope(
    regularizer: Any, d: Vector, value: float, slope: Vector, rng: np.random.Generator
) -> None:
    for direction in (d, d * rng.uniform(-1.0, 1.0, size=len(d))):
        rise = _value(regularizer, d + STEP * direction) - _value(regularizer, d - STEP * direction)
        rise /= 2.0 * STEP
        wanted = float(slope @ direction)
        scale = abs(rise) + float(np.abs(slope * direction).sum())
        if not abs(rise - wanted) <= CLOSE * scale + 1e-12 * abs(value) / STEP:
            raise refused(
                regularizer, "gradient",
                f"says that a step changes the value by {wanted:.6g}, but value changes by "
                f"{rise:.6g}.",
            )  # fmt: skip


def _probe_curve(regularizer: Any, d: Vector, slope: Vector) -> None:
    curve = call(regularizer, "hess_diag", d, shape=d.shape)
    for k in np.unique(np.linspace(0, len(d) - 1, 3).astype(int)).tolist():
        step = np.zeros(len(d))
        step[k] = STEP * d[k]
        ends = [call(regularizer, "gradient", d + sign * step)[k] for sign in (1.0, -1.0)]
        rise = (ends[0] - ends[1]) / (2.0 * step[k])
        scale = abs(rise) + abs(curve[k])
        if not abs(rise - curve[k]) <= CLOSE * scale + 1e-12 * abs(slope[k]) / step[k]:
            raise refused(
                regularizer, "hess_diag",
                f"is {curve[k]:.6g} where the gradient has the slope {rise:.6g}.",
            )  # fmt: skip


def _probe_convex(
    regularizer: Any, points: list[Vector], values: list[float], slopes: list[Vector]
) -> None:
    for d, value, slope in zip(points, values, slopes):
        for other, there in zip(points, values):
            tangent = value + float(slope @ (other - d))
            if there < tangent - EQUAL * (abs(value) + abs(there) + abs(tangent)):
                raise refused(
                    regularizer, "value",
                    "lies below its tangents: a regularizer must be convex.",
                )  # fmt: skip


def _probe_conjugate(
    regularizer: Any, points: list[Vector], values: list[float], slopes: list[Vector]
) -> None:
    """Fenchel and Young: ``value(d) + conjugate(g) >= g'd``, with equality at the gradient."""
    for own, value, slope in zip(points, values, slopes):
        g = INSIDE * slope
        conjugate = _conjugate(regularizer, g)
        scale = abs(value) + float(np.abs(slope) @ own)
        if not abs(value + conjugate - float(g @ own)) <= EQUAL * scale + 1e-300:
            raise refused(
                regularizer, "conjugate",
                f"is {conjugate:.6g} at a gradient, where value and gradient say "
                f"{float(g @ own) - value:.6g}: the largest g'd - value(d) over d >= 0.",
            )  # fmt: skip
        for factor in (-1.0, 0.0, 0.5, 2.0, 10.0):
            _probe_bound(regularizer, factor * slope, points, values)
        _probe_domain(regularizer, slope)


def _conjugate(regularizer: Any, g: Vector) -> float:
    value = float(call(regularizer, "conjugate", g, shape=()))
    if np.isnan(value) or value == -np.inf:
        raise refused(regularizer, "conjugate", f"is {value}; only infinity would do.")
    return value


def _probe_bound(regularizer: Any, g: Vector, points: list[Vector], values: list[float]) -> None:
    conjugate = _conjugate(regularizer, g)
    for d, value in zip(points, values):
        earned = float(g @ d)
        if value + conjugate < earned - EQUAL * (abs(value) + abs(earned)):
            raise refused(
                regularizer, "conjugate",
                f"is {conjugate:.6g} where some weights have g'd - value(d) = "
                f"{earned - value:.6g}: it must be the largest over d >= 0.",
            )  # fmt: skip


def _probe_domain(regularizer: Any, g: Vector) -> None:
    if not hasattr(regularizer, "domain_scale"):  # then it is finite everywhere
        if not np.isfinite(_conjugate(regularizer, 10.0 * g)):
            raise refused(
                regularizer, "conjugate",
                "is infinite at some gradients, so it needs a method domain_scale(g) beside it: "
                "the largest s for which conjugate(s * g) is finite.",
            )  # fmt: skip
        return
    scale = float(call(regularizer, "domain_scale", g, shape=()))
    if np.isnan(scale) or scale < 0:
        raise refused(regularizer, "domain_scale", f"is {scale}; it must be at least 0.")
    inside = 1.0 if np.isinf(scale) else (1.0 - 1e-6) * min(scale, 1e100)
    if not np.isfinite(_conjugate(regularizer, inside * g)):
        raise refused(
            regularizer, "domain_scale", f"is {scale:g}, but conjugate is infinite before that."
        )


def _probe_closed_form(regularizer: Any, squares: Vector) -> None:
    """``-s / (2 d^2) + r'(d) = 0`` at the minimiser."""
    d = call(regularizer, "closed_form", squares, shape=squares.shape)
    if not (np.isfinite(d).all() and (d > 0).all()):
        raise refused(regularizer, "closed_form", "must give positive weights for positive norms.")
    slope = call(regularizer, "gradient", d, shape=d.shape)
    pull = squares / (2.0 * np.square(d))
    if not agree(slope, pull, np.abs(slope) + pull, CLOSE):
        raise refused(
            regularizer, "closed_form",
            "is not where sum(s / (2 d)) + value(d) is smallest: its derivative is not 0 there.",
        )  # fmt: skip


def _probe_restrict(regularizer: Any, sparse: Vector, value: float) -> None:
    parts = np.flatnonzero(sparse)
    with _in_words(regularizer, "restrict"):
        smaller = regularizer.restrict(parts)
    if not hasattr(smaller, "value"):
        raise refused(regularizer, "restrict", f"gives {smaller!r}, which is no regularizer.")
    part = _value(smaller, sparse[parts])
    if not agree(part, value, abs(value), EQUAL):
        raise refused(
            regularizer, "restrict",
            f"gives a regularizer of value {part:.6g} for some weights, where the whole one, with "
            f"the others at 0, has {value:.6g}.",
        )  # fmt: skip


# -- feasible sets, losses and weighted kernels ----------------------------------------------------


def probe_feasible(feasible: Any, n: int) -> None:
    """Refuse a set of ``n`` weights whose projection does not project."""
    _refuse_disguise(feasible, ("project", "support", "minimize_linear"))
    rng = np.random.default_rng(1)
    start = call(feasible, "start", n, shape=(n,))
    given = [start, *(scale * rng.normal(size=n) for scale in (0.1, 1.0, 10.0))]
    inside = [call(feasible, "project", x, shape=(n,)) for x in given]
    size = max(float(np.abs(d).max()) for d in inside) + 1e-300
    for d in inside:
        if not np.isfinite(d).all() or d.min() < -EQUAL * size:
            raise refused(feasible, "project", "gives weights that are negative or not finite.")
        if not agree(call(feasible, "project", d, shape=(n,)), d, size, EQUAL):
            raise refused(feasible, "project", "moves a point that it gave itself.")
    if not agree(inside[0], start, size, EQUAL):
        raise refused(feasible, "start", "is a point that project moves: it is not in the set.")
    for (x, d), other in product(zip(given, inside), inside):
        if float((x - d) @ (other - d)) > EQUAL * (size + float(np.abs(x).max())) * size * n:
            raise refused(
                feasible, "project",
                "does not give the nearest point of a convex set: another point of the set is "
                "nearer.",
            )  # fmt: skip
    if not hasattr(feasible, "bounded"):
        raise refused(feasible, "bounded", "is missing: say whether the set is bounded.")
    if feasible.bounded:
        _probe_support(feasible, inside, size, rng.normal(size=n))


def _refuse_disguise(feasible: Any, methods: tuple[str, ...]) -> None:
    """Solvers know the sets of the package by their class and do not ask for their methods."""
    cls = type(feasible)
    known = (base for base in cls.__mro__ if base.__module__.split(".")[0] == "kernelpath")
    for base in known:
        if inspect.isabstract(base):
            return  # what all sets have in common says nothing about one
        for method in methods:
            if getattr(cls, method, None) is not getattr(base, method, None):
                raise refused(
                    feasible, method,
                    f"replaces that of {base.__name__}, by which solvers know the set; make it a "
                    "class of its own.",
                )  # fmt: skip
        return


def _probe_support(feasible: Any, inside: list[Vector], size: float, g: Vector) -> None:
    most = float(call(feasible, "support", g, shape=()))
    slack = EQUAL * size * float(np.abs(g).sum())
    if not all(float(g @ d) <= most + slack for d in inside):
        raise refused(
            feasible, "support",
            f"is {most:.6g}, but a point of the set has a larger g'd: it must be the largest.",
        )  # fmt: skip


def probe_dual(loss: Any, dual: Any, n: int) -> None:
    """Refuse a dual problem of a loss that is none."""
    for name in ("linear", "low", "high"):
        values = np.asarray(getattr(dual, name, None), dtype=np.float64)
        if values.shape != (n,) or np.isnan(values).any():
            raise refused(
                loss, "dual", f"must have {n} numbers as {name}, without NaN, one for each row."
            )
    if not (np.isfinite(dual.linear).all() and (dual.low <= 0).all() and (dual.high >= 0).all()):
        raise refused(loss, "dual", "must have finite linear and low <= 0 <= high.")
    for name in ("kink", "ridge"):
        value = float(getattr(dual, name))
        if not (np.isfinite(value) and value >= 0):
            raise refused(loss, "dual", f"has the {name} {value:g}; it must be at least 0.")


def probe_weighted(kernel: Any, rows: Any) -> None:
    """Refuse a weighted kernel, bound to these rows, that contradicts its own matrix."""
    n, m = int(kernel.n_rows), int(kernel.n_kernels)
    rng = np.random.default_rng(2)
    d = rng.uniform(0.2, 1.0, size=m) / m
    U = rng.normal(size=(n, 2))
    U -= U.mean(axis=0)
    K = call(kernel, "gram", d, shape=(n, n))
    size = float(np.abs(K).max())
    if not np.isfinite(K).all():
        raise refused(kernel, "gram", "gives NaN or infinity for positive weights.")
    if not agree(K, K.T, size, EQUAL):
        raise refused(kernel, "gram", "is not symmetric.")
    slope = call(kernel, "grad_quad", d, U, shape=(m,))
    step = STEP * d
    ends = [float(np.sum(U * (call(kernel, "gram", d + sign * step) @ U))) for sign in (1.0, -1.0)]
    rise, wanted = (ends[0] - ends[1]) / (2.0 * STEP), float(slope @ d)
    scale = abs(rise) + float(np.abs(slope) @ d)
    if not abs(rise - wanted) <= CLOSE * scale + 1e-12 * abs(ends[0]) / STEP:
        raise refused(
            kernel, "grad_quad",
            f"says that a step changes u'K(d)u by {wanted:.6g}, but gram changes it by {rise:.6g}.",
        )  # fmt: skip
    if kernel.is_sum and not agree(call(kernel, "gram", 2.0 * d), 2.0 * K, size, EQUAL):
        raise refused(kernel, "is_sum", "is true, but gram does not double with the weights.")
    values = call(kernel, "cross_times", d, rows, U, shape=(n, 2)) - K @ U
    if not agree(values, values.mean(axis=0), size * np.abs(U).sum(), EQUAL):
        raise refused(
            kernel, "cross_times", "of the training rows differs from gram(d) @ U: other kernels."
        )
