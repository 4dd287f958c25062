"""Which predictors a setting names, and whether they can do what is asked of them."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray
from sklearn.base import is_classifier, is_regressor

from kernelpath.errors import not_one_of
from kernelpath.predictors import PREDICTOR_NAMES
from kernelpath.predictors.joint_rbf import JointRBFSVM
from kernelpath.predictors.linear import LinearPredictor
from kernelpath.predictors.models import EstimatorPredictor
from kernelpath.predictors.trees import BoostingPredictor, ForestPredictor
from kernelpath.predictors.weighted_kernel import WeightedKernelSVM
from kernelpath.tables.targets import infer_task
from kernelpath.utils.archive import NotSaved

KINDS = (
    WeightedKernelSVM, JointRBFSVM, LinearPredictor, LinearPredictor, BoostingPredictor,
    ForestPredictor,
)  # fmt: skip
OWN_PREDICTORS: dict[str, type] = dict(zip(PREDICTOR_NAMES, KINDS, strict=True))
_MEDIAN = "the median of fit stands for a number, and a category is like no other"
_LARGER = "in every tree they go where most rows of fit went"
FATE_OF_HOLES = {
    "weighted_kernel": "such a value is like no other",
    "joint_rbf": _MEDIAN,
    "logistic": _MEDIAN,
    "boosting": _LARGER,
    "forest": _LARGER,
}
"""What becomes of a missing value of a new row where fit had none, by the name of a model."""
MOST_KERNEL_ROWS = 3000  # up to which "auto" compares kernels; beyond, boosting


def resolve_predictors(predictor: Any, selector: Any, n_rows: int = 0) -> tuple[Any, ...]:
    """Predictors to compare: one, or for ``"auto"`` those that suit the number of rows.

    Weights inside one kernel of all features are not those of a sum of kernels.
    """
    inside = getattr(selector, "weights_inside", False)
    if inside and (predictor == "weighted_kernel" or isinstance(predictor, WeightedKernelSVM)):
        raise ValueError(
            f"the weights of {type(selector).__name__} are inside one kernel of all features, and "
            "not those of a sum of kernels; take predictor='joint_rbf', or an estimator"
        )
    if isinstance(predictor, str):
        if predictor == "auto" and n_rows > MOST_KERNEL_ROWS:
            return LinearPredictor(), BoostingPredictor()
        if predictor == "auto" and inside:
            return JointRBFSVM(), LinearPredictor()
        if predictor == "auto":
            return WeightedKernelSVM(), JointRBFSVM(), LinearPredictor()
        if predictor in OWN_PREDICTORS:
            return (OWN_PREDICTORS[predictor](),)
        raise not_one_of("predictor", predictor, ["auto", *OWN_PREDICTORS], "an estimator")
    if isinstance(predictor, tuple(OWN_PREDICTORS.values())):
        return (predictor,)
    check_estimator(predictor)
    return (EstimatorPredictor(predictor),)


def check_estimator(predictor: Any) -> None:
    """Refuse what cannot be fitted or cannot predict, before any work is done."""
    if isinstance(predictor, type):
        raise TypeError(f"predictor is the class {predictor.__name__}; give an object of it")
    for method in ("fit", "predict"):
        if not hasattr(predictor, method):
            raise TypeError(
                f"predictor must be 'auto', {', '.join(map(repr, OWN_PREDICTORS))} or an estimator "
                f"with fit and predict; {predictor!r} has no {method}"
            )


def is_own(predictor: Any) -> bool:
    """Whether the predictor is a machine of this package, as all are that files can hold."""
    return isinstance(predictor, (str, NotSaved, *OWN_PREDICTORS.values()))


def task_of(y: NDArray, task: str, predictor: Any) -> str:
    """Classification or regression: as said, as the predictor is, or as the target looks."""
    if task == "auto" and not is_own(predictor):
        if is_classifier(predictor):
            return "classification"
        if is_regressor(predictor):
            return "regression"
    if task == "auto" and predictor == "ridge":
        return "regression" if y.dtype.kind in "fiu" else infer_task(y)
    return infer_task(y, task, judged=True)
