"""Warnings that point to the line of the user, however deep in the package they arise."""

from __future__ import annotations

import os
import sys
import warnings
from types import FrameType

PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep
# Whose functions lie between the package and the user: they call it, wrap it, or start its threads.
BETWEEN = {
    "sklearn", "joblib", "numba", "typer", "click", "contextlib", "functools", "importlib",
    "runpy", "threading", "concurrent", "multiprocessing",
}  # fmt: skip


def warn(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Warn at the line that called the package, directly or through scikit-learn.

    Where there is none, as in a thread that runs nothing else, at the outermost line.  A message
    that is a warning already is of its own category.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn("The table is small.")
    >>> caught[0].message, caught[0].filename
    (UserWarning('The table is small.'), '<doctest kernelpath.utils.warn.warn[0]>')
    """
    frame = _frame_of_user()
    names = frame.f_globals
    # As warnings.warn does it, which can only be told how many frames lie between.
    warnings.warn_explicit(
        message,
        category,
        frame.f_code.co_filename,
        frame.f_lineno,
        module=names.get("__name__") or "<string>",
        registry=names.setdefault("__warningregistry__", {}),
    )


def _frame_of_user() -> FrameType:
    """The innermost frame that is the user's own, or else the outermost."""
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_between(frame):
        frame = frame.f_back
    return frame


def _is_between(frame: FrameType) -> bool:
    if frame.f_code.co_filename.startswith(PACKAGE):
        return True
    return str(frame.f_globals.get("__name__")).partition(".")[0] in BETWEEN
