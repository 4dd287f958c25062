"""New rows for a saved model: any table file, columns found by name, no target needed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from kernelpath import tables
from kernelpath.cli.run import columns_hold, quoted_columns
from kernelpath.errors import DataError

MOST_CELLS = 20_000_000  # of a dense block of rows
SVM_ENDINGS = (".svm", ".libsvm", ".svmlight")


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
    """

    def __init__(self, file: Path, needed: list[str], all_names: list[str]) -> None:
        self.source = str(file)
        self._needed, self._all = needed, all_names
        try:
            columns, n_rows = self._read(file)
        except DataError as error:
            text = " ".join(f"{file}: {error}".split())
            raise DataError(text) from error.__cause__
        self.columns, self.n_rows = columns, n_rows

    def _read(self, file: Path) -> tuple[dict[str, Any], int]:
        ending, codec = tables._ending(file)
        if ending == ".npz":
            with tables._reading():
                X, names = _read_npz(file)
            return self._from_matrix(X, names)
        if ending in SVM_ENDINGS:
            with tables._reading():
                X = tables._read_matrix(file, ending)[0]
            return self._from_matrix(self._padded(X), None)
        with tables._reading():
            is_text = ending in (".csv", ".tsv", ".txt")
            table = tables._read_csv(file, ending, codec) if is_text else tables._read_arrow(file)
        table, _ = tables._index_columns(table)
        self._check_there(table.column_names)
        if not self._needed:
            return {}, table.num_rows
        frame, _ = tables._plain(table.select(self._needed))
        return {name: frame[name] for name in self._needed}, len(frame)

    def _from_matrix(self, X: Any, names: list[str] | None) -> tuple[dict[str, Any], int]:
        if names is None:
            names = [f"x{j}" for j in range(X.shape[1])]
            if X.shape[1] == len(self._all):  # no names: by place
                names = self._all
        elif len(names) != X.shape[1]:
            raise DataError(f"X has {X.shape[1]} columns, but there are {len(names)} names")
        self._check_there(names)
        places = {name: j for j, name in enumerate(names)}
        if sparse.issparse(X):
            X = X.tocsc()
        columns = {}
        for name in self._needed:
            one = X[:, [places[name]]]
            columns[name] = np.asarray(one.toarray() if sparse.issparse(one) else one).ravel()
        return columns, X.shape[0]

    def _padded(self, X: Any) -> Any:
        """Columns at the end that are zero in all rows are not in such a file."""
        if X.shape[1] > len(self._all):
            raise DataError(
                f"has {X.shape[1]} columns, but the model was fitted on {len(self._all)}: "
                "give a file with the same columns"
            )
        return _widened(X, len(self._all))

    def _check_there(self, names: list[str]) -> None:
        known = set(names)
        missing = [name for name in self._needed if name not in known]
        if missing:
            one = len(missing) == 1
            raise DataError(
                f"{quoted_columns(missing)} {'is' if one else 'are'} missing, which the model "
                "needs: add the columns, or check their names"
            )

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


def _widened(X: Any, n_columns: int) -> Any:
    """The same rows with more columns, all zero."""
    X = sparse.csr_array(X)
    X.resize((X.shape[0], n_columns))
    return X


def _read_npz(file: Path) -> tuple[Any, list[str] | None]:
    """Features of an NPZ file; its target, if there is one, is not looked at."""
    with open(file, "rb") as handle, np.load(handle, allow_pickle=False) as archive:
        held = {key: archive[key] for key in archive.files if key in tables._NPZ_ARRAYS - {"y"}}
    if "X" in held:
        X = held["X"]
    elif "format" in held:
        X = sparse.load_npz(file).tocsr()
    elif held.keys() >= {"data", "indices", "indptr", "shape"}:
        fields = (held["data"], held["indices"], held["indptr"])
        X = sparse.csr_matrix(fields, shape=tuple(int(size) for size in held["shape"]))
    else:
        raise DataError("holds no features: save an array X, or data, indices, indptr and shape")
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise DataError(f"X is {X.ndim}-d of type {X.dtype}: save a numeric matrix")
    if sparse.issparse(X):
        X.check_format(full_check=True)
    names = held.get("feature_names")
    return X, None if names is None else np.ravel(names).astype(str).tolist()
