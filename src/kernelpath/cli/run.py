"""One run of ``path``: from a table to a path, its scores if they are asked for, and the files.

Words for what is wrong with a table are here too; all commands that read one use them.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from kernelpath.catalogue import FIRST_BUDGETS, Method, budgets
from kernelpath.cli.console import in_option_words
from kernelpath.cli.invocation import CVSettings
from kernelpath.cli.obstacles import as_table, category_notes, check_table, naming_bad_columns
from kernelpath.cli.printing import path_rows
from kernelpath.cli.run_files import Record, write_csv, write_frame, write_page, write_record
from kernelpath.errors import DataError, not_one_of
from kernelpath.estimators.path_cv import PathCV
from kernelpath.evaluation.cross_validation import FullPoint
from kernelpath.path.feature_path import FeaturePath, PathPoint
from kernelpath.path.points import nearest_sizes
from kernelpath.path.significance import AlignmentTest
from kernelpath.report.real import known_test
from kernelpath.report.summary import ever_selected, summarize_cv
from kernelpath.report.summary_data import describe_counts
from kernelpath.report.words import LEVEL, feature_words, n_usable, row_words
from kernelpath.tables.missing import LeftOut
from kernelpath.tables.read import LoadedTable
from kernelpath.tables.reading import training_table
from kernelpath.tables.table import named_columns
from kernelpath.tables.targets import infer_task, say_how_it_is_read
from kernelpath.utils.words import counted

SHOWN_OF_SIZE = ("n_features", "cost", "score", "se", "per_fold")
Measures = dict[str, Callable[[int], float | None]]  # what is known of a feature, by its column


@dataclass(frozen=True)
class Scored:
    """What folds add to a path: the cross-validation, and its summary."""

    model: PathCV
    summary: dict[str, Any]


@dataclass(frozen=True)
class Run:
    """What a run found: a path, the point that is chosen on it, and with ``--cv`` its scores.

    Attributes
    ----------
    method : str
        Name in the catalogue; a path only knows that of its family.
    path : FeaturePath
    point : PathPoint or FullPoint
        Of ``size`` features, or the next fewer that the path has.
    size : int
    seconds : float
    notes : list of str
    measures : dict of str to callable
        What is known of a selected feature beside its weight, by its column.
    counts : dict
        Rows and columns, and how many are left out: a part of the data in a summary.
    reading : dict
        How the table of a path was read, for its summary.
    test : AlignmentTest or None
        P-values of all features, where they are known or quickly made.
    scored : Scored or None
        With ``--cv``.
    """

    method: str
    path: FeaturePath
    point: PathPoint | FullPoint
    size: int
    seconds: float
    notes: list[str]
    measures: Measures = field(default_factory=dict)
    scored: Scored | None = None
    counts: dict[str, Any] = field(default_factory=dict)
    reading: dict[str, Any] = field(default_factory=dict)
    test: AlignmentTest | None = None

    @property
    def task(self) -> str:
        """What the target is."""
        return self.path.provenance["task"] if self.scored is None else self.scored.model.task_

    @property
    def shape(self) -> str:
        """Rows, features and task in words."""
        return f"{row_words(self.counts)}, {feature_words(self.counts)}, {self.task}"

    @property
    def fingerprint(self) -> str | None:
        """Hash of the table."""
        if self.scored is None:
            return self.path.provenance["data"].get("fingerprint")
        return self.scored.model.fingerprint_

    def selected(self) -> tuple[list[str], list[tuple]]:
        """Header and rows of the chosen features, heaviest first.

        ``column`` is the place among the features of the path, from 0 on.
        """
        names, point = self.path.feature_names, self.point
        columns = np.flatnonzero(point.support)
        order = columns[np.argsort(-point.weights[columns], kind="stable")]
        rows = [
            (str(names[i]), float(point.weights[i]), *(of(i) for of in self.measures.values()), i)
            for i in order.tolist()
        ]
        return ["name", "weight", *self.measures, "column"], rows

    def as_dict(self) -> dict[str, Any]:
        """Everything that ``--json`` prints."""
        header, rows = self.selected()
        found = None if self.test is None else len(self.test.discoveries(LEVEL))
        odd = ("rows_left_out", "n_identifiers", "n_constant")
        return {
            "method": self.method,
            "task": self.task,
            "n_samples": self.counts["n_rows"],
            "n_features": self.path.n_features,
            **{name: self.counts[name] for name in odd},
            "seconds": round(self.seconds, 3),
            "notes": self.notes,
            "discoveries": None if found is None else {"level": LEVEL, "n_features": found},
            **self._points_or_scores(),
            "selected": [dict(zip(header, row)) for row in rows],
        }

    def _points_or_scores(self) -> dict[str, Any]:
        if self.scored is None:
            return {"points": path_rows(self.path, [self.size])}
        summary, cv = self.scored.summary, self.scored.summary["cv"]
        return {
            "headline": summary["headline"],
            **{name: cv[name] for name in ("scoring", "rule", "n_folds", "chance")},
            **{name: cv[name] for name in ("chosen", "best", "one_se", "nested")},
            "sizes": [
                {name: size[name] for name in SHOWN_OF_SIZE if name in size}
                for size in summary["sizes"]
            ],
            "baselines": summary["baselines"],
            "references": summary["references"],
            "notices": summary["notices"],
        }


# -- tracing ---------------------------------------------------------------------------------------


def trace_table(
    method: Method,
    settings: dict[str, Any],
    table: LoadedTable,
    *,
    task: str,
    kernel: str,
    size: int | None,
    missing: str = "kernel",
    identifiers: str = "drop",
) -> Run:
    """Trace the path of a table from a file."""
    options: dict[str, Any] = {"missing": missing, "identifiers": identifiers}
    kept = settings.get("must_include")
    check_table(table, [method], kernel=kernel, task=task, must_include=kept, **options)
    kind = task_for(method, table, task)
    sizes = budgets(method, len(table.feature_names))
    if method.kind == "choice":  # a problem for each: no more than are asked for
        most = min(max(FIRST_BUDGETS, size or 0), len(table.feature_names))
        sizes = [*range(1, min(FIRST_BUDGETS, most) + 1), *([most] if most > FIRST_BUDGETS else [])]
    selector = method.selector(kind, sizes, **settings)
    if hasattr(selector, "missing"):
        selector.set_params(**options)
    with naming_bad_columns(table), collected_warnings() as notes:
        say_how_it_is_read(table.y, task)
        read = as_table(table, identifiers, kept)
        columns, y, left_out = training_table(read, table.y, missing, settings)
        run = trace(method.name, selector, columns, y, None, size, table.left_out + left_out)
    run.notes[:0] = [*table.notes, *notes]
    run.notes.extend(category_notes(table, identifiers))
    return replace(run, reading=options | {"left_out": table.left_out})


def task_for(method: Method, table: LoadedTable, task: str) -> str:
    """The task that a method is told; a path of lp-KTA says the one that was asked for."""
    found = infer_task(table.y, task, judged=True)
    as_asked = method.name in ("lp-kta", "additive") and found == infer_task(table.y, task)
    return task if as_asked else found


def trace(
    method: str,
    selector: Any,
    X: Any,
    y: Any,
    names: list[str] | None,
    size: int | None,
    left_out: LeftOut | None = None,
) -> Run:
    """Fit, collecting warnings as notes; choose the point of a size, or the method's own.

    ``names`` are those of the columns of an array, and ``left_out`` rows that it does not hold.
    """
    start = time.perf_counter()
    table = X if names is None else named_columns(X, names)
    with collected_warnings() as notes:
        path = _traced(selector, table, y)
    check_size(path, size)
    point = _own_point(selector, path) if size is None else path.at(n_features=size)
    if size is None and 0 < path.n_selected[0] == path.n_selected[-1]:
        notes.append("No feature leaves along the path; choose a size with --n-features.")
    if point.n_selected == 0:
        notes.append("No feature is selected anywhere: lower --norm-strength or give --n-features.")
    seconds = time.perf_counter() - start
    counts = describe_counts(table, left_out, ever_selected(path))
    test = known_test(path, table, y, path.provenance.get("task", "auto"))
    measures: Measures = {}
    alignments = getattr(selector, "alignments_", None)
    if alignments is not None:
        measures["alignment"] = lambda i: float(alignments[i])
    measures |= test_measures(test)
    size = int(point.n_selected)
    return Run(method, path, point, size, seconds, notes, measures, counts=counts, test=test)


def _traced(selector: Any, X: Any, y: Any) -> FeaturePath:
    if not hasattr(selector, "fit"):
        from kernelpath.estimators.rankers import ranked_path

        return ranked_path(selector, X, y)
    return selector.fit(X, y).path_


def _own_point(selector: Any, path: FeaturePath) -> PathPoint:
    """Point that a method chooses itself; of the others a small one."""
    if hasattr(selector, "position_"):  # smallest error of rows left out
        point = path[selector.position_]
        return replace(point, weights=selector.weights_, support=selector.support_)
    if path.extension is not None:
        return selector._choose_point(path, None)
    sizes = np.unique(path.n_selected)
    return path.at(n_features=int(sizes[sizes <= max(FIRST_BUDGETS, sizes[0])][-1]))


# -- scoring ---------------------------------------------------------------------------------------


def score_table(
    method: Method,
    own: dict[str, Any],
    table: LoadedTable,
    settings: CVSettings,
    size: int | None,
    memory: Path | None,
) -> Run:
    """Score the path of a table and choose a point; ``own`` are the settings of the method."""
    start = time.perf_counter()
    if size is not None and size > (most := len(table.feature_names)):
        raise DataError(f"--n-features {size} is too many: the table has {counted(most, 'column')}")
    table, groups = split_groups(table, settings.groups)
    check_sizes(table, settings.sizes)
    check_table(table, [method], **settings.of_table())
    task = task_for(method, table, settings.task)
    sizes, said = sizes_for(method, settings.sizes, size, len(table.feature_names))
    model, notes = fit_cv(method.selector(task, sizes, **own), table, groups, settings, memory)
    check_size(model.path_, size)
    known = model._run.part.traced.sizes
    if size is not None and settings.constraints and size not in known:
        raise DataError(
            f"--n-features {size} is no size here, since some columns are always in or go "
            f"together; {nearest_sizes(known, size)}"
        )
    chosen = size or int(model.operating_point_.n_features)
    for k in {chosen, int(model.choose("best").n_features)}:
        model._model(k)  # the file is to predict at these sizes too
    notes += said + lacking_sizes(method, model)
    seconds = time.perf_counter() - start
    point = model._run.point_at(chosen)
    study = model._run.study
    test = known_test(model.path_, study.rows, study.y, model.task_)
    measures: Measures = {"share_of_folds": fold_share(model, chosen)} | test_measures(test)
    costs = getattr(model._run.study.constraints, "costs", None)
    if costs is not None:
        measures["cost"] = lambda column: float(costs[column])
    scored = Scored(model, summarize_cv(model, table.left_out, test) | {"method": method.name})
    counts = scored.summary["data"]
    return Run(
        method.name, model.path_, point, chosen, seconds, notes, measures, scored, counts, test=test
    )  # fmt: skip


def test_measures(test: AlignmentTest | None) -> Measures:
    """P and q of a feature, where they are known."""
    if test is None:
        return {}
    p_value, q_value = test.p_value, test.q_value
    return {"p_value": lambda i: float(p_value[i]), "q_value": lambda i: float(q_value[i])}


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
    return model, [*table.notes, *notes, *category_notes(table, settings.identifiers)]


def sizes_for(
    method: Method, sizes: list[int] | None, size: int | None, n_columns: int
) -> tuple[list[int] | None, list[str]]:
    """Sizes that a selector must know before it is fitted, and notes on them."""
    known = budgets(method, n_columns)
    if known is None:
        return None, []
    said = []
    if method.kind == "choice" and sizes is None and n_columns > known[-1]:
        end = counted(known[-1], "feature")
        said = [f"With {method.name} the sizes end at {end}; --sizes names others."]
    more = [] if size is None else [size]
    return sorted({*(sizes or known), *more}), said


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


def fold_share(model: PathCV, size: int) -> Callable[[int], float | None]:
    """Share of the folds that choose a feature at this size; None if it was not scored."""
    if size not in model.scores_.n_features.tolist():
        return lambda column: None
    frame = model.stability_.of(size)
    shares = dict(zip(frame["feature"].tolist(), frame["frequency"].tolist()))
    return lambda column: shares.get(column, 0.0)


# -- what is wrong with a table --------------------------------------------------------------------


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
            f"--sizes {sizes[-1]} is too many: {table.source} has {counted(most, 'feature')}"
        )


def check_size(path: FeaturePath, size: float | None) -> None:
    """Refuse more features than can be selected."""
    usable = path.extension.n_usable if path.extension else path.n_features
    if size is not None and size > usable:
        raise DataError(
            f"--n-features {size} is too many: only {counted(usable, 'feature')} can be selected"
        )


@contextmanager
def collected_warnings() -> Iterator[list[str]]:
    """Give a list that holds what was warned of, in words of the command line, at the end."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield notes
    texts = [in_option_words(w.message) for w in caught if issubclass(w.category, UserWarning)]
    notes.extend(dict.fromkeys(texts))  # folds warn of the same thing again


# -- files -----------------------------------------------------------------------------------------


def write_run(run: Run, summary: dict[str, Any], record: Record, folder: Path) -> list[str]:
    """Write the files of a run; return why some were left out."""
    run.path.save(folder / "path.kpath")
    write_frame(folder / "path.csv", run.path.to_frame())
    header, rows = run.selected()
    ranked = [(rank, *row) for rank, row in enumerate(rows, start=1)]
    write_csv(folder / "selected.csv", ["rank", *header], ranked)
    skipped = save_path_picture(run, folder, n_usable(summary))
    if run.scored is not None:
        model = run.scored.model
        record.options |= settings_in_force(model)
        scores = {run.method: model.scores_, **model.baseline_scores_}
        write_scores(folder / "scores.csv", scores)
        model.save(folder / "model.kpmodel")
        skipped += save_score_picture(model, folder / "accuracy.png", run.method)
    skipped += write_page(summary, record, folder)
    write_record(record, folder)
    return list(dict.fromkeys(skipped))


def settings_in_force(model: PathCV) -> dict[str, Any]:
    """What was decided where an option was left out."""
    return {
        "rule": str(model.rule),
        "tolerance": float(model.tolerance),
        "level": float(model.level),
        "predictor": str(model.predictor),
        "scoring": str(model.scores_.scoring),
        "task": str(model.task_),
    }


def write_scores(file: Path, scores: dict[str, Any]) -> None:
    """Write one row per method and size."""
    n_folds = max(own.n_folds for own in scores.values())
    costly = all(own.costs is not None for own in scores.values())
    cost = ["cost"] if costly else []
    header = ["method", "n_features", *cost, "mean", "se", *(f"fold_{i}" for i in range(n_folds))]
    rows = [
        [name, *(None if value != value else value for value in row)]
        for name, own in scores.items()
        for row in zip(
            own.n_features.tolist(), *([own.costs.tolist()] if costly else []), own.mean.tolist(),
            own.se.tolist(), *own.per_fold,
        )
    ]  # fmt: skip
    write_csv(file, header, rows)


def save_path_picture(run: Run, folder: Path, n_features: int) -> list[str]:
    """Draw the path, if there is something to draw with."""
    try:
        from kernelpath.report.displays.path import save_plot

        save_plot(run.path, folder / "path.png", n_features=n_features, test=run.test)
    except ImportError as error:
        return [str(error)]
    return []


def save_score_picture(model: PathCV, file: Path, label: str | None = None) -> list[str]:
    """Draw the scores, if there is something to draw with."""
    try:
        from kernelpath.report.displays.accuracy import AccuracyDisplay, save_scores

        save_scores(AccuracyDisplay.from_model(model, label=label), file)
    except ImportError as error:
        return [str(error)]
    return []
