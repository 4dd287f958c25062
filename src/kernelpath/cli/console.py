"""What the terminal shows: how much is said, one-line errors, notes and the last lines."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import typer
from rich.console import Console

from kernelpath.cli import start
from kernelpath.cli.start import HALF_WRITTEN
from kernelpath.errors import KernelPathError, settings_named
from kernelpath.utils.progress import no_progress, progress_bar
from kernelpath.utils.words import counted

DONE, AT_FAULT, WRONG_USAGE = 0, 1, 2
WIDTH_OFF_TERMINAL = 100
SELECTED = "selected.csv"
OTHER_NAMES = {  # of settings, as options
    "probability": "proba", "n_features": "sizes", "feature_groups": "feature-group",
}  # fmt: skip
SWITCHES = {
    "identifiers": ("identifiers='keep'", "--keep-identifiers")
}  # settings with one other value
NAMED_ALONE = {  # settings that messages name without a value
    "n_features", "baselines", "must_include", "feature_groups", "costs", "max_train_rows",
}  # fmt: skip


def safe(text: object, longest: int = 40) -> str:
    """Printable text: control characters would let a column name rewrite the terminal."""
    clean = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(text))
    return clean if len(clean) <= longest else clean[: longest - 1] + "…"


@dataclass(frozen=True)
class OutputOptions:
    """Where results go, and how much is said."""

    out: Path | None
    report: str | None = None
    as_json: bool = False
    quiet: bool = False
    verbose: bool = False
    overwrite: bool = False

    def progress(self) -> AbstractContextManager[None]:
        """A progress bar for what is done inside, or lines of a log, where they are welcome."""
        if self.quiet or self.as_json or self.verbose:
            return no_progress()
        return progress_bar(patience=0, log=True)


def check_quiet(given: dict[str, Any]) -> None:
    """Refuse to be silent and talkative at once."""
    if given["quiet"] and given["verbose"]:
        raise typer.BadParameter(
            "contradict each other; leave out one", param_hint="'--quiet', '--verbose'"
        )


# -- errors ----------------------------------------------------------------------------------------


def in_option_words(error: BaseException | str) -> str:
    """Name options as on the command line where an error or a warning names settings.

    Which settings it names, the error says itself (`kernelpath.errors.naming`).  Where they stand
    is searched for: one sentence may name several of them, each more than once.

    Examples
    --------
    >>> from kernelpath.errors import DataError, naming
    >>> in_option_words(naming(DataError("task=1.csv: use kernel='auto' or encode it"), "kernel"))
    'task=1.csv: use --kernel auto or encode it'
    >>> in_option_words(naming(DataError("cv=5 is too many; use cv=3, or nested=True"), "cv"))
    '--cv 5 is too many; use --cv 3, or nested=True'
    """
    message = str(error)
    for name in settings_named(error) if isinstance(error, BaseException) else ():
        option = f"--{OTHER_NAMES.get(name, name).replace('_', '-')}"
        if name in SWITCHES:
            message = message.replace(*SWITCHES[name])
        elif name in NAMED_ALONE:
            message = re.sub(rf"\b{name}\b", option, message)
        else:
            message = message.replace(f"{name}=True", option)  # a switch
            message = re.sub(rf"\b{name}=(['\"]?)([\w.]*\w)\1", rf"{option} \2", message)
    return message


class Interrupted(KeyboardInterrupt):
    """An interrupt, with a sentence that says what is kept and how to go on."""


@contextmanager
def friendly_errors() -> Iterator[None]:
    """Turn what users can cause into one line and an exit code; anything else is a bug."""
    try:
        with unmasked_interrupts():
            yield
    except KernelPathError as error:
        _fail(in_option_words(error))
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


# -- results ---------------------------------------------------------------------------------------


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


def print_json(result: dict[str, Any], written: list[Path]) -> None:
    """Print one object, for machines."""
    whole = result | {"files": [str(file) for file in written]}
    typer.echo(json.dumps(whole, ensure_ascii=True, allow_nan=False))


def say_files(
    written: list[Path], output: OutputOptions, n_selected: int | None = None, what: str = "path"
) -> None:
    """Say which files were written where."""
    said = "" if n_selected is None else f" ({counted(n_selected, 'feature')})"
    inside = [
        f"{file.name}{said if file.name == SELECTED else ''}"
        for file in written
        if file.parent == output.out
    ]
    if inside:
        typer.echo(f"Wrote {', '.join(inside)} to {safe(output.out, 400)}")
    for file in written:
        if file.parent != output.out:
            typer.echo(f"Wrote {safe(file, 400)}")
    if not written and not output.quiet:
        typer.echo(f"Nothing was written; add --out DIR to keep the {what}.")


def say_notes(notes: list[str]) -> None:
    """Print notes beside the results."""
    for note in notes:
        typer.echo(f"note: {safe(note, 400)}", err=True)
