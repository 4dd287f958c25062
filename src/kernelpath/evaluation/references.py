"""Plain models of all columns on the same folds: what a curve has to be held against.

A reference is a study like others: its selector takes all columns, and its one predictor is plain.
So it is traced, tuned, scored, kept and resumed as the path itself is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelpath.errors import not_one_of
from kernelpath.evaluation.scores import OverFolds, PathScores, score_text
from kernelpath.evaluation.splits import fewer_rows
from kernelpath.evaluation.study import Split, Study
from kernelpath.path.points import frozen_vector
from kernelpath.predictors.linear import LinearPredictor
from kernelpath.predictors.trees import BoostingPredictor
from kernelpath.tables.any_target import JOINT
from kernelpath.tables.constant import constant_columns
from kernelpath.utils import checks
from kernelpath.utils.words import counted

REFERENCES = ("logistic", "boosting")
MOST_ROWS = 50_000  # training rows of a fold; beyond, a sample of them
ROUNDING = 1e-9  # relative, of differences of scores
MOST_TUNED = 5000  # columns up to which the strength of the penalty is tuned
MOST_BOOSTED = 500  # columns for which boosting takes but a small part of the time
MOST_CELLS = 2 * 10**8  # of a dense matrix for boosting, however much it is wanted
FEW_ROWS = 2000  # training rows for which small trees do best
FINE_COLUMNS, COARSE_BINS = 100, 32  # beyond so many columns, so many bins for each
UNSERVED = (ValueError, TypeError, AttributeError, ArithmeticError, MemoryError)
"""What a model or a measure raises that cannot serve a table."""


@dataclass(frozen=True, eq=False, repr=False)
class ReferenceScore(OverFolds):
    """Score of a plain model of all columns; frozen, compares by content.

    Parameters
    ----------
    per_fold : array of shape (n_folds,)
        Score on the held-out rows of each fold of the path.
    n_features : int
        Number of columns that the model was given.
    scoring : str
        Name of the measure.
    note : str
        What was done differently than for the path, such as a sample of the rows; mostly "".

    Examples
    --------
    >>> score = ReferenceScore([0.8, 0.9, 0.85], 19, scoring="accuracy")
    >>> score
    ReferenceScore(accuracy 0.850 +- 0.029 over 3 folds, 19 features)
    >>> round(score.mean, 3), round(score.se, 3)
    (0.85, 0.029)
    """

    per_fold: Any
    n_features: int
    scoring: str = "score"
    note: str = ""

    def __post_init__(self) -> None:
        checks.whole("n_features", self.n_features, at_least=1)
        per_fold = frozen_vector(self.per_fold, float, "per_fold")
        if len(per_fold) == 0 or not np.isfinite(per_fold).all():
            raise ValueError("per_fold must hold a finite score for each fold")
        self._set(per_fold=per_fold, n_features=int(self.n_features))
        self._set(scoring=str(self.scoring), note=str(self.note))

    def above(self, scores: PathScores, n_features: int) -> ReferenceScore:
        r"""How far it is above a size of a curve, with the standard error of that difference.

        Differences are paired by fold, and their standard error is the plain one,
        :math:`s / \sqrt{k}`, as in the rule ``"one_se"``.
        """
        difference = self.per_fold - scores.per_fold[:, scores.position(n_features)]
        return replace(self, per_fold=difference)

    @property
    def beyond_error(self) -> bool:
        """Whether a difference is above 0 by more than its standard error.

        One that is there in a single fold only is exactly one standard error, up to rounding.
        """
        return bool(self.mean > (1.0 + ROUNDING) * self.se)

    def __repr__(self) -> str:
        text = score_text(self.mean, self.se)
        few, folds = counted(self.n_features, "feature"), counted(len(self.per_fold), "fold")
        return f"ReferenceScore({self.scoring} {text} over {folds}, {few})"


@dataclass(frozen=True)
class TheseColumns:
    """A selector that looks at nothing: it takes the columns that it was told."""

    columns: tuple[int, ...]

    def __call__(self, X: Any, y: NDArray) -> NDArray[np.float64]:
        """One for each of the columns; the others are not ranked."""
        scores = np.full(X.shape[1], np.nan)
        scores[list(self.columns)] = 1.0
        return scores


@dataclass(frozen=True)
class Reference:
    """Work of one reference: a study, its folds, and what is to be said of it.

    Attributes
    ----------
    study : Study or None
        None for a reference that is left out.
    splits : list of pairs of ndarray
        The folds, with at most `MOST_ROWS` rows to learn from.
    note : str
        Why it is left out, or what was done differently; mostly "".
    """

    study: Study | None
    splits: list[Split]
    note: str = ""


def check_references(references: Any) -> tuple[str, ...]:
    """Names that the setting stands for.

    Examples
    --------
    >>> check_references(True), check_references(False), check_references("logistic")
    (('logistic', 'boosting'), (), ('logistic',))
    """
    if isinstance(references, bool | np.bool_):
        return REFERENCES if references else ()
    names = (references,) if isinstance(references, str) else references
    if not isinstance(names, tuple | list) or not all(isinstance(one, str) for one in names):
        raise ValueError(
            f"references must be True, False or names of {', '.join(map(repr, REFERENCES))}, got "
            f"{references!r}"
        )
    for name in names:
        if name not in REFERENCES:
            raise not_one_of("references", name, REFERENCES)
    return tuple(dict.fromkeys(names))


def make_references(study: Study, splits: Sequence[Split], references: Any) -> dict[str, Reference]:
    """References of a study by name.

    By default boosting is left out where it would take longer than the path; one that is asked for
    by name is left out only where its matrix would be huge.
    """
    names, asked = check_references(references), not isinstance(references, bool | np.bool_)
    columns = usable_columns(study)
    if not names or len(columns) == 0 or study.task.kind in JOINT:
        return {}
    labels = None if study.task.classes is None else study.y
    own = fewer_rows(splits, labels, MOST_ROWS, study.seed)
    n_rows = max(len(train) for train, _ in own)
    fewer = n_rows < max(len(train) for train, _ in splits)
    sampled = f"learned from {n_rows:,} rows of each fold" if fewer else ""
    found = {}
    for name in names:
        why = _too_wide(study, len(columns), n_rows, asked) if name == "boosting" else ""
        if why:
            found[name] = Reference(None, [], why)
            continue
        predictor = PREDICTORS[name](len(columns), n_rows, study.seed)
        found[name] = Reference(on_columns(study, columns, predictor), own, sampled)
    return found


def usable_columns(study: Study) -> NDArray[np.intp]:
    """All columns but those that name rows or are constant, and must not be in."""
    idle = constant_columns(study.rows)  # those that name rows are read as constant
    if study.constraints is not None:
        idle &= ~study.constraints.brought
    return np.flatnonzero(~idle)


def on_columns(study: Study, columns: NDArray[np.intp], predictor: Any) -> Study:
    """The study of some columns, none chosen, by one predictor."""
    return replace(
        study,
        selector=TheseColumns(tuple(columns.tolist())),
        predictors=(predictor,),
        sizes=np.array([len(columns)], dtype=np.int64),
        numbers_only=False,
        variants=(),
    )


def _too_wide(study: Study, n_columns: int, n_rows: int, asked: bool) -> str:
    """Why boosting is left out, or ""."""
    if n_columns * min(n_rows, study.rows.n_rows) > MOST_CELLS:
        return f"left out: {n_columns:,} columns of {n_rows:,} rows are too many for it"
    if n_columns > MOST_BOOSTED and not asked:
        return f"left out: with {n_columns:,} columns it would take longer than the path"
    return ""


def _logistic(n_columns: int, n_rows: int, seed: int) -> LinearPredictor:
    """With its usual settings; one strength, free of units, for very many columns."""
    return LinearPredictor() if n_columns <= MOST_TUNED else LinearPredictor(C=10.0 / n_columns)


def _boosting(n_columns: int, n_rows: int, seed: int) -> BoostingPredictor:
    """Small trees for few rows; columns in coarse steps where there are many."""
    bins = BoostingPredictor.max_bins if n_columns <= FINE_COLUMNS else COARSE_BINS
    return BoostingPredictor(8 if n_rows <= FEW_ROWS else 31, random_state=seed, max_bins=bins)


PREDICTORS = {"logistic": _logistic, "boosting": _boosting}
