"""Loops compiled by numba, kept on disk for the next start where that is possible.

A cache that cannot be used is no reason to stop: an installation that only its owner may write
to, a container without a home, a full disk or a damaged file cost the time of compiling again,
which is said once.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from numba import njit
from numba.core.caching import FunctionCache, _Cache

from kernelpath.utils.warn import warn

__all__ = ["compiled"]

_said = False


def compiled(**options: Any) -> Callable[[Callable], Any]:
    """Compile a function at its first call, without the lock of the interpreter.

    Parameters
    ----------
    **options
        Of ``numba.njit``, such as ``fastmath`` and ``inline``.
    """

    def decorate(function: Callable) -> Any:
        dispatcher = njit(nogil=True, **options)(function)
        if dispatcher is not function:  # else NUMBA_DISABLE_JIT is set
            dispatcher._cache = KindCache(function)
        return dispatcher

    return decorate


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
            self._disk = FunctionCache(function)
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
