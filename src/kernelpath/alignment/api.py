"""The public door to the alignments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from kernelpath.alignment.calibration import CalibratedResult, calibrate, repeated
from kernelpath.alignment.columns import DenseColumns, SparseColumns
from kernelpath.alignment.engine import AlignmentResult, NonFiniteColumns, compute
from kernelpath.alignment.family import LeastByChance
from kernelpath.alignment.null_moments import FEWEST_ROWS
from kernelpath.alignment.observed import ObservedColumns
from kernelpath.errors import DataError, naming
from kernelpath.kernels import codes, formula_code
from kernelpath.kernels.feature import (
    RBF,
    WIDTH_POWERS,
    Delta,
    FeatureKernel,
    refuse_idle_widths,
    resolve_kernel,
)
from kernelpath.kernels.missing import has_category
from kernelpath.tables.any_target import encode_any, joint_target, taken
from kernelpath.tables.table import (
    Table,
    as_column_table,
    columns_with_holes,
    refuse_infinite_columns,
    unmasked,
)
from kernelpath.tables.targets import Target, check_sample_weight, refuse_weightless
from kernelpath.utils.checks import is_number
from kernelpath.utils.progress import begin, progress_bar
from kernelpath.utils.units import in_units
from kernelpath.utils.words import counted

METHODS = ("auto", "exact", "fast")
BANDWIDTHS = ("std", "median", "multi")
SEVERAL_WIDTHS = (1.0, 0.5, 0.25)
"""What ``"multi"`` stands for, in standard deviations of a column."""
MOST_WIDTHS, SMALLEST_FACTOR = 8, 0.01
SMALLEST_WIDTH = 1e-290


def alignments(
    X: Any,
    y: ArrayLike,
    *,
    kernel: str | FeatureKernel = "auto",
    bandwidth: str | Sequence[float] = "std",
    gamma: ArrayLike | None = None,
    method: str = "auto",
    tol: float = 1e-8,
    n_jobs: int | None = None,
    sample_weight: ArrayLike | None = None,
    task: str = "auto",
    progress: Callable[[int, int], None] | None = None,
) -> NDArray[np.float64]:
    r"""Centred, trace-normalised kernel-target alignment of every feature.

    .. math:: a_i = \frac{\operatorname{tr}(Y^\top H K_i H Y)}{\operatorname{tr}(H K_i H)}

    with :math:`K_i` the kernel matrix of feature ``i`` alone, :math:`H` the centring matrix and
    :math:`Y` the target: -1 and +1 for two classes, one indicator column per class for more,
    standardised to mean 0 and variance 1 for a continuous target.  A feature without any relation
    to the target has an alignment near 1 for two balanced classes or a continuous target,
    whatever its distribution, and less for unbalanced ones.

    Parameters
    ----------
    X : array, sparse matrix or dataframe of shape (n_samples, n_features)
        Raw columns: the kernel width adapts to each.  Sparse matrices stay sparse.  NaN means
        missing, which is a category of its own: the width of a column is that of its observed
        values, and whether a value is missing may be what it tells.
    y : array of shape (n_samples,) or (n_samples, n_outputs), or structured array
        Several columns, each coded as it would be alone, give the mean of their alignments: again
        near 1 without any relation.  A constant one is left out, with a warning.  A structured
        array of events and times stands for its residuals: see :func:`survival_target`.
    kernel : {"rbf", "linear", "polynomial", "laplace", "delta", "auto"} or FeatureKernel
        ``"auto"``: delta for text and categorical columns of a dataframe, RBF for the others.
    bandwidth : {"std", "median", "multi"} or tuple of float
        Scale of a column: its population standard deviation, or the median distance of two rows
        (exact, about a hundred times the time).  RBF takes ``gamma = 1 / (2 scale^2)``.  A tuple
        gives several widths in standard deviations, ``"multi"`` is ``(1, 0.5, 0.25)``: of them each
        column has the one at which its alignment is least likely by chance.
    gamma : float or array of shape (n_features,), optional
        Width parameters instead of ``bandwidth``.
    method : {"auto", "exact", "fast"}
        ``"exact"`` sums over all pairs of rows and serves as reference.  A kernel of your own is
        summed so whatever the method: there is no faster way that it would know.
    tol : float
        Promised absolute error: ``tol * max(alignment, 1)``.
    n_jobs : int, optional
        Threads; the result does not depend on it.
    sample_weight : array of shape (n_samples,), optional
        Weights of the rows; whole numbers mean repeated rows.
    task : {"auto", "classification", "regression"}
        What ``y`` holds, each of its columns for itself.
    progress : callable, optional
        Called with (features done, features in all), instead of a progress bar.

    Returns
    -------
    ndarray of shape (n_features,)
        Alignments; constant columns have 0.

    Notes
    -----
    Time is O(n_samples) per feature for continuous columns and the default width, O(stored
    entries) for sparse columns with few distinct values.  No kernel matrix is formed.

    References
    ----------
    .. [cortes2012] Cortes, Mohri, Rostamizadeh. Algorithms for learning kernels based on centered
       alignment. JMLR 13, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelpath as kp
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> y = np.abs(X[:, 1]) > 0.7            # no linear relation to any column
    >>> a = kp.alignments(X, y)
    >>> int(a.argmax())
    1
    """
    table = as_column_table(X)
    with progress_bar():
        result, _ = align_table(
            table,
            y,
            kernel=kernel,
            bandwidth=bandwidth,
            gamma=gamma,
            method=method,
            tol=tol,
            n_jobs=n_jobs,
            sample_weight=sample_weight,
            task=task,
            progress=progress or begin("alignments"),
        )
    return result.values


def align_table(
    table: Table,
    y: ArrayLike,
    *,
    kernel: str | FeatureKernel = "auto",
    bandwidth: str | Sequence[float] = "std",
    gamma: ArrayLike | None = None,
    method: str = "auto",
    tol: float = 1e-8,
    n_jobs: int | None = None,
    sample_weight: ArrayLike | None = None,
    task: str = "auto",
    calibrated: bool = False,
    each_width: NDArray[np.float64] | None = None,
    progress: Callable[[int, int], None] | None = None,
    by_chance: LeastByChance | None = None,
) -> tuple[AlignmentResult, Target]:
    """Like :func:`alignments`, with error bounds, constant columns and the encoded target.

    NaN means missing, a category of its own: see :mod:`kernelpath.kernels.missing`.  With
    ``calibrated`` or several widths the result is a :class:`CalibratedResult`; its alignments keep
    to ``tol`` only where ``calibrated`` is not asked for.  ``each_width`` is that of every column,
    in units of ``bandwidth``, where nothing is left to choose.  ``by_chance`` learns how small the
    least p-value of all columns is in permutations of the target.
    """
    _check_options(bandwidth, method, tol)
    refuse_idle_widths(bandwidth, gamma)
    factors, scale = widths_of(bandwidth)
    kernels = kernel_per_column(kernel, table)
    n_samples, n_features = table.shape
    if n_features == 0:
        raise DataError("X has no columns: 0 features.")
    if n_samples < 2:
        raise DataError(f"At least 2 rows are needed, got n_samples = {n_samples}.")
    gamma_array = _check_gamma(gamma, n_features)
    if y is None:
        raise DataError("y is None; the alignments need a target.")
    joint = joint_target(y)
    y = y if joint is None else joint
    y_length = np.shape(y)[0] if np.ndim(y) else 0
    if y_length != n_samples:
        raise DataError(
            f"X has {counted(n_samples, 'row')}, but y has {counted(y_length, 'value')}."
        )
    values = table.values
    if sample_weight is not None:
        values, y, sample_weight = without_weightless_rows(values, y, sample_weight)
    target = encode_any(y, task=task, sample_weight=sample_weight)
    plain = partial(compute, bandwidth=scale, method=method, tol=tol, n_jobs=n_jobs)
    run: Callable[..., AlignmentResult] = plain
    if calibrated or factors != (1.0,):
        _check_rows_for_moments(target)
        run = partial(
            _calibrated, exact=None if calibrated else plain, bandwidth=scale, factors=factors,
            method=method, n_jobs=n_jobs, by_chance=by_chance,
        )  # fmt: skip
    used = replace(table, values=values)
    given = (gamma_array, each_width)
    try:
        return _aligned(used, target, kernels, given, run, progress), target
    except NonFiniteColumns:
        refuse_infinite_columns(used)
    holes = np.flatnonzero(columns_with_holes(used.values))
    near = used.within_reach()
    kernels = _by_holes(kernels, holes)
    result = _aligned(near, target, kernels, given, run, progress, holes)
    if near.exponents is None:
        return result, target
    known = 0 if table.exponents is None else table.exponents
    return _in_units_of(table, result, kernels, near.exponents - known), target


def _aligned(
    table: Table,
    target: Target,
    kernels: list[tuple[FeatureKernel, NDArray[np.intp]]],
    given: tuple[NDArray[np.float64] | None, NDArray[np.float64] | None],
    run: Callable[..., AlignmentResult],
    progress: Callable[[int, int], None] | None,
    holes: NDArray[np.intp] | None = None,
) -> AlignmentResult:
    """Alignments of all columns, kernel by kernel, those with ``holes`` apart.

    ``given`` are the width parameters, and the widths in units of the scale of each column.
    """
    gamma, each_width = given
    n_features = table.shape[1]
    parts: list[tuple[NDArray[np.intp], AlignmentResult]] = []
    for one, where in kernels:
        before = sum(len(done) for done, _ in parts)
        whole = len(where) == n_features
        if table.exponents is not None and table.exponents[where].any():
            width_power(one, table)  # refuses a kernel whose units are not known
        values = table.values if whole else table.values[:, where]
        with_holes = holes is not None and np.isin(where[0], holes)
        source = _observed(values, one) if with_holes else _source(values)
        more = {} if each_width is None else {"each_width": each_width[where]}
        try:
            part = run(
                source,
                target,
                one,
                gamma=None if gamma is None else _own_widths(table, one, where, gamma[where]),
                progress=_count_from(progress, before, n_features),
                **more,
            )
        except NonFiniteColumns as error:
            raise NonFiniteColumns(where[error.columns]) from None
        if whole:
            return part
        parts.append((where, part))
    return _assemble(parts, n_features)


def _own_widths(
    table: Table,
    kernel: FeatureKernel,
    columns: NDArray[np.intp],
    gamma: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Width parameters that the user gave, for columns in units of ours."""
    if table.exponents is None:
        return gamma
    with np.errstate(over="ignore", under="ignore"):
        widths = in_units(gamma, width_power(kernel, table) * table.exponents[columns])
    lost = ~np.isfinite(widths) | (widths < SMALLEST_WIDTH)
    if lost.any():
        far = np.flatnonzero(lost)
        raise DataError(
            f"gamma={gamma[far[0]]:.3g} and the values of {table.label(columns[far])} are too far "
            "apart for double precision; give them in another unit, or leave gamma out."
        )
    return widths


def width_power(kernel: FeatureKernel, table: Table) -> int:
    """Power of the unit of a column that its width has; only kernels of this package tell."""
    power = WIDTH_POWERS.get(type(kernel))
    if power is None:
        assert table.exponents is not None
        label = table.label(np.flatnonzero(table.exponents))
        raise DataError(
            f"The kernel {kernel!r} cannot take the values of {label}, whose squares are not in "
            "the range of numbers; give them in another unit."
        )
    return power


def _in_units_of(
    table: Table,
    result: AlignmentResult,
    kernels: list[tuple[FeatureKernel, NDArray[np.intp]]],
    exponents: NDArray[np.int64],
) -> AlignmentResult:
    """Widths and means in the units of the table; a width out of reach is infinite or 0."""
    gamma = result.gamma.copy()
    with np.errstate(over="ignore", under="ignore"):
        for kernel, where in kernels:
            power = -WIDTH_POWERS.get(type(kernel), 0)
            gamma[where] = in_units(gamma[where], power * exponents[where])
        center = in_units(result.center, -exponents)
    return replace(result, gamma=gamma, center=center)


def _count_from(
    progress: Callable[[int, int], None] | None, before: int, total: int
) -> Callable[[int, int], None] | None:
    """Count the columns of all kernels together."""
    if progress is None:
        return None
    return lambda done, _: progress(before + done, total)


def _calibrated(
    source: Any,
    target: Target,
    kernel: FeatureKernel,
    *,
    exact: Callable[..., AlignmentResult] | None,
    gamma: NDArray[np.float64] | None,
    progress: Callable[[int, int], None] | None,
    **options: Any,
) -> CalibratedResult:
    """P-values at several widths; with ``exact``, also alignments at the width of each column."""
    found = calibrate(source, target, kernel, gamma=gamma, progress=progress, **options)
    if exact is None:
        return found
    again = exact(source, target, kernel, gamma=np.where(found.constant, 1.0, found.gamma))
    return replace(found, values=again.values, bounds=again.bounds, traces=again.traces)


def _check_rows_for_moments(target: Target) -> None:
    n = repeated(target).total_weight
    if n < FEWEST_ROWS:
        rows = counted(target.n_samples, "row")
        worth = "" if n == target.n_samples else f", which with their weights are worth {n:.3g}"
        raise DataError(
            f"{rows}{worth}: what an alignment is by chance needs at least {FEWEST_ROWS}; plain "
            "alignments do with fewer (bandwidth='std', and statistic='alignment' of a selector)."
        )


def widths_of(bandwidth: str | Sequence[float]) -> tuple[tuple[float, ...], str]:
    """Widths in units of a column's scale, and what that scale is.

    Examples
    --------
    >>> widths_of("median"), widths_of("multi")
    (((1.0,), 'median'), ((1.0, 0.5, 0.25), 'std'))
    """
    if isinstance(bandwidth, str):
        return (SEVERAL_WIDTHS, "std") if bandwidth == "multi" else ((1.0,), bandwidth)
    return tuple(float(factor) for factor in bandwidth), "std"


def check_bandwidth(bandwidth: Any) -> None:
    """Refuse what is neither the name of a scale nor widths in units of the deviation."""
    if isinstance(bandwidth, str) and bandwidth in BANDWIDTHS:
        return
    if isinstance(bandwidth, tuple | list) and 0 < len(bandwidth) <= MOST_WIDTHS:
        usable = all(is_number(f) and SMALLEST_FACTOR <= float(f) <= 100 for f in bandwidth)
        if usable and len(set(map(float, bandwidth))) == len(bandwidth):
            return
    raise ValueError(
        f"bandwidth must be 'std', 'median', 'multi' or a tuple of up to {MOST_WIDTHS} numbers, "
        f"all different, from {SMALLEST_FACTOR} to 100, widths in standard deviations of a "
        f"column, got {bandwidth!r}; pass other numbers through gamma=, with "
        "gamma = 1 / (2 sigma^2) for RBF"
    )


def _check_options(bandwidth: Any, method: str, tol: float) -> None:
    check_bandwidth(bandwidth)
    if not isinstance(method, str) or method not in METHODS:
        raise ValueError(f"method must be 'auto', 'exact' or 'fast', got {method!r}")
    if not (is_number(tol) and 1e-12 <= float(tol) <= 1e-1):
        raise ValueError(f"tol must be a number from 1e-12 to 0.1, got {tol!r}")


def _check_gamma(gamma: ArrayLike | None, n_features: int) -> NDArray[np.float64] | None:
    if gamma is None:
        return None
    given = unmasked(gamma, "gamma")
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"gamma must be a number or one per feature, got {gamma!r}") from None
    if values.ndim > 1 or (values.ndim == 1 and len(values) != n_features):
        raise ValueError(
            f"gamma must be a number or one number per feature ({n_features}), "
            f"got shape {values.shape}"
        )
    if not (np.all(np.isfinite(values)) and np.all(values > 0)):
        raise ValueError("gamma must be positive and finite")
    return np.broadcast_to(values, (n_features,)).astype(np.float64)


def kernel_per_column(
    kernel: str | FeatureKernel, table: Table
) -> list[tuple[FeatureKernel, NDArray[np.intp]]]:
    """Which kernel serves which columns."""
    text = np.flatnonzero(table.categorical)
    if isinstance(kernel, str) and kernel == "auto":
        groups = [(RBF(), np.flatnonzero(~table.categorical)), (Delta(), text)]
        return [(k, where) for k, where in groups if len(where)]
    resolved = resolve_kernel(kernel)
    if len(text) and not isinstance(resolved, Delta):
        subject = table.sentence(text, "holds", "hold")
        error = DataError(
            f"{subject} text or categories; use kernel='auto' (a delta kernel for such columns) "
            "or encode them as numbers."
        )
        raise naming(error, "kernel")
    return [(resolved, np.arange(table.shape[1]))]


def _source(values: Any) -> DenseColumns | SparseColumns:
    return SparseColumns(values) if sp.issparse(values) else DenseColumns(values)


def without_weightless_rows(
    values: Any, y: ArrayLike, sample_weight: ArrayLike
) -> tuple[Any, Any, Any]:
    """A row of weight 0 is an absent row, also for the ranges of the columns."""
    weights = check_sample_weight(sample_weight, values.shape[0])
    if weights.min() > 0:
        return values, y, weights
    refuse_weightless(np.asarray(y), weights)
    keep = np.flatnonzero(weights > 0)
    if sp.issparse(values):
        values = values.tocsr()
    return values[keep], taken(y, keep), weights[keep]


def _observed(values: Any, kernel: FeatureKernel) -> ObservedColumns:
    code = formula_code(kernel)
    return ObservedColumns(values, has_category(code), codes=code == codes.DELTA)


def _by_holes(
    kernels: list[tuple[FeatureKernel, NDArray[np.intp]]], holes: NDArray[np.intp]
) -> list[tuple[FeatureKernel, NDArray[np.intp]]]:
    """Columns of every kernel, those with missing values apart."""
    parts = [
        (kernel, where[np.isin(where, holes) == some])
        for kernel, where in kernels
        for some in (False, True)
    ]
    return [(kernel, where) for kernel, where in parts if len(where)]


def _assemble(
    parts: list[tuple[NDArray[np.intp], AlignmentResult]], n_features: int
) -> AlignmentResult:
    first = parts[0][1]
    whole: AlignmentResult = AlignmentResult.empty(n_features)
    if isinstance(first, CalibratedResult):
        whole = CalibratedResult.empty(n_features, first.log_p_by_width.shape[1])
    for where, part in parts:
        for field in fields(whole):
            getattr(whole, field.name)[where] = getattr(part, field.name)
    return whole
