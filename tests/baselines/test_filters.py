"""The classical filters, each against a slow, obvious twin, and what must not matter to them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse, stats
from sklearn.feature_selection import chi2, f_classif, f_regression
from sklearn.metrics import mutual_info_score
from sklearn.tree import DecisionTreeClassifier

import kernelpath as kp
from baseline_examples import LABELS, THREE, VALUES, D, N, X, Z
from kernelpath.baselines import (
    MRMR,
    ChiSquare,
    Fisher,
    GiniIndex,
    InformationGain,
    KruskalWallis,
    ReliefF,
    Spectral,
)
from kernelpath.baselines._discrete import TARGET_PARTS, discretized
from reference import filters as slow

RNG = np.random.default_rng(11)
COARSE = np.round(Z)  # many ties
MANY = np.array(list("abcdefg"))[RNG.integers(0, 7, size=N)]
TARGETS = {"two": LABELS, "three": THREE, "many": MANY}
TABLES = {"plain": X, "ties": COARSE}
COUNTS = RNG.poisson(np.where(LABELS[:, None] > 0, 3.0, np.linspace(0.5, 4.0, D)), size=(N, D))
EVERY_TABLE = pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
EVERY_TARGET = pytest.mark.parametrize("y", TARGETS.values(), ids=TARGETS)


def order_of(selector):
    return np.argsort(selector.ranking_).tolist()


def parts_of(A, y, how, n_bins=10):
    codes = np.unique(y, return_inverse=True)[1]
    return np.concatenate([part.codes for part in discretized(A, codes, how, n_bins)])


# -- parts -----------------------------------------------------------------------------------------


@EVERY_TABLE
@EVERY_TARGET
def test_cuts_by_description_length(table, y):
    found = parts_of(table, y, "mdl")
    for j in range(D):
        np.testing.assert_array_equal(found[j], slow.mdl_codes(table[:, j], y))


def test_many_cuts():
    """Stretches of classes that alternate are all found, and their order does not matter."""
    x = RNG.permutation(400) / 400.0
    y = np.floor(4 * x).astype(int) % 2
    (codes,) = parts_of(x[:, None], y, "mdl")
    np.testing.assert_array_equal(codes, np.floor(4 * x))
    np.testing.assert_array_equal(codes, slow.mdl_codes(x, y))


@pytest.mark.parametrize("n_bins", [2, 3, 10, 200])
@EVERY_TABLE
def test_parts_of_equal_frequency(table, n_bins):
    found = parts_of(table, LABELS, "quantile", n_bins)
    for j in range(D):
        np.testing.assert_array_equal(found[j], slow.quantile_codes(table[:, j], n_bins))
    if table is X and N % n_bins == 0:
        assert set(np.bincount(found[0])) == {N // n_bins}


@pytest.mark.parametrize("ones", [1, 5, 35, 65, 69])
def test_two_values_are_two_parts(ones):
    x = (np.arange(N) < ones).astype(float)
    for n_bins in (2, 3, 10):
        (codes,) = parts_of(x[:, None], LABELS, "quantile", n_bins)
        assert len(np.unique(codes)) == 2


def test_blocks_of_columns_are_as_one(monkeypatch):
    together = [cls("all").fit(X, THREE).scores_ for cls in (InformationGain, GiniIndex, MRMR)]
    monkeypatch.setattr("kernelpath.baselines._discrete.BLOCK_VALUES", 2 * N)
    apart = [cls("all").fit(X, THREE).scores_ for cls in (InformationGain, GiniIndex, MRMR)]
    np.testing.assert_array_equal(together, apart)


# -- information gain ------------------------------------------------------------------------------


@EVERY_TABLE
@EVERY_TARGET
def test_information_in_cuts(table, y):
    selector = InformationGain("all").fit(table, y)
    codes = [slow.mdl_codes(column, y) for column in table.T]
    expected = [mutual_info_score(code, y) for code in codes]
    np.testing.assert_allclose(selector.scores_, expected, atol=1e-12)
    assert [score == 0 for score in selector.scores_] == [code.max() == 0 for code in codes]
    single = [slow.best_cut(column, y)[0] for column in table.T]
    by_hand = sorted(range(D), key=lambda j: (-round(expected[j], 9), -round(single[j], 9)))
    assert order_of(selector) == by_hand


@EVERY_TARGET
def test_information_in_parts_of_equal_frequency(y):
    found = InformationGain("all", discretization="quantile", n_bins=4).fit(X, y).scores_
    expected = [mutual_info_score(slow.quantile_codes(column, 4), y) for column in X.T]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_information_about_numbers():
    labels = slow.quantile_codes(VALUES, TARGET_PARTS)
    assert set(np.bincount(labels)) == {N // TARGET_PARTS}
    for how in ("mdl", "quantile"):
        found = InformationGain("all", discretization=how).fit(X, VALUES)
        twin = InformationGain("all", discretization=how).fit(X, labels)
        np.testing.assert_array_equal(found.scores_, twin.scores_)
        assert not hasattr(found, "classes_")
    assert InformationGain(1).fit(X, VALUES).get_support(indices=True).tolist() == [5]


# -- cuts and ranks --------------------------------------------------------------------------------


@EVERY_TABLE
@EVERY_TARGET
def test_impurity_of_the_best_cut(table, y):
    found = GiniIndex("all").fit(table, y).scores_
    expected = [slow.gini_decrease(column, y) for column in table.T]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_impurity_as_in_a_tree_of_one_cut():
    found = GiniIndex("all").fit(X, THREE).scores_
    for j in range(D):
        tree = DecisionTreeClassifier(max_depth=1).fit(X[:, [j]], THREE).tree_
        share = tree.n_node_samples[1:] / N
        assert found[j] == pytest.approx(tree.impurity[0] - share @ tree.impurity[1:], abs=1e-12)


@EVERY_TABLE
@EVERY_TARGET
def test_ranks(table, y):
    found = KruskalWallis("all").fit(table, y).scores_
    groups = [table[y == label] for label in np.unique(y)]
    np.testing.assert_allclose(found, stats.kruskal(*groups).statistic, rtol=1e-9)


@pytest.mark.parametrize("cls", [GiniIndex, InformationGain, KruskalWallis])
def test_only_the_order_of_values_matters(cls):
    """A growing function of a column changes nothing."""
    here = cls("all").fit(X, THREE)
    there = cls("all").fit(np.exp(3.0 * Z), THREE)
    np.testing.assert_array_equal(here.scores_, there.scores_)
    np.testing.assert_array_equal(here.ranking_, there.ranking_)


@pytest.mark.parametrize("cls", [GiniIndex, InformationGain, KruskalWallis, ReliefF])
def test_the_order_of_rows_does_not_matter(cls):
    rows = np.random.default_rng(3).permutation(N)
    here, there = cls("all").fit(COARSE, THREE), cls("all").fit(COARSE[rows], THREE[rows])
    np.testing.assert_allclose(here.scores_, there.scores_, atol=1e-12)


# -- counts ----------------------------------------------------------------------------------------


@EVERY_TARGET
def test_chi_square_of_counts(y):
    expected = chi2(COUNTS, y)[0]
    np.testing.assert_allclose(ChiSquare("all").fit(COUNTS, y).scores_, expected, rtol=1e-12)
    for layout in (sparse.csr_array, sparse.csc_array, sparse.coo_array, sparse.csr_matrix):
        found = ChiSquare("all").fit(layout(COUNTS), y).scores_
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_chi_square_leaves_tables_sparse():
    """One that would not fit into memory."""
    n, d = 30_000, 200_000
    wide = sparse.random_array((n, d), density=1e-6, rng=np.random.default_rng(0), format="csr")
    with pytest.warns(UserWarning, match="constant"):
        found = ChiSquare(3).fit(wide, np.arange(n) % 2)
    filled = np.unique(wide.tocoo().col)
    expected = chi2(wide[:, filled], np.arange(n) % 2)[0]
    np.testing.assert_allclose(found.scores_[filled], expected, rtol=1e-9)
    assert found.scores_.sum() == pytest.approx(expected.sum())


def test_chi_square_has_units():
    """Ten times the counts are ten times the evidence; however large they are."""
    plain = ChiSquare("all").fit(COUNTS, LABELS).scores_
    for unit in (10.0, 1e300, 1e-300):
        found = ChiSquare("all").fit(COUNTS * unit, LABELS).scores_
        np.testing.assert_allclose(found / unit, plain, rtol=1e-9)


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array, sparse.csc_array])
def test_negative_counts_are_refused(layout):
    wrong = COUNTS.astype(float)
    wrong[3, 2] = -1.0
    with pytest.raises(kp.DataError, match=r"column 2 holds some; leave .* KruskalWallis\.$"):
        ChiSquare(1).fit(layout(wrong), LABELS)
    wrong[5, 4], wrong[6, 4] = np.nan, -2.0
    with pytest.raises(kp.DataError, match="columns 2, 4 hold some"):
        ChiSquare(1).fit(layout(wrong), LABELS)


# -- relevance and redundancy ----------------------------------------------------------------------


@pytest.mark.parametrize("criterion", ["mid", "miq"])
@pytest.mark.parametrize("how", ["quantile", "mdl"])
@pytest.mark.parametrize("y", [THREE, VALUES], ids=["classes", "numbers"])
def test_features_by_information(y, how, criterion):
    labels = slow.quantile_codes(y, TARGET_PARTS) if y is VALUES else y
    selector = MRMR("all", criterion=criterion, discretization=how).fit(X, y)
    codes = [
        slow.quantile_codes(column, 5) if how == "quantile" else slow.mdl_codes(column, labels)
        for column in X.T
    ]
    relevance = np.array([mutual_info_score(code, labels) for code in codes])
    np.testing.assert_allclose(selector.scores_, relevance, atol=1e-12)
    chosen, criteria = slow.mrmr(relevance, slow.code_information(codes), D, criterion == "miq")
    np.testing.assert_allclose(selector.criteria_, criteria, atol=1e-9)
    told = criteria > 0  # columns without a cut tell nothing, and are all the same
    assert np.array(order_of(selector))[told].tolist() == np.array(chosen)[told].tolist()


@pytest.mark.parametrize("criterion", ["fcd", "fcq"])
@pytest.mark.parametrize("y", [LABELS, THREE, VALUES], ids=["two", "three", "numbers"])
def test_features_by_correlation(y, criterion):
    selector = MRMR("all", criterion=criterion).fit(X, y)
    relevance = (f_regression if y is VALUES else f_classif)(Z, y)[0]
    np.testing.assert_allclose(selector.scores_, relevance, rtol=1e-9)
    R = np.abs(np.corrcoef(X.T))
    chosen, criteria = slow.mrmr(relevance, lambda j, s: R[j, s], D, criterion == "fcq")
    assert order_of(selector) == chosen
    np.testing.assert_allclose(selector.criteria_, criteria, rtol=1e-8)


@pytest.mark.parametrize("criterion", ["mid", "fcq"])
def test_the_ranking_ends_with_the_largest_budget(criterion):
    whole = MRMR("all", criterion=criterion).fit(X, THREE)
    some = MRMR([2, 4], criterion=criterion).fit(X, THREE)
    np.testing.assert_array_equal(some.criteria_, whole.criteria_[:4])
    np.testing.assert_array_equal(some.ranking_, np.minimum(whole.ranking_, 5))
    np.testing.assert_array_equal(some.scores_, whole.scores_)


def test_a_copy_comes_late():
    """The same as the best one, it has nothing to add."""
    A = np.column_stack([X, X[:, 4]])
    for criterion in ("mid", "miq", "fcq"):
        ranking = MRMR("all", criterion=criterion).fit(A, THREE).ranking_
        assert ranking[4] == 1
        assert ranking[D] > 2
    assert InformationGain("all").fit(A, THREE).ranking_[[4, D]].tolist() == [1, 2]


# -- neighbours ------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_neighbors", [1, 4, 10, 500])
@EVERY_TABLE
@EVERY_TARGET
def test_differences_of_near_rows(table, y, n_neighbors):
    selector = ReliefF("all", n_neighbors=n_neighbors).fit(table, y)
    expected = slow.relieff(table, y, n_neighbors)
    np.testing.assert_allclose(selector.weights_, expected, atol=1e-12)
    np.testing.assert_array_equal(selector.scores_, np.maximum(selector.weights_, 0.0))
    assert (np.diff(selector.weights_[order_of(selector)]) <= 0).all()


@pytest.mark.parametrize("n_neighbors", [1, 10, 500])
@EVERY_TABLE
def test_differences_of_near_rows_in_numbers(table, n_neighbors):
    selector = ReliefF("all", n_neighbors=n_neighbors).fit(table, VALUES)
    np.testing.assert_allclose(
        selector.weights_, slow.rrelieff(table, VALUES, n_neighbors), atol=1e-12
    )


def test_a_draw_of_rows():
    drawn = ReliefF("all", n_rows=20, random_state=3).fit(X, THREE).weights_
    rows = np.sort(np.random.default_rng(3).choice(N, 20, replace=False))
    np.testing.assert_allclose(drawn, slow.relieff(X, THREE, 10, rows), atol=1e-12)
    every = ReliefF("all").fit(X, THREE).weights_
    assert not np.array_equal(drawn, every)
    np.testing.assert_array_equal(ReliefF("all", n_rows=N).fit(X, THREE).weights_, every)


def test_a_class_of_one_row():
    y = np.where(np.arange(N) == 7, "alone", LABELS.astype(str))
    found = ReliefF("all", n_neighbors=3).fit(X, y).weights_
    np.testing.assert_allclose(found, slow.relieff(X, y, 3), atol=1e-12)


def test_effects_of_two_features_together():
    data = kp.datasets.make_xor(n_samples=300, n_features=8, random_state=1)
    relevant = sorted(np.asarray(data.relevant).tolist())
    few = len(relevant)
    assert ReliefF(few).fit(data.X, data.y).get_support(indices=True).tolist() == relevant
    assert Fisher(few).fit(data.X, data.y).get_support(indices=True).tolist() != relevant


def test_constant_columns_have_no_weight():
    A = np.column_stack([X[:, :3], np.ones(N)])
    with pytest.warns(UserWarning, match="constant"):
        found = ReliefF("all").fit(A, THREE)
    assert found.weights_[3] == 0
    assert found.ranking_[3] == 4


# -- similar rows ----------------------------------------------------------------------------------


@pytest.mark.parametrize("style", [-1, 0, 2, 3, 4, 8])
@EVERY_TARGET
def test_rows_of_a_class_are_similar(y, style):
    same = y[:, None] == y[None, :]
    expected = slow.spectral(Z, same / same.sum(axis=1), style)
    np.testing.assert_allclose(Spectral("all", style=style).fit(X, y).scores_, expected, atol=1e-9)


@pytest.mark.parametrize("style", [-1, 0, 2, 5, N, N + 9])
@pytest.mark.parametrize("gamma", [None, 0.3])
def test_rows_are_similar_by_a_gaussian(style, gamma):
    def gaussian(A):
        squares = np.square(A[:, None, :] - A[None, :, :]).sum(axis=2)
        return np.exp(-(1.0 / A.shape[1] if gamma is None else gamma) * squares)

    settings = {"style": style, "gamma": gamma}
    found = Spectral("all", supervised=False, **settings).fit(X, LABELS).scores_
    np.testing.assert_allclose(found, slow.spectral(Z, gaussian(Z), style), atol=1e-9)
    target = (VALUES - VALUES.mean()) / VALUES.std()
    found = Spectral("all", **settings).fit(X, VALUES).scores_
    np.testing.assert_allclose(found, slow.spectral(Z, gaussian(target[:, None]), style), atol=1e-9)


def test_without_supervision_the_target_does_not_matter():
    here, there = (Spectral("all", supervised=False).fit(X, y) for y in (THREE, VALUES))
    np.testing.assert_array_equal(here.scores_, there.scores_)


def test_blocks_of_similarities_are_as_one(monkeypatch):
    together = [Spectral("all", style=k).fit(X, VALUES).scores_ for k in (-1, 0, 3)]
    monkeypatch.setattr("kernelpath.baselines.spectral.BLOCK_VALUES", 8 * N)
    apart = [Spectral("all", style=k).fit(X, VALUES).scores_ for k in (-1, 0, 3)]
    np.testing.assert_allclose(together, apart, atol=1e-12)


def test_of_classes_it_is_the_order_of_fisher():
    np.testing.assert_array_equal(
        Spectral("all").fit(X, THREE).ranking_, Fisher("all").fit(X, THREE).ranking_
    )


# -- too few rows ----------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", [MRMR, ReliefF, Spectral])
def test_too_few_rows(cls):
    with pytest.raises(kp.DataError, match="needs at least 4 rows, but X has 3 rows; give more"):
        cls(1).fit(X[:3], ["a", "b", "b"])
