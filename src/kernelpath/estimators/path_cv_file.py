"""A fitted :class:`PathCV` as one file: arrays and JSON in the sealed container, no pickle.

Only models of this package can be saved so; an arbitrary estimator would need pickle.  The file
holds the path, the scores, the operating point and the models, not the training rows.
"""

from __future__ import annotations

import io
import os
from dataclasses import asdict
from typing import Any, BinaryIO

import numpy as np

from kernelpath.archive import (
    MODEL,
    building,
    decode_names,
    encode_names,
    read_archive,
    saving,
    write_archive,
)
from kernelpath.encoding import TableEncoder
from kernelpath.estimators._path_cv_setup import resolve_scorer
from kernelpath.estimators.lp_kta import LpKTASelector
from kernelpath.estimators.path_cv import PathCV
from kernelpath.evaluation.tuning import Choice
from kernelpath.nested import NestedScore
from kernelpath.operating_point import OperatingPoint
from kernelpath.path_file import load_path, save_path
from kernelpath.predictors.joint_rbf import JointRBFSVM
from kernelpath.predictors.models import ConstantModel, KernelModel
from kernelpath.predictors.state import machine_from, machine_state
from kernelpath.predictors.svm import Task
from kernelpath.predictors.weighted_kernel import WeightedKernelSVM
from kernelpath.progress import working
from kernelpath.provenance import versions
from kernelpath.scoring import PathScores
from kernelpath.stability import stability_of

PREDICTORS = {"WeightedKernelSVM": WeightedKernelSVM, "JointRBFSVM": JointRBFSVM}
SAVED_PARAMETERS = (
    "predictor", "cv", "scoring", "rule", "n_features", "n_jobs", "verbose", "random_state",
    "budget", "tolerance", "inner_cv", "nested", "class_weight", "probability", "task",
    "memory_limit",
)  # fmt: skip


@working("writing")
def save_model(model: PathCV, file: str | os.PathLike | BinaryIO) -> None:
    """Write a fitted PathCV, whole or not at all; see :meth:`PathCV.save`."""
    header: dict[str, Any] = {
        "task": model.task_,
        "n_features_in": model.n_features_in_,
        "has_names": hasattr(model, "feature_names_in_"),
        "parameters": _parameters(model),
        "selector": _selector_state(model.selector),
        "versions": versions(),
    }
    arrays: dict[str, np.ndarray] = {"path": _path_bytes(model)}
    header["classes"], labels = _label_arrays(getattr(model, "classes_", None))
    arrays |= labels
    if header["has_names"]:
        arrays |= encode_names([str(name) for name in model.feature_names_in_])
    header["categories"] = _category_lists(model._encoder)
    header["frame"] = model._encoder.names is not None
    if model._encoder.exponents is not None:  # units of huge and tiny columns
        arrays["exponents"] = model._encoder.exponents
    parts: dict[str, Any] = {"scores": model.scores_, "point": model.operating_point_}
    parts |= {f"baseline {name}": s for name, s in getattr(model, "baseline_scores_", {}).items()}
    header["parts"] = {}
    for name, part in parts.items():
        header["parts"][name], own = part.to_state()
        arrays |= {f"{name}/{key}": value for key, value in own.items()}
    if hasattr(model, "nested_score_"):
        arrays["nested/per_fold"] = model.nested_score_.per_fold
        arrays["nested/n_features"] = model.nested_score_.n_features
    header["models"] = {}
    for k, fitted in model._models.items():
        kind, meta, own = _model_state(fitted)
        settings = model._choices[k].setting if k in model._choices else {}
        header["models"][str(k)] = {"kind": kind, "meta": meta, "settings": settings}
        arrays |= {f"model {k}/{key}": value for key, value in own.items()}
    with saving(MODEL, file):
        write_archive(MODEL, file, header, arrays)


@working("reading")
def load_model(file: str | os.PathLike | BinaryIO) -> PathCV:
    """Read a model that :meth:`PathCV.save` wrote, refusing a file with any byte changed.

    Parameters
    ----------
    file : str, path-like or readable binary file

    Returns
    -------
    PathCV
        Predicts, transforms and plots as before; it has no training rows, so other numbers of
        features than those saved need a new ``fit``.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    PathFileError
        If the file is truncated, altered, of a newer format, or not a saved model at all.

    Examples
    --------
    >>> import io
    >>> import kernelpath as kp
    >>> data = kp.datasets.make_ring(n_samples=150, n_features=10, random_state=0)
    >>> model = kp.PathCV(cv=3, n_features=[1, 2, 4]).fit(data.X, data.y)
    >>> file = io.BytesIO()
    >>> model.save(file)
    >>> again = kp.load_model(io.BytesIO(file.getvalue()))
    >>> bool((again.predict(data.X) == model.predict(data.X)).all())
    True
    """
    header, arrays, label = read_archive(MODEL, file)
    with building(MODEL, label):
        return _build(header, arrays)


def _build(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> PathCV:
    parameters = dict(header["parameters"])
    if isinstance(parameters.get("predictor"), dict):
        saved = parameters["predictor"]
        parameters["predictor"] = PREDICTORS[saved["kind"]](
            **{name: tuple(values) for name, values in saved["settings"].items()}
        )
    selector = header["selector"]
    model = PathCV(None if selector is None else LpKTASelector(**selector), **parameters)
    model.task_ = header["task"]
    model.n_features_in_ = int(header["n_features_in"])
    classes = _labels(header["classes"], arrays)
    if classes is not None:
        model.classes_ = classes
    if header["has_names"]:
        model.feature_names_in_ = np.array(decode_names(arrays), dtype=object)
    names = model.feature_names_in_ if header["frame"] else None
    categories = {int(column): values for column, values in header["categories"].items()}
    exponents = _exponents(arrays.get("exponents"), model.n_features_in_)
    model._encoder = TableEncoder(model.n_features_in_, names, categories, exponents)
    model.path_ = load_path(io.BytesIO(arrays["path"].tobytes()))
    parts = {name: _own(arrays, name) for name in header["parts"]}
    states = {name: (header["parts"][name], parts[name]) for name in parts}
    model.scores_ = PathScores.from_state(*states.pop("scores"))
    model.operating_point_ = OperatingPoint.from_state(*states.pop("point"))
    model.baseline_scores_ = {
        name.removeprefix("baseline "): PathScores.from_state(*state)
        for name, state in states.items()
    }
    model.stability_ = stability_of(model.scores_, model.path_.feature_names)
    if "nested/per_fold" in arrays:
        own = _own(arrays, "nested")
        model.nested_score_ = NestedScore(**own, scoring=model.scores_.scoring)
    task = Task(model.task_, classes, None, model.probability)
    model._models = {
        int(k): _model(saved, _own(arrays, f"model {k}"), task)
        for k, saved in header["models"].items()
    }
    model._choices = {
        int(k): Choice(-1, saved["settings"], float("nan")) for k, saved in header["models"].items()
    }
    model.model_ = model._models[model.operating_point_.n_features]
    if "scoring" in parameters:  # a function cannot be saved
        model.scorer_, _ = resolve_scorer(parameters["scoring"], model.task_)
    return model


def _model_state(fitted: Any) -> tuple[str, dict[str, Any], dict[str, np.ndarray]]:
    if isinstance(fitted, ConstantModel):
        return ConstantModel.name, {}, {"value": fitted.value}
    return machine_state(fitted.machine if isinstance(fitted, KernelModel) else fitted)


def _model(saved: dict[str, Any], arrays: dict[str, np.ndarray], task: Task) -> Any:
    if saved["kind"] == ConstantModel.name:
        if len(arrays["value"]) != (1 if task.classes is None else len(task.classes)):
            raise ValueError("the constant prediction does not fit the classes")
        return ConstantModel(arrays["value"], task.classes)
    return KernelModel(machine_from(saved["kind"], saved["meta"], arrays), task)


def _own(arrays: dict[str, np.ndarray], name: str) -> dict[str, np.ndarray]:
    """Arrays of one part, by the names that the part gave them."""
    prefix = f"{name}/"
    return {key.removeprefix(prefix): a for key, a in arrays.items() if key.startswith(prefix)}


def _path_bytes(model: PathCV) -> np.ndarray:
    buffer = io.BytesIO()
    save_path(model.path_, buffer)
    return np.frombuffer(buffer.getvalue(), np.uint8)


def _parameters(model: PathCV) -> dict[str, Any]:
    """Parameters that JSON can hold; others fall back to their defaults when loaded."""
    kept: dict[str, Any] = {}
    for name in SAVED_PARAMETERS:
        value = getattr(model, name)
        if name == "predictor" and type(value).__name__ in PREDICTORS:
            settings = {key: np.atleast_1d(v).tolist() for key, v in asdict(value).items()}
            kept[name] = {"kind": type(value).__name__, "settings": settings}
        elif _is_plain(value):
            kept[name] = _as_json(value)
    return kept


def _as_json(value: Any) -> Any:
    """Plain numbers in place of NumPy's."""
    if isinstance(value, list | tuple):
        return [_as_json(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value


def _is_plain(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(_is_plain(item) for item in value)
    if isinstance(value, np.generic):
        return True
    return value is None or isinstance(value, str | int | float | bool)


def _selector_state(selector: Any) -> dict[str, Any] | None:
    """Settings of the package's own selector; None for others, which predicting does not need."""
    if not isinstance(selector, LpKTASelector):
        return None
    settings = selector.get_params(deep=False).items()
    return {name: _as_json(value) for name, value in settings if _is_plain(value)}


def _label_arrays(classes: np.ndarray | None) -> tuple[str | None, dict[str, np.ndarray]]:
    """Labels as an array, or as text."""
    if classes is None:
        return None, {}
    if classes.dtype.kind in "biuf":
        return "numbers", {"classes": classes}
    return "text", encode_names([str(label) for label in classes], "class_labels")


def _labels(kind: str | None, arrays: dict[str, np.ndarray]) -> np.ndarray | None:
    if kind is None:
        return None
    if kind == "numbers":
        return arrays["classes"]
    return np.array(decode_names(arrays, "class_labels"))


def _exponents(found: np.ndarray | None, n_columns: int) -> np.ndarray | None:
    """Units of the columns; a ValueError if they are not one whole number for each."""
    if found is None:
        return None
    if found.dtype.kind != "i" or found.shape != (n_columns,) or np.abs(found).max() > 2000:
        raise ValueError("units that do not fit the columns")
    return found.astype(np.int64)


def _category_lists(encoder: TableEncoder) -> dict[str, list]:
    """Categories as JSON holds them: text, numbers and truth values."""
    for column, values in encoder.categories.items():
        if not all(isinstance(value, str | int | float | bool) for value in values):
            name = column if encoder.names is None else encoder.names[column]
            raise ValueError(
                f"the categories of column {name!r} are neither text nor numbers and cannot be "
                "saved"
            )
    return {str(column): values for column, values in encoder.categories.items()}
