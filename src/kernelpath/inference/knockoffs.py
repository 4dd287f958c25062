"""The knockoff filter: features that beat their copies, with the false discovery rate bounded."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from kernelpath.alignment import alignments
from kernelpath.errors import DataError, naming
from kernelpath.estimators.lp_kta import LpKTASelector
from kernelpath.path.points import Frozen, checked_names, frozen_vector, pick_names
from kernelpath.tables.table import Table, as_column_table
from kernelpath.tables.targets import as_vector
from kernelpath.tracers.any_selector import check_selector, trace
from kernelpath.utils import checks
from kernelpath.utils.progress import working
from kernelpath.utils.warn import warn
from kernelpath.utils.words import counted

if TYPE_CHECKING:
    import pandas as pd

ALIGNMENT, ENTRY = "alignment", "entry"
COPY = " (knockoff)"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class KnockoffSelection(Frozen):
    """What the knockoff filter selects; frozen, compares by content.

    Made by :func:`kernelpath.knockoff_filter`.

    Parameters
    ----------
    statistics : array of shape (n_columns,)
        How far each feature is ahead of its knockoff; negative where it is behind.
    threshold : float
        Statistic from which on a feature is selected; infinite where nothing is.
    fdr : float
        Largest expected share of false discoveries among those selected.
    offset : {0, 1}
    feature_names : sequence of str, optional
        Names of all columns; default "x0", "x1", ...

    Attributes
    ----------
    selected : ndarray of shape (n_columns,), bool
    features : ndarray of int
        Columns of the selected features, the largest statistic first.
    names : tuple of str

    Examples
    --------
    >>> found = KnockoffSelection(statistics=[0.1, 2.0, -0.2], threshold=2.0, fdr=0.5, offset=1)
    >>> found, found.selected.tolist()
    (KnockoffSelection(1 of 3 columns at FDR 0.5: x1), [False, True, False])
    """

    statistics: NDArray[np.float64]
    threshold: float
    fdr: float
    offset: int = 1
    feature_names: Any = None

    def __post_init__(self) -> None:
        statistics = frozen_vector(self.statistics, float, "statistics")
        self._set(statistics=statistics, threshold=float(self.threshold), fdr=float(self.fdr))
        self._set(feature_names=checked_names(self.feature_names, len(statistics)))

    @property
    def selected(self) -> NDArray[np.bool_]:
        """Mask of the selected features."""
        return self.statistics >= self.threshold

    @property
    def features(self) -> NDArray[np.int64]:
        """Columns of the selected features, the largest statistic first."""
        order = np.argsort(-self.statistics, kind="stable")
        return order[self.selected[order]].astype(np.int64)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the selected features, the largest statistic first."""
        return tuple(pick_names(self.feature_names, self.features.tolist()))

    def __len__(self) -> int:
        return int(self.selected.sum())

    def to_frame(self) -> pd.DataFrame:
        """One row per column, the largest statistic first: feature, name, statistic, selected."""
        import pandas as pd

        order = np.argsort(-self.statistics, kind="stable")
        names = pd.Series(pick_names(self.feature_names, order.tolist()), dtype=object)
        found = {"feature": order, "name": names, "statistic": self.statistics[order]}
        return pd.DataFrame(found | {"selected": self.selected[order]}, copy=True)

    def __repr__(self) -> str:
        names = self.names
        few = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
        columns = counted(len(self.statistics), "column")
        return (
            f"KnockoffSelection({len(names)} of {columns} at FDR {self.fdr:g}"
            f"{': ' if few else ''}{few})"
        )


def knockoff_filter(
    X: Any,
    X_knockoff: Any,
    y: ArrayLike,
    *,
    fdr: float = 0.1,
    statistic: str = ALIGNMENT,
    offset: int = 1,
    selector: Any = None,
    kernel: Any = "auto",
    task: str = "auto",
    n_jobs: int | None = None,
    random_state: Any = None,
) -> KnockoffSelection:
    r"""Select features that are ahead of knockoffs which you bring along.

    A knockoff of a feature is a copy that has nothing to do with the target, and is otherwise
    exchangeable with it, given the other features [candes2018]_.  Of an irrelevant feature and its
    knockoff each is ahead with the same probability, so the features far behind tell how many of
    those far ahead are false.

    Parameters
    ----------
    X : array, sparse matrix or dataframe of shape (n_samples, n_features)
    X_knockoff : array, sparse matrix or dataframe of shape (n_samples, n_features)
        Knockoffs, column by column; as an array also where ``X`` is a dataframe.
    y : array of shape (n_samples,)
    fdr : float
        Largest expected share of false discoveries among the selected features.
    statistic : {"alignment", "entry"}
        ``"alignment"``: the alignment of the feature minus that of its knockoff, each with the
        width of its own column.  ``"entry"``: both enter the path of the selector on all features
        and knockoffs; how early the first of the two comes, with a minus if it is the knockoff.
    offset : {1, 0}
        1 is knockoff+, which keeps the false discovery rate; 0 selects a little more, and keeps a
        modified one, with :math:`1 / q` added to the number of discoveries.
    selector : estimator or callable, optional
        For ``"entry"``: whatever :class:`PathCV` takes; default :class:`LpKTASelector`.
    kernel : str or FeatureKernel
        Of the alignments, and of the default selector.
    task : {"auto", "classification", "regression"}
        For the alignments and the default selector.
    n_jobs : int, optional
        Threads of the alignments; the result does not depend on it.
    random_state : int, RandomState or None
        For ``"entry"``: which of a pair stands first, so that ties are broken fairly; None means 0.

    Returns
    -------
    KnockoffSelection

    Notes
    -----
    The threshold is the smallest :math:`t > 0` among :math:`|W_j|` with

    .. math:: \frac{\text{offset} + \#\{j: W_j \le -t\}}{\max(1, \#\{j: W_j \ge t\})} \le q.

    With ``offset=1`` at least :math:`1/q` features are selected, or none [barber2015]_.

    That the rate is kept rests on the knockoffs alone: whether they are exchangeable with the
    features cannot be seen here.  This package does not make any.

    References
    ----------
    .. [barber2015] Barber, Candes. Controlling the false discovery rate via knockoffs. Annals of
       Statistics 43, 2015.
    .. [candes2018] Candes, Fan, Janson, Lv. Panning for gold: model-X knockoffs for high
       dimensional controlled variable selection. JRSS B 80, 2018.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelpath as kp
    >>> rng = np.random.default_rng(0)
    >>> X, X_knockoff = rng.normal(size=(2, 500, 50))   # independent columns: fresh draws will do
    >>> y = (np.abs(X[:, :10]) > 0.7).sum(axis=1) + 0.1 * rng.normal(size=500)
    >>> found = kp.knockoff_filter(X, X_knockoff, y, fdr=0.2)
    >>> found.selected[:10].all(), found.selected[10:].sum()
    (np.True_, np.int64(1))
    """
    checks.real("fdr", fdr, above=0, below=1, must="be a share between 0 and 1")
    checks.one_of("statistic", statistic, (ALIGNMENT, ENTRY))
    if not (checks.is_whole(offset) and offset in (0, 1)):
        raise ValueError(f"offset must be 1 (knockoff+) or 0, got {offset!r}")
    if statistic == ALIGNMENT and selector is not None:
        raise ValueError("selector has no effect with statistic='alignment'; take 'entry'")
    table, copies = _checked_pair(X, X_knockoff)
    _say_if_too_few(table.shape[1], fdr, int(offset))
    with working("knockoff filter"):
        if statistic == ALIGNMENT:
            options: dict[str, Any] = {"kernel": kernel, "task": task, "n_jobs": n_jobs}
            W = alignments(X, y, **options) - alignments(X_knockoff, y, **options)
        else:
            if selector is None:
                selector = LpKTASelector(kernel=kernel, task=task)
            elif not (isinstance(kernel, str) and kernel == "auto"):
                raise ValueError("kernel has no effect with a selector of your own; set it there")
            check_selector(selector)
            W = _entry_statistics(selector, table, copies, y, checks.seed_of(random_state))
    threshold = knockoff_threshold(W, fdr, int(offset))
    names = None if table.names is None else [str(name) for name in table.names]
    return KnockoffSelection(
        statistics=W, threshold=threshold, fdr=fdr, offset=int(offset), feature_names=names
    )


def knockoff_threshold(statistics: NDArray[np.float64], fdr: float, offset: int) -> float:
    """Smallest statistic at which the estimated share of false discoveries is small enough.

    Examples
    --------
    >>> W = np.array([3.0, 2.5, -0.5, 2.0, 0.1])
    >>> knockoff_threshold(W, 0.34, 1), knockoff_threshold(W, 0.25, 1)
    (2.0, inf)
    >>> knockoff_threshold(W, 0.25, 0)
    0.1
    """
    W = np.asarray(statistics, dtype=np.float64)
    levels = np.unique(np.abs(W[W != 0]))
    ahead = len(W) - np.searchsorted(np.sort(W), levels, side="left")
    behind = np.searchsorted(np.sort(W), -levels, side="right")
    enough = (offset + behind) <= fdr * np.maximum(ahead, 1) * (1 + 1e-12)  # 0.1 of ten is one
    enough &= ahead > 0
    return float(levels[enough][0]) if enough.any() else math.inf


def _checked_pair(X: Any, X_knockoff: Any) -> tuple[Table, Table]:
    """Both tables, whose columns must be alike."""
    table, copies = as_column_table(X), as_column_table(X_knockoff)
    if table.shape != copies.shape:
        raise DataError(
            f"X has shape {table.shape} and X_knockoff {copies.shape}; every column needs a "
            "knockoff, row by row."
        )
    if table.names is not None and copies.names is not None:
        other = np.flatnonzero(table.names != copies.names)
        if len(other):
            first = other[0]
            raise DataError(
                f"Column {int(first)} is {table.names[first]!r} in X and {copies.names[first]!r} "
                "in X_knockoff; give the same columns in the same order."
            )
    other = np.flatnonzero(table.categorical != copies.categorical)
    if len(other):
        is_text = table.categorical[other[0]]
        raise DataError(
            f"{table.sentence(other[:1], 'holds', 'hold')} {'text' if is_text else 'numbers'} in X "
            f"and {'numbers' if is_text else 'text'} in X_knockoff; a knockoff is of the same type."
        )
    return table, copies


def _say_if_too_few(n_columns: int, fdr: float, offset: int) -> None:
    """Say that nothing can be selected, whatever the data are."""
    if offset and n_columns * fdr < 1 - 1e-12:
        least = math.ceil(1 / fdr - 1e-9)
        text = (
            f"With {counted(n_columns, 'column')} nothing can be selected at fdr={fdr:g}: it takes "
            f"{least:,} discoveries. offset=0, or a larger fdr, takes fewer."
        )
        warn(naming(UserWarning(text), "fdr"))


def _entry_statistics(
    selector: Any, table: Table, copies: Table, y: Any, seed: int
) -> NDArray[np.float64]:
    """How early the first of a feature and its knockoff enters; negative for the knockoff."""
    d = table.shape[1]
    swapped = np.random.default_rng(seed).random(d) < 0.5  # who of the two stands first
    first, second = np.arange(d) + d * swapped, np.arange(d) + d * ~swapped
    joint = _side_by_side(table, copies, np.concatenate([first, second]))
    own = getattr(selector, "reads_tables", False)
    traced = trace(selector, joint.within_reach() if own else joint.values, as_vector(y))
    order = traced.order if traced.order is not None else traced.path.entry_order()  # type: ignore[union-attr]
    score = np.zeros(2 * d)  # 0 for what never enters
    score[order] = 2 * d - np.arange(len(order))
    one, other = score[:d], score[d:]
    return np.where(swapped, -1, 1) * np.sign(one - other) * np.maximum(one, other)


def _side_by_side(table: Table, copies: Table, order: NDArray[np.intp]) -> Table:
    """Columns of both tables in an order, features before knockoffs."""
    parts = [table.values, copies.values]
    if any(sp.issparse(part) for part in parts):
        values: Any = sp.hstack([sp.csc_array(part) for part in parts], format="csc")[:, order]
    else:
        values = np.hstack(parts)[:, order]
    names = None
    if table.names is not None:
        given = [str(name) for name in table.names]
        names = np.array([*given, *(name + COPY for name in given)], dtype=object)[order]
    return Table(values, names, np.concatenate([table.categorical, copies.categorical])[order])
