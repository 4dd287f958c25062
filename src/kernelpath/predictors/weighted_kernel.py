"""SVM on the weighted sum of one-feature kernels, as in the papers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelpath.kernels import KERNELS, FeatureKernel
from kernelpath.path_kernels import KernelBank, cross_kernel
from kernelpath.path_kernels.explicit import ExplicitMap
from kernelpath.predictors.base import (
    Candidate,
    Request,
    Setting,
    TrainingRows,
    checked_grid,
    outputs_for,
    union_of,
)
from kernelpath.predictors.models import KernelModel
from kernelpath.predictors.nystrom import (
    MOST_COMPONENTS,
    ColumnMap,
    LandmarkMap,
    landmarks,
    mapped_models,
)
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

N_COMPONENTS = 10  # of the map of one feature
#: What the arrays of a saved model must be.
FORMS = {
    "columns": Form(WHOLE, ("used",), low=0),
    "which": Form(WHOLE, ("used",), low=0),
    "gamma": Form(REAL, ("used",), low=0),
    "center": Form(REAL, ("used",)),
    "weights": Form(REAL, ("used",), low=0),
    **matrix_forms("support_values", "rows", "used"),
}


@dataclass(frozen=True)
class WeightedKernelSVM:
    r"""SVM on :math:`\sum_i w_i K_i`, with the weights of the path.

    Every base kernel is centred and has trace 1 on the training rows; their sum is scaled to mean
    diagonal 1, so that ``C`` means the same at every size.  A selector that gives no weights is
    served by the alignments of the chosen features.

    Parameters
    ----------
    C : float or sequence of float
        Values to choose from, inside the training part.

    Examples
    --------
    >>> import kernelpath as kp
    >>> data = kp.datasets.make_additive(n_samples=150, n_features=20, random_state=0)
    >>> predictor = kp.WeightedKernelSVM(C=(1.0, 10.0))
    >>> model = kp.PathCV(kp.LpKTASelector(), predictor=predictor, n_features=[2, 4], cv=3)
    >>> model.fit(data.X, data.y).operating_point_.predictor
    'weighted_kernel'
    """

    C: float | Sequence[float] = (1.0, 0.1, 10.0, 100.0)
    name = "weighted_kernel"

    def settings(self, n_rows: int) -> list[Setting]:
        """Values of ``C``."""
        return [{"C": C} for C in checked_grid("C", self.C)]

    def models(
        self, part: TrainingRows, requests: Sequence[Request], new: Table | None
    ) -> Iterator[Candidate]:
        """Fit at every size; the base kernels are computed once for all of them."""
        if not requests:
            return
        points = [part.traced.at(k) for k, _ in requests]
        columns = union_of(points)
        bank = _bank(part, columns)
        total = part.rows.n_rows if part.sample_weight is None else part.sample_weight.sum()
        weights = _weight_matrix(points, columns, bank, float(total))
        if part.large:
            for request, row in zip(requests, weights):
                if not request[1]:
                    continue
                feature_map = _feature_map(part, bank, columns, row)
                yield from mapped_models(self.name, feature_map, part, request, new)
            return
        new_values = None if new is None else take_columns(new.values, columns)
        # A search over many points is limited by the kernels; the errors of single precision are
        # far below the tolerance of the solver.  One model, such as the refitted one, is cheap.
        precision = "single" if len(requests) > 1 else "double"
        combined = bank.combine(
            weights, new_values, memory_limit=part.memory_limit, precision=precision
        )
        for (k, settings), row, kernel in zip(requests, weights, combined):
            heads = fit_svms(
                kernel.train, part.codes, part.task, [setting["C"] for setting in settings],
                sample_weight=part.sample_weight, quick=part.quick, rows=part.distinct,
            )  # fmt: skip
            for setting in settings:
                head = heads[setting["C"]]
                outputs = None
                if kernel.new is not None:
                    outputs = outputs_for(head, kernel.new[:, head.support], part.task)
                own = (bank, columns, row, head, kernel.column_means, part.task)
                yield Candidate(k, setting, outputs, partial(_model, *own))


def _feature_map(
    part: TrainingRows, bank: KernelBank, columns: NDArray[np.intp], weights: NDArray[np.float64]
) -> Any:
    """Explicit map of a point: feature by feature while that is small, by landmarks beyond.

    Kernels of the user's own take landmarks: the map of a feature is made of numbers alone.
    """
    active = np.flatnonzero(bank.point_weights(weights))
    compiled = bank.column_kernels(active).own is None
    if compiled and N_COMPONENTS * len(active) <= MOST_COMPONENTS:
        explicit = ExplicitMap.fit(bank.take(active), weights[active], n_components=N_COMPONENTS)
        return ColumnMap(columns[active], explicit)
    rows = landmarks(part)
    machine = _machine(bank, columns, weights, rows, None)
    return LandmarkMap.fit(machine, part.rows.take(rows))


def _bank(part: TrainingRows, columns: NDArray[np.intp]) -> KernelBank:
    table = part.rows
    options = dict(part.traced.kernel or {"kernel": "auto"})
    for name in ("gamma", "each_width"):
        if name in options and np.ndim(options[name]) == 1:
            options[name] = np.asarray(options[name])[columns]
    return KernelBank.fit(
        table.of_columns(columns, take_columns(table.values, columns)),
        part.y,
        sample_weight=part.sample_weight,
        task=part.task.kind,
        n_jobs=part.n_jobs,
        **options,
    )


def _weight_matrix(
    points: Sequence[SizedPoint], columns: NDArray[np.intp], bank: KernelBank, total: float
) -> NDArray[np.float64]:
    """Weights of all points; each kernel has mean diagonal 1 over rows that weigh ``total``."""
    weights = np.zeros((len(points), len(columns)))
    for row, point in zip(weights, points):
        where = np.searchsorted(columns, point.columns)
        row[where] = bank.alignments[where] if point.weights is None else point.weights
        row[bank.constant] = 0.0
        if not row.any():  # chosen without any weight: all count alike
            row[where] = 1.0
            row[bank.constant] = 0.0
        row *= total / (row.sum() or 1.0)
    return weights


def _model(
    bank: KernelBank,
    columns: NDArray[np.intp],
    weights: NDArray[np.float64],
    head: SVMHead,
    column_means: NDArray[np.float64],
    task: Task,
) -> KernelModel:
    """Model that reads new rows, with support rows and used columns only."""
    # Coefficients of a pair sum to zero, so centring with the training rows only moves b.
    shift = head.dual_coef @ column_means[head.support]
    support = np.arange(len(head.support))
    moved = replace(head, support=support, intercept=head.intercept - shift)
    return KernelModel(_machine(bank, columns, weights, head.support, moved), task)


def _machine(
    bank: KernelBank,
    columns: NDArray[np.intp],
    weights: NDArray[np.float64],
    rows: NDArray[np.intp],
    head: SVMHead | None,
) -> WeightedKernelModel:
    """Machine with some training rows, and the columns that have a weight."""
    raw = bank.point_weights(weights)
    used = np.flatnonzero(raw)
    values = take_columns(bank.values, used)
    return WeightedKernelModel(
        columns=columns[used],
        support_values=values.tocsr()[rows] if sparse.issparse(values) else values[rows],
        kernels=bank.kernels,
        which=bank.which[used],
        gamma=bank.gamma[used],
        center=bank.center[used],
        weights=raw[used],
        head=head,
    )


@saved_as("weighted_kernel")
@dataclass(frozen=True)
class WeightedKernelModel:
    """A fitted SVM on a weighted sum of one-feature kernels."""

    columns: NDArray[np.intp]
    support_values: Any
    kernels: tuple[FeatureKernel, ...]
    which: NDArray[np.intp]
    gamma: NDArray[np.float64]
    center: NDArray[np.float64]
    weights: NDArray[np.float64]
    head: SVMHead | None
    name = "weighted_kernel"

    def kernel(self, rows: Table) -> NDArray[np.float64]:
        """Kernel of new rows with the support rows."""
        values = take_columns(rows.values, self.columns)
        return cross_kernel(
            self.support_values, values, self.kernels, self.which, self.gamma, self.center,
            self.weights,
        )  # fmt: skip

    @classmethod
    def forms(cls, meta: dict[str, Any], n_columns: int) -> dict[str, Form]:
        """What the arrays of a saved one must be."""
        return of_columns(SVMHead.FORMS | FORMS, n_columns)

    def to_state(self) -> State:
        """Settings and arrays of a file."""
        kernels = []
        for kernel in self.kernels:
            if type(kernel) is not KERNELS.get(kernel.name):
                raise ValueError(
                    f"the kernel {kernel!r} is not one of kernelpath and cannot be saved"
                )
            kernels.append({"name": kernel.name, "settings": asdict(kernel)})
        names = ("columns", "which", "gamma", "center", "weights")
        arrays = {name: getattr(self, name) for name in names}
        arrays |= pack_matrix("support_values", self.support_values)
        return {"kernels": kernels}, arrays | head_arrays(self.head)

    @classmethod
    def from_state(cls, meta: dict[str, Any], arrays: Arrays, task: Task) -> WeightedKernelModel:
        """Build the model again."""
        kernels = tuple(KERNELS[k["name"]](**k["settings"]) for k in meta["kernels"])
        if len(arrays["which"]) and arrays["which"].max() >= len(kernels):
            raise ValueError("a column has a kernel that is not there")
        return cls(
            columns=arrays["columns"],
            support_values=support_values(arrays),
            kernels=kernels,
            which=arrays["which"],
            gamma=arrays["gamma"],
            center=arrays["center"],
            weights=arrays["weights"],
            head=SVMHead.from_arrays(arrays, task),
        )
