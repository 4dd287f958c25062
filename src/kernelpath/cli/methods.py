"""``kernelpath methods``: what there is to choose from."""

from __future__ import annotations

import json

import typer

from kernelpath.cli.catalogue import METHODS
from kernelpath.cli.console import friendly_errors
from kernelpath.cli.options import JsonOption


def methods_command(as_json: JsonOption = False) -> None:
    """List the methods, with one line and the page of the guide for each.

    Methods of the kind "path" are for path --method; all of them are for compare --methods.

    Example: `kernelpath methods --json`
    """
    with friendly_errors():
        if as_json:
            typer.echo(json.dumps([entry._asdict() for entry in METHODS.values()]))
            return
        from kernelpath.cli.printing import print_methods

        print_methods()
