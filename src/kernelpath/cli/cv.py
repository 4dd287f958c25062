"""Scores along a path: PathCV on a table from a file, and the files of such a run."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from kernelpath.catalogue import Method, budgets
from kernelpath.cli.files import write_csv, write_frame
from kernelpath.cli.record import Record, write_page, write_record
from kernelpath.cli.run import (
    category_notes,
    check_size,
    check_table,
    collected_warnings,
    naming_bad_columns,
    save_path_picture,
)
from kernelpath.cli.settings import CVSettings
from kernelpath.errors import DataError, not_one_of
from kernelpath.estimators.path_cv import PathCV
from kernelpath.tables.read import LoadedTable
from kernelpath.tables.table import named_columns


@dataclass(frozen=True)
class CVRun:
    """What a cross-validation found."""

    model: PathCV
    summary: dict[str, Any]
    size: int  # number of features of selected.csv
    seconds: float
    notes: list[str]

    def selected(self) -> list[tuple[str, float, float | None, int]]:
        """Name, weight, share of the folds and column of the chosen features, heaviest first."""
        names, shares = self.model.path_.feature_names, fold_shares(self.model, self.size)
        # A path may lack this size: what is chosen then is the next smaller one.
        point = self.model._run.point_at(self.size)
        columns = np.flatnonzero(point.support)
        order = columns[np.argsort(-point.weights[columns], kind="stable")]
        return [
            (
                str(names[i]),
                float(point.weights[i]),
                None if shares is None else shares.get(i, 0.0),
                i,
            )
            for i in order.tolist()
        ]

    def as_dict(self) -> dict[str, Any]:
        """Everything that ``--json`` prints."""
        summary, cv = self.summary, self.summary["cv"]
        keys = ("name", "weight", "share_of_folds", "column")
        return {
            "method": summary["method"],
            "task": self.model.task_,
            "n_samples": int(self.model.plan_.n_rows),
            "n_features": summary["n_features"],
            "seconds": round(self.seconds, 3),
            "notes": self.notes,
            "headline": summary["headline"],
            **{name: cv[name] for name in ("scoring", "rule", "n_folds", "chance")},
            **{name: cv[name] for name in ("chosen", "best", "one_se", "nested")},
            "sizes": [
                {name: size[name] for name in ("n_features", "score", "se", "per_fold")}
                for size in summary["sizes"]
            ],
            "baselines": summary["baselines"],
            "selected": [dict(zip(keys, row)) for row in self.selected()],
        }


def fold_shares(model: PathCV, size: int) -> dict[int, float] | None:
    """Share of the folds that choose each feature at this size; None if it was not scored."""
    if size not in model.scores_.n_features.tolist():
        return None
    frame = model.stability_.of(size)
    return dict(zip(frame["feature"].tolist(), frame["frequency"].tolist()))


# -- the table -------------------------------------------------------------------------------------


def split_groups(table: LoadedTable, column: str | None) -> tuple[LoadedTable, Any]:
    """Take the column of groups out of the features."""
    if column is None:
        return table, None
    if column not in table.feature_names:
        if column == table.target_name:
            raise DataError(f"{table.source}: column {column!r} is both the target and --groups")
        error = not_one_of("--groups", column, table.feature_names)
        raise DataError(f"{table.source}: {error}")
    place = table.feature_names.index(column)
    names = [name for name in table.feature_names if name != column]
    if not names:
        raise DataError(f"{table.source}: no feature column is left beside {column!r}")
    text = [name for name in table.text_columns if name != column]
    if hasattr(table.X, "columns"):
        groups, X = table.X[column].to_numpy(), table.X.drop(columns=column)
    else:
        kept = np.flatnonzero(np.arange(len(names) + 1) != place)
        one = table.X[:, [place]]
        groups = np.asarray(one.toarray() if hasattr(one, "toarray") else one).ravel()
        X = table.X[:, kept]
    return replace(table, X=X, feature_names=names, text_columns=text), groups


def check_sizes(table: LoadedTable, sizes: list[int] | None) -> None:
    """Refuse sizes that the table does not have."""
    most = len(table.feature_names)
    if sizes and sizes[-1] > most:
        raise DataError(
            f"--sizes {sizes[-1]} is too many: {table.source} has {most:,} "
            f"{'feature' if most == 1 else 'features'}"
        )


# -- fitting ---------------------------------------------------------------------------------------


def run_cv(
    method: Method,
    own: dict[str, Any],
    table: LoadedTable,
    settings: CVSettings,
    size: int | None,
    memory: Path | None,
) -> CVRun:
    """Score the path of a table and choose a point; ``own`` are the settings of the method."""
    from kernelpath.report.summary import summarize_cv

    start = time.perf_counter()
    if size is not None and size > (most := len(table.feature_names)):
        raise DataError(f"--n-features {size} is too many: the table has {most:,} columns")
    table, groups = split_groups(table, settings.groups)
    check_sizes(table, settings.sizes)
    task = check_table(method, settings.kernel, table, settings.task)
    sizes, said = sizes_for(method, settings.sizes, size, len(table.feature_names))
    model, notes = fit_cv(method.selector(task, sizes, **own), table, groups, settings, memory)
    check_size(model.path_, size)
    chosen = size or int(model.operating_point_.n_features)
    for k in {chosen, int(model.choose("best").n_features)}:
        model._model(k)  # the file is to predict at these sizes too
    said += lacking_sizes(method, model)
    seconds = time.perf_counter() - start
    return CVRun(model, summarize_cv(model), chosen, seconds, notes + said)


def fit_cv(
    selector: Any,
    table: LoadedTable,
    groups: Any,
    settings: CVSettings,
    memory: Path | None,
) -> tuple[PathCV, list[str]]:
    """Fit PathCV to a table; return it with notes."""
    model = PathCV(
        selector,
        baselines=settings.baselines,
        memory=None if memory is None else str(memory),
        **settings.arguments(),
    )
    X = table.X if hasattr(table.X, "columns") else named_columns(table.X, table.feature_names)
    with collected_warnings() as notes, naming_bad_columns(table):
        model.fit(X, table.y, groups=groups)
    model.memory = None  # the hidden folder of this run; its model may go anywhere
    return model, [*table.notes, *notes, *category_notes(table)]


def lacking_sizes(method: Method, model: PathCV) -> list[str]:
    """Say at which sizes some folds were scored with fewer features, if the path lacks sizes."""
    if method.kind != "path" or model.path_.extension is not None:
        return []
    scores = model.scores_
    fewer = (scores.n_used < scores.n_features)[scores.finished].any(axis=0)
    if not fewer.any():
        return []
    sizes = ", ".join(f"{k:,}" for k in scores.n_features[fewer])
    return [
        f"The path of {method.name} does not have all sizes in every fold: at {sizes} some folds "
        "are scored with the next fewer features."
    ]


def sizes_for(
    method: Method, sizes: list[int] | None, size: int | None, n_columns: int
) -> tuple[list[int] | None, list[str]]:
    """Sizes that a selector must know before it is fitted, and notes on them."""
    known = budgets(method, n_columns)
    if known is None:
        return None, []
    said = []
    if method.kind == "choice" and sizes is None and n_columns > known[-1]:
        said = [f"With {method.name} the sizes end at {known[-1]} features; --sizes names others."]
    more = [] if size is None else [size]
    return sorted({*(sizes or known), *more}), said


# -- files -----------------------------------------------------------------------------------------


def write_cv(run: CVRun, record: Record, folder: Path) -> list[str]:
    """Write the files of a run with scores; return why some were left out."""
    model = run.model
    record.options |= settings_in_force(model)
    model.path_.save(folder / "path.kpath")
    write_frame(folder / "path.csv", model.path_.to_frame())
    rows = [(rank, *row) for rank, row in enumerate(run.selected(), start=1)]
    write_csv(folder / "selected.csv", ["rank", "name", "weight", "share_of_folds", "column"], rows)
    scores = {run.summary["method"]: model.scores_, **model.baseline_scores_}
    write_scores(folder / "scores.csv", scores)
    model.save(folder / "model.kpmodel")
    skipped = save_path_picture(model.path_, folder)
    skipped += save_score_picture(model, folder / "accuracy.png")
    skipped += write_page(run.summary, record, folder)
    write_record(record, folder)
    return list(dict.fromkeys(skipped))


def settings_in_force(model: PathCV) -> dict[str, Any]:
    """What was decided where an option was left out."""
    return {
        "rule": str(model.rule),
        "tolerance": float(model.tolerance),
        "predictor": str(model.predictor),
        "scoring": str(model.scores_.scoring),
        "task": str(model.task_),
    }


def write_scores(file: Path, scores: dict[str, Any]) -> None:
    """Write one row per method and size."""
    n_folds = max(own.n_folds for own in scores.values())
    header = ["method", "n_features", "mean", "se", *(f"fold_{i}" for i in range(n_folds))]
    rows = [
        [name, *(None if value != value else value for value in row)]
        for name, own in scores.items()
        for row in zip(own.n_features.tolist(), own.mean.tolist(), own.se.tolist(), *own.per_fold)
    ]
    write_csv(file, header, rows)


def save_score_picture(model: PathCV, file: Path, label: str | None = None) -> list[str]:
    """Draw the scores, if there is something to draw with."""
    try:
        from kernelpath.report.displays.accuracy import AccuracyDisplay, save_scores

        display = AccuracyDisplay.from_scores(
            model.scores_,
            chosen=int(model.operating_point_.n_features),
            baselines=model.baseline_scores_,
            n_columns=model.n_features_in_,
            label=label or model.path_.method,
        )
        save_scores(display, file)
    except ImportError as error:
        return [str(error)]
    return []
