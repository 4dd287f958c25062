"""HSIC Lasso and BAHSIC, each against kernel matrices; optimality along the whole path."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kernelpath as kp
from baseline_examples import LABELS, STANDARD, THREE, VALUES, D, N, X, Z
from kernelpath.baselines import BAHSIC, HSICLasso
from kernelpath.baselines import bahsic as elimination
from kernelpath.baselines._bahsic_loops import add_distances, gains_without
from kernelpath.baselines._nonnegative_lasso import lasso_path
from kernelpath.baselines._waves import compressed, gaussian_factor, target_agreements
from kernelpath.baselines.bahsic import TargetKernel, eliminate
from kernelpath.baselines.hsic_lasso import KernelProducts
from reference import hsic as slow

TARGETS = {"two": LABELS, "three": THREE, "numbers": VALUES}


def target_kernel(y, sigma=1.0):
    return slow.gaussian(STANDARD, sigma) if y is VALUES else slow.same_class(y)


# -- kernels without matrices ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind", ["normal", "cauchy", "two values", "one outlier", "narrow", "wide"]
)
def test_factors_are_those_of_the_kernel(kind):
    rng = np.random.default_rng(1)
    x = {
        "normal": rng.normal(size=90),
        "cauchy": rng.standard_cauchy(size=90),
        "two values": np.repeat([0.0, 1.0], [70, 20]),
        "one outlier": np.repeat([0.0, 1.0], [89, 1]),
    }.get(kind, rng.normal(size=90))
    x = (x - x.mean()) / x.std() * {"narrow": 50.0, "wide": 0.01}.get(kind, 1.0)
    K = slow.normalised(slow.gaussian(x))
    factor = gaussian_factor(x)
    np.testing.assert_allclose(factor @ factor.T, K, atol=3e-8)
    Y = compressed(rng.normal(size=(90, 2)))
    agreement = target_agreements(x[:, None], Y)[0]
    np.testing.assert_allclose(agreement, np.sum(K * (Y @ Y.T)), rtol=1e-7)
    if kind in ("two values", "one outlier"):
        assert factor.shape[1] == 1


def test_products_from_factors_that_were_not_kept():
    order = np.random.default_rng(0).permutation(D)
    G, _ = slow.problem(Z, target_kernel(LABELS))
    for stored in (0, 10**9):
        products = KernelProducts(Z, order, stored)
        for k, start, stop in ((0, 0, 3), (2, 3, 5), (4, 0, 5), (1, 2, 9), (8, 0, 9), (5, 4, 4)):
            expected = G[np.ix_(order, order)][k, start:stop]
            np.testing.assert_allclose(products(k, start, stop), expected, atol=1e-7)


# -- the lasso ------------------------------------------------------------------------------------


@pytest.mark.parametrize("sigma", [1.0, 0.5, 3.0])
@pytest.mark.parametrize("kind", TARGETS)
def test_lasso_at_many_strengths(kind, sigma):
    """Between two events the weights are linear in the strength."""
    y = TARGETS[kind]
    model = HSICLasso("all", sigma=sigma).fit(X, y)
    G, b = slow.problem(Z, target_kernel(y, sigma), sigma)
    assert model.strengths_[0] == pytest.approx(b.max(), rel=1e-7)
    assert (np.diff(model.strengths_) <= 0).all()
    coefs = model.coefs_.toarray()
    for share in (0.99, 0.7, 0.4, 0.2, 0.1, 0.03, 0.01, 0.0):
        strength = max(share * model.strengths_[0], model.strengths_[-1])
        found = [np.interp(-strength, -model.strengths_, column) for column in coefs.T]
        expected = slow.lasso(G, b, strength)
        np.testing.assert_allclose(found, expected, atol=1e-6)
        np.testing.assert_array_equal(np.array(found) > 1e-6, expected > 1e-6)


@pytest.mark.parametrize("kind", TARGETS)
def test_optimality_along_the_whole_path(kind):
    y = TARGETS[kind]
    model = HSICLasso("all").fit(X, y)
    G, b = slow.problem(Z, target_kernel(y))
    coefs = model.coefs_.toarray()
    middle = (model.strengths_[:-1] + model.strengths_[1:]) / 2, (coefs[:-1] + coefs[1:]) / 2
    for strengths, weights in ((model.strengths_, coefs), middle):
        for strength, a in zip(strengths, weights):
            slack = strength - (b - G @ a)
            assert (a >= 0).all()
            assert slack.min() > -1e-7
            assert np.abs(slack[a > 0]).max(initial=0.0) < 1e-7
    assert model.kkt_.max() < 1e-12
    assert len(model.kkt_) == len(model.strengths_)


def test_ranking_is_the_order_of_entry():
    model = HSICLasso("all").fit(X, VALUES)
    first = np.array([(model.coefs_[:, [j]].toarray().ravel() > 0).argmax() for j in range(D)])
    inside = np.flatnonzero(model.scores_ > 0)
    np.testing.assert_array_equal(
        inside[np.argsort(first[inside], kind="stable")], np.argsort(model.ranking_)[: len(inside)]
    )
    np.testing.assert_allclose(model.scores_[inside], model.strengths_[first[inside] - 1])
    # Those that never enter: by what they still have in common with the rest.
    G, b = slow.problem(Z, target_kernel(VALUES))
    left = b - G @ model.coefs_.toarray()[-1]
    rest = np.argsort(model.ranking_)[len(inside) :]
    assert (np.diff(left[rest]) <= 1e-9).all()


def test_copies_come_last():
    """A copy of a feature is spoken for by the first; near copies enter late."""
    rng = np.random.default_rng(3)
    A = rng.normal(size=(120, 6))
    A[:, 4] = -2.0 * A[:, 1] + 3.0
    y = A[:, 1] ** 2 + A[:, 2]
    model = HSICLasso("all").fit(A, y)
    (first,) = np.flatnonzero(model.scores_[[1, 4]])  # either, as they are the same
    copy = [4, 1][first]
    assert set(np.argsort(model.ranking_)[:2]) == {2, [1, 4][first]}
    assert model.coefs_[:, [copy]].nnz == 0
    assert model.kkt_.max() < 1e-12
    table = pd.DataFrame(A[:, [1, 4]], columns=["one", "copy"])
    assert HSICLasso("all").fit(table, y).path_.n_selected.tolist() == [1, 2]


def test_it_stops_where_the_budget_is_reached():
    every, few = HSICLasso("all").fit(X, VALUES), HSICLasso(3).fit(X, VALUES)
    np.testing.assert_array_equal(few.support_, every.ranking_ <= 3)
    assert len(few.strengths_) < len(every.strengths_)
    np.testing.assert_allclose(few.strengths_, every.strengths_[: len(few.strengths_)])


def test_nothing_in_common_with_the_target():
    A = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]] * 10)
    y = A[:, 0] != A[:, 1]
    model = HSICLasso("all").fit(A, y)
    assert model.ranking_.tolist() == [1, 2]
    assert model.scores_.max() < 1e-12


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 30), st.integers(1, 40))
def test_a_path_that_learns_rows_late(seed, d, rank):
    """Any Gram matrix without negative entries, also of dependent variables."""
    rng = np.random.default_rng(seed)
    A = np.abs(rng.normal(size=(d, rank))) ** 3
    A /= np.linalg.norm(A, axis=1)[:, None]
    G, b = A @ A.T, A @ np.abs(rng.normal(size=rank)) ** 3
    order = np.argsort(-b)
    G, b = G[np.ix_(order, order)], b[order]
    asked = []

    def products(k, start, stop):
        asked.append((k, start, stop))
        return G[k, start:stop]

    found = lasso_path(b, products, d)
    assert max(found.kkt) < 1e-6
    assert (np.diff(found.strengths) <= 1e-12).all()
    for strength, (which, weights) in zip(found.strengths, found.weights):
        a = np.zeros(d)
        a[which] = weights
        assert (b - G @ a - strength).max() < 1e-6 * b[0]
    assert all(stop <= d for _, _, stop in asked)


def test_no_row_is_made_before_it_can_matter():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(300, 400))
    y = A[:, 0] ** 2 + A[:, 1]
    Y = gaussian_factor((y - y.mean()) / y.std())
    W = (A - A.mean(axis=0)) / A.std(axis=0)
    b = target_agreements(W, Y)
    order = np.argsort(-b)
    lazy, farthest = KernelProducts(W, order), []

    def products(k, start, stop):
        farthest.append(stop)
        return lazy(k, start, stop)

    assert set(order[lasso_path(b[order], products, 2).order]) == {0, 1}
    assert max(farthest) <= 32


# -- backward elimination -------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("kind", TARGETS)
def test_elimination_against_plain_loops(kind, kernel):
    y, rows = TARGETS[kind], slice(0, 30)
    A = X[rows]
    W = (A - A.mean(axis=0)) / A.std(axis=0)
    if kind == "numbers":
        v = (y[rows] - y[rows].mean()) / y[rows].std()
        L = np.outer(v, v)
    else:
        L = slow.same_class(y[rows])
    for drop in (0.01, 0.4):
        order, before = slow.bahsic(W, L, kernel, drop)
        model = BAHSIC("all", kernel, drop=drop).fit(A, y[rows])
        if kernel == "rbf":
            np.testing.assert_allclose(model.hsic_, before, rtol=1e-9, atol=1e-14)
            assert np.argsort(model.ranking_).tolist() == order
        else:
            np.testing.assert_allclose(model.hsic_[0], before[0], rtol=1e-9)
            own = [slow.unbiased(slow.kernel_of(W, [j], kernel, 1.0), L) for j in range(D)]
            np.testing.assert_allclose(model.scores_, np.maximum(own, 0.0), atol=1e-13)
            assert np.argsort(model.ranking_).tolist() == np.argsort(-np.array(own)).tolist()


@pytest.mark.parametrize("gamma", [1e-3, 0.05, 0.5, 40.0])
def test_what_leaving_out_a_column_gains(gamma):
    """By the series, by its powers, and by exponents that would overflow."""
    rng = np.random.default_rng(0)
    W = np.asfortranarray(rng.normal(size=(40, 3)))
    distances = np.zeros(40 * 39 // 2)
    add_distances(W, np.arange(3), 1.0, distances)
    weights = rng.normal(size=len(distances))
    terms, found = weights * np.exp(-gamma * distances), np.empty(3)
    gains_without(W, np.arange(3), gamma, distances, weights, terms, found)
    for j in range(3):
        rest = np.zeros(len(distances))
        add_distances(W, np.delete(np.arange(3), j), 1.0, rest)
        terms_without = weights * np.exp(-gamma * rest)
        expected = np.sum(terms_without - terms)
        np.testing.assert_allclose(found[j], expected, atol=1e-12 * np.abs(terms_without).sum())


def test_features_that_matter_together_only():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(300, 12))
    y = A[:, 3] * A[:, 8] > 0
    assert set(np.flatnonzero(BAHSIC(2).fit(A, y).support_)) == {3, 8}


def test_an_outlier_does_not_overflow():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(3000, 2))
    A[:, 1] = 0.0
    A[0, 1] = 1.0  # 55 standard deviations from all others
    model = BAHSIC("all").fit(A, A[:, 0] > 0)
    assert model.ranking_.tolist() == [1, 2]
    assert np.isfinite(model.hsic_).all()


def test_distances_are_made_anew_where_that_is_less_work():
    target = TargetKernel.of(HSICLasso()._answer(LABELS))
    few, many = (eliminate(Z, target, drop) for drop in (0.9, 0.3))
    assert [len(one.leaving) for one in few] == [8, 1]
    assert sum(len(one.leaving) for one in many) == D


def test_tables_that_elimination_refuses(monkeypatch):
    with pytest.raises(kp.DataError, match="at least 4 rows, and there are 3"):
        BAHSIC(1).fit(X[:3], [0, 1, 1])
    monkeypatch.setattr(elimination, "MOST_ROWS", N - 1)
    with pytest.raises(kp.DataError, match=r"at most 69 rows, and there are 70; draw some"):
        BAHSIC(1).fit(X, LABELS)
    assert BAHSIC(1, "linear").fit(X, LABELS).support_.sum() == 1


def test_the_catalogue_knows_how_many_rows():
    assert kp.methods().loc["bahsic", "most_rows"] == elimination.MOST_ROWS
