"""The first step of PathCV.fit: refuse what can be refused, trace all rows, plan the work.

What is of no concern to PathCV alone has its home where others find it: folds in
:mod:`kernelpath.evaluation.splits`, the measure in :mod:`kernelpath.evaluation.measures`,
predictors in :mod:`kernelpath.predictors.choice`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.utils import _safe_indexing

from kernelpath.errors import DataError, Obstacles, naming
from kernelpath.estimators._base import PathSelector, require_target
from kernelpath.estimators._path_cv_constraints import (
    full_costs,
    say_if_costs_only_count,
    settings_in_force,
    sizes_that_exist,
    tell,
)
from kernelpath.estimators._path_cv_contest import checked_chooser, with_missing, with_the_best
from kernelpath.estimators._path_cv_grid import settings_of_grid, with_variants
from kernelpath.estimators._path_cv_routing import route
from kernelpath.estimators._path_cv_target import (
    check_target,
    refuse_by_name,
    selector_task,
    with_task,
)
from kernelpath.estimators._ranking import ranking_of
from kernelpath.estimators.lp_kta import LpKTASelector
from kernelpath.estimators.rankers import warn_of_columns
from kernelpath.estimators.saved_settings import refuse_stand_ins
from kernelpath.evaluation.checkpoint import FoldStore, Tracer
from kernelpath.evaluation.cross_validation import CrossValidation, make_plan
from kernelpath.evaluation.folds import check_scoring_works
from kernelpath.evaluation.measures import (
    check_measurable,
    check_response,
    resolve_class_weight,
    resolve_scorer,
    say_how_classes_count,
    takes_weights,
)
from kernelpath.evaluation.operating_point import check_rule
from kernelpath.evaluation.references import check_references, make_references
from kernelpath.evaluation.splits import (
    check_group_length,
    check_inner,
    check_nested,
    fewer_rows,
    folds_of_rest,
    make_splits,
    not_alone,
    warn_of_rare_classes,
)
from kernelpath.evaluation.study import Copies, Split, Study, inner_of, unit_of_scores
from kernelpath.evaluation.tuning import n_candidates
from kernelpath.evaluation.work_plan import WorkMeter
from kernelpath.predictors.choice import is_own, resolve_predictors
from kernelpath.predictors.svm import Task
from kernelpath.tables import IDENTIFIERS
from kernelpath.tables.any_target import as_any_target, encode_any, row_codes, taken
from kernelpath.tables.constraints import Constraints
from kernelpath.tables.encoding import TableEncoder
from kernelpath.tables.missing import (
    Imputer,
    LeftOut,
    check_missing,
    missing_targets,
    refuse_unusable,
    rows_to_keep,
    weights_of,
)
from kernelpath.tables.reading import any_target, read_training
from kernelpath.tables.table import Table, bytes_of, columns_with_holes, unmasked
from kernelpath.tables.targets import (
    check_lengths,
    check_sample_weight,
    refuse_weightless,
)
from kernelpath.tracers.any_selector import (
    BASELINES,
    Baseline,
    check_selector,
    describe,
    nearest_to_grid,
)
from kernelpath.utils import checks
from kernelpath.utils.checks import Idle, refuse_idle
from kernelpath.utils.progress import begin
from kernelpath.utils.provenance import fingerprint
from kernelpath.utils.sample_weights import weight_argument
from kernelpath.utils.warn import warn
from kernelpath.utils.words import counted

if TYPE_CHECKING:
    from kernelpath.estimators.path_cv import PathCV

FEWEST_SAMPLED = 1000  # rows: fewer would say little of a table that has more


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
    selector = default_selector(model) if model.selector is None else model.selector
    check_selector(selector)
    refuse_without_p_values(model.rule, selector)
    checks.real("level", model.level, above=0, below=1)
    chooser = checked_chooser(selector, model.selector_grid)
    grid = settings_of_grid(selector, model.selector_grid)
    given = settings_in_force(model, selector)
    check_rule(model.rule, model.budget, model.tolerance, costly=given["costs"] is not None)
    check_switches(model)
    refuse_idle(model, IDLE)
    resolve_predictors(model.predictor, model.selector)  # refuses what cannot predict
    require_target(model, y)
    kept = "keep" in (model.identifiers, getattr(selector, "identifiers", None))
    rows = read_training(model, X, "keep" if kept else "drop", given).within_reach()
    constraints = Constraints.read(rows, **given)
    reach = None if constraints is None else constraints.within(model.budget)
    selector, obeys = (selector, True) if chooser else tell(selector, given, reach)
    selector = with_missing(selector, model.missing)
    _refuse_obstacles(model, selector, rows, y)
    study, splits, scoring = _make_study(model, selector, rows, y, groups, sample_weight, params)
    study = replace(study, constraints=constraints, reach=reach, obeys=obeys, constrained_by=given)
    study = with_variants(study, grid)
    _check_choice(study, model, splits)
    rows = study.rows
    encoder = replace(TableEncoder.of(rows), holes=columns_with_holes(rows.values))
    if model.missing == "impute" and is_own(model.predictor):
        encoder = replace(encoder, fill=Imputer.fit(rows.in_own_units()).fill)
    check_baselines(study, model.baselines)
    store, known = open_store(), fingerprint(rows.values, study.y)
    contest = None
    if chooser is not None:
        study, contest = with_the_best(chooser, study, splits, model, known, store, scoring)
    tracing = Tracer(store, study, known, report=True)
    part = replace(study.part(np.arange(rows.n_rows), tracing=tracing), task=study.task)
    sizes = _resolve_sizes(model.n_features, part.traced.sizes, rows.n_rows)
    sizes = sizes_that_exist(sizes, part.traced, constraints)
    costs = full_costs(constraints, part.traced, sizes)
    say_if_costs_only_count(selector, constraints, part.traced)
    _check_budget(model.budget, sizes, costs)
    study = replace(study, sizes=sizes)
    baselines = baseline_studies(study, model.baselines, model.n_features)
    references = make_references(study, splits, model.references)
    plan = make_plan(study, splits, 1 + len(baselines), references)
    plan = replace(plan, nested=bool(model.nested))
    meter = WorkMeter(plan.total, model.verbose, callback=begin("cross-validation", str(plan)))
    meter.say(str(plan))
    names = rows.names
    if names is None and getattr(model, "feature_names_in_", None) is not None:
        names = model.feature_names_in_
    return CrossValidation(
        study=study,
        splits=splits,
        part=part,
        path=part.traced.as_path(sizes, names, describe(study.selector)),
        encoder=encoder,
        plan=plan,
        meter=meter,
        scoring=scoring,
        fingerprint=known,
        baselines=baselines,
        store=store,
        n_jobs=model.n_jobs,
        costs=costs,
        references=references,
        contest=contest,
        chooser=chooser,
    )


def _check_budget(budget: Any, sizes: NDArray, costs: NDArray | None) -> None:
    """Refuse a budget that no size is within."""
    if budget is None:
        return
    least, what = sizes[0], f"the smallest size to score has {counted(sizes[0], 'feature')}"
    if costs is not None:
        least, what = costs.min(), f"the cheapest size to score costs {costs.min():g}"
    if budget < least:
        text = f"budget={budget}, but {what}."
        raise naming(DataError(text), "budget")


def _refuse_obstacles(model: PathCV, selector: Any, rows: Table, y: Any) -> None:
    """Refuse what is wrong with table and target, all of it in one sentence."""
    found = Obstacles()
    if is_own(model.predictor) or model.missing == "error":
        with found.noting():
            refuse_unusable(rows, model.missing)
    if isinstance(selector, PathSelector):
        with found.noting():
            selector._check_kernel(rows)
    if found.found:
        with found.noting():
            known = any_target(y)
            encode_any(known[~missing_targets(known)], task=model.task)
    found.refuse()


def check_switches(model: Any) -> None:
    """Refuse settings of the wrong type before any work is done."""
    checks.flag("probability", model.probability)
    checks.flag("nested", model.nested)
    if model.max_train_rows is not None:
        checks.whole("max_train_rows", model.max_train_rows, at_least=FEWEST_SAMPLED)
    check_references(model.references)
    check_missing(model.missing)
    checks.one_of("identifiers", model.identifiers, IDENTIFIERS)
    checks.whole("verbose", model.verbose, bools=True)
    check_jobs_and_memory(model)


def check_jobs_and_memory(model: Any) -> None:
    """Refuse what is no number of jobs, and what is no folder."""
    if model.n_jobs is not None and not (checks.is_whole(model.n_jobs) and model.n_jobs != 0):
        raise ValueError(
            f"n_jobs must be None or a whole number other than 0, got {model.n_jobs!r}"
        )
    if model.memory is not None and not isinstance(model.memory, str | os.PathLike):
        raise ValueError(f"memory must be None or the path of a folder, got {model.memory!r}")


def _foreign(model: Any) -> bool:
    return not is_own(model.predictor)


def default_selector(model: PathCV) -> LpKTASelector:
    """What traces the path where nothing was given; the rule "fdr" needs p-values."""
    if model.rule == "fdr":
        return LpKTASelector(statistic="calibrated")
    return LpKTASelector()


def refuse_without_p_values(rule: Any, selector: Any) -> None:
    """Refuse a rule that counts discoveries for a path that will know none."""
    if rule != "fdr":
        return
    if not (isinstance(selector, LpKTASelector) and ranking_of(selector).tested):
        error = ValueError(
            "rule='fdr' counts features by their p-values, which this selector does not give; use "
            "LpKTASelector(statistic='calibrated')"
        )
        raise naming(error, "rule")


IDLE = (
    Idle("level", lambda own: own.rule != "fdr", "without rule='fdr'"),
    Idle("tolerance", lambda own: own.rule != "tolerance", "without rule='tolerance'"),
    Idle("budget", lambda own: callable(own.rule), "on a rule that is a function, which chooses"),
    Idle("probability", _foreign, "on a predictor of your own: set it there"),
)  # fmt: skip


# -- what all folds share --------------------------------------------------------------------------


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
    own = is_own(model.predictor)
    given = Given(rows, any_target(y), unmasked(groups, "groups"), sample_weight, model.cv, params)
    kept = rows_to_keep(rows, given.y, model.missing) if len(given.y) == rows.n_rows else None
    left_out = LeftOut()
    if kept is not None:
        given, left_out = given.take(kept.rows), kept.left_out
    given = replace(given, y=as_any_target(given.y, model.task))
    check_lengths(given.rows.n_rows, given.y)
    routed = route(model, given.groups, given.sample_weight, given.params)
    routing = bool(get_config().get("enable_metadata_routing"))
    n_rows = given.rows.n_rows
    given = given.that_count(drop=not routing)
    left_out += LeftOut(no_weight=n_rows - given.rows.n_rows)
    rows, y, groups = given.rows, given.y, given.groups
    sample_weight, cv = given.sample_weight, given.cv
    kind, classes, y = check_target(model, y, sample_weight, own)
    if kind == "classification" and groups is None and (some := not_alone(y, cv)) is not None:
        left_out += LeftOut(alone=len(y) - len(some))
        given = replace(given, y=y).take(some)
        rows, y, sample_weight, cv = given.rows, given.y, given.sample_weight, given.cv
        routed = route(model, groups, sample_weight, given.params)
        classes = np.unique(y)
    scorer, scoring = resolve_scorer(model.scoring, kind, y if own else None)
    check_response(model.predictor, scorer, model.probability, own)
    seed = checks.seed_of(model.random_state)
    _check_sizes(model.n_features, rows.shape[1])
    splits = make_splits(cv, y, kind, groups, seed, routed.get("splitter", {}))
    check_measurable(splits, scoring)
    if model.nested:
        check_nested(model.cv, y, kind, groups, seed, splits)
    splits = _with_fewer_rows(splits, y, kind, model.max_train_rows, seed)
    class_weight = resolve_class_weight(model.class_weight, model.scoring, y, kind)
    study = Study(
        rows=rows,
        y=y,
        task=Task(kind, classes, class_weight, bool(model.probability)),
        selector=with_task(selector, selector_task(kind, model.task)),
        predictors=resolve_predictors(model.predictor, model.selector, rows.n_rows),
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
        copies=Copies.of(rows.values, row_codes(y), sample_weight is not None),
        weigh_scores=not routing and takes_weights(scorer),
        imputes=own and model.missing == "impute" and bool(columns_with_holes(rows.values).any()),
        left_out=left_out,
    )
    if sample_weight is not None:
        _say_who_goes_without_weights(study, model, selector, scoring)
    check_scoring_works(study, splits, scoring)
    if kind == "classification":
        warn_of_rare_classes(cv, y, splits)
        if own:
            say_how_classes_count(model.scoring, y, kind, class_weight)
    return study, splits, scoring


def _with_fewer_rows(
    splits: list[Split], y: NDArray, kind: str, most: int | None, seed: int
) -> list[Split]:
    """Folds with at most so many rows to learn from, which is said."""
    fewer = fewer_rows(splits, y if kind == "classification" else None, most, seed)
    before, now = (max(len(train) for train, _ in some) for some in (splits, fewer))
    if now < before:
        text = (
            f"Scores are those of models that learn from {now:,} of the {before:,} rows of a fold; "
            "the final model learns from all. max_train_rows sets another number."
        )
        warn(naming(UserWarning(text), "max_train_rows"))
    return fewer


@dataclass(frozen=True)
class Given:
    """What a fit is given for every row, and the folds of these rows."""

    rows: Table
    y: Any
    groups: Any
    sample_weight: Any
    cv: Any
    params: dict[str, Any]

    def take(self, kept: NDArray[np.intp]) -> Given:
        """The same for some rows."""
        check_group_length(self.groups, self.rows.n_rows)
        return Given(
            self.rows.take(kept),
            taken(self.y, kept),
            None if self.groups is None else _safe_indexing(self.groups, kept),
            weights_of(self.sample_weight, kept, self.rows.n_rows),
            folds_of_rest(self.cv, kept, self.rows.n_rows),
            {name: _safe_indexing(value, kept) for name, value in self.params.items()},
        )

    def that_count(self, *, drop: bool) -> Given:
        """The same with weights that are checked, without rows of weight 0: they are not there."""
        if self.sample_weight is None:
            return self
        checked = replace(
            self, sample_weight=check_sample_weight(self.sample_weight, self.rows.n_rows)
        )
        kept = np.flatnonzero(checked.sample_weight > 0)
        refuse_weightless(checked.y, checked.sample_weight)
        return checked.take(kept) if drop and len(kept) < self.rows.n_rows else checked


def _say_who_goes_without_weights(study: Study, model: PathCV, selector: Any, scoring: str) -> None:
    if not (study.routed or study.weigh_scores):
        warn(
            f"The scoring {scoring} takes no sample_weight: every held-out row counts once in it.",
        )
    _warn_of_weights("selector", selector)
    if not is_own(model.predictor):
        _warn_of_weights("predictor", model.predictor)


def _warn_of_weights(role: str, one: Any) -> None:
    """Say who will not see the sample weights; with metadata routing the user has said it."""
    if get_config().get("enable_metadata_routing") or weight_argument(one) is not None:
        return
    warn(
        f"The {role} {describe(one)} takes no sample_weight and is fitted without it.",
    )


def _check_choice(study: Study, model: PathCV, splits: list[Split]) -> None:
    """Inner folds are there to choose predictor and settings, and are refused where none are."""
    if n_candidates(study) > 1 or study.variants:
        check_inner(study, splits)
    elif n_candidates(study) == 1 and model.inner_cv is not None:
        raise ValueError(
            f"inner_cv={model.inner_cv!r} has no effect with a predictor that leaves nothing to "
            "choose; leave it out"
        )


# -- sizes -----------------------------------------------------------------------------------------


def _check_sizes(n_features: Any, n_columns: int) -> None:
    """Refuse numbers of features that the table does not have."""
    if n_features is None:
        return
    given = np.atleast_1d(np.asarray(unmasked(n_features, "n_features"), dtype=object)).tolist()
    for k in given:
        if not checks.is_whole(k):
            raise ValueError(
                f"n_features must be whole numbers of features, got {k!r} in {n_features!r}"
            )
        if not 1 <= int(k) <= n_columns:
            raise DataError(f"n_features must lie between 1 and {n_columns} columns, got {k}.")
    if not given:
        raise ValueError("n_features is empty; give at least one number of features, or None")


def _resolve_sizes(n_features: Any, available: NDArray[np.int64], n_rows: int) -> NDArray:
    """Numbers of features to score, increasing."""
    if n_features is None:
        if len(available) == 0:
            raise DataError("The selector chose no feature at any size; there is nothing to score.")
        return nearest_to_grid(available, n_rows)
    sizes = np.unique(np.atleast_1d(np.asarray(n_features, dtype=np.int64)))
    most = int(available[-1]) if len(available) else 0
    if sizes[-1] > most > 0:
        fewer = UserWarning(
            f"n_features goes up to {sizes[-1]}, but only {counted(most, 'column')} can be "
            "selected: the others are constant or were not ranked. Larger sizes are taken as "
            f"{most}.",
        )
        warn(naming(fewer, "n_features"))
        sizes = np.unique(np.minimum(sizes, most))
    return sizes


# -- baselines -------------------------------------------------------------------------------------


def check_baselines(study: Study, baselines: Any) -> None:
    """Refuse names that are not known or cannot serve the task, and what is no selector."""
    for ranker in _by_name(baselines).values():
        if not isinstance(ranker, str):
            check_selector(ranker)
            tell(ranker, study.constrained_by, study.reach)
            continue
        refuse_by_name(study.task.kind, ranker)
        if ranker not in BASELINES:
            _entry(study, ranker)


def baseline_studies(study: Study, baselines: Any, n_features: Any) -> dict[str, Study]:
    """Studies of other methods; says which of them will not see all there is to see.

    ``n_features`` is the setting: where it is None, NMMKL chooses for as many sizes at most as in
    a comparison.
    """
    check_baselines(study, baselines)
    studies, task = {}, selector_task(study.task.kind, "auto")
    for name, ranker in _by_name(baselines).items():
        numbers_only = isinstance(ranker, str) and ranker in BASELINES
        if not isinstance(ranker, str):
            own = with_task(ranker, task)
        elif numbers_only:
            own = Baseline(ranker, task, study.seed)
        else:
            own = _named(study, ranker, n_features, task)
        own, obeys = tell(own, study.constrained_by, study.reach)
        studies[name] = replace(
            study, selector=own, numbers_only=numbers_only, obeys=obeys, variants=()
        )
    for one in studies.values():
        if study.sample_weight is not None:
            _warn_of_weights("baseline", one.selector)
    return studies


def _by_name(baselines: Any) -> dict[str, Any]:
    """Names and selectors by the name that scores will have."""
    if not baselines:
        return {}
    if isinstance(baselines, dict):
        return {str(name): ranker for name, ranker in baselines.items()}
    return {str(one): one for one in ((baselines,) if isinstance(baselines, str) else baselines)}


def _entry(study: Study, name: str) -> Any:
    """Entry of the catalogue, if it can serve the task."""
    from kernelpath import catalogue  # which makes selectors of this package

    entry = catalogue.method(name, "each of baselines")
    n_classes = 0 if study.task.classes is None else len(study.task.classes)
    rows = study.rows
    catalogue.refuse(
        [entry],
        selector_task(study.task.kind, "auto"),
        n_classes,
        rows.n_rows,
        setting="baselines",
        table=rows,
    )
    return entry


def _named(study: Study, name: str, n_features: Any, task: str) -> Any:
    """Selector of a method that is known by its name."""
    from kernelpath.catalogue import MOST_BUDGETS

    entry, sizes = _entry(study, name), study.sizes.tolist()
    if entry.kind == "choice" and n_features is None and sizes[-1] > MOST_BUDGETS:
        sizes = [k for k in sizes if k <= MOST_BUDGETS] or [MOST_BUDGETS]
        fewer = UserWarning(
            f"The baseline {name} chooses up to {sizes[-1]} features, and larger sizes are scored "
            "as that; n_features names others."
        )
        warn(naming(fewer, "n_features"))
    if entry.name == "l1kr":
        warn_of_columns(study.rows.shape[1])
    kernel = "auto" if study.rows.categorical.any() else "rbf"
    return entry.compared_selector(task, sizes, kernel=kernel, seed=study.seed)
