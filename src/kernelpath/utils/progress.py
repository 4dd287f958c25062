"""Progress of long work: a bar with the time left, on a terminal or in a notebook.

Whoever starts long work opens a bar with `progress_bar`; whoever does it names its steps with
`begin` and counts.  Work of a single step is `working`.  Bars inside a bar are one bar: the
outermost is shown.  A command whose standard error is a file writes a line now and then instead.
"""

from __future__ import annotations

import multiprocessing
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context
from html import escape
from typing import Any, TextIO

PATIENCE = 2.0  # seconds of work before a bar appears
LATER = 0.01  # the clock of a bar rings after its time, not before
PAUSE = 0.2  # seconds between two pictures of a bar in a notebook
# Of lines in a log: seconds of a step before the first, between two in any case, and between two
# when this share more is done.
FIRST, SELDOM, OFTEN, MORE = 5.0, 30.0, 5.0, 0.1
EARLY = 0.02  # of what is left: a smaller beginning says nothing about the speed of the rest
TICK = 1.0  # seconds between two looks at a step that counts nothing

Update = Callable[[float, float], None]


class Silent:
    """A bar that shows nothing."""

    def begin(self, stage: str, amount: str = "") -> Update:
        """Name the next step; the result is called with what is done and how much there is."""
        return _ignore

    def aside(self, text: str) -> None:
        """Say what happens meanwhile, or with no text that it is over."""

    def remark(self, text: str) -> None:
        """Say something that stays when the bar is gone."""

    def close(self) -> None:
        """Take the bar away."""


class Relay(Silent):
    """A bar that passes the counts of one step on, and nothing else."""

    def __init__(self, stage: str, update: Update) -> None:
        self._stage, self._update = stage, update

    def begin(self, stage: str, amount: str = "") -> Update:
        """Give the function that counts, if this is the step to be passed on."""
        return self._update if stage == self._stage else _ignore


class _Visible(Silent):
    """A bar that appears once the work has taken a while, counted or not."""

    def __init__(self, patience: float) -> None:
        self._appears = time.monotonic() + patience
        self._stage, self._done, self._total = "", 0.0, 0.0
        self._amount = self._meanwhile = ""
        self._started = self._before = 0.0
        self._drawing, self._closed = threading.RLock(), False
        # Work that counts nothing calls nobody: a clock brings its bar.  It works in the context
        # of the caller, by which a notebook knows the cell.
        context = copy_context()
        self._clock = threading.Timer(patience + LATER, lambda: context.run(self._picture))
        self._clock.daemon = True
        if patience > 0:
            self._clock.start()

    def begin(self, stage: str, amount: str = "") -> Update:
        self._stage, self._done, self._total, self._amount = stage, 0.0, 0.0, amount
        self._started, self._before = time.monotonic(), -1.0
        self._picture()

        def update(done: float, total: float) -> None:
            if self._stage != stage:
                return
            if self._before < 0:  # what an earlier run did says nothing about the speed of this one
                self._before = done
            self._done, self._total = done, total
            self._picture()

        return update

    def aside(self, text: str) -> None:
        self._meanwhile = text
        self._picture()

    def close(self) -> None:
        """Take the bar away, if it is there; it does not come back."""
        self._clock.cancel()
        with self._drawing:
            self._closed = True
            self._erase()

    def _picture(self) -> None:
        if not self._stage or time.monotonic() < self._appears:
            return
        with self._drawing:
            if not self._closed:
                self._draw()

    def _draw(self) -> None:
        raise NotImplementedError

    def _erase(self) -> None:
        raise NotImplementedError

    def _words(self) -> str:
        """Step, count and time left; or what happens meanwhile."""
        if not self._total:
            return f"{self._stage}: {self._meanwhile}" if self._meanwhile else self._stage
        counted = f"{self._stage}: {int(self._done):,} of {int(self._total):,}"
        if self._meanwhile:  # which says nothing about the speed of the rest
            return f"{counted}, {self._meanwhile}"
        fresh = self._done - max(self._before, 0.0)
        if fresh <= 0 or fresh < EARLY * (self._total - self._done):
            return counted
        speed = fresh / max(time.monotonic() - self._started, 1e-9)
        return f"{counted}, {time_words((self._total - self._done) / speed)} left"


class TerminalBar(_Visible):
    """A bar on the standard error, gone when the work is done."""

    def __init__(self, console: Any, patience: float) -> None:
        super().__init__(patience)
        self._console = console
        self._screen: Any = None
        self._task: Any = None

    def _draw(self) -> None:
        from rich.progress import BarColumn, Progress, TextColumn

        now: dict[str, Any] = {"completed": self._done, "total": self._total or None}
        now["description"] = _printable(self._words())
        if self._screen is None:
            words = TextColumn("{task.description}", markup=False)
            self._screen = Progress(BarColumn(), words, console=self._console, transient=True)
            self._task = self._screen.add_task(**now)
            self._screen.start()
        self._screen.update(self._task, **now, refresh=not self._total)  # a new step at once

    def remark(self, text: str) -> None:
        """A line above the bar."""
        with self._drawing:
            self._console.print(_printable(text), markup=False, highlight=False, soft_wrap=True)

    def _erase(self) -> None:
        if self._screen is not None:
            self._screen.stop()


class NotebookBar(_Visible):
    """A bar below the cell of a notebook, gone when the work is done."""

    def __init__(self, patience: float) -> None:
        super().__init__(patience)
        self._handle: Any = None
        self._drawn = 0.0

    def _draw(self) -> None:
        from IPython.display import HTML, display

        now = time.monotonic()
        if self._done and self._done < self._total and now - self._drawn < PAUSE:
            return
        self._drawn = now
        share = f" value='{self._done / self._total:.4f}'" if self._total else ""
        picture = HTML(f"<progress max='1'{share}></progress> {escape(self._words())}")
        if self._handle is None:
            self._handle = display(picture, display_id=True)
        else:
            self._handle.update(picture)

    def _erase(self) -> None:
        if self._handle is not None:
            from IPython.display import HTML

            self._handle.update(HTML(""))


class LogLines(_Visible):
    """Lines on a standard error that is no terminal: how much work there is, then how it goes.

    A step that is soon done has no line.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__(0.0)
        self._stream = stream
        self._told = self._share = -1.0  # when the last line of the step was written, and its share
        self._said: set[str] = set()
        self._over = threading.Event()
        threading.Thread(target=self._look_again, daemon=True).start()

    def begin(self, stage: str, amount: str = "") -> Update:
        """Name the next step, which has no line yet."""
        self._told = self._share = -1.0
        return super().begin(stage, amount)

    def remark(self, text: str) -> None:
        """A line at once."""
        self._write(text)

    def _look_again(self) -> None:
        """Work that counts nothing calls nobody."""
        while not self._over.wait(TICK):
            self._picture()

    def _draw(self) -> None:
        now = time.monotonic()
        share = self._done / self._total if self._total else 0.0
        if self._meanwhile:
            if self._meanwhile not in self._said:
                self._said.add(self._meanwhile)
                self._write(self._meanwhile)
            return
        if self._told < 0:
            due = now - self._started >= FIRST
        else:
            pause = now - self._told
            due = pause >= SELDOM or (pause >= OFTEN and share - self._share >= MORE)
        if not due or share >= 1.0:
            return
        if self._amount:
            self._write(self._amount)
            self._amount = ""
        percent = f" ({100 * share:.0f} %)" if self._done else ""
        first, comma, rest = self._words().partition(", ")
        self._write(f"{first}{percent}{comma}{rest}")
        self._told, self._share = now, share

    def _write(self, text: str) -> None:
        with suppress(OSError, ValueError):  # nobody reads it any more
            self._stream.write(f"kernelpath: {_printable(text)}\n")
            self._stream.flush()

    def _erase(self) -> None:
        self._over.set()


_active: ContextVar[Silent | None] = ContextVar("kernelpath_progress", default=None)
_outermost: Silent = Silent()  # the bar that is shown, from any thread
_wanted = True


def show_progress(wanted: bool) -> None:
    """Turn progress bars on or off, for this process.

    Whatever takes longer than two seconds shows a bar, on a terminal or in a notebook, with the
    time left where the work can be counted.  Elsewhere nothing is ever shown but by the command
    line, which writes a line to a log now and then.

    Parameters
    ----------
    wanted : bool

    Examples
    --------
    >>> import kernelpath as kp
    >>> kp.show_progress(False)
    >>> kp.show_progress(True)
    """
    global _wanted
    _wanted = bool(wanted)


@contextmanager
def progress_bar(patience: float = PATIENCE, log: bool = False) -> Iterator[None]:
    """Show the steps of what is done inside; within another bar, that one goes on.

    With ``log``, lines stand for the bar where there is neither a terminal nor a notebook.
    """
    global _outermost
    if _active.get() is not None:
        yield
        return
    bar, before = _new_bar(patience, log), _outermost
    _outermost = bar
    try:
        with _as_active(bar):
            yield
    finally:
        _outermost = before


@contextmanager
def no_progress() -> Iterator[None]:
    """Show nothing of what is done inside."""
    with _as_active(Silent()):
        yield


@contextmanager
def passed_on(stage: str, update: Update) -> Iterator[None]:
    """Count one step of what is done inside elsewhere; show nothing of it here."""
    with _as_active(Relay(stage, update)):
        yield


@contextmanager
def working(stage: str) -> Iterator[None]:
    """Show work as a single step, without the steps inside; also as a decorator of a function.

    Within a bar it is part of the step that is shown there.
    """
    outermost = _active.get() is None
    with progress_bar():
        if outermost:
            begin(stage)
        with no_progress():
            yield


def begin(stage: str, amount: str = "") -> Update:
    """Name the next step of the work; the result counts it.

    ``amount`` is a sentence that says how much there is to do, for a log.

    Examples
    --------
    >>> update = begin("folds")
    >>> update(1, 5)
    """
    bar = _active.get()
    return _ignore if bar is None else bar.begin(stage, amount)


def aside(text: str) -> None:
    """Say what happens meanwhile, such as compiling; with no text, that it is over."""
    _outermost.aside(text)


def remark(text: str) -> None:
    """Say something about the work that stays when the bar is gone, where there is one."""
    bar = _active.get()
    if bar is not None:
        bar.remark(text)


def time_words(seconds: float) -> str:
    """How long, in round words.

    Examples
    --------
    >>> time_words(12.3), time_words(600), time_words(9000)
    ('12 s', '10 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


@contextmanager
def _as_active(bar: Silent) -> Iterator[None]:
    token = _active.set(bar)
    try:
        yield
    finally:
        _active.reset(token)
        bar.close()


def _new_bar(patience: float, log: bool = False) -> Silent:
    """The bar that can be seen where we are."""
    main = threading.current_thread() is threading.main_thread()
    if not (_wanted and main and multiprocessing.current_process().name == "MainProcess"):
        return Silent()
    if _in_notebook():
        return NotebookBar(patience)
    from rich.console import Console

    console = Console(stderr=True)
    if console.is_terminal:
        return TerminalBar(console, patience)
    return LogLines(sys.stderr) if log else Silent()


def _in_notebook() -> bool:
    if "IPython" not in sys.modules:
        return False
    from IPython import get_ipython

    return getattr(get_ipython(), "kernel", None) is not None


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def _ignore(done: float, total: float) -> None:
    """Count nothing."""
