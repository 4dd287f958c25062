"""Where results go, how much is said, and the last lines of every command."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from kernelpath.cli.console import safe
from kernelpath.utils.progress import no_progress, progress_bar


@dataclass(frozen=True)
class Output:
    """Where results go, and how much is said."""

    out: Path | None
    report: str | None = None
    as_json: bool = False
    quiet: bool = False
    verbose: bool = False
    overwrite: bool = False

    def progress(self) -> AbstractContextManager[None]:
        """A progress bar for what is done inside, where one is welcome."""
        if self.quiet or self.as_json or self.verbose:
            return no_progress()
        return progress_bar(patience=0)


def check_voice(given: dict[str, Any]) -> None:
    """Refuse to be silent and talkative at once."""
    if given["quiet"] and given["verbose"]:
        raise typer.BadParameter(
            "contradict each other; leave out one", param_hint="'--quiet', '--verbose'"
        )


def print_json(result: dict[str, Any], written: list[Path]) -> None:
    """Print one object, for machines."""
    whole = result | {"files": [str(file) for file in written]}
    typer.echo(json.dumps(whole, ensure_ascii=True, allow_nan=False))


def say_files(
    written: list[Path], output: Output, n_selected: int | None = None, what: str = "path"
) -> None:
    """Say which files were written where."""
    inside = [file.name for file in written if file.parent == output.out]
    if inside:
        names = ", ".join(inside)
        if n_selected is not None:
            size = f"{n_selected:,} feature{'s' * (n_selected != 1)}"
            names = names.replace("selected.csv", f"selected.csv ({size})")
        typer.echo(f"Wrote {names} to {safe(output.out, 400)}")
    for file in written:
        if file.parent != output.out:
            typer.echo(f"Wrote {safe(file, 400)}")
    if not written and not output.quiet:
        typer.echo(f"Nothing was written; add --out DIR to keep the {what}.")
