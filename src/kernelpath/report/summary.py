"""Everything a report shows, as one plain dict that JSON can hold.

Pictures, pages and tables are drawn from this dict and compute nothing.  Its form is promised by
``summary.schema.json`` beside this file; ``version`` grows when the form changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernelpath.evaluation.leaks import EVERYTHING, PERFECT, TOGETHER
from kernelpath.evaluation.operating_point import choose
from kernelpath.evaluation.scores import PathScores
from kernelpath.kernels import FeatureKernel, check_traced, feature_kernel_settings
from kernelpath.path.feature_path import FeaturePath
from kernelpath.report.chance import gain_section
from kernelpath.report.form import FORMAT, VERSION, number, numbers
from kernelpath.report.real import known_test, real_section
from kernelpath.report.summary_data import (
    describe_counts,
    describe_data,
    identifier_notices,
    notices,
    repeated_notices,
)
from kernelpath.report.summary_lines import sizes_at_junctures, weight_lines
from kernelpath.report.summary_views import MOST_COMPARED, feature_views, redundancy
from kernelpath.report.words import headline, n_usable, remarks
from kernelpath.tables.any_target import JOINT
from kernelpath.tables.encoding import TableEncoder
from kernelpath.tables.kinds import Kind
from kernelpath.tables.missing import LeftOut, kept_rows
from kernelpath.tables.reading import how_it_was_read, one_column
from kernelpath.tables.table import Table, refuse_infinite_columns
from kernelpath.tables.targets import as_vector, infer_task
from kernelpath.tracers.any_selector import nearest_to_grid
from kernelpath.utils.progress import working
from kernelpath.utils.words import counted

if TYPE_CHECKING:
    from kernelpath.estimators.path_cv import PathCV
    from kernelpath.path.significance import AlignmentTest

MOST_LISTED = 200  # features of a size
MOST_JUNCTURES = 600
MOST_TRACKED = 60  # features whose coming and going, or stability, is shown
N_VIEWS = 12
SETTINGS = ("predictor", "cv", "inner_cv", "scoring", "rule", "budget", "tolerance", "random_state")
IF_GIVEN = ("must_include", "feature_groups", "costs")


@working("summary")
def summarize_path(
    path: FeaturePath,
    X: Any = None,
    y: ArrayLike | None = None,
    *,
    sizes: Sequence[int] | None = None,
    task: str = "auto",
    kernel: Any = None,
    missing: str | None = None,
    identifiers: str | None = None,
    left_out: LeftOut | None = None,
    test: AlignmentTest | None = None,
) -> dict[str, Any]:
    """Summary of a path; with the table, also of the data and of the heaviest features.

    ``kernel`` is that of a feature, where the path knows only its text: an object of a class.
    ``missing`` and ``identifiers`` are what the path was traced with, where it does not know that
    itself, and ``left_out`` are rows that X does not hold any more.  ``test`` has the p-values,
    where they are known and the path does not have them.
    """
    maker = _Maker(path, sizes_of(path) if sizes is None else list(sizes), test=test)
    if X is None:
        return maker.finish()
    if y is None:
        raise ValueError("a summary of the data needs the target y as well as X")
    table = TableEncoder.fit(X)[1]
    if table.shape[1] != path.n_features:
        columns = counted(table.shape[1], "column")
        raise ValueError(f"X has {columns}, but the path {path.n_features}")
    known = path.provenance.get("parameters", {})
    if (identifiers or known.get("identifiers", "drop")) == "drop":
        table = table.without_identifiers(but=np.flatnonzero(ever_selected(path)))
    target, left_out = one_column(y), left_out or LeftOut()
    kept = None
    if len(target) == table.n_rows:
        kept = kept_rows(table, target, missing or known.get("missing", "kernel"))
    if kept is not None:
        table, target = table.take(kept.rows), target[kept.rows]
        left_out += kept.left_out
    refuse_infinite_columns(table)
    target = as_vector(target)
    if task == "auto":  # the path knows what it was traced for
        task = path.provenance.get("task", task)
    task = infer_task(target, task)
    maker.add_data(table, target, task, kernel, left_out=left_out)
    return maker.finish()


def usable_columns(model: PathCV) -> int:
    """Columns that can be selected, as the headline of the model counts them."""
    run = vars(model).get("_run")
    if run is None:  # a loaded model, which has no rows
        return int(model.n_features_in_)
    in_use = ever_selected(model.path_)
    data = describe_counts(run.study.rows.in_own_units(), None, in_use)
    return n_usable({"data": data})


@working("summary")
def summarize_cv(
    model: PathCV, left_out: LeftOut | None = None, test: AlignmentTest | None = None
) -> dict[str, Any]:
    """Summary of a fitted cross-validation; without training rows the data are left out.

    ``left_out`` are rows that the model was not given; ``test`` as in :func:`summarize_path`.
    """
    scores, point = model.scores_, model.operating_point_
    maker = _Maker(model.path_, scores.n_features.tolist(), point.n_features, test)
    run = vars(model).get("_run")
    if run is not None and model.task_ not in JOINT:  # views are of one column
        study = run.study
        kernel = _kernel_object(study.selector)
        rows = study.left_out + (left_out or LeftOut())
        maker.add_data(study.rows, study.y, model.task_, kernel, scores.scoring, rows)
    return maker.finish(model)


def _kernel_object(selector: Any) -> FeatureKernel | None:
    """The kernel of a feature, if the selector was given an object for it."""
    last = selector.steps[-1][1] if hasattr(selector, "steps") else selector
    given = (getattr(last, name, None) for name in ("base_kernel", "kernel"))
    return next((one for one in given if isinstance(one, FeatureKernel)), None)


def sizes_of(path: FeaturePath) -> list[int]:
    """Sizes to list: all small ones, then a growing grid; those of the path if it has no others."""
    sizes = path.sizes[path.sizes > 0]
    if path.extension is not None:
        return nearest_to_grid(sizes).tolist()
    if len(sizes) <= 80:
        return sizes.tolist()
    return sizes[np.unique(np.geomspace(1, len(sizes), 80).astype(int) - 1)].tolist()


class _Maker:
    """Collects the sections, and the features that any of them names."""

    def __init__(
        self,
        path: FeaturePath,
        sizes: list[int],
        chosen: int | None = None,
        test: AlignmentTest | None = None,
    ) -> None:
        self._path, self._test = path, test or path.test
        self._places: dict[int, int] = {}
        self._chosen = chosen
        origin = path.provenance
        self._points = {k: path.at(n_features=k) for k in sizes if _has(path, k)}
        self._out: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "kind": "path",
            "headline": "",
            "method": path.method,
            "parameter_name": path.parameter_name,
            "n_features": path.n_features,
            "data": None,
            "notices": [],
            "points": self._point_columns(),
            "junctures": junctures(path),
            "sizes": [self._size(k) for k in sizes],
            "weights": self._weights(),
            "entries": self._entries(sizes),
            "cv": None,
            "baselines": [],
            "references": [],
            "stability": None,
            "views": [],
            "redundancy": None,
            "settings": origin.get("parameters", {}) | origin.get("chosen", {}),
            "estimator": origin.get("estimator"),
            "branch": origin.get("branch"),
            "versions": origin.get("versions", {}),
            "fingerprint": origin.get("data", {}).get("fingerprint"),
        }

    def _place(self, feature: int) -> int:
        """Position of a feature in the list of those that the summary names."""
        return self._places.setdefault(int(feature), len(self._places))

    # -- the path ----------------------------------------------------------------------------------

    def _point_columns(self) -> dict[str, Any]:
        path = self._path
        return {
            "parameter": numbers(path.parameters),
            "n_selected": path.n_selected.tolist(),
            "value": numbers(path.values),
            "kkt": numbers(path.kkt),
            "gap": numbers(path.gaps),
        }

    def _size(self, k: int) -> dict[str, Any]:
        point = self._points.get(k)
        features: NDArray[np.intp] = np.zeros(0, dtype=np.intp)
        if point is not None:
            support = np.flatnonzero(point.support)
            features = support[np.argsort(-point.weights[support], kind="stable")]
        listed = features[:MOST_LISTED]
        return {
            "n_features": int(k),
            "parameter": None if point is None else number(point.parameter),
            "features": [self._place(i) for i in listed],
            "weights": [] if point is None else numbers(point.weights[listed]),
            "n_hidden": len(features) - len(listed),
            "score": None,
            "se": None,
            "per_fold": [],
            "predictors": [],
            "frequency": None,
        }

    def _weights(self) -> dict[str, Any]:
        W, named, others, n_hidden = weight_lines(self._path)
        return {
            "named": self._lines(W, named, 5),
            "others": self._lines(W, others, 4),
            "n_hidden": n_hidden,
        }

    def _lines(self, W: Any, columns: NDArray[np.intp], digits: int) -> list[dict[str, Any]]:
        return [
            {"feature": self._place(i), "weights": numbers(row, digits)}
            for i, row in zip(columns, W[:, columns].toarray().T)
        ]

    def _entries(self, sizes: list[int]) -> dict[str, Any]:
        """Which features are in at which size: only small sizes have few enough to be drawn."""
        known = [k for k in sizes if k in self._points and k <= MOST_TRACKED]
        support = np.array([self._points[k].support for k in known], dtype=bool)
        tracked: list[int] = []
        for k, row in zip(known, support):
            seen, weights = set(tracked), self._points[k].weights
            fresh = [i for i in np.flatnonzero(row).tolist() if i not in seen]
            tracked += sorted(fresh, key=lambda i: -weights[i])
        tracked = tracked[:MOST_TRACKED]
        return {
            "nested": bool(self._path.is_nested),
            "sizes": known,
            "rows": [
                {"feature": self._place(i), "present": support[:, i].astype(int).tolist()}
                for i in tracked
            ],
        }

    # -- the data ----------------------------------------------------------------------------------

    def add_data(
        self,
        table: Table,
        y: NDArray,
        task: str,
        given: Any = None,
        scoring: str | None = None,
        left_out: LeftOut | None = None,
    ) -> None:
        """Facts about the table, and views of the heaviest features by the kernel ``given``."""
        in_use, readings = ever_selected(self._path), table.readings
        self._test = self._test or known_test(self._path, table, y, task)
        self._out["data"] = describe_data(table.in_own_units(), y, task, left_out, in_use)
        table = table.within_reach()
        self._out["notices"] = notices(self._out["data"], scoring) + identifier_notices(
            table, in_use
        )
        if said := how_it_was_read(table, but=(Kind.IDENTIFIER,)):
            self._out["notices"].append({"kind": "reading", "text": said})
        order = self._heaviest()
        if not order:
            return
        settings = self._out["settings"]
        if given is not None:
            settings = settings | {"base_kernel" if "base_kernel" in settings else "kernel": given}
        test = self._path.test
        kernel = feature_kernel_settings(settings, test)
        kernel.pop("gamma", None)  # of all columns, where only some are looked at
        widths = kernel.pop("each_width", None)
        if self._path.method == "l1kr":  # one kernel of all columns
            kernel = {"kernel": "auto"}
        check_traced(kernel)
        views = feature_views(
            table, y, task, order[:N_VIEWS], kernel=kernel, readings=readings, widths=widths
        )
        self._out["views"] = [
            {"feature": self._place(view.pop("column")), **_rounded(view)} for view in views
        ]
        compared = order[:MOST_COMPARED]
        if len(compared) > 1:
            own = {} if widths is None else {"each_width": widths[compared]}
            similarity = redundancy(table, compared, kernel=kernel | own)
            self._out["redundancy"] = {
                "features": [self._place(i) for i in compared],
                "similarity": [numbers(row, 3) for row in similarity],
            }

    def _heaviest(self) -> list[int]:
        """Features of the chosen size by weight, or the first thirty of the path."""
        k = self._chosen
        if k is not None and k in self._points:
            point = self._points[k]
            support = np.flatnonzero(point.support)
            return support[np.argsort(-point.weights[support], kind="stable")].tolist()
        return self._path.entry_order()[:MOST_COMPARED].tolist()

    # -- the end -----------------------------------------------------------------------------------

    def finish(self, model: PathCV | None = None) -> dict[str, Any]:
        """The whole summary, with the scores of a cross-validation if there are any."""
        out = dict(self._out)
        if model is not None:
            out["kind"] = "path_cv"
            out["cv"] = cv_section(model)
            out["baselines"] = baselines_section(model)
            out["references"] = references_section(model)
            out["notices"] = leak_notices(model) + repeated_notices(model) + out["notices"]
            add_to_sizes(out["sizes"], list(self._places), model)
            out["stability"] = stability_section(model, self._place)
            out["settings"] = settings_section(model, out["settings"])
        chosen = self._points.get(-1 if self._chosen is None else self._chosen)
        out["test"] = real_section(self._test, self._place, chosen)
        names = self._path.feature_names
        out["features"] = [{"index": i, "name": str(names[i])} for i in self._places]
        out["headline"] = headline(out)
        out["notices"] = remarks(out) + out["notices"]
        return out


def _rounded(view: dict[str, Any]) -> dict[str, Any]:
    """A view with numbers as JSON can hold them."""
    result = dict(view)
    if "grid" in view:
        result["grid"] = numbers(view["grid"])
        points = view["points"]
        # As many digits as the axis: rows at its ends would fall outside otherwise.
        result["points"] = {"x": numbers(points["x"]), "y": [numbers(r, 5) for r in points["y"]]}
    for name in ("curves", "means"):
        if name in view:
            result[name] = [numbers(row, 5) for row in view[name]]
    return result


def ever_selected(path: FeaturePath) -> NDArray[np.bool_]:
    """Columns that are selected somewhere on a path, also with weight 0."""
    found = np.zeros(path.n_features, dtype=bool)
    found[path.weights.indices] = True
    sizes = path.sizes[path.sizes > 0]
    return found | path.at(n_features=int(sizes[-1])).support if len(sizes) else found


def _has(path: FeaturePath, k: int) -> bool:
    return bool(np.any(path.sizes == k))


def junctures(path: FeaturePath) -> dict[str, Any]:
    """Where single features come and go, and how many there are then; thinned where many."""
    where, sizes = sizes_at_junctures(path)
    shown = np.arange(len(where))
    if len(where) > MOST_JUNCTURES:
        shown = np.unique(np.linspace(0, len(where) - 1, MOST_JUNCTURES).astype(int))
    return {
        "parameter": numbers(where[shown]),
        "n_selected": sizes[shown].tolist(),
        "n_total": len(where),
    }


# -- what a cross-validation adds ------------------------------------------------------------------


def cv_section(model: PathCV) -> dict[str, Any]:
    """Folds, measure, rule, and the points that rules pick."""
    scores, point = model.scores_, model.operating_point_
    nested = getattr(model, "nested_score_", None)
    return {
        "n_folds": int(scores.n_folds),
        "scoring": scores.scoring,
        "chance": number(scores.chance_mean),
        "rule": point.rule,
        "gain": gain_section(scores, int(point.n_features)),
        "best": _size_score(scores, int(scores.best())),
        "one_se": _size_score(scores, int(choose(scores, "one_se"))),
        "chosen": {
            "n_features": int(point.n_features),
            "score": number(point.score),
            "se": number(point.se),
            "predictor": point.predictor,
            "settings": {str(name): plain(value) for name, value in point.settings.items()},
            **({} if point.cost is None else {"cost": number(point.cost)}),
        },
        "nested": None
        if nested is None
        else {
            "score": number(nested.mean),
            "se": number(nested.se),
            "n_features": [int(k) for k in nested.n_features],
        },
    }


def _size_score(scores: PathScores, place: int) -> dict[str, Any]:
    return {
        "n_features": int(scores.n_features[place]),
        "score": number(scores.mean[place]),
        "se": number(scores.se[place]),
    }


def add_to_sizes(sizes: list[dict[str, Any]], features: list[int], model: PathCV) -> None:
    """Scores of every size, and how often the folds choose its features."""
    scores, frequency = model.scores_, model.stability_.frequency
    for i, size in enumerate(sizes):
        size["score"], size["se"] = number(scores.mean[i]), number(scores.se[i])
        size["per_fold"] = numbers(scores.per_fold[:, i])
        if scores.predictors is not None:
            size["predictors"] = sorted({str(row[i]) for row in scores.predictors if row[i]})
        row = frequency[[i]].toarray()[0]
        size["frequency"] = numbers((row[features[place]] for place in size["features"]), 3)
        if scores.full_costs is not None:
            size["cost"] = number(scores.full_costs[i])
        if scores.costs is not None:
            size["cost_in_folds"] = number(scores.costs[i])


def baselines_section(model: PathCV) -> list[dict[str, Any]]:
    """Curves of the other rankings."""
    return [
        {
            "name": name,
            "n_features": own.n_features.tolist(),
            "score": numbers(own.mean),
            "se": numbers(own.se),
            **({} if own.costs is None else {"cost_in_folds": numbers(own.costs)}),
        }
        for name, own in getattr(model, "baseline_scores_", {}).items()
    ]


def references_section(model: PathCV) -> list[dict[str, Any]]:
    """Plain models of all columns, and how far they are above the chosen size.

    ``above`` says whether by more than the standard error of the difference, paired by fold, and
    by what three digits show.
    """
    scores, k = model.scores_, int(model.operating_point_.n_features)
    sections = []
    for name, own in getattr(model, "reference_scores_", {}).items():
        gain = own.above(scores, k)
        sections.append(
            {
                "name": name,
                "label": reference_label(name, model.task_),
                "n_features": own.n_features,
                "score": number(own.mean),
                "se": number(own.se),
                "difference": number(gain.mean),
                "difference_se": number(gain.se),
                # Only a difference that the written digits show.
                "above": gain.beyond_error
                and round(own.mean, 3) > round(float(scores.mean[scores.position(k)]), 3),
                "note": own.note,
            }
        )
    nothing = dict.fromkeys(("score", "se", "difference", "difference_se"))
    return sections + [
        {"name": name, "label": reference_label(name, model.task_), "n_features": None}
        | nothing
        | {"above": False, "note": note}
        for name, note in getattr(model, "reference_notes_", {}).items()
    ]


def reference_label(name: str, task: str) -> str:
    """What a reader calls a reference."""
    linear = "Ridge regression" if task == "regression" else "Logistic regression"
    return linear if name == "logistic" else name.capitalize()


def leak_notices(model: PathCV) -> list[dict[str, str]]:
    """What is said of columns that alone tell nearly everything."""
    kinds = {PERFECT: "leak", TOGETHER: "leak", EVERYTHING: "one_feature"}
    return [{"kind": kinds[one.kind], "text": str(one)} for one in getattr(model, "leaks_", ())]


def stability_section(model: PathCV, place: Callable[[int], int]) -> dict[str, Any]:
    """Stability index, and the features that folds choose most often."""
    stability = model.stability_
    frequency = stability.frequency.tocsc()
    total = np.asarray(frequency.sum(axis=0)).ravel()
    order = np.argsort(-total, kind="stable")
    order = order[total[order] > 0][:MOST_TRACKED]
    return {
        "n_features": stability.n_features.tolist(),
        "index": numbers(stability.index, 4),
        "low": numbers(stability.interval[:, 0], 4),
        "high": numbers(stability.interval[:, 1], 4),
        "rows": [
            {"feature": place(i), "frequency": numbers(column, 3)}
            for i, column in zip(order, frequency[:, order].toarray().T)
        ],
    }


def settings_section(model: PathCV, selector: dict[str, Any]) -> dict[str, Any]:
    """Settings of the cross-validation and, with a prefix, of the selector."""
    own = {name: plain(getattr(model, name)) for name in SETTINGS}
    asked = {name: getattr(model, name) for name in IF_GIVEN}
    own |= {name: plain(value) for name, value in asked.items() if value is not None}
    if hasattr(model, "selector_settings_"):
        folds = model.selector_settings_per_fold_
        own["selector_grid"] = plain(model.selector_grid)
        own["selector_grid, folds chose"] = "; ".join(map(str, folds))
    return own | {f"selector: {name}": value for name, value in selector.items()}


# -- numbers as JSON can hold them -----------------------------------------------------------------


def plain(value: Any) -> Any:
    """Return the value if JSON can hold it, else its text."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return number(value)
    return value if value is None or isinstance(value, str | int | bool) else str(value)
