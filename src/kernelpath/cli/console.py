"""What the terminal shows: progress, tables and one-line errors, all of it safe to print."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable
from rich.text import Text

from kernelpath.errors import KernelPathError
from kernelpath.path import FeaturePath

DONE, AT_FAULT, WRONG_USAGE, INTERRUPTED = 0, 1, 2, 130
WIDTH_OFF_TERMINAL = 100
_SETTING = re.compile(
    r"\b(kernel|task|bandwidth|bregman_strength|norm_strength)=(['\"]?)([\w.]+)\2"
)


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
    """
    return _SETTING.sub(lambda m: f"--{m[1].replace('_', '-')} {m[3]}", message)


@contextmanager
def friendly_errors() -> Iterator[None]:
    """Turn what users can cause into one line and an exit code; anything else is a bug."""
    try:
        yield
    except KernelPathError as error:
        _fail(in_option_words(str(error)))
    except MemoryError:
        _fail("not enough memory for this table; drop columns or use a smaller type (float32)")
    except BrokenPipeError:
        raise  # the reader of our output has gone, as with "| head": Typer ends quietly
    except OSError as error:
        name = f" {error.filename}" if error.filename else ""
        _fail(f"cannot read or write{name}: {error.strerror or error}")
    except KeyboardInterrupt:
        _fail("interrupted; no file is half-written", INTERRUPTED)


def _fail(message: str, code: int = AT_FAULT) -> NoReturn:
    print(f"kernelpath: {safe(' '.join(message.split()), 2000)}", file=sys.stderr)  # noqa: T201
    raise typer.Exit(code) from None


@contextmanager
def progress_bar(enabled: bool) -> Iterator[Callable[[str], Callable[[int, int], None]]]:
    """Give a function that starts a stage and returns its callback; silent off a terminal."""
    console = Console(stderr=True)
    if not (enabled and console.is_terminal):
        yield lambda stage: lambda done, total: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = ("{task.description}", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:

        def begin(stage: str) -> Callable[[int, int], None]:
            for earlier in bar.task_ids:
                bar.update(earlier, visible=False)
            task = bar.add_task(escape(safe(stage)), total=None)

            def update(done: int, total: int) -> None:
                bar.update(task, completed=done, total=total)

            return update

        yield begin


def summary_sizes(path: FeaturePath) -> list[int]:
    """Round sizes from the largest support down to one feature."""
    usable = path.extension.n_usable if path.extension else int(path.n_selected.max())
    largest = int(path.n_selected.max())
    steps = [m * 10**e for e in range(7) for m in (1, 2, 5)]
    sizes = {s for s in steps if s < largest and s <= usable} | {largest, int(path.n_selected[-1])}
    return sorted(sizes - {0}, reverse=True)


def path_rows(
    path: FeaturePath, more_sizes: Iterable[int] = (), n_names: int = 5
) -> list[dict[str, Any]]:
    """Rows of the table, as plain values: one per round size and per size asked for."""
    rows = []
    for size in sorted({*summary_sizes(path), *more_sizes} - {0}, reverse=True):
        point = path.at(n_features=size)
        rows.append(
            {
                "n_features": size,
                "p": point.parameter,
                "kkt": point.kkt,
                "gap": point.gap,
                "note": point.note,
                "top": list(point.names[:n_names]),
            }
        )
    return rows


def print_path(rows: list[dict[str, Any]]) -> None:
    """Print the compact table of a path."""
    console = Console()
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console = Console(width=WIDTH_OFF_TERMINAL)
    table = RichTable(box=None, pad_edge=False, header_style="bold")
    # Numbers keep their width in a narrow terminal; only the names are cut.
    for name, width in (("features", 9), ("p", 7), ("KKT", 5), ("gap", 7)):
        table.add_column(name, justify="right", no_wrap=True, min_width=width)
    names_width = max(console.width - 38, 12)
    table.add_column("heaviest features", overflow="ellipsis", no_wrap=True, max_width=names_width)
    beyond = [row["note"].startswith("beyond") for row in rows]
    for row, outside in zip(rows, beyond):
        table.add_row(
            f"{row['n_features']:,}",
            f"{row['p']:.4f}" + ("*" if outside else " "),
            f"{row['kkt']:.0e}",
            "" if row["gap"] is None else f"{row['gap']:.1e}",
            Text(", ".join(safe(name, 24) for name in row["top"])),
        )
    console.print(table)
    if any(beyond):
        note = "* beyond the ends of the path, by another elimination tolerance at that p"
        console.print(Text(note, style="dim"))
