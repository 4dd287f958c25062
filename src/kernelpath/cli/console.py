"""What the terminal shows: results and one-line errors, all of it safe to print."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import typer
from rich.console import Console

from kernelpath.cli import start
from kernelpath.cli.start import HALF_WRITTEN
from kernelpath.errors import KernelPathError

DONE, AT_FAULT, WRONG_USAGE = 0, 1, 2
WIDTH_OFF_TERMINAL = 100
_SETTING = re.compile(
    r"\b(kernel|task|bandwidth|bregman_strength|norm_strength|cv|rule|budget|tolerance|scoring)"
    r"=(['\"]?)([\w.]*\w)\2"
)
_SWITCH = {
    "nested=True": "--nested",
    "probability=True": "--proba",
    "n_features goes up to": "--sizes goes up to",
    "n_features names others": "--sizes names others",
}


def safe(text: object, longest: int = 40) -> str:
    """Printable text: control characters would let a column name rewrite the terminal."""
    clean = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(text))
    return clean if len(clean) <= longest else clean[: longest - 1] + "…"


def in_option_words(message: str) -> str:
    """Name options as on the command line where a message names them as in Python.

    Examples
    --------
    >>> in_option_words("use kernel='auto' or encode them")
    'use --kernel auto or encode them'
    >>> in_option_words("fewer than cv=5 folds; use cv=3, or drop rare classes")
    'fewer than --cv 5 folds; use --cv 3, or drop rare classes'
    """
    for switch, option in _SWITCH.items():
        message = message.replace(switch, option)
    return _SETTING.sub(lambda m: f"--{m[1].replace('_', '-')} {m[3]}", message)


class Interrupted(KeyboardInterrupt):
    """An interrupt, with a sentence that says what is kept and how to go on."""


@contextmanager
def friendly_errors() -> Iterator[None]:
    """Turn what users can cause into one line and an exit code; anything else is a bug."""
    try:
        with unmasked_interrupts():
            yield
    except KernelPathError as error:
        _fail(in_option_words(str(error)))
    except MemoryError:
        _fail("not enough memory for this table; drop columns or use a smaller type (float32)")
    except BrokenPipeError:
        start.stop_writing()  # the reader of our output has gone, as with "| head"
        raise typer.Exit(DONE) from None
    except OSError as error:
        name = f" {error.filename}" if error.filename else ""
        _fail(f"cannot read or write{name}: {error.strerror or error}")
    except KeyboardInterrupt as interrupt:
        kept = interrupt if isinstance(interrupt, Interrupted) else HALF_WRITTEN
        start.answered = True
        _fail(f"{start.ended()}; {kept}", start.exit_code())


@contextmanager
def unmasked_interrupts() -> Iterator[None]:
    """Raise an interrupt as such where an error of the clean-up has taken its place."""
    try:
        yield
    except Exception as error:
        if start.is_interrupt(error):
            raise KeyboardInterrupt from error
        raise


def _fail(message: str, code: int = AT_FAULT) -> NoReturn:
    start.say(safe(" ".join(message.split()), 2000))
    raise typer.Exit(code) from None


def say_notes(notes: list[str]) -> None:
    """Print notes beside the results."""
    for note in notes:
        typer.echo(f"note: {safe(note, 400)}", err=True)


class OutputConsole(Console):
    """Console that leaves it to us what happens when its reader has gone."""

    def on_broken_pipe(self) -> None:
        """Say it to `friendly_errors`; rich would end the program with exit code 1."""
        raise BrokenPipeError


def output_console() -> Console:
    """Console for results; a fixed width where there is no terminal to ask."""
    console = OutputConsole()
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console = OutputConsole(width=WIDTH_OFF_TERMINAL)
    return console
