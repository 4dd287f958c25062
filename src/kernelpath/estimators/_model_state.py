"""Fitted machines as arrays and JSON, and back; what the file of a model is made of."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np
from scipy import sparse

from kernelpath.kernels import KERNELS, formula_code, resolve_kernel
from kernelpath.path_kernels.explicit import CATEGORIES, NYSTROM, ExplicitMap
from kernelpath.predictors.joint_rbf import JointRBFModel, Scaling
from kernelpath.predictors.libsvm import SVMHead, Task
from kernelpath.predictors.nystrom import ColumnMap, LandmarkMap, LinearHead, MappedModel
from kernelpath.predictors.weighted_kernel import WeightedKernelModel
from kernelpath.utils.archive_forms import REAL, WHOLE, Form, checked_text, named, within

Arrays = dict[str, np.ndarray]
State = tuple[dict[str, Any], Arrays]
TABLE = "f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1"  # rows are kept as they were given


def pack_matrix(name: str, matrix: Any) -> Arrays:
    """Arrays of a dense or sparse matrix."""
    if not sparse.issparse(matrix):
        return {name: np.asarray(matrix)}
    rows = sparse.csr_array(matrix)
    return {
        f"{name}.data": rows.data,
        f"{name}.indices": rows.indices,
        f"{name}.indptr": rows.indptr,
        f"{name}.shape": np.array(rows.shape),
    }


def unpack_matrix(name: str, arrays: Arrays) -> Any:
    """Dense or sparse matrix from its arrays; a ValueError if they do not fit."""
    if name in arrays:
        return arrays[name]
    parts = tuple(arrays[f"{name}.{part}"].copy() for part in ("data", "indices", "indptr"))
    matrix = sparse.csr_array(parts, shape=tuple(arrays[f"{name}.shape"].tolist()))
    matrix.check_format(full_check=True)
    return matrix


def matrix_forms(name: str, rows: str, columns: str) -> dict[str, Form]:
    """What the arrays of a matrix must be."""
    own = f"{name} entries"
    return {
        name: Form(TABLE, (rows, columns), optional=True),
        f"{name}.data": Form(TABLE, (own,), optional=True),
        f"{name}.indices": Form(WHOLE, (own,), low=0, optional=True),
        f"{name}.indptr": Form(WHOLE, (f"{rows} + 1",), low=0, optional=True),
        f"{name}.shape": Form(WHOLE, (2,), low=0, optional=True),
    }


#: What the arrays of a head must be; a machine that serves a map has none.
HEAD = {
    "dual_coef": Form(REAL, ("outputs", "rows"), optional=True),
    "intercept": Form(REAL, ("outputs",), optional=True),
    "target": Form(REAL, (2,), optional=True),
    "head_classes": Form("i8", ("classes",), low=0, optional=True),
    "calibration": Form(REAL, ("calibrated", "decisions + 1"), optional=True),
}


def head_arrays(head: SVMHead | None) -> Arrays:
    """Arrays of the decision part of a machine; none for the kernel of a map."""
    if head is None:
        return {}
    arrays: Arrays = {
        "dual_coef": head.dual_coef,
        "intercept": head.intercept,
        "target": head.target,
    }
    if head.classes is not None:
        arrays["head_classes"] = head.classes
    if head.calibration is not None:
        arrays["calibration"] = head.calibration
    return arrays


def head_from(arrays: Arrays, task: Task, kind: type[SVMHead] = SVMHead) -> Any:
    """Build the decision part again; a ValueError if it does not fit the task."""
    if "dual_coef" not in arrays:
        return None
    coef, classes = arrays["dual_coef"], arrays.get("head_classes")
    known = 0 if task.classes is None else len(task.classes)
    if (classes is None) != (task.classes is None):
        raise ValueError("the machine is for another task")
    if len(coef) != _n_outputs(classes, kind):
        raise ValueError("the number of decisions does not fit the classes")
    if classes is not None and not (np.diff(classes) > 0).all():
        raise ValueError("the classes of the machine are not in order")
    if classes is not None and (len(classes) < 2 or classes[-1] >= known):
        raise ValueError("the classes of the machine are not those of the model")
    calibration = arrays.get("calibration")
    if calibration is not None:
        n_classes = 0 if classes is None else len(classes)
        shape = (1, 2) if n_classes == 2 else (n_classes, n_classes + 1)
        if classes is None or calibration.shape != shape:
            raise ValueError("the calibration does not fit the classes")
    support = np.arange(coef.shape[1])
    return kind(support, coef, arrays["intercept"], classes, arrays["target"], calibration)


def _n_outputs(classes: np.ndarray | None, kind: type[SVMHead]) -> int:
    """Rows of the coefficients: one decision, one per pair of classes, or one per class."""
    n = 0 if classes is None else len(classes)
    if n <= 2:
        return 1
    return n if kind is LinearHead else n * (n - 1) // 2


WEIGHTED = {
    "columns": Form(WHOLE, ("used",), low=0),
    "which": Form(WHOLE, ("used",), low=0),
    "gamma": Form(REAL, ("used",), low=0),
    "center": Form(REAL, ("used",)),
    "weights": Form(REAL, ("used",), low=0),
    **matrix_forms("support_values", "rows", "used"),
}
JOINT = {
    "columns": Form(WHOLE, ("used",), low=0),
    "mean": Form(REAL, ("used",)),
    "scale": Form(REAL, ("used",), low=0),
    "categorical": Form("b1", ("used",)),
    **matrix_forms("support_values", "rows", "used"),
}


def _support_values(arrays: Arrays) -> Any:
    """Rows of a machine; a ValueError if they do not fit its columns and coefficients."""
    values = unpack_matrix("support_values", arrays)
    stored = values.data if sparse.issparse(values) else values
    if stored.dtype.kind == "f" and not np.isfinite(stored).all():
        raise ValueError("the rows of the machine hold NaN or infinity")
    n_rows = arrays["dual_coef"].shape[1] if "dual_coef" in arrays else values.shape[0]
    if values.shape != (n_rows, len(arrays["columns"])):
        raise ValueError("the rows of the machine do not fit its columns and coefficients")
    return values


def weighted_state(machine: WeightedKernelModel) -> State:
    """State of a machine on a weighted sum of kernels."""
    kernels = []
    for kernel in machine.kernels:
        if type(kernel) is not KERNELS.get(kernel.name):
            raise ValueError(f"the kernel {kernel!r} is not one of kernelpath and cannot be saved")
        kernels.append({"name": kernel.name, "settings": asdict(kernel)})
    names = ("columns", "which", "gamma", "center", "weights")
    arrays = {name: getattr(machine, name) for name in names}
    arrays |= pack_matrix("support_values", machine.support_values) | head_arrays(machine.head)
    return {"kernels": kernels}, arrays


def weighted_from(meta: dict[str, Any], arrays: Arrays, task: Task) -> WeightedKernelModel:
    """Build the machine again."""
    kernels = tuple(KERNELS[k["name"]](**k["settings"]) for k in meta["kernels"])
    if len(arrays["which"]) and arrays["which"].max() >= len(kernels):
        raise ValueError("a column has a kernel that is not there")
    return WeightedKernelModel(
        columns=arrays["columns"],
        support_values=_support_values(arrays),
        kernels=kernels,
        which=arrays["which"],
        gamma=arrays["gamma"],
        center=arrays["center"],
        weights=arrays["weights"],
        head=head_from(arrays, task),
    )


def joint_state(machine: JointRBFModel) -> State:
    """State of an RBF machine."""
    scaling = machine.scaling
    arrays = {
        "columns": machine.columns,
        "mean": scaling.mean,
        "scale": scaling.scale,
        "categorical": scaling.categorical,
    }
    arrays |= pack_matrix("support_values", machine.support_values) | head_arrays(machine.head)
    return {"rate": float(machine.rate)}, arrays


def joint_from(meta: dict[str, Any], arrays: Arrays, task: Task) -> JointRBFModel:
    """Build the machine again."""
    rate = meta["rate"]
    if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 <= rate < np.inf:
        raise ValueError(f"the rate of the kernel is {rate!r}")
    scaling = Scaling(arrays["mean"], arrays["scale"], arrays["categorical"])
    values = _support_values(arrays)
    return JointRBFModel(arrays["columns"], values, scaling, float(rate), head_from(arrays, task))


def mapped_state(machine: MappedModel) -> State:
    """State of a linear SVM behind a feature map."""
    arrays = head_arrays(machine.head)
    feature_map = machine.feature_map
    if isinstance(feature_map, ColumnMap):
        arrays |= {f"map/{k}": v for k, v in feature_map.explicit.to_arrays().items()}
        return {"map": "columns", "name": machine.name}, arrays | {"columns": feature_map.columns}
    kind, meta, own = machine_state(feature_map.machine)
    arrays |= {f"map/{key}": value for key, value in own.items()}
    arrays |= {"root": feature_map.root, "means": feature_map.means}
    return {"map": kind, "meta": meta, "name": machine.name}, arrays


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


MAPPED = {
    "columns": Form(WHOLE, ("used",), low=0, optional=True),
    "root": Form(REAL, ("landmarks", "rows"), optional=True),
    "means": Form(REAL, ("landmarks",), optional=True),
}


def mapped_from(meta: dict[str, Any], arrays: Arrays, task: Task) -> MappedModel:
    """Build the machine again."""
    checked_text(meta, "name")
    own = {k.removeprefix("map/"): v for k, v in arrays.items() if k.startswith("map/")}
    feature_map: Any
    if meta["map"] == "columns":
        feature_map = ColumnMap(arrays["columns"], ExplicitMap.from_arrays(own))
        n_out = _checked_map(feature_map.explicit, len(arrays["columns"])).n_out
    else:
        inner = machine_from(meta["map"], meta["meta"], own, task)
        feature_map = LandmarkMap(inner, arrays["root"], arrays["means"])
        n_out = arrays["root"].shape[1]
        if inner.support_values.shape[0] != len(arrays["root"]):
            raise ValueError("the map has other landmarks than its kernel")
    head = head_from(arrays, task, LinearHead)
    if head is None or head.dual_coef.shape[1] != n_out:
        raise ValueError("the coefficients do not fit the map")
    return MappedModel(meta["name"], feature_map, head)


#: Kind of machine -> how it is taken apart and put together, and the forms of its arrays.
STATES: dict[str, tuple[Any, Any, Any, dict[str, Form]]] = {
    "weighted_kernel": (WeightedKernelModel, weighted_state, weighted_from, WEIGHTED),
    "joint_rbf": (JointRBFModel, joint_state, joint_from, JOINT),
    "mapped": (MappedModel, mapped_state, mapped_from, MAPPED),
}


def machine_forms(kind: str, meta: dict[str, Any], n_columns: int) -> dict[str, Form]:
    """What the arrays of a machine must be; a ValueError for a kind that is not known."""
    if kind not in STATES:
        raise ValueError(f"the kind of machine {str(kind)[:40]!r} is unknown")
    own = HEAD | STATES[kind][3]
    own["columns"] = replace(own["columns"], high=n_columns - 1)
    if kind == "mapped" and meta["map"] == "columns":
        known = max(formula_code(resolve_kernel(name)) for name in KERNELS)
        forms = EXPLICIT | {"codes": replace(EXPLICIT["codes"], high=known)}
        own = own | named("map/", {name: within(form, "map ") for name, form in forms.items()})
    elif kind == "mapped":
        if meta["map"] == "mapped":
            raise ValueError("a map of a map")
        inner = machine_forms(meta["map"], meta["meta"], n_columns)
        own = own | named("map/", {name: within(form, "map ") for name, form in inner.items()})
    return own


def machine_state(machine: Any) -> tuple[str, dict[str, Any], Arrays]:
    """Kind, settings and arrays of a machine."""
    for kind, (cls, take_apart, _, _) in STATES.items():
        if type(machine) is cls:
            return kind, *take_apart(machine)
    kind = type(getattr(machine, "estimator", machine)).__name__
    raise ValueError(
        f"a model of the type {kind} cannot be saved without pickle; use "
        "predictor='auto', 'weighted_kernel' or 'joint_rbf', or save it with joblib or skops"
    )


def machine_from(kind: str, meta: dict[str, Any], arrays: Arrays, task: Task) -> Any:
    """Machine from its state, its arrays of the right forms; a ValueError if they do not fit."""
    return STATES[kind][2](meta, arrays, task)
