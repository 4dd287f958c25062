"""Several selectors on the same folds, and which of their paths is the best one.

A path is as good as the area under its curve: the mean score of one plain machine at a few sizes.
The first of the candidates in their order wins unless another one is better by more than one
standard error of the paired differences over the folds.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelpath.errors import DataError
from kernelpath.evaluation.checkpoint import FoldStore
from kernelpath.evaluation.run import run_folds
from kernelpath.evaluation.study import Split, Study
from kernelpath.evaluation.work_plan import WorkMeter
from kernelpath.predictors.joint_rbf import JointRBFSVM

AREA_SIZES = (2, 3, 5, 8, 10, 15, 20)
FIRST_FOLDS = 2  # after which hopeless candidates are left out
HOPELESS = 0.1  # of what the best gains over chance: one so far behind is left out
MACHINE = JointRBFSVM(gamma=1.0, C=10.0)  # the same for all, so that nothing is tuned


@dataclass(frozen=True)
class Contest:
    """Scores of several selectors on the same folds, and which one was chosen.

    Attributes
    ----------
    names : tuple of str
        In the order of preference.
    sizes : ndarray of shape (n_sizes,)
    scores : ndarray of shape (n_names, n_folds, n_sizes)
        NaN in folds that a candidate was left out of.
    chosen : int
    scoring : str
    notes : dict of str to str
        Why candidates have no scores at all.
    chance : ndarray of shape (n_folds,), optional
        Scores without any feature.
    """

    names: tuple[str, ...]
    sizes: NDArray[np.int64]
    scores: NDArray[np.float64]
    chosen: int
    scoring: str
    notes: dict[str, str]
    chance: NDArray[np.float64] | None = None

    @property
    def areas(self) -> NDArray[np.float64]:
        """Mean score over the sizes, of shape (n_names, n_folds)."""
        return self.scores.mean(axis=2)

    @property
    def name(self) -> str:
        """Name of the winner."""
        return self.names[self.chosen]

    def fewest_good(self) -> int:
        """Smallest size at which the winner is within one standard error of its best."""
        own = self.scores[self.chosen]
        mean = own.mean(axis=0)
        best = int(mean.argmax())
        error = own[:, best].std(ddof=1) / np.sqrt(len(own)) if len(own) > 1 else 0.0
        return int(self.sizes[np.flatnonzero(mean >= mean[best] - error)[0]])

    def sentence(self) -> str:
        """Who won, and by how much over whom."""
        if len(self.names) == 1:
            return f"{self.name} is the only candidate."
        areas = self.areas
        whole = np.isfinite(areas).all(axis=1)
        others = [i for i in np.flatnonzero(whole) if i != self.chosen]
        if not others:
            return f"{self.name} was chosen; all others fell behind in the first folds."
        best = max(others, key=lambda i: float(areas[i].mean()))
        gain, error = difference(areas[self.chosen], areas[best])
        digits = 3 if max(abs(gain), error) >= 0.0005 else 4
        by, spread = f"{abs(gain):.{digits}f}", f"{error:.{digits}f}"
        tied, exact = float(by) == 0.0, float(spread) == 0.0
        how = f"{by} ± {spread} {'above' if gain > 0 else 'below'}"
        if tied:
            how = "equal to" if exact else f"on average equal (± {spread}) to"
        text = f"{self.name} was chosen: its curve is {how} that of {self.names[best]}"
        if self.chosen < best and (tied or gain < 0):
            text += ", which comes after it in the order"
        return f"{text}.{self._chance_words(whole)}"

    def _chance_words(self, whole: Any) -> str:
        """That no candidate is above chance by more than one standard error, if that is so."""
        if self.chance is None or not np.isfinite(self.chance).all():
            return ""
        for own in self.areas[whole]:
            gain, error = difference(own, self.chance)
            if gain > (error if np.isfinite(error) else 0.0):  # of one fold the sign decides
                return ""
        return f" None of the candidates is better than chance ({self.chance.mean() + 0.0:.3f})."


def difference(one: NDArray[np.float64], other: NDArray[np.float64]) -> tuple[float, float]:
    """Mean of paired differences, and its standard error.

    Examples
    --------
    >>> gain, error = difference(np.array([0.9, 0.8]), np.array([0.7, 0.8]))
    >>> round(gain, 3), round(error, 3)
    (0.1, 0.1)
    """
    gaps = one - other
    error = gaps.std(ddof=1) / np.sqrt(len(gaps)) if len(gaps) > 1 else np.inf
    return float(gaps.mean()), float(error)


def first_not_worse(areas: NDArray[np.float64]) -> int:
    """First candidate that is within one standard error of the best; NaN are out of the race.

    Examples
    --------
    >>> first_not_worse(np.array([[0.8, 0.9], [0.82, 0.90], [0.7, 0.7]]))
    0
    >>> first_not_worse(np.array([[0.8, 0.9], [0.9, 0.99], [0.7, 0.7]]))
    1
    """
    means = areas.mean(axis=1)
    means = np.where(np.isfinite(means), means, -np.inf)
    best = int(means.argmax())
    for i in range(best):
        if np.isfinite(means[i]):
            gap, error = difference(areas[best], areas[i])
            if gap <= error:
                return i
    return best


def hold_contest(
    study: Study,
    candidates: Mapping[str, Any],
    obeys: Mapping[str, bool],
    splits: Sequence[Split],
    fingerprint: str,
    store: FoldStore,
    meter: WorkMeter,
    scoring: str,
    n_jobs: int | None = None,
) -> Contest:
    """Score all candidates in the first folds, and those that are not hopeless in the others.

    Parameters
    ----------
    study : Study
        Its selector is of no account.
    candidates : dict of str to selector
        In the order of preference.
    obeys : dict of str to bool
        Which of them see to constraints themselves.
    """
    n_columns = study.rows.shape[1]
    sizes = np.array([k for k in AREA_SIZES if k <= n_columns] or [1], dtype=np.int64)
    scores = np.full((len(candidates), len(splits), len(sizes)), np.nan)
    chance = np.full(len(splits), np.nan)
    notes: dict[str, str] = {}
    live = dict(enumerate(candidates))
    parts = [(0, min(FIRST_FOLDS, len(splits))), (min(FIRST_FOLDS, len(splits)), len(splits))]
    for first, last in parts:
        if first == last:
            continue
        for i, name in list(live.items()):
            one = replace(
                study, selector=candidates[name], obeys=obeys[name], predictors=(MACHINE,),
                sizes=sizes, variants=(), compared=False,
            )  # fmt: skip
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # the path that is chosen says it again
                    folds = run_folds(
                        one, splits[first:last], fingerprint, store, meter, n_jobs=n_jobs,
                        label=f"{name}, ",
                    )  # fmt: skip
            except (DataError, TypeError) as error:
                notes[name] = str(error)
                del live[i]
                continue
            scores[i, first:last] = [fold.scores for fold in folds]
            chance[first:last] = [fold.chance for fold in folds]
        if first == 0:
            live = {i: live[i] for i in _hopeful(scores[:, :last], chance[:last], list(live))}
    if not live:
        raise DataError(" ".join(f"{name}: {why}" for name, why in notes.items()))
    known = [i for i, name in enumerate(candidates) if name not in notes]
    scores = scores[known]
    names = tuple(name for name in candidates if name not in notes)
    chosen = first_not_worse(scores.mean(axis=2))
    return Contest(names, sizes, scores, chosen, scoring, notes, chance)


def _hopeful(
    scores: NDArray[np.float64], chance: NDArray[np.float64], live: list[int]
) -> list[int]:
    """Candidates that are near the best in any fold."""
    if not live:
        return []
    areas = scores[live].mean(axis=2)
    best = areas.max(axis=0)
    margin = np.where(np.isfinite(chance), HOPELESS * np.maximum(best - chance, 0.0), np.inf)
    return [i for i, own in zip(live, areas) if (own >= best - margin).any()]
