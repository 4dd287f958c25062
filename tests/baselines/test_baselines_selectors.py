"""The baselines as selectors like any other, and what they refuse."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, SVR

import kernelpath as kp
from baseline_examples import (
    ALL,
    EVERY,
    FOR_CLASSES,
    FOR_MANY_CLASSES,
    FOR_NUMBERS,
    IN_UNITS,
    LABELS,
    THREE,
    VALUES,
    D,
    N,
    X,
    Z,
    table_of,
    target_of,
)
from kernelpath.baselines import (
    BAHSIC,
    CARS,
    FSV,
    L1SVM,
    MRMR,
    R2W2,
    RFESVM,
    SVMLW,
    SVRLW,
    CenteredKTA,
    ChiSquare,
    Fisher,
    ForestRanking,
    ForwardStepwise,
    HSICLasso,
    InformationGain,
    L0Approximation,
    LassoLW,
    MutualInformation,
    PermutationImportance,
    ReliefF,
    Spectral,
    Uniform,
    VarianceFilter,
)

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "baselines.md"


# -- selectors like any other ---------------------------------------------------------------------


@pytest.mark.parametrize("cls", EVERY)
def test_what_a_fit_leaves(cls, tmp_path):
    A, y = table_of(cls), target_of(cls)
    frame = pd.DataFrame(A, columns=[f"gene {j}" for j in range(D)])
    selector = cls([2, 5]).fit(frame, y)
    path = selector.path_
    assert path.method == cls.METHOD
    assert path.parameter_name == "budget"
    assert path.parameters.tolist() == path.n_selected.tolist() == [2.0, 5.0]
    assert path.is_nested
    assert [(one.kind, one.position) for one in path.events] == [("enter", 0)] * 2 + [
        ("enter", 1)
    ] * 3
    assert set(path[0].names) <= set(selector.get_feature_names_out())
    assert selector.feature_names_in_.tolist() == frame.columns.tolist()
    assert selector.transform(frame).shape == (N, 5)
    np.testing.assert_array_equal(selector.support_, selector.ranking_ <= 5)
    np.testing.assert_allclose(
        path[1].weights[selector.support_], selector.scores_[path[1].support]
    )
    assert (selector.scores_ >= 0).all()
    first = np.argsort(selector.ranking_)[:5]
    if cls not in (ForwardStepwise, MRMR):  # there a later feature may explain more
        assert (np.diff(selector.scores_[first]) <= 0).all()
    path.save(tmp_path / "path.kpath")
    assert kp.load_path(tmp_path / "path.kpath") == path
    assert pickle.loads(pickle.dumps(selector)).path_ == path
    assert clone(selector).get_params() == selector.get_params()
    assert path.provenance["estimator"] == cls.__name__
    np.testing.assert_array_equal(cls(5).fit(A, y).support_, selector.support_)


@pytest.mark.parametrize("cls", EVERY)
def test_order_and_units_of_columns_do_not_matter(cls):
    if cls is Uniform:  # all are tied, and ties go by column
        return
    y, shuffled = target_of(cls), np.random.default_rng(4).permutation(D)
    scale = np.random.default_rng(5).uniform(0.1, 10.0, size=D)
    here = cls("all").fit(table_of(cls), y)
    other = table_of(cls) if cls in IN_UNITS else X * scale - 7.0  # counts have units
    there = cls("all").fit(other[:, shuffled], y)
    np.testing.assert_array_equal(here.ranking_[shuffled][:], there.ranking_)


@pytest.mark.parametrize("cls", EVERY)
def test_sparse_tables_and_text_labels(cls):
    thin = np.where(np.abs(Z) > 0.5, np.abs(Z) if cls is ChiSquare else Z, 0.0)
    y = target_of(cls)
    dense = cls("all").fit(thin, y)
    np.testing.assert_array_equal(
        dense.ranking_, cls("all").fit(sparse.csr_array(thin), y).ranking_
    )
    if y is LABELS:
        text = cls("all").fit(thin, np.where(LABELS > 0, "yes", "no"))
        np.testing.assert_array_equal(dense.ranking_, text.ranking_)
        assert text.classes_.tolist() == ["no", "yes"]
        assert not hasattr(Fisher(2).fit(X, LABELS).fit(X, VALUES), "classes_")


@pytest.mark.parametrize("cls", FOR_MANY_CLASSES)
def test_several_classes(cls):
    selector = cls(1).fit(table_of(cls, Z), THREE)
    if cls is R2W2:
        selector.set_params(C=0.01).fit(X, THREE)
    if cls is Uniform:
        assert selector.get_support(indices=True).tolist() == [0]
        return
    if cls is VarianceFilter:  # whatever the target is
        selector.fit(Z * (1.0 + (np.arange(D) == 4)), THREE)
    assert selector.get_support(indices=True).tolist() == [4]
    assert selector.classes_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("cls", EVERY)
def test_cross_validation_and_pipelines(cls):
    A, y = table_of(cls), target_of(cls)
    model = kp.PathCV(cls("all"), cv=3, predictor=SVC() if y is LABELS else SVR(), references=False)
    assert model.fit(A, y).scores_.n_features.tolist() == list(range(1, D + 1))
    pipeline = make_pipeline(cls(3), SVC() if y is LABELS else SVR()).fit(A, y)
    assert pipeline[:-1].transform(A).shape == (N, 3)
    search = GridSearchCV(pipeline, {f"{pipeline.steps[0][0]}__n_features_to_select": [1, 3]}, cv=2)
    assert search.fit(A, y).best_params_


def test_with_the_machines_of_the_package():
    """Also where chosen features have no weight."""
    model = kp.PathCV(
        L1SVM("all", C=1e-4), cv=3, predictor="weighted_kernel", n_features=[1, 4], references=False
    ).fit(X, LABELS)
    assert model.operating_point_.n_features >= 1
    assert model.path_.parameters.tolist() == list(range(1, D + 1))


# -- tables and targets that cannot be used as they are -------------------------------------------


@pytest.mark.parametrize("cls", EVERY)
def test_constant_columns_are_never_chosen(cls):
    A = np.column_stack([np.full(N, 3.0), table_of(cls)[:, :3]])
    with pytest.warns(UserWarning, match="Column 0 is constant") as caught:
        selector = cls("all").fit(A, target_of(cls))
    assert all(one.filename == __file__ for one in caught)
    assert selector.get_support(indices=True).tolist() == [1, 2, 3]
    assert selector.ranking_[0] == 4
    assert selector.scores_[0] == 0
    with pytest.warns(UserWarning, match="constant") as caught:
        selector = cls(4).fit(A, target_of(cls))
    assert any("only 3 features can be chosen" in str(one.message) for one in caught)
    assert all(one.filename == __file__ for one in caught)
    assert selector.support_.sum() == 3
    with pytest.raises(kp.DataError, match="Every column is constant"):
        cls(1).fit(np.ones((N, 2)), target_of(cls))


@pytest.mark.parametrize("cls", EVERY)
def test_values_that_are_no_numbers(cls):
    A = table_of(cls).copy()
    A[3, 2] = np.inf
    with pytest.raises(kp.DataError, match="contains infinity in column 2"):
        cls(1).fit(A, target_of(cls))
    A[::7, 2] = np.nan
    A[3, 2] = np.nan
    filled = np.where(np.isnan(A), np.nanmedian(A, axis=0), A)
    found, expected = (cls([1, 3]).fit(table, target_of(cls)) for table in (A, filled))
    np.testing.assert_array_equal(found.scores_, expected.scores_)
    np.testing.assert_array_equal(found.ranking_, expected.ranking_)
    np.testing.assert_array_equal(found.path_.supports, expected.path_.supports)
    np.testing.assert_array_equal(found.transform(A), A[:, expected.get_support()])
    with pytest.raises(kp.DataError, match="has 69 values"):
        cls(1).fit(table_of(cls), target_of(cls)[:-1])


def test_huge_and_tiny_values():
    A = X.copy()
    A[:, 0], A[:, 1], A[:, 2] = 1e300 * X[:, 0], 1e-300 * X[:, 1], Z[:, 2] + 1e9
    np.testing.assert_allclose(Fisher(1).fit(A, LABELS).scores_, Fisher(1).fit(X, LABELS).scores_,
                               rtol=1e-5)  # fmt: skip


@pytest.mark.parametrize("cls", FOR_CLASSES)
def test_one_class(cls):
    with pytest.raises(kp.DataError, match="one class only"):
        cls(1).fit(table_of(cls), np.repeat("a", N))


@pytest.mark.parametrize("cls", FOR_NUMBERS)
def test_a_constant_target(cls):
    with pytest.raises(kp.DataError, match=r"constant|one class only"):
        cls(1).fit(X, np.ones(N))


@pytest.mark.parametrize("cls", EVERY)
def test_a_target_for_another_method(cls):
    if cls not in FOR_NUMBERS:
        with pytest.raises(kp.DataError, match="is for classes, but y holds continuous numbers"):
            cls(1).fit(table_of(cls), VALUES)
    if cls not in FOR_CLASSES:
        with pytest.raises(kp.DataError, match="is for a target of numbers, but y holds labels"):
            cls(1).fit(X, THREE)
    if cls is ForwardStepwise:
        with pytest.raises(kp.DataError, match="numbers or two classes, but y has 3 classes"):
            cls(1).fit(X, THREE)


@pytest.mark.parametrize("cls", EVERY)
@pytest.mark.parametrize(
    ("budget", "error", "words"),
    [
        (0, kp.DataError, "at least 1"),
        (D + 1, kp.DataError, f"at most {D}, the number of columns"),
        (2.5, ValueError, "whole number"),
        ([], ValueError, "whole number"),
        (True, ValueError, "whole number"),
        ([[1, 2]], ValueError, "whole number"),
        ("al", ValueError, "did you mean 'all'"),
    ],
)
def test_bad_budgets(cls, budget, error, words):
    with pytest.raises(error, match=words):
        cls(budget).fit(table_of(cls), target_of(cls))


@pytest.mark.parametrize(
    ("selector", "words"),
    [
        (SVMLW(C=0.0), "C must be a number that is positive"),
        (SVMLW(C="1"), "C must be a number that is positive"),
        (SVRLW(C=np.nan), "C must be a number that is positive"),
        (SVRLW(epsilon=-0.1), "epsilon must be a number that is at least 0"),
        (LassoLW(alpha=0.0), "alpha must be a number that is positive"),
        (Fisher(task="classes"), "task must be one of"),
        (L1SVM(loss="hinge2"), "did you mean 'hinge'"),
        (L1SVM(C=-1.0), "C must be a number that is positive"),
        (FSV(balance=1.0), "balance must be below 1"),
        (FSV(balance=0.0), "balance must be a number that is positive"),
        (FSV(steepness=np.inf), "steepness must be a number that is positive"),
        (L0Approximation(C=0.0), "C must be a number that is positive"),
        (L0Approximation(max_iter=0), "max_iter must be a whole number that is positive"),
        (R2W2(tol=0.0), "tol must be a number that is positive"),
        (R2W2(max_iter=1.5), "max_iter must be a whole number that is positive"),
        (HSICLasso(sigma=0.0), "sigma must be a number from 0.01 to 100, got 0.0"),
        (HSICLasso(sigma="1"), "sigma must be a number from 0.01 to 100"),
        (HSICLasso(task="classes"), "task must be one of"),
        (BAHSIC(kernel="rfb"), "did you mean 'rbf'"),
        (BAHSIC(drop=0.0), "drop must be a number that is positive"),
        (BAHSIC(drop=1.0), "drop must be below 1"),
        (BAHSIC(task="numbers"), "task must be one of"),
        (ForwardStepwise(significance=0.0), "significance must be a number that is positive"),
        (ForwardStepwise(significance=1.0), "significance must be below 1"),
        (InformationGain(discretization="mld"), "did you mean 'mdl'"),
        (InformationGain(n_bins=1), "n_bins must be a whole number from 2 on"),
        (InformationGain(n_bins=5), "n_bins=5 has no effect with discretization='mdl'"),
        (InformationGain(task="classes"), "task must be one of"),
        (MRMR(criterion="mud"), "did you mean 'mid'"),
        (MRMR(criterion="fcq", n_bins=7), "n_bins=7 has no effect with criterion='fcd' and 'fcq'"),
        (MRMR(criterion="fcd", discretization="mdl"), "discretization='mdl' has no effect"),
        (MRMR(discretization="mdl", n_bins=7), "n_bins=7 has no effect with discretization="),
        (ReliefF(n_neighbors=0), "n_neighbors must be a whole number from 1 on"),
        (ReliefF(n_rows=2.5), "n_rows must be a whole number from 1 on"),
        (Spectral(style=1), "style must be -1, 0, or a whole number from 2 on, got 1"),
        (Spectral(style=0.5), "style must be -1, 0, or a whole number from 2 on"),
        (Spectral(supervised="no"), "supervised must be True or False"),
        (Spectral(gamma=0.0), "gamma must be a number that is positive"),
        (ForestRanking(n_estimators=0), "n_estimators must be a whole number from 1 on"),
        (ForestRanking(task="classes"), "task must be one of"),
        (PermutationImportance(cv=1), "cv must be a whole number from 2 on"),
        (PermutationImportance(n_repeats=0), "n_repeats must be a whole number from 1 on"),
        (PermutationImportance(estimator=SVC), "estimator must be a scikit-learn classifier or"),
        (PermutationImportance(estimator="svm"), "estimator must be a scikit-learn classifier or"),
        (RFESVM(C=0.0), "C must be a number that is positive"),
        (RFESVM(drop=1.0), "drop must be below 1"),
        (RFESVM(one_by_one=0), "one_by_one must be a whole number from 1 on"),
        (MutualInformation(n_neighbors=0), "n_neighbors must be a whole number from 1 on"),
        (VarianceFilter(measure="var"), "measure must be one of 'variance'"),
        (CenteredKTA(kernel="rfb"), "did you mean 'rbf'"),
        (CenteredKTA(task="classes"), "task must be one of"),
        (Uniform(task="classes"), "task must be one of"),
        (CARS(n_components=0), "n_components must be a whole number from 1 on"),
        (CARS(n_rounds=1), "n_rounds must be a whole number from 2 on"),
        (CARS(n_runs=0), "n_runs must be a whole number from 1 on"),
        (CARS(row_share=1.5), "row_share must be at most 1"),
    ],
)
def test_bad_settings(selector, words):
    with pytest.raises(ValueError, match=words):
        selector.set_params(n_features_to_select=2).fit(X, target_of(type(selector)))


# -- the page -------------------------------------------------------------------------------------


def test_the_guide_runs():
    text = GUIDE.read_text(encoding="utf-8")
    names: dict = {}
    for block in re.findall(r"```python\n(.*?)```", text, flags=re.S):
        exec(compile(block, GUIDE.name, "exec"), names)
    assert names["chosen"]["NMMKL"] == [["x2"], ["x0", "x1"]]
    assert names["chosen"]["SVM-LW"][1] == ["x0", "x1"]
    assert "x2" in names["chosen"]["Fisher"][1]
    assert names["scores"]["Fisher"][0] > names["scores"]["SVM-LW"][0]
    assert names["scores"]["Fisher"][1] < names["scores"]["SVM-LW"][1]
    relevant = names["data"].relevant
    assert names["relief"].support_[relevant].all()
    assert not names["fisher"].support_[relevant].all()
    assert (names["relief"].weights_ < 0).any()
    assert names["lasso"].path_.gaps.max() < 1e-9
    assert names["hkl"].path_.at(n_features=2).names == ("x2", "x6")
    assert "x2 x6" in names["hkl"].kernels(names["pair"]).kernel.tolist()
    assert all(f"`{cls.__name__}`" in text for cls in ALL)


def test_text_columns_are_refused():
    frame = pd.DataFrame({"a": X[:, 0], "b": np.where(LABELS > 0, "yes", "no")})
    with pytest.raises(kp.DataError, match="text; encode it"):
        SVMLW(1).fit(frame, LABELS)


def test_a_cost_that_no_machine_finishes():
    with pytest.raises(ValueError, match="C must be at most"):
        SVMLW(1, C=1e12).fit(X, LABELS)


def test_a_descent_that_was_cut_short():
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        R2W2(1, max_iter=1).fit(X, LABELS)
