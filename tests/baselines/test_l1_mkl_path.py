"""The path of logistic multiple kernel learning against cvxpy, at events and between them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kernelpath as kp
from baseline_examples import LABELS, THREE, VALUES, D, N, X, Z
from kernelpath.baselines import L1MKLPath
from kernelpath.baselines import _mkl_path as solver
from kernelpath.baselines import l1_mkl_path as module
from kernelpath.baselines._mkl_path import MKLPath
from kernelpath.baselines.l1_mkl_path import _factor
from reference.l1_paths import l1_mkl, one_feature_kernels


def table_of(n, d, seed, kind="plain", shift=0.0):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, d))
    label = np.where(A[:, 0] ** 2 + A[:, -1] + 0.5 * rng.normal(size=n) > 1 + shift, 1.0, -1.0)
    label[:2] = 1.0, -1.0
    if kind == "copies":
        A = np.column_stack([A, A[:, 0], 3.0 - A[:, -1]])
    elif kind == "binary":
        A = (A > 0).astype(float)
    elif kind == "rows twice":
        A, label = np.vstack([A, A, A]), np.concatenate([label, label, -label])
    A = A[:, A.min(axis=0) < A.max(axis=0)]
    return (A - A.mean(axis=0)) / A.std(axis=0), label


def factors_of(A, kernel="rbf"):
    return [_factor(column, kernel) for column in A.T]


@pytest.fixture(scope="module")
def small():
    """A table whose path has entries and an exit, followed in full."""
    A, label = table_of(40, 6, 12)
    return A, label, MKLPath(factors_of(A), label).run(6, 0.01)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("kind", ["plain", "copies", "binary"])
def test_points_are_those_of_cvxpy(kind, kernel):
    A, label = table_of(40, 5, 1, kind, 0.4)
    points = MKLPath(factors_of(A, kernel), label).run(99, 0.05)
    assert max(one.gap for one in points) < 1e-7
    kernels = one_feature_kernels(A, kernel)
    for one in points[:: max(1, len(points) // 4)]:
        value, norms = l1_mkl(kernels, label, one.strength)
        assert one.value == pytest.approx(value, rel=1e-7)
        if kind == "plain":
            found = np.zeros(len(norms))
            found[one.columns] = one.weights * one.strength
            np.testing.assert_allclose(found, norms, atol=2e-4)


def test_entries_are_where_cvxpy_has_them(small):
    """Just above the strength of an event there is no weight, just below there is one."""
    A, label, points = small
    kernels = one_feature_kernels(A)
    held = [set(one.columns.tolist()) for one in points]
    seen = 0
    for i in range(len(points) - 1):
        for j in held[i] ^ held[i + 1]:
            entered = j in held[i + 1]
            at = points[i if entered else i + 1].strength
            above, below = (l1_mkl(kernels, label, at * (1 + e))[1][j] for e in (2e-3, -2e-3))
            outside, inside = (above, below) if entered else (below, above)
            assert outside < 1e-5 < inside
            seen += 1
    assert seen >= 5


def test_entries_to_four_digits(small):
    """By definition: where the norm of a feature without weight comes to the strength."""
    A, label, points = small
    kernels = one_feature_kernels(A)
    share = (label > 0).mean()
    v = np.where(label > 0, 1 - share, -share)
    first = max(np.sqrt(v @ K @ v) for K in kernels)
    assert points[0].strength == pytest.approx(first, rel=1e-7)
    # The second one, by halving: until then the first is alone, and has a path of its own.
    order = [one.columns.tolist() for one in points]
    second = next(i for i, held in enumerate(order) if len(held) == 2)
    alone, new = order[second - 1][0], (set(order[second]) - set(order[second - 1])).pop()
    low, high = points[second].strength, points[0].strength
    for _ in range(18):
        middle = np.sqrt(low * high)
        if _norm_of_outsider(kernels, alone, new, label, middle) > middle:
            low = middle
        else:
            high = middle
    assert points[second - 1].strength == pytest.approx(low, rel=1e-4)


def _norm_of_outsider(kernels, alone, new, label, strength):
    """The machine with one kernel by plain Newton steps on its dual weights."""
    from scipy.optimize import minimize

    sizes, vectors = np.linalg.eigh(kernels[alone])
    F = (vectors * np.sqrt(np.maximum(sizes, 0)))[:, sizes > 1e-10]

    def objective(t):
        f = t[0] + F @ t[1:]
        v = label / (1 + np.exp(label * f))
        norm = np.linalg.norm(t[1:])
        value = np.logaddexp(0, -label * f).sum() + strength * norm
        return value, np.append(-v.sum(), -F.T @ v + strength * t[1:] / max(norm, 1e-12))

    start = np.append(0.0, F.T @ label * 1e-3)
    found = minimize(objective, start, jac=True, method="BFGS", options={"gtol": 1e-8}).x
    v = label / (1 + np.exp(label * (found[0] + F @ found[1:])))
    return np.sqrt(v @ kernels[new] @ v)


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10**6), st.integers(6, 30), st.integers(1, 12),
    st.sampled_from(["plain", "copies", "binary", "rows twice"]),
    st.sampled_from(["rbf", "linear"]), st.floats(-1.0, 1.0),
)  # fmt: skip
def test_any_table_has_a_certified_path(seed, n, d, kind, kernel, shift):
    A, label = table_of(n, d, seed, kind, shift)
    if A.shape[1] == 0:
        return
    points = MKLPath(factors_of(A, kernel), label).run(99, 0.02)
    strengths = np.array([one.strength for one in points])
    assert (np.diff(strengths) <= 1e-9 * strengths[:-1]).all()
    assert max(one.gap for one in points) < 1e-6
    assert points[-1].strength <= 0.02 * strengths[0] * (1 + 1e-9)


def test_columns_that_are_nearly_the_same():
    rng = np.random.default_rng(21)
    A, label = table_of(30, 8, 21)
    A = np.column_stack([A, A[:, 0] + 1e-6 * rng.normal(size=30), A[:, 1] - 1e-5 * A[:, 2]])
    A = (A - A.mean(axis=0)) / A.std(axis=0)
    for kernel in ("rbf", "linear"):
        points = MKLPath(factors_of(A, kernel), label).run(99, 0.02)
        assert max(one.gap for one in points) < 1e-5


def test_the_gap_sees_a_wrong_point(small):
    A, label, points = small
    path = MKLPath(factors_of(A), label)
    one = points[len(points) // 2]
    v = 0.9  # of the weights
    state = solver.State(
        one.strength, one.columns, v * one.weights, np.full(len(label), one.bias), one.bias
    )
    wrong = path._point(state)
    assert wrong.gap > 1e-3
    value, _ = l1_mkl(one_feature_kernels(A), label, one.strength)
    assert wrong.value * (1 - wrong.gap) <= value <= wrong.value


def test_what_a_fit_leaves():
    frame = pd.DataFrame(X, columns=[f"gene {j}" for j in range(D)])
    model = L1MKLPath(2, smallest_ratio=0.05).fit(frame, np.where(LABELS > 0, "sick", "well"))
    path = model.path_
    assert (path.method, path.parameter_name) == ("l1_mkl_path", "lambda")
    assert path.gaps.max() < 1e-7
    assert (np.diff(path.values) <= 0).all()
    assert model.support_.sum() == path[model.position_].n_selected == 2
    assert model.transform(frame).shape == (N, 2)
    assert len(model.intercepts_) == len(path)
    # Entries are at the point before, where the weight is still 0.
    event = next(one for one in path.events if one.kind == "enter" and one.position > 1)
    assert path[event.position - 1].parameter == event.parameter
    np.testing.assert_array_equal(
        model.support_, L1MKLPath(2, smallest_ratio=0.05).fit(X, LABELS).support_
    )


def test_order_and_units_of_columns_do_not_matter():
    shuffled = np.random.default_rng(4).permutation(D)
    here = L1MKLPath(max_features=4).fit(X, LABELS)
    there = L1MKLPath(max_features=4).fit(3.0 * X[:, shuffled] - 7.0, LABELS)
    np.testing.assert_allclose(here.path_.parameters, there.path_.parameters, rtol=1e-6)
    np.testing.assert_allclose(
        here.coefs_.toarray()[:, shuffled], there.coefs_.toarray(), atol=1e-6
    )


def test_the_path_ends_where_it_has_enough():
    every, few = L1MKLPath().fit(X, LABELS), L1MKLPath(max_features=2).fit(X, LABELS)
    n = len(few.path_)
    assert few.path_.n_selected.max() == 2
    np.testing.assert_allclose(few.path_.parameters, every.path_.parameters[:n])


def test_a_ring_needs_no_linear_effect():
    data = kp.datasets.make_ring(n_samples=120, n_features=8, random_state=0)
    assert L1MKLPath(2).fit(data.X, data.y).support_[data.relevant].all()
    linear = L1MKLPath(2, kernel="linear").fit(data.X, data.y)
    assert linear.path_.gaps.max() < 1e-7
    assert not linear.support_[data.relevant].all()


def test_what_is_refused(monkeypatch):
    with pytest.raises(kp.DataError, match="L1MKLPath is for two classes, but y has 3 classes"):
        L1MKLPath().fit(X, THREE)
    with pytest.raises(kp.DataError, match="is for classes, but y holds continuous numbers"):
        L1MKLPath().fit(X, VALUES)
    with pytest.raises(ValueError, match="did you mean 'rbf'"):
        L1MKLPath(kernel="rfb").fit(X, LABELS)
    with pytest.raises(ValueError, match="smallest_ratio must be below 1"):
        L1MKLPath(smallest_ratio=1.0).fit(X, LABELS)
    with pytest.raises(ValueError, match="smallest_ratio must be a number that is positive"):
        L1MKLPath(smallest_ratio=0.0).fit(X, LABELS)
    monkeypatch.setattr(module, "MOST_NUMBERS", 1000)
    with pytest.raises(kp.DataError, match="more than a gigabyte; choose some of the columns"):
        L1MKLPath().fit(X, LABELS)
    assert L1MKLPath(kernel="linear", smallest_ratio=0.5).fit(X, LABELS).support_.any()


def test_a_path_that_does_not_get_on_says_so(monkeypatch):
    monkeypatch.setattr(solver, "MOST_NEWTON", 0)
    with pytest.raises(RuntimeError, match="does not get on"):
        MKLPath(factors_of(Z), LABELS).run(9, 0.1)


def test_nothing_to_explain():
    """Columns that have nothing to do with the classes: every strength is the largest."""
    A = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]] * 10)
    model = L1MKLPath().fit(A, A[:, 0] != A[:, 1])
    assert not model.support_.any()
    assert len(model.path_) == 1
