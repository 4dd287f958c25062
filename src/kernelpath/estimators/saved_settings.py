"""Settings of an estimator as JSON and arrays, and back: one mechanism for all of them.

Plain values, arrays, random generators, kernels of the package and objects of the classes in
:data:`KNOWN` come back as they were; a class is found in these tables and never imported by a name
out of a file.  Everything
else, a user's subclass of a known class too, is foreign: what comes back is a stand-in that keeps
its ``repr``, and that :func:`refuse_stand_ins` names before a fit.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from kernelpath.errors import DataError
from kernelpath.kernels import KERNELS
from kernelpath.utils.archive import NotSaved

Arrays = dict[str, np.ndarray]

#: Module -> what may be made again from its settings, or, for functions, looked up.
KNOWN = {
    "kernelpath.estimators.lp_kta": ("LpKTASelector",),
    "kernelpath.estimators.additive": ("AdditivePathSelector",),
    "kernelpath.estimators.auto": ("AutoPathSelector",),
    "kernelpath.estimators.gmkl": ("GMKLClassifier", "GMKLRegressor"),
    "kernelpath.estimators.nmmkl": ("NMMKLSelector",),
    "kernelpath.estimators.joint": ("JointPathSelector",),
    "kernelpath.estimators.l1kr": ("L1KRClassifier", "L1KRRegressor"),
    "kernelpath.estimators.rankers": ("Ranker",),
    "kernelpath.baselines": (
        "BAHSIC", "CARS", "CenteredKTA", "ChiSquare", "FSV", "Fisher", "ForestRanking",
        "ForwardStepwise", "GiniIndex", "HKL", "HSICLasso", "InformationGain", "KruskalWallis",
        "L0Approximation", "L1MKLPath", "L1SVM", "L1SVMPath", "LassoLW", "MRMR",
        "MutualInformation", "PermutationImportance", "R2W2", "RFESVM", "ReliefF", "SMOMKL",
        "SVMLW", "SVRLW", "Spectral", "Uniform", "VarianceFilter",
    ),
    "kernelpath.baselines.adapters": ("Abess", "Boruta", "FastCan"),
    "kernelpath.predictors.weighted_kernel": ("WeightedKernelSVM",),
    "kernelpath.predictors.joint_rbf": ("JointRBFSVM",),
    "kernelpath.tracers.lp_kta.divergences": ("SquaredEuclidean", "GeneralizedKL"),
    "kernelpath.mkl.regularizers": ("NoRegularizer", "L1", "Lp", "ElasticNet", "MixedNorm"),
    "kernelpath.mkl.feasible_sets": ("NonNegative", "Simplex", "CappedSimplex", "Box", "LpBall"),
    "kernelpath.mkl.losses": (
        "Hinge", "SquaredHinge", "HuberHinge", "EpsilonInsensitive", "LeastSquares",
    ),
    "sklearn.model_selection": (
        "KFold", "StratifiedKFold", "GroupKFold", "StratifiedGroupKFold", "TimeSeriesSplit",
        "ShuffleSplit", "StratifiedShuffleSplit", "GroupShuffleSplit", "RepeatedKFold",
        "RepeatedStratifiedKFold", "LeaveOneOut", "LeavePOut", "LeaveOneGroupOut",
        "LeavePGroupsOut", "PredefinedSplit",
    ),
    "sklearn.feature_selection": (
        "chi2", "f_classif", "f_regression", "mutual_info_classif", "mutual_info_regression",
        "r_regression",
    ),
}  # fmt: skip
HOMES = {name: module for module, names in KNOWN.items() for name in names}
GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")
LONGEST_REPR = 300


class _Foreign(Exception):
    """Inside an object that cannot be made again without one of its parts."""


# -- to JSON and arrays ----------------------------------------------------------------------------


class SettingsWriter:
    """Turns values into JSON; arrays are put aside under names.

    Examples
    --------
    >>> import kernelpath as kp
    >>> writer = SettingsWriter()
    >>> writer.encode(kp.Polynomial(2))["settings"]
    {'degree': 2, 'coef0': 1.0}
    >>> saved = writer.encode(kp.LpKTASelector(gamma=np.array([0.5, 2.0])))
    >>> decode(saved, writer.arrays).gamma
    array([0.5, 2. ])
    """

    def __init__(self) -> None:
        self.arrays: Arrays = {}
        self._drawn_from: list[Any] = []  # random generators met so far

    def estimator(self, estimator: Any) -> dict[str, Any]:
        """Encode all settings by name, each by itself: one that is foreign leaves the others."""
        return {
            name: self.encode(value) for name, value in estimator.get_params(deep=False).items()
        }

    def encode(self, value: Any) -> Any:
        """JSON for any value; a stand-in for what is foreign."""
        arrays = dict(self.arrays)
        try:
            return self._encode(value)
        except _Foreign:
            self.arrays = arrays  # of the parts that were met before the foreign one
            known = value.text if isinstance(value, NotSaved) else _short_repr(value)
            return {"foreign": known}

    def _encode(self, value: Any) -> Any:
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if kind is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if kind in (np.bool_, np.int64, np.float64):
            return self._encode(value.item())
        if kind is list:
            return [self._encode(item) for item in value]
        if kind is tuple:
            return {"tuple": [self._encode(item) for item in value]}
        if kind is dict:
            return {"dict": [[self._encode(k), self.encode(v)] for k, v in value.items()]}
        if kind is range:
            return {"range": [value.start, value.stop, value.step]}
        if isinstance(value, Path):
            return {"path": str(value)}
        if kind is np.ndarray or isinstance(value, np.generic):
            return self._array(value)
        if kind in (np.random.RandomState, np.random.Generator):
            return self._random(value)
        return self._object(value)

    def _array(self, value: Any) -> dict[str, Any]:
        if value.dtype.kind == "O":
            items = [self._encode(item) for item in value.ravel().tolist()]
            return {"objects": items, "shape": list(value.shape)}
        if value.dtype.hasobject or value.dtype.names or value.dtype.kind not in "biufcUSmM":
            raise _Foreign
        name = str(len(self.arrays))
        self.arrays[name] = np.array(value)  # in memory of its own: what is saved stays
        return {"array": name, "scalar": isinstance(value, np.generic)}

    def _random(self, value: Any) -> dict[str, Any]:
        """State of a generator: a refit goes on with the same numbers."""
        if any(value is other for other in self._drawn_from):
            raise _Foreign  # two that draw from one stream would come back as two streams
        self._drawn_from.append(value)
        if isinstance(value, np.random.RandomState):
            state: Any = value.get_state(legacy=False)
        else:
            state = value.bit_generator.state
        if state["bit_generator"] not in GENERATORS:
            raise _Foreign
        return {"random": type(value).__name__, "state": self._encode(state)}

    def _object(self, value: Any) -> dict[str, Any]:
        name = getattr(value, "__name__", "") if inspect.isfunction(value) else type(value).__name__
        known = _known(name)
        if known is None:
            raise _Foreign
        if inspect.isfunction(value):
            if value is not known:  # one of the user's own with this name
                raise _Foreign
            return {"function": name}
        # What a metadata request says is no setting, and would be lost.
        if type(value) is not known or "_metadata_request" in vars(value):
            raise _Foreign
        if isinstance(value, BaseEstimator):
            return {"class": name, "settings": self.estimator(value)}
        settings = {key: self._encode(part) for key, part in _settings_of(value).items()}
        return {"class": name, "settings": settings}


def _settings_of(value: Any) -> dict[str, Any]:
    """Arguments that make an object again: fields of a dataclass, or those of a splitter."""
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value) if field.init}
    names = [
        parameter.name
        for parameter in inspect.signature(type(value)).parameters.values()
        if parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
    ]
    inside = getattr(value, "cvargs", {})  # where repeated folds keep their number
    return {name: inside[name] if name in inside else getattr(value, name) for name in names}


def _short_repr(value: Any) -> str:
    try:
        text = re.sub(r" at 0x[0-9A-Fa-f]+", "", " ".join(repr(value).split()))
    except Exception:  # a repr of the user's own
        text = type(value).__name__
    return text if len(text) <= LONGEST_REPR else text[: LONGEST_REPR - 3] + "..."


def _known(name: str) -> Any:
    """Class or function of a name; None where there is none."""
    kernels = {kernel.__name__: kernel for kernel in KERNELS.values()}
    return getattr(import_module(HOMES[name]), name) if name in HOMES else kernels.get(name)


# -- and back --------------------------------------------------------------------------------------


def decode(saved: Any, arrays: Arrays) -> Any:
    """Value again from what :class:`SettingsWriter` made of it; a ValueError if it does not fit."""
    if saved is None or isinstance(saved, bool | int | float | str):
        return saved
    if isinstance(saved, list):
        return [decode(item, arrays) for item in saved]
    for key, read in _READERS.items():
        if isinstance(saved, dict) and key in saved:
            return read(saved, arrays)
    raise ValueError(f"a setting is of no known kind: {_short_repr(saved)[:80]}")


def decode_all(saved: dict[str, Any], arrays: Arrays) -> dict[str, Any]:
    """Settings by name."""
    if not isinstance(saved, dict):
        raise ValueError("settings are not given by name")
    return {name: decode(value, arrays) for name, value in saved.items()}


def _read_array(saved: dict, arrays: Arrays) -> Any:
    array = arrays[saved["array"]]
    return array[()] if saved["scalar"] else array.copy()


def _read_objects(saved: dict, arrays: Arrays) -> np.ndarray:
    items = decode(saved["objects"], arrays)
    result = np.empty(len(items), dtype=object)
    result[:] = items
    return result.reshape(saved["shape"])


def _read_random(saved: dict, arrays: Arrays) -> Any:
    state = decode(saved["state"], arrays)
    name = state["bit_generator"]
    if name not in GENERATORS or saved["random"] not in ("RandomState", "Generator"):
        raise ValueError(f"unknown random generator {name!r}")
    bits = getattr(np.random, name)()
    if saved["random"] == "RandomState":
        made = np.random.RandomState(bits)
        made.set_state(state)
        return made
    bits.state = state
    return np.random.Generator(bits)


def _read_object(saved: dict, arrays: Arrays) -> Any:
    name = saved["class"]
    if not isinstance(known := _known(name), type):
        raise ValueError(f"unknown class {name!r}")
    return known(**decode_all(saved["settings"], arrays))


def _read_function(saved: dict, arrays: Arrays) -> Any:
    name = saved["function"]
    if not inspect.isfunction(known := _known(name)):
        raise ValueError(f"unknown function {name!r}")
    return known


def _read_float(saved: dict, arrays: Arrays) -> float:
    if saved["float"] not in ("nan", "inf", "-inf"):
        raise ValueError(f"unknown number {saved['float']!r}")
    return float(saved["float"])


_READERS = {
    "float": _read_float,
    "tuple": lambda saved, arrays: tuple(decode(saved["tuple"], arrays)),
    "dict": lambda saved, arrays: {
        decode(key, arrays): decode(value, arrays) for key, value in saved["dict"]
    },
    "range": lambda saved, arrays: range(*saved["range"]),
    "path": lambda saved, arrays: Path(saved["path"]),
    "array": _read_array,
    "objects": _read_objects,
    "random": _read_random,
    "class": _read_object,
    "function": _read_function,
    "foreign": lambda saved, arrays: NotSaved(str(saved["foreign"])),
}


# -- stand-ins -------------------------------------------------------------------------------------


def _stand_ins(value: Any) -> Iterator[NotSaved]:
    """Stand-ins inside lists, tuples and dicts; estimators say theirs by their own settings."""
    if isinstance(value, NotSaved):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _stand_ins(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _stand_ins(item)
    elif isinstance(value, BaseEstimator) and type(value).__name__ in HOMES:
        for item in value.get_params(deep=False).values():
            yield from _stand_ins(item)


def refuse_stand_ins(estimator: Any) -> None:
    """Refuse to fit an estimator out of a file that does not hold all of its settings.

    Raises
    ------
    DataError
        Which settings those are, and how to give them.
    """
    found: dict[str, str] = {}
    for name, value in estimator.get_params(deep=True).items():
        if isinstance(value, BaseEstimator):
            continue  # its own settings follow by name
        for stand_in in _stand_ins(value):
            found.setdefault(name, stand_in.text)
    if not found:
        return
    lost = ", ".join(f"{name}, which was {text}" for name, text in found.items())
    again = ", ".join(f"{name}=..." for name in found)
    raise DataError(
        f"This model is from a file that does not hold its {lost}: it predicts, but to fit again "
        f"give the setting first, with model.set_params({again})."
    )
