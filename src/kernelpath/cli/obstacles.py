"""What is wrong with a table, in the words of the command line, and all of it at once.

Whatever a method, its kernel or the options cannot take is said in one line, before any work, each
with the option that helps.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from kernelpath.catalogue import Method
from kernelpath.cli.console import safe
from kernelpath.errors import DataError, Obstacles, naming, settings_named
from kernelpath.kernels import Delta
from kernelpath.tables.constraints import columns_of
from kernelpath.tables.formats import naming_file
from kernelpath.tables.kinds import ColumnReading, Kind, is_identifier
from kernelpath.tables.read import LoadedTable
from kernelpath.tables.table import (
    Table,
    as_column_table,
    column_list,
    columns_not_finite,
    columns_with_holes,
    named_columns,
)
from kernelpath.tables.targets import encode_target, infer_task

WITH_UNIT = r"[+-]?\d+([.,]\d+)? ?[A-Za-zµ°]{1,5}([/^]?[A-Za-z\d²³]{1,3})?"


def check_table(
    table: LoadedTable,
    methods: list[Method],
    *,
    kernel: str,
    task: str,
    missing: str,
    identifiers: str,
    must_include: Any = None,
    compared: bool = False,
) -> None:
    """Refuse a table that the methods or the options cannot use, before any work.

    Parameters
    ----------
    table : LoadedTable
    methods : list of Method
    kernel, task, missing, identifiers : str
        Options in force.
    must_include : list of str, optional
        Columns that are features even if they name rows.
    compared : bool
        Whether the methods take part in a comparison.
    """
    found = Obstacles()
    instead = "leave it out of --methods" if compared else "take another --method"
    with found.noting():
        _check_methods(table, methods, task, instead)
    columns = _columns(table, identifiers, must_include)
    numeric = [one.name for one in methods if one.refuses_text(compared)]
    with found.noting():
        _check_text(table, columns, kernel, numeric[0] if numeric else "")
    if missing == "error":
        with found.noting():
            _check_holes(columns)
    with found.noting():
        _check_informative(columns, identifiers)
    if found.found:
        with found.noting():
            encode_target(table.y, task=task)
        with found.noting():
            _check_infinite(table)
    try:
        found.refuse()
    except DataError as error:
        text = str(error).rstrip(".")
        raise naming(DataError(f"{table.source}: {text}"), *settings_named(error)) from None


def as_table(table: LoadedTable, identifiers: str, must_include: Any = None) -> Table:
    """Columns of a file as numbers, with their names; those that name rows are left out.

    Columns that must be in are not.
    """
    if not hasattr(table.X, "columns"):
        return named_columns(table.X, table.feature_names)
    columns = replace(as_column_table(table.X), given=table.X)
    if identifiers == "keep":
        return columns
    return columns.without_identifiers(but=columns_of(must_include, columns))


def _columns(table: LoadedTable, identifiers: str, must_include: Any) -> Table:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # said when it is read for good
        return as_table(table, identifiers, must_include)


def _check_methods(table: LoadedTable, methods: list[Method], task: str, instead: str) -> None:
    """Refuse a target or a number of rows that one of the methods cannot use."""
    kind = infer_task(table.y, task, judged=True)
    n_classes = len(np.unique(table.y)) if kind == "classification" else 0
    target = "the target" if table.target_name is None else repr(table.target_name)
    for method in methods:
        why = method.why_not(kind, n_classes, len(table.y), target)
        if why is not None:
            raise naming(DataError(f"{why[0]}; {instead}, or {why[1]}"), "task")


def _check_text(table: LoadedTable, columns: Table, kernel: str, numeric: str) -> None:
    """Refuse text columns for kernels, or a method, of numbers, and say what to do."""
    if kernel in ("auto", Delta.name) and not numeric:
        return
    spoilt = _spoilt_numbers(table)[1]
    if spoilt:
        raise DataError(f"{spoilt}; correct the file or use --drop")
    names = [table.feature_names[j] for j in np.flatnonzero(columns.categorical)]
    if not names:
        return
    text = columns_hold(names, "text")
    if numeric:
        raise DataError(
            f"{text}, and {numeric} takes numbers; leave columns out with --drop, or encode them "
            "as numbers"
        )
    raise DataError(
        f"{text}; add --kernel auto to use text as categories, leave columns out with --drop, or "
        "encode them as numbers"
    )


def _check_holes(columns: Table) -> None:
    """Refuse missing values."""
    holes = np.flatnonzero(columns_with_holes(columns.values))
    if len(holes):
        raise DataError(
            f"{columns.label(holes)} {'holds' if len(holes) == 1 else 'hold'} missing values; "
            "leave out --missing error, or leave columns out with --drop"
        )


def _check_informative(columns: Table, identifiers: str) -> None:
    """Refuse a table in which every column names its rows."""
    if len(columns.identifiers) == columns.shape[1] and identifiers == "drop":
        raise DataError(
            "every column names its rows, with a value of its own in nearly each; add "
            "--keep-identifiers to count them as features"
        )


def _check_infinite(table: LoadedTable) -> None:
    """Refuse infinity."""
    bad = [table.feature_names[j] for j in np.flatnonzero(_infinite(table.X))]
    if bad:
        raise DataError(
            f"{columns_hold(bad, 'infinite values')}; correct them, or leave columns out with "
            "--drop"
        )


@contextmanager
def naming_bad_columns(table: LoadedTable) -> Iterator[None]:
    """Name the columns with infinite values if those may be why a fit was refused."""
    try:
        yield
    except DataError:
        with naming_file(table.source):
            _check_infinite(table)
        raise


def category_notes(table: LoadedTable, identifiers: str = "drop") -> list[str]:
    """Say that a column of numbers was used as categories, or left out, because of text in it."""
    name, spoilt = _spoilt_numbers(table)
    if not spoilt:
        return []
    reading, codes = ColumnReading.learn(table.X[name])
    names_rows = identifiers == "drop" and is_identifier(name, codes, reading.kind)
    fate = "its values name rows, and it is left out" if names_rows else "it counts as text"
    return [f"{spoilt}; as it is, {fate}"]


def _spoilt_numbers(table: LoadedTable) -> tuple[str, str]:
    """Name and describe the first text column that is mostly numbers; "" if there is none."""
    for name in table.text_columns:
        text = table.X[name].dropna().astype(str)
        comma = text.str.fullmatch(r"[+-]?\d+,\d+")
        unit = text.str.fullmatch(WITH_UNIT)
        number = pd.to_numeric(text, errors="coerce").notna()
        if (comma | unit | number).mean() < 0.5:
            continue
        if ColumnReading.learn(table.X[name])[0].kind is not Kind.CATEGORY:
            continue
        if comma.any():
            value = text[comma].iloc[0]
            return (
                name,
                f"column {name!r} has numbers with a comma such as {value!r}; write a point",
            )
        if unit.any():
            value = text[unit].iloc[0]
            way = "write one unit in all rows, or take it off"
            return name, f"column {name!r} has numbers with a unit such as {value!r}; {way}"
        value = text[~number].iloc[0]
        return name, f"column {name!r} is mostly numbers but holds text such as {value[:40]!r}"
    return "", ""


def columns_hold(names: list[str], content: str, limit: int = 5) -> str:
    """Say which columns hold what."""
    one = len(names) == 1
    return f"{quoted_columns(names, limit)} {'holds' if one else 'hold'} {content}"


def quoted(texts: list[str]) -> str:
    """Texts in quotes, printable.

    Examples
    --------
    >>> quoted(["a", "b"])
    "'a', 'b'"
    """
    return ", ".join(repr(safe(text, 40)) for text in texts)


def quoted_columns(names: list[str], limit: int = 5) -> str:
    """Name some columns.

    Examples
    --------
    >>> quoted_columns(["a", "b", "c"], limit=2)
    "columns 'a', 'b' and 1 more"
    """
    return column_list(np.arange(len(names)), names, limit)


def _infinite(X: Any) -> np.ndarray:
    """Mask of the columns with infinity; only run after a refusal."""
    if sparse.issparse(X) or isinstance(X, np.ndarray):
        return np.isin(np.arange(X.shape[1]), columns_not_finite(X, but_nan=True))
    infinite = X.select_dtypes("number").isin([np.inf, -np.inf]).any()
    return infinite.reindex(X.columns, fill_value=False).to_numpy()
