"""Small problems, spies and one-setting predictors for the tests of PathCV."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.feature_selection import f_classif
from sklearn.naive_bayes import GaussianNB

import kernelpath as kp

JOINT = kp.JointRBFSVM(gamma=(1.0,), C=(10.0,))  # one setting: nothing to tune
WEIGHTED = kp.WeightedKernelSVM(C=(10.0,))


def ring(n=80, d=6, seed=80):
    """Two classes; columns 1 and 3 matter, without linear relation to the target."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X[:, 1] ** 2 + X[:, 3] ** 2 > 1.5).astype(int)


def three_classes(n=90, d=6, seed=81):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    noisy = X[:, 2] + 0.3 * rng.normal(size=n)
    return X, np.array(["low", "mid", "top"])[np.digitize(noisy, [-0.5, 0.5])]


def curve(n=80, d=6, seed=82):
    """A continuous target from columns 0 and 2."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X[:, 0] ** 2 + np.sin(2 * X[:, 2]) + 0.1 * rng.normal(size=n)


def counts(n=80, d=6, seed=83):
    """A sparse table of counts."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.7, (n, d)).astype(float)
    return X, (X[:, 2] + 0.3 * rng.normal(size=n) > 0.5).astype(int)


def path_cv(selector=None, **options):
    """PathCV that is quick: two folds, two sizes, one setting, no references."""
    quick = {"cv": 2, "n_features": [1, 2], "predictor": JOINT, "references": False}
    return kp.PathCV(selector, **quick | options)


def same_scores(a, b):
    np.testing.assert_array_equal(a.n_features, b.n_features)
    np.testing.assert_array_equal(a.per_fold, b.per_fold)
    assert a.predictors == b.predictors
    for one, other in zip(a.supports, b.supports):
        np.testing.assert_array_equal(one.toarray(), other.toarray())


LOG: list = []
"""What the spies saw; a list of the module, because PathCV clones what it is given."""


STOP: dict = {}  # kind -> function that says whether to stop now


def note(kind, *what):
    """Write something down, or behave as if the user had pressed Ctrl-C."""
    if kind in STOP and STOP[kind]():
        raise KeyboardInterrupt
    LOG.append((kind, *what))


class Spy(BaseEstimator):
    """Ranks by F and writes down the row numbers, which column 0 holds."""

    def fit(self, X, y):
        note("trace", np.asarray(X)[:, 0].astype(int), np.asarray(y))
        self.scores_ = f_classif(np.asarray(X)[:, 1:], y)[0]
        self.scores_ = np.concatenate([[-1.0], self.scores_])
        return self


class SpyNB(ClassifierMixin, BaseEstimator):
    """Naive Bayes that counts its fits."""

    def fit(self, X, y):
        note("fit", np.asarray(X).shape, np.asarray(y))
        self.model_ = GaussianNB().fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        return self.model_.predict(X)


def traces():
    return sum(kind == "trace" for kind, *_ in LOG)


def fits():
    return sum(kind == "fit" for kind, *_ in LOG)


def numbered(n=60, d=6, seed=84):
    """A problem whose column 0 is the number of the row."""
    X, _ = ring(n, d, seed)
    return np.column_stack([np.arange(n), X]), (X[:, 2] + 0.5 * X[:, 4] > 0).astype(int)
