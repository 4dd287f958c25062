"""What a FeaturePath is made of: points, events, supports, extensions.

Everything here is frozen and compares by content. The path itself lives in
:mod:`kernelpath.path.feature_path`, which also gives these names to users.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import FrozenInstanceError, dataclass, fields, replace
from operator import index as as_index
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from scipy import sparse

from kernelpath.utils.words import counted

if TYPE_CHECKING:
    import pandas as pd

    from kernelpath.path.feature_path import FeaturePath

EXTENSIONS: dict[str, Any] = {}


ON_PATH, BEYOND = "path", "beyond"  # where a point lies


def register_extension(cls: Any) -> Any:
    """Class decorator: make the extension ``cls.kind`` known to :func:`load_path`."""
    EXTENSIONS[cls.kind] = cls
    return cls


class PathExtension(Protocol):
    """What lets a method give a point for every number of features, between stored points too."""

    kind: str

    @property
    def n_usable(self) -> int:
        """Largest number of features that a point can have."""

    # An extension that lacks some of the sizes from 0 to n_usable also has an array ``sizes``.

    def at(self, path: FeaturePath, k: int) -> PathPoint:
        """Point with exactly ``k`` selected features, for every size that it has."""

    def order(self) -> np.ndarray:
        """Features in the order in which they are taken when growing from none."""

    def to_state(self) -> tuple[dict, dict[str, np.ndarray]] | None:
        """JSON-able metadata and arrays to save, or None when it cannot be saved."""

    @classmethod
    def from_state(cls, meta: dict, arrays: dict[str, np.ndarray]) -> Any:
        """Build the extension again from what ``to_state`` gave."""


def frozen_vector(values: Any, dtype: Any, name: str, length: int | None = None) -> np.ndarray:
    """Read-only vector; a copy unless the caller handed over one that is already read-only."""
    kept = isinstance(values, np.ndarray) and not values.flags.writeable
    result = np.asarray(values, dtype) if kept else np.array(values, dtype)
    if result.ndim != 1 or (length is not None and len(result) != length):
        wanted = "one dimension" if length is None else f"shape ({length},)"
        raise ValueError(f"{name} must have {wanted}, got shape {result.shape}")
    result.setflags(write=False)
    return result


def share_csr(data: Any, indices: Any, indptr: Any, shape: tuple[int, int]) -> sparse.csr_array:
    """CSR matrix over these very arrays, without a copy or a check."""
    csr = sparse.csr_array((data, indices, indptr), shape=shape, copy=False)
    # SciPy takes views; the same objects let pickle and the file store shared indices once.
    csr.data, csr.indices, csr.indptr = data, indices, indptr
    csr.has_canonical_format = True  # known here; spares a pass over the entries
    return csr


def frozen_csr(matrix: Any, name: str, *, pattern: bool) -> sparse.csr_array:
    """Canonical CSR over read-only arrays; with ``pattern`` only its sparsity counts."""
    csr = sparse.csr_array(matrix)
    if csr.ndim != 2:
        raise ValueError(f"{name} must have shape (n_points, n_features), got {csr.shape}")
    try:
        csr.check_format(full_check=True)
    except ValueError as error:
        raise ValueError(f"{name} is not a valid CSR matrix: {error}") from error
    drop_false = pattern and csr.dtype == bool and not csr.data.all()
    if drop_false or not csr.has_canonical_format:
        csr = csr.copy()  # the caller's matrix stays as it is
        csr.sum_duplicates()
        if drop_false:
            csr.eliminate_zeros()
    if not (pattern or np.isfinite(csr.data).all()):
        raise ValueError(f"{name} must be finite")
    integer = np.int32 if max(csr.nnz, *csr.shape) <= np.iinfo(np.int32).max else np.int64
    data = np.ones(csr.nnz, bool) if pattern else frozen_vector(csr.data, float, name)
    data.setflags(write=False)
    indices, indptr = (
        frozen_vector(csr.indices, integer, name),
        frozen_vector(csr.indptr, integer, name),
    )
    return share_csr(data, indices, indptr, csr.shape)


def checked_names(names: Any, n_features: int) -> np.ndarray | None:
    """Names as a read-only vector of str, or None for the default ones."""
    if names is None:
        return None
    result = frozen_vector(names, object, "feature_names", n_features)
    if not all(issubclass(kind, str) for kind in set(map(type, result))):
        raise ValueError("feature_names must be strings")
    return result


def pick_names(names: np.ndarray | None, features: Iterable[int]) -> list[str]:
    """Names of some columns, "" for -1; the default names are never made for all columns."""
    if names is None:
        return [f"x{j}" if j >= 0 else "" for j in features]
    return [str(names[j]) if j >= 0 else "" for j in features]


def heaviest(features: np.ndarray, weights: np.ndarray, count: int | None = None) -> np.ndarray:
    """Features by decreasing weight, ties by column order; only the first ``count``."""
    if count is not None and len(features) > count:
        # Partial selection: sorting 100,000 features to name five would dominate to_frame.
        kept = weights >= np.partition(weights, -count)[-count]
        features, weights = features[kept], weights[kept]
    return features[np.argsort(-weights, kind="stable")][:count]


def same_content(a: Any, b: Any) -> bool:
    """Equal content, NaN equal to NaN, through dicts, tuples, CSR matrices and extensions."""

    def both(kind: Any) -> bool:
        return isinstance(a, kind) and isinstance(b, kind)

    if both(dict):
        return a.keys() == b.keys() and all(same_content(a[key], b[key]) for key in a)
    if sparse.issparse(a) and sparse.issparse(b):
        return all(map(same_content, _csr_parts(a), _csr_parts(b)))
    if both(tuple):
        return len(a) == len(b) and all(map(same_content, a, b))
    if both(float | np.ndarray):
        return _same_numbers(np.asarray(a), np.asarray(b))
    if a is b or type(a) is not type(b):
        return a is b
    return same_content(a.to_state(), b.to_state()) if hasattr(a, "to_state") else bool(a == b)


def _csr_parts(matrix: Any) -> tuple[Any, ...]:
    return matrix.shape, matrix.data, matrix.indices, matrix.indptr


def _same_numbers(a: np.ndarray, b: np.ndarray) -> bool:
    return np.array_equal(a, b, equal_nan=a.dtype.kind == b.dtype.kind == "f")


class Frozen:
    """Content equality and pickling, through the constructor, of all frozen classes."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def _arguments(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self is other or same_content(self._arguments(), other._arguments())

    def __setattr__(self, name: str, value: Any) -> None:
        raise FrozenInstanceError(f"{type(self).__name__} is frozen, cannot set {name!r}")

    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError(f"{type(self).__name__} is frozen, cannot delete {name!r}")

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __reduce__(self) -> tuple:
        return _rebuild, (type(self), self._arguments())


def _rebuild(cls: type, arguments: dict[str, Any]) -> Any:
    """Unpickle; the arrays are fresh, so they are frozen in place instead of copied again."""
    for value in arguments.values():
        for part in vars(value).values() if sparse.issparse(value) else [value]:
            if isinstance(part, np.ndarray):
                part.setflags(write=False)
    return cls(**arguments)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PathPoint(Frozen):
    """One point of a path: weights, selected features and how optimal they are.

    Parameters
    ----------
    position : int
        Index in the path, or -1 for a point between or beyond the stored ones.
    parameter, value, kkt : float
        Path parameter, objective value and residual of the optimality conditions.
    weights, support : ndarray of shape (n_columns,)
        Weight of every column, and the boolean mask of the selected ones.
    gap : float or None
        Upper bound on how far the objective is above its optimum, where one is proved: relative
        to it, but for lp-KTA in units of `value`.
    note : str
        A plain sentence when the point is not an ordinary one.
    feature_names : array of str or None
        Names of all columns; None means "x0", "x1", ...
    origin : {"path", "beyond"}
        Whether the point lies on the path, or beyond its ends by another setting.

    Examples
    --------
    >>> point = PathPoint(0, 1.5, [0.2, 0.0, 0.7], [True, False, True], -0.3, 1e-12, None)
    >>> point.names, point.n_selected
    (('x2', 'x0'), 2)
    """

    position: int
    parameter: float
    weights: np.ndarray
    support: np.ndarray
    value: float
    kkt: float
    gap: float | None
    note: str = ""
    feature_names: Any = None
    origin: str = ON_PATH

    def __post_init__(self) -> None:
        weights = frozen_vector(self.weights, float, "weights")
        self._set(weights=weights)
        self._set(support=frozen_vector(self.support, bool, "support", len(weights)))
        if self.feature_names is not None:
            names = frozen_vector(self.feature_names, object, "feature_names", len(weights))
            self._set(feature_names=names)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the selected features, by decreasing weight, ties by column order."""
        selected = np.flatnonzero(self.support)
        order = heaviest(selected, self.weights[selected])
        return tuple(pick_names(self.feature_names, order))

    @property
    def n_selected(self) -> int:
        """Number of selected features."""
        return int(np.count_nonzero(self.support))

    n_features = n_selected

    def __repr__(self) -> str:
        note = f", note={self.note!r}" if self.note else ""
        return (
            f"PathPoint(position={self.position}, parameter={self.parameter:g}, "
            f"{self.n_selected:,} of {counted(len(self.weights), 'feature')}, "
            f"value={self.value:g}, kkt={self.kkt:.2g}{note})"
        )


@dataclass(frozen=True, slots=True)
class PathEvent:
    """A feature enters, leaves or is eliminated, or the parameter turns (feature -1 if none).

    ``position`` is the first stored point at which the event has taken effect.
    """

    kind: str
    feature: int
    name: str
    parameter: float
    position: int

    def __post_init__(self) -> None:
        if self.kind not in EventTable.KINDS:
            raise ValueError(f"kind must be one of {EventTable.KINDS}, got {self.kind!r}")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EventTable(Frozen, Sequence):
    """Events as four columns, so a million cost four arrays; a :class:`PathEvent` when indexed.

    Examples
    --------
    >>> EventTable([0, 2], [4, 1], [1.9, 1.2], [3, 7])[1]
    PathEvent(kind='eliminate', feature=1, name='x1', parameter=1.2, position=7)
    """

    KINDS: ClassVar[tuple[str, ...]] = ("enter", "leave", "eliminate", "turn")
    COLUMNS: ClassVar[tuple[str, ...]] = ("kinds", "features", "parameters", "positions")
    kinds: np.ndarray
    features: np.ndarray
    parameters: np.ndarray
    positions: np.ndarray
    feature_names: Any = None

    def __post_init__(self) -> None:
        n_events = len(self.kinds)
        for name, dtype in zip(self.COLUMNS, (np.uint8, np.int64, np.float64, np.int64)):
            column = frozen_vector(getattr(self, name), dtype, f"events.{name}", n_events)
            self._set(**{name: column})
        if n_events and self.kinds.max() >= len(self.KINDS):
            raise ValueError(f"codes of event kinds must be below {len(self.KINDS)}")

    @classmethod
    def from_events(cls, events: Iterable[PathEvent]) -> EventTable:
        """Table of some events; names are taken from the path that the table becomes part of."""
        rows = [(cls.KINDS.index(e.kind), e.feature, e.parameter, e.position) for e in events]
        return cls(*(zip(*rows) if rows else ((), (), (), ())))

    def __len__(self) -> int:
        return len(self.kinds)

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return [self[j] for j in range(*i.indices(len(self)))]
        code, feature, position = (int(a[i]) for a in (self.kinds, self.features, self.positions))
        name = pick_names(self.feature_names, [feature])[0]
        return PathEvent(self.KINDS[code], feature, name, float(self.parameters[i]), position)

    def __iter__(self) -> Iterator[PathEvent]:
        return map(PathEvent, *(column.tolist() for column in self._columns()))

    def __repr__(self) -> str:
        counts = np.bincount(self.kinds, minlength=len(self.KINDS))
        return f"EventTable({', '.join(f'{n} {kind}' for n, kind in zip(counts, self.KINDS) if n)})"

    def _columns(self) -> list[np.ndarray]:
        """Columns in the order of the fields of PathEvent."""
        names = pick_names(self.feature_names, self.features.tolist())
        kinds = np.array(self.KINDS, dtype=object)[self.kinds]
        return [kinds, self.features, np.array(names, object), self.parameters, self.positions]

    def to_frame(self) -> pd.DataFrame:
        """One row per event: kind, feature, name, parameter, position."""
        import pandas as pd

        columns = zip((f.name for f in fields(PathEvent)), self._columns())
        # object: names that are not valid Unicode break the string type of pandas 3
        return pd.DataFrame({n: pd.Series(c, dtype=c.dtype) for n, c in columns})


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Supports(Frozen, Sequence):
    """Selected features of every point: ``supports[i]`` is a mask, ``indices(i)`` the columns."""

    csr: Any

    @property
    def shape(self) -> tuple[int, int]:
        """Number of points and of columns."""
        return self.csr.shape

    def indices(self, i: int) -> np.ndarray:
        """Columns selected at point ``i``, increasing."""
        i = range(len(self))[as_index(i)]  # negative from the end, IndexError beyond
        return self.csr.indices[self.csr.indptr[i] : self.csr.indptr[i + 1]]

    def __len__(self) -> int:
        return self.csr.shape[0]

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return [self[j] for j in range(*i.indices(len(self)))]
        mask = np.zeros(self.shape[1], dtype=bool)
        mask[self.indices(i)] = True
        return mask

    def tocsr(self) -> sparse.csr_array:
        """Boolean CSR matrix of shape (n_points, n_features)."""
        return share_csr(self.csr.data, self.csr.indices, self.csr.indptr, self.shape)

    def toarray(self) -> np.ndarray:
        """Dense boolean array of shape (n_points, n_features); mind its size."""
        return self.csr.toarray()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.toarray().astype(dtype or bool, copy=False)

    def __repr__(self) -> str:
        return f"Supports({counted(len(self), 'point')}, {self.csr.nnz} selected in all)"


def placed_events(events: Any, shape: tuple[int, int], names: np.ndarray | None) -> EventTable:
    """Events with the names of the path, checked against its shape."""
    table = events if isinstance(events, EventTable) else EventTable.from_events(events)
    for column, low, high in ((table.positions, 0, shape[0]), (table.features, -1, shape[1])):
        if len(column) and not low <= column.min() <= column.max() < high:
            raise ValueError(f"positions and features of events must fit the shape {shape}")
    return replace(table, feature_names=names)


def nearest_sizes(sizes: np.ndarray, k: int) -> str:
    """Say which sizes around ``k`` the path does have."""
    smaller, larger = sizes[sizes < k], sizes[sizes > k]
    below = f"the nearest smaller size is {smaller.max()}" if len(smaller) else "none is smaller"
    above = f"the nearest larger size is {larger.min()}" if len(larger) else "none is larger"
    return f"{below}, {above}"
