"""Working through the folds, one after the other or in parallel, without losing anything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from kernelpath.evaluation.checkpoint import FoldStore, Tracer, fold_keys
from kernelpath.evaluation.folds import FoldResult, evaluate_fold
from kernelpath.evaluation.scores import PathScores
from kernelpath.evaluation.selector_choice import Chosen, choose_variant, variants_of
from kernelpath.evaluation.study import Split, Study
from kernelpath.evaluation.tuning import n_tuning_fits
from kernelpath.evaluation.work_plan import WorkMeter
from kernelpath.utils.threads import one_thread_up_to

ONE_THREAD_ROWS = 2500


def run_folds(
    study: Study,
    splits: Sequence[Split],
    fingerprint: str,
    store: FoldStore,
    meter: WorkMeter,
    *,
    n_jobs: int | None = None,
    label: str = "",
) -> list[FoldResult]:
    """Evaluate every fold; what is finished stays in ``store`` whatever happens.

    Where the selector has variants, one is chosen in every fold first; ``store.chosen`` then says
    which, by the name of the work.
    """
    keys = fold_keys(study, fingerprint, splits)
    for key in keys:
        known = store.get(key, study)
        if known is not None:
            store.results[key] = known
            meter.skip(_done(study, known))
    if effective_n_jobs(n_jobs) == 1:
        with one_thread_up_to(ONE_THREAD_ROWS, study.rows.n_rows):
            for number, (key, split) in enumerate(zip(keys, splits)):
                where = f"{label}fold {number + 1}"
                _in_turn(study, number, split, key, fingerprint, store, meter, where)
    else:
        _at_once(study, splits, keys, fingerprint, store, meter, n_jobs, label)
    return [store.results[store.work_of(key)] for key in keys]


def n_known(study: Study, splits: Sequence[Split], fingerprint: str, store: FoldStore) -> int:
    """Models that an earlier run has fitted."""
    count = 0
    for one in variants_of(study) if study.variants else [study]:
        found = [store.get(key, one) for key in fold_keys(one, fingerprint, splits)]
        count += sum(_done(one, result) for result in found if result is not None)
    return count


def _done(study: Study, result: FoldResult) -> int:
    """Models that need not be fitted again."""
    fits = int(np.count_nonzero(~np.isnan(result.scores)) + result.inner.known.sum())
    return fits + (0 if result.tuned is None else n_tuning_fits(study, n_inner(study)))


def n_inner(study: Study) -> int:
    """Number of inner folds."""
    if isinstance(study.inner_cv, int | np.integer):
        return int(study.inner_cv)
    return int(study.inner_cv.get_n_splits(np.zeros(len(study.y)), study.y, study.groups))


def _in_turn(
    study: Study,
    number: int,
    split: Split,
    key: str,
    fingerprint: str,
    store: FoldStore,
    meter: WorkMeter,
    where: str,
) -> None:
    """One fold; whatever ends it, what was found out is kept."""

    def step(count: int) -> None:
        meter.add(count, where)

    if study.variants:
        chosen = choose_variant(
            study, split, fingerprint, store, step,
            lambda one, known: meter.skip(_done(one, known)),
        )  # fmt: skip
        store.chosen[key] = chosen
        study, key = chosen.study, chosen.key
    result = store.results.get(key) or FoldResult.empty(study.rows.shape[1], len(study.sizes))
    if result.complete:
        return
    try:
        evaluate_fold(
            study, number, *split, result,
            step=step,
            keep=lambda now: store.put(key, now),
            tracing=Tracer(store, study, fingerprint),
        )  # fmt: skip
    finally:
        store.put(key, result, force=True)


def _at_once(
    study: Study,
    splits: Sequence[Split],
    keys: Sequence[str],
    fingerprint: str,
    store: FoldStore,
    meter: WorkMeter,
    n_jobs: int | None,
    label: str,
) -> None:
    todo = [
        (number, key, split)
        for number, (key, split) in enumerate(zip(keys, splits))
        if not (key in store.results and store.results[key].complete)
    ]
    parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    jobs = (
        delayed(_worker)(
            study, number, split, key, fingerprint, store.results.get(key), store.folder
        )
        for number, key, split in todo
    )
    finished = len(keys) - len(todo)
    for key, chosen, result in parallel(jobs):
        own = key if chosen is None else chosen.key
        before = 0 if own not in store.results else _done(study, store.results[own])
        if chosen is not None:
            store.chosen[key] = chosen
            before -= (len(study.variants) - 1) * n_tuning_fits(chosen.study, n_inner(study))
        store.put(own, result, force=True)
        finished += 1
        one = study if chosen is None else chosen.study
        meter.add(_done(one, result) - before, f"{label}{finished} of {len(keys)} folds")


def _worker(
    study: Study,
    number: int,
    split: Split,
    key: str,
    fingerprint: str,
    result: FoldResult | None,
    folder: Any,
) -> tuple[str, Chosen | None, FoldResult]:
    """One fold in a process of its own; it writes what it has done by itself."""
    store, work, chosen = FoldStore(folder), key, None
    if study.variants:
        chosen = choose_variant(study, split, fingerprint, store)
        study, work, result = chosen.study, chosen.key, store.results[chosen.key]
    if result is None:
        result = FoldResult.empty(study.rows.shape[1], len(study.sizes))
    try:
        evaluate_fold(
            study, number, *split, result,
            keep=lambda now: store.put(work, now),
            tracing=Tracer(store, study, fingerprint),
        )  # fmt: skip
    finally:
        store.put(work, result, force=True)
    return key, chosen, result


def collect(
    study: Study,
    results: Sequence[FoldResult | None],
    scoring: str,
    n_columns: int,
    full_costs: Any = None,
) -> PathScores:
    """Scores of all folds; a fold that is not complete has none.

    ``full_costs`` is what the features cost on the path of all rows.
    """
    empty = FoldResult.empty(n_columns, len(study.sizes))
    known = [r if r is not None and r.complete else empty for r in results]
    return PathScores(
        n_features=study.sizes,
        per_fold=np.array([r.scores for r in known]),
        supports=[r.supports() for r in known],
        parameters=np.array([r.parameters for r in known]),
        predictors=[r.chosen for r in known],
        chance=np.array([r.chance for r in known]),
        scoring=scoring,
        costs_per_fold=_costs(study, known),
        full_costs=full_costs,
    )


def _costs(study: Study, results: Sequence[FoldResult]) -> Any:
    """What the features of every fold and size cost; None where nobody asks."""
    own = study.constraints
    if own is None or own.costs is None:
        return None
    none = np.zeros(0, dtype=np.intp)
    return np.array([[own.cost(none if c is None else c) for c in r.columns] for r in results])
