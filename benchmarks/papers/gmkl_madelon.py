"""Madelon: a product of Gaussians on the features that lp-KTA keeps, beside a joint RBF kernel."""

from __future__ import annotations

import time
import warnings
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from gmkl_runs import start_worker
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

import kernelpath as kp
from common import PUBLISHED_LP_KTA, load_shared

MOST_ITERATIONS = 300
FREE_SIZES = (5, 8, 10, 13, 15, 20, 30, 50)


@dataclass(frozen=True)
class Plan:
    """Sizes of the screen, and what inner folds choose from."""

    sizes: tuple[int, ...] = (20, 50)
    C: tuple[float, ...] = (1.0,)
    strengths: tuple[float, ...] = (1.0, 3.0, 10.0)
    folds: int = 3
    rows: int | None = None

    def describe(self) -> dict:
        """Everything that the result depends on."""
        return asdict(self) | {"max_iter": MOST_ITERATIONS}

    def quick(self) -> Plan:
        """Return a plan that takes seconds."""
        return replace(self, sizes=(13,), C=(1.0,), strengths=(1.0, 10.0), folds=2, rows=400)


def screen(X: NDArray, y: NDArray, size: int) -> NDArray[np.intp]:
    """Features that the path of lp-KTA keeps longest."""
    return np.flatnonzero(
        kp.LpKTASelector(**PUBLISHED_LP_KTA).fit(X, y).path_.at(n_features=size).support
    )


def machine(C: float, strength: float) -> kp.GMKLClassifier:
    return kp.GMKLClassifier(
        kernel="product", regularizer=kp.L1(strength), C=C, max_iter=MOST_ITERATIONS
    )


def chosen(X: NDArray, y: NDArray, size: int, plan: Plan) -> tuple[float, float, float]:
    """C and strength by inner folds with a screen of their own, and their score."""
    folds = StratifiedKFold(plan.folds, shuffle=True, random_state=0)
    scores = dict.fromkeys(product(plan.C, plan.strengths), 0.0)
    for train, test in folds.split(X, y):
        columns = screen(X[train], y[train], size)
        rows, new = X[np.ix_(train, columns)], X[np.ix_(test, columns)]
        for pair in scores:
            fitted = machine(*pair).fit(rows, y[train])
            scores[pair] += float((fitted.predict(new) == y[test]).mean()) / plan.folds
    best = max(scores, key=scores.__getitem__)
    return *best, scores[best]


def run(plan: Plan, size: int) -> dict[str, Any]:
    """Both machines on the same features, chosen on training rows and scored on the others."""
    start_worker()
    shared, rest = load_shared("madelon", "train"), load_shared("madelon", "rest")
    assert shared is not None
    assert rest is not None
    X, y = shared[0][: plan.rows], shared[1][: plan.rows]
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # iteration limits within the grid
        C, strength, score = chosen(X, y, size, plan)
        columns = screen(X, y, size)
        model = machine(C, strength).fit(X[:, columns], y)
        middle = time.process_time()
        joint = kp.PathCV(
            kp.LpKTASelector(**PUBLISHED_LP_KTA),
            predictor="joint_rbf",
            n_features=[size],
            cv=plan.folds,
        ).fit(X, y)
    ours = model.predict(rest[0][:, columns]) == rest[1]
    theirs = joint.predict(rest[0]) == rest[1]
    return {
        "size": size,
        "n_new": len(ours),
        "C": C,
        "strength": strength,
        "cv": score,
        "product": float(ours.mean()),
        "joint_rbf": float(theirs.mean()),
        "only_product": int((ours & ~theirs).sum()),
        "only_joint": int((theirs & ~ours).sum()),
        "n_used": int(model.support_.sum()),
        "status": model.status_,
        "residual": float(model.residual_),
        "n_svm": int(model.n_svm_),
        "product_seconds": middle - start,
        "joint_seconds": time.process_time() - middle,
        "cpu": time.process_time() - start,
    }


def free_choice(plan: Plan) -> dict[str, Any]:
    """The joint RBF kernel with the number of features that its own folds choose."""
    start_worker()
    shared, rest = load_shared("madelon", "train"), load_shared("madelon", "rest")
    assert shared is not None
    assert rest is not None
    start = time.process_time()
    joint = kp.PathCV(
        kp.LpKTASelector(**PUBLISHED_LP_KTA),
        predictor="joint_rbf",
        n_features=list(FREE_SIZES),
        cv=plan.folds,
    ).fit(shared[0][: plan.rows], shared[1][: plan.rows])
    return {
        "sizes": FREE_SIZES,
        "n_features": int(joint.operating_point_.n_features),
        "joint_rbf": float(joint.score(*rest)),
        "cpu": time.process_time() - start,
    }
