"""Traced paths and rankings as arrays, so that an interrupted run need not trace them again."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from kernelpath.errors import naming
from kernelpath.kernels import feature_kernel_settings
from kernelpath.path.file import load_path, save_path
from kernelpath.tracers.any_selector import ChoicesBySize
from kernelpath.utils.archive_forms import REAL, WHOLE, Form
from kernelpath.utils.warn import warn

Arrays = dict[str, np.ndarray]
FORMS = {
    "path": Form("u1", ("path",), optional=True),
    "order": Form(WHOLE, ("ranked",), low=0, optional=True),
    "importance": Form(REAL, ("columns",), nan=True, infinite=True, optional=True),
    "ends": Form(WHOLE, ("cuts",), low=1, optional=True),
}
WARNINGS = {kind.__name__: kind for kind in (UserWarning, RuntimeWarning, ConvergenceWarning)}
NAMED = (
    "norm_strength",
    "bregman_strength",
)  # by warnings of selectors: files keep the text only


def trace_state(traced: ChoicesBySize, selector: Any) -> Arrays | None:
    """Arrays of what was chosen at every size; None for what could not be built again.

    The kernels of the features follow from the settings of a selector of this package; others
    may have set theirs in ``fit``.
    """
    if traced.path is None:
        assert traced.order is not None
        assert traced.importance is not None
        ends = {} if traced.ends is None else {"ends": traced.ends}
        return {"order": traced.order, "importance": traced.importance, **ends}
    own = type(selector).__module__.startswith("kernelpath.")
    extension = traced.path.extension
    if (traced.kernel and not own) or (extension is not None and extension.to_state() is None):
        return None
    buffer = io.BytesIO()
    try:
        save_path(traced.path, buffer)
    except ValueError:  # a path of the user's own that no file can hold
        return None
    return {"path": np.frombuffer(buffer.getvalue(), np.uint8)}


def traced_from(arrays: Arrays, selector: Any, n_columns: int) -> ChoicesBySize:
    """Build it again; a ValueError if the arrays do not fit."""
    if "path" in arrays:
        path = load_path(io.BytesIO(arrays["path"].tobytes()), max_columns=n_columns)
        if path.n_features != n_columns:
            raise ValueError("the path is of another table")
        plain = hasattr(selector, "fit") and not hasattr(selector, "steps")
        kernel = feature_kernel_settings(vars(selector), path.test) if plain else {}
        return ChoicesBySize(n_columns, path=path, kernel=kernel)
    order = arrays["order"].astype(np.intp)
    if len(np.unique(order)) != len(order) or not 0 < len(order) <= n_columns > order.max():
        raise ValueError("the ranking is not one of these columns")
    ends = arrays.get("ends")
    if ends is not None and ((np.diff(ends) <= 0).any() or ends[-1:].tolist() != [len(order)]):
        raise ValueError("the sizes of the ranking are none that it can have")
    importance = arrays["importance"].copy()
    return ChoicesBySize(n_columns, order=order, importance=importance, ends=ends)


def heard(
    trace: Callable[..., ChoicesBySize], rows: Any, taken: Any = None
) -> tuple[ChoicesBySize, list[tuple[str, str]]]:
    """Trace with warnings, and note them by kind and text; the user hears them as always."""
    with warnings.catch_warnings(record=True) as caught:
        traced = trace(rows, taken, report=True)
    for one in caught:
        warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    return traced, [(one.category.__name__, str(one.message)) for one in caught]


def say_again(warned: list) -> None:
    """Warn again of what was noted when the path was traced."""
    for kind, text in warned:
        warn(naming(WARNINGS.get(kind, UserWarning)(str(text)), *NAMED))
