"""What PathCV does with a selector that chooses among others: a contest on its folds."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sklearn.base import clone

from kernelpath.errors import DataError
from kernelpath.estimators._path_cv_constraints import tell
from kernelpath.estimators._path_cv_target import selector_task, with_task
from kernelpath.evaluation.checkpoint import FoldStore
from kernelpath.evaluation.contest import AREA_SIZES, Contest, hold_contest
from kernelpath.evaluation.study import Split, Study
from kernelpath.evaluation.work_plan import WorkMeter
from kernelpath.utils.progress import begin, no_progress

if TYPE_CHECKING:
    from kernelpath.estimators.path_cv import PathCV


def checked_chooser(selector: Any, grid: Any) -> Any:
    """The selector, if it chooses among others; its settings are checked."""
    if not getattr(selector, "chooses", False):
        return None
    if grid is not None:
        raise ValueError(
            f"selector_grid has no effect on {type(selector).__name__}, whose candidates have "
            "settings of their own; leave it out, or give it selectors as candidates"
        )
    selector._check_settings()
    return selector


def with_the_best(
    chooser: Any,
    study: Study,
    splits: list[Split],
    model: PathCV,
    known: str,
    store: FoldStore,
    scoring: str,
) -> tuple[Study, Contest | None]:
    """The study with the best of several selectors, by their scores on the folds."""
    given = chooser.candidates_for(study.rows.n_rows, study.sample_weight is not None)
    task = selector_task(study.task.kind, model.task)
    candidates, obeys, refused = {}, {}, {}
    for name, one in given.items():
        try:
            told, obeys[name] = tell(one, study.constrained_by, study.reach)
        except DataError as error:
            refused[name] = error
            continue
        candidates[name] = with_task(with_missing(told, model.missing), task)
    if not candidates:
        raise next(iter(refused.values()))
    contest = None
    name = next(iter(candidates))
    if len(candidates) > 1:
        total = len(candidates) * len(splits) * len(AREA_SIZES)
        meter = WorkMeter(total, model.verbose, callback=begin("choosing a path"))
        with no_progress():
            contest = hold_contest(
                study, candidates, obeys, splits, known, store, meter, scoring, model.n_jobs
            )
        name = contest.name
        meter.say(f"PathCV: {contest.sentence()}")
    return replace(study, selector=candidates[name], obeys=obeys[name]), contest


def with_missing(selector: Any, missing: str) -> Any:
    """Say to a selector what becomes of missing values, unless it was told itself."""
    if missing in ("kernel", "drop") or not hasattr(selector, "get_params"):
        return selector
    if selector.get_params(deep=False).get("missing") != "kernel":
        return selector
    return clone(selector).set_params(missing=missing)
