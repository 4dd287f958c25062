"""The target of PathCV: what it is taken for, and the settings that it must fit."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from kernelpath.errors import ConstantColumnWarning, DataError, naming
from kernelpath.predictors.choice import task_of
from kernelpath.tables.any_target import IN_WORDS, SURVIVAL, encode_any, kind_of
from kernelpath.tables.outputs import OUTPUTS
from kernelpath.tables.targets import encode_target, say_how_it_is_read
from kernelpath.utils import checks

if TYPE_CHECKING:
    from kernelpath.estimators.path_cv import PathCV

SMALLEST_CLASS_WEIGHT = 1e-9


def check_target(
    model: PathCV, y: NDArray, sample_weight: Any, own: bool
) -> tuple[str, NDArray | None, NDArray]:
    """Task, classes and target; settings that are for classes need some."""
    joint = kind_of(y)
    if joint is not None:
        _check_joint(model, y, joint, sample_weight, own)
        return joint, None, y
    kind = task_of(y, model.task, model.predictor)
    if own and model.predictor != "ridge":  # those of others are of one kind
        say_how_it_is_read(y, model.task)
    classes = encode_target(y, task=kind, sample_weight=sample_weight).classes
    if kind == "regression":
        y = y.astype(np.float64)
    else:
        _check_labels(y)
    if model.probability and kind == "regression":
        error = DataError(
            "probability=True has no effect on a continuous target, which has no classes; leave it "
            "out"
        )
        raise naming(error, "probability")
    _check_class_weight(model.class_weight, classes, own)
    return kind, classes, y


def _check_labels(y: NDArray) -> None:
    """Refuse fractions as labels: scikit-learn's measures take them for a continuous target."""
    if y.dtype.kind == "f" and np.any(y != np.floor(y)):
        values = ", ".join(f"{value:g}" for value in np.unique(y)[:3])
        error = DataError(
            f"Unknown label type: the classes in y are fractions ({values}). Give labels that are "
            "whole numbers or text, as with y.astype(str), or set task='regression'."
        )
        raise naming(error, "task")


def _check_class_weight(class_weight: Any, classes: NDArray | None, own: bool) -> None:
    """Refuse weights of classes that are not there, or that nobody would use."""
    if class_weight is None or (isinstance(class_weight, str) and class_weight == "auto"):
        return
    if not own:
        raise ValueError(
            "class_weight is for the SVMs of this package; set it in the predictor instead"
        )
    if classes is None:
        error = DataError(
            f"class_weight={class_weight!r} needs classes, but the target is continuous; leave it "
            "out, or set task='classification'"
        )
        raise naming(error, "class_weight", "task")
    if isinstance(class_weight, str) and class_weight == "balanced":
        return
    if not isinstance(class_weight, dict):
        raise ValueError(
            f"class_weight must be None, 'auto', 'balanced' or a dict, got {class_weight!r}"
        )
    _check_weight_of_each(class_weight, classes)


def _check_weight_of_each(class_weight: dict[Any, Any], classes: NDArray) -> None:
    unknown = [label for label in class_weight if label not in classes.tolist()]
    if unknown:
        raise ValueError(f"class_weight names classes that y does not hold: {unknown}")
    least, most = SMALLEST_CLASS_WEIGHT, 1 / SMALLEST_CLASS_WEIGHT
    for label, weight in class_weight.items():
        if not (checks.is_number(weight) and least <= weight <= most):
            raise ValueError(
                f"class_weight must be from {least:g} to {most:g} for every class, got {weight!r} "
                f"for {label!r}"
            )


# -- several columns, and survival times -----------------------------------------------------------


def _check_joint(model: PathCV, y: Any, kind: str, sample_weight: Any, own: bool) -> None:
    """Refuse a target of several columns or fields with settings that are for one column."""
    if own or model.scoring is None:
        example = (
            "predictor=KNeighborsRegressor() and scoring='r2'"
            if kind == OUTPUTS
            else "a model of scikit-survival and its concordance"
        )
        error = DataError(
            f"y holds {IN_WORDS[kind]}: give a predictor and a scoring that take it, predictor= "
            f"and scoring=, such as {example}."
        )
        raise naming(error, "predictor", "scoring")
    if isinstance(model.references, str | list | tuple) and len(model.references):
        error = DataError(
            f"references={model.references!r} are models of one column, but y holds "
            f"{IN_WORDS[kind]}; leave them out."
        )
        raise naming(error, "references")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstantColumnWarning)  # which the selector names
        encode_any(y, task=model.task, sample_weight=sample_weight)
    _check_class_weight(model.class_weight, None, own)


def selector_task(kind: str, asked: str) -> str:
    """Task that is said to a selector: that of the residuals; several columns have one each."""
    if kind == OUTPUTS:
        return asked
    return "regression" if kind == SURVIVAL else kind


def refuse_by_name(kind: str, name: str) -> None:
    """Refuse a baseline by name where the target has several columns."""
    if kind == OUTPUTS:
        error = DataError(
            f"The baseline {name} takes one column as target, but y holds {IN_WORDS[kind]}; leave "
            "it out of baselines, or give a selector that takes them."
        )
        raise naming(error, "baselines")


def with_task(selector: Any, task: str) -> Any:
    """Say the task to a selector that would guess it anew in every fold."""
    if hasattr(selector, "get_params") and selector.get_params(deep=False).get("task") == "auto":
        return clone(selector).set_params(task=task)
    return selector
