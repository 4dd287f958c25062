"""Options from a TOML file: the same names, and the command line wins."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import typer

from kernelpath.errors import not_one_of

HINT = "'--config'"
RIVALS = (("quiet", "verbose"), ("rule", "tolerance"))
NAMES_OF_FILES = {"out", "report"}
NOT_IN_FILES = {"config", "help", "install_completion", "show_completion"}


def read_config(context: typer.Context, value: Path | None) -> Path | None:
    """Make the values of a file the defaults of the command."""
    if value is None or context.resilient_parsing:
        return value
    options = {
        param.name: param
        for param in context.command.params
        if param.name and param.name not in NOT_IN_FILES and param.param_type_name == "option"
    }
    names = {option_name(param): name for name, param in options.items()}
    defaults: dict[str, Any] = {}
    for key, given in _content(value).items():
        wanted = key.replace("_", "-")
        if wanted not in names:
            raise _bad(value, str(not_one_of("each key", key, names)))
        name = names[wanted]
        if name in defaults:
            raise _bad(value, f"{key} is there twice, with a dash and with an underscore")
        defaults[name] = _as_option(value, key, given, options[name])
        _check_type(context, value, key, defaults[name], options[name])
    context.default_map = {**(context.default_map or {}), **defaults}
    return value


def option_name(param: Any) -> str:
    """Long name of an option, without dashes in front."""
    return max(param.opts, key=len).lstrip("-")


def _content(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_bytes().decode("utf-8-sig"))
    except FileNotFoundError:
        raise _bad(file, "no such file: check the name and the folder") from None
    except OSError as error:
        raise _bad(file, f"cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise _bad(file, "the text is not UTF-8: save the file in that encoding") from None
    except tomllib.TOMLDecodeError as error:
        raise _bad(file, f"is not TOML: {error}") from None
    except RecursionError:
        raise _bad(file, "is nested too deeply; options are text, numbers and lists") from None
    except ValueError as error:  # a number of thousands of digits
        raise _bad(file, f"cannot be read: {str(error).split(';')[0]}") from None


def _as_option(file: Path, key: str, given: Any, param: Any) -> Any:
    """Value as the parser takes it: text with commas in place of a list."""
    if param.name in NAMES_OF_FILES and not isinstance(given, str):
        raise _bad(file, f"{key} must be the name of a file or folder in quotes, got {given}")
    flag = bool(getattr(param, "is_flag", False))
    if isinstance(given, bool):
        if not flag:
            raise _bad(file, f"{key} takes a value, not true or false")
        return given
    if flag:
        raise _bad(file, f"{key} is a switch: write true or false")
    if isinstance(given, list):
        if any(isinstance(item, bool | list | dict) for item in given):
            raise _bad(file, f"{key} may hold text or numbers only")
        items = [str(item) for item in given]
        return items if param.multiple else ",".join(items)
    if not isinstance(given, str | int | float):
        raise _bad(file, f"{key} must be text, a number, a list or true or false")
    return [str(given)] if param.multiple else str(given)


def _check_type(context: typer.Context, file: Path, key: str, value: Any, param: Any) -> None:
    """Refuse what the option would refuse, but name the file."""
    try:
        param.process_value(context, value)
    except typer.BadParameter as error:
        raise _bad(file, f"{key}: {error.message}") from None


def settle(context: typer.Context) -> dict[str, Any]:
    """Options in force; where the command line and a file contradict each other, the line wins."""
    given = context.params

    def from_line(name: str) -> bool:
        return getattr(context.get_parameter_source(name), "name", "") == "COMMANDLINE"

    for name, rival in (*RIVALS, *((b, a) for a, b in RIVALS)):
        if name in given and rival in given and from_line(name) and not from_line(rival):
            given[rival] = False if isinstance(given[rival], bool) else None
    return given


def _bad(file: Path, text: str) -> typer.BadParameter:
    return typer.BadParameter(f"{file}: {text}", param_hint=HINT)
