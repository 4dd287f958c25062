"""More rows than a kernel matrix allows: explicit feature maps and a linear SVM.

A *landmark map* stands for any kernel: with ``m`` landmark rows Z,

    phi(x) = k(x, Z) k(Z, Z)^(-1/2),    phi(x) . phi(z) ~ k(x, z)    (Nystrom)

so a model costs ``n m`` kernel values in place of ``n^2``.  For few features the weighted sum of
one-feature kernels has a better one, feature by feature: ``path_kernels.ExplicitMap``.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC, LinearSVR

from kernelpath.predictors.base import Fitted, Request, TrainingRows, outputs_for
from kernelpath.predictors.libsvm import EPSILON, SVMHead, calibrate, standardised
from kernelpath.tables.table import Table, take_columns

N_LANDMARKS = 500
MOST_COMPONENTS = 1000  # of the maps feature by feature; beyond, landmarks are cheaper
BLOCK_ROWS = 4096
SMALLEST_EIGENVALUE = 1e-10  # relative; directions below are noise


@dataclass(frozen=True)
class LinearHead(SVMHead):
    """Decisions of a linear SVM on mapped rows; more than two classes are one against the rest."""

    def decision(self, K: NDArray[np.float64]) -> NDArray[np.float64]:
        """Signed distance; one column per class for more than two."""
        pairs = self.pairs(K)
        return pairs[:, 0] if pairs.shape[1] == 1 else pairs


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
class MappedModel:
    """A linear SVM behind a feature map."""

    name: str
    feature_map: Any
    head: LinearHead

    def kernel(self, rows: Table) -> NDArray[np.float64]:
        """Mapped rows, which the head multiplies with its coefficients."""
        return self.feature_map.transform(rows)


@dataclass(frozen=True)
class ColumnMap:
    """One map per column, of the columns that a point uses."""

    columns: NDArray[np.intp]
    explicit: Any

    def transform(self, rows: Table) -> Any:
        """Mapped rows."""
        return self.explicit.transform(take_columns(rows.values, self.columns))


@dataclass(frozen=True)
class Ready:
    """A machine that is already made."""

    made: MappedModel

    def machine(self) -> MappedModel:
        """Return the machine."""
        return self.made


def mapped_models(
    name: str,
    feature_map: Any,
    part: TrainingRows,
    request: Request,
    new: Table | None,
) -> Iterator[Fitted]:
    """Fit linear SVMs behind one feature map, for every value of ``C``."""
    k, settings = request
    if not settings:
        return
    heads = fit_linear(feature_map.transform(part.rows), part, [s["C"] for s in settings])
    mapped_new = None if new is None else feature_map.transform(new)
    for setting in settings:
        head = heads[setting["C"]]
        bound = None if mapped_new is None else outputs_for(head, mapped_new, part.task)
        yield k, setting, bound, Ready(MappedModel(name, feature_map, head))


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
    weights = task.code_weights(y, weight)
    svc = LinearSVC(C=C, class_weight=weights, dual=False).fit(mapped, y, sample_weight=weight)
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
