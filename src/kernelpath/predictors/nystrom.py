"""More rows than a kernel matrix allows: explicit feature maps and a linear SVM.

A *landmark map* stands for any kernel: with ``m`` landmark rows Z,

    phi(x) = k(x, Z) k(Z, Z)^(-1/2),    phi(x) . phi(z) ~ k(x, z)    (Nystrom)

so a model costs ``n m`` kernel values in place of ``n^2``.  For few features the weighted sum of
one-feature kernels has a better one, feature by feature: ``path_kernels.ExplicitMap``.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC, LinearSVR

from kernelpath.kernels import KERNELS, formula_code, resolve_kernel
from kernelpath.path_kernels.explicit import CATEGORIES, NYSTROM, ExplicitMap
from kernelpath.predictors.base import Candidate, Request, TrainingRows, outputs_for
from kernelpath.predictors.models import KernelModel
from kernelpath.predictors.state import (
    SAVED,
    Arrays,
    State,
    model_forms,
    model_from,
    model_state,
    of_columns,
    saved_as,
)
from kernelpath.predictors.svm import EPSILON, SVMHead, Task, calibrate, standardised
from kernelpath.tables.table import Table, take_columns
from kernelpath.utils.archive_forms import REAL, WHOLE, Form, checked_text, named, within

N_LANDMARKS = 500
MOST_COMPONENTS = 1000  # of the maps feature by feature; beyond, landmarks are cheaper
BLOCK_ROWS = 4096
SMALLEST_EIGENVALUE = 1e-10  # relative; directions below are noise
#: What the arrays of a saved model must be, and those of a map of columns.
FORMS = {
    "columns": Form(WHOLE, ("used",), low=0, optional=True),
    "root": Form(REAL, ("landmarks", "rows"), optional=True),
    "means": Form(REAL, ("landmarks",), optional=True),
}
_EACH, _BOUNDS = ("used",), ("used + 1",)
EXPLICIT = {
    "shape": Form(WHOLE, (2,), low=0),
    "columns": Form(WHOLE, _EACH, low=0),
    "kinds": Form(WHOLE, _EACH, low=0, high=NYSTROM),
    "codes": Form(WHOLE, _EACH, low=0),
    "gamma": Form(REAL, _EACH, low=0),
    "center": Form(REAL, _EACH),
    "factors": Form(REAL, ("used", "powers"), low=0),
    "anchor": Form(REAL, _EACH),
    "landmark_ptr": Form(WHOLE, _BOUNDS, low=0),
    "landmarks": Form(REAL, ("landmarks",)),
    "matrix_ptr": Form(WHOLE, _BOUNDS, low=0),
    "matrices": Form(REAL, ("matrices",)),
    "out_ptr": Form(WHOLE, _BOUNDS, low=0),
}


@dataclass(frozen=True)
class LinearHead(SVMHead):
    """Decisions of a linear SVM on mapped rows; more than two classes are one against the rest."""

    def decision(self, K: NDArray[np.float64]) -> NDArray[np.float64]:
        """Signed distance; one column per class for more than two."""
        pairs = self.pairs(K)
        return pairs[:, 0] if pairs.shape[1] == 1 else pairs

    @staticmethod
    def _n_outputs(classes: NDArray | None) -> int:
        """Rows of the coefficients: one decision, or one for each class."""
        n = 0 if classes is None else len(classes)
        return 1 if n <= 2 else n


@dataclass(frozen=True)
class LandmarkMap:
    """Nystrom map of a machine's kernel."""

    machine: Any  # its support rows are the landmarks, its kernel the kernel
    root: NDArray[np.float64]
    means: NDArray[np.float64]  # of the columns of k(Z, Z), less their own mean

    @classmethod
    def fit(cls, machine: Any, rows: Table) -> LandmarkMap:
        """Map with the support rows of the machine as landmarks, which ``rows`` are too.

        The kernel is centred first: a weighted sum of kernels comes without terms of x or z
        alone, which a linear SVM with intercept does not need, and is positive only then.
        """
        K = machine.kernel(rows)
        means = K.mean(axis=0) - K.mean()
        K = K - K.mean(axis=1, keepdims=True) - means
        values, vectors = np.linalg.eigh(0.5 * (K + K.T))
        kept = values > SMALLEST_EIGENVALUE * values[-1]
        return cls(machine, vectors[:, kept] / np.sqrt(values[kept]), means)

    def transform(self, rows: Table) -> NDArray[np.float64]:
        """Mapped rows, in blocks."""
        out = np.empty((rows.n_rows, self.root.shape[1]))
        for start in range(0, rows.n_rows, BLOCK_ROWS):
            block = np.arange(start, min(start + BLOCK_ROWS, rows.n_rows))
            K = self.machine.kernel(rows.take(block))
            out[block] = (K - K.mean(axis=1, keepdims=True) - self.means) @ self.root
        return out


@dataclass(frozen=True)
class ColumnMap:
    """One map per column, of the columns that a point uses."""

    columns: NDArray[np.intp]
    explicit: Any

    def transform(self, rows: Table) -> Any:
        """Mapped rows."""
        return self.explicit.transform(take_columns(rows.values, self.columns))


@saved_as("mapped")
@dataclass(frozen=True)
class MappedModel:
    """A linear SVM behind a feature map."""

    name: str
    feature_map: Any
    head: LinearHead

    def kernel(self, rows: Table) -> NDArray[np.float64]:
        """Mapped rows, which the head multiplies with its coefficients."""
        return self.feature_map.transform(rows)

    @classmethod
    def forms(cls, meta: dict[str, Any], n_columns: int) -> dict[str, Form]:
        """What the arrays of a saved one must be."""
        if meta["map"] == "columns":
            known = max(formula_code(resolve_kernel(name)) for name in KERNELS)
            inner = EXPLICIT | {"codes": replace(EXPLICIT["codes"], high=known)}
        elif SAVED.get(meta["map"]) is cls:
            raise ValueError("a map of a map")
        else:
            inner = model_forms(meta["map"], meta["meta"], n_columns)
        inner = {name: within(form, "map ") for name, form in inner.items()}
        return of_columns(SVMHead.FORMS | FORMS, n_columns) | named("map/", inner)

    def to_state(self) -> State:
        """Settings and arrays of a file."""
        arrays, own = self.head.to_arrays(), self.feature_map
        if isinstance(own, ColumnMap):
            arrays |= {f"map/{k}": v for k, v in own.explicit.to_arrays().items()}
            return {"map": "columns", "name": self.name}, arrays | {"columns": own.columns}
        kind, meta, inner = model_state(own.machine)
        arrays |= {f"map/{key}": value for key, value in inner.items()}
        arrays |= {"root": own.root, "means": own.means}
        return {"map": kind, "meta": meta, "name": self.name}, arrays

    @classmethod
    def from_state(cls, meta: dict[str, Any], arrays: Arrays, task: Task) -> MappedModel:
        """Build the model again."""
        checked_text(meta, "name")
        own = {k.removeprefix("map/"): v for k, v in arrays.items() if k.startswith("map/")}
        feature_map: Any
        if meta["map"] == "columns":
            feature_map = ColumnMap(arrays["columns"], ExplicitMap.from_arrays(own))
            n_out = _checked_map(feature_map.explicit, len(arrays["columns"])).n_out
        else:
            inner = model_from(meta["map"], meta["meta"], own, task)
            feature_map = LandmarkMap(inner, arrays["root"], arrays["means"])
            n_out = arrays["root"].shape[1]
            if inner.support_values.shape[0] != len(arrays["root"]):
                raise ValueError("the map has other landmarks than its kernel")
        head = LinearHead.from_arrays(arrays, task)
        if head is None or head.dual_coef.shape[1] != n_out:
            raise ValueError("the coefficients do not fit the map")
        return cls(meta["name"], feature_map, head)


def _checked_map(explicit: ExplicitMap, n_columns: int) -> ExplicitMap:
    """Refuse maps of columns whose parts do not fit together, with a ValueError."""
    used = len(explicit.columns)
    ends = (None, len(explicit.landmarks), len(explicit.matrices))
    sizes = []
    for pointers, end in zip((explicit.out_ptr, explicit.landmark_ptr, explicit.matrix_ptr), ends):
        steps = np.diff(pointers)
        if len(pointers) != used + 1 or pointers[0] != 0 or (steps < 0).any():
            raise ValueError("the maps of the columns do not follow each other")
        if end is not None and pointers[-1] != end:
            raise ValueError("the maps of the columns have other parts than declared")
        sizes.append(steps)
    n_out, n_landmarks, n_cells = sizes
    due = np.where(explicit.kinds == NYSTROM, n_landmarks * n_out, n_out)
    categories = explicit.kinds == CATEGORIES
    fits = (n_cells == due) & (~categories | (n_out == n_landmarks + explicit.shape[1]))
    columns_fit = int(explicit.shape[0]) == n_columns > explicit.columns.max(initial=-1)
    if not (fits.all() and columns_fit and explicit.shape[1] <= 1):
        raise ValueError("the maps of the columns have matrices of another shape")
    return explicit


def mapped_models(
    name: str,
    feature_map: Any,
    part: TrainingRows,
    request: Request,
    new: Table | None,
) -> Iterator[Candidate]:
    """Fit linear SVMs behind one feature map, for every value of ``C``."""
    k, settings = request
    if not settings:
        return
    heads = fit_linear(feature_map.transform(part.rows), part, [s["C"] for s in settings])
    mapped_new = None if new is None else feature_map.transform(new)
    for setting in settings:
        head = heads[setting["C"]]
        outputs = None if mapped_new is None else outputs_for(head, mapped_new, part.task)
        mapped = MappedModel(name, feature_map, head)
        yield Candidate(k, setting, outputs, partial(KernelModel, mapped, part.task))


def landmarks(part: TrainingRows, seed: int = 0) -> NDArray[np.intp]:
    """Rows that stand for all, drawn with the sample weights."""
    n = part.rows.n_rows
    weight = part.sample_weight
    count = min(N_LANDMARKS, n if weight is None else int(np.count_nonzero(weight)))
    share = None if weight is None else weight / weight.sum()
    return np.sort(np.random.default_rng(seed).choice(n, count, replace=False, p=share))


def fit_linear(
    mapped: Any, part: TrainingRows, values_of_C: Sequence[float]
) -> dict[float, LinearHead]:
    """Linear SVMs on mapped rows, one per value of ``C``."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return {C: _fit_one(mapped, part, C) for C in values_of_C}


def _fit_one(mapped: Any, part: TrainingRows, C: float) -> LinearHead:
    y, weight, task = part.codes, part.sample_weight, part.task
    support = np.zeros(0, dtype=np.intp)
    if task.classes is None:
        z, target = standardised(y, weight)
        svr = LinearSVR(C=C, epsilon=EPSILON, loss="squared_epsilon_insensitive", dual=False)
        svr.fit(mapped, z, sample_weight=weight)
        return LinearHead(support, np.atleast_2d(svr.coef_), svr.intercept_, None, target)
    svc = LinearSVC(C=C, dual=False).fit(mapped, y, sample_weight=task.row_weights(y, weight))
    head = LinearHead(
        support, svc.coef_, np.atleast_1d(svc.intercept_), svc.classes_.astype(np.intp),
        np.array([0.0, 1.0]),
    )  # fmt: skip
    if not task.probability:
        return head
    # So many rows for so few coefficients: decisions on the training rows are hardly optimistic.
    calibration = calibrate(head.decision(mapped), y, weight)
    return LinearHead(
        support, head.dual_coef, head.intercept, head.classes, head.target, calibration
    )
