"""Fitted machines as arrays and JSON, and back; what the file of a model is made of."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

import numpy as np
from scipy import sparse

from kernelpath.kernels import KERNELS
from kernelpath.predictors.joint_rbf import JointRBFMachine, Scaling
from kernelpath.predictors.large import ColumnMap, LandmarkMap, LinearHead, MappedMachine
from kernelpath.predictors.svm import SVMHead
from kernelpath.predictors.weighted_kernel import WeightedKernelMachine

Arrays = dict[str, np.ndarray]
State = tuple[dict[str, Any], Arrays]


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


def head_from(arrays: Arrays) -> Any:
    """Build the decision part again."""
    if "dual_coef" not in arrays:
        return None
    coef = arrays["dual_coef"]
    if coef.ndim != 2 or arrays["intercept"].shape != (len(coef),):
        raise ValueError("coefficients and intercepts do not fit")
    return SVMHead(
        np.arange(coef.shape[1]),
        coef,
        arrays["intercept"],
        arrays.get("head_classes"),
        arrays["target"],
        arrays.get("calibration"),
    )


def weighted_state(machine: WeightedKernelMachine) -> State:
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


def weighted_from(meta: dict[str, Any], arrays: Arrays) -> WeightedKernelMachine:
    """Build the machine again."""
    kernels = tuple(KERNELS[k["name"]](**k["settings"]) for k in meta["kernels"])
    return WeightedKernelMachine(
        columns=arrays["columns"],
        support_values=unpack_matrix("support_values", arrays),
        kernels=kernels,
        which=arrays["which"],
        gamma=arrays["gamma"],
        center=arrays["center"],
        weights=arrays["weights"],
        head=head_from(arrays),
    )


def joint_state(machine: JointRBFMachine) -> State:
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


def joint_from(meta: dict[str, Any], arrays: Arrays) -> JointRBFMachine:
    """Build the machine again."""
    scaling = Scaling(arrays["mean"], arrays["scale"], arrays["categorical"])
    values = unpack_matrix("support_values", arrays)
    return JointRBFMachine(
        arrays["columns"], values, scaling, float(meta["rate"]), head_from(arrays)
    )


def mapped_state(machine: MappedMachine) -> State:
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


def mapped_from(meta: dict[str, Any], arrays: Arrays) -> MappedMachine:
    """Build the machine again."""
    own = {k.removeprefix("map/"): v for k, v in arrays.items() if k.startswith("map/")}
    feature_map: Any
    if meta["map"] == "columns":
        from kernelpath.combine.explicit import ExplicitMap

        feature_map = ColumnMap(arrays["columns"], ExplicitMap.from_arrays(own))
    else:
        inner = machine_from(meta["map"], meta["meta"], own)
        feature_map = LandmarkMap(inner, arrays["root"], arrays["means"])
    head = head_from(arrays)
    linear = LinearHead(*(getattr(head, field.name) for field in fields(SVMHead)))
    return MappedMachine(meta["name"], feature_map, linear)


#: Kind of machine -> how it is taken apart and put together.
STATES: dict[str, tuple[Any, Any, Any]] = {
    "weighted_kernel": (WeightedKernelMachine, weighted_state, weighted_from),
    "joint_rbf": (JointRBFMachine, joint_state, joint_from),
    "mapped": (MappedMachine, mapped_state, mapped_from),
}


def machine_state(machine: Any) -> tuple[str, dict[str, Any], Arrays]:
    """Kind, settings and arrays of a machine."""
    for kind, (cls, take_apart, _) in STATES.items():
        if type(machine) is cls:
            return kind, *take_apart(machine)
    kind = type(getattr(machine, "estimator", machine)).__name__
    raise ValueError(
        f"a model of the type {kind} cannot be saved without pickle; use "
        "predictor='auto', 'weighted_kernel' or 'joint_rbf', or save it with joblib or skops"
    )


def machine_from(kind: str, meta: dict[str, Any], arrays: Arrays) -> Any:
    """Machine from its state."""
    return STATES[kind][2](meta, arrays)
