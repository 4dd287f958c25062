"""The measure of a cross-validation: which one it is, what it needs, and where it is defined."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import check_scoring, get_scorer, get_scorer_names

from kernelpath.errors import DataError, RareClassWarning, naming, not_one_of
from kernelpath.evaluation.study import Split
from kernelpath.utils.warn import warn

ROWS_APART = ("r2", "explained_variance")  # measures of the spread of the target
RARE = 0.25  # of the rows of the largest class
GIVE_SHARES = ("logistic", "boosting", "forest")  # predictors with probabilities of their own
OF_TWO_CLASSES = {
    "roc_auc": "roc_auc_ovr",
    "average_precision": "roc_auc_ovr",
    **{name: f"{name}_macro" for name in ("f1", "precision", "recall", "jaccard")},
    **dict.fromkeys(("neg_brier_score", "d2_brier_score"), "neg_log_loss"),
    "positive_likelihood_ratio": "balanced_accuracy",
    "neg_negative_likelihood_ratio": "balanced_accuracy",
}
"""Measures of two classes, and what stands for them where there are others."""
BALANCING = ("roc_auc", "average_precision", "balanced_accuracy", "f1", "matthews")
"""How the names of measures begin that rank rows or balance classes."""


def has_rare_class(y: NDArray) -> bool:
    """Whether a class has less than a quarter of the rows of the largest one.

    Examples
    --------
    >>> has_rare_class(np.array([0] * 9 + [1])), has_rare_class(np.array([0] * 6 + [1] * 4))
    (True, False)
    """
    counts = np.unique(y, return_counts=True)[1]
    return bool(counts.min() < RARE * counts.max())


def resolve_class_weight(class_weight: Any, scoring: Any, y: NDArray, kind: str) -> Any:
    """What ``"auto"`` means: classes count alike where the measure asks for it.

    It does where it ranks or balances, and without a measure where a class is rare, whose scores
    are then balanced as well.
    """
    if not (isinstance(class_weight, str) and class_weight == "auto"):
        return class_weight
    if kind != "classification":
        return None
    asks = isinstance(scoring, str) and scoring.startswith(BALANCING)
    return "balanced" if asks or (scoring is None and has_rare_class(y)) else None


def say_how_classes_count(scoring: Any, y: NDArray, kind: str, class_weight: Any) -> None:
    """Say which measure stands in for accuracy where a class is rare."""
    if scoring is not None or kind == "regression" or not has_rare_class(y):
        return
    labels, counts = np.unique(y, return_counts=True)
    share = counts.min() / counts.sum()
    rarest = str(labels[counts.argmin()])[:40]
    weighed = ", and so it does in the models" if class_weight == "balanced" else ""
    rare = RareClassWarning(
        f"Class {rarest!r} has {100 * share:.1f} % of the rows: scores are balanced accuracy, in "
        f"which every class counts alike{weighed}. Choose scoring='accuracy' to count every row "
        "alike, or scoring='roc_auc' to judge the order of the rows."
    )
    warn(naming(rare, "scoring"))


def resolve_scorer(scoring: Any, kind: str, y: NDArray | None = None) -> tuple[Any, str]:
    """Scorer and the name of its measure."""
    if scoring is None:
        rare = kind == "classification" and y is not None and has_rare_class(y)
        plain = "balanced_accuracy" if rare else "accuracy"
        scoring = plain if kind == "classification" else "r2"
    if isinstance(scoring, str):
        if scoring not in get_scorer_names():
            raise not_one_of("scoring", scoring, get_scorer_names(), "a function")
        return get_scorer(scoring), scoring
    if callable(scoring):
        name = getattr(getattr(scoring, "_score_func", scoring), "__name__", None)
        return check_scoring(None, scoring=scoring), name or type(scoring).__name__
    raise ValueError(
        "scoring must be None, the name of one measure or a function (estimator, X, y), "
        f"got {scoring!r}; several measures at once are not supported"
    )


def another_measure(scoring: str, classes: NDArray | None) -> str:
    """What to do where a measure of two classes, named 0 and 1, meets others; "" if that is not it.

    Examples
    --------
    >>> another_measure("roc_auc", np.array([0, 1, 2]))
    "with three classes or more give scoring='roc_auc_ovr'"
    >>> another_measure("f1", np.array(["a", "b"]))
    "name the class to be found 1 and the other 0, or give scoring='f1_macro'"
    """
    if classes is None or scoring not in OF_TWO_CLASSES:
        return ""
    instead = f"give scoring={OF_TWO_CLASSES[scoring]!r}"
    if len(classes) > 2:
        return f"with three classes or more {instead}"
    return f"name the class to be found 1 and the other 0, or {instead}"


def takes_weights(scorer: Any) -> bool:
    """Whether a scorer, or the function in it, takes ``sample_weight``."""
    measure = getattr(scorer, "_score_func", scorer)
    try:
        known = inspect.signature(measure).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(p.name == "sample_weight" or p.kind is p.VAR_KEYWORD for p in known)


def check_response(predictor: Any, scorer: Any, probability: bool, own: bool) -> None:
    """Refuse a scorer that needs a method which the predictor lacks."""
    wanted = getattr(scorer, "_response_method", None)
    if wanted is None or wanted == "default":
        return
    names = (wanted,) if isinstance(wanted, str) else tuple(wanted)
    if own:
        has = {"predict", "decision_function"}
        if probability or getattr(predictor, "name", predictor) in GIVE_SHARES:
            has.add("predict_proba")
        if not has.intersection(names):
            error = DataError(
                f"This scoring needs {' or '.join(names)}; set probability=True, which calibrates "
                "the machines."
            )
            raise naming(error, "probability")
    elif not any(hasattr(predictor, name) for name in names):
        raise DataError(
            f"This scoring needs {' or '.join(names)}, which the predictor "
            f"{type(predictor).__name__} does not have; choose another scoring or predictor."
        )


def check_measurable(splits: list[Split], scoring: str) -> None:
    """Refuse folds in which the measure is not defined: R2 of a single row."""
    fewest = min(len(test) for _, test in splits)
    if scoring in ROWS_APART and fewest < 2:
        n = sum(len(test) for _, test in splits)
        way = f"cv={n // 2}{' or less' * (n > 5)}" if n >= 4 else "more rows"
        error = DataError(
            f"A fold has one test row, but scoring={scoring!r} compares rows and needs 2; give "
            f"{way}, or another scoring, such as 'neg_mean_absolute_error'."
        )
        raise naming(error, "scoring", "cv")
