"""Loops compiled by numba, kept on disk for the next start where that is possible.

Kept code is found by all that it was made of: the function, and the functions and constants that it
takes from other files, such as the formula of a kernel.  After an edit of any of them it is
compiled again.

A cache that cannot be used is no reason to stop: an installation that only its owner may write
to, a container without a home, a full disk or a damaged file cost the time of compiling again,
which is said once.

Each kind of table needs some of the loops; where compiling them takes a while, the
progress bar says so.
"""

from __future__ import annotations

import gc
import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextvars import copy_context
from types import CodeType, ModuleType
from typing import Any

import numpy as np
from numba import njit
from numba.core import event
from numba.core.caching import FunctionCache, IndexDataCacheFile, _Cache

from kernelpath.utils.progress import aside
from kernelpath.utils.warn import warn

__all__ = ["compiled"]

COMPILING = "compiling loops that this kind of table needs; kept for later runs"
NOTICEABLE = 1.0  # seconds of compiling, in all, before it is worth a word

_said = False


def compiled(*, kept: bool = True, part: bool = False, **options: Any) -> Callable[[Callable], Any]:
    """Compile a function at its first call, without the lock of the interpreter.

    Parameters
    ----------
    kept : bool
        On disk; not worth it for a small function that becomes a part of others.
    part : bool
        Only ever called by other loops: neither kept nor given an entry from Python.
    **options
        Of ``numba.njit``, such as ``fastmath`` and ``inline``.
    """

    def decorate(function: Callable) -> Any:
        _name_by_content(function, options)
        wrappers = {"no_cfunc_wrapper": True, "no_cpython_wrapper": part}
        dispatcher = njit(nogil=True, **wrappers, **options)(function)
        if kept and not part and dispatcher is not function:  # else NUMBA_DISABLE_JIT is set
            dispatcher._cache = KindCache(function)
        return dispatcher

    return decorate


def _name_by_content(function: Callable, options: dict[str, Any]) -> None:
    """Give what a factory makes a name of its own.

    The linker tells code by module, name, types and a number that counts what a process has
    compiled.  Two products of a factory that share the rest, kept by two processes, can have the
    same number, and where a third loads both, one would run in the place of the other.
    """
    if "<locals>" in function.__qualname__:
        key = hashlib.sha256(f"{content_key(function)}{_sorted_options(options)}".encode())
        function.__qualname__ += f"_{key.hexdigest()[:12]}"


class KindCache(_Cache):
    """A cache of compiled code that never raises: what it cannot keep is compiled again.

    Parameters
    ----------
    function : callable
        Before it is compiled.
    """

    def __init__(self, function: Callable) -> None:
        self._disk: FunctionCache | None = None
        self._why = ""
        try:
            self._disk = _ByContent(function)
        except (RuntimeError, OSError):  # no folder that can be written to
            given = os.environ.get("NUMBA_CACHE_DIR")
            places = f"{given} nor " if given else ""
            self._why = (
                f"neither {places}the folder of the package nor your cache folder can be written to"
            )

    @property
    def cache_path(self) -> Any:
        """Folder of the files, or None."""
        return None if self._disk is None else self._disk.cache_path

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Code from an earlier start, or None."""
        if self._disk is None:
            return None
        try:
            return self._disk.load_overload(sig, target_context)
        except Exception:  # a damaged file may raise anything
            self._start_afresh()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what has just been compiled, or say once why not."""
        if self._disk is not None:
            try:
                self._disk.save_overload(sig, data)
            except Exception as error:
                self._why = f"{self.cache_path} cannot be written to ({_words(error)})"
            else:
                return
        _say(self._why)

    def _start_afresh(self) -> None:
        """Replace a damaged index, so that the code compiled now can be kept."""
        try:
            self.flush()
        except Exception as error:
            self._why = f"{self.cache_path} cannot be written to ({_words(error)})"

    def enable(self) -> None:
        """Use the files."""
        if self._disk is not None:
            self._disk.enable()

    def disable(self) -> None:
        """Leave the files alone."""
        if self._disk is not None:
            self._disk.disable()

    def flush(self) -> None:
        """Forget what is kept."""
        if self._disk is not None:
            self._disk.flush()


class _Compiling(event.Listener):
    """What happens while a loop of ours is compiled: it is said, and no garbage is collected.

    Most loops take a moment, and each kind of table needs others: only what takes a while is said.

    Compiling makes millions of objects that live to its end; looking for garbage among them again
    and again would take a sixth of the time.
    """

    def __init__(self) -> None:
        self._depth = 0  # loops call loops; numba compiles in one thread at a time
        self._collects = False
        self._spent = self._began = 0.0
        self._telling, self._told = threading.Lock(), False
        self._clock: threading.Timer | None = None

    def on_start(self, event: Any) -> None:
        """A loop was not found on disk."""
        if self._depth == 0 and not isinstance(event.data["dispatcher"]._cache, KindCache):
            return  # somebody else's
        self._depth += 1
        if self._depth == 1:
            self._collects = gc.isenabled()
            gc.disable()
            self._began = time.monotonic()
            self._tell_after(NOTICEABLE - self._spent)

    def on_end(self, event: Any) -> None:
        """It is compiled, or cannot be."""
        if self._depth == 0:
            return
        self._depth -= 1
        if self._depth == 0:
            self._spent += time.monotonic() - self._began
            self._be_silent()
            if self._collects:
                gc.enable()

    def _tell_after(self, seconds: float) -> None:
        if seconds <= 0:
            self._tell()
            return
        context = copy_context()  # by which a notebook knows the cell
        self._clock = threading.Timer(seconds, lambda: context.run(self._tell))
        self._clock.daemon = True
        self._clock.start()

    def _tell(self) -> None:
        with self._telling:
            if self._depth:
                self._told = True
                aside(COMPILING)

    def _be_silent(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None
        with self._telling:
            if self._told:
                self._told = False
                aside("")


event.register("numba:compile", _Compiling())


class _NamedByKey(IndexDataCacheFile):
    """Index and files of code, each file named by what it is the code of.

    The files of numba are numbered.  Two processes that save at the same time may take the same
    number, and then an index leads to the code of other arguments, which would compute something
    else without a word.
    """

    def __init__(self, cache_path: str, filename_base: str, source_stamp: Any) -> None:
        super().__init__(cache_path, f"{filename_base}.key", source_stamp)

    def save(self, key: tuple, data: Any) -> None:
        """Save the code first and then the index, so that it leads to nothing unfinished."""
        name = self._data_name_pattern.replace("{number:d}", self._digest(key))
        self._save_data(name, data)
        overloads = self._load_index()
        overloads[key] = name
        self._save_index(overloads)

    @staticmethod
    def _digest(key: tuple) -> str:
        return hashlib.sha256(repr(key).encode()).hexdigest()[:16]


class _ByContent(FunctionCache):
    """The cache of numba, with a key that knows the functions of other files too."""

    _cache_file: Any

    def __init__(self, function: Callable) -> None:
        super().__init__(function)
        numbered = self._cache_file
        base = numbered._index_name.removesuffix(".nbi")
        self._cache_file = _NamedByKey(self._cache_path, base, numbered._source_stamp)

    def _index_key(self, sig: Any, codegen: Any) -> tuple:
        return sig, codegen.magic_tuple(), content_key(self._py_func)


def content_key(function: Callable) -> str:
    """Hash of a function and of all compiled functions and constants that it uses."""
    found = hashlib.sha256()
    met, waiting = {function}, [function]
    while waiting:
        function = waiting.pop()
        found.update(repr([function.__qualname__, *_code_parts(function.__code__)]).encode())
        for name, value in _used(function):
            inner = getattr(value, "py_func", None)
            text = _constant(value) if inner is None else _options(value)
            found.update(f"{name}={text}".encode())
            if inner is not None and inner not in met:
                met.add(inner)
                waiting.append(inner)
    return found.hexdigest()


def _code_parts(code: CodeType) -> list:
    """What the result of a function depends on, in its own code."""
    parts: list[Any] = [code.co_code, code.co_names, code.co_varnames, code.co_freevars]
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            parts.append(_code_parts(constant))
        else:  # the order of a set of text is another one in each process
            parts.append(
                sorted(map(repr, constant)) if isinstance(constant, frozenset) else constant
            )
    return parts


def _names(code: CodeType) -> set[str]:
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*map(_names, inner))


def _used(function: Callable) -> Iterator[tuple[str, Any]]:
    """Names that a function takes from around it, and what they stand for."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or ())
    around = {name: cell.cell_contents for name, cell in cells}
    names = sorted(_names(function.__code__))
    around.update((n, function.__globals__[n]) for n in names if n in function.__globals__)
    for name, value in sorted(around.items()):
        if isinstance(value, ModuleType):
            yield from ((n, getattr(value, n)) for n in names if hasattr(value, n))
        else:
            yield name, value


def _constant(value: Any) -> str | None:
    """Text of a number, of several, or of a word; None for anything else."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}{value.tobytes()!r}"
    if isinstance(value, tuple):
        return repr([_constant(item) for item in value])
    known = isinstance(value, bool | int | float | complex | str | bytes | np.generic)
    return repr(value) if known else None


def _options(dispatcher: Any) -> str:
    return _sorted_options(getattr(dispatcher, "targetoptions", {}))


def _sorted_options(options: dict[str, Any]) -> str:
    texts = {k: sorted(v) if isinstance(v, set | frozenset) else v for k, v in options.items()}
    return repr(sorted(texts.items(), key=lambda item: item[0]))


def _words(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _say(why: str) -> None:
    global _said
    if _said:
        return
    _said = True
    warn(
        f"Compiled code cannot be kept, since {why}: every start compiles again, which takes some "
        "seconds. Set NUMBA_CACHE_DIR to a folder that you may write to.",
    )
