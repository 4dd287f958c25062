"""The steps of PathCV.fit: prepare, run the folds, fit at a size, repeat the whole in a loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from kernelpath.encoding import TableEncoder
from kernelpath.errors import DataError
from kernelpath.estimators import _path_cv_setup as setup_checks
from kernelpath.estimators._path_cv_routing import route
from kernelpath.estimators._path_cv_rows import check_training_rows
from kernelpath.estimators.lp_kta import LpKTASelector
from kernelpath.evaluation.checkpoint import FoldStore, fold_key
from kernelpath.evaluation.folds import FoldResult, check_scoring_works
from kernelpath.evaluation.progress import Meter, WorkPlan
from kernelpath.evaluation.run import collect, run_folds
from kernelpath.evaluation.study import Split, Study, inner_of
from kernelpath.evaluation.tuning import Choice, n_candidates, n_tuning_fits, tune
from kernelpath.nested import NestedScore
from kernelpath.operating_point import OperatingPoint, check_rule
from kernelpath.path import FeaturePath
from kernelpath.predictors.base import LARGE_ROWS, TrainingPart
from kernelpath.predictors.models import KernelModel, check_response, constant_model
from kernelpath.predictors.svm import Task
from kernelpath.provenance import fingerprint
from kernelpath.rankings import BASELINES, Baseline, check_selector, describe
from kernelpath.scoring import PathScores
from kernelpath.targets import as_vector, check_sample_weight

if TYPE_CHECKING:
    from kernelpath.estimators.path_cv import PathCV


@dataclass
class Setup:
    """What is known before the folds: the study, its rows split, the path of all rows."""

    study: Study
    splits: list[Split]
    part: TrainingPart
    path: FeaturePath
    encoder: TableEncoder
    plan: WorkPlan
    meter: Meter
    scoring: str
    fingerprint: str
    baselines: dict[str, Study]


class FullPoint(NamedTuple):
    """The point of all rows at one size."""

    support: NDArray[np.bool_]
    weights: NDArray[np.float64]
    parameter: float
    names: tuple[str, ...]


# -- prepare ---------------------------------------------------------------------------------------


def prepare(
    model: PathCV, X: Any, y: Any, groups: Any, sample_weight: Any, params: dict[str, Any]
) -> Setup:
    """Check everything that can be checked, trace the path of all rows, and plan the work."""
    check_rule(model.rule, model.budget, model.tolerance)
    selector = LpKTASelector() if model.selector is None else model.selector
    check_selector(selector)
    predictors = setup_checks.resolve_predictors(model.predictor)
    own = setup_checks.is_own(model.predictor)
    memory_limit = setup_checks.bytes_of(model.memory_limit)
    if y is None:
        raise ValueError("This PathCV estimator requires y to be passed, but the target y is None.")
    encoder, rows = check_training_rows(model, X)
    y = as_vector(column_or_1d(y, warn=True))
    if len(y) != rows.n_rows:
        raise DataError(f"X has {rows.n_rows} rows, but y has {len(y)} values.")
    routed = route(model, groups, sample_weight, params)
    if sample_weight is not None:
        sample_weight = check_sample_weight(sample_weight, rows.n_rows)
    kind = setup_checks.task_of(y, model.task, model.predictor)
    classes = setup_checks.checked_target(y, kind, sample_weight)
    if kind == "regression":
        y = y.astype(np.float64)
    else:
        check_classification_targets(y)
    setup_checks.check_class_weight(model.class_weight, classes, own)
    scorer, scoring = setup_checks.resolve_scorer(model.scoring, kind)
    check_response(model.predictor, scorer, model.probability, own)
    if own:
        setup_checks.check_finite(rows.table)
    seed = _seed(model.random_state)
    setup_checks.check_sizes(model.n_features, rows.table.shape[1])
    splits = setup_checks.make_splits(model.cv, y, kind, groups, seed, routed.get("splitter", {}))
    if model.nested:
        _check_nested(model, y, kind, groups, seed, splits)
    study = Study(
        rows=rows,
        y=y,
        task=Task(kind, classes, model.class_weight, bool(model.probability)),
        selector=_with_task(selector, kind),
        predictors=predictors,
        scorer=scorer,
        sizes=np.ones(1, dtype=np.int64),
        sample_weight=sample_weight,
        groups=groups,
        inner_cv=inner_of(model.cv, model.inner_cv),
        memory_limit=memory_limit,
        seed=seed,
        metadata=routed,
        routed=bool(get_config().get("enable_metadata_routing")),
    )
    if n_candidates(study) > 1:
        setup_checks.check_inner(study, splits)
    check_scoring_works(study, splits[0])
    part = replace(study.part(np.arange(rows.n_rows)), task=study.task)
    sizes = setup_checks.resolve_sizes(model.n_features, part.traced.sizes)
    if model.rule == "budget" and model.budget < sizes[0]:
        raise DataError(
            f"budget={model.budget}, but the smallest size to score has {sizes[0]} features."
        )
    study = replace(study, sizes=sizes)
    baselines = _baseline_studies(study, model.baselines)
    plan = _plan(study, splits, 1 + len(baselines))
    meter = Meter(plan.total, model.verbose, callback=getattr(model, "_progress", None))
    meter.say(str(plan))
    names = rows.table.names
    if names is None and getattr(model, "feature_names_in_", None) is not None:
        names = model.feature_names_in_
    return Setup(
        study=study,
        splits=splits,
        part=part,
        path=part.traced.as_path(sizes, names, describe(selector)),
        encoder=encoder,
        plan=plan,
        meter=meter,
        scoring=scoring,
        fingerprint=fingerprint(rows.table.values, y),
        baselines=baselines,
    )


def _check_nested(
    model: PathCV, y: NDArray, kind: str, groups: Any, seed: int, splits: Sequence[Split]
) -> None:
    """Refuse an outer loop that could not be finished."""
    if not (hasattr(model.cv, "split") or isinstance(model.cv, int | np.integer)):
        raise DataError("nested=True needs cv to be a number of folds or a splitter, not splits.")
    for number, (train, _) in enumerate(splits):
        own = None if groups is None else np.asarray(groups)[train]
        try:
            setup_checks.make_splits(model.cv, y[train], kind, own, seed, {})
        except DataError as error:
            raise DataError(
                f"nested=True: in the training rows of fold {number}, {error}"
            ) from None


def _with_task(selector: Any, kind: str) -> Any:
    """Say the task to a selector that would guess it anew in every fold."""
    if hasattr(selector, "get_params") and selector.get_params(deep=False).get("task") == "auto":
        return clone(selector).set_params(task=kind)
    return selector


def _seed(random_state: Any) -> int:
    if random_state is None:
        return 0
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def _plan(study: Study, splits: Sequence[Split], n_paths: int) -> WorkPlan:
    n_inner = 3
    if not isinstance(study.inner_cv, int | np.integer):
        n_inner = int(study.inner_cv.get_n_splits(np.zeros(len(study.y)), study.y, study.groups))
    else:
        n_inner = int(study.inner_cv)
    tuning = n_tuning_fits(study, n_inner)
    n = max(len(train) for train, _ in splits)
    one = 8 * n * n if n <= LARGE_ROWS else 8 * n * 500
    return WorkPlan(
        n_rows=study.rows.n_rows,
        n_columns=study.rows.table.shape[1],
        n_folds=len(splits),
        n_sizes=len(study.sizes),
        n_traces=n_paths * len(splits) * (1 + (n_inner if tuning else 0)),
        n_tuning_fits=n_paths * len(splits) * tuning,
        n_fits=n_paths * len(splits) * len(study.sizes),
        n_candidates=n_candidates(study),
        n_paths=n_paths,
        memory=4 * one + min(len(study.sizes) * one, study.memory_limit),
    )


def _baseline_studies(study: Study, baselines: Any) -> dict[str, Study]:
    """Studies of other rankings, on the table as numbers for those known by name."""
    if not baselines:
        return {}
    if isinstance(baselines, str):
        baselines = (baselines,)
    studies = {}
    for name in baselines:
        ranker = baselines[name] if isinstance(baselines, dict) else name
        if isinstance(ranker, str):
            if ranker not in BASELINES:
                known = ", ".join(repr(known) for known in BASELINES)
                raise ValueError(
                    f"baselines must be among {known}, or a dict of name to selector, "
                    f"got {ranker!r}"
                )
            ranker = Baseline(ranker, study.task.kind, study.seed)
            studies[str(name)] = replace(study, selector=ranker, numbers_only=True)
        else:
            check_selector(ranker)
            studies[str(name)] = replace(study, selector=_with_task(ranker, study.task.kind))
    return studies


# -- run -------------------------------------------------------------------------------------------


def run(model: PathCV, setup: Setup, store: FoldStore) -> dict[str, list[FoldResult]]:
    """Folds of the path, under the name "", and of the baselines."""
    results = {}
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
    where = f" from {store.folder}" if store.folder is not None else ""
    return (
        f"{done} of {len(setup.splits)} folds are finished (see scores_); calling fit again with "
        f"the same data goes on{where}."
    )


# -- one size --------------------------------------------------------------------------------------


def model_at(setup: Setup, k: int) -> tuple[Any, Choice]:
    """Fit on all rows at one size; predictor and settings are chosen for that size."""
    study = replace(setup.study, sizes=np.array([k]))
    rows = np.arange(study.rows.n_rows)
    if setup.part.traced.nearest(k) == 0:
        return constant_model(setup.part, None)[1], Choice(-1, {}, float("nan"))
    choice = tune(study, rows)[k]
    predictor = study.predictors[choice.predictor]
    ((_, _, _, maker),) = predictor.models(setup.part, [(k, [choice.setting])], None)
    machine = maker.machine()
    if hasattr(machine, "head"):
        return KernelModel(machine, study.task), choice
    return machine, choice


def checked_size(n_features: Any, n_columns: int) -> int:
    """Return a number of features that a user asked for, or say what is wrong with it."""
    if isinstance(n_features, bool) or not isinstance(n_features, int | np.integer):
        raise TypeError(f"n_features must be a whole number, got {n_features!r}")
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
    return FullPoint(point.support, point.weights, point.parameter, point.names)


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
        predictor=model._models[k].name,
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
        setup = model._setup
        some = {name: names[name] for name in missing} if isinstance(names, dict) else missing
        for name, study in _baseline_studies(setup.study, some).items():
            plan = _plan(study, setup.splits, 1)
            folds = run_folds(
                study, setup.splits, setup.fingerprint, FoldStore(model.memory),
                Meter(plan.total, model.verbose), n_jobs=model.n_jobs, label=f"{name}, ",
            )  # fmt: skip
            known[name] = collect(study, folds, setup.scoring, model.n_features_in_)
        model.baseline_scores_ = known
    return {str(name): known[str(name)] for name in names}


def nested_score(model: PathCV, setup: Setup, store: FoldStore) -> NestedScore:
    """Run the whole procedure on the training rows of every fold, and score on its test rows."""
    study = setup.study
    scores, sizes = [], []
    for number, (train, test) in enumerate(setup.splits):
        setup.meter.say(f"PathCV: outer loop, fold {number + 1} of {len(setup.splits)}")
        inner = clone(model).set_params(
            nested=False, baselines=(), verbose=0, task=study.task.kind, selector=study.selector
        )
        params = {name: _rows_of(value, train) for name, value in _shared(setup).items()}
        part = study.rows.take(train)
        inner.fit(part.X, study.y[train], **params)
        held_out = study.rows.take(test)
        scores.append(study.score(inner, test, held_out.X))
        sizes.append(inner.operating_point_.n_features)
    return NestedScore(scores, sizes, scoring=setup.scoring)


def _shared(setup: Setup) -> dict[str, Any]:
    given = {"groups": setup.study.groups, "sample_weight": setup.study.sample_weight}
    for step in setup.study.metadata.values():
        given.update(step)
    return {name: value for name, value in given.items() if value is not None}


def _rows_of(values: Any, rows: NDArray[np.intp]) -> Any:
    return np.asarray(values)[rows]
