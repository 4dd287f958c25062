"""How an estimator takes sample weights, also inside a pipeline or a search."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import has_fit_parameter


def weight_argument(estimator: Any) -> str | None:
    """Name under which ``fit`` takes sample weights, or None if it does not.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> weight_argument(GridSearchCV(make_pipeline(LogisticRegression()), {}))
    'logisticregression__sample_weight'
    >>> weight_argument(KNeighborsClassifier()) is None
    True
    """
    if not hasattr(estimator, "fit"):
        return None
    if has_fit_parameter(estimator, "sample_weight"):
        return "sample_weight"
    if hasattr(estimator, "steps"):
        name, last = estimator.steps[-1]
        inner = weight_argument(last)
        return None if inner is None else f"{name}__{inner}"
    if hasattr(estimator, "estimator") and hasattr(estimator, "refit"):  # a search passes all on
        return weight_argument(estimator.estimator)
    return None
