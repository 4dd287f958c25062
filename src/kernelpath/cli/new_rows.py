"""New rows for a saved model: any table file, columns found by name, no target needed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from kernelpath.cli.run import columns_hold, quoted
from kernelpath.errors import DataError
from kernelpath.tables.read import read_columns

MOST_CELLS = 20_000_000  # of a dense block of rows


class NewRows:
    """The columns that a model needs, from a file.

    Parameters
    ----------
    file : path
        In any of the formats that ``kernelpath path`` reads.
    needed : list of str
        Columns to find; others are not looked at.
    all_names : list of str
        All columns that the model was fitted on, in that order.
    max_columns : int, optional
        Most columns to accept.
    """

    def __init__(
        self, file: Path, needed: list[str], all_names: list[str], max_columns: int | None = None
    ) -> None:
        self.source, self._all = str(file), all_names
        self.columns, self.n_rows = read_columns(file, needed, all_names, max_columns)

    def notes(self, encoder: Any) -> list[str]:
        """What is odd about the rows, as sentences: values of text that the model has not seen."""
        known = {self._all[j]: set(values) for j, values in encoder.categories.items()}
        notes = []
        for name, column in self.columns.items():
            if name not in known:
                continue
            self._categories(name, column)
            fresh = [value for value in column if value not in known[name]]
            if fresh:
                few = quoted(list(dict.fromkeys(map(str, fresh)))[:3])
                rows = f"{len(fresh):,} row{'s' * (len(fresh) != 1)}"
                notes.append(
                    f"{columns_hold([name], f'{few} in {rows}')}, which the model has not seen; "
                    "such a value is like no other."
                )
        return notes

    def blocks(self, encoder: Any) -> Iterator[Any]:
        """Yield rows as the model takes them; a column that it does not need is filled up."""
        step = max(1, MOST_CELLS // max(1, len(self._all)))
        for start in range(0, max(self.n_rows, 1), step):
            yield self._block(slice(start, min(start + step, self.n_rows)), encoder)

    def _block(self, rows: slice, encoder: Any) -> Any:
        import pandas as pd

        n_rows = rows.stop - rows.start
        values = np.zeros((n_rows, len(self._all)), order="F")
        places = {name: j for j, name in enumerate(self._all)}
        text = {}
        for name, column in self.columns.items():
            part = column[rows]
            if places[name] in encoder.categories:
                text[name] = part
            else:
                values[:, places[name]] = self._numbers(name, part)
        if encoder.names is None:
            return values
        frame = pd.DataFrame(values, columns=self._all)
        if not encoder.categories:
            return frame
        filled = {
            self._all[j]: text.get(self._all[j], [known[0] if known else ""] * n_rows)
            for j, known in encoder.categories.items()
        }
        whole = {name: filled[name] if name in filled else frame[name] for name in self._all}
        return pd.DataFrame({name: _as_list(values) for name, values in whole.items()})

    def _categories(self, name: str, column: Any) -> None:
        import pandas as pd

        series = pd.Series(column)
        if series.isna().any():
            raise DataError(
                f"{self.source}: {columns_hold([name], 'missing values')}; fill them in or remove "
                "those rows"
            )
        if pd.api.types.is_numeric_dtype(series.dtype):
            raise DataError(
                f"{self.source}: {columns_hold([name], 'numbers')}, where the model had text"
            )

    def _numbers(self, name: str, part: Any) -> np.ndarray:
        try:
            numbers = np.asarray(part, dtype=np.float64)
        except (TypeError, ValueError):
            raise DataError(
                f"{self.source}: {columns_hold([name], 'text')}, where the model had numbers"
            ) from None
        if not np.isfinite(numbers).all():
            raise DataError(
                f"{self.source}: {columns_hold([name], 'missing (NaN) or infinite values')}; fill "
                "them in or remove those rows"
            )
        return numbers


def _as_list(values: Any) -> Any:
    return values if isinstance(values, list) else values.tolist()
