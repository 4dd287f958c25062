"""The central object: a traced path, frozen, with one certificate per point.

Tracers build a :class:`FeaturePath`; scoring, plots, reports and files only read it. Rows are
sparse, names and points are made when asked for: a million columns cost what their non-zero
weights cost. An array that arrives read-only is kept as it is, any other is copied. Points,
events and supports live in :mod:`kernelpath.path.points`, the file format in
:mod:`kernelpath.path.file`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import index as as_index
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from scipy import sparse

from kernelpath.errors import DataError
from kernelpath.path.points import (
    EXTENSIONS,
    EventTable,
    Frozen,
    PathEvent,
    PathExtension,
    PathPoint,
    Supports,
    checked_names,
    frozen_csr,
    frozen_vector,
    heaviest,
    nearest_sizes,
    pick_names,
    placed_events,
    register_extension,
    same_content,
    share_csr,
)
from kernelpath.utils import checks
from kernelpath.utils.checks import is_whole
from kernelpath.utils.progress import working
from kernelpath.utils.words import counted

if TYPE_CHECKING:
    import os

    import pandas as pd

    from kernelpath.path.significance import AlignmentTest

__all__ = [
    "EXTENSIONS",
    "EventTable",
    "FeaturePath",
    "PathEvent",
    "PathExtension",
    "PathPoint",
    "Supports",
    "load_path",
    "register_extension",
]


def load_path(file: str | os.PathLike | BinaryIO) -> FeaturePath:
    """Read a path that :meth:`FeaturePath.save` wrote; see :mod:`kernelpath.path.file`."""
    from kernelpath.path import file as path_file

    return path_file.load_path(file)


# Not frozen=True: that __setattr__ forgets properties in a class with slots; Frozen has its own.
@dataclass(slots=True, init=False, eq=False, repr=False)
class FeaturePath(Frozen):
    """A whole feature-selection path: frozen, sparse, one certificate per point.

    Positions index the path, never the parameter: a parameter may turn back and supports need
    not be nested.

    Parameters
    ----------
    method, parameter_name : str
        What traced the path, and the name of its parameter, such as ``"p"``.
    parameters, values, kkt, gaps : array of shape (n_points,)
        Path parameter, objective, residual of the optimality conditions and gap, the upper bound
        on how far the objective is above its optimum (NaN where nothing is proved), of every
        point.
    weights : sparse or dense matrix of shape (n_points, n_features)
    supports : sparse or dense matrix of shape (n_points, n_features)
        The true entries of a boolean matrix; of any other sparse matrix, the stored entries.
        It is apart from the weights because a selected feature may have weight zero.
    events : EventTable or iterable of PathEvent
    feature_names : sequence of str, optional
        Default "x0", "x1", ...
    provenance : dict, optional
        What the path was made from; must be JSON-able.
    extension : PathExtension, optional
        Gives a point for every number of features.
    test : AlignmentTest, optional
        P-value and width of every feature, where the tracer knows them.

    Attributes
    ----------
    n_selected : ndarray of shape (n_points,)
        Number of selected features at every point.
    n_features : int
        Number of columns of the table.

    Examples
    --------
    >>> weights = np.array([[0.5, 0.2, 0.1], [0.6, 0.1, 0.0]])
    >>> path = FeaturePath(method="demo", parameter_name="p", parameters=[2, 1], weights=weights,
    ...     supports=weights > 0, values=[-1, -2], kkt=[0, 0], gaps=[0, 0])
    >>> path
    FeaturePath(method='demo', 2 points, 3 to 2 of 3 features, p from 2 to 1)
    >>> path.at(n_features=2).names
    ('x0', 'x1')
    """

    method: str
    parameter_name: str
    parameters: np.ndarray
    values: np.ndarray
    kkt: np.ndarray
    gaps: np.ndarray
    supports: Supports
    events: EventTable
    extension: PathExtension | None
    test: AlignmentTest | None
    n_selected: np.ndarray
    n_features: int
    _weights: sparse.csr_array
    _names: np.ndarray | None
    _default_names: np.ndarray | None
    _provenance: str

    def __init__(
        self,
        *,
        method: str,
        parameter_name: str,
        parameters: Any,
        weights: Any,
        supports: Any,
        values: Any,
        kkt: Any,
        gaps: Any,
        events: EventTable | Iterable[PathEvent] = (),
        feature_names: Any = None,
        provenance: dict | None = None,
        extension: PathExtension | None = None,
        test: AlignmentTest | None = None,
    ) -> None:
        pattern = frozen_csr(supports, "supports", pattern=True)
        W = frozen_csr(weights, "weights", pattern=False)
        if pattern.shape != W.shape:
            raise ValueError(f"supports have shape {pattern.shape}, but weights {W.shape}")
        if W.shape[0] == 0:
            raise ValueError("a path needs at least one point")
        if same_content((pattern.indptr, pattern.indices), (W.indptr, W.indices)):
            # The common case: one copy of the indices halves memory, pickles and files.
            pattern = share_csr(pattern.data, W.indices, W.indptr, W.shape)
        try:
            recorded = json.dumps(dict(provenance or {}))
        except (TypeError, ValueError) as error:
            raise ValueError(f"provenance must be JSON-able: {error}") from error
        names = checked_names(feature_names, W.shape[1])
        columns = {"parameters": parameters, "values": values, "kkt": kkt, "gaps": gaps}
        self._set(**{n: frozen_vector(v, float, n, W.shape[0]) for n, v in columns.items()})
        self._set(method=str(method), parameter_name=str(parameter_name), extension=extension)
        self._set(_weights=W, _names=names, _default_names=None, _provenance=recorded)
        self._set(supports=Supports(pattern), events=placed_events(events, W.shape, names))
        self._set(n_selected=frozen_vector(np.diff(pattern.indptr), np.int64, "n_selected"))
        self._set(n_features=W.shape[1], test=test)
        if test is not None and len(test) != W.shape[1]:
            raise ValueError(f"the test is of {len(test)} features, the path of {W.shape[1]}")

    def __eq__(self, other: object) -> bool:
        """Compare all but the provenance: settings such as ``n_jobs`` do not make another path."""
        if type(other) is not type(self):
            return NotImplemented
        mine, theirs = self._arguments(), other._arguments()
        return same_content(mine | {"provenance": {}}, theirs | {"provenance": {}})

    __hash__ = None

    def _arguments(self) -> dict[str, Any]:
        """Arguments of the constructor that give this path again."""
        plain = ("method", "parameter_name", "parameters", "values", "kkt", "gaps", "events")
        return {
            name: getattr(self, name) for name in (*plain, "provenance", "extension", "test")
        } | {
            "weights": self._weights,
            "supports": self.supports.csr,
            "feature_names": self._names,
        }

    @property
    def weights(self) -> sparse.csr_array:
        """CSR matrix of shape (n_points, n_features) over read-only arrays."""
        W = self._weights
        return share_csr(W.data, W.indices, W.indptr, W.shape)

    @property
    def feature_names(self) -> np.ndarray:
        """Names of the columns of the table."""
        if self._names is not None:
            return self._names
        made = self._default_names
        if made is None:
            made = frozen_vector(pick_names(None, range(self.n_features)), object, "feature_names")
            self._set(_default_names=made)
        return made

    @property
    def provenance(self) -> dict[str, Any]:
        """What the path was made from, as a fresh dict."""
        return json.loads(self._provenance)

    def __len__(self) -> int:
        return len(self.parameters)

    def __iter__(self) -> Iterator[PathPoint]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return [self[j] for j in range(*i.indices(len(self)))]
        i = as_index(i)
        if not -len(self) <= i < len(self):
            raise IndexError(f"position {i} is outside a path of {counted(len(self), 'point')}")
        i %= len(self)
        support, weights = self.supports[i], self._row(i)
        for fresh in (support, weights):
            fresh.setflags(write=False)  # handed over, so the point does not copy them
        gap = None if np.isnan(self.gaps[i]) else float(self.gaps[i])
        parameter, value, kkt = (float(a[i]) for a in (self.parameters, self.values, self.kkt))
        return PathPoint(i, parameter, weights, support, value, kkt, gap, "", self._names)

    def _row(self, i: int) -> np.ndarray:
        """Dense weights of one point."""
        W = self._weights
        row = np.zeros(self.n_features)
        entries = slice(W.indptr[i], W.indptr[i + 1])
        row[W.indices[entries]] = W.data[entries]
        return row

    @property
    def sizes(self) -> np.ndarray:
        """Numbers of features that :meth:`at` has a point for, increasing; 0 may be one."""
        if self.extension is None:
            return np.unique(self.n_selected)
        known = getattr(self.extension, "sizes", None)
        return np.arange(self.extension.n_usable + 1) if known is None else known

    def at(self, n_features: int | None = None, *, fdr: float | None = None) -> PathPoint:
        """Point with exactly ``n_features`` selected features.

        With ``fdr`` it is the point with as many features as there are discoveries at that false
        discovery rate (:meth:`AlignmentTest.discoveries`); a path that ranks by p-value selects
        just these.  With an extension every size in ``sizes`` has one. Otherwise the stored
        points are searched; among several the smallest objective value wins, then the first.

        Raises
        ------
        DataError
            If the size is out of range or the path has no such point.
        """
        largest = self.n_features if self.extension is None else self.extension.n_usable
        wanted = f"n_features must be an integer from 0 to {largest}"
        if fdr is not None:
            if n_features is not None:
                raise ValueError("of n_features and fdr one says the size, give only that")
            checks.real("fdr", fdr, above=0, below=1)
            n_features = self._nearest_below(self.n_discoveries(fdr))
        if not is_whole(n_features):
            raise TypeError(f"{wanted}, got {n_features!r}")
        k = int(n_features or 0)
        if not 0 <= k <= largest:
            raise DataError(f"{wanted}, got {k}")
        if self.extension is not None:
            return self.extension.at(self, k)
        ranked = self._by_size()
        found = ranked[self.n_selected[ranked] == k]
        if len(found) == 0:
            raise DataError(
                f"no point has exactly {counted(k, 'feature')}; {nearest_sizes(self.n_selected, k)}"
            )
        return self[found[0]]

    def _nearest_below(self, k: int) -> int:
        """The size itself, or the largest smaller one there is, or the smallest of all."""
        sizes = self.sizes
        return int(sizes[max(int(np.searchsorted(sizes, k, side="right")) - 1, 0)])

    def n_discoveries(self, level: float = 0.1) -> int:
        """Number of features at a false discovery rate; those that cannot be selected not counted.

        Raises
        ------
        DataError
            If the path knows no p-values.
        """
        if self.test is None:
            raise DataError(
                f"This {self.method} path knows no p-values; trace it by "
                "LpKTASelector(statistic='calibrated'), or use kernelpath.alignment_test."
            )
        largest = self.n_features if self.extension is None else self.extension.n_usable
        return min(len(self.test.discoveries(level)), largest)

    def _by_size(self) -> np.ndarray:
        """Positions by number of features, then objective value (NaN last), then position."""
        return np.lexsort((self.values, self.n_selected))

    def entry_order(self) -> np.ndarray:
        """Features in the order in which they are taken when growing from none.

        Without an extension: by the size of the smallest support that holds the feature, then
        by decreasing weight at that point, then by column. Features in no support are left out.
        """
        if self.extension is not None:
            return np.asarray(self.extension.order(), dtype=np.int64)
        size = np.full(self.n_features, -1, dtype=np.int64)
        weight = np.zeros(self.n_features)
        for i in self._by_size()[::-1]:  # smaller supports later, so that they have the last word
            selected = self.supports.indices(i)
            size[selected] = len(selected)
            weight[selected] = self._row(i)[selected]
        held = np.flatnonzero(size >= 0)
        return held[np.lexsort((-weight[held], size[held]))]

    @property
    def is_nested(self) -> bool:
        """Whether every support holds the next one, or is held by it, all the way."""
        held = np.zeros(self.n_features, dtype=bool)
        grows = shrinks = True
        # One scatter and one gather per point: ten times faster than a sparse product of rows.
        for i in range(len(self) - 1):
            here, there = self.supports.indices(i), self.supports.indices(i + 1)
            held[here] = True
            shared = np.count_nonzero(held[there])
            held[here] = False
            grows, shrinks = grows and shared == len(here), shrinks and shared == len(there)
        return bool(grows or shrinks)

    def to_frame(self) -> pd.DataFrame:
        """One row per point: position, parameter, n_selected, value, kkt, gap, top_features."""
        import pandas as pd

        top = []
        for i in range(len(self)):
            selected = self.supports.indices(i)
            best = heaviest(selected, self._row(i)[selected], count=5)
            top.append(", ".join(pick_names(self._names, best)))
        columns: dict[str, Any] = {"position": np.arange(len(self))}
        columns |= {self.parameter_name: self.parameters}
        columns |= {"n_selected": self.n_selected, "value": self.values, "kkt": self.kkt}
        # object: names that are not valid Unicode break the string type of pandas 3
        columns |= {"gap": self.gaps, "top_features": pd.Series(top, dtype=object)}
        return pd.DataFrame(columns, copy=True)

    def summary(self, X: Any = None, y: Any = None, *, kernel: Any = None) -> dict[str, Any]:
        """Everything a report shows, as a plain dict that JSON can hold.

        Parameters
        ----------
        X, y : optional
            The table and the target of the path: facts about the data, views of the heaviest
            features and their redundancy come from them.
        kernel : FeatureKernel, optional
            Where the path was traced with an object as kernel, that object: the path knows only
            what it is called, and views are drawn by the kernel itself.

        Returns
        -------
        dict
            Its form is promised by :func:`kernelpath.report.summary.schema`, a JSON Schema.

        Examples
        --------
        >>> import kernelpath as kp
        >>> data = kp.datasets.make_ring(n_samples=100, n_features=5, random_state=0)
        >>> path = kp.LpKTASelector().fit(data.X, data.y).path_
        >>> path.summary()["headline"]
        'The path leads from 5 to 3 of 5 features.'
        """
        from kernelpath.report.summary import summarize_path

        return summarize_path(self, X, y, kernel=kernel)

    def _repr_html_(self) -> str:
        from kernelpath.report.notebook import path_card

        return path_card(self)

    @working("picture")
    def plot(self, ax: Any = None, **kwargs: Any) -> Any:
        """Draw the path; see ``kernelpath.report.displays.path.plot_path``."""
        from kernelpath.report.displays import path as displays

        return displays.plot_path(self, ax=ax, **kwargs)

    def save(self, file: str | os.PathLike | BinaryIO) -> None:
        """Write the path to ``file``, whole or not at all; see :mod:`kernelpath.path.file`."""
        from kernelpath.path import file as path_file

        path_file.save_path(self, file)

    def __repr__(self) -> str:
        sizes, ends = self.n_selected, self.parameters
        most = int(sizes.max())
        between = f" (up to {most})" if most > max(sizes[0], sizes[-1]) else ""
        return (
            f"FeaturePath(method={self.method!r}, {counted(len(self), 'point')}, "
            f"{sizes[0]} to {sizes[-1]}{between} of {counted(self.n_features, 'feature')}, "
            f"{self.parameter_name} from {ends[0]:g} to {ends[-1]:g})"
        )
