"""Reading a summary back, as strict as it was written: form, version and every position in it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kernelpath.errors import PathFileError
from kernelpath.report.summary import FORMAT, VERSION, schema

POSITION_IN = "x-position-in"  # keyword of the schema: a number that names an entry of a list
REMEDY = "use another copy of the file, or run kernelpath path again"
_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
}


def read_summary(file: Path) -> dict[str, Any]:
    """Read a summary, refusing what is damaged, of another kind or of a newer version.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "summary.json")
    ...     _ = file.write_text("[1, 2")
    ...     try:
    ...         read_summary(file)
    ...     except PathFileError as error:
    ...         print("cannot be read" in str(error))
    True
    """
    summary = read_json(file)
    if not isinstance(summary, dict) or summary.get("format") != FORMAT:
        raise PathFileError(
            f"{file}: is not a summary of kernelpath: name a run folder or its file"
        )
    version = summary.get("version")
    if isinstance(version, int) and version > VERSION:
        raise PathFileError(
            f"{file}: is a summary of version {version}, but only versions up to {VERSION} are "
            "known here: use a newer kernelpath"
        )
    for problem in problems(summary, schema(), len(_listed(summary))):
        raise PathFileError(f"{file}: damaged or altered ({problem}): {REMEDY}")
    return summary


def read_json(file: Path) -> Any:
    """Read a JSON file, with one sentence for whatever is wrong with it."""

    def refuse(word: str) -> None:
        raise ValueError(f"{word} is not JSON")

    try:
        return json.loads(file.read_text(encoding="utf-8"), parse_constant=refuse)
    except FileNotFoundError:
        raise PathFileError(f"{file}: no such file: check the name and the folder") from None
    except (ValueError, RecursionError) as error:  # UnicodeDecodeError is a ValueError too
        text = str(error) or type(error).__name__
        raise PathFileError(f"{file}: cannot be read ({text[:120]}): {REMEDY}") from None


def _listed(summary: dict[str, Any]) -> list[Any]:
    features = summary.get("features")
    return features if isinstance(features, list) else []


def problems(value: Any, rule: dict[str, Any], n_listed: int, place: str = "") -> Iterator[str]:
    """Yield what is wrong with a value under a JSON Schema of the kind that summaries have.

    Examples
    --------
    >>> list(problems({"a": -1}, {"properties": {"a": {"type": "integer", "minimum": 0}}}, 0))
    ['a is below 0']
    """
    name = place or "the whole"
    options = rule.get("anyOf") or rule.get("oneOf")
    if options is not None:
        found = [list(problems(value, option, n_listed, place)) for option in options]
        if all(found):
            yield min(found, key=len)[0]
        return
    if "const" in rule and value != rule["const"]:
        yield f"{name} is not {rule['const']!r}"
    if "enum" in rule and value not in rule["enum"]:
        yield f"{name} is none of {rule['enum']}"
    if not _is_type(value, rule.get("type")):
        yield f"{name} is not {_type_words(rule['type'])}"
        return
    if isinstance(value, int | float) and value < rule.get("minimum", value):
        yield f"{name} is below {rule['minimum']}"
    if rule.get(POSITION_IN) == "features" and value >= n_listed:
        yield f"{name} names no feature"
    if isinstance(value, dict):
        yield from _object_problems(value, rule, n_listed, place)
    elif isinstance(value, list) and "items" in rule:
        for i, item in enumerate(value):
            yield from problems(item, rule["items"], n_listed, f"{place}[{i}]")


def _object_problems(
    value: dict[str, Any], rule: dict[str, Any], n_listed: int, place: str
) -> Iterator[str]:
    known, others = rule.get("properties", {}), rule.get("additionalProperties", True)
    for key in rule.get("required", ()):
        if key not in value:
            yield f"{_below(place, key)} is missing"
    for key, item in value.items():
        if key in known:
            yield from problems(item, known[key], n_listed, _below(place, key))
        elif others is False:
            yield f"{_below(place, key[:40])} is unknown"
        elif isinstance(others, dict):
            yield from problems(item, others, n_listed, _below(place, key[:40]))


def _below(place: str, key: str) -> str:
    return f"{place}.{key}" if place else key


def _is_type(value: Any, wanted: str | list[str] | None) -> bool:
    if wanted is None:
        return True
    names = [wanted] if isinstance(wanted, str) else wanted
    kinds = tuple(kind for name in names for kind in _TYPES[name])
    if isinstance(value, bool):
        return bool in kinds
    return isinstance(value, kinds)


def _type_words(wanted: str | list[str]) -> str:
    return " or ".join([wanted] if isinstance(wanted, str) else wanted)
