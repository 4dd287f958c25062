"""Finished work on disk, so that a killed run goes on where it was.

One small file per fold, replaced as a whole whenever something was added.  Its name is a hash of
the data, the rows and every setting: a folder can serve several runs, and nothing is ever taken
from another one.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import time
import types
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from joblib.hashing import NumpyHasher

from kernelpath._version import __version__
from kernelpath.archive import FOLD, read_archive, write_archive
from kernelpath.atomic import check_writable
from kernelpath.errors import PathFileError
from kernelpath.evaluation.folds import FoldResult
from kernelpath.evaluation.study import Split, Study
from kernelpath.evaluation.tuning import Choice

LIBRARIES = {"builtins", "sklearn", "numpy", "scipy", "pandas", "kernelpath", "collections", "abc"}
PLAIN = (bool, int, float, complex, str, bytes, tuple, frozenset, type(None), np.ndarray)
SECONDS_BETWEEN = 5.0  # writing more often would cost more than the work it saves


def fold_key(study: Study, fingerprint: str, split: Split) -> str:
    """Name of the work: data, rows, selector, predictors, measure and sizes."""
    settings = (
        fingerprint,
        study.selector,
        list(study.predictors),
        study.scorer,
        study.task,
        study.sizes,
        study.sample_weight,
        study.groups,
        study.inner_cv,
        study.seed,
        study.metadata,
        split,
    )
    digest = _Hasher().hash(settings)
    text = f"{__version__} {sklearn.__version__} {digest}"
    return hashlib.sha256(text.encode()).hexdigest()[:32]


class _Hasher(NumpyHasher):
    """joblib's hash, with functions by their code: local ones too, and edited ones differ."""

    def __init__(self) -> None:
        super().__init__("sha1")
        self._functions: list[Any] = []

    def save(self, obj: Any) -> None:
        """Add an object to the hash."""
        if isinstance(obj, types.FunctionType):
            obj = self._parts(obj)
        elif isinstance(obj, type) and not issubclass(obj, np.generic):
            obj = self._class_parts(obj)
        super().save(obj)

    def _parts(self, function: types.FunctionType) -> tuple:
        name = (function.__module__, function.__qualname__)
        if function in self._functions:  # one that calls itself
            return name
        self._functions.append(function)
        variables = inspect.getclosurevars(function)
        # Constants of the module that the function reads; other globals are beyond reach.
        plain = {k: v for k, v in variables.globals.items() if isinstance(v, PLAIN)}
        defaults = (function.__defaults__, function.__kwdefaults__)
        code = _code_parts(function.__code__)
        return (*name, code, defaults, dict(variables.nonlocals), plain)

    def _class_parts(self, cls: type) -> tuple:
        """Name of a class, with the code of its methods unless it is of a versioned library."""
        name = ("class", cls.__module__, cls.__qualname__)
        if cls in self._functions or cls.__module__.split(".")[0] in LIBRARIES:
            return name
        self._functions.append(cls)
        methods = {
            key: self._parts(value)
            for key, value in sorted(vars(cls).items())
            if isinstance(value, types.FunctionType)
        }
        return (*name, methods, [self._class_parts(base) for base in cls.__bases__])


def _code_parts(code: types.CodeType) -> tuple:
    """What a function does, without line numbers."""
    constants = [_code_parts(c) if isinstance(c, types.CodeType) else c for c in code.co_consts]
    plain = [sorted(map(repr, c)) if isinstance(c, frozenset) else c for c in constants]
    return code.co_code, code.co_names, plain


class FoldStore:
    """Results of folds in memory and, if a folder is given, on disk.

    Examples
    --------
    >>> store = FoldStore(None)
    >>> store.put("a", FoldResult.empty(3, 2), force=True)
    >>> store.get("a").complete, store.get("b")
    (False, None)
    """

    def __init__(self, folder: str | os.PathLike | None) -> None:
        self.folder = None if folder is None else check_writable(folder)
        self.results: dict[str, FoldResult] = {}
        self._written: dict[str, float] = {}

    def _file(self, key: str) -> Path:
        assert self.folder is not None
        return self.folder / f"fold-{key}.kpfold"

    def get(self, key: str) -> FoldResult | None:
        """Return what is known about a fold; a damaged file counts as nothing."""
        if key in self.results:
            return self.results[key]
        if self.folder is None or not self._file(key).exists():
            return None
        try:
            header, arrays, _ = read_archive(FOLD, self._file(key))
            return from_state(header, arrays)
        except (PathFileError, OSError, LookupError, ValueError, TypeError):
            return None

    def put(self, key: str, result: FoldResult, force: bool = False) -> None:
        """Remember a result; on disk only now and then, unless forced."""
        self.results[key] = result
        now = time.monotonic()
        if self.folder is None:
            return
        if force or now - self._written.get(key, -np.inf) > SECONDS_BETWEEN:
            header, arrays = to_state(result)
            write_archive(FOLD, self._file(key), header, arrays)
            self._written[key] = now


def to_state(result: FoldResult) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """JSON-able header and arrays."""
    known = [np.zeros(0, np.int64) if c is None else c for c in result.columns]
    tuned = None
    if result.tuned is not None:
        tuned = [[k, c.predictor, c.setting] for k, c in result.tuned.items()]
    header = {"n_columns": result.n_columns, "chosen": result.chosen, "tuned": tuned}
    arrays = {
        "scores": result.scores,
        "parameters": result.parameters,
        "chance": np.array([result.chance]),
        "indptr": np.concatenate([[0], np.cumsum([len(c) for c in known])]).astype(np.int64),
        "columns": np.concatenate(known).astype(np.int64),
    }
    if result.tuned is not None:
        arrays["inner_scores"] = np.array([c.score for c in result.tuned.values()])
    return header, arrays


def from_state(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> FoldResult:
    """Build the result again from what ``to_state`` gave."""
    indptr = arrays["indptr"]
    columns: list[Any] = [
        arrays["columns"][start:stop].astype(np.intp) for start, stop in pairwise(indptr)
    ]
    tuned = None
    if header["tuned"] is not None:
        inner = arrays["inner_scores"].tolist()
        tuned = {k: Choice(i, s, score) for (k, i, s), score in zip(header["tuned"], inner)}
    return FoldResult(
        n_columns=int(header["n_columns"]),
        scores=arrays["scores"].copy(),
        parameters=arrays["parameters"].copy(),
        columns=columns,
        chosen=list(header["chosen"]),
        chance=float(arrays["chance"][0]),
        tuned=tuned,
    )
