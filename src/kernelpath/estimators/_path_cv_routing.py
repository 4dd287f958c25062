"""What PathCV tells scikit-learn about itself: its task, and who may get metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from kernelpath.estimators.lp_kta import LpKTASelector
from kernelpath.evaluation.measures import GIVE_SHARES, resolve_scorer
from kernelpath.predictors.choice import is_own
from kernelpath.tables.any_target import JOINT
from kernelpath.tables.outputs import OUTPUTS

if TYPE_CHECKING:
    from kernelpath.estimators.path_cv import PathCV


def gives(method: str) -> Any:
    """Whether the model, or before fit the predictor, has a method."""

    def check(self: PathCV) -> bool:
        own = is_own(self.predictor)
        shares = self.probability or getattr(self.predictor, "name", self.predictor) in GIVE_SHARES
        if method == "predict_proba" and own and not shares:
            return False
        model = getattr(self, "model_", None)
        if model is not None:
            given = model.has_proba if method == "predict_proba" else model.has_decision
            return given and self.task_ in ("classification", OUTPUTS)
        if own:
            return self.task != "regression" and (method == "decision_function" or shares)
        return hasattr(self.predictor, method)

    return check


def why_no_shares(model: PathCV) -> str:
    """Why there is no ``predict_proba``, and what to set."""
    if getattr(model, "task_", model.task) == "regression":
        return "PathCV has predict_proba for classes only, and this target is continuous"
    if is_own(model.predictor):
        return (
            "PathCV has no predict_proba here: set probability=True, which calibrates the SVMs, or "
            "predictor='logistic', and fit again"
        )
    return (
        f"the predictor {type(model.predictor).__name__} has no predict_proba; take one that has, "
        "such as predictor='logistic'"
    )


def with_task_tags(tags: Any, kind: str, predictor: Any, scoring: Any) -> Any:
    """Say whether this is a classifier or a regressor, and which tables and targets will do."""
    own = is_own(predictor)
    tags.input_tags.sparse = own or predictor.__sklearn_tags__().input_tags.sparse
    tags.input_tags.allow_nan = own or predictor.__sklearn_tags__().input_tags.allow_nan
    tags.target_tags.required = True
    if not own and scoring is not None:
        tags.target_tags.multi_output = predictor.__sklearn_tags__().target_tags.multi_output
    if kind in ("auto", *JOINT) and not own:
        known = {"classifier": "classification", "regressor": "regression"}
        kind = known.get(predictor.__sklearn_tags__().estimator_type, "auto")
    if kind == "classification":
        tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
    elif kind == "regression":
        tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
    return tags


def metadata_router(model: PathCV) -> MetadataRouter:
    """Who may get metadata in ``fit``."""
    router = MetadataRouter(owner=type(model).__name__)
    to_fit = MethodMapping().add(caller="fit", callee="fit")
    if hasattr(model.selector, "fit"):
        router.add(selector=model.selector, method_mapping=to_fit)
    elif model.selector is None:
        router.add(selector=LpKTASelector(), method_mapping=to_fit)
    if not is_own(model.predictor):
        router.add(predictor=model.predictor, method_mapping=to_fit)
    if hasattr(model.cv, "split"):
        to_split = MethodMapping().add(caller="fit", callee="split")
        router.add(splitter=model.cv, method_mapping=to_split)
    if model.scoring is None:  # the user cannot have said what the default takes
        return router
    scorer, _ = resolve_scorer(model.scoring, "classification")
    to_score = MethodMapping().add(caller="fit", callee="score").add(caller="score", callee="score")
    router.add(scorer=scorer, method_mapping=to_score)
    return router


def route(
    model: PathCV, groups: Any, sample_weight: Any, params: dict[str, Any]
) -> dict[str, dict[str, Any]]:
    """Metadata per step; empty unless scikit-learn's routing is on."""
    from sklearn import get_config

    if not get_config().get("enable_metadata_routing"):
        if params:
            raise TypeError(
                f"fit got unknown arguments {sorted(params)}; to pass metadata on, call "
                "sklearn.set_config(enable_metadata_routing=True)."
            )
        return {}
    given = {"groups": groups, "sample_weight": sample_weight, **params}
    given = {name: value for name, value in given.items() if value is not None}
    if not hasattr(model.cv, "split"):  # folds made here take groups without being asked
        given.pop("groups", None)
    routed = process_routing(model, "fit", **given)
    steps = {
        "selector": ("selector", "fit"),
        "predictor": ("predictor", "fit"),
        "splitter": ("splitter", "split"),
        "scorer": ("scorer", "score"),
    }
    found = {}
    for step, (name, method) in steps.items():
        part = getattr(routed, name, None)
        values = getattr(part, method, None) if part is not None else None
        if values:
            found[step] = dict(values)
    return found
