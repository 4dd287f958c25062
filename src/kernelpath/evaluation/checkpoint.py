"""Finished work on disk, so that a killed run goes on where it was.

One small file per fold, replaced as a whole when something was added; a path that took long to
trace has a file of its own until it is of no more use.  The name of the work is a hash of the data,
the rows and every setting, and stands in the file too: a folder can serve several runs, and nothing
is ever taken from another one.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import time
import types
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from joblib.hashing import NumpyHasher

from kernelpath._version import __version__
from kernelpath.errors import DataError, PathFileError
from kernelpath.evaluation.folds import FoldResult
from kernelpath.evaluation.study import Split, Study
from kernelpath.evaluation.traces import FORMS as TRACE_FORMS
from kernelpath.evaluation.traces import heard, say_again, trace_state, traced_from
from kernelpath.evaluation.tuning import InnerScores, TunedChoice
from kernelpath.predictors.models import ConstantModel
from kernelpath.tracers.any_selector import ChoicesBySize
from kernelpath.utils.archive import FOLD, building, read_archive, write_archive
from kernelpath.utils.archive_forms import REAL, Form, Forms
from kernelpath.utils.atomic import check_writable

LIBRARIES = {"builtins", "sklearn", "numpy", "scipy", "pandas", "kernelpath", "collections", "abc"}
PLAIN = (bool, int, float, complex, str, bytes, tuple, frozenset, type(None), np.ndarray)
SECONDS_BETWEEN = 5.0  # that a score waits at most before it is written
SHARE_OF_WORK = 20.0  # and less, if writing takes less than a twentieth of that
SECONDS_WORTH = 1.0  # of tracing, for a path to be written


def fold_key(study: Study, fingerprint: str, split: Split) -> str:
    """Name of the work: data, rows, selector, predictors, measure and sizes."""
    return fold_keys(study, fingerprint, [split])[0]


def fold_keys(study: Study, fingerprint: str, splits: Sequence[Split]) -> list[str]:
    """Names of the work of several folds; what they share is hashed once."""
    shared = _shared_key(study, fingerprint)
    return [work_key(shared, split) for split in splits]


def _shared_key(study: Study, fingerprint: str) -> str:
    """Hash of everything that a fold depends on but its rows."""
    settings: tuple[Any, ...] = (
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
        study.routed,  # scores count weights only where nobody routes them
        _constraint_parts(study),
        study.imputes,
    )
    if study.variants or study.compared:
        settings = (*settings, study.variants, "variant" if study.compared else "variants")
    return work_key(*settings)


def _constraint_parts(study: Study) -> tuple | None:
    """What a hash is to know of the constraints, without what is computed from them."""
    own = study.reach
    return None if own is None else (own.unit, own.kept, own.costs, study.obeys)


def work_key(*settings: Any) -> str:
    """Name of some work: a hash of all that it depends on, and of the versions."""
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
    """What was found out, in memory and, if a folder is given, on disk.

    Each file says inside whose it is: the name of the work is in its header.  A file of other
    work, a damaged one and one whose parts do not fit together count as nothing.

    Examples
    --------
    >>> store = FoldStore(None)
    >>> store.put("a", FoldResult.empty(3, 2), force=True)
    >>> store.results["a"].complete
    False
    """

    def __init__(self, folder: str | os.PathLike | None) -> None:
        self.folder = None if folder is None else check_writable(folder)
        self.results: dict[str, FoldResult] = {}
        self.models: dict[str, Any] = {}  # fitted on all rows, by the work; never on disk
        self.traces: dict[str, ChoicesBySize] = {}
        self.chosen: dict[str, Any] = {}  # variant of the selector, by the work; never on disk
        self.outcomes: dict[str, tuple[float, float]] = {}  # of an outer loop: score and size
        self._written: dict[str, float] = {}  # when each may be written again

    def _file(self, key: str) -> Path:
        assert self.folder is not None
        return self.folder / f"fold-{key}.kpfold"

    def work_of(self, key: str) -> str:
        """Name of the work on the variant that was chosen; the same where there are none."""
        return self.chosen[key].key if key in self.chosen else key

    def get(self, key: str, study: Study) -> FoldResult | None:
        """Return what is known about a fold of the study."""
        if key in self.results:
            return self.results[key]
        return self.read(key, "fold", partial(fold_forms, study), partial(from_state, study))

    def put(self, key: str, result: FoldResult, force: bool = False) -> None:
        """Remember a result; on disk only now and then, unless forced."""
        self.results[key] = result
        if self.folder is None:
            return
        before = time.monotonic()
        if force or before >= self._written.get(key, -np.inf):
            self.write(key, "fold", *to_state(result))
            now = time.monotonic()
            # Writing takes a twentieth of the time at most, and no score waits longer than this.
            self._written[key] = now + min(SHARE_OF_WORK * (now - before), SECONDS_BETWEEN)

    def read(
        self,
        key: str,
        what: str,
        forms: Callable[[dict[str, Any], str], Forms],
        build: Callable[[dict[str, Any], dict[str, np.ndarray]], Any],
    ) -> Any:
        """Build what a file of this work holds; None if there is no such file, or not a right one.

        Raises
        ------
        DataError
            If a folder has the name of the file: then nothing could be written later.
        """
        if self.folder is None:
            return None
        file = self._file(key)
        if file.is_dir():
            raise DataError(
                f"{file} is a folder, where a file of finished work is to be written: remove it, "
                "or choose another memory."
            )
        try:
            header, arrays, label = read_archive(FOLD, file, forms)
            with building(FOLD, label):
                if (header["key"], header["what"]) != (key, what):
                    return None
                return build(header, arrays)
        except (PathFileError, OSError):
            return None

    def write(
        self, key: str, what: str, header: dict[str, Any], arrays: dict[str, np.ndarray]
    ) -> None:
        """Write a file of this work; a link in its place is not followed but replaced."""
        if self.folder is None:
            return
        file = self._file(key)
        if file.is_symlink():
            file.unlink()
        write_archive(FOLD, file, {"key": key, "what": what, **header}, arrays)

    def remove(self, key: str) -> None:
        """Forget a file of this work."""
        if self.folder is not None:
            self._file(key).unlink(missing_ok=True)


class Tracer:
    """Traces the paths of a study, and remembers them until they are of no more use.

    On disk go those that took longer than :data:`SECONDS_WORTH`; the others are traced again
    sooner than read.

    Parameters
    ----------
    store : FoldStore
    study : Study
    fingerprint : str
        Of the table and the target.
    report : bool
        Whether the selector may warn; what it said is said again when the path is read.
    """

    def __init__(
        self, store: FoldStore, study: Study, fingerprint: str, report: bool = False
    ) -> None:
        self.store, self.study, self.report = store, study, report
        table = study.rows
        names = None if table.names is None else "\n".join(map(str, table.names))
        self.work = work_key(
            "trace", fingerprint, study.selector, study.task, study.sample_weight,
            study.metadata.get("selector"), study.numbers_only, study.routed, names,
            table.categorical, _constraint_parts(study), report,
        )  # fmt: skip

    def _key(self, rows: Any) -> str:
        return work_key(self.work, rows)

    def __call__(self, rows: Any, taken: Any = None) -> ChoicesBySize:
        """Trace the path from some rows, unless that was done before."""
        key, store, study = self._key(rows), self.store, self.study
        if key in store.traces:
            return store.traces[key]
        traced = store.read(key, "trace", self._forms, self._build)
        if traced is None:
            started = time.monotonic()
            if self.report:
                traced, warned = heard(study.trace, rows, taken)
            else:
                traced, warned = study.trace(rows, taken), []
            if time.monotonic() - started >= SECONDS_WORTH and store.folder is not None:
                arrays = trace_state(traced, study.selector)
                if arrays is not None:
                    store.write(key, "trace", {"warned": warned}, arrays)
        store.traces[key] = traced
        return traced

    def forget(self, rows: Any) -> None:
        """Drop a path that is not needed any more, and its file."""
        key = self._key(rows)
        if self.store.traces.pop(key, None) is not None:
            self.store.remove(key)

    def _forms(self, header: dict[str, Any], label: str) -> Forms:
        return Forms(dict(TRACE_FORMS), {"columns": self.study.rows.shape[1]})

    def _build(self, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> ChoicesBySize:
        traced = traced_from(arrays, self.study.selector, self.study.rows.shape[1])
        if self.report:
            say_again(header["warned"])
        return traced


# -- a fold as JSON and arrays ---------------------------------------------------------------------


def fold_forms(study: Study, header: dict[str, Any], label: str) -> Forms:
    """What the arrays of a fold of the study must be."""
    n_sizes, n_columns = len(study.sizes), study.rows.shape[1]
    inner = ("inner folds", "tuning sizes", "candidates")
    forms = {
        "scores": Form(REAL, ("sizes",), nan=True),
        "parameters": Form(REAL, ("sizes",), nan=True, infinite=True),
        "chance": Form(REAL, (1,), nan=True),
        "indptr": Form("i8", ("sizes + 1",), low=0),
        "columns": Form("i8", ("entries",), low=0, high=n_columns - 1),
        "choice_scores": Form(REAL, ("sizes",), nan=True, infinite=True, optional=True),
        "inner_scores": Form(REAL, inner, nan=True, infinite=True),
        "inner_known": Form("b1", inner),
    }
    return Forms(forms, {"sizes": n_sizes, "sizes + 1": n_sizes + 1})


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
        "inner_scores": result.inner.scores,
        "inner_known": result.inner.known,
    }
    if result.tuned is not None:
        arrays["choice_scores"] = np.array([c.score for c in result.tuned.values()])
    return header, arrays


def from_state(study: Study, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> FoldResult:
    """Build the result again; a ValueError if it cannot be one of this study."""
    if header["n_columns"] != study.rows.shape[1]:
        raise ValueError("the fold is of another table")
    scores, chosen = arrays["scores"], header["chosen"]
    names = {"", ConstantModel.name, *(predictor.name for predictor in study.predictors)}
    if len(chosen) != len(scores) or not names.issuperset(chosen):
        raise ValueError("a predictor is none of those asked for")
    columns = _columns_by_size(arrays["indptr"], arrays["columns"])
    for size in zip(study.sizes.tolist(), columns, chosen, scores.tolist()):
        _check_size(*size)
    return FoldResult(
        n_columns=int(header["n_columns"]),
        scores=scores.copy(),
        parameters=arrays["parameters"].copy(),
        columns=columns,
        chosen=list(chosen),
        chance=float(arrays["chance"][0]),
        tuned=_tuned(study, header["tuned"], arrays.get("choice_scores")),
        inner=InnerScores(arrays["inner_scores"].copy(), arrays["inner_known"].copy()),
    )


def _columns_by_size(indptr: np.ndarray, columns: np.ndarray) -> list[Any]:
    if indptr[0] != 0 or (np.diff(indptr) < 0).any() or indptr[-1] != len(columns):
        raise ValueError("the columns do not fit the sizes")
    return [columns[start:stop].astype(np.intp) for start, stop in pairwise(indptr)]


def _check_size(k: int, columns: np.ndarray, name: str, score: float) -> None:
    """Refuse what no size of a fold can be."""
    if len(columns) > k or (np.diff(columns) <= 0).any():
        raise ValueError(f"the columns of size {k} are not at most so many, in order")
    without_model = not name or (name != ConstantModel.name and len(columns) == 0)
    if without_model and not np.isnan(score):
        raise ValueError(f"size {k} has a score without a model")


def _tuned(study: Study, saved: Any, scores: np.ndarray | None) -> dict[int, TunedChoice] | None:
    """Choices for all sizes; a ValueError if they are not among the settings to choose from."""
    if saved is None:
        return None
    if scores is None or [k for k, _, _ in saved] != study.sizes.tolist():
        raise ValueError("the chosen settings are of other sizes")
    grids = [predictor.settings(study.rows.n_rows) for predictor in study.predictors]
    for _, i, setting in saved:
        whole = isinstance(i, int) and not isinstance(i, bool)
        if not (whole and 0 <= i < len(grids)) or setting not in grids[i]:
            raise ValueError("a chosen setting is none of those to choose from")
    return {
        k: TunedChoice(i, setting, score) for (k, i, setting), score in zip(saved, scores.tolist())
    }
