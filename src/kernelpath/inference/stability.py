"""Stability selection along the path: who is chosen from halves of the rows again and again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from kernelpath.errors import DataError, naming
from kernelpath.estimators._base import PathSelector, PlainSelector, require_target
from kernelpath.estimators._path_cv_checks import (
    check_jobs_and_memory,
    with_missing,
)
from kernelpath.estimators._path_cv_constraints import settings_in_force
from kernelpath.estimators._path_cv_target import with_task
from kernelpath.estimators.lp_kta import LpKTASelector
from kernelpath.evaluation.checkpoint import FoldStore, Tracer, work_key
from kernelpath.evaluation.splits import check_group_length
from kernelpath.evaluation.study import Study
from kernelpath.inference.bounds import ASSUMPTIONS, expected_false
from kernelpath.inference.halves import Halving
from kernelpath.inference.pairs import PairCounts, PairFile, count_pairs
from kernelpath.path.points import (
    Frozen,
    checked_names,
    frozen_vector,
    heaviest,
    nearest_sizes,
    pick_names,
)
from kernelpath.predictors.svm import Task
from kernelpath.tables import IDENTIFIERS
from kernelpath.tables.constant import constant_columns
from kernelpath.tables.constraints import SETTINGS
from kernelpath.tables.missing import check_missing, refuse_unusable, rows_to_keep
from kernelpath.tables.reading import names_of_fit, one_column, read_training
from kernelpath.tables.table import Table, unmasked
from kernelpath.tables.targets import (
    as_vector,
    check_lengths,
    encode_target,
    infer_task,
    say_how_it_is_read,
)
from kernelpath.tracers.any_selector import ChoicesBySize, check_selector, nearest_to_grid
from kernelpath.utils import checks
from kernelpath.utils.checks import Idle, refuse_idle
from kernelpath.utils.progress import begin, no_progress, progress_bar, remark
from kernelpath.utils.provenance import fingerprint
from kernelpath.utils.warn import warn
from kernelpath.utils.words import counted

if TYPE_CHECKING:
    import os

    import pandas as pd

AUTO = "auto"
EXACT = 1e-9  # of shares that are multiples of 1 / (2 n_pairs)
IDLE = (Idle("max_false", lambda own: own.n_features != AUTO, "without n_features='auto'"),)
OUTCOMES = (
    "n_features_", "n_candidates_", "scores_", "stable_", "support_", "task_", "fingerprint_",
)  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class StableFeatures(Frozen):
    """The features that enough halves choose at one size; frozen, compares by content.

    Made by :meth:`StabilityPath.stable_features`.

    Parameters
    ----------
    n_features : int
        Features that are chosen from every half, at most.
    threshold : float
        Share of the halves from which on a feature is stable.
    support : array of shape (n_columns,), bool
        Mask of the stable features.
    features : array of int
        Their columns, most often chosen first.
    names : tuple of str
    probabilities : array of float
        Share of the halves that choose each.
    expected_false : float
        Bound on the expected number of features that are stable by accident.
    assumption : str
        What the bound assumes.

    Examples
    --------
    >>> StableFeatures(n_features=3, threshold=0.75, support=[False, True, True], features=[2, 1],
    ...     names=("c", "b"), probabilities=[1.0, 0.8], expected_false=0.31, assumption="unimodal")
    StableFeatures(2 of 3 columns at size 3, threshold 0.75, at most 0.31 false expected: c, b)
    """

    n_features: int
    threshold: float
    support: NDArray[np.bool_]
    features: NDArray[np.int64]
    names: tuple[str, ...]
    probabilities: NDArray[np.float64]
    expected_false: float
    assumption: str

    def __post_init__(self) -> None:
        support = frozen_vector(self.support, bool, "support")
        features = frozen_vector(self.features, np.int64, "features", int(support.sum()))
        shares = frozen_vector(self.probabilities, float, "probabilities", len(features))
        self._set(support=support, features=features, probabilities=shares, names=tuple(self.names))

    def __len__(self) -> int:
        return len(self.features)

    def to_frame(self) -> pd.DataFrame:
        """One row per stable feature: feature (its column), name and probability."""
        import pandas as pd

        names = pd.Series(list(self.names), dtype=object)
        columns = {"feature": self.features, "name": names, "probability": self.probabilities}
        return pd.DataFrame(columns, copy=True)

    def __repr__(self) -> str:
        few = ", ".join(self.names[:5]) + (", ..." if len(self.names) > 5 else "")
        return (
            f"StableFeatures({len(self)} of {counted(len(self.support), 'column')} at size "
            f"{self.n_features:,}, threshold {self.threshold:g}, at most {self.expected_false:.2g} "
            f"false expected{': ' if few else ''}{few})"
        )


class StabilityPath(PlainSelector, BaseEstimator):
    """Stability selection along a feature path, with a bound on false selections.

    The rows are divided at random into two disjoint halves, again and again, and the path is
    traced from each half.  The selection probability of a feature at a size is the share of the
    halves from which it is among the features of that size.  Stable are the features whose
    probability reaches a threshold.

    Parameters
    ----------
    selector : estimator or callable, optional
        Whatever :class:`PathCV` takes; default :class:`LpKTASelector`.
    n_pairs : int
        Pairs of halves; twice as many paths are traced.
    threshold : float
        Probability from which on a feature is stable: above 1/2, at most 1.
    n_features : int or "auto"
        Number of features to take from every half.  ``"auto"``: the largest of the sizes at which
        ``max_false`` is kept.
    max_false : float
        Largest bound on the expected number of false selections, for ``n_features="auto"``.
    assumption : {"unimodal", "none", "r-concave"}
        What the bound assumes: see :meth:`bound`.
    sizes : int, sequence of int or None
        Sizes at which probabilities are known.  Default: those of :class:`PathCV`, up to half of
        the columns.
    missing, identifiers, task :
        As for :class:`PathCV`.
    n_jobs : int, optional
        Pairs at the same time (joblib); results do not depend on it.
    random_state : int, RandomState or None
        How the rows are divided; None means 0.
    memory : str or path, optional
        Folder for finished work.  A run that was killed goes on from there: the pairs of the last
        few seconds are traced again.

    Attributes
    ----------
    n_features_ : ndarray of shape (n_sizes,)
        The sizes.
    probabilities_ : ndarray of shape (n_sizes, n_columns)
        Selection probability of every feature at every size; made when it is asked for.
    simultaneous_ : ndarray of shape (n_sizes, n_columns)
        Share of the pairs of which both halves choose the feature; likewise.
    scores_ : ndarray of shape (n_columns,)
        Mean selection probability over the sizes.
    stable_ : StableFeatures
        The stable features at ``threshold`` and ``n_features``.
    support_ : ndarray of shape (n_columns,), bool
        Their mask, by which ``transform`` selects.
    n_candidates_ : int
        Columns that can be chosen: all that are not constant.
    task_, n_features_in_, feature_names_in_

    See Also
    --------
    PathCV : how many features are needed to predict well; ``rule="stable"`` asks for agreement.
    knockoff_filter : false discoveries under control with knockoffs.

    Notes
    -----
    Halves have the same shares of the classes, and whole groups stay together; a row or group that
    is left over stays out.  Half of the rows say less than all: a weak feature may be missed.

    The bound is on features that the selector takes rarely from a half; see :meth:`bound` for when
    those are the irrelevant ones.  Of two near copies each may be taken half of the time, so that
    neither is stable.

    As a selector inside :class:`PathCV` it ranks by ``scores_``.

    References
    ----------
    .. [meinshausen2010] Meinshausen, Buehlmann. Stability selection. JRSS B 72, 2010.
    .. [shah2013] Shah, Samworth. Variable selection with error control: another look at stability
       selection. JRSS B 75, 2013.

    Examples
    --------
    >>> import kernelpath as kp
    >>> data = kp.datasets.make_ring(n_samples=200, n_features=30, random_state=0)
    >>> stability = kp.StabilityPath(n_pairs=20).fit(data.X, data.y)
    >>> stability.stable_
    StableFeatures(2 of 30 columns at size 5, threshold 0.75, at most 0.88 false expected: x2, x28)
    >>> stability.transform(data.X).shape
    (200, 2)
    """

    def __init__(
        self,
        selector: Any = None,
        n_pairs: int = 50,
        *,
        threshold: float = 0.75,
        n_features: int | str = AUTO,
        max_false: float = 1.0,
        assumption: str = "unimodal",
        sizes: int | Sequence[int] | None = None,
        missing: str = "kernel",
        identifiers: str = "drop",
        task: str = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        memory: str | os.PathLike | None = None,
    ) -> None:
        self.selector = selector
        self.n_pairs = n_pairs
        self.threshold = threshold
        self.n_features = n_features
        self.max_false = max_false
        self.assumption = assumption
        self.sizes = sizes
        self.missing = missing
        self.identifiers = identifiers
        self.task = task
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.memory = memory

    # -- fit ----------------------------------------------------------------------------------

    def fit(self, X: Any, y: ArrayLike, *, groups: ArrayLike | None = None) -> StabilityPath:
        """Trace the path from both halves of every pair, and count who is chosen.

        Parameters
        ----------
        X : array, sparse matrix or dataframe of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        groups : array of shape (n_samples,), optional
            Rows of one group stay in one half.

        Returns
        -------
        StabilityPath

        Notes
        -----
        After an interrupt ``fit`` with the same data goes on with the pairs that are left (from the
        folder ``memory`` even in a new process), and finds what a fit without interrupt finds.
        """
        self._check_settings()
        with progress_bar():
            self._fit(*self._read(X, y, groups))
        return self

    def _check_settings(self) -> None:
        """Refuse settings that are wrong whatever the table is."""
        check_selector(LpKTASelector() if self.selector is None else self.selector)
        checks.whole("n_pairs", self.n_pairs, at_least=1)
        _check_threshold(self.threshold)
        if self.n_features != AUTO:
            must = "be 'auto' or a whole number from 1 on"
            checks.whole("n_features", self.n_features, at_least=1, must=must)
        checks.real("max_false", self.max_false, above=0)
        checks.one_of("assumption", self.assumption, ASSUMPTIONS)
        check_missing(self.missing)
        checks.one_of("identifiers", self.identifiers, IDENTIFIERS)
        check_jobs_and_memory(self)
        refuse_idle(self, IDLE)

    def _read(self, X: Any, y: Any, groups: Any) -> tuple[Study, Halving]:
        """Table and target as the selector gets them, and how the rows are divided."""
        selector = LpKTASelector() if self.selector is None else self.selector
        require_target(self, y)
        kept = "keep" in (self.identifiers, getattr(selector, "identifiers", None))
        constrained_by = settings_in_force(SimpleNamespace(**dict.fromkeys(SETTINGS)), selector)
        rows = read_training(self, X, "keep" if kept else "drop", constrained_by).within_reach()
        selector = with_missing(selector, self.missing)
        if isinstance(selector, PathSelector):
            refuse_unusable(rows, self.missing)
            selector._check_kernel(rows)
        rows, y, groups = _with_target(rows, y, groups, self.missing)
        kind = infer_task(y, self.task, judged=True)
        say_how_it_is_read(y, self.task)
        classes = encode_target(y, task=kind).classes
        y = y.astype(np.float64) if kind == "regression" else y
        study = Study(
            rows=rows, y=y, task=Task(kind, classes), selector=with_task(selector, kind),
            predictors=(), scorer=None, sizes=np.ones(1, dtype=np.int64), groups=groups,
            seed=checks.seed_of(self.random_state),
        )  # fmt: skip
        return study, Halving.of(y, kind == "classification", groups)

    def _fit(self, study: Study, halving: Halving) -> None:
        store, known = FoldStore(self.memory), fingerprint(study.rows.values, study.y)
        for name in (name for name in OUTCOMES if name in vars(self)):
            delattr(self, name)
        tracer = Tracer(store, study, known, report=True)
        begin("all rows")
        traced = tracer(np.arange(study.rows.n_rows))
        constant = constant_columns(study.rows)
        constant[study.rows.identifiers] = True
        self.n_candidates_, self._n_pairs = max(1, int((~constant).sum())), int(self.n_pairs)
        sizes = self._sizes(traced)
        study = replace(study, sizes=sizes)
        key = work_key(tracer.work, sizes, self._n_pairs, study.seed, halving.unit)
        file = PairFile(store, key, (self._n_pairs, len(sizes), study.rows.shape[1]))
        counts = self._known(key) or file.read()
        self._unfinished = (key, counts)
        if counts.done.any():
            remark(f"Going on from an earlier run: {_of_pairs(counts)} are counted.")
        update = begin("stability selection", f"{counted(2 * len(counts.done), 'path')} to trace")
        try:
            with no_progress():  # of single paths
                count_pairs(study, halving, counts, file, self.n_jobs, update)
        except KeyboardInterrupt as interrupt:
            where = "" if store.folder is None else f" from {store.folder}"
            interrupt.add_note(
                f"{_of_pairs(counts)} are counted; calling fit again with the same data goes on"
                f"{where}."
            )
            raise
        tracer.forget(np.arange(study.rows.n_rows))
        del self._unfinished
        self._counts = counts
        self.task_, self.fingerprint_, self.n_features_ = study.task.kind, known, sizes
        self._names = study.rows.names if names_of_fit(self) is None else names_of_fit(self)
        self.scores_ = self._shares(counts.chosen, 2).sum(axis=0) / len(sizes)
        self.stable_ = self.stable_features()
        self.support_ = self.stable_.support.copy()

    def _sizes(self, traced: ChoicesBySize) -> NDArray[np.int64]:
        """Sizes to count at; that which is wanted is one of them, unless others were named."""
        sizes = _resolve_sizes(self.sizes, traced.sizes, self.n_candidates_)
        if self.sizes is not None:
            return sizes
        if isinstance(self.n_features, str):
            every = traced.sizes[traced.sizes <= sizes[-1]].tolist()
            return np.union1d(sizes, every[max(self._n_allowed(every, self.threshold) - 1, 0)])
        if self.n_features > traced.sizes[-1]:
            most = counted(int(traced.sizes[-1]), "feature")
            text = f"n_features={self.n_features}, but at most {most} can be chosen."
            raise naming(DataError(text), "n_features")
        return np.union1d(sizes, int(self.n_features))

    def _known(self, key: str) -> PairCounts | None:
        """Counts of an interrupted fit of this object to the same data."""
        unfinished, counts = getattr(self, "_unfinished", (None, None))
        return counts if unfinished == key else None

    def _shares(self, counts: Any, per_pair: int) -> Any:
        """Counts as shares, still sparse."""
        return counts / (per_pair * self._n_pairs)

    # -- what was found -----------------------------------------------------------------------

    @property
    def probabilities_(self) -> NDArray[np.float64]:
        """Share of the halves that choose each feature, by size."""
        check_is_fitted(self, "stable_")
        return self._shares(self._counts.chosen, 2).toarray()

    @property
    def simultaneous_(self) -> NDArray[np.float64]:
        """Share of the pairs of which both halves choose each feature, by size."""
        check_is_fitted(self, "stable_")
        return self._shares(self._counts.both, 1).toarray()

    def probabilities_of(self, features: ArrayLike) -> NDArray[np.float64]:
        """Selection probabilities of some columns, by size: few of them without all.

        Parameters
        ----------
        features : sequence of int
            Columns of the table.

        Returns
        -------
        ndarray of shape (n_sizes, n_given)
        """
        check_is_fitted(self, "stable_")
        columns = np.asarray(features, dtype=np.intp)
        return self._shares(self._counts.chosen.tocsc()[:, columns], 2).toarray()

    def bound(
        self,
        threshold: float | None = None,
        n_features: int | None = None,
        assumption: str | None = None,
    ) -> float:
        r"""Bound on the expected number of features that are stable by accident.

        Parameters
        ----------
        threshold, n_features, assumption :
            Default: those of the constructor, and the chosen size.

        Returns
        -------
        float

        Notes
        -----
        With :math:`q` features from every half of :math:`d` that can be chosen, a feature is chosen
        with probability :math:`q/d` on average.  Bounded is the expected number of stable features
        whose probability, over tables of half the rows, is at most that [shah2013]_.  These hold
        all irrelevant features if the selector treats irrelevant features alike and is not worse
        than guessing, which is what [meinshausen2010]_ assume.

        ``"none"`` assumes nothing more: :math:`q^2 / ((2 \tau - 1) d)`.  ``"unimodal"`` assumes
        that the share of the pairs of which both halves choose such a feature has a distribution
        with one peak, and ``"r-concave"`` that it falls like a power, which the simulations there
        support.  They give smaller bounds, and the first one where their conditions fail.

        Examples
        --------
        >>> import kernelpath as kp
        >>> data = kp.datasets.make_ring(n_samples=100, n_features=30, random_state=0)
        >>> stability = kp.StabilityPath(n_pairs=10).fit(data.X, data.y)
        >>> [round(stability.bound(0.9, 3, kind), 2) for kind in ("none", "unimodal", "r-concave")]
        [0.38, 0.16, 0.05]
        """
        check_is_fitted(self, "n_features_")
        size = self._size(n_features)
        return self._bounds([size], *self._asked(threshold, assumption))[0]

    def _asked(self, threshold: Any, assumption: Any) -> tuple[float, str]:
        threshold = self.threshold if threshold is None else threshold
        assumption = self.assumption if assumption is None else assumption
        _check_threshold(threshold)
        checks.one_of("assumption", assumption, ASSUMPTIONS)
        return float(threshold), assumption

    def _bounds(self, sizes: Sequence[int], threshold: float, assumption: str) -> list[float]:
        d, B = self.n_candidates_, self._n_pairs
        return [expected_false(min(k, d), d, threshold, B, assumption) for k in sizes]

    def stable_features(
        self, threshold: float | None = None, n_features: int | None = None
    ) -> StableFeatures:
        """Features whose selection probability reaches a threshold.

        Parameters
        ----------
        threshold : float, optional
            Above 1/2, at most 1; default that of the constructor.
        n_features : int or "auto", optional
            One of ``n_features_``; default that of the constructor.  ``"auto"``: the largest that
            keeps ``max_false`` at this threshold.

        Returns
        -------
        StableFeatures
        """
        check_is_fitted(self, "n_features_")
        tau, assumption = self._asked(threshold, None)
        size = self._size(n_features, tau)
        columns, shares, _ = self._ranked(size)
        stable = shares >= tau - EXACT
        columns, shares = columns[stable], shares[stable]
        support = np.zeros(self._counts.chosen.shape[1], dtype=bool)
        support[columns] = True
        return StableFeatures(
            n_features=size,
            threshold=tau,
            support=support,
            features=columns,
            names=tuple(pick_names(self._names_or_none, columns.tolist())),
            probabilities=shares,
            expected_false=self._bounds([size], tau, assumption)[0],
            assumption=assumption,
        )

    @property
    def _names_or_none(self) -> Any:
        return checked_names(
            None if self._names is None else [str(name) for name in self._names],
            self._counts.chosen.shape[1],
        )

    def _size(self, n_features: Any = None, threshold: float | None = None) -> int:
        """One of the sizes, or that which the bound allows."""
        if n_features is None:
            n_features = self.n_features
            if threshold is None and hasattr(self, "stable_"):
                return self.stable_.n_features
        if isinstance(n_features, str) and n_features == AUTO:
            return self._largest(self.threshold if threshold is None else threshold)
        checks.whole("n_features", n_features, error=TypeError)
        if int(n_features) not in self.n_features_:
            few, near = counted(n_features, "feature"), nearest_sizes(self.n_features_, n_features)
            raise naming(DataError(f"there is no size of {few}; {near}"), "n_features")
        return int(n_features)

    def _largest(self, threshold: float) -> int:
        """The largest size whose bound is small enough; the smallest one if there is none."""
        sizes = self.n_features_.tolist()
        allowed = self._n_allowed(sizes, threshold)
        if allowed == 0:
            (bound,) = self._bounds(sizes[:1], threshold, self.assumption)
            few = counted(sizes[0], "feature")
            text = (
                f"max_false={self.max_false:g} cannot be kept: with {few} from every half the "
                f"bound is {bound:.2g} already; a higher threshold or more pairs lower it."
            )
            warn(naming(UserWarning(text), "max_false"))
        return sizes[max(allowed - 1, 0)]

    def _n_allowed(self, sizes: Sequence[int], threshold: float) -> int:
        """How many of some increasing sizes keep ``max_false``."""
        low, high = 0, len(sizes)
        while low < high:  # the bound grows with the size: no need to compute it for all of them
            middle = (low + high) // 2
            (bound,) = self._bounds([sizes[middle]], threshold, self.assumption)
            low, high = (middle + 1, high) if bound <= self.max_false else (low, middle)
        return low

    def _ranked(self, size: int) -> tuple[NDArray, NDArray, NDArray]:
        """Columns that any half chooses at a size, with both shares; most often chosen first."""
        place = int(np.searchsorted(self.n_features_, size))
        row = self._shares(self._counts.chosen[[place], :], 2)
        both = self._shares(self._counts.both[[place], :], 1).toarray().ravel()
        row.sort_indices()
        order = heaviest(np.arange(row.nnz), row.data)
        columns = row.indices[order].astype(np.int64)
        return columns, row.data[order], both[columns]

    def of(self, n_features: int | None = None) -> pd.DataFrame:
        """Features that any half chooses at a size, most often chosen first.

        Parameters
        ----------
        n_features : int, optional
            One of ``n_features_``; default the chosen one.

        Returns
        -------
        DataFrame
            feature (its column in the table), name, probability, simultaneous (share of the pairs
            of which both halves choose it), stable.
        """
        import pandas as pd

        check_is_fitted(self, "stable_")
        columns, shares, both = self._ranked(self._size(n_features))
        names = pd.Series(pick_names(self._names_or_none, columns.tolist()), dtype=object)
        found = {"feature": columns, "name": names, "probability": shares, "simultaneous": both}
        return pd.DataFrame(found | {"stable": shares >= self.threshold - EXACT}, copy=True)

    def to_frame(self, threshold: float | None = None) -> pd.DataFrame:
        """One row per size.

        Columns: n_features, n_chosen (features that any half chooses), n_stable and expected_false,
        the bound on those that are so by accident.
        """
        import pandas as pd

        check_is_fitted(self, "stable_")
        tau, assumption = self._asked(threshold, None)
        chosen = self._shares(self._counts.chosen, 2)
        stable = np.add.reduceat(
            np.append(chosen.data >= tau - EXACT, False), chosen.indptr[:-1], dtype=np.int64
        )
        return pd.DataFrame(
            {
                "n_features": self.n_features_,
                "n_chosen": np.diff(chosen.indptr).astype(np.int64),
                "n_stable": np.where(np.diff(chosen.indptr), stable, 0),
                "expected_false": self._bounds(self.n_features_.tolist(), tau, assumption),
            },
            copy=True,
        )

    def plot(self, ax: Any = None, *, threshold: float | None = None) -> Any:
        """Draw the selection probability of the features against the number of features.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        threshold : float, optional
            Default: that of the constructor.

        Returns
        -------
        matplotlib Axes
        """
        from kernelpath.report.displays.selection import SelectionDisplay

        return SelectionDisplay.from_model(self, threshold=threshold).plot(ax)

    # -- scikit-learn -------------------------------------------------------------------------

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self, "support_")
        return self.support_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        return tags

    def __getstate__(self) -> Any:
        """Pickle without what an interrupted fit has counted."""
        state = dict(super().__getstate__())
        state.pop("_unfinished", None)
        return state


def _check_threshold(threshold: Any) -> None:
    must = "be a share of the halves, above 0.5 and at most 1"
    checks.real("threshold", threshold, above=0.5, at_most=1, must=must)


def _of_pairs(counts: PairCounts) -> str:
    return f"{int(counts.done.sum()):,} of {counted(len(counts.done), 'pair')}"


def _with_target(
    rows: Table, y: Any, groups: Any, missing: str
) -> tuple[Table, NDArray, NDArray | None]:
    """Rows that have a target and, where others are dropped, no missing values."""
    y, groups = one_column(y), unmasked(groups, "groups")
    check_group_length(groups, rows.n_rows)
    kept = rows_to_keep(rows, y, missing) if len(y) == rows.n_rows else None
    if kept is not None:
        rows, y = rows.take(kept.rows), np.asarray(y)[kept.rows]
        groups = None if groups is None else _safe_indexing(groups, kept.rows)
    y = as_vector(y)
    check_lengths(rows.n_rows, y)
    return rows, y, groups


def _resolve_sizes(wanted: Any, available: NDArray[np.int64], n_candidates: int) -> NDArray:
    """Numbers of features to count at, increasing."""
    if len(available) == 0:
        raise DataError("The selector chose no feature at any size; there is nothing to count.")
    if wanted is None:
        few = available[available <= max(n_candidates // 2, 1)]
        return nearest_to_grid(few if len(few) else available[:1])
    given = np.atleast_1d(np.asarray(unmasked(wanted, "sizes"), dtype=object)).tolist()
    if not given:
        raise ValueError("sizes is empty; give at least one number of features, or None")
    for k in given:
        if not checks.is_whole(k):
            raise ValueError(f"sizes must be whole numbers of features, got {k!r} in {wanted!r}")
        if not 1 <= int(k) <= int(available[-1]):
            text = f"sizes must lie between 1 and {available[-1]}, the most that can be chosen"
            raise naming(DataError(f"{text}, got {k}."), "sizes")
    return np.unique(np.array(given, dtype=np.int64))
