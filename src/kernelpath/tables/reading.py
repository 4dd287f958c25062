"""The pair of readers for whatever takes a table: the rows of ``fit``, and new ones.

Both leave names and counts with the estimator, as scikit-learn does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d, validate_data

from kernelpath.errors import DataError, MissingValuesWarning, ReadingWarning, naming
from kernelpath.tables.any_target import joint_target
from kernelpath.tables.constraints import Constraints, columns_of
from kernelpath.tables.encoding import TableEncoder
from kernelpath.tables.kinds import WRITTEN, Kind
from kernelpath.tables.missing import Imputer, LeftOut, rows_to_keep, without_holes
from kernelpath.tables.table import (
    Table,
    as_column_table,
    as_pandas,
    column_list,
    columns_with_holes,
    holds_text,
    is_frame,
    naming_text,
    plain_table,
    refuse_infinite_columns,
)
from kernelpath.tables.targets import plain_target, refuse_joint
from kernelpath.utils.warn import warn
from kernelpath.utils.words import counted

DROP = "drop"
BRINGING = ("must_include", "feature_groups")
"""Settings that bring columns in for another reason than what they tell."""
SAID = {
    Kind.POINT: "read as numbers, without signs, units and marks between thousands: {}",
    Kind.COMMA: "read as numbers with a decimal comma: {}",
    Kind.DATE: "dates count as days since 1970 ({})",
    Kind.DAY_FIRST: "dates are read with the day first and count as days since 1970 ({})",
    Kind.MONTH_FIRST: "dates are read with the month first and count as days since 1970 ({})",
    Kind.DURATION: "durations count as days ({})",
    Kind.IDENTIFIER: "left out as identifiers, whose values name rows (identifiers='keep' counts "
    "them): {}",
}
FEW = 3  # columns that are named with a remark; of others their number is said
IMPUTED = "the median, or the most frequent category, of fit stands for them"
IN_GROUPS = (
    "identifiers, whose values name rows, tell nothing and come in only with their group "
    "(identifiers='keep' counts them): {}"
)


def read_training(
    estimator: Any,
    X: Any,
    identifiers: str | None = None,
    constrained_by: Mapping[str, Any] | None = None,
) -> Table:
    """Rows of ``fit``, in the units of the user; NaN may be among them.

    A :class:`Table` stands for its values, with names for the columns of an array.  What is to
    become of identifiers, which columns must be in and are none, and which go together, says the
    estimator, unless the arguments do.
    """
    if isinstance(X, Table):
        estimator._frame_names = X.names if is_frame(X.given) else None
        _remember(estimator, X)
        return X if X.given is not None else replace(X, given=X.values)
    estimator._frame_names = None
    if is_frame(X):
        # A copy: columns added to X later are not ours.
        frame = _with_text_names(as_pandas(X)).copy(deep=False)
        table = as_column_table(frame)  # names what is wrong with the columns
        if table.shape[1] == 0:
            raise DataError(
                f"X has 0 feature(s) (shape={table.shape}) while a minimum of 1 is required."
            )
        _check_names(estimator, X)
        estimator._frame_names = table.names
        table = _without_identifiers(estimator, table, identifiers, constrained_by)
        return replace(table, given=frame)
    X = plain_table(X)
    if holds_text(X):
        validate_data(estimator, X, skip_check_array=True)
        table = as_column_table(X)
        table = _without_identifiers(estimator, table, identifiers, constrained_by)
        return replace(table, given=X)
    table = as_column_table(_numbers(estimator, X, ensure_min_samples=2))
    return replace(table, given=table.values)


def _without_identifiers(
    estimator: Any,
    table: Table,
    identifiers: str | None,
    constrained_by: Mapping[str, Any] | None,
) -> Table:
    """The table without columns that name rows, but for those that must be in, if so asked."""
    settings = {name: getattr(estimator, name, None) for name in BRINGING}
    settings |= {name: value for name, value in (constrained_by or {}).items() if name in settings}
    if (identifiers or getattr(estimator, "identifiers", DROP)) == DROP:
        table = table.without_identifiers(but=columns_of(settings["must_include"], table))
    say_how_it_was_read(table, settings)
    return table


def training_table(
    table: Table, y: Any, missing: str, constrained_by: Mapping[str, Any] | None = None
) -> tuple[Table, Any, LeftOut]:
    """Rows with a target, read and filled in or refused as ``missing`` says; what is odd is said.

    Examples
    --------
    >>> holes = Table(np.array([[1.0], [np.nan], [3.0]]), None, np.array([False]))
    >>> training_table(holes, np.array([0, 1, 1]), "impute")[0].values.ravel().tolist()
    [1.0, 2.0, 3.0]
    """
    say_how_it_was_read(table, constrained_by)
    kept = rows_to_keep(table, y, missing)
    if kept is None:
        return without_holes(table, missing), y, LeftOut()
    return without_holes(table.take(kept.rows), missing), y[kept.rows], kept.left_out


def read_new(estimator: Any, X: Any, encoder: TableEncoder | None = None) -> Table:
    """New rows, with the columns of ``fit``, in the units of the user.

    With an encoder text columns get the codes that they had in ``fit``.
    """
    if is_frame(X):
        _check_names(estimator, X, reset=False)
        given = as_pandas(X)
    elif holds_text(plain := plain_table(X)):
        validate_data(estimator, plain, reset=False, skip_check_array=True)
        given = plain
    else:
        given = _numbers(estimator, X, reset=False)
    table = as_column_table(given) if encoder is None else encoder.table(given)
    return replace(table, given=given if is_frame(given) or holds_text(given) else table.values)


def with_all_columns(
    X: Any, names: NDArray | None, needed: NDArray[np.intp], fill: float = np.nan
) -> Any:
    """New rows with the columns of ``fit`` in their order, where only some are needed.

    A frame may have its columns in any order, others beside them, and lack those that are not
    needed, for which ``fill`` stands.  An array has no names by which to tell: it needs all
    columns.
    """
    if names is not None and is_frame(X):
        frame = as_pandas(X)
        given = [str(name) for name in frame.columns]
        if given == names.tolist():
            return _with_text_names(X)
        known = set(given)
        lacking = np.array([j for j in needed.tolist() if names[j] not in known], np.intp)
        if len(lacking):
            label = column_list(lacking, names)
            verb = "is" if len(lacking) == 1 else "are"
            raise DataError(
                f"X lacks {label}, which {verb} needed: the feature names should match those that "
                "were passed during fit."
            )
        own = dict(zip(given, frame.columns))
        frame = frame.set_axis(given, axis=1)
        frame = frame.loc[:, ~frame.columns.duplicated()]
        frame = frame.reindex(columns=names.tolist(), fill_value=fill)
        if any(isinstance(name, str) for name in own.values()):
            return frame
        kind = type(next(iter(own.values())))
        named = [own[name] if name in own else _of_kind(kind, name) for name in names.tolist()]
        return frame.set_axis(named, axis=1)
    return X


def _of_kind(kind: type, name: str) -> Any:
    """The name of a column as names beside it are, such as the number 3 for "3", if it is one."""
    try:
        found = kind(name)
    except (TypeError, ValueError):
        return name
    return found if str(found) == name else name


def say_what_is_new(table: Table, encoder: TableEncoder, needed: NDArray[np.intp]) -> None:
    """Say in one warning each which categories ``fit`` has not seen, and how text became numbers.

    Text that is read as in ``fit`` is not worth a word.
    """
    parts = []
    for j in needed.tolist():
        reading = encoder.readings.get(j)
        if reading is None or reading.kind is not Kind.CATEGORY:
            continue
        count = int(np.sum(table.values[:, j] == len(reading.categories or ())))
        if count:
            rows = counted(count, "row")
            parts.append(f"{column_list(np.array([j]), encoder.names)} in {rows}")
    if parts:
        warn(
            f"There are categories that fit has not seen: {', '.join(parts)}; such a value is like "
            "no other.",
            ReadingWarning,
        )
    names = table.names if encoder.names is None else encoder.names
    kinds = {j: one.kind for j, one in table.readings.items() if j in set(needed.tolist())}
    if said := written_anew(kinds, encoder, names):
        warn(said, ReadingWarning)


def written_anew(kinds: Mapping[int, Kind], encoder: TableEncoder, names: NDArray | None) -> str:
    """A sentence about columns of new rows whose numbers are written otherwise than in ``fit``."""
    parts = []
    for kind in WRITTEN:
        columns = [j for j, one in kinds.items() if one is kind is not encoder.kind(j)]
        if columns:
            parts.append(SAID[kind].format(column_list(np.array(columns), names)))
    return f"New rows were {'; '.join(parts)}." if parts else ""


def say_new_holes(
    table: Table,
    holes: NDArray[np.bool_] | None,
    fate: str = IMPUTED,
    needed: NDArray[np.intp] | None = None,
) -> None:
    """Say in one warning which columns lack values where ``fit`` had all, and what is done then."""
    if holes is None:
        return
    columns = np.arange(table.shape[1]) if needed is None else needed
    columns = columns[columns_with_holes(table.values, columns) & ~holes[columns]]
    if len(columns):
        text = f"Values are missing in {table.label(columns)}, where fit had all; {fate}."
        warn(text, MissingValuesWarning)


def as_numbers_of_fit(table: Table, encoder: TableEncoder) -> Table:
    """New rows in the units of the rows of ``fit``; NaN is missing, or filled in as there."""
    refuse_infinite_columns(table)
    if encoder.fill is not None:
        table = Imputer(encoder.fill).apply(table)
    return table.in_units_of(encoder.exponents)


def _check_names(estimator: Any, X: Any, **options: Any) -> None:
    """Compare or remember names as scikit-learn does; those that are no text it does not know."""
    known = None if options.get("reset", True) else getattr(estimator, "_frame_names", None)
    if known is None or hasattr(estimator, "feature_names_in_"):
        validate_data(estimator, _with_text_names(X), skip_check_array=True, **options)
    elif [str(name) for name in as_pandas(X).columns] != known.tolist():
        raise DataError("The feature names should match those that were passed during fit.")


def names_of_fit(estimator: Any) -> NDArray | None:
    """Names of the columns of a dataframe that was fitted, as text; None for an array."""
    known = getattr(estimator, "feature_names_in_", None)
    return getattr(estimator, "_frame_names", None) if known is None else known


def _with_text_names(X: Any) -> Any:
    """A frame whose names are text if some of them are; scikit-learn refuses both together."""
    kinds = set(map(type, getattr(X, "columns", ())))
    if str not in kinds or len(kinds) == 1 or not hasattr(X, "set_axis"):
        return X
    return X.set_axis([str(name) for name in X.columns], axis=1)


def _remember(estimator: Any, table: Table) -> None:
    """Leave counts and names with the estimator, as scikit-learn does."""
    if is_frame(table.given):
        validate_data(estimator, table.given, skip_check_array=True)
    else:
        validate_data(estimator, table.values, skip_check_array=True)


def say_how_it_was_read(table: Table, constrained_by: Mapping[str, Any] | None = None) -> None:
    """Say in one warning what was made of columns that are no numbers and no categories."""
    text = how_it_was_read(table, constrained_by)
    if text:
        warn(naming(ReadingWarning(text), "identifiers"))


def how_it_was_read(
    table: Table, constrained_by: Mapping[str, Any] | None = None, but: tuple[Kind, ...] = ()
) -> str:
    """What was made of columns that are no numbers and no categories, ``but`` some kinds, or ""."""
    parts = []
    for kind, words in SAID.items():
        if kind in but:
            continue
        columns = np.array([j for j, one in table.readings.items() if one.kind is kind], np.intp)
        if kind is Kind.IDENTIFIER and len(columns):
            with_others = np.isin(columns, _brought(table, constrained_by or {}))
            if with_others.any():
                parts.append(IN_GROUPS.format(_with_counts(table, columns[with_others])))
            columns = columns[~with_others]
        if len(columns):
            parts.append(words.format(_with_counts(table, columns)))
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _with_counts(table: Table, columns: NDArray[np.intp]) -> str:
    """Name columns, with the numbers that made identifiers of them."""
    counts = {j: one.counts for j, one in table.readings.items() if one.counts is not None}
    remarks = {
        j: f" ({counted(values, 'value')} in {counted(rows, 'row')})"
        for j, (values, rows) in counts.items()
    }
    remarks |= {j: f" (in {one.unit})" for j, one in table.readings.items() if one.unit}
    some = any(j in remarks for j in columns.tolist())
    return column_list(columns, table.names, FEW if some else 5, remarks)


def _brought(table: Table, settings: Mapping[str, Any]) -> NDArray[np.intp]:
    own = Constraints.read(table, *(settings.get(name) for name in BRINGING))
    return np.zeros(0, dtype=np.intp) if own is None else np.flatnonzero(own.brought)


def _numbers(estimator: Any, X: Any, **options: Any) -> Any:
    """Numbers of an array or sparse matrix, checked as scikit-learn does."""
    X = plain_table(X)
    with naming_text():
        return validate_data(
            estimator, X, accept_sparse=("csr", "csc"), dtype="numeric", ensure_all_finite=False,
            **options,
        )  # fmt: skip


def one_column(y: Any) -> Any:
    """A target of one column as one vector, with scikit-learn's warning; others as they are."""
    y = plain_target(y)
    refuse_joint(y)
    return y if getattr(y, "ndim", 0) == 1 else column_or_1d(y, warn=True)


def any_target(y: Any) -> Any:
    """A target of several columns or survival times, or one column as one vector."""
    joint = joint_target(y)
    return one_column(y) if joint is None else joint
