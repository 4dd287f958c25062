"""A command that remembers how it was called, and lets ``--report`` stand alone."""

from __future__ import annotations

import shlex
from enum import Enum
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand

from kernelpath.cli.config import NOT_IN_FILES, option_name

CALLED = "kernelpath.arguments"
MAY_STAND_ALONE = "--report"


class RecordingCommand(TyperCommand):
    """Keeps the arguments as typed."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse, after writing the arguments down."""
        ctx.meta[CALLED] = list(args)
        return super().parse_args(ctx, with_empty_value(args))


def with_empty_value(args: list[str]) -> list[str]:
    """Write out the missing value of an option that may stand alone.

    Examples
    --------
    >>> with_empty_value(["a.csv", "--report", "--cv", "5"])
    ['a.csv', '--report=', '--cv', '5']
    >>> with_empty_value(["a.csv", "--report", "b.html"])
    ['a.csv', '--report', 'b.html']
    """
    last = args.index("--") if "--" in args else len(args)
    return [
        f"{arg}="
        if arg == MAY_STAND_ALONE and i < last and args[i + 1 : i + 2] in ([], _option(args, i + 1))
        else arg
        for i, arg in enumerate(args)
    ]


def _option(args: list[str], i: int) -> list[str] | None:
    return args[i : i + 1] if args[i : i + 1] and args[i].startswith("-") else None


def argv(context: typer.Context) -> list[str]:
    """The command as typed, program first."""
    return ["kernelpath", str(context.info_name), *context.meta.get(CALLED, [])]


def command_line(words: list[str]) -> str:
    """One line that a shell reads as these words.

    Examples
    --------
    >>> command_line(["kernelpath", "path", "my table.csv"])
    "kernelpath path 'my table.csv'"
    """
    return shlex.join(words)


def options_in_force(context: typer.Context) -> dict[str, Any]:
    """Every option by its long name, after the configuration file, as JSON can hold it."""
    return {
        option_name(param): _plain(context.params.get(param.name))
        for param in context.command.params
        if param.name in context.params and param.name not in NOT_IN_FILES - {"config"}
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
