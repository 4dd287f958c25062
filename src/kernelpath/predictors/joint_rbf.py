"""Ordinary RBF-SVM on the chosen columns together: it sees interactions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelpath.predictors.base import (
    Candidate,
    Request,
    Setting,
    TrainingRows,
    checked_grid,
    outputs_for,
    union_of,
)
from kernelpath.predictors.design import Filling
from kernelpath.predictors.models import KernelModel
from kernelpath.predictors.nystrom import LandmarkMap, landmarks, mapped_models
from kernelpath.predictors.state import (
    Arrays,
    State,
    head_arrays,
    matrix_forms,
    of_columns,
    pack_matrix,
    saved_as,
    support_values,
)
from kernelpath.predictors.svm import SVMHead, Task, fit_svms
from kernelpath.tables.table import Table, take_columns
from kernelpath.tracers.any_selector import SizedPoint
from kernelpath.utils.archive_forms import REAL, WHOLE, Form

BLOCK_COLUMNS = 4096  # columns of a sparse or dense block at a time
#: What the arrays of a saved model must be.
FORMS = {
    "columns": Form(WHOLE, ("used",), low=0),
    "fill": Form(REAL, ("used",), optional=True),
    "indicator": Form("b1", ("used",), optional=True),
    "mean": Form(REAL, ("used",)),
    "scale": Form(REAL, ("used",), low=0),
    "categorical": Form("b1", ("used",)),
    **matrix_forms("support_values", "rows", "used"),
}


@dataclass(frozen=True)
class JointRBFSVM:
    r"""SVM with :math:`\exp(-\gamma \|x - z\|^2)` on the standardised chosen columns.

    Parameters
    ----------
    gamma : float or sequence of float
        Values to choose from, each divided by the number of columns.  scikit-learn's
        ``gamma="scale"`` is 1; few strong features often need more, up to 4.
    C : float or sequence of float
        Values to choose from.

    Notes
    -----
    A categorical column adds a constant for unequal values, scaled so that the mean over pairs of
    rows is that of a standardised column.  Columns that are constant in training are left out.

    Examples
    --------
    >>> import kernelpath as kp
    >>> data = kp.datasets.make_ring(n_samples=150, n_features=20, random_state=0)
    >>> model = kp.PathCV(kp.LpKTASelector(), predictor=kp.JointRBFSVM(C=(10,)), cv=3,
    ...     n_features=[1, 2, 3]).fit(data.X, data.y)
    >>> sorted(model.operating_point_.settings)
    ['C', 'gamma']
    """

    gamma: float | Sequence[float] = (1.0, 0.25, 4.0)
    C: float | Sequence[float] = (10.0, 1.0, 100.0)
    name = "joint_rbf"

    def settings(self, n_rows: int) -> list[Setting]:
        """Pairs of ``gamma`` and ``C``."""
        gammas, values_of_C = checked_grid("gamma", self.gamma), checked_grid("C", self.C)
        return [{"gamma": gamma, "C": C} for gamma in gammas for C in values_of_C]

    def models(
        self, part: TrainingRows, requests: Sequence[Request], new: Table | None
    ) -> Iterator[Candidate]:
        """Fit at every size; distances grow by the columns that are new at a size."""
        if not requests:
            return
        points = [part.traced.at(k) for k, _ in requests]
        columns = union_of(points)
        filling = Filling.fit(part.rows, columns)
        rows = filling.apply(part.rows)
        scaling = Scaling.fit(rows, part.sample_weight)
        if part.large:
            yield from self._large_models(part, requests, points, filling, scaling, new)
            return
        train = scaling.apply(rows.values)
        other = None if new is None else scaling.apply(filling.apply(new).values)
        distances = _Distances(train, other, _unit(scaling))
        for (k, settings), point in sorted(zip(requests, points), key=lambda item: item[0][0]):
            where = filling.of(point.columns)
            where = where[scaling.scale[where] > 0]
            D, D_new = distances.of(where)
            for gamma, of_gamma in _by_gamma(settings):
                rate = gamma / max(len(where), 1)
                K = _gaussian(D, rate)
                K_new = None if D_new is None else _gaussian(D_new, rate)
                heads = fit_svms(
                    K, part.codes, part.task, [setting["C"] for setting in of_gamma],
                    sample_weight=part.sample_weight, quick=part.quick, rows=part.distinct,
                )  # fmt: skip
                for setting in of_gamma:
                    head = heads[setting["C"]]
                    outputs = None
                    if K_new is not None:
                        outputs = outputs_for(head, K_new[:, head.support], part.task)
                    own = (filling.take(where), scaling.take(where), rate, head)
                    yield Candidate(k, setting, outputs, partial(_model, part, *own))

    def _large_models(
        self,
        part: TrainingRows,
        requests: Sequence[Request],
        points: Sequence[SizedPoint],
        filling: Filling,
        scaling: Scaling,
        new: Table | None,
    ) -> Iterator[Candidate]:
        """Linear SVMs behind a map with landmark rows, for tables with many rows."""
        rows = landmarks(part)
        near = part.rows.take(rows)
        for (k, settings), point in zip(requests, points):
            where = filling.of(point.columns)
            where = where[scaling.scale[where] > 0]
            values = filling.take(where).apply(near).values
            for gamma, of_gamma in _by_gamma(settings):
                rate = gamma / max(len(where), 1)
                own = filling.take(where)
                machine = JointRBFModel(own, values, scaling.take(where), rate, None)
                feature_map = LandmarkMap.fit(machine, near)
                yield from mapped_models(self.name, feature_map, part, (k, of_gamma), new)


def _gaussian(D: NDArray[np.float64], rate: float) -> NDArray[np.float64]:
    """Kernel values from squared distances, with one array and not two."""
    K = np.multiply(D, -rate)
    return np.exp(K, out=K)


def _by_gamma(settings: Sequence[Setting]) -> Iterator[tuple[float, list[Setting]]]:
    for gamma in dict.fromkeys(setting["gamma"] for setting in settings):
        yield gamma, [setting for setting in settings if setting["gamma"] == gamma]


@dataclass(frozen=True)
class Scaling:
    """Factors that give every column a mean squared difference of 2 in the training rows."""

    mean: NDArray[np.float64]
    scale: NDArray[np.float64]
    categorical: NDArray[np.bool_]

    @classmethod
    def fit(cls, rows: Table, weight: NDArray[np.float64] | None) -> Scaling:
        """Learn the factors of all columns, without missing values; 0 for a constant one."""
        values, n_columns = rows.values, rows.shape[1]
        share = np.full(rows.n_rows, 1.0 / rows.n_rows) if weight is None else weight / weight.sum()
        if sparse.issparse(values):
            values = values.astype(np.float64)  # squares of small integers overflow
            mean = share @ values
            variance = share @ values.multiply(values) - mean**2
            low = values.min(axis=0).toarray().ravel()
            high = values.max(axis=0).toarray().ravel()
        else:
            mean = share @ values
            variance = np.zeros(n_columns)
            for start in range(0, n_columns, BLOCK_COLUMNS):
                block = slice(start, start + BLOCK_COLUMNS)
                variance[block] = share @ np.square(values[:, block] - mean[block])
            low, high = values.min(axis=0), values.max(axis=0)
        scale = np.zeros(n_columns)
        live = (high > low) & (variance > 0)
        scale[live] = 1.0 / np.sqrt(variance[live])
        categorical = rows.categorical
        for j in np.flatnonzero(categorical & live):
            codes = 1 + values[:, j].astype(np.intp)  # -1 is a missing one
            shares = np.bincount(codes, weights=share)
            # Mean over pairs of [x != z] is 1 - sum of squared shares; two thereof make 2.
            scale[j] = np.sqrt(2.0 / max(1.0 - np.square(shares).sum(), 1e-12))
        return cls(np.asarray(mean, dtype=np.float64), scale, categorical)

    def take(self, columns: NDArray[np.intp]) -> Scaling:
        """Factors of some of the columns."""
        return Scaling(self.mean[columns], self.scale[columns], self.categorical[columns])

    def apply(self, values: Any) -> Any:
        """Scaled columns; dense ones are centred too, categories keep their codes."""
        if sparse.issparse(values):
            return values.tocsc() @ sparse.diags_array(self.scale, format="csc")
        scaled = (values - self.mean) * self.scale
        if self.categorical.any():
            scaled[:, self.categorical] = values[:, self.categorical]
        return scaled

    def squared(self, A: Any, B: Any, columns: NDArray[np.intp]) -> NDArray[np.float64]:
        """Squared distances between scaled rows over some columns."""
        numeric = columns[~self.categorical[columns]]
        D = np.zeros((A.shape[0], B.shape[0]))
        for start in range(0, len(numeric), BLOCK_COLUMNS):
            block = numeric[start : start + BLOCK_COLUMNS]
            a, b = take_columns(A, block), take_columns(B, block)
            D += _squared_norms(a)[:, None] + _squared_norms(b)[None, :]
            product = a @ b.T
            D -= 2.0 * (product.toarray() if sparse.issparse(product) else product)
        for j in columns[self.categorical[columns]]:
            D += self.scale[j] ** 2 * (A[:, j][:, None] != B[:, j][None, :])
        return D


def _squared_norms(values: Any) -> NDArray[np.float64]:
    if sparse.issparse(values):
        return np.asarray(values.multiply(values).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", values, values)


class _Distances:
    """Squared distances for growing sets of columns."""

    def __init__(self, train: Any, new: Any, unit: Scaling) -> None:
        self.train, self.new, self.unit = train, new, unit
        self._held = np.zeros(train.shape[1], dtype=bool)
        self._restart()

    def _restart(self) -> None:
        n = self.train.shape[0]
        self._held[:] = False
        self._train = np.zeros((n, n))
        self._new = None if self.new is None else np.zeros((self.new.shape[0], n))

    def of(self, columns: NDArray[np.intp]) -> tuple[NDArray, NDArray | None]:
        """Distances over the columns; only those not held yet are added."""
        wanted = np.zeros(len(self._held), dtype=bool)
        wanted[columns] = True
        if np.any(self._held & ~wanted):
            self._restart()
        fresh = np.flatnonzero(wanted & ~self._held)
        if len(fresh):
            self._train += self.unit.squared(self.train, self.train, fresh)
            np.maximum(self._train, 0.0, out=self._train)
            np.fill_diagonal(self._train, 0.0)
            if self._new is not None:
                self._new += self.unit.squared(self.new, self.train, fresh)
                np.maximum(self._new, 0.0, out=self._new)
        self._held |= wanted
        return self._train, self._new


def _model(
    part: TrainingRows,
    filling: Filling,
    scaling: Scaling,
    rate: float,
    head: SVMHead,
) -> KernelModel:
    """Model that reads new rows, with support rows and used columns only."""
    values = filling.apply(part.rows).values
    rows = values.tocsr()[head.support] if sparse.issparse(values) else values[head.support]
    head = replace(head, support=np.arange(len(head.support)))
    return KernelModel(JointRBFModel(filling, rows, scaling, rate, head), part.task)


@saved_as("joint_rbf")
@dataclass(frozen=True)
class JointRBFModel:
    """A fitted RBF-SVM on standardised columns."""

    filling: Filling
    support_values: Any
    scaling: Scaling
    rate: float
    head: SVMHead | None
    name = "joint_rbf"

    def kernel(self, rows: Table) -> NDArray[np.float64]:
        """Kernel of new rows with the support rows."""
        values = self.filling.apply(rows).values
        train = self.support_values
        if sparse.issparse(values) != sparse.issparse(train):
            values = sparse.csc_array(values) if sparse.issparse(train) else values.toarray()
        support, unit = self.scaling.apply(train), _unit(self.scaling)
        every = np.arange(len(self.filling.columns))
        return np.exp(
            -self.rate * np.maximum(unit.squared(self.scaling.apply(values), support, every), 0.0)
        )

    @classmethod
    def forms(cls, meta: dict[str, Any], n_columns: int) -> dict[str, Form]:
        """What the arrays of a saved one must be."""
        return of_columns(SVMHead.FORMS | FORMS, n_columns)

    def to_state(self) -> State:
        """Settings and arrays of a file."""
        scaling = self.scaling
        arrays = {
            "columns": self.filling.columns,
            "fill": self.filling.fill,
            "indicator": self.filling.indicator,
            "mean": scaling.mean,
            "scale": scaling.scale,
            "categorical": scaling.categorical,
        }
        arrays |= pack_matrix("support_values", self.support_values)
        return {"rate": float(self.rate)}, arrays | head_arrays(self.head)

    @classmethod
    def from_state(cls, meta: dict[str, Any], arrays: Arrays, task: Task) -> JointRBFModel:
        """Build the model again."""
        rate = meta["rate"]
        if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 <= rate < np.inf:
            raise ValueError(f"the rate of the kernel is {rate!r}")
        scaling = Scaling(arrays["mean"], arrays["scale"], arrays["categorical"])
        values, columns = support_values(arrays), arrays["columns"]
        filling = Filling(  # files of before know nothing of missing values
            columns,
            arrays.get("fill", np.zeros(len(columns))),
            arrays.get("indicator", np.zeros(len(columns), dtype=bool)),
        )
        return cls(filling, values, scaling, float(rate), SVMHead.from_arrays(arrays, task))


def _unit(scaling: Scaling) -> Scaling:
    """Scaling of columns that are scaled already; categories keep theirs."""
    return replace(scaling, scale=np.where(scaling.categorical, scaling.scale, 1.0))
