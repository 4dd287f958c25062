"""What cross-validation finds out about a path: one score per fold and number of features.

:class:`PathScores` only holds and reads the numbers; it is made by whoever traces the path again
in every fold. Rules that choose a size live in :mod:`kernelpath.evaluation.operating_point`, the
agreement of the folds in :mod:`kernelpath.evaluation.stability`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from kernelpath.errors import DataError
from kernelpath.path.points import Frozen, Supports, frozen_csr, frozen_vector, nearest_sizes
from kernelpath.utils import checks
from kernelpath.utils.units import in_units, size_exponent
from kernelpath.utils.words import counted

if TYPE_CHECKING:
    import pandas as pd

TIE = 1e-12  # relative; sums of the same scores in another order differ by less


class OverFolds(Frozen):
    """One score in every fold, ``per_fold``, with its mean and standard error."""

    per_fold: Any

    @property
    def mean(self) -> float:
        """Mean over the folds."""
        return float(self.per_fold.mean())

    @property
    def se(self) -> float:
        """Standard error of the mean; NaN with one fold."""
        n = len(self.per_fold)
        return float(self.per_fold.std(ddof=1) / np.sqrt(n)) if n > 1 else float("nan")


# No slots: in a frozen dataclass with slots, setting a property fails with the wrong error.
@dataclass(frozen=True, eq=False, repr=False)
class PathScores(Frozen):
    """Score of every number of features in every fold; frozen, compares by content.

    A larger score is always better, as for all scikit-learn scorers: errors come with their
    sign changed, under names such as ``"neg_mean_squared_error"``.

    Parameters
    ----------
    n_features : array of shape (n_sizes,)
        Numbers of features, increasing, each at least 1.
    per_fold : array of shape (n_folds, n_sizes)
        Score on the held-out rows. The row of an unfinished fold is NaN as a whole.
    supports : sequence over folds of Supports, or of matrices of shape (n_sizes, n_columns)
        Features chosen in the fold at every size; empty when unknown.
    parameters : array of shape (n_folds, n_sizes), optional
        Path parameter at the point; NaN, the default, where there is none.
    predictors : sequence over folds of sequences over sizes of str, optional
        What predicted, for example ``"joint_rbf"``; default ``""``.
    n_used : array of shape (n_folds, n_sizes), optional
        Number of features that the fold really used: fewer than ``n_features`` when the fold has
        fewer usable columns. Default: the sizes of the supports, or ``n_features`` without them.
    chance : array of shape (n_folds,), optional
        Score of the constant prediction, made without any feature; NaN, the default, if unknown.
    scoring : str
        Name of the measure.
    costs_per_fold : array of shape (n_folds, n_sizes), optional
        What the features of the fold cost, where features have costs.
    full_costs : array of shape (n_sizes,), optional
        The same for the model of all rows: what a user of that size has to pay.

    See Also
    --------
    kernelpath.evaluation.operating_point.choose : choose a number of features.
    kernelpath.evaluation.stability.stability_of : how far the folds agree on the features.

    Examples
    --------
    >>> scores = PathScores([1, 2, 5], [[0.7, 0.9, 0.9], [0.6, 0.8, 0.9]], scoring="accuracy")
    >>> scores
    PathScores(accuracy, 3 sizes from 1 to 5, 2 folds, best 0.900 +- 0.000 at 5 features)
    >>> print(scores.mean.round(3), scores.se.round(3))
    [0.65 0.85 0.9 ] [0.05 0.05 0.  ]
    >>> mean, se = scores.at(n_features=2)
    >>> print(f"{mean:.2f} {se:.2f}")
    0.85 0.05
    """

    n_features: np.ndarray
    per_fold: np.ndarray
    supports: Any = ()
    parameters: Any = None
    predictors: Any = None
    n_used: Any = None
    chance: Any = None
    scoring: str = "score"
    costs_per_fold: Any = None
    full_costs: Any = None

    def __post_init__(self) -> None:
        sizes = frozen_vector(
            checked_integers(self.n_features, "n_features"), np.int64, "n_features"
        )
        if len(sizes) == 0:
            raise ValueError("n_features must hold at least one size")
        if sizes[0] < 1 or (np.diff(sizes) <= 0).any():
            raise ValueError("n_features must be increasing and at least 1")
        per_fold = _frozen_matrix(self.per_fold, float, "per_fold", (None, len(sizes)))
        shape = per_fold.shape
        if shape[0] == 0:
            raise ValueError("per_fold must have at least one row, one for each fold")
        _check_rows(per_fold)
        self._set(n_features=sizes, per_fold=per_fold, scoring=str(self.scoring))
        unknown = np.full(shape, np.nan)
        parameters = unknown if self.parameters is None else self.parameters
        chance = unknown[:, 0] if self.chance is None else self.chance
        predictors = [[""] * shape[1]] * shape[0] if self.predictors is None else self.predictors
        self._set(
            supports=_checked_supports(self.supports, shape),
            parameters=_frozen_matrix(parameters, float, "parameters", shape),
            predictors=_checked_predictors(predictors, shape),
            chance=frozen_vector(chance, float, "chance", shape[0]),
        )
        self._set(n_used=self._checked_used())
        for name, form in (("costs_per_fold", shape), ("full_costs", shape[1:])):
            if getattr(self, name) is not None:
                self._set(**{name: _checked_costs(getattr(self, name), name, form)})

    def _checked_used(self) -> np.ndarray:
        """Numbers of used features, in agreement with the supports of the finished folds."""
        sizes, shape = self.n_features, self.per_fold.shape
        if self.supports:
            held = np.array([np.diff(s.csr.indptr) for s in self.supports], dtype=np.int64)
        else:
            held = np.broadcast_to(sizes, shape)
        given = held if self.n_used is None else checked_integers(self.n_used, "n_used")
        used = _frozen_matrix(given, np.int64, "n_used", shape)
        if (used < 0).any() or (used > sizes).any():
            raise ValueError("n_used must be from 0 to n_features")
        if self.supports and (used != held)[self.finished].any():
            raise ValueError("n_used must be the sizes of the supports")
        return used

    @property
    def n_folds(self) -> int:
        """Number of folds, unfinished ones too."""
        return self.per_fold.shape[0]

    @property
    def n_columns(self) -> int | None:
        """Number of columns of the table, or None when the supports are unknown."""
        return self.supports[0].shape[1] if self.supports else None

    @property
    def finished(self) -> np.ndarray:
        """Mask over folds: those with scores."""
        return ~np.isnan(self.per_fold[:, 0])

    @property
    def mean(self) -> np.ndarray:
        """Mean score over the finished folds at every size; NaN if none is finished."""
        done = self.per_fold[self.finished]
        return done.mean(axis=0) if len(done) else np.full(len(self.n_features), np.nan)

    @property
    def se(self) -> np.ndarray:
        """Standard error of the mean over the finished folds; NaN with fewer than two.

        It is the standard deviation, with ``ddof=1``, over the root of the number of folds. Folds
        share training rows, so it is a guide rather than an unbiased estimate.
        """
        done = self.per_fold[self.finished]
        if len(done) < 2:
            return np.full(len(self.n_features), np.nan)
        unit = size_exponent(np.abs(done).max())  # R squared may be any negative number
        spread = in_units(in_units(done, unit).std(axis=0, ddof=1), -unit)
        return spread / np.sqrt(len(done))

    @property
    def costs(self) -> np.ndarray | None:
        """Mean over the finished folds of what the features of a size cost; None without costs."""
        if self.costs_per_fold is None:
            return None
        done = self.costs_per_fold[self.finished]
        return done.mean(axis=0) if len(done) else np.full(len(self.n_features), np.nan)

    @property
    def chance_mean(self) -> float:
        """Mean score without any feature, over the finished folds that know it; else NaN."""
        known = self.chance[self.finished & ~np.isnan(self.chance)]
        return float(known.mean()) if len(known) else float("nan")

    def position(self, n_features: int) -> int:
        """Index of a number of features in ``n_features``.

        Raises
        ------
        DataError
            If it was not scored; the message names the nearest sizes.
        """
        checks.whole("n_features", n_features, must="be an integer", error=TypeError)
        k = int(n_features)
        found = np.flatnonzero(self.n_features == k)
        if len(found) == 0:
            raise DataError(f"{k} features were not scored; {nearest_sizes(self.n_features, k)}")
        return int(found[0])

    def at(self, n_features: int) -> tuple[float, float]:
        """Mean score and its standard error with exactly ``n_features`` features.

        Raises
        ------
        DataError
            If this number was not scored; the message names the nearest sizes.
        """
        i = self.position(n_features)
        return float(self.mean[i]), float(self.se[i])

    def reaching(self, target: float) -> np.ndarray:
        """Indices of the sizes with a mean of at least ``target``, up to rounding of the means."""
        if not self.finished.any():
            return np.empty(0, dtype=np.int64)
        # Per size: one disastrous score must not make the comparison coarse for all others.
        magnitude = np.abs(self.per_fold[self.finished]).max(axis=0)
        return np.flatnonzero(self.mean + TIE * np.maximum(magnitude, abs(target)) >= target)

    def best(self) -> int:
        """Index of the largest mean; among ties, of the fewest features.

        Raises
        ------
        DataError
            If no fold is finished.
        """
        if not self.finished.any():
            raise DataError("no fold is finished, so there are no scores to choose from")
        return int(self.reaching(float(self.mean.max()))[0])

    def to_frame(self) -> pd.DataFrame:
        """One row per size: n_features, mean, se, and the score in every fold.

        Where features have costs, ``cost`` is the mean over the folds, and ``full_cost`` that of
        the model of all rows.
        """
        import pandas as pd

        columns: dict[str, Any] = {"n_features": self.n_features}
        known = {"cost": self.costs, "full_cost": self.full_costs}
        columns |= {name: costs for name, costs in known.items() if costs is not None}
        columns |= {"mean": self.mean, "se": self.se}
        columns |= {f"fold_{i}": row for i, row in enumerate(self.per_fold)}
        return pd.DataFrame(columns, copy=True)

    def to_state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """JSON-able metadata and plain arrays that :meth:`from_state` reads."""
        plain = ("n_features", "per_fold", "parameters", "n_used", "chance")
        meta = {
            "scoring": self.scoring,
            "predictors": [list(row) for row in self.predictors],
            "n_columns": self.n_columns,
        }
        arrays = {name: getattr(self, name) for name in plain}
        costs = {name: getattr(self, name) for name in ("costs_per_fold", "full_costs")}
        arrays |= {name: array for name, array in costs.items() if array is not None}
        if self.supports:
            arrays["supports_indptr"] = np.array([s.csr.indptr for s in self.supports])
            arrays["supports_indices"] = np.concatenate([s.csr.indices for s in self.supports])
        return meta, arrays

    @classmethod
    def from_state(cls, meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> PathScores:
        """Build the scores again; a state that does not fit together is a ValueError."""
        plain = ("n_features", "per_fold", "parameters", "n_used", "chance")
        missing = [name for name in plain if name not in arrays]
        missing += [name for name in ("scoring", "predictors", "n_columns") if name not in meta]
        if missing:
            raise ValueError(f"the state of the scores lacks {', '.join(missing)}")
        known: dict[str, Any] = {name: arrays[name] for name in plain}
        known |= {name: arrays.get(name) for name in ("costs_per_fold", "full_costs")}
        known |= {"scoring": meta["scoring"], "predictors": meta["predictors"]}
        return cls(supports=_read_supports(meta["n_columns"], arrays), **known)

    def __repr__(self) -> str:
        sizes, done = self.n_features, int(self.finished.sum())
        folds = f"{done} of {self.n_folds} folds" if done < self.n_folds else counted(done, "fold")
        span = f"from {sizes[0]} to {sizes[-1]}" if len(sizes) > 1 else f"of {sizes[0]}"
        text = f"PathScores({self.scoring}, {counted(len(sizes), 'size')} {span}, {folds}"
        if done:
            k = int(sizes[self.best()])
            text += f", best {score_text(*self.at(k))} at {counted(k, 'feature')}"
        return text + ")"


def score_text(score: float, se: float = float("nan"), sign: str = "+-") -> str:
    """Score with its standard error, rounded for reading.

    Examples
    --------
    >>> score_text(0.8943, 0.0081), score_text(-12345.678, 210.0), score_text(0.5)
    ('0.894 +- 0.008', '-12346 +- 210', '0.500')
    """
    size = abs(score)
    digits = ".3f" if score == 0 or 0.01 <= size < 1000 else ".0f" if 1000 <= size < 1e7 else ".4g"
    if np.isnan(se):
        return f"{score:{digits}}"
    if se <= TIE * size:  # the same score in all folds, up to rounding
        se = 0.0
    # A spread that is not zero is not shown as zero.
    visible = se == 0 or se >= {".3f": 0.0005, ".0f": 10.0}.get(digits, np.inf)
    return f"{score:{digits}} {sign} {se:{digits if visible else '.2g'}}"


def checked_integers(values: Any, name: str) -> np.ndarray:
    """Array of whole numbers; a fraction is refused instead of cut off."""
    array = np.asarray(values)
    if array.dtype.kind not in "iu" and array.size:
        raise ValueError(f"{name} must be integers, got {array.dtype}")
    return array


def _frozen_matrix(values: Any, dtype: Any, name: str, shape: tuple[int | None, int]) -> np.ndarray:
    """Read-only matrix; a copy unless the caller handed over one that is already read-only."""
    kept = isinstance(values, np.ndarray) and not values.flags.writeable
    try:
        matrix = np.asarray(values, dtype) if kept else np.array(values, dtype)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be a matrix of numbers: {error}") from error
    if matrix.ndim != 2 or any(w not in (None, n) for w, n in zip(shape, matrix.shape)):
        wanted = f"({'n_folds' if shape[0] is None else shape[0]}, {shape[1]})"
        raise ValueError(f"{name} must have shape {wanted}, got {matrix.shape}")
    matrix.setflags(write=False)
    return matrix


def _checked_costs(costs: Any, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Costs as a read-only array: finite, and none below 0."""
    array = np.array(costs, dtype=float)
    if array.shape != shape or not np.all((array >= 0) & np.isfinite(array)):
        raise ValueError(f"{name} must be finite numbers of at least 0, of shape {shape}")
    array.setflags(write=False)
    return array


def _check_rows(per_fold: np.ndarray) -> None:
    """Refuse infinite scores and folds with holes: their means would not be comparable."""
    if np.isinf(per_fold).any():
        raise ValueError("per_fold must not hold infinite scores")
    unknown = np.isnan(per_fold)
    holes = np.flatnonzero(unknown.any(axis=1) & ~unknown.all(axis=1))
    if len(holes):
        raise ValueError(
            f"fold {holes[0]} has scores for some sizes only; an unfinished fold is NaN throughout"
        )


def _checked_supports(supports: Any, shape: tuple[int, ...]) -> tuple[Supports, ...]:
    if len(supports) not in (0, shape[0]):
        raise ValueError(f"supports must hold one entry for each of {shape[0]} folds, or none")
    result: list[Supports] = []
    for fold, given in enumerate(supports):
        name = f"supports of fold {fold}"
        raw = given.csr if isinstance(given, Supports) else given
        csr = frozen_csr(raw, name, pattern=True)
        if csr.shape[0] != shape[1]:
            raise ValueError(f"{name} must have {shape[1]} rows, got {csr.shape[0]}")
        if result and csr.shape != result[0].shape:
            raise ValueError(f"{name} have shape {csr.shape}, the first {result[0].shape}")
        result.append(Supports(csr))
    return tuple(result)


def _checked_predictors(predictors: Sequence, shape: tuple[int, ...]) -> tuple:
    try:
        rows = tuple(tuple(row) for row in predictors)
    except TypeError:
        rows = ()
    if len(rows) != shape[0] or any(len(row) != shape[1] for row in rows):
        raise ValueError(f"predictors must be {shape[0]} folds of {shape[1]} names")
    if not all(isinstance(name, str) for row in rows for name in row):
        raise ValueError("predictors must be strings")
    return rows


def _read_supports(n_columns: Any, arrays: dict[str, np.ndarray]) -> list[sparse.csr_array]:
    """CSR pattern of every fold from their indices end to end; the constructor checks them."""
    if n_columns is None:
        return []
    if isinstance(n_columns, bool) or not isinstance(n_columns, int) or n_columns < 0:
        raise ValueError(f"n_columns must be a whole number, got {n_columns!r}")
    try:
        indptr = _frozen_matrix(
            arrays["supports_indptr"],
            np.int64,
            "supports_indptr",
            (None, len(arrays["n_features"]) + 1),
        )
        indices = arrays["supports_indices"]
    except KeyError as error:
        raise ValueError(f"the state of the scores lacks {error}") from error
    ends = np.cumsum(indptr[:, -1])
    if (indptr < 0).any() or ends[-1:].sum() != len(indices):
        raise ValueError("supports_indptr does not fit supports_indices")
    result = []
    for rows, end in zip(indptr, ends):
        own = indices[end - rows[-1] : end]
        shape = (len(rows) - 1, n_columns)
        result.append(sparse.csr_array((np.ones(len(own), bool), own, rows), shape=shape))
    return result
