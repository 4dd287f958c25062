"""Entry point of the program: light, so that a signal is answered from the first moment."""

from __future__ import annotations

import _thread
import os
import signal
import sys
import time
from contextlib import suppress
from types import FrameType
from typing import Any

HALF_WRITTEN = "no file is half-written"
# A signal may end the program, by an exception that cleans up on its way out.
SIGNALS = {"SIGINT": "interrupted", "SIGTERM": "terminated", "SIGHUP": "hung up"}
received = signal.SIGINT  # the signal that ends the program, once there was one
ending = False
answered = False  # whether the end has been answered in words
_main_thread = _thread.get_ident()


def main() -> None:
    """Run the program; a signal ends in one line and its exit code, whenever it comes."""
    sys.unraisablehook = _raise_again
    _listen()
    try:
        from kernelpath.cli.main import main as run

        run()
    except SystemExit as end:
        if _reader_has_gone(end):  # in the middle of a help text; typer and rich end with 1
            stop_writing()
            raise SystemExit(0) from None
        if end.code != 128 + signal.SIGINT or answered:
            raise
        _answer()  # typer's own end of an interrupt
    except BaseException as error:
        if not is_interrupt(error):
            raise
        _answer()


def stop_writing() -> None:
    """Send what is still buffered to nowhere, so that the end of the program is quiet."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _reader_has_gone(error: BaseException) -> bool:
    """Whether nothing but a closed pipe ended the program, as with "| head"."""
    cause = error.__context__
    return isinstance(cause, BrokenPipeError) and cause.__context__ is None


def exit_code() -> int:
    """Exit code after a signal, as shells have it: 130, 143 or 129."""
    return 128 + received


def ended() -> str:
    """Word for what ended the program."""
    return SIGNALS[received.name]


def is_interrupt(error: BaseException | None) -> bool:
    """Whether an error came of an interrupt: those who clean up may raise one of their own.

    Examples
    --------
    >>> try:
    ...     try:
    ...         raise KeyboardInterrupt
    ...     finally:
    ...         raise ValueError("closed")
    ... except ValueError as error:
    ...     is_interrupt(error), is_interrupt(ValueError())
    (True, False)
    """
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


# -- signals ---------------------------------------------------------------------------------------


class _Ending(KeyboardInterrupt):
    """An interrupt that comes again if it is lost: some C code drops all exceptions."""

    def __del__(self) -> None:
        if not answered:
            _come_again()


def _listen() -> None:
    for name in SIGNALS:
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        # Whoever started us may want a signal ignored, as nohup does.
        if number and signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _end)


def _end(number: int, frame: FrameType | None) -> None:
    global received, ending
    if not ending:
        received, ending = signal.Signals(number), True
    while frame is not None:
        if str(frame.f_globals.get("__name__")).startswith("llvmlite."):
            _come_again()  # between two owners, its objects would be freed twice or never
            return
        frame = frame.f_back
    raise _Ending


def _raise_again(lost: Any) -> None:
    """An interrupt that came where Python can raise nothing, as while it loads a module."""
    if issubclass(lost.exc_type, _Ending):
        return  # comes again by itself
    if issubclass(lost.exc_type, KeyboardInterrupt):
        _come_again()  # here it would be lost again
    elif not ending:  # what is torn down half-made may complain
        sys.__unraisablehook__(lost)


def _come_again() -> None:
    _thread.start_new_thread(_interrupt_soon, ())


def _interrupt_soon() -> None:
    time.sleep(0.02)
    if answered:
        return
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(_main_thread, received)  # wakes it, should it wait for something
    else:
        _thread.interrupt_main(received)


def _answer() -> None:
    global answered
    answered = True
    say(f"{ended()}; {HALF_WRITTEN}")
    sys.exit(exit_code())


def say(text: str) -> None:
    """Write one line to the standard error, if somebody can read it still."""
    try:
        sys.stderr.write(f"kernelpath: {text}\n")
        sys.stderr.flush()
    except OSError:
        pass
