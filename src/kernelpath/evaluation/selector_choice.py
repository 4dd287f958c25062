"""Choosing the settings of the selector inside a training part, as those of a predictor are.

Every variant of the selector is traced in the same inner folds, predictors are tuned on each, and
the variant with the highest curve of inner scores is traced on the whole training part.  What was
found out for it goes on as that of any fold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kernelpath.evaluation.checkpoint import FoldStore, Tracer, fold_key
from kernelpath.evaluation.folds import FoldResult, tune_once
from kernelpath.evaluation.scores import TIE
from kernelpath.evaluation.study import Split, Study
from kernelpath.evaluation.tuning import Step, TunedChoice, tuning_sizes


@dataclass(frozen=True)
class Chosen:
    """The variant that was chosen for a training part.

    Attributes
    ----------
    position : int
        Which of the variants.
    study : Study
        The study with that selector.
    key : str
        Name of its work.
    scores : tuple of float
        Height of the inner curve of every variant.
    """

    position: int
    study: Study
    key: str
    scores: tuple[float, ...]


def variants_of(study: Study) -> list[Study]:
    """The study with each variant of its selector."""
    return [
        replace(study, selector=selector, variants=(), compared=True) for selector in study.variants
    ]


def choose_variant(
    study: Study,
    split: Split,
    fingerprint: str,
    store: FoldStore,
    step: Step | None = None,
    skip: Callable[[Study, FoldResult], None] | None = None,
) -> Chosen:
    """Choose among the variants by inner folds of the rows to learn from.

    ``step`` is called with the number of models just fitted, ``skip`` with what was known before.
    """
    scores, keys, studies = [], [], variants_of(study)
    for one in studies:
        key = fold_key(one, fingerprint, split)
        result = _tuned(one, key, split[0], fingerprint, store, step, skip)
        assert result.tuned is not None
        scores.append(curve_height(result.tuned, study.sizes, study.rows.n_rows))
        keys.append(key)
    best = first_of_the_best(scores)
    return Chosen(best, studies[best], keys[best], tuple(scores))


def _tuned(
    study: Study,
    key: str,
    rows: NDArray[np.intp],
    fingerprint: str,
    store: FoldStore,
    step: Step | None,
    skip: Callable[[Study, FoldResult], None] | None,
) -> FoldResult:
    """What tuning finds out about one variant; kept whatever happens."""
    result = store.get(key, study)
    if result is None:
        result = FoldResult.empty(study.rows.shape[1], len(study.sizes))
    elif skip is not None:
        skip(study, result)
    store.results[key] = result
    if result.tuned is None:
        tracing = Tracer(store, study, fingerprint)
        try:
            tune_once(study, rows, result, step, lambda now: store.put(key, now), tracing)
        finally:
            store.put(key, result, force=True)
    return result


def curve_height(tuned: dict[int, TunedChoice], sizes: NDArray[np.int64], n_rows: int) -> float:
    """Mean of the inner scores over the sizes at which settings were compared.

    Examples
    --------
    >>> tuned = {k: TunedChoice(0, {}, 0.5 + 0.1 * k) for k in (1, 2, 3)}
    >>> round(curve_height(tuned, np.array([1, 2, 3]), 100), 3)  # sizes 1, 2 and 3
    0.7
    """
    scores = np.array([tuned[k].score for k in tuning_sizes(sizes, n_rows)])
    known = scores[np.isfinite(scores)]
    return float(known.mean()) if len(known) == len(scores) else float("-inf")


def first_of_the_best(scores: Sequence[float]) -> int:
    """First of the variants that rounding alone tells from the best.

    Examples
    --------
    >>> first_of_the_best([0.5, 0.8, 0.8 + 1e-15]), first_of_the_best([float("-inf")] * 2)
    (1, 0)
    """
    top = max(scores)
    slack = TIE * abs(top) if np.isfinite(top) else 0.0
    return next(i for i, score in enumerate(scores) if score >= top - slack)
