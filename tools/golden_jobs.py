"""The jobs of the golden comparison: fits of every method, and the texts of golden_texts.

A job is a function that gets a `Recorder` and writes what it finds.  Jobs use public names only,
so that they run in any work tree, however its modules are arranged; a name that an older tree may
lack is used inside the job, not when this file is imported.  A job must find the same at every run;
data are small, seeded and made here.

As a program: print the names of the jobs, then read lines of a name and a folder, run each job in
a process of its own and print how it ended.  Imports are done once, before the processes part.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from golden_record import Absent, Recorder, is_absent, words_of
from golden_texts import TEXT_JOBS
from sklearn.feature_selection import f_classif
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GroupKFold
from sklearn.svm import LinearSVC

import kernelpath as kp

Data = tuple[Any, Any]
Job = Callable[[Recorder], None]
JOINT = {"gamma": (1.0, 0.25), "C": (1.0, 10.0)}  # a small grid
NEW_ROWS = 7  # of the table itself, to predict

# -- tables ---------------------------------------------------------------------------------------


def _normal(n: int, d: int, seed: int) -> tuple[np.ndarray, np.random.Generator]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-2, 2, d), rng


def two_classes(n: int = 80, d: int = 10, seed: int = 1) -> Data:
    """Two classes by a ring in the columns 1 and 3."""
    X, _ = _normal(n, d, seed)
    Z = X / X.std(axis=0)
    return X, np.where(Z[:, 1] ** 2 + Z[:, 3] ** 2 > 1.5, "out", "in")


def many_classes(n: int = 90, d: int = 9, seed: int = 2) -> Data:
    """Four classes of unequal size along column 2."""
    X, rng = _normal(n, d, seed)
    z = X[:, 2] / X[:, 2].std() + 0.2 * rng.normal(size=n)
    return X, np.digitize(z, [-0.8, 0.0, 1.0])


def numbers(n: int = 80, d: int = 8, seed: int = 3) -> Data:
    """A number from the columns 0, 2 and, together, 4 and 5."""
    X, rng = _normal(n, d, seed)
    Z = X / X.std(axis=0)
    return X, 3 + Z[:, 0] ** 2 + np.sin(2 * Z[:, 2]) + Z[:, 4] * Z[:, 5] + 0.1 * rng.normal(size=n)


def sparse_counts(n: int = 90, d: int = 30, seed: int = 4) -> Data:
    """A sparse table of counts."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.4, (n, d)).astype(float)
    return sp.csr_array(X), (X[:, 2] + X[:, 7] + 0.3 * rng.normal(size=n) > 0.8).astype(int)


def frame(n: int = 80, seed: int = 5) -> Data:
    """A frame with numbers, whole numbers, text and categories."""
    X, rng = _normal(n, 4, seed)
    table = pd.DataFrame(X, columns=["age", "size", "dose", "noise"])
    table["town"] = np.array(["Ulm", "Bonn", "Jena"])[rng.integers(0, 3, n)]
    table["grade"] = pd.Categorical(rng.choice(list("abcd"), n), categories=list("dcba"))
    table["count"] = rng.integers(0, 5, n)
    y = (table["town"] == "Ulm") ^ (np.abs(table["dose"]) > table["dose"].std())
    return table, pd.Series(np.where(y, "sick", "well"))


def hard_columns(n: int = 70, seed: int = 6) -> Data:
    """Copies, mirrored and rounded columns, two values, constants, tiny and huge units."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, 4))
    columns = [z[:, 0], z[:, 0], -3.0 * z[:, 0], np.round(z[:, 1]), z[:, 1] > 0, np.ones(n)]
    columns += [np.zeros(n), 1e-150 * z[:, 2], 1e150 * z[:, 3], np.round(z[:, 2], 1)]
    return np.column_stack(columns), (np.abs(z[:, 0]) + 0.3 * z[:, 1] > 0.7).astype(int)


def row_weights(y: Any, seed: int = 7) -> np.ndarray:
    """Weights of rows, some of them 0."""
    return np.random.default_rng(seed).integers(0, 4, len(y)) * 0.5


def matrices(X: np.ndarray, rows: slice, train: slice) -> list[np.ndarray]:
    """One Gaussian kernel matrix for each column."""
    Z = X / X.std(axis=0)
    return [np.exp(-0.5 * np.subtract.outer(z[rows], z[train]) ** 2) for z in Z.T]


# -- what is written of a fit ---------------------------------------------------------------------


def first_rows(X: Any) -> Any:
    """Rows to predict."""
    return X.iloc[:NEW_ROWS] if hasattr(X, "iloc") else X[:NEW_ROWS]


def fitted(out: Recorder, model: Any, X: Any, y: Any, **fit: Any) -> Any:
    """Fit; write attributes, path and what the model says of a few rows."""
    with out.warned():
        model.fit(X, y, **fit)
        out.attributes(model)
        for name in ("transform", "predict", "decision_function", "predict_proba"):
            if hasattr(model, name):
                out.value(f"{name}()", getattr(model, name)(first_rows(X)))
    if hasattr(model, "path_"):
        out.value("path_frame", model.path_.to_frame())
        out.value("entry_order", list(model.path_.entry_order()))
        out.line(f"path repr {model.path_!r}")
    out.line(f"repr {model!r}")
    return model


def fit_of(model: Callable[[], Any], data: Callable[[], Data], weighted: bool = False) -> Job:
    """Job of one estimator on one table."""

    def run(out: Recorder) -> None:
        X, y = data()
        fitted(out, model(), X, y, **({"sample_weight": row_weights(y)} if weighted else {}))

    return run


def scored_fit_of(model: Callable[[], Any], data: Callable[[], Data], **fit: Any) -> Job:
    """Job of one PathCV on one table: with file, summary and page."""

    def run(out: Recorder) -> None:
        X, y = data()
        scored = fitted(out, model(), X, y, **fit)
        with out.warned("afterwards"):
            size = int(scored.scores_.n_features[0])
            out.value("predict(n_features)", scored.predict(first_rows(X), n_features=size))
            out.value("score", scored.score(X, y))
            out.value("best", scored.choose("best"))
            out.value("stability_frame", scored.stability_.to_frame())
            summary = scored.summary()
            out.value("summary", summary)
            out.text("page.html", kp.render_html(summary, title="golden"))
        try:
            scored.save(out.place("model.kpmodel"), n_features=size)
        except (ValueError, TypeError, NotImplementedError) as error:
            out.line(f"save: {words_of(error)}")
        else:
            again = kp.load_model(out.place("model.kpmodel"))
            out.value("loaded.predict", again.predict(first_rows(X)))
            out.line(f"loaded {again!r}")

    return run


# -- lp-KTA, alignments, combined kernels ---------------------------------------------------------

KERNELS = {
    **{name: name for name in ("rbf", "linear", "polynomial", "laplace", "delta")},
    "polynomial5": kp.Polynomial(5, 0.5),
}


def alignments(out: Recorder) -> None:
    """Alignments with every kernel, method and form of table."""
    tables = {"two": two_classes(), "many": many_classes(), "numbers": numbers()}
    tables |= {"sparse": sparse_counts(), "hard": hard_columns()}
    with out.warned():
        for table, (X, y) in tables.items():
            for name, kernel in KERNELS.items():
                for method in ("auto", "exact"):
                    key = f"{table}.{name}.{method}"
                    try:
                        out.value(key, kp.alignments(X, y, kernel=kernel, method=method))
                    except ValueError as error:
                        out.line(f"{key}: {words_of(error)}")


def alignments_options(out: Recorder) -> None:
    """Widths, weights, float32, column order, frames."""
    X, y = two_classes()
    Z, town = frame()
    with out.warned():
        out.value("median", kp.alignments(X, y, bandwidth="median"))
        out.value("gamma", kp.alignments(X, y, gamma=0.5))
        out.value("gammas", kp.alignments(X, y, kernel="laplace", gamma=np.arange(1.0, 11.0)))
        out.value("weights", kp.alignments(X, y, sample_weight=row_weights(y)))
        out.value("float32", kp.alignments(X.astype(np.float32), y))
        out.value("fortran", kp.alignments(np.asfortranarray(X), y))
        out.value("regression", kp.alignments(X, (y == "in") * 2.0, task="regression"))
        out.value("frame", kp.alignments(Z, town, kernel="auto"))
        out.value("loose", kp.alignments(X, y, tol=1e-3, method="fast"))
        wide = kp.datasets.make_wide(n_samples=300, n_features=400, random_state=1)
        out.value("wide", kp.alignments(wide.X, wide.y))


def joint_targets(out: Recorder) -> None:
    """Several columns and survival times: residuals, alignments, a path and its scores."""
    X, y = numbers()
    rng = np.random.default_rng(13)
    times = list(zip(rng.random(len(y)) < 0.7, np.round(np.exp(y / np.abs(y).max()), 1)))
    survival = np.array(times, dtype=[("event", bool), ("time", float)])
    out.value("residuals", kp.survival_target(survival))
    outputs = pd.DataFrame({"a": y, "b": y > 0, "c": rng.integers(0, 3, len(y)), "same": 1})
    with out.warned():
        for name, target in {"outputs": outputs, "survival": survival}.items():
            weights = row_weights(y)
            for kernel in KERNELS.values():
                out.value(f"{name}.{kernel}", kp.alignments(X, target, kernel=kernel))
            out.value(f"{name}.weights", kp.alignments(X, target, sample_weight=weights))
            out.value(f"{name}.path", kp.LpKTASelector(norm_strength="noise").fit(X, target).path_)
        scored = kp.PathCV(predictor=LinearRegression(), scoring="r2", cv=3)
        scored.fit(X, outputs[["a", "b"]])
        out.value("scores", scored.scores_.per_fold)
        out.value("predict", scored.predict(first_rows(X)))


def alignment_tests(out: Recorder) -> None:
    """P-values with every kernel and form of table."""
    tables = {"two": two_classes(), "many": many_classes(), "numbers": numbers()}
    tables |= {"sparse": sparse_counts(), "hard": hard_columns()}
    with out.warned():
        for table, (X, y) in tables.items():
            for name, kernel in KERNELS.items():
                for method in ("auto", "exact"):
                    _test(out, f"{table}.{name}.{method}", X, y, kernel=kernel, method=method)


def alignment_test_options(out: Recorder) -> None:
    """Widths, permutations, missing cells, frames, and alignments at several widths."""
    X, y = two_classes()
    holes = np.where(np.random.default_rng(8).random(X.shape) < 0.2, np.nan, X)
    with out.warned():
        _test(out, "std", X, y, bandwidth="std")
        _test(out, "median", X, y, bandwidth="median")
        _test(out, "tuple", X, y, bandwidth=(2.0, 0.3))
        _test(out, "gamma", X, y, bandwidth="std", gamma=np.arange(1.0, 11.0))
        _test(out, "float32", X.astype(np.float32), y)
        _test(out, "fortran", np.asfortranarray(X), y)
        _test(out, "holes", holes, y)
        _test(out, "sparse_holes", sp.csr_array(np.round(holes)), y)
        _test(out, "frame", *frame())
        _test(out, "refined", X, y, permutations=40, random_state=1)
        wide = kp.datasets.make_wide(n_samples=300, n_features=400, random_state=1)
        _test(out, "wide", wide.X, wide.y)
        _test(out, "wide_sparse", sp.csr_array(np.maximum(wide.X, 0.0)), wide.y)
        for name, (Z, target) in {"two": (X, y), "numbers": numbers()}.items():
            weights = row_weights(target)
            out.value(f"{name}.several", kp.alignments(Z, target, bandwidth="multi"))
            several = kp.alignments(Z, target, bandwidth="multi", sample_weight=weights)
            out.value(f"{name}.several.weights", several)


def alignment_test_family(out: Recorder) -> None:
    """The best of all features in permutations of the target."""
    for name, (X, y) in {"two": two_classes(), "numbers": numbers()}.items():
        test = kp.alignment_test(X, y, family_permutations=70, random_state=1)
        out.value(f"{name}.least", test.least_by_chance)
        out.value(f"{name}.max", test.adjusted("max"))


def _test(out: Recorder, key: str, X: Any, y: Any, **options: Any) -> None:
    """All that a test of the features says, or why there is none."""
    try:
        test = kp.alignment_test(X, y, **options)
    except ValueError as error:
        out.line(f"{key}: {words_of(error)}")
        return
    for name in ("alignment", "z", "log_p", "width", "gamma"):
        out.value(f"{key}.{name}", getattr(test, name))
    for method in ("bh", "by", "e-bh"):
        out.value(f"{key}.{method}", test.adjusted(method))
        out.value(f"{key}.{method}.discoveries", test.discoveries(0.1, method))
    out.line(f"{key}: {test!r}")


def combined(out: Recorder) -> None:
    """Kernel matrices along a path, old and new rows, both precisions."""
    for name, (X, y) in {"dense": two_classes(), "sparse": sparse_counts()}.items():
        train, new = X[:60], X[60:]
        for kernel in ("rbf", "linear", "laplace", "delta"):
            path = kp.LpKTASelector(kernel=kernel, step=0.25).fit(train, y[:60]).path_
            for precision in ("double", "single"):
                options = {"X_new": new, "positions": [0, -1], "precision": precision}
                for place, one in enumerate(kp.combined_kernels(path, train, **options)):
                    out.value(f"{name}.{kernel}.{precision}.{place}.train", one.train)
                    out.value(f"{name}.{kernel}.{precision}.{place}.new", one.new)


def lp_kta(**options: Any) -> Callable[[], Any]:
    """A selector to be made in the job."""
    return lambda: kp.LpKTASelector(**options)


def additive(**options: Any) -> Callable[[], Any]:
    """The same for the additive path."""
    return lambda: kp.AdditivePathSelector(**options)


def lp_kta_points(out: Recorder) -> None:
    """Points, events, frame and summary of a path, and the path read back."""
    X, y = hard_columns()
    with out.warned():
        path = kp.LpKTASelector(norm_strength=0.7).fit(X, y).path_
    for size in (1, 2, 5):
        out.line(f"at {size}: {path.at(n_features=size)!r}")
        out.value(f"at{size}.weights", path.at(n_features=size).weights)
    for event in path.events:
        out.line(f"{event!r}")
    out.value("nested", path.is_nested)
    out.value("summary", path.summary())
    out.value("summary_of_data", path.summary(X, y))
    path.save(out.place("saved.kpath"))
    out.value("equal", kp.load_path(out.place("saved.kpath")) == path)


LP_KTA = {
    "rbf": fit_of(lp_kta(), two_classes),
    "linear": fit_of(lp_kta(kernel="linear"), numbers),
    "polynomial": fit_of(lp_kta(kernel="polynomial", n_features_to_select=3), two_classes),
    "laplace": fit_of(lp_kta(kernel="laplace", bandwidth="median"), many_classes),
    "delta": fit_of(lp_kta(kernel="delta", n_features_to_select=0.2), sparse_counts),
    "auto_frame": fit_of(lp_kta(kernel="auto", n_features_to_select=4), frame),
    "gamma": fit_of(lp_kta(gamma=2.0, solver="predictor_corrector"), two_classes),
    "constraints": fit_of(
        lp_kta(must_include=[7], feature_groups=[[0, 3], [1, 2]], costs={"x4": 2.0}), two_classes
    ),
    "many_classes": fit_of(lp_kta(), many_classes),
    "numbers": fit_of(lp_kta(), numbers),
    "sparse": fit_of(lp_kta(), sparse_counts),
    "weights": fit_of(lp_kta(), two_classes, weighted=True),
    "hard_columns": fit_of(lp_kta(n_features_to_select=5), hard_columns),
    "kl": fit_of(lp_kta(divergence="kl", p_start=1.8, step=0.02), two_classes),
    "second_order": fit_of(
        lp_kta(divergence=kp.GeneralizedKL(), solver="predictor_corrector", predictor_order=2),
        numbers,
    ),
    "norm_only": fit_of(lp_kta(bregman_strength=0, norm_strength=5.0), two_classes),
    "noise": fit_of(lp_kta(norm_strength="noise", random_state=3), many_classes),
    "reference": fit_of(lp_kta(reference=0.05, elimination_tol=0.01), two_classes),
    "wide": fit_of(lp_kta(), lambda: _simulated(kp.datasets.make_wide(200, 3000, 8))),
    "points": lp_kta_points,
}


ADDITIVE = {
    "two_classes": fit_of(additive(), two_classes),
    "many_classes": fit_of(additive(ridge=0.5), many_classes),
    "numbers": fit_of(additive(bandwidth="multi", max_features=8), numbers),
    "auto_frame": fit_of(additive(n_features_to_select=4), frame),
    "sparse": fit_of(additive(), sparse_counts),
    "weights": fit_of(additive(), two_classes, weighted=True),
    "constraints": fit_of(additive(must_include=[7], feature_groups=[[0, 3]]), two_classes),
    "wide": fit_of(additive(), lambda: _simulated(kp.datasets.make_wide(100, 2000, 8))),
}


def _simulated(data: Any) -> Data:
    return data.X, data.y


# -- GMKL -----------------------------------------------------------------------------------------


def classifier(*given: Any, **options: Any) -> Callable[[], Any]:
    """A classifier to be made in the job."""
    return lambda: kp.GMKLClassifier(*given, **options)


def regressor(*given: Any, **options: Any) -> Callable[[], Any]:
    """A regressor to be made in the job."""
    return lambda: kp.GMKLRegressor(*given, **options)


def gmkl_presets(out: Recorder) -> None:
    """Every preset, with classes and numbers."""
    names = ("simple_mkl", "lp_mkl", "product_l1", "uniform", "centered_kta", "square_loss_lp_mkl")
    X, y = two_classes(60, 6)
    target = numbers(60, 6)
    with out.warned():
        for name in names:
            out.attributes(kp.GMKLClassifier.preset(name, C=5.0).fit(X, y), f"{name}.")
            out.attributes(kp.GMKLRegressor.preset(name, C=5.0).fit(*target), f"{name}.numbers.")


def gmkl_precomputed(out: Recorder) -> None:
    """Kernel matrices in the place of a table."""
    X, y = two_classes()
    train, new = slice(0, 60), slice(60, 80)
    given = np.linspace(0.1, 1.0, X.shape[1])
    for name, weights in {"learn": "learn", "given": given}.items():
        model = kp.GMKLClassifier(kernel="precomputed", weights=weights)
        model.fit(matrices(X, train, train), y[train])
        out.attributes(model, f"{name}.")
        out.value(f"{name}.values", model.decision_function(matrices(X, new, train)))


def gmkl_solvers(out: Recorder) -> None:
    """Every solver, and every cost of the weights."""
    X, y = two_classes(60, 8)
    with out.warned():
        for solver in ("spg", "pgd", "newton", "alternation", "working_set"):
            model = kp.GMKLClassifier(solver=solver, regularizer=kp.Lp(1.5, 2.0))
            out.said(f"{solver}.fit", lambda model=model: model.fit(X, y))
            out.attributes(model, f"{solver}.")
        for cost in (kp.L1(3.0), kp.Lp(2.0), kp.ElasticNet(2.0, 0.3), kp.MixedNorm([0, 1] * 4)):
            name = type(cost).__name__
            out.attributes(kp.GMKLClassifier(regularizer=cost).fit(X, y), f"{name}.")
        sets = (kp.Simplex(2.0), kp.CappedSimplex(2.0, 0.8), kp.Box(0.0, 0.5), kp.LpBall(2.0, 1.5))
        for feasible in sets:
            model = kp.GMKLClassifier(regularizer=kp.NoRegularizer(), feasible=feasible)
            out.said(f"{type(feasible).__name__}.fit", lambda model=model: model.fit(X, y))
            out.attributes(model, f"{type(feasible).__name__}.")


GMKL = {
    "sum": fit_of(classifier(), two_classes),
    "sum_numbers": fit_of(regressor(C=3.0, epsilon=0.05), numbers),
    "sum_many_classes": fit_of(classifier(base_kernel="linear"), many_classes),
    "sum_frame": fit_of(classifier(base_kernel="auto"), frame),
    "sum_sparse": fit_of(classifier(base_kernel="laplace"), sparse_counts),
    "sum_weights": fit_of(classifier(), two_classes, weighted=True),
    "product": fit_of(classifier("product", n_init=2, random_state=0), two_classes),
    "product_numbers": fit_of(regressor("product"), numbers),
    "polynomial": fit_of(classifier("polynomial"), two_classes),
    "bandwidths": fit_of(classifier(base_kernel="bandwidths"), two_classes),
    "strengths": fit_of(classifier(strengths=8, n_features_to_select=3), two_classes),
    "strengths_product": fit_of(classifier("product", strengths=4, tol=1e-2), two_classes),
    "exponents": fit_of(regressor(exponents=5, regularizer=kp.Lp(2.0)), numbers),
    "least_squares": fit_of(regressor(loss="least_squares"), numbers),
    "squared_hinge": fit_of(classifier(loss="squared_hinge"), many_classes),
    "huber_hinge": fit_of(classifier(loss="huber_hinge"), hard_columns),
    "nystrom": fit_of(classifier(nystrom=15, random_state=1), two_classes),
    "constraints": fit_of(
        classifier(strengths=4, feature_groups=[[0, 3]], must_include=[5]), two_classes
    ),
    "presets": gmkl_presets,
    "precomputed": gmkl_precomputed,
    "solvers_and_costs": gmkl_solvers,
}

# -- NMMKL, L1KR, baselines -----------------------------------------------------------------------


def nmmkl(*given: Any, **options: Any) -> Callable[[], Any]:
    """A selector to be made in the job."""
    return lambda: kp.NMMKLSelector(*given, **options)


NMMKL = {
    "linear": fit_of(nmmkl([1, 2, 4]), two_classes),
    "rbf": fit_of(nmmkl([1, 2, 3, 5], kernel="rbf"), two_classes),
    "numbers": fit_of(nmmkl("all", kernel="laplace", ridge=0.5), numbers),
    "default_numbers": fit_of(nmmkl(), numbers),
    "sparse": fit_of(nmmkl(3, rounding="weights"), sparse_counts),
    "frame": fit_of(nmmkl([1, 3], kernel="auto"), frame),
    "paper": fit_of(nmmkl([2, 4], rounding="paper", ridge=0.0), two_classes),
    "groups": fit_of(nmmkl(2, groups=list("aabbccddee"), must_include=[3]), two_classes),
    "hard_columns": fit_of(nmmkl([1, 2, 3]), hard_columns),
    "solvers": lambda out: _nmmkl_solvers(out),
}


JOINT_PATH = {
    "classes": fit_of(lambda: kp.JointPathSelector(3), two_classes),
    "numbers": fit_of(lambda: kp.JointPathSelector(kernel="anova"), numbers),
    "frame": fit_of(lambda: kp.JointPathSelector(2), frame),
    "sparse": fit_of(lambda: kp.JointPathSelector(2, max_columns=12), sparse_counts),
}


def _nmmkl_solvers(out: Recorder) -> None:
    X, y = two_classes(60, 8)
    for solver in ("newton", "spg", "pgd", "working_set", "primal"):
        model = kp.NMMKLSelector([1, 3], solver=solver)
        out.said(f"{solver}.fit", lambda model=model: model.fit(X, y))
        out.attributes(model, f"{solver}.")


def _small_numbers() -> Data:
    return numbers(40, 6)


def _small_classes() -> Data:
    return two_classes(40, 5)


def l1kr(cls: str, **options: Any) -> Callable[[], Any]:
    """An estimator to be made in the job."""
    return lambda: getattr(kp, cls)(**options)


L1KR = {
    "numbers": fit_of(l1kr("L1KRRegressor", norm_budget=0.3), _small_numbers),
    "auto": fit_of(l1kr("L1KRRegressor", search_branches=False), lambda: numbers(30, 6)),
    "ridge": fit_of(l1kr("L1KRRegressor", ridge=0.5, max_features=3), _small_numbers),
    "polynomial": fit_of(
        l1kr("L1KRRegressor", kernel="polynomial", degree=2, norm_budget=0.5), _small_numbers
    ),
    "ode": fit_of(
        l1kr("L1KRRegressor", solver="ode", norm_budget=0.3, search_branches=False),
        lambda: numbers(25, 6),
    ),
    "classes": fit_of(l1kr("L1KRClassifier", norm_budget=[0.1, 0.5]), _small_classes),
    "hard_columns": fit_of(
        l1kr("L1KRClassifier", norm_budget=0.3), lambda: tuple(part[:40] for part in hard_columns())
    ),
}


def baselines(out: Recorder) -> None:
    """Every selector of ``kp.baselines``, with all targets that it takes."""
    tables = {"two": two_classes(), "many": many_classes(), "numbers": numbers()}
    tables |= {"sparse": sparse_counts(), "hard": hard_columns()}
    for cls in BASELINES:
        for name, (X, y) in tables.items():
            model = getattr(kp.baselines, cls)([1, 2, 4])
            out.said(f"{cls}.{name}.fit", lambda model=model, X=X, y=y: model.fit(X, y))
            if hasattr(model, "path_"):
                out.attributes(model, f"{cls}.{name}.")


BASELINES = (
    *("FSV", "L1SVM", "R2W2", "SVMLW", "SVRLW", "Fisher", "ForwardStepwise"),
    *("L0Approximation", "LassoLW", "ChiSquare", "GiniIndex", "InformationGain", "KruskalWallis"),
    *("MRMR", "ReliefF", "Spectral", "BAHSIC", "HSICLasso", "SMOMKL", "HKL"),
)

# -- PathCV ---------------------------------------------------------------------------------------


def path_cv(selector: Callable[[], Any] | None = None, **options: Any) -> Callable[[], Any]:
    """A PathCV with small grids, to be made in the job."""
    given = {"cv": 3, "n_features": [1, 2, 4], "predictor": kp.JointRBFSVM(**JOINT)} | options
    return lambda: kp.PathCV(selector and selector(), **given)


def _rank(X: Any, y: Any) -> np.ndarray:
    return f_classif(X, y)[0]


WEIGHTED = kp.WeightedKernelSVM(C=(1.0, 10.0))
PATH_CV = {
    "default": scored_fit_of(lambda: kp.PathCV(cv=3), lambda: two_classes(60, 6)),
    "weighted_kernel": scored_fit_of(path_cv(predictor=WEIGHTED), two_classes),
    "joint_rbf": scored_fit_of(path_cv(rule="best", probability=True), two_classes),
    "numbers": scored_fit_of(path_cv(predictor="auto", rule="tolerance"), numbers),
    "many_classes": scored_fit_of(path_cv(class_weight="balanced", budget=2), many_classes),
    "sparse": scored_fit_of(path_cv(predictor=WEIGHTED, scoring="roc_auc"), sparse_counts),
    "frame": scored_fit_of(path_cv(lp_kta(kernel="auto"), predictor=WEIGHTED), frame),
    "hard_columns": scored_fit_of(path_cv(), hard_columns),
    "sklearn_predictor": scored_fit_of(path_cv(predictor=LogisticRegression()), two_classes),
    "sklearn_selector": scored_fit_of(
        path_cv(lambda: LinearSVC(random_state=0), predictor=WEIGHTED), two_classes
    ),
    "function": scored_fit_of(path_cv(lambda: _rank), two_classes),
    "ridge": scored_fit_of(path_cv(predictor=Ridge()), numbers),
    "groups": scored_fit_of(path_cv(cv=GroupKFold(4)), two_classes, groups=np.arange(80) // 5),
    "weights": scored_fit_of(
        path_cv(predictor=WEIGHTED), two_classes, sample_weight=row_weights(range(80))
    ),
    "nested": scored_fit_of(path_cv(nested=True, random_state=5), two_classes),
    "baselines": scored_fit_of(
        path_cv(baselines=("f_test", "forest"), predictor=WEIGHTED), two_classes
    ),
    "named_baselines": lambda out: _named_baselines(out),
    "gmkl": scored_fit_of(path_cv(classifier(strengths=5), cv=2), two_classes),
    "nmmkl": scored_fit_of(path_cv(nmmkl([1, 2, 4]), cv=2), two_classes),
    "l1kr": scored_fit_of(
        path_cv(l1kr("L1KRRegressor", norm_budget=0.3, search_branches=False), cv=2), _small_numbers
    ),
    "fisher": scored_fit_of(path_cv(lambda: kp.baselines.Fisher([1, 2, 4])), many_classes),
    "must_include": scored_fit_of(path_cv(must_include=["x5"]), two_classes),
    "feature_groups": scored_fit_of(
        path_cv(lambda: _rank, feature_groups=[[0, 4]], n_features=None), two_classes
    ),
    "costs": scored_fit_of(
        path_cv(costs={"x1": 3.0, "x2": 0.5}, budget=4.5, predictor=WEIGHTED), two_classes
    ),
}


def _named_baselines(out: Recorder) -> None:
    """Methods of the catalogue by name."""
    names = ("mutual-info", "nmmkl", "svm-lw")
    try:
        scored_fit_of(path_cv(baselines=names, cv=2), two_classes)(out)
    except ValueError as error:  # a tree that knows two names only
        raise Absent from error


# -- the rest -------------------------------------------------------------------------------------


def scores_and_stability(out: Recorder) -> None:
    """Objects made by hand: scores, points, stability of a fit, nested score."""
    scores = kp.PathScores([1, 2, 5], [[0.7, 0.9, 0.9], [0.6, 0.8, 0.95]], scoring="accuracy")
    out.value("scores", scores)
    for name in ("mean", "se", "n_folds", "finished"):
        out.value(name, getattr(scores, name))
    out.value("frame", scores.to_frame())
    out.value("nested", kp.NestedScore([0.8, 0.9], [4, 5], scoring="accuracy"))
    X, y = two_classes()
    model = path_cv()().fit(X, y)
    for size in (1, 2, 4):
        out.value(f"of{size}", model.stability_.of(n_features=size))
        out.value(f"core{size}", model.stability_.core(n_features=size))


def report_figures(out: Recorder) -> None:
    """All pictures, and the page with everything on it."""
    X, y = two_classes()
    summary = path_cv(baselines=("f_test",))().fit(X, y).summary()
    for name, figure in kp.report_figures(summary, dpi=60).items():
        if isinstance(figure, bytes):
            out.place(f"{name}.png").write_bytes(figure)
        else:
            figure.savefig(out.place(f"{name}.png"), dpi=60)
    kp.save_html(summary, out.place("page.html"), title="All", command="kernelpath path")


def simulated(out: Recorder) -> None:
    """Every simulated table."""
    for seed in (0, 5):
        for name in ("make_additive", "make_xor", "make_ring"):
            data = getattr(kp.datasets, name)(n_samples=30, n_features=9, random_state=seed)
            _table(out, f"{name}.{seed}", data)
        for task in ("classification", "regression"):
            data = kp.datasets.make_wide(40, 150, 12, task=task, random_state=seed)
            _table(out, f"make_wide.{task}.{seed}", data)
    for start, block in kp.datasets.iter_wide_chunks(20, 200, 3, chunk_size=90):
        _table(out, f"chunk.{start}", block)


def _table(out: Recorder, key: str, data: Any) -> None:
    for name in ("X", "y", "feature_names", "relevant", "description"):
        out.value(f"{key}.{name}", getattr(data, name))


def stability_selection(out: Recorder) -> None:
    """Stability selection, and the knockoff filter with fresh columns for knockoffs."""
    for key, data in {
        "classes": two_classes(),
        "numbers": numbers(),
        "sparse": sparse_counts(),
    }.items():
        with out.warned(f"{key}.warning"):
            model = kp.StabilityPath(n_pairs=4).fit(*data)
        out.attributes(model, f"{key}.")
        out.value(f"{key}.sizes", model.to_frame())
        out.value(f"{key}.features", model.of())
        for assumption in ("none", "unimodal", "r-concave"):
            out.value(f"{key}.{assumption}", model.bound(0.9, assumption=assumption))
    X, y = two_classes()
    copies = np.random.default_rng(5).permutation(X)
    for statistic in ("alignment", "entry"):
        found = kp.knockoff_filter(X, copies, y, fdr=0.5, offset=0, statistic=statistic)
        out.value(f"knockoffs.{statistic}", found)


JOBS: dict[str, Job] = {
    "datasets": simulated,
    "alignments.kernels": alignments,
    "alignments.options": alignments_options,
    "alignments.joint_targets": joint_targets,
    "alignment_test.kernels": alignment_tests,
    "alignment_test.options": alignment_test_options,
    "alignment_test.family": alignment_test_family,
    "combined_kernels": combined,
    **{f"lp_kta.{name}": one for name, one in LP_KTA.items()},
    **{f"additive.{name}": one for name, one in ADDITIVE.items()},
    **{f"gmkl.{name}": one for name, one in GMKL.items()},
    **{f"nmmkl.{name}": one for name, one in NMMKL.items()},
    **{f"joint.{name}": one for name, one in JOINT_PATH.items()},
    **{f"l1kr.{name}": one for name, one in L1KR.items()},
    "baselines": baselines,
    **{f"path_cv.{name}": one for name, one in PATH_CV.items()},
    "scores_and_stability": scores_and_stability,
    "stability_selection": stability_selection,
    "report_figures": report_figures,
    **TEXT_JOBS,
}


DONE, RAISED, ABSENT = 0, 3, 4
STATUS = {DONE: "done", RAISED: "raised", ABSENT: "absent"}
MOST_SECONDS = 900  # of a job


def run_job(name: str, folder: Path) -> int:
    """Run a job; say whether it was done, raised, or asks for what the package lacks."""
    out = Recorder(folder)
    status = DONE
    try:
        JOBS[name](out)
    except Exception as error:
        status = ABSENT if is_absent(error) else RAISED
        out.text("raised.txt", words_of(error) + "\n")
        out.text("traceback.log", traceback.format_exc())
    out.finish()
    return status


def run_apart(name: str, folder: Path) -> str:
    """Run a job in a process of its own, whose output goes to ``output.txt``."""
    folder.mkdir(parents=True)
    child = os.fork()
    if not child:
        code = 1
        try:
            signal.alarm(MOST_SECONDS)
            output = os.open(folder / "output.txt", os.O_WRONLY | os.O_CREAT)
            os.dup2(output, 1)
            os.dup2(output, 2)
            os.chdir(folder)
            code = run_job(name, folder)
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return STATUS.get(code, f"broken: exit code {code}")


def serve() -> None:
    """Run the jobs that are asked for."""
    for name in kp.__all__:
        getattr(kp, name, None)  # imports
    print(json.dumps(list(JOBS)), flush=True)
    for line in sys.stdin:
        name, folder = json.loads(line)
        print(run_apart(name, Path(folder)), flush=True)


if __name__ == "__main__":
    serve()
