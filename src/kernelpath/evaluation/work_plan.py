"""How much work there is, how much is done, and how long the rest will take."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import Any

from kernelpath.utils.progress import Update, time_words
from kernelpath.utils.words import counted

BASIS = 0.02  # share of the models before the time left is stated


@dataclass(frozen=True)
class WorkPlan:
    """Work of a cross-validation, known before it starts.

    The path of all rows before it and the model on all rows after it are not counted.

    Attributes
    ----------
    n_rows, n_columns, n_folds, n_sizes : int
    n_traces : int
        Times that the selector is fitted.
    n_tuning_fits, n_fits : int
        Models fitted to choose settings, and models fitted to be scored.
    n_candidates : int
        Pairs of predictor and settings that are compared.
    n_paths : int
        The path itself and the baselines.
    nested : bool
        Whether all of it but the baselines and references is done again in every fold.
    memory : int
        Bytes of the largest working arrays, about.
    n_reference_fits : int
        Plain models of all columns, those to choose settings included.
    """

    n_rows: int
    n_columns: int
    n_folds: int
    n_sizes: int
    n_traces: int
    n_tuning_fits: int
    n_fits: int
    n_candidates: int
    n_paths: int
    memory: int
    nested: bool = False
    n_reference_fits: int = 0

    @property
    def total(self) -> int:
        """Models in all."""
        return self.n_tuning_fits + self.n_fits + self.n_reference_fits

    def __str__(self) -> str:
        paths = "" if self.n_paths == 1 else f" x {self.n_paths} rankings"
        tuning = ""
        if self.n_tuning_fits:
            tuning = (
                f" and {counted(self.n_tuning_fits, 'model')} to choose among "
                f"{counted(self.n_candidates, 'setting')}"
            )
        plain = ""
        if self.n_reference_fits:
            plain = f", {counted(self.n_reference_fits, 'plain model')} of all columns"
        again = ""
        if self.nested:
            again = (
                f", and all of this again on the training rows of each of the {self.n_folds} folds"
            )
        return (
            f"PathCV: {counted(self.n_rows, 'row')}, {counted(self.n_columns, 'column')}; "
            f"{counted(self.n_folds, 'fold')} x {counted(self.n_sizes, 'size')}{paths}: the path "
            f"is traced {counted(self.n_traces, 'time')}, {counted(self.n_fits, 'model')} to "
            f"score{tuning}{plain}, then one "
            f"size on all rows{again}; about {max(self.memory / 2**20, 1):,.0f} MB of working "
            "memory."
        )


class WorkMeter:
    """Counts models and says how long the rest will take.

    Examples
    --------
    >>> import io
    >>> meter = WorkMeter(4, verbose=1, stream=io.StringIO())
    >>> meter.add(4, "fold 1 of 1")
    >>> print(meter.stream.getvalue().strip())
    PathCV: 4 of 4 models (100 %), fold 1 of 1, 0 s left
    """

    def __init__(
        self,
        total: int,
        verbose: int = 0,
        callback: Update | None = None,
        stream: Any = None,
    ) -> None:
        self.total, self.done = total, 0
        self.verbose, self.callback = verbose, callback
        self.stream = stream if stream is not None else sys.stderr
        self._start = time.monotonic()
        self._told = self._start
        self._skipped = 0

    def say(self, text: str) -> None:
        """Write a line, if anything is to be written at all."""
        if self.verbose:
            self.stream.write(f"{text}\n")
            self.stream.flush()

    def skip(self, count: int) -> None:
        """Count models that an earlier run has fitted."""
        self._skipped += count
        self.done += count
        if count:
            self.say(f"PathCV: {counted(count, 'model')} known from an earlier run")

    def add(self, count: int, where: str = "") -> None:
        """Count models just fitted."""
        self.done = min(self.done + count, self.total)
        if self.callback is not None:
            self.callback(self.done, self.total)
        now = time.monotonic()
        often = 1.0 if self.verbose > 1 else 10.0
        if self.verbose and (now - self._told >= often or self.done == self.total):
            self._told = now
            share = 100 * self.done // max(self.total, 1)
            place = f", {where}" if where else ""
            self.say(
                f"PathCV: {self.done:,} of {self.total:,} models ({share} %){place}{self.left(now)}"
            )

    def left(self, now: float) -> str:
        """Time left, at the speed so far; what an earlier run did does not count."""
        fitted = self.done - self._skipped
        if fitted < min(BASIS * (self.total - self._skipped), self.total - self.done):
            return ""  # the first models compile code and say little about the rest
        seconds = (now - self._start) / max(fitted, 1) * (self.total - self.done)
        return f", {time_words(seconds)} left"
