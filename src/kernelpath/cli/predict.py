"""``kernelpath predict``: predictions for new rows by the model of a run.

New rows come from any table file: columns are found by name, and no target is needed.
"""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernelpath.cli import options as opt
from kernelpath.cli.console import friendly_errors, safe, say_notes
from kernelpath.cli.manifest import MODEL, PREDICTIONS, refuse_lone, refuse_mismatch
from kernelpath.cli.run_files import cell, refuse_overwriting, write_alone
from kernelpath.cli.run_folder import reading
from kernelpath.errors import DataError, PathFileError, ReadingWarning
from kernelpath.utils.progress import begin, passed_on, progress_bar
from kernelpath.utils.words import counted

if TYPE_CHECKING:
    import numpy as np

    from kernelpath.tables.encoding import TableEncoder
    from kernelpath.tables.kinds import Kind

MOST_CELLS = 20_000_000  # of a dense block of rows


def predict_command(
    run: Annotated[
        Path,
        typer.Argument(
            metavar="RUN",
            readable=False,
            show_default=False,
            help="Run folder of path --cv, or a .kpmodel file.",
        ),
    ],
    data: Annotated[
        Path,
        typer.Argument(
            metavar="NEWDATA",
            readable=False,
            show_default=False,
            help="Table with the columns that the model needs, in any order and format.",
        ),
    ],
    n_features: Annotated[
        int | None,
        typer.Option(
            "--n-features",
            "-k",
            min=1,
            show_default=False,
            help="Predict at another number of features that the file holds a model of.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE.csv",
            show_default=False,
            help="File to write. Default: print the predictions.",
        ),
    ] = None,
    proba: Annotated[
        bool,
        typer.Option("--proba", help="Probabilities too; needs a run of path --cv --proba."),
    ] = False,
    overwrite: opt.OverwriteOption = False,
    max_columns: opt.MaxColumnsOption = None,
) -> None:
    """Predict new rows with the model of a run.

    Columns are found by name. Only those that the model has chosen need to be there: the target
    and all others are not looked at. The answer is CSV, one line per row, in the same order.

    Example: `kernelpath predict run/ new.csv --out predictions.csv`
    """
    with friendly_errors():
        from kernelpath.cli.run import collected_warnings

        _check_place(out)
        refuse_overwriting([out], [data, run, run / MODEL])
        refuse_lone(out, PREDICTIONS, overwrite)
        with collected_warnings() as notes, progress_bar(patience=0):
            text, rows = _predict(run, data, n_features, proba, max_columns)
        say_notes(notes)
        if out is None:
            typer.echo(text, nl=False)
            return
        write_alone(out, text.encode("utf-8"), PREDICTIONS, overwrite)
        typer.echo(f"Wrote {counted(rows, 'prediction')} to {safe(out, 400)}")


def _check_place(out: Path | None) -> None:
    if out is not None and out.suffix.lower() not in (".csv", ".txt", ""):
        raise typer.BadParameter(
            f"{out} would hold CSV; name a file that ends in .csv", param_hint="'--out'"
        )


def _predict(
    run: Path, data: Path, n_features: int | None, proba: bool, max_columns: int | None
) -> tuple[str, int]:
    import numpy as np

    begin(f"reading {run.name}")
    model = _load(run, max_columns)
    size = _size(model, n_features)
    if proba and not hasattr(model, "predict_proba"):
        raise DataError(
            "the model gives no probabilities: "
            + (
                "it predicts a quantity"
                if model.task_ == "regression"
                else "run kernelpath path --cv again with --proba"
            )
        )
    names = [str(name) for name in model.path_.feature_names]
    begin(f"reading {data.name}")
    rows = NewRows(data, _needed(model, size), names, model._encoder, max_columns)
    say_notes(rows.notes())
    columns: dict[str, list[Any]] = {"prediction": []}
    counted = _Counted(rows.n_rows, 2 if proba else 1)
    warnings.simplefilter("ignore", ReadingWarning)  # what is new is among the notes
    for block in rows.blocks() if rows.n_rows else ():
        with counted.rows(len(block)):
            labels = np.asarray(model.predict(block, n_features=size))
        columns["prediction"] += labels.tolist()
        if proba:
            with counted.rows(len(block)):
                shares = model.predict_proba(block, n_features=size)
            for label, share in zip(model.classes_.tolist(), shares.T):
                columns.setdefault(f"probability of {label}", []).extend(share.tolist())
    begin("writing")
    return _as_csv(columns), rows.n_rows


class _Counted:
    """Counts rows of all blocks; some are looked at more than once."""

    def __init__(self, n_rows: int, n_looks: int) -> None:
        self._n_rows, self._n_looks, self._done = n_rows, n_looks, 0
        self._update = begin("predictions")

    @contextmanager
    def rows(self, n_rows: int) -> Iterator[None]:
        """One look at some rows, which the model counts itself."""

        def share(done: float, total: float) -> None:
            self._update((self._done + done) / self._n_looks, self._n_rows)

        with passed_on("predictions", share):
            yield
        self._done += n_rows
        share(0, 0)


def _load(run: Path, max_columns: int | None) -> Any:
    from kernelpath.estimators.model_file import load_model

    file = run / MODEL if run.is_dir() else run
    with reading(run):
        if not file.exists():
            if run.is_dir():
                raise PathFileError(
                    f"{run}: holds no model.kpmodel; run kernelpath path with --cv and --out"
                )
            raise PathFileError(f"{run}: no such file or folder: check the name")
        if run.is_dir():
            refuse_mismatch(run, [MODEL])
        limit = {} if max_columns is None else {"max_columns": max_columns}
        return load_model(file, **limit)


def _size(model: Any, n_features: int | None) -> int:
    """Number of features to predict with; only those in the file will do."""
    if n_features is None:
        return int(model.operating_point_.n_features)
    if n_features not in model.sizes_with_model:
        known = " and ".join(f"{k:,}" for k in model.sizes_with_model)
        raise DataError(
            f"the file holds models of the sizes {known}, none of {n_features}; run kernelpath "
            f"path --cv again with --n-features {n_features}"
        )
    return n_features


def _needed(model: Any, size: int) -> list[str]:
    """Columns that the model looks at."""
    point = model.operating_point_
    if size != point.n_features:
        point = model.path_.at(n_features=size)
    return [str(name) for name in model.path_.feature_names[point.support]]


def _as_csv(columns: dict[str, list[Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([cell(value) for value in row] for row in zip(*columns.values()))
    return text.getvalue()


# -- new rows --------------------------------------------------------------------------------------


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
    encoder : TableEncoder
        How those were read.
    max_columns : int, optional
        Most columns to accept.
    """

    def __init__(
        self,
        file: Path,
        needed: list[str],
        all_names: list[str],
        encoder: TableEncoder,
        max_columns: int | None = None,
    ) -> None:
        from kernelpath.tables.kinds import NUMBERS
        from kernelpath.tables.read import read_columns

        self.source, self._all, self._encoder = str(file), all_names, encoder
        self.columns, self.n_rows = read_columns(file, needed, all_names, max_columns)
        self._kinds: dict[int, Any] = {}
        for name, column in self.columns.items():  # whole: how text is read, all of it tells
            place = self._all.index(name)
            kind = encoder.kind(place)
            if kind in NUMBERS:
                self._kinds[place], self.columns[name] = self._numbers(name, column, place)

    def notes(self) -> list[str]:
        """What is odd about the rows, as sentences: new categories, numbers written otherwise."""
        import numpy as np

        from kernelpath.cli.obstacles import columns_hold, quoted
        from kernelpath.tables.reading import written_anew

        known = {self._all[j]: set(values) for j, values in self._encoder.categories.items()}
        notes = [written_anew(self._kinds, self._encoder, np.array(self._all, dtype=object))]
        for name, column in self.columns.items():
            if name not in known:
                continue
            self._categories(name, column)
            fresh = [value for value in column.dropna() if value not in known[name]]
            if fresh:
                few = quoted(list(dict.fromkeys(map(str, fresh)))[:3])
                rows = counted(len(fresh), "row")
                notes.append(
                    f"{columns_hold([name], f'{few} in {rows}')}, which the model has not seen; "
                    "such a value is like no other."
                )
        return [note for note in notes if note]

    def blocks(self) -> Iterator[Any]:
        """Yield rows as the model takes them; a column that it does not need is filled up."""
        step = max(1, MOST_CELLS // max(1, len(self._all)))
        for start in range(0, max(self.n_rows, 1), step):
            yield self._block(slice(start, min(start + step, self.n_rows)))

    def _block(self, rows: slice) -> Any:
        import numpy as np
        import pandas as pd

        parts = {name: column[rows] for name, column in self.columns.items()}
        if self._encoder.names is not None and parts:
            return pd.DataFrame({name: _as_list(part) for name, part in parts.items()})
        values = np.full((rows.stop - rows.start, len(self._all)), np.nan, order="F")
        for name, part in parts.items():
            values[:, self._all.index(name)] = part
        if self._encoder.names is None:
            return values
        return pd.DataFrame(values, columns=self._all)

    def _categories(self, name: str, column: Any) -> None:
        import pandas as pd

        from kernelpath.cli.obstacles import columns_hold

        series = pd.Series(column)
        if pd.api.types.is_numeric_dtype(series.dtype) and series.notna().any():
            raise DataError(
                f"{self.source}: {columns_hold([name], 'numbers')}, where the model had text"
            )

    def _numbers(self, name: str, column: Any, place: int) -> tuple[Kind, np.ndarray]:
        import numpy as np
        import pandas as pd

        from kernelpath.cli.obstacles import columns_hold
        from kernelpath.tables.kinds import ColumnReading, Kind, OtherUnitError, numbers_again

        series = pd.Series(column, name=name)
        known = self._encoder.readings.get(place, ColumnReading(Kind.NUMBER))
        try:
            reading, numbers = numbers_again(series, known.kind, known.unit)
        except OtherUnitError as error:
            raise DataError(f"{self.source}: {str(error).removeprefix('X ')}") from None
        except DataError:
            held = columns_hold([name], "dates" if series.dtype.kind == "M" else "text")
            raise DataError(f"{self.source}: {held}, where the model had numbers") from None
        if np.isinf(numbers).any():
            raise DataError(
                f"{self.source}: {columns_hold([name], 'infinite values')}; correct them or remove "
                "those rows"
            )
        return reading.kind, numbers


def _as_list(values: Any) -> Any:
    return values if isinstance(values, list) else values.tolist()
