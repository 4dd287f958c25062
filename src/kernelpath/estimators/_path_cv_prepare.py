"""The first step of PathCV.fit: check everything, trace the path of all rows, plan the work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import clone
from sklearn.utils import _safe_indexing, check_random_state

from kernelpath.errors import DataError, not_one_of
from kernelpath.estimators import _path_cv_setup as setup_checks
from kernelpath.estimators._idle import refuse_idle
from kernelpath.estimators._path_cv_routing import route
from kernelpath.estimators.lp_kta import LpKTASelector
from kernelpath.estimators.saved_settings import refuse_stand_ins
from kernelpath.evaluation.checkpoint import FoldStore, Tracer
from kernelpath.evaluation.cross_validation import CrossValidation, make_plan
from kernelpath.evaluation.folds import check_scoring_works
from kernelpath.evaluation.operating_point import check_rule
from kernelpath.evaluation.study import Copies, Split, Study, inner_of, unit_of_scores
from kernelpath.evaluation.tuning import n_candidates
from kernelpath.evaluation.work_plan import WorkMeter
from kernelpath.predictors.libsvm import Task
from kernelpath.predictors.models import check_response
from kernelpath.tables.encoding import TableEncoder
from kernelpath.tables.reading import one_column, read_training
from kernelpath.tables.table import Table, bytes_of, check_finite, unmasked
from kernelpath.tables.targets import as_vector, check_sample_weight
from kernelpath.tracers.any_selector import BASELINES, Baseline, check_selector, describe
from kernelpath.utils.progress import begin
from kernelpath.utils.provenance import fingerprint

if TYPE_CHECKING:
    from kernelpath.estimators.path_cv import PathCV


def prepare(
    model: PathCV,
    X: Any,
    y: Any,
    groups: Any,
    sample_weight: Any,
    params: dict[str, Any],
    open_store: Callable[[], FoldStore],
) -> CrossValidation:
    """Check everything that can be checked, trace the path of all rows, and plan the work.

    The store of finished work is opened once nothing is left to refuse that is cheap to see.
    """
    refuse_stand_ins(model)
    selector = LpKTASelector() if model.selector is None else model.selector
    check_rule(model.rule, model.budget, model.tolerance)
    setup_checks.check_switches(model)
    refuse_idle(model, setup_checks.IDLE)
    check_selector(selector)
    setup_checks.resolve_predictors(model.predictor, model.selector)  # refuses what cannot predict
    if y is None:
        raise ValueError("This PathCV estimator requires y to be passed, but the target y is None.")
    rows = read_training(model, X).within_reach()
    encoder = TableEncoder.of(rows)
    study, splits, scoring = _make_study(model, selector, rows, y, groups, sample_weight, params)
    rows = study.rows
    baseline_studies(study, model.baselines)  # refuses unknown names before the first trace
    store, known = open_store(), fingerprint(rows.values, study.y)
    tracing = Tracer(store, study, known, report=True)
    part = replace(study.part(np.arange(rows.n_rows), tracing=tracing), task=study.task)
    sizes = setup_checks.resolve_sizes(model.n_features, part.traced.sizes)
    if model.budget is not None and model.budget < sizes[0]:
        raise DataError(
            f"budget={model.budget}, but the smallest size to score has {sizes[0]} features."
        )
    study = replace(study, sizes=sizes)
    baselines = baseline_studies(study, model.baselines)
    warn_of_baselines(baselines)
    plan = replace(make_plan(study, splits, 1 + len(baselines)), nested=bool(model.nested))
    meter = WorkMeter(plan.total, model.verbose, callback=begin("cross-validation"))
    meter.say(str(plan))
    names = rows.names
    if names is None and getattr(model, "feature_names_in_", None) is not None:
        names = model.feature_names_in_
    return CrossValidation(
        study=study,
        splits=splits,
        part=part,
        path=part.traced.as_path(sizes, names, describe(selector)),
        encoder=encoder,
        plan=plan,
        meter=meter,
        scoring=scoring,
        fingerprint=known,
        baselines=baselines,
        store=store,
        n_jobs=model.n_jobs,
    )


def _make_study(
    model: PathCV,
    selector: Any,
    rows: Table,
    y: Any,
    groups: Any,
    sample_weight: Any,
    params: dict[str, Any],
) -> tuple[Study, list[Split], str]:
    """What all folds share, the folds, and the name of the measure; all of it checked."""
    own = setup_checks.is_own(model.predictor)
    groups = unmasked(groups, "groups")
    y = as_vector(one_column(y))
    if len(y) != rows.n_rows:
        raise DataError(f"X has {rows.n_rows} rows, but y has {len(y)} values.")
    routed = route(model, groups, sample_weight, params)
    cv, routing = model.cv, bool(get_config().get("enable_metadata_routing"))
    if sample_weight is not None:
        sample_weight = check_sample_weight(sample_weight, rows.n_rows)
        if not routing:
            rows, y, groups, sample_weight, cv = _rows_that_count(
                rows, y, groups, sample_weight, cv
            )
    kind, classes, y = _check_target(model, y, sample_weight, own)
    scorer, scoring = setup_checks.resolve_scorer(model.scoring, kind)
    check_response(model.predictor, scorer, model.probability, own)
    if own:
        check_finite(rows)
    seed = _seed(model.random_state)
    setup_checks.check_sizes(model.n_features, rows.shape[1])
    splits = setup_checks.make_splits(cv, y, kind, groups, seed, routed.get("splitter", {}))
    setup_checks.check_measurable(splits, scoring)
    if model.nested:
        _check_nested(model, y, kind, groups, seed, splits)
    study = Study(
        rows=rows,
        y=y,
        task=Task(kind, classes, model.class_weight, bool(model.probability)),
        selector=_with_task(selector, kind),
        predictors=setup_checks.resolve_predictors(model.predictor, model.selector),
        scorer=scorer,
        sizes=np.ones(1, dtype=np.int64),
        sample_weight=sample_weight,
        groups=groups,
        inner_cv=inner_of(model.cv, model.inner_cv),
        memory_limit=bytes_of(model.memory_limit),
        seed=seed,
        metadata=routed,
        routed=routing,
        unit=unit_of_scores(y, scorer, own) if kind == "regression" else 0,
        copies=Copies.of(rows.values, y, sample_weight is not None),
        weigh_scores=not routing and setup_checks.takes_weights(scorer),
    )
    if sample_weight is not None:
        _say_who_goes_without_weights(study, model, selector, scoring)
    _check_choice(study, model, splits)
    check_scoring_works(study, splits)
    if kind == "classification":
        setup_checks.warn_of_rare_classes(cv, y, splits)
    return study, splits, scoring


def _rows_that_count(
    rows: Table, y: NDArray, groups: Any, sample_weight: NDArray[np.float64], cv: Any
) -> tuple[Table, NDArray, Any, NDArray[np.float64], Any]:
    """Table, target, groups, weights and folds without the rows of weight 0: they are not there."""
    kept = np.flatnonzero(sample_weight > 0)
    if len(kept) == rows.n_rows:
        return rows, y, groups, sample_weight, cv
    cv = setup_checks.folds_of_rest(cv, kept, rows.n_rows)
    groups = None if groups is None else _safe_indexing(groups, kept)
    return rows.take(kept), y[kept], groups, sample_weight[kept], cv


def _check_target(
    model: PathCV, y: NDArray, sample_weight: Any, own: bool
) -> tuple[str, NDArray | None, NDArray]:
    """Task, classes and target; settings that are for classes need some."""
    kind = setup_checks.task_of(y, model.task, model.predictor)
    classes = setup_checks.checked_target(y, kind, sample_weight)
    if kind == "regression":
        y = y.astype(np.float64)
    else:
        setup_checks.check_labels(y)
    if model.probability and kind == "regression":
        raise ValueError(
            "probability=True has no effect on a continuous target, which has no classes; leave it "
            "out"
        )
    setup_checks.check_class_weight(model.class_weight, classes, own)
    return kind, classes, y


def _say_who_goes_without_weights(study: Study, model: PathCV, selector: Any, scoring: str) -> None:
    if not (study.routed or study.weigh_scores):
        setup_checks.warn_of_unweighted(scoring)
    setup_checks.warn_of_weights("selector", selector)
    if not setup_checks.is_own(model.predictor):
        setup_checks.warn_of_weights("predictor", model.predictor)


def _check_choice(study: Study, model: PathCV, splits: list[Split]) -> None:
    """Inner folds are there to choose predictor and settings, and are refused where none are."""
    if n_candidates(study) > 1:
        setup_checks.check_inner(study, splits)
    elif n_candidates(study) == 1 and model.inner_cv is not None:
        raise ValueError(
            f"inner_cv={model.inner_cv!r} has no effect with a predictor that leaves nothing to "
            "choose; leave it out"
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
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    return int(check_random_state(random_state).randint(2**31 - 1))


def baseline_studies(study: Study, baselines: Any) -> dict[str, Study]:
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
                raise not_one_of("baselines", ranker, BASELINES, "a dict of name to selector")
            ranker = Baseline(ranker, study.task.kind, study.seed)
            studies[str(name)] = replace(study, selector=ranker, numbers_only=True)
        else:
            check_selector(ranker)
            studies[str(name)] = replace(study, selector=_with_task(ranker, study.task.kind))
    return studies


def warn_of_baselines(studies: dict[str, Study]) -> None:
    """Say which of them will not see the sample weights."""
    for study in studies.values():
        if study.sample_weight is not None:
            setup_checks.warn_of_weights("baseline", study.selector)
