"""``kernelpath predict``: predictions for new rows by the model of a run."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from kernelpath.cli import options as opt
from kernelpath.cli.console import friendly_errors, safe, say_notes
from kernelpath.utils.progress import begin, passed_on, progress_bar


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
        from kernelpath.cli.files import refuse_overwriting, write_alone
        from kernelpath.cli.manifest import PREDICTIONS, refuse_lone
        from kernelpath.cli.run import collected_warnings

        _check_place(out)
        refuse_overwriting([out], [data, run, run / "model.kpmodel"])
        refuse_lone(out, PREDICTIONS, overwrite)
        with collected_warnings() as notes, progress_bar(patience=0):
            text, rows = _predict(run, data, n_features, proba, max_columns)
        say_notes(notes)
        if out is None:
            typer.echo(text, nl=False)
            return
        write_alone(out, text.encode("utf-8"), PREDICTIONS, overwrite)
        typer.echo(f"Wrote {rows:,} prediction{'s' * (rows != 1)} to {safe(out, 400)}")


def _check_place(out: Path | None) -> None:
    if out is not None and out.suffix.lower() not in (".csv", ".txt", ""):
        raise typer.BadParameter(
            f"{out} would hold CSV; name a file that ends in .csv", param_hint="'--out'"
        )


def _predict(
    run: Path, data: Path, n_features: int | None, proba: bool, max_columns: int | None
) -> tuple[str, int]:
    import numpy as np

    from kernelpath.cli.new_rows import NewRows
    from kernelpath.errors import DataError

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
    rows = NewRows(data, _needed(model, size), names, max_columns)
    say_notes(rows.notes(model._encoder))
    columns: dict[str, list[Any]] = {"prediction": []}
    counted = _Counted(rows.n_rows, 2 if proba else 1)
    for block in rows.blocks(model._encoder) if rows.n_rows else ():
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
    from kernelpath.cli.folders import reading
    from kernelpath.cli.manifest import refuse_mismatch
    from kernelpath.errors import PathFileError
    from kernelpath.estimators.model_file import load_model

    file = run / "model.kpmodel" if run.is_dir() else run
    with reading(run):
        if not file.exists():
            if run.is_dir():
                raise PathFileError(
                    f"{run}: holds no model.kpmodel; run kernelpath path with --cv and --out"
                )
            raise PathFileError(f"{run}: no such file or folder: check the name")
        if run.is_dir():
            refuse_mismatch(run, ["model.kpmodel"])
        limit = {} if max_columns is None else {"max_columns": max_columns}
        return load_model(file, **limit)


def _size(model: Any, n_features: int | None) -> int:
    """Number of features to predict with; only those in the file will do."""
    from kernelpath.errors import DataError

    if n_features is None:
        return int(model.operating_point_.n_features)
    if n_features not in model.sizes_with_model:
        known = " and ".join(f"{k:,}" for k in model.sizes_with_model)
        raise DataError(
            f"the file holds models with {known} features, none with {n_features}; run kernelpath "
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
    from kernelpath.cli.files import cell

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([cell(value) for value in row] for row in zip(*columns.values()))
    return text.getvalue()
