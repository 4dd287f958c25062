"""The command line: one module per command, put together here."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from kernelpath._version import __version__
from kernelpath.cli.compare import compare_command
from kernelpath.cli.demo import demo_command
from kernelpath.cli.invocation import RecordingCommand
from kernelpath.cli.methods import methods_command
from kernelpath.cli.path import path_command
from kernelpath.cli.predict import predict_command
from kernelpath.cli.report import report_command
from kernelpath.cli.significance import significance_command

app = typer.Typer(
    name="kernelpath",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    # Markdown, unlike the default, joins the lines of a paragraph and wraps it anew.
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Which columns of a wide table say something about its target? Trace the whole path of "
    "answers, from one feature to all of them, with non-linear effects counted.\n\n"
    "Example: `kernelpath path genes.parquet --target outcome --cv 5 --out run/`",
    epilog="Exit codes: 0 done, 1 the data or a file is at fault, 2 wrong usage, 130 interrupted, "
    "143 terminated, 129 hung up.",
)
app.command("path", cls=RecordingCommand, no_args_is_help=True)(path_command)
app.command("compare", cls=RecordingCommand, no_args_is_help=True)(compare_command)
app.command("test", cls=RecordingCommand, no_args_is_help=True)(significance_command)
app.command("predict", no_args_is_help=True)(predict_command)
app.command("report", no_args_is_help=True)(report_command)
app.command("methods")(methods_command)
app.command("demo", cls=RecordingCommand)(demo_command)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"kernelpath {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Hold the options of the program itself."""


def main() -> None:
    """Entry point of the program."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A terminal without UTF-8 shows a question mark instead of a traceback.
            stream.reconfigure(errors="replace")
    app()
