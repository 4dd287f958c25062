"""``kernelpath methods``: what there is to choose from."""

from __future__ import annotations

import json

import typer

from kernelpath.catalogue import METHODS
from kernelpath.cli.console import friendly_errors
from kernelpath.cli.options import JsonOption


def methods_command(as_json: JsonOption = False) -> None:
    """List the methods, with one line and the page of the guide for each.

    All of them are for path --method and for compare --methods. Of the kind "path" are those with
    a path of their own, "choice" chooses anew for every size, and a "ranking" is one order.

    Example: `kernelpath methods --json`
    """
    with friendly_errors():
        if as_json:
            typer.echo(json.dumps([entry.as_dict() for entry in METHODS.values()]))
            return
        from kernelpath.cli.printing import print_methods

        print_methods()
