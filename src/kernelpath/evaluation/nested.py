"""The honest score of a whole procedure, the choice of the number of features included."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelpath.evaluation.scores import score_text
from kernelpath.path.points import Frozen, frozen_vector


@dataclass(frozen=True, eq=False, repr=False)
class NestedScore(Frozen):
    """Score of an outer loop in which everything is repeated; frozen, compares by content.

    Parameters
    ----------
    per_fold : array of shape (n_folds,)
        Score of the whole procedure on the rows held out.
    n_features : array of shape (n_folds,)
        Number of features that was chosen in the fold.
    scoring : str
        Name of the measure.

    Examples
    --------
    >>> NestedScore([0.8, 0.9, 0.85], [4, 5, 4], scoring="accuracy")
    NestedScore(accuracy 0.850 +- 0.029 over 3 folds, 4 to 5 features)
    """

    per_fold: Any
    n_features: Any
    scoring: str = "score"

    def __post_init__(self) -> None:
        per_fold = frozen_vector(self.per_fold, float, "per_fold")
        sizes = frozen_vector(self.n_features, np.int64, "n_features", len(per_fold))
        self._set(per_fold=per_fold, n_features=sizes, scoring=str(self.scoring))

    @property
    def mean(self) -> float:
        """Mean over the folds."""
        return float(self.per_fold.mean())

    @property
    def se(self) -> float:
        """Standard error of the mean; NaN with one fold."""
        n = len(self.per_fold)
        return float(self.per_fold.std(ddof=1) / np.sqrt(n)) if n > 1 else float("nan")

    def __repr__(self) -> str:
        low, high = int(self.n_features.min()), int(self.n_features.max())
        sizes = f"{low} to {high} features"
        if low == high:
            sizes = "1 feature" if low == 1 else f"{low} features"
        text = score_text(self.mean, self.se)
        return f"NestedScore({self.scoring} {text} over {len(self.per_fold)} folds, {sizes})"
