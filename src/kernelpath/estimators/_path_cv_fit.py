"""The steps of PathCV.fit after preparation: run the folds, fit at a size, repeat the whole."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from kernelpath.errors import DataError
from kernelpath.estimators._path_cv_prepare import (
    Setup,
    baseline_studies,
    make_plan,
    prepare,
    warn_of_baselines,
)
from kernelpath.evaluation.checkpoint import FoldStore, Tracer, fold_key, work_key
from kernelpath.evaluation.folds import FoldResult, tune_once
from kernelpath.evaluation.nested import NestedScore
from kernelpath.evaluation.operating_point import OperatingPoint
from kernelpath.evaluation.run import collect, run_folds
from kernelpath.evaluation.scores import PathScores
from kernelpath.evaluation.study import Study
from kernelpath.evaluation.tuning import TunedChoice, n_candidates
from kernelpath.evaluation.work_plan import WorkMeter
from kernelpath.path.feature_path import FeaturePath
from kernelpath.predictors.models import KernelModel, constant_model
from kernelpath.tracers.any_selector import RANKED
from kernelpath.utils.archive_forms import REAL, Form, Forms
from kernelpath.utils.checks import whole
from kernelpath.utils.progress import Update, begin, no_progress, passed_on, progress_bar
from kernelpath.utils.provenance import fingerprint

if TYPE_CHECKING:
    from kernelpath.estimators.path_cv import PathCV


__all__ = ["FullPoint", "Setup", "prepare"]


class FullPoint(NamedTuple):
    """The point of all rows at one size."""

    support: NDArray[np.bool_]
    weights: NDArray[np.float64]
    parameter: float
    names: tuple[str, ...]


def visible(model: PathCV) -> AbstractContextManager[None]:
    """A progress bar for what is done inside, unless lines are written instead."""
    return nullcontext() if model.verbose else progress_bar()


# -- run -------------------------------------------------------------------------------------------


def run(model: PathCV, setup: Setup, store: FoldStore) -> dict[str, list[FoldResult]]:
    """Folds of the path, under the name "", and of the baselines."""
    results = {}
    with no_progress():  # of single steps: the meter counts them all
        for name, study in {"": setup.study, **setup.baselines}.items():
            results[name] = run_folds(
                study, setup.splits, setup.fingerprint, store, setup.meter,
                n_jobs=model.n_jobs, label=f"{name}, " if name else "",
            )  # fmt: skip
    return results


def finished(setup: Setup, store: FoldStore) -> list[FoldResult | None]:
    """Complete folds of the path itself, None for the others."""
    known = [
        store.results.get(fold_key(setup.study, setup.fingerprint, split)) for split in setup.splits
    ]
    return [result if result is not None and result.complete else None for result in known]


def interrupted_note(setup: Setup, store: FoldStore) -> str:
    """What an interrupted run has to show, and how to go on."""
    done = sum(result is not None for result in finished(setup, store))
    seen = " (see scores_)" if done else ""
    where = f" from {store.folder}" if store.folder is not None else ""
    return (
        f"{done} of {len(setup.splits)} folds are finished{seen}; calling fit again with "
        f"the same data goes on{where}."
    )


# -- one size --------------------------------------------------------------------------------------


def model_at(setup: Setup, k: int) -> tuple[Any, TunedChoice]:
    """Fit on all rows at one size; predictor and settings are chosen for that size."""
    study = replace(setup.study, sizes=np.array([k]))
    rows = np.arange(study.rows.n_rows)
    key = fold_key(study, setup.fingerprint, (rows, rows[:0]))
    if key not in setup.store.models:
        setup.store.models[key] = _fit_at(setup, study, k, key, rows)
    return setup.store.models[key]


def _fit_at(
    setup: Setup, study: Study, k: int, key: str, rows: NDArray[np.intp]
) -> tuple[Any, TunedChoice]:
    if setup.part.traced.nearest(k) == 0:
        return constant_model(setup.part, None)[1], TunedChoice(-1, {}, float("nan"))
    choice = _choice(setup, study, key, rows)[k]
    predictor = study.predictors[choice.predictor]
    ((_, _, _, maker),) = predictor.models(setup.part, [(k, [choice.setting])], None)
    machine = maker.machine()
    if hasattr(machine, "head"):
        return KernelModel(machine, study.task), choice
    return machine, choice


def _choice(setup: Setup, study: Study, key: str, rows: NDArray[np.intp]) -> dict[int, TunedChoice]:
    """Predictor and settings from all rows; what is compared is kept as that of a fold."""
    store = setup.store
    result = store.get(key, study) or FoldResult.empty(study.rows.shape[1], len(study.sizes))
    single = n_candidates(study) == 1  # nothing to compare, nothing to keep
    tracing = Tracer(store, study, setup.fingerprint)
    try:
        keep = None if single else (lambda now: store.put(key, now))
        return tune_once(study, rows, result, keep=keep, tracing=tracing)
    finally:
        if not single:
            store.put(key, result, force=True)


def fit_at(model: PathCV, k: int) -> None:
    """Fit the model at one size on all rows, unless that was done before."""
    if k in model._models:
        return
    if "_setup" not in vars(model):
        known = ", ".join(map(str, sorted(model._models)))
        raise DataError(
            f"There is no model with {k} features here, only {known}: copies, pickles and "
            f"files come without the training rows. Use save(file, n_features={k}), or predict "
            "at that size before copying, or fit again."
        )
    setup = unchanged(model._setup)
    setup.meter.say(f"PathCV: fitting {k:,} features on all {setup.study.rows.n_rows:,} rows")
    with visible(model):
        begin("fitting on all rows")
        with no_progress():
            model._models[k], model._choices[k] = model_at(setup, k)


def unchanged(setup: Setup) -> Setup:
    """Refuse training rows that were changed since fit: the table is shared, not copied."""
    study = setup.study
    if fingerprint(study.rows.values, study.y) != setup.fingerprint:
        raise DataError(
            "X or y was changed since fit, so that nothing more can be fitted on it. Fit again, or "
            "ask for other sizes and baselines before changing the table."
        )
    return setup


def rule_of(model: PathCV, rule: Any, budget: Any, tolerance: Any) -> tuple[Any, Any, Any]:
    """Rule, budget and tolerance meant by the arguments of ``choose``.

    Nothing means the model's own; a budget or a tolerance alone implies its rule.
    """
    if rule is None and budget is None and tolerance is None:
        return model.rule, model.budget, model.tolerance
    if rule is None:
        rule = "budget" if tolerance is None else "tolerance"
    if tolerance is not None and rule != "tolerance":
        raise ValueError(
            f"tolerance={tolerance!r} has no effect under rule={rule!r}; leave out one of the two"
        )
    if rule == "budget" and budget is None:
        budget = model.budget
    return rule, budget, model.tolerance if tolerance is None else tolerance


def checked_size(n_features: Any, n_columns: int) -> int:
    """Return a number of features that a user asked for, or say what is wrong with it."""
    whole("n_features", n_features, error=TypeError)
    if not 1 <= n_features <= n_columns:
        raise DataError(f"n_features must lie between 1 and {n_columns}, got {n_features}.")
    return int(n_features)


def full_point(setup: Setup, k: int) -> FullPoint:
    """Support, weights and names at one size of the path of all rows."""
    traced = setup.part.traced
    point = traced.at(k)
    support = np.zeros(traced.n_columns, dtype=bool)
    support[point.columns] = True
    weights = np.zeros(traced.n_columns)
    if point.weights is not None:
        weights[point.columns] = point.weights
    elif len(point.columns):
        weights[point.columns] = setup.path.at(n_features=_stored(setup.path, k)).weights[
            point.columns
        ]
    order = point.columns[np.argsort(-weights[point.columns], kind="stable")]
    names = tuple(str(setup.path.feature_names[j]) for j in order)
    return FullPoint(support, weights, point.parameter, names)


def loaded_point(model: PathCV, k: int) -> FullPoint:
    """The same from a path alone, for a model without its training rows."""
    point = model.path_.at(n_features=k)
    ranked = model.path_.parameter_name == RANKED  # a ranking has no parameter of its own
    parameter = float("nan") if ranked else point.parameter
    return FullPoint(point.support, point.weights, parameter, point.names)


def operating_point(model: PathCV, k: int, place: int, rule: Any) -> OperatingPoint:
    """Everything that is known about a size."""
    point = full_point(model._setup, k) if "_setup" in vars(model) else loaded_point(model, k)
    return OperatingPoint(
        n_features=k,
        score=float(model.scores_.mean[place]),
        se=float(model.scores_.se[place]),
        parameter=point.parameter,
        feature_names=point.names,
        weights=point.weights,
        support=point.support,
        predictor=model._models[k].name if k in model._models else "",
        settings=model._choices[k].setting if k in model._choices else {},
        rule=rule if isinstance(rule, str) else getattr(rule, "__name__", type(rule).__name__),
        scoring=model.scores_.scoring,
        parameter_name=model.path_.parameter_name,
    )


def _stored(path: FeaturePath, k: int) -> int:
    """Smallest stored size of a ranking that holds ``k`` features."""
    sizes = np.sort(path.n_selected)
    return int(sizes[min(int(np.searchsorted(sizes, k)), len(sizes) - 1)])


# -- baselines and the outer loop ------------------------------------------------------------------


def baseline_scores(model: PathCV, wanted: Any) -> dict[str, PathScores]:
    """Scores of the baselines to draw; those not known yet are computed."""
    known = getattr(model, "baseline_scores_", {})
    if wanted is None:
        return dict(known)
    names = (wanted,) if isinstance(wanted, str) else wanted
    missing = [name for name in names if str(name) not in known]
    if missing:
        if "_setup" not in model.__dict__:
            raise DataError(
                f"The baselines {missing} were not scored in fit, and the training rows are not "
                "here any more; fit with baselines=."
            )
        setup = unchanged(model._setup)
        some = {name: names[name] for name in missing} if isinstance(names, dict) else missing
        studies = baseline_studies(setup.study, some)
        warn_of_baselines(studies)
        for name, study in studies.items():
            folds = _baseline_folds(model, setup, name, study)
            known[name] = collect(study, folds, setup.scoring, model.n_features_in_)
        model.baseline_scores_ = known
    return {str(name): known[str(name)] for name in names}


def _baseline_folds(model: PathCV, setup: Setup, name: str, study: Study) -> list[FoldResult]:
    total = make_plan(study, setup.splits, 1).total
    with visible(model):
        meter = WorkMeter(total, model.verbose, begin(name))
        with no_progress():
            return run_folds(
                study, setup.splits, setup.fingerprint, setup.store, meter,
                n_jobs=model.n_jobs, label=f"{name}, ",
            )  # fmt: skip


def nested_score(model: PathCV, setup: Setup, store: FoldStore) -> NestedScore:
    """Run the whole procedure on the training rows of every fold, and score on its test rows."""
    study = setup.study
    scores, sizes = [], []
    n_folds = len(setup.splits)
    outer, update = WorkMeter(n_folds, model.verbose), begin("outer loop")
    for number, (train, test) in enumerate(setup.splits):
        left = outer.left(time.monotonic()) if number else ""
        setup.meter.say(f"PathCV: outer loop, fold {number + 1} of {n_folds}{left}")
        key = _outer_key(model, setup, train, test)
        found = _outcome(store, key)
        if found is not None:
            scores.append(found[0])
            sizes.append(int(found[1]))
            outer.done += 1
            continue
        inner = clone(model).set_params(
            nested=False, baselines=(), verbose=0, task=study.task.kind, selector=study.selector
        )
        inner._interrupted = store  # its folds are kept with the others
        params = {name: _rows_of(value, train) for name, value in _shared(setup).items()}
        part = study.rows.take(train)
        share = _counted_from(update, number, n_folds)
        traces, models = dict(store.traces), dict(store.models)
        with passed_on("cross-validation", share):
            inner.fit(part.given, study.y[train], **params)
            scores.append(study.score(inner, test, study.rows.take(test).given))
        store.traces, store.models = traces, models  # those of the fold are of no more use
        sizes.append(inner.operating_point_.n_features)
        _keep_outcome(store, key, scores[-1], sizes[-1])
        outer.done += 1
    return NestedScore(scores, sizes, scoring=setup.scoring)


def _outer_key(model: PathCV, setup: Setup, train: NDArray, test: NDArray) -> str:
    """Name of one fold of the outer loop: what its own folds depend on, and how one is chosen."""
    fold = fold_key(setup.study, setup.fingerprint, (train, test))
    asked = (model.cv, model.n_features, model.rule, model.budget, model.tolerance)
    return work_key("outer", fold, *asked, setup.study.inner_cv)


def _outcome(store: FoldStore, key: str) -> tuple[float, float] | None:
    """Score and size of a fold of the outer loop, if an earlier run found them."""
    if key in store.outcomes:
        return store.outcomes[key]
    form = Form(REAL, (2,))
    return store.read(
        key,
        "outer",
        lambda header, label: Forms({"outcome": form}),
        lambda _, a: tuple(a["outcome"]),
    )


def _keep_outcome(store: FoldStore, key: str, score: float, size: int) -> None:
    store.outcomes[key] = (score, float(size))
    store.write(key, "outer", {}, {"outcome": np.array([score, float(size)])})


def _counted_from(update: Update, number: int, n_folds: int) -> Update:
    """Work within one fold as a share of all of them."""
    return lambda done, total: update(number + done / total, n_folds)


def _shared(setup: Setup) -> dict[str, Any]:
    given = {"groups": setup.study.groups, "sample_weight": setup.study.sample_weight}
    for step in setup.study.metadata.values():
        given.update(step)
    return {name: value for name, value in given.items() if value is not None}


def _rows_of(values: Any, rows: NDArray[np.intp]) -> Any:
    return np.asarray(values)[rows]
