"""What a job of the golden comparison writes: exact values, one per line, and arrays beside them.

Only public things are written.  An object of the package that is not public shows nothing but that
it is there, so that its name and its parts may change; what it computes is written by the job.
"""

from __future__ import annotations

import dataclasses
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import BaseEstimator

import kernelpath as kp

ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


class Recorder:
    """Writes the outcome of a job into a folder.

    Parameters
    ----------
    folder : Path
        Of the job, with nothing in it yet.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = "values.txt"
        self.lines: list[str] = []

    def line(self, text: str) -> None:
        """Add a line to the file of lines; what is in it must be the same at every run."""
        self.lines.append(ADDRESS.sub(" at <address>", text))

    def text(self, name: str, text: str) -> None:
        """Write a file of text."""
        self.place(name).write_text(ADDRESS.sub(" at <address>", text), encoding="utf-8")

    def place(self, name: str) -> Path:
        """Where a file of this name belongs."""
        return self.folder / name

    def finish(self) -> None:
        """Write the lines."""
        if self.lines:
            self.text(self.file, "".join(f"{line}\n" for line in self.lines))

    # -- values ---------------------------------------------------------------------------------

    def value(self, key: str, value: Any) -> None:
        """Write a value and all that is in it, under a name."""
        if isinstance(value, np.ndarray):
            self._array(key, value)
        elif isinstance(value, np.generic):
            self.line(f"{key} = {value.dtype.name} {value.item()!r}")
        elif value is None or isinstance(value, bool | int | float | str | bytes):
            self.line(f"{key} = {value!r}")  # the repr of a float is exact
        elif isinstance(value, kp.FeaturePath):
            value.save(self.place(f"{key}.kpath"))
        elif sp.issparse(value):
            self.line(f"{key} = {value.format} matrix {value.shape}")
            self.value(f"{key}.coo", sp.coo_array(value).toarray())
        elif isinstance(value, pd.DataFrame | pd.Series):
            self._frame(key, value)
        elif isinstance(value, Mapping):
            self.line(f"{key} = mapping of {len(value)}")
            for name, one in value.items():
                self.value(f"{key}.{name}", one)
        elif isinstance(value, list | tuple):
            self.line(f"{key} = {type(value).__name__} of {len(value)}")
            for place, one in enumerate(value):
                self.value(f"{key}.{place}", one)
        elif isinstance(value, set | frozenset):
            self.value(key, sorted(value))
        else:
            self._object(key, value)

    def _array(self, key: str, value: np.ndarray) -> None:
        if value.dtype.kind == "O":
            self.line(f"{key} = objects {value.shape}")
            self.value(f"{key}.objects", value.ravel().tolist())
        else:
            np.save(self.place(f"{key}.npy"), value, allow_pickle=False)

    def _frame(self, key: str, value: pd.DataFrame | pd.Series) -> None:
        frame = value.to_frame() if isinstance(value, pd.Series) else value
        self.line(f"{key} = frame, columns {[str(name) for name in frame.columns]}")
        for place in range(frame.shape[1]):
            column = frame.iloc[:, place]
            self.line(f"{key}.{place} = {column.dtype}, {column.tolist()!r}")

    def _object(self, key: str, value: Any) -> None:
        cls = type(value)
        ours = cls.__module__.partition(".")[0] == "kernelpath"
        public = not ours or getattr(kp, cls.__name__, None) is cls
        self.line(f"{key} = {cls.__name__ if public else 'an object of the package'}")
        if not (ours and public):
            return
        if isinstance(value, BaseEstimator):
            self.attributes(value, f"{key}.")
        elif dataclasses.is_dataclass(value):
            self.line(f"{key} repr {value!r}")
            for field in dataclasses.fields(value):
                if not field.name.startswith("_"):
                    self.value(f"{key}.{field.name}", getattr(value, field.name))

    def attributes(self, model: Any, prefix: str = "") -> None:
        """Write everything that ``fit`` has left: attributes whose names end in "_"."""
        names = {name for name in dir(model) if name.endswith("_") and not name.startswith("_")}
        for name in sorted(names):
            try:
                value = getattr(model, name)
            except AttributeError as error:  # a property that this fit does not have
                self.line(f"{prefix}{name} is absent: {error}")
            else:
                self.value(prefix + name, value)

    # -- what is said ---------------------------------------------------------------------------

    @contextmanager
    def warned(self, key: str = "warning") -> Iterator[None]:
        """Write the warnings of what runs inside, each time they are given."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                yield
            finally:
                for one in caught:
                    self.line(f"{key}: {one.category.__name__}: {one.message}")

    def said(self, key: str, call: Callable[[], Any]) -> None:
        """Write how a call fails, or that it does not, and its warnings."""
        with self.warned(key):
            try:
                call()
            except Exception as error:
                self.line(f"{key}: {words_of(error)}")
            else:
                self.line(f"{key}: no error")


def words_of(error: BaseException) -> str:
    """Class of an error, the classes that it can be caught by, and its text."""
    names = [cls.__name__ for cls in type(error).__mro__ if cls not in (object, BaseException)]
    return f"{' < '.join(names)}: {error}"


def is_absent(error: BaseException) -> bool:
    """Whether an error says that the package lacks what a job asks for."""
    if isinstance(error, AttributeError):
        return getattr(error.obj, "__name__", "").partition(".")[0] == "kernelpath" or (
            type(error.obj).__module__.partition(".")[0] == "kernelpath"
        )
    if isinstance(error, ImportError):
        return (error.name or "").partition(".")[0] == "kernelpath"
    return isinstance(error, Absent) or (
        isinstance(error, TypeError) and "unexpected keyword argument" in str(error)
    )


class Absent(Exception):
    """The package has no such command or option."""
