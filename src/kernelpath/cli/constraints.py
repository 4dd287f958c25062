"""``--must-include``, ``--feature-group`` and ``--costs``: from words to settings.

Lists have commas; a name with a comma in it stands in double quotes, as in a CSV file.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import typer

from kernelpath.errors import DataError

FILES = (".csv", ".tsv", ".txt")


def constraint_settings(given: dict[str, Any]) -> dict[str, Any]:
    """Settings of a selector or of PathCV; those that say nothing are left out."""
    must_include = [name for text in given["must_include"] or () for name in listed(text)]
    groups = [listed(text) for text in given["feature_group"] or ()]
    found: dict[str, Any] = {}
    if must_include:
        found["must_include"] = must_include
    if groups:
        found["feature_groups"] = groups
    if given["costs"] is not None:
        found["costs"] = read_costs(given["costs"])
    return found


def listed(text: str) -> list[str]:
    """Names with commas between them.

    Examples
    --------
    >>> listed('age, "height, cm",town_*')
    ['age', 'height, cm', 'town_*']
    """
    rows = list(csv.reader([text], skipinitialspace=True))
    return [name.strip() for name in rows[0] if name.strip()] if rows else []


def read_costs(text: str) -> dict[str, float]:
    """Costs by name, from words such as ``a=3,b=0.5`` or from a file with a name and a cost a row.

    Examples
    --------
    >>> read_costs("age=0,lab_*=12.5")
    {'age': 0.0, 'lab_*': 12.5}
    """
    file = Path(text)
    if file.suffix.lower() in FILES or ("=" not in text and file.exists()):
        return _from_file(file)
    found: dict[str, float] = {}
    for one in listed(text) or [""]:
        name, _, cost = one.rpartition("=")
        number = _number(cost)
        if not name.strip() or number is None:
            raise typer.BadParameter(
                f"{text!r} is neither a file such as costs.csv nor costs such as age=0,lab=12.5",
                param_hint="'--costs'",
            )
        found[name.strip()] = number
    return found


def _from_file(file: Path) -> dict[str, float]:
    """Costs from the first two fields of every row; a first row without a number is a header."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise DataError(f"{file}: the text is not UTF-8: save the file in that encoding") from None
    tabs = file.suffix.lower() == ".tsv"
    rows = [row for row in csv.reader(text.splitlines(), delimiter="\t" if tabs else ",") if row]
    if rows and len(rows[0]) > 1 and _number(rows[0][1]) is None:
        rows = rows[1:]
    return _checked(file, rows)


def _checked(file: Path, rows: Iterable[list[str]]) -> dict[str, float]:
    found: dict[str, float] = {}
    for row in rows:
        name, cost = row[0].strip(), _number(row[1]) if len(row) > 1 else None
        if cost is None:
            raise DataError(f"{file}: the row {','.join(row)!r} is no name and a cost")
        if name in found:
            raise DataError(f"{file}: {name!r} has two costs; leave out one")
        found[name] = cost
    if not found:
        raise DataError(f"{file}: holds no costs; write a name and a cost in every row")
    return found


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def parse_budget(text: str) -> float:
    """A number of features, or a cost.

    Examples
    --------
    >>> parse_budget("20"), parse_budget("12.5")
    (20, 12.5)
    """
    number = _number(str(text))
    if number is None or not 0 <= number < float("inf"):
        raise typer.BadParameter(f"{text!r} is neither a number of features nor a cost")
    return int(number) if str(text).strip().isdigit() else number
