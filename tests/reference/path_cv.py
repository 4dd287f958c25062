"""The slow, obvious twin of PathCV: loops over folds, sizes and settings, one kernel per feature.

Nothing of the package is used but the order of the features, which has a twin of its own.
"""

from __future__ import annotations

import numpy as np
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from reference.alignment import align
from reference.lp_kta import optimal_weight

TUNING_GROWTH, LAST_GROWTH = 2.0, 1.4
EPSILON = 0.1
TOLERANCE = 1e-8  # of the solver


def rbf(x, z, gamma):
    """Kernel of one feature, entry by entry."""
    return np.array([[np.exp(-gamma * (a - b) ** 2) for b in z] for a in x])


def centred(K, K_new, share):
    """``H K H'`` with the weighted ``H = I - 1 s'``; new rows centred with the training rows."""
    n = len(K)
    H = np.eye(n) - np.outer(np.ones(n), share)
    return H @ K @ H.T, (K_new - np.outer(np.ones(len(K_new)), share @ K)) @ H.T


def weighted_kernels(X, X_new, weights, sample_weight=None, gamma=None, each_width=None):
    """Sum of centred kernels of trace 1, scaled to mean diagonal 1; new rows against old."""
    n = len(X)
    counts = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    share = counts / counts.sum()
    total, total_new = np.zeros((n, n)), np.zeros((len(X_new), n))
    weights = np.asarray(weights) / np.sum(weights)
    for j, weight in enumerate(weights):
        x = X[:, j]
        variance = share @ (x - share @ x) ** 2
        factor = 1.0 if each_width is None else each_width[j]
        width = 1 / (2 * factor**2 * variance) if gamma is None else gamma[j]
        K, K_new = centred(rbf(x, x, width), rbf(X_new[:, j], x, width), share)
        trace = counts @ np.diag(K)
        total += weight * counts.sum() * K / trace
        total_new += weight * counts.sum() * K_new / trace
    return total, total_new


def standardised_target(y, sample_weight=None):
    mean = np.average(y, weights=sample_weight)
    return mean, np.sqrt(np.average((y - mean) ** 2, weights=sample_weight))


class WeightedKernel:
    """SVC or SVR on a precomputed sum of kernels."""

    def __init__(self, C, weights, task="classification", class_weight=None, each_width=None):
        self.C, self.weights, self.task, self.class_weight = C, weights, task, class_weight
        self.each_width = each_width

    def fit(self, X, y, sample_weight=None):
        self.X, self.sample_weight = X, sample_weight
        K, _ = weighted_kernels(X, X[:1], self.weights, sample_weight, None, self.each_width)
        if self.task == "regression":
            self.mean, self.scale = standardised_target(y, sample_weight)
            self.svm = SVR(kernel="precomputed", C=self.C, epsilon=EPSILON, tol=TOLERANCE)
            self.svm.fit(K, (y - self.mean) / self.scale, sample_weight=sample_weight)
        else:
            self.svm = SVC(
                kernel="precomputed",
                C=self.C,
                class_weight=self.class_weight,
                break_ties=True,
                tol=TOLERANCE,
            )
            self.svm.fit(K, y, sample_weight=sample_weight)
        return self

    def kernel(self, X_new):
        given = (self.weights, self.sample_weight, None, self.each_width)
        return weighted_kernels(self.X, X_new, *given)[1]

    def predict(self, X_new):
        outcome = self.svm.predict(self.kernel(X_new))
        return self.mean + self.scale * outcome if self.task == "regression" else outcome

    def decision_function(self, X_new):
        return self.svm.decision_function(self.kernel(X_new))


class JointRBF:
    """scikit-learn's own RBF machine on standardised columns."""

    def __init__(self, C, gamma, n_columns, task="classification", class_weight=None):
        self.task = task
        rate = gamma / n_columns
        if task == "regression":
            svm = SVR(kernel="rbf", C=C, gamma=rate, epsilon=EPSILON, tol=TOLERANCE)
        else:
            svm = SVC(
                kernel="rbf",
                C=C,
                gamma=rate,
                class_weight=class_weight,
                break_ties=True,
                tol=TOLERANCE,
            )
        self.pipeline = make_pipeline(StandardScaler(), svm)

    def fit(self, X, y, sample_weight=None):
        if self.task == "regression":
            self.mean, self.scale = standardised_target(y, sample_weight)
            y = (y - self.mean) / self.scale
        name = self.pipeline.steps[-1][0]
        params = {} if sample_weight is None else {
            "standardscaler__sample_weight": sample_weight, f"{name}__sample_weight": sample_weight
        }  # fmt: skip
        self.pipeline.fit(X, y, **params)
        return self

    def predict(self, X_new):
        outcome = self.pipeline.predict(X_new)
        return self.mean + self.scale * outcome if self.task == "regression" else outcome

    def decision_function(self, X_new):
        return self.pipeline.decision_function(X_new)


def chosen(X, y, k, task):
    """The k best alignments (default strengths), and their weights at the juncture where k stay.

    Default settings: lambda_1 the largest alignment, lambda_2 a tenth of it, features with a
    weight of at most 1e-3 out.  Beyond the ends of the p range the nearest end gives the weights.
    """
    a = align(X, y, task=task)
    columns = np.sort(np.argsort(-a, kind="stable")[:k])
    return columns, a


def weights_at(a, columns, p):
    top = a.max()
    return np.array([optimal_weight(a[j], p, top, 0.1 * top) for j in columns])


def candidates_of(predictor):
    """Settings in the order of preference."""
    if predictor == "joint_rbf":
        return [{"gamma": g, "C": C} for g in (1.0, 0.25, 4.0) for C in (10.0, 1.0, 100.0)]
    return [{"C": C} for C in (1.0, 0.1, 10.0, 100.0)]


def tuning_sizes(sizes):
    wanted = []
    for k in sizes:
        if not wanted or k >= TUNING_GROWTH * wanted[-1]:
            wanted.append(k)
    return [*wanted, sizes[-1]] if sizes[-1] >= LAST_GROWTH * wanted[-1] else wanted


def splitter(n_folds, task, seed=0):
    kind = StratifiedKFold if task == "classification" else KFold
    return kind(n_folds, shuffle=True, random_state=seed)


def make_model(name, setting, X, y, k, task, weigh):
    columns, a = chosen(X, y, k, task)
    if name == "joint_rbf":
        return columns, JointRBF(setting["C"], setting["gamma"], len(columns), task)
    return columns, WeightedKernel(setting["C"], weigh(X, y, a, columns), task)


def score_of(name, setting, X, y, train, test, k, task, weigh):
    columns, model = make_model(name, setting, X[train], y[train], k, task, weigh)
    model.fit(X[train][:, columns], y[train])
    outcome = model.predict(X[test][:, columns])
    return (r2_score if task == "regression" else accuracy_score)(y[test], outcome)


def _chance(known, held_out, task):
    """Score of the most frequent class, or of the mean."""
    if task == "classification":
        labels, counts = np.unique(known, return_counts=True)
        return np.mean(held_out == labels[counts.argmax()])
    errors = np.sum((held_out - known.mean()) ** 2)
    return 1.0 - errors / np.sum((held_out - held_out.mean()) ** 2)


def _left(scores, live, seen, chance):
    """Candidates of every size that are near the best there or at a size beside it."""
    near = []
    for k, left in live.items():
        means = [np.mean(scores[k, name, str(setting)][:seen]) for name, setting in left]
        margin = 0.1 / seen * max(max(means) - chance, 0.0)
        good = [m >= max(means) - margin or margin == 0.0 for m in means]
        near.append([one for one, worth in zip(left, good) if worth])
    return {
        k: [one for one in left if any(one in some for some in near[max(i - 1, 0) : i + 2])]
        for i, (k, left) in enumerate(live.items())
    }


def path_cv_scores(X, y, sizes, names, *, n_folds, task, weigh=None, n_inner=3):
    """Score of every outer fold at every size, and what was chosen: (name, setting).

    After each inner fold a candidate is out at a size where it is worse, on average so far, than
    the best by more than a share of what that one gains over a constant prediction, and at the
    sizes beside it as well: a tenth after the first fold, a twentieth after the second.
    """
    candidates = [(name, setting) for name in names for setting in candidates_of(name)]
    per_fold, picks = [], []
    for train, test in splitter(n_folds, task).split(X, y):
        scores = {}
        for k in tuning_sizes(sizes):
            for name, setting in candidates:
                scores[k, name, str(setting)] = [
                    score_of(name, setting, X, y, train[a], train[b], k, task, weigh)
                    for a, b in splitter(n_inner, task).split(X[train], y[train])
                ]
        live = dict.fromkeys(tuning_sizes(sizes), candidates)
        a, b = next(splitter(n_inner, task).split(X[train], y[train]))
        chance = _chance(y[train[a]], y[train[b]], task)
        for seen in range(1, n_inner):
            live = _left(scores, live, seen, chance)
        best = {}
        for k, left in live.items():
            means = [np.sum(scores[k, name, str(setting)]) / n_inner for name, setting in left]
            best[k] = left[int(np.argmax(means))]
        row, chosen_row = [], []
        for k in sizes:
            nearest = min(best, key=lambda size: (abs(np.log(size) - np.log(k)), size))
            name, setting = best[nearest]
            row.append(score_of(name, setting, X, y, train, test, k, task, weigh))
            chosen_row.append((name, setting))
        per_fold.append(row)
        picks.append(chosen_row)
    return np.array(per_fold), picks
