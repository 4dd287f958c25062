"""What the terminal shows: progress, tables and one-line errors, all on text that is safe to print."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from kernelpath.errors import KernelPathError
from kernelpath.path import FeaturePath

DONE, AT_FAULT, WRONG_USAGE, INTERRUPTED = 0, 1, 2, 130


def safe(text: object, longest: int = 40) -> str:
    """Printable text: control characters would let a column name rewrite the terminal."""
    clean = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(text))
    return clean if len(clean) <= longest else clean[: longest - 1] + "…"


@contextmanager
def friendly_errors() -> Iterator[None]:
    """Turn what users can cause into one line and an exit code; anything else is a bug."""
    try:
        yield
    except KernelPathError as error:
        _fail(str(error))
    except MemoryError:
        _fail("Not enough memory for this table; drop columns or use a smaller type (float32).")
    except OSError as error:
        name = f" {error.filename}" if error.filename else ""
        _fail(f"Cannot read or write{name}: {error.strerror or error}.")
    except KeyboardInterrupt:
        print("kernelpath: interrupted; nothing was written.", file=sys.stderr)  # noqa: T201
        raise typer.Exit(INTERRUPTED) from None


def _fail(message: str) -> None:
    print(f"kernelpath: {' '.join(safe(message, 2000).split())}", file=sys.stderr)  # noqa: T201
    raise typer.Exit(AT_FAULT) from None


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
            task = bar.add_task(stage, total=None)

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


def path_rows(path: FeaturePath, n_names: int = 5) -> list[dict[str, Any]]:
    """Rows of the table: one per size, as plain values."""
    rows = []
    for size in summary_sizes(path):
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


def print_path(path: FeaturePath, rows: list[dict[str, Any]]) -> None:
    """Print the compact table of a path."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=100)
    table = RichTable(box=None, pad_edge=False, header_style="bold")
    for name in ("features", "p", "KKT", "gap"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("heaviest features", overflow="ellipsis", no_wrap=True)
    marked = False
    for row in rows:
        beyond = row["note"].startswith("beyond")
        marked |= beyond
        table.add_row(
            f"{row['n_features']:,}",
            f"{row['p']:.4f}" + ("*" if beyond else " "),
            f"{row['kkt']:.0e}",
            "" if row["gap"] is None else f"{row['gap']:.1e}",
            Text(", ".join(safe(name, 24) for name in row["top"])),
        )
    console.print(table)
    if marked:
        low, high = path.parameters.min(), path.parameters.max()
        console.print(
            Text(
                f"* beyond p in [{low:g}, {high:g}]: the elimination tolerance is raised or lowered"
                " there, which keeps the best alignments.",
                style="dim",
            )
        )
