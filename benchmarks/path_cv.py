"""PathCV: Dorothea's whole path with an SVM at every point, Madelon, and GridSearchCV beside it."""

from __future__ import annotations

import time
import warnings

import matplotlib as mpl
import numpy as np
from scipy import sparse
from sklearn.datasets import load_breast_cancer
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KernelCenterer, MaxAbsScaler, StandardScaler
from sklearn.svm import SVC

import kernelpath as kp
from common import HERE, PUBLISHED_LP_KTA, Report, alternating, cpu_time, load_shared
from kernelpath.predictors.svm import Task, fit_svm

C = 1.0
N_SAMPLED = 60  # features from which the dense version is extrapolated
GAMMAS, VALUES_OF_C = (0.25, 1.0, 4.0), (1.0, 10.0, 100.0)


# -- Dorothea --------------------------------------------------------------------------------------


def our_path(X: sparse.csr_matrix, y: np.ndarray, X_new: sparse.csr_matrix) -> np.ndarray:
    """Weights, combined kernels, SVM and predictions at all 101 points."""
    path = kp.LpKTASelector(**PUBLISHED_LP_KTA).fit(X, y).path_
    task = Task("classification", np.unique(y))
    codes, labels = task.codes(y), np.empty((len(path), X_new.shape[0]))
    scale = X.shape[0] / path.weights.sum(axis=1)
    for i, kernel in enumerate(kp.combined_kernels(path, X, X_new=X_new)):
        svm = fit_svm(kernel.train, codes, task, C=C * scale[i])
        labels[i] = task.classes[svm.predict(kernel.new[:, svm.support])]
    return labels


def scipy_path(X: sparse.csr_matrix, y: np.ndarray, X_new: sparse.csr_matrix) -> np.ndarray:
    """The same with SciPy and NumPy only, for columns of zeros and ones, as one would write it."""
    n = X.shape[0]
    ones = np.asarray(X.sum(axis=0)).ravel()
    centred = y - y.mean()
    usable = np.flatnonzero((ones > 0) & (ones < n))
    alignments = n * (centred @ X)[usable] ** 2 / (ones * (n - ones))[usable]
    strength, norm = alignments.max(), 0.1 * alignments.max()
    columns, new_columns = X.tocsc()[:, usable], X_new.tocsc()[:, usable]
    trace = (ones * (n - ones) / n)[usable]
    distinct, place = np.unique(alignments, return_inverse=True)  # few: counts of ones decide
    solved = np.full(len(distinct), 0.5)
    labels = np.empty((101, X_new.shape[0]))
    for i, p in enumerate(np.round(np.linspace(2.0, 1.0, 101), 12)):
        solved = scipy_weights(distinct, strength, norm, p, solved)
        weights = solved[place]
        active = np.flatnonzero(weights > 1e-3)
        scaled = sparse.diags_array(weights[active] / trace[active])
        rows, new_rows = columns[:, active].tocsr(), new_columns[:, active].tocsr()
        kernel = (rows @ scaled @ rows.T).toarray()
        new = (new_rows @ scaled @ rows.T).toarray()
        scale = n / weights[active].sum()
        labels[i] = SVC(kernel="precomputed", C=C).fit(scale * kernel, y).predict(scale * new)
    return labels


def scipy_weights(
    a: np.ndarray, strength: float, norm: float, p: float, start: np.ndarray
) -> np.ndarray:
    """Weights by Newton steps in the logarithm, warm started."""
    if p == 1.0:
        return np.maximum(a - norm, 0.0) / (2.0 * strength)
    log = np.log(np.maximum(start, 1e-12))
    for _ in range(50):
        weight = np.exp(log)
        value = 2.0 * strength * weight + norm * p * weight ** (p - 1.0) - a
        slope = 2.0 * strength * weight + norm * p * (p - 1.0) * weight ** (p - 1.0)
        step = np.clip(value / slope, -2.0, 2.0)
        log -= step
        if np.abs(step).max() < 1e-10:
            break
    return np.exp(log)


def dense_seconds(X: sparse.csr_matrix, y: np.ndarray, pairs: int, n_features: int) -> float:
    """One dense centred kernel per feature and point: extrapolated from some features."""
    rng = np.random.default_rng(0)
    counts = np.asarray(X.sum(axis=0)).ravel()
    some = rng.choice(np.flatnonzero((counts > 0) & (counts < len(y))), N_SAMPLED, replace=False)
    columns = X.tocsc()[:, some].toarray()

    def one_kernel_each() -> float:
        total = 0.0
        for column in columns.T[:, :, None]:
            K = KernelCenterer().fit_transform(rbf_kernel(column, gamma=0.5 / column.var()))
            total += y @ K @ y / K.trace()
        return total

    return cpu_time(one_kernel_each, repeats=2) / N_SAMPLED * (pairs + n_features)


def dorothea(report: Report) -> None:
    shared = load_shared("dorothea", "train")
    if shared is None:
        report.note("dorothea is not here: its rows were left out")
        return
    X, y = shared
    X, y = X.tocsr(), y.astype(float)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    train, test = next(iter(folds.split(np.zeros(len(y)), y)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # empty columns are reported
        path = kp.LpKTASelector(**PUBLISHED_LP_KTA).fit(X[train], y[train]).path_
        times = alternating(
            {
                "ours": lambda: our_path(X[train], y[train], X[test]),
                "scipy": lambda: scipy_path(X[train], y[train], X[test]),
            },
            repeats=5,
        )
        same = our_path(X[train], y[train], X[test]) == scipy_path(X[train], y[train], X[test])
    report.add(
        "dorothea, published ranking, one fold (640 + 160 rows): path, 101 kernels, SVMs, labels",
        f"{times['ours']:.2f} s", "<= 2 s", times["ours"] <= 2,
    )  # fmt: skip
    ratio = times["scipy"] / times["ours"]
    report.add("a sensible SciPy version against it", f"{ratio:.1f}x", ">= 3x", ratio >= 3)
    usable = path.extension.n_usable
    dense = dense_seconds(X[train], y[train], int(path.n_selected.sum()), usable)
    ratio = dense / times["ours"]
    report.add(
        f"one dense kernel per feature and point (extrapolated from {N_SAMPLED} features)",
        f"{ratio:,.0f}x", ">= 1,000x", ratio >= 1000,
    )  # fmt: skip
    report.note(
        f"dense version, extrapolated: {dense / 3600:.1f} h. The paper reports 21 to 36 minutes "
        "for a path on its machine of 2014, which is not like for like."
    )
    report.note(f"predictions equal to those of the SciPy version: {100 * same.mean():.2f} %")


# -- Madelon ---------------------------------------------------------------------------------------


def madelon(report: Report) -> None:
    shared, rest = load_shared("madelon", "train"), load_shared("madelon", "rest")
    if shared is None or rest is None:
        report.note("madelon is not here: its rows were left out")
        return
    start = time.process_time()
    model = kp.PathCV(kp.LpKTASelector()).fit(*shared)
    seconds = time.process_time() - start
    point, accuracy = model.operating_point_, model.score(*rest)
    report.add(
        f"madelon, defaults, accuracy on the 600 rows held out, {point.n_features} features chosen",
        f"{100 * accuracy:.1f} %", ">= 88 %, <= 20", accuracy >= 0.88 and point.n_features <= 20,
    )  # fmt: skip
    report.note(
        f"madelon: cross-validated {100 * point.score:.1f} +- {100 * point.se:.1f} % at the chosen "
        f"point; predictor {point.predictor}; {model.plan_.total:,} models in {seconds:.0f} s"
    )
    report.add("madelon, the whole of PathCV", f"{seconds:.0f} s", "", None)
    best, size = forest_ranking(model)
    report.note(
        f"madelon, forest ranking with the same predictor: best {100 * best:.1f} % at {size} "
        f"features; lp-KTA best {100 * model.scores_.mean.max():.1f} % at "
        f"{model.scores_.n_features[model.scores_.best()]}"
    )


def forest_ranking(model: kp.PathCV) -> tuple[float, int]:
    """Best score of the forest ranking on the same folds, and where it is."""
    mpl.use("Agg")
    axes = model.plot(baselines=("forest",))
    axes.figure.savefig(HERE.parent / "docs" / "images" / "madelon.png", dpi=150)
    scores = model.baseline_scores_["forest"]
    return float(scores.mean[scores.best()]), int(scores.n_features[scores.best()])


# -- the lines of the README, and many rows --------------------------------------------------------


def readme_lines(report: Report) -> None:
    data = kp.datasets.make_wide(n_samples=500, n_features=2000, random_state=0)
    start = time.process_time()
    model = kp.PathCV(kp.LpKTASelector(), cv=5, rule="one_se").fit(data.X, data.y)
    seconds = time.process_time() - start
    report.add(
        f"the lines of the README: 500 x 2,000, {len(model.scores_.n_features)} sizes, 5 folds",
        f"{seconds:.0f} s", "", None,
    )  # fmt: skip
    mpl.use("Agg")
    for baseline in ("f_test", "forest"):
        start = time.process_time()
        model.plot(baselines=(baseline,))
        seconds = time.process_time() - start
        report.add(f"... and the ranking {baseline} beside it", f"{seconds:.0f} s", "", None)


def many_rows(report: Report) -> None:
    """More training rows than a kernel matrix is made for: explicit maps and a linear SVM."""
    shared = load_shared("a9a")
    if shared is None:
        report.note("a9a is not here: its row was left out")
        return
    X, y = shared
    start = time.process_time()
    model = kp.PathCV(kp.LpKTASelector(), cv=2, n_features=[5, 20, 60]).fit(X, y)
    seconds = time.process_time() - start
    report.add(
        f"a9a, {X.shape[0]:,} x {X.shape[1]}, sizes 5, 20 and 60, 2 folds: all of PathCV",
        f"{seconds:.0f} s", "", None,
    )  # fmt: skip
    found = ", ".join(f"{100 * score:.1f}" for score in model.scores_.mean)
    report.note(f"a9a: {found} % at 5, 20 and 60 features; {100 * np.mean(y <= 0):.1f} % is chance")


# -- GridSearchCV ----------------------------------------------------------------------------------


def grid_searches(X: object, y: np.ndarray, sizes: list[int], scaler: object) -> None:
    """One GridSearchCV per size, scored in the same outer folds, refitted on all rows."""
    outer = StratifiedKFold(5, shuffle=True, random_state=0)
    inner = StratifiedKFold(3, shuffle=True, random_state=0)
    for k in sizes:
        grid = {"svc__gamma": [g / k for g in GAMMAS], "svc__C": VALUES_OF_C}
        selector = kp.LpKTASelector(n_features_to_select=k)
        search = GridSearchCV(make_pipeline(selector, scaler, SVC()), grid, cv=inner)
        cross_val_score(search, X, y, cv=outer)
        search.fit(X, y)


def bare_grid_searches(X: np.ndarray, y: np.ndarray, sizes: list[int], scaler: object) -> None:
    """The same, but the path is traced once per outer fold and its columns are taken for free."""
    outer = StratifiedKFold(5, shuffle=True, random_state=0)
    inner = StratifiedKFold(3, shuffle=True, random_state=0)
    parts = [*outer.split(X, y), (np.arange(len(y)), np.arange(1))]
    for train, test in parts:
        order = kp.LpKTASelector().fit(X[train], y[train]).path_.entry_order()
        for k in sizes:
            grid = {"svc__gamma": [g / k for g in GAMMAS], "svc__C": VALUES_OF_C}
            search = GridSearchCV(make_pipeline(scaler, SVC()), grid, cv=inner)
            columns = np.sort(order[:k])
            search.fit(X[train][:, columns], y[train]).score(X[test][:, columns], y[test])


def path_cv(X: object, y: np.ndarray, sizes: list[int]) -> None:
    predictor = kp.JointRBFSVM(gamma=GAMMAS, C=VALUES_OF_C)
    kp.PathCV(kp.LpKTASelector(), predictor=predictor, n_features=sizes).fit(X, y)


def against_grid_search(report: Report) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    wide = kp.datasets.make_wide(n_samples=200, n_features=2000, random_state=0)
    cases = [
        ("breast cancer 569 x 30, sizes 1 to 10", X, y, list(range(1, 11)), StandardScaler()),
        ("the same, one size", X, y, [5], StandardScaler()),
        ("simulated 200 x 2,000, sizes 1 to 2,000", wide.X, wide.y,
         [1, 2, 5, 10, 30, 100, 500, 2000], StandardScaler()),
    ]  # fmt: skip
    for name in ("madelon", "relathe"):
        shared = load_shared(name)
        if shared is None:
            report.note(f"{name} is not here: its row was left out")
            continue
        rows = np.linspace(0, len(shared[1]) - 1, 600).astype(int)  # some are sorted by class
        X, y = shared[0][rows], shared[1][rows]
        scaler = MaxAbsScaler() if sparse.issparse(X) else StandardScaler()
        text = f"{name}, 600 rows, sizes 5, 13, 50, 200"
        cases.append((text, X, y, [5, 13, 50, 200], scaler))
    for name, X, y, sizes, scaler in cases:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # columns constant in a fold
            path_cv(X, y, sizes[:1])  # compile
            start = time.process_time()
            path_cv(X, y, sizes)
            ours = time.process_time() - start
            theirs = []
            for searches in (grid_searches, bare_grid_searches):
                start = time.process_time()
                searches(X, y, sizes, scaler)
                theirs.append(time.process_time() - start)
        report.add(
            f"PathCV against one GridSearchCV per size, same grid: {name}",
            f"{ours / theirs[0]:.2f}x", "<= 1x", ours <= theirs[0],
        )  # fmt: skip
        report.add(
            "... with the path traced only once per outer fold on their side",
            f"{ours / theirs[1]:.2f}x", "<= 1x", ours <= theirs[1],
        )  # fmt: skip


def main() -> None:
    report = Report("path_cv", "PathCV: Dorothea, Madelon, GridSearchCV, many rows")
    print(report.title)
    dorothea(report)
    against_grid_search(report)
    readme_lines(report)
    many_rows(report)
    madelon(report)
    report.save()


if __name__ == "__main__":
    main()
