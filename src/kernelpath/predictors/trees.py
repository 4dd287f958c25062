"""Boosted trees and random forests on the chosen columns, for many rows and steps.

scikit-learn grows them; the model keeps what a tree is made of as plain arrays, so that it can be
saved without pickle and predicts the same ever after.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

from kernelpath.predictors.base import Candidate, Request, Setting, TrainingRows
from kernelpath.predictors.bins import Bins
from kernelpath.predictors.design import Design
from kernelpath.predictors.plain import PlainModel, itself
from kernelpath.predictors.state import Arrays, State, check_outputs, of_columns, saved_as
from kernelpath.predictors.svm import Task, standardised
from kernelpath.tables.table import Table
from kernelpath.utils.archive_forms import REAL, WHOLE, Form
from kernelpath.utils.compiled import compiled

N_TREES = 100
QUICK = {"max_iter": 40, "learning_rate": 0.25, "max_bins": 63}  # while settings are compared
LARGEST = np.finfo(np.float64).max  # infinite thresholds tell missing values from all others


@compiled()
def _add_trees(X, roots, output, feature, left, right, threshold, missing_left, value, result):
    """Walk every row down every tree, and add what its leaf says."""
    for i in range(X.shape[0]):
        for t in range(roots.shape[0]):
            node = roots[t]
            while feature[node] >= 0:
                x = X[i, feature[node]]
                goes_left = missing_left[node] if np.isnan(x) else x <= threshold[node]
                node = left[node] if goes_left else right[node]
            if output[t] >= 0:
                result[i, output[t]] += value[node, 0]
            else:
                for c in range(result.shape[1]):
                    result[i, c] += value[node, c]


@dataclass(frozen=True)
class Trees:
    """Trees one after the other, as arrays over all their nodes.

    Attributes
    ----------
    roots : ndarray of shape (n_trees,)
        Node at which each tree begins.
    output : ndarray of shape (n_trees,)
        Which output a tree adds to; -1 for all of them.
    feature, left, right : ndarray of int, shape (n_nodes,)
        Column that a node looks at, -1 in a leaf, and the nodes below it.
    threshold : ndarray of shape (n_nodes,)
        Values up to it go left.
    missing_left : ndarray of bool, shape (n_nodes,)
        Whether a missing value goes left.
    value : ndarray of shape (n_nodes, n_values)
        What a leaf adds: one number, or one per output.
    start : ndarray of shape (n_outputs,)
    """

    roots: NDArray[np.int64]
    output: NDArray[np.int64]
    feature: NDArray[np.int64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    threshold: NDArray[np.float64]
    missing_left: NDArray[np.bool_]
    value: NDArray[np.float64]
    start: NDArray[np.float64]

    def sums(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """What all trees add up to, (n_rows, n_outputs)."""
        result = np.tile(self.start, (len(X), 1))
        _add_trees(
            np.ascontiguousarray(X), self.roots, self.output, self.feature, self.left, self.right,
            self.threshold, self.missing_left, self.value, result,
        )  # fmt: skip
        return result

    def check(self, n_columns: int, n_outputs: int) -> None:
        """Refuse trees that lead out of their arrays, or in circles."""
        n_nodes, inner = len(self.feature), self.feature >= 0
        places = np.flatnonzero(inner)
        below = np.concatenate([self.left[inner], self.right[inner]])
        if (
            len(self.start) != n_outputs
            or self.value.shape[1] not in (1, n_outputs)
            or np.any(self.output >= n_outputs)
            or (self.value.shape[1] == 1 < n_outputs and np.any(self.output < 0))
            or np.any(self.roots >= n_nodes)
            or np.any(self.feature >= n_columns)
            or np.any(below >= n_nodes)
            or np.any(below <= np.concatenate([places, places]))  # downwards only
        ):
            raise ValueError("the nodes of the trees do not fit together")

    @classmethod
    def of_boosting(cls, fitted: Any, bins: Bins | None = None) -> Trees:
        """Trees of a fitted histogram gradient boosting, perhaps of the steps of some bins."""
        grown = [
            (output, tree.nodes) for step in fitted._predictors for output, tree in enumerate(step)
        ]
        sizes = [len(nodes) for _, nodes in grown]
        roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
        nodes = np.concatenate([nodes for _, nodes in grown])
        offset = np.repeat(roots, sizes)
        leaf = nodes["is_leaf"].astype(bool)
        feature = np.where(leaf, -1, nodes["feature_idx"].astype(np.int64))
        threshold = nodes["num_threshold"].astype(np.float64)
        if bins is not None:
            threshold = bins.thresholds(feature, threshold)
        return cls(
            roots,
            np.array([output for output, _ in grown], dtype=np.int64),
            feature,
            np.where(leaf, 0, nodes["left"].astype(np.int64) + offset),
            np.where(leaf, 0, nodes["right"].astype(np.int64) + offset),
            np.where(leaf, 0.0, np.clip(threshold, -LARGEST, LARGEST)),
            nodes["missing_go_to_left"].astype(bool),
            nodes["value"].astype(np.float64)[:, None],
            np.asarray(fitted._baseline_prediction, dtype=np.float64).ravel(),
        )

    @classmethod
    def of_forest(cls, fitted: Any) -> Trees:
        """Trees of a fitted forest, whose predictions are means over trees."""
        grown = [tree.tree_ for tree in fitted.estimators_]
        sizes = [tree.node_count for tree in grown]
        roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
        offset = np.repeat(roots, sizes)
        left = np.concatenate([tree.children_left for tree in grown]).astype(np.int64)
        right = np.concatenate([tree.children_right for tree in grown]).astype(np.int64)
        leaf, threshold = left < 0, np.concatenate([tree.threshold for tree in grown])
        value = np.concatenate([tree.value[:, 0, :] for tree in grown]) / len(grown)
        if hasattr(fitted, "classes_"):
            value = value / np.maximum(value.sum(axis=1, keepdims=True), 1e-300) / len(grown)
        return cls(
            roots,
            np.full(len(grown), -1, dtype=np.int64),
            np.where(leaf, -1, np.concatenate([tree.feature for tree in grown])),
            np.where(leaf, 0, left + offset),
            np.where(leaf, 0, right + offset),
            np.where(leaf, 0.0, np.clip(threshold, -LARGEST, LARGEST)),
            np.concatenate([tree.missing_go_to_left for tree in grown]).astype(bool),
            value,
            np.zeros(value.shape[1]),
        )


FORMS = {
    **Design.FORMS,
    "roots": Form(WHOLE, ("trees",), low=0),
    "output": Form(WHOLE, ("trees",), low=-1),
    "feature": Form(WHOLE, ("nodes",), low=-1),
    "left": Form(WHOLE, ("nodes",), low=0),
    "right": Form(WHOLE, ("nodes",), low=0),
    "threshold": Form(REAL, ("nodes",)),
    "missing_left": Form("b1", ("nodes",)),
    "leaf": Form(REAL, ("nodes", "values")),
    "start": Form(REAL, ("outputs",)),
    "classes": Form(WHOLE, ("present",), low=0),
    "target": Form(REAL, (2,)),
}


@saved_as("trees")
@dataclass(frozen=True)
class TreesModel(PlainModel):
    """Trees behind a design, with the labels of their task.

    ``target`` holds mean and scale of a continuous target, and ``classes`` the codes of the
    classes that the training rows hold.
    """

    design: Design
    trees: Trees
    task: Task
    classes: NDArray[np.intp]
    target: NDArray[np.float64]
    name: str

    def matrix(self, rows: Table) -> NDArray[np.float64]:
        """Rows as the trees take them: missing numbers are missing."""
        return _matrix(self.design, rows)

    def outputs(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """What the trees add up to; of forests the shares of the classes."""
        if self.name == "forest":
            X = X.astype(np.float32).astype(np.float64)  # as forests are grown
        sums = self.trees.sums(X)
        return sums if self.has_proba else sums * self.target[1] + self.target[0]

    def decision_of(self, outputs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Log odds by the outputs."""
        if self.name != "forest":
            return super().decision_of(outputs)
        logs = np.log(np.clip(outputs, 1e-12, 1.0))
        return logs[:, 1] - logs[:, 0] if logs.shape[1] == 2 else logs

    def proba_of(self, outputs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probabilities by the outputs."""
        return outputs if self.name == "forest" else super().proba_of(outputs)

    @classmethod
    def forms(cls, meta: dict[str, Any], n_columns: int) -> dict[str, Form]:
        """What the arrays of a saved one must be."""
        return of_columns(FORMS, n_columns)

    def to_state(self) -> State:
        """Settings and arrays of a file."""
        trees = {field.name: getattr(self.trees, field.name) for field in fields(Trees)}
        trees["leaf"] = trees.pop("value")
        own = {"classes": self.classes, "target": self.target}
        return {"name": self.name}, self.design.to_arrays() | trees | own

    @classmethod
    def from_state(cls, meta: dict[str, Any], arrays: Arrays, task: Task) -> TreesModel:
        """Build the model again."""
        outputs = check_outputs(meta, arrays["classes"], task, ("boosting", "forest"))
        names = [field.name for field in fields(Trees) if field.name != "value"]
        trees = Trees(value=arrays["leaf"], **{name: arrays[name] for name in names})
        design = Design.from_arrays(arrays)
        if meta["name"] == "forest" and task.classes is not None:
            outputs = len(arrays["classes"])
        trees.check(len(design.source), outputs)
        classes = arrays["classes"].astype(np.intp)
        return cls(design, trees, task, classes, arrays["target"], meta["name"])


@dataclass(frozen=True)
class BoostingPredictor:
    """Gradient boosting with histograms, of 100 small or larger trees.

    Parameters
    ----------
    max_leaf_nodes : int or sequence of int
        Leaves of a tree, to choose from inside the training part.
    random_state : int
    max_bins : int
        Steps into which a column is cut before trees are grown.

    Examples
    --------
    >>> import kernelpath as kp
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = kp.PathCV(predictor="boosting", cv=3, n_features=[2, 4]).fit(X, y)
    >>> model.operating_point_.predictor
    'boosting'
    """

    max_leaf_nodes: int | Sequence[int] = (8, 31)
    random_state: int = 0
    max_bins: int = 255
    name = "boosting"

    def settings(self, n_rows: int) -> list[Setting]:
        """Sizes of the trees."""
        return [{"max_leaf_nodes": int(leaves)} for leaves in np.atleast_1d(self.max_leaf_nodes)]

    def models(
        self, part: TrainingRows, requests: Sequence[Request], new: Table | None
    ) -> Iterator[Candidate]:
        """Fit at every size."""
        yield from _models(self, part, requests, new)

    def grow(self, X: Any, y: NDArray, part: TrainingRows, setting: Setting) -> Trees:
        """Trees of one model."""
        numbers = part.task.classes is None
        kind = HistGradientBoostingRegressor if numbers else HistGradientBoostingClassifier
        effort = QUICK if part.quick else {"max_iter": N_TREES, "max_bins": self.max_bins}
        machine = kind(
            early_stopping=False, random_state=self.random_state,
            min_samples_leaf=max(5, min(20, len(y) // 50)), **effort, **setting,
        )  # fmt: skip
        bins, weight = None, _row_weights(y, part)
        if weight is not None:
            bins = Bins.fit(X, weight, machine.max_bins)
            X = bins.codes(X)
        return Trees.of_boosting(machine.fit(X, y, sample_weight=weight), bins)


@dataclass(frozen=True)
class ForestPredictor:
    """Random forest of 100 trees; nothing is tuned.

    Parameters
    ----------
    random_state : int

    Examples
    --------
    >>> import kernelpath as kp
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = kp.PathCV(predictor="forest", cv=3, n_features=[1, 2]).fit(X, y)
    >>> model.operating_point_.predictor
    'forest'
    """

    random_state: int = 0
    name = "forest"

    def settings(self, n_rows: int) -> list[Setting]:
        """Nothing to choose."""
        return [{}]

    def models(
        self, part: TrainingRows, requests: Sequence[Request], new: Table | None
    ) -> Iterator[Candidate]:
        """Fit at every size."""
        yield from _models(self, part, requests, new)

    def grow(self, X: Any, y: NDArray, part: TrainingRows, setting: Setting) -> Trees:
        """Trees of one model."""
        numbers = part.task.classes is None
        kind = RandomForestRegressor if numbers else RandomForestClassifier
        machine = kind(n_estimators=N_TREES, random_state=self.random_state)
        return Trees.of_forest(machine.fit(X, y, sample_weight=_row_weights(y, part)))


def _row_weights(y: NDArray, part: TrainingRows) -> NDArray[np.float64] | None:
    """Weights of rows and classes together, None where all are the same.

    scikit-learn takes weights of classes, too, but not of all its models for classes that are
    numbered with gaps, as they are where a rare one is not among the rows.
    """
    if part.task.classes is None or part.task.class_weight is None:
        return part.sample_weight
    return part.task.row_weights(y, part.sample_weight)


def _matrix(design: Design, rows: Table) -> NDArray[np.float64]:
    X = design.apply(rows, holes=True)
    return X.toarray() if sparse.issparse(X) else X


def _models(
    predictor: BoostingPredictor | ForestPredictor,
    part: TrainingRows,
    requests: Sequence[Request],
    new: Table | None,
) -> Iterator[Candidate]:
    y, target, classes = part.codes, np.array([0.0, 1.0]), np.zeros(0, dtype=np.intp)
    if part.task.classes is None:
        y, target = standardised(y, part.sample_weight)
    else:
        classes = np.unique(y)
    for k, settings in requests:
        if not settings:
            continue
        columns = part.traced.at(k).columns
        design = Design.fit(part.rows, columns, scaled=False)
        X = _matrix(design, part.rows)
        X_new = None if new is None else _matrix(design, new)
        for setting in settings:
            trees = predictor.grow(X, y, part, setting)
            model = TreesModel(design, trees, part.task, classes, target, predictor.name)
            held_out = None if X_new is None else model.held_out(X_new)
            yield Candidate(k, setting, held_out, partial(itself, model))
