"""A fitted :class:`PathCV` as one file: arrays and JSON in the sealed container, no pickle.

Only models of this package can be saved so; an arbitrary estimator would need pickle.  The file
holds the path, the scores, the operating point and the models, not the training rows.
"""

from __future__ import annotations

import io
import json
import math
import os
from functools import partial
from typing import Any, BinaryIO

import numpy as np

from kernelpath.errors import PathFileError
from kernelpath.estimators._path_cv_checks import check_switches
from kernelpath.estimators.lp_kta import LpKTASelector
from kernelpath.estimators.path_cv import PathCV
from kernelpath.estimators.saved_settings import SettingsWriter, decode, decode_all
from kernelpath.evaluation.cross_validation import FittedModel
from kernelpath.evaluation.leaks import Leak
from kernelpath.evaluation.measures import resolve_scorer
from kernelpath.evaluation.nested import NestedScore
from kernelpath.evaluation.operating_point import OperatingPoint, check_rule
from kernelpath.evaluation.references import REFERENCES, ReferenceScore
from kernelpath.evaluation.scores import PathScores
from kernelpath.evaluation.stability import stability_of
from kernelpath.path.file import load_path, save_path
from kernelpath.predictors import state
from kernelpath.predictors.choice import is_own
from kernelpath.predictors.joint_rbf import JointRBFSVM
from kernelpath.predictors.linear import LinearModel
from kernelpath.predictors.models import ConstantModel, KernelModel
from kernelpath.predictors.svm import Task
from kernelpath.predictors.trees import TreesModel
from kernelpath.predictors.weighted_kernel import WeightedKernelSVM
from kernelpath.tables.encoding import TableEncoder
from kernelpath.tables.kinds import CODED, ColumnReading, Kind
from kernelpath.utils.archive import (
    MAX_COLUMNS,
    MODEL,
    NotSaved,
    building,
    decode_names,
    encode_names,
    read_archive,
    saving,
    write_archive,
)
from kernelpath.utils.archive_forms import (
    ANY,
    REAL,
    WHOLE,
    Form,
    Forms,
    checked_count,
    name_forms,
    named,
    within,
)
from kernelpath.utils.progress import working
from kernelpath.utils.provenance import versions


@working("writing")
def save_model(model: PathCV, file: str | os.PathLike | BinaryIO) -> None:
    """Write a fitted PathCV, whole or not at all; see :meth:`PathCV.save`."""
    settings = SettingsWriter()
    header: dict[str, Any] = {
        "task": model.task_,
        "n_features_in": model.n_features_in_,
        "has_names": hasattr(model, "feature_names_in_"),
        "settings": settings.estimator(model),
        "versions": versions(),
    }
    if hasattr(model, "selector_settings_"):
        found = [model.selector_settings_, *model.selector_settings_per_fold_]
        header["selector_settings"] = [settings.encode(one) for one in found]
    arrays: dict[str, np.ndarray] = {"path": _path_bytes(model)}
    arrays |= {f"settings/{name}": array for name, array in settings.arrays.items()}
    header["classes"], labels = _label_arrays(getattr(model, "classes_", None))
    arrays |= labels
    if header["has_names"]:
        arrays |= encode_names([str(name) for name in model.feature_names_in_])
    header["categories"] = _category_lists(model._encoder)
    header["kinds"] = {str(j): one.kind.value for j, one in model._encoder.readings.items()}
    units = {str(j): one.unit for j, one in model._encoder.readings.items() if one.unit}
    header |= {"units": units} if units else {}
    header["frame"] = model._encoder.names is not None
    if model._encoder.exponents is not None:  # units of huge and tiny columns
        arrays["exponents"] = model._encoder.exponents
    if model._encoder.fill is not None:  # what stands for missing values
        arrays["fill"] = model._encoder.fill
    if model._encoder.holes is not None:
        arrays["holes"] = model._encoder.holes
    parts: dict[str, Any] = {"scores": model.scores_, "point": model.operating_point_}
    parts |= {f"baseline {name}": s for name, s in getattr(model, "baseline_scores_", {}).items()}
    header["parts"] = {}
    for name, part in parts.items():
        header["parts"][name], own = part.to_state()
        arrays |= {f"{name}/{key}": value for key, value in own.items()}
    if hasattr(model, "nested_score_"):
        arrays["nested/per_fold"] = model.nested_score_.per_fold
        arrays["nested/n_features"] = model.nested_score_.n_features
    header["references"] = {}
    for name, one in getattr(model, "reference_scores_", {}).items():
        header["references"][name] = {"n_features": one.n_features, "note": one.note}
        arrays[f"reference {name}/per_fold"] = one.per_fold
    header["reference_notes"] = getattr(model, "reference_notes_", {})
    header["leaks"] = [one.to_state() for one in getattr(model, "leaks_", ())]
    header["models"] = {}
    for k, fitted in model._models.items():
        kind, meta, own = _model_state(fitted.model)
        header["models"][str(k)] = {"kind": kind, "meta": meta, "settings": fitted.settings}
        arrays |= {f"model {k}/{key}": value for key, value in own.items()}
    with saving(MODEL, file):
        write_archive(MODEL, file, header, arrays, model_forms)


#: What the arrays of scores, of an operating point and of an outer loop must be.
SCORES = {
    "n_features": Form("i8", ("sizes",), low=1),
    "per_fold": Form(REAL, ("folds", "sizes"), nan=True),
    "parameters": Form(REAL, ("folds", "sizes"), nan=True, infinite=True),
    "n_used": Form("i8", ("folds", "sizes"), low=0),
    "chance": Form(REAL, ("folds",), nan=True),
    "costs_per_fold": Form(REAL, ("folds", "sizes"), low=0, optional=True),
    "full_costs": Form(REAL, ("sizes",), low=0, optional=True),
    "supports_indptr": Form(WHOLE, ("folds", "sizes + 1"), low=0, optional=True),
    "supports_indices": Form(WHOLE, ("entries",), low=0, optional=True),
}
POINT = {
    "numbers": Form(REAL, (3,), nan=True, infinite=True),
    "weights": Form(REAL, ("columns",), low=0),
    "support": Form("b1", ("columns",)),
}
NESTED = {
    "per_fold": Form(REAL, ("outer folds",), optional=True),
    "n_features": Form("i8", ("outer folds",), low=0, optional=True),
}


def model_forms(header: dict[str, Any], label: str, max_columns: float = math.inf) -> Forms:
    """What the arrays of a model must be."""
    if header["task"] not in ("classification", "regression"):
        raise ValueError(f"the task is {str(header['task'])[:40]}")
    n_columns = checked_count(header, "n_features_in", low=1)
    if n_columns > max_columns:
        hint = "if that is right, load it with a larger max_columns"
        raise PathFileError(f"{label} is a model of {n_columns:,} columns: {hint}")
    forms = {"path": Form("u1", ("path",))}
    forms["exponents"] = Form(WHOLE, ("columns",), low=-2200, high=2200, optional=True)
    forms["fill"] = Form(REAL, ("columns",), optional=True)
    forms["holes"] = Form("b1", ("columns",), optional=True)
    if header["classes"] == "numbers":
        forms["classes"] = Form("b1 i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8", ("classes",))
    elif header["classes"] is not None:
        forms |= name_forms("classes", "class_labels")
    if header["has_names"]:
        forms |= name_forms("columns")
    for name in header["parts"]:
        own = POINT if name == "point" else SCORES
        forms |= named(f"{name}/", {key: _apart(form, f"{name} ") for key, form in own.items()})
    forms |= named("nested/", NESTED)
    for name in header.get("references", {}):  # older files have none
        forms[f"reference {name}/per_fold"] = Form(REAL, ("scores folds",))
    for k, saved in header["models"].items():
        constant = {"value": Form(REAL, ("1|classes",))}
        kind = saved["kind"]
        own = constant
        if kind != ConstantModel.name:
            own = state.model_forms(kind, saved["meta"], n_columns)
            own = {name: within(form, f"model {k} ") for name, form in own.items()}
        forms |= named(f"model {k}/", own)
    settings = [name for name in header["arrays"] if name.startswith("settings/")]
    forms |= dict.fromkeys(settings, Form(ANY, None))
    counts = {"columns": n_columns} | ({} if header["classes"] else {"classes": 1})
    return Forms(forms, counts)


def _apart(form: Form, prefix: str) -> Form:
    """Give the counts of a part names of their own, but for the columns of the table."""
    return form if form.shape == ("columns",) else within(form, prefix)


@working("reading")
def load_model(file: str | os.PathLike | BinaryIO, *, max_columns: int = MAX_COLUMNS) -> PathCV:
    """Read a model that :meth:`PathCV.save` wrote, refusing a file with any byte changed.

    Parameters
    ----------
    file : str, path-like or readable binary file
    max_columns : int
        Most columns that the table of the model may have: a small file may declare any number.

    Returns
    -------
    PathCV
        Predicts, transforms and plots as before; it has no training rows, so other numbers of
        features than those saved need a new ``fit``.  That is the fit of the saved model: its
        settings are in the file.  What cannot be saved, such as a selector or a scoring of your
        own, comes back as a stand-in, and ``fit`` refuses until ``set_params`` replaced it.

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
    forms = partial(model_forms, max_columns=max_columns)
    header, arrays, label = read_archive(MODEL, file, forms)
    with building(MODEL, label):
        return _build(header, arrays)


def _build(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> PathCV:
    path = load_path(io.BytesIO(arrays["path"].tobytes()), max_columns=header["n_features_in"])
    if path.n_features != header["n_features_in"]:
        raise ValueError("the path is over other columns than the model")
    model = _with_settings(header, arrays, path.method)
    model.path_ = path
    if "selector_settings" in header:
        own = _own(arrays, "settings")
        whole, *folds = (decode(one, own) for one in header["selector_settings"])
        model.selector_settings_, model.selector_settings_per_fold_ = whole, folds
    _add_data(model, header, arrays)
    _add_scores(model, header, arrays)
    _add_models(model, header, arrays)
    if not isinstance(model.scoring, NotSaved):  # a function cannot be saved
        model.scorer_, _ = resolve_scorer(model.scoring, model.task_)
    return model


def _with_settings(header: dict[str, Any], arrays: dict[str, np.ndarray], method: str) -> PathCV:
    """The model before its fit."""
    if header["format_version"] == 1:
        model = PathCV(**first_version_settings(header, method))
    else:
        model = PathCV(**decode_all(header["settings"], _own(arrays, "settings")))
    if not is_own(model.predictor):
        raise ValueError("the predictor is none that a file can hold")
    check_switches(model)
    if not isinstance(model.rule, NotSaved):
        costly = "scores/full_costs" in arrays
        check_rule(model.rule, model.budget, model.tolerance, costly)
    return model


def _add_data(model: PathCV, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """What is known of target and table: classes, names, categories, units."""
    model.task_ = header["task"]
    model.n_features_in_ = int(header["n_features_in"])
    classes = _labels(header["classes"], arrays)
    _check_classes(classes, model.task_)
    if classes is not None:
        model.classes_ = classes
    if header["has_names"]:
        model.feature_names_in_ = np.array(decode_names(arrays), dtype=object)
        if not np.array_equal(model.feature_names_in_, model.path_.feature_names):
            raise ValueError("the columns of the path have other names than those of the model")
    names = model.path_.feature_names if header["frame"] else None
    model._frame_names = names
    readings = _checked_readings(header, model.n_features_in_)
    known = [arrays.get(name) for name in ("exponents", "fill", "holes")]
    model._encoder = TableEncoder(model.n_features_in_, names, readings, *known)


def _add_scores(model: PathCV, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Scores of the folds and of the outer loop, with what follows from them."""
    parts = {name: _own(arrays, name) for name in header["parts"]}
    states = {name: (header["parts"][name], parts[name]) for name in parts}
    model.scores_ = PathScores.from_state(*states.pop("scores"))
    model.operating_point_ = OperatingPoint.from_state(*states.pop("point"))
    model.baseline_scores_ = {
        name.removeprefix("baseline "): PathScores.from_state(*saved)
        for name, saved in states.items()
    }
    for scores in (model.scores_, *model.baseline_scores_.values()):
        if scores.n_columns not in (None, model.n_features_in_):
            raise ValueError("the scores are of another table")
    model.stability_ = stability_of(model.scores_, model.path_.feature_names)
    if "nested/per_fold" in arrays:
        own = _own(arrays, "nested")
        model.nested_score_ = NestedScore(**own, scoring=model.scores_.scoring)
    _add_references(model, header, arrays)


def _add_references(model: PathCV, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Plain models of all columns, and columns that tell nearly everything."""
    scoring, saved = model.scores_.scoring, header.get("references", {})
    notes, leaks = header.get("reference_notes", {}), header.get("leaks", [])
    if not set(REFERENCES).issuperset([*saved, *notes]):
        raise ValueError("a reference is none of those that there are")
    model.reference_scores_ = {
        name: ReferenceScore(
            arrays[f"reference {name}/per_fold"], one["n_features"], scoring, one["note"]
        )
        for name, one in saved.items()
    }
    model.reference_notes_ = {name: str(note) for name, note in notes.items()}
    model.leaks_ = tuple(Leak(**one) for one in leaks)
    names = model.path_.feature_names
    if any(str(names[one.column]) != one.name for one in model.leaks_):
        raise ValueError("a column that tells everything has another name")


def _add_models(model: PathCV, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """The models of all rows, by their number of features."""
    task = Task(model.task_, getattr(model, "classes_", None), None, model.probability)
    model._models = {
        int(k): FittedModel(_model(saved, _own(arrays, f"model {k}"), task), saved["settings"])
        for k, saved in header["models"].items()
    }
    calibrated = model.probability and model.task_ == "classification"
    if any(fitted.has_proba != calibrated for fitted in _machines(model)):
        raise ValueError("the machines are not calibrated as the model says")
    model.model_ = model._models[model.operating_point_.n_features].model


def _machines(model: PathCV) -> list[Any]:
    models = [fitted.model for fitted in model._models.values()]
    return [one for one in models if isinstance(one, KernelModel)]


def _check_classes(classes: np.ndarray | None, task: str) -> None:
    if (classes is None) != (task == "regression"):
        raise ValueError("the classes do not fit the task")
    if classes is not None and (len(classes) < 2 or not (classes[:-1] < classes[1:]).all()):
        raise ValueError("the classes are not two or more in order")


def _checked_readings(header: dict[str, Any], n_columns: int) -> dict[int, ColumnReading]:
    """How columns that are not of a type of numbers are read; old files know categories only."""
    categories = _checked_categories(header["categories"], n_columns)
    kinds = header.get("kinds") or dict.fromkeys(map(str, categories), Kind.CATEGORY.value)
    units, readings = header.get("units", {}), {}
    for text, name in kinds.items():
        column, kind = int(text), Kind(name)
        if not 0 <= column < n_columns or (kind in CODED) != (column in categories):
            raise ValueError(f"column {column} cannot be read as {name}")
        readings[column] = ColumnReading(
            kind, categories.get(column), unit=str(units.get(text, ""))
        )
    if set(categories) - set(readings):
        raise ValueError("there are categories of columns that have none")
    return readings


def _checked_categories(saved: dict[str, list], n_columns: int) -> dict[int, list]:
    """Categories by column; a ValueError if there is no such column."""
    categories = {int(column): values for column, values in saved.items()}
    for column, values in categories.items():
        if not (0 <= column < n_columns and isinstance(values, list)):
            raise ValueError(f"there are no categories of a column {column}")
        if not all(isinstance(value, str | int | float | bool) for value in values):
            raise ValueError(f"a category of column {column} is neither text nor a number")
        if len(set(values)) != len(values):
            raise ValueError(f"a category of column {column} occurs twice")
    return categories


def _model_state(fitted: Any) -> tuple[str, dict[str, Any], dict[str, np.ndarray]]:
    if isinstance(fitted, ConstantModel):
        return ConstantModel.name, {}, {"value": fitted.value}
    return state.model_state(fitted.machine if isinstance(fitted, KernelModel) else fitted)


def _model(saved: dict[str, Any], arrays: dict[str, np.ndarray], task: Task) -> Any:
    if not isinstance(saved["settings"], dict):
        raise ValueError("the settings of a machine are not given by name")
    json.dumps(saved["settings"], allow_nan=False)  # a ValueError for what no setting can be
    if saved["kind"] == ConstantModel.name:
        if len(arrays["value"]) != (1 if task.classes is None else len(task.classes)):
            raise ValueError("the constant prediction does not fit the classes")
        return ConstantModel(arrays["value"], task.classes)
    machine = state.model_from(saved["kind"], saved["meta"], arrays, task)
    if isinstance(machine, LinearModel | TreesModel):
        return machine
    if machine.head is None:
        raise ValueError("a machine has no coefficients")
    return KernelModel(machine, task)


def _own(arrays: dict[str, np.ndarray], name: str) -> dict[str, np.ndarray]:
    """Arrays of one part, by the names that the part gave them."""
    prefix = f"{name}/"
    return {key.removeprefix(prefix): a for key, a in arrays.items() if key.startswith(prefix)}


def _path_bytes(model: PathCV) -> np.ndarray:
    buffer = io.BytesIO()
    save_path(model.path_, buffer)
    return np.frombuffer(buffer.getvalue(), np.uint8)


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


def _category_lists(encoder: TableEncoder) -> dict[str, list]:
    """Categories as JSON holds them: text, numbers and truth values."""
    return {
        str(j): one.categories or [] for j, one in encoder.readings.items() if one.kind in CODED
    }


# -- format 1 --------------------------------------------------------------------------------------


# It left out without a word what JSON cannot hold.

UNKNOWN = "left out by the kernelpath that wrote the file"
PREDICTORS = {"WeightedKernelSVM": WeightedKernelSVM, "JointRBFSVM": JointRBFSVM}
PARAMETERS = (
    "predictor", "cv", "scoring", "rule", "n_features", "n_jobs", "verbose", "random_state",
    "budget", "tolerance", "inner_cv", "nested", "class_weight", "probability", "task",
    "memory_limit",
)  # fmt: skip
SELECTOR_PARAMETERS = (
    "bregman_strength", "norm_strength", "divergence", "reference", "p_start", "p_stop", "step",
    "elimination_tol", "solver", "predictor_order", "kernel", "bandwidth", "gamma",
    "n_features_to_select", "task", "tol", "n_jobs", "random_state",
)  # fmt: skip


def first_version_settings(header: dict[str, Any], method: str) -> dict[str, Any]:
    """Settings of the model, with a stand-in for each one that the file leaves open.

    Parameters
    ----------
    header : dict
        Of the file.
    method : str
        What traced the path in the file.  No selector and a path of lp-KTA mean the default one;
        the settings of other selectors were not written.
    """
    known = {name: header["parameters"].get(name, NotSaved(UNKNOWN)) for name in PARAMETERS}
    if isinstance(saved := known["predictor"], dict):
        grids = {name: tuple(values) for name, values in saved["settings"].items()}
        known["predictor"] = PREDICTORS[saved["kind"]](**grids)
    if any(name.startswith("baseline ") for name in header["parts"]):
        known["baselines"] = NotSaved(UNKNOWN)
    selector = header["selector"]
    if selector is not None:
        settings = {name: selector.get(name, NotSaved(UNKNOWN)) for name in SELECTOR_PARAMETERS}
        known["selector"] = LpKTASelector(**settings)
    elif method != "lp-kta":
        known["selector"] = NotSaved(f"a selector for paths of {method}, {UNKNOWN}")
    return known
