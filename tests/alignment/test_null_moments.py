"""Moments over all permutations, against enumeration, drawing and the formulas in fractions."""

from __future__ import annotations

import numpy as np
import pytest

from kernelpath.alignment.null_moments import (
    FEWEST_ROWS,
    cancelled,
    dense_sums,
    low_rank_sums,
    permutation_moments,
    target_sums,
    whitening,
)
from kernelpath.tables.targets import encode_target
from reference.alignment import double_centre, gram
from reference.chance import (
    drawn_statistics,
    eight_sums,
    enumerated_moments,
    exact_moments,
    feature_matrix,
    formula_moments,
    target_matrix,
)

TARGETS = {
    "two classes": ([0, 1, 0, 1, 1, 0, 1, 1], "classification"),
    "two equal classes": ([0, 1, 0, 1, 1, 0, 1, 0], "classification"),
    "three classes": ([0, 1, 2, 1, 1, 0, 2, 1], "classification"),
    "four classes": ([0, 1, 2, 3, 3, 0, 2, 3], "classification"),
    "numbers": ([0.3, -1.0, 2.5, 0.1, 0.2, -3.0, 1.5, 9.0], "regression"),
}


def _encoded(y, task):
    """The eight sums that the package takes for a target, whitened."""
    target = encode_target(y, task=task)
    return target_sums(target, whitening(target))


def _matrices(n, rng):
    """Centred matrices of several kinds of column."""
    x = rng.normal(size=n)
    odd = np.where(np.arange(n) == 2, 9.0, x)
    columns = [(x, "rbf"), (x, "linear"), (odd, "rbf"), (np.round(x), "delta"), (x, "laplace")]
    return [feature_matrix(v, kernel, 0.7) for v, kernel in columns]


@pytest.mark.parametrize("n", [7, 8])
@pytest.mark.parametrize("name", TARGETS)
def test_moments_are_those_of_all_permutations(name, n):
    y, task = TARGETS[name]
    y = y[:n]
    B = target_matrix(y, task)
    for A in _matrices(n, np.random.default_rng(n)):
        found = permutation_moments(n, dense_sums(A.astype(float)), _encoded(y, task))
        expected = enumerated_moments(A, B)
        np.testing.assert_allclose(found.mean, expected[0], rtol=1e-12)
        np.testing.assert_allclose(found.variance, expected[1], rtol=1e-9)
        np.testing.assert_allclose(found.skewness, expected[2], rtol=1e-7, atol=1e-9)


def test_several_columns_without_classes():
    """Any positive semi-definite target will do."""
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(8, 3)) * [1.0, 2.0, 0.1]
    Y -= Y.mean(axis=0)
    A = _matrices(8, rng)[0]
    found = permutation_moments(8, dense_sums(A.astype(float)), low_rank_sums(Y, np.ones(8)))
    expected = enumerated_moments(A, Y @ Y.T)
    np.testing.assert_allclose([found.mean, found.variance, found.skewness], expected, rtol=1e-9)


@pytest.mark.parametrize("name", ["two classes", "three classes", "numbers"])
def test_moments_of_sixty_rows_against_drawn_permutations(name):
    rng = np.random.default_rng(5)
    n, draws = 60, 20_000
    y = rng.permutation(np.arange(n) % 5 // 2) if name != "numbers" else rng.normal(size=n) ** 3
    y, task = (y > 0, "classification") if name == "two classes" else (y, TARGETS[name][1])
    A = feature_matrix(rng.lognormal(0.0, 1.0, n), "rbf", 0.3).astype(float)
    B = target_matrix(y, task).astype(float)
    found = permutation_moments(n, dense_sums(A), _encoded(y, task))
    z = found.standardised(drawn_statistics(A, B, draws, rng))
    for power, expected in ((1, 0.0), (2, 1.0), (3, float(found.skewness))):
        sample = z**power
        assert abs(sample.mean() - expected) < 4.0 * sample.std() / np.sqrt(draws)
    assert found.skewness > 0.5  # that a wrong one would be seen


def test_sums_are_those_of_the_definitions():
    rng = np.random.default_rng(1)
    A = double_centre(gram(rng.normal(size=12), "rbf", 0.5))
    np.testing.assert_allclose(dense_sums(A.astype(float)), eight_sums(A).astype(float), rtol=1e-12)


@pytest.mark.parametrize("width", [1, 2, 5, 11, 30])
def test_low_rank_sums_by_columns_and_by_rows(width):
    """Few columns go by triples of columns, many by pairs of rows."""
    rng = np.random.default_rng(width)
    V, count = rng.normal(size=(25, width)), rng.integers(1, 4, 25)
    whole = np.repeat(V, count, axis=0)
    expected = eight_sums(whole @ whole.T).astype(float)
    np.testing.assert_allclose(low_rank_sums(V, count.astype(float)), expected, rtol=1e-10)


@pytest.mark.parametrize("name", TARGETS)
def test_sums_of_whitened_targets(name):
    y, task = TARGETS[name]
    expected = eight_sums(target_matrix(y, task)).astype(float)
    np.testing.assert_allclose(_encoded(y, task), expected, rtol=1e-12, atol=1e-12)


def test_weighted_targets_stand_for_repeated_rows():
    rng = np.random.default_rng(2)
    for y, task in (
        (rng.integers(0, 3, 20), "classification"),
        (rng.normal(size=20), "regression"),
    ):
        counts = rng.integers(1, 4, 20)
        weighted = encode_target(y, task=task, sample_weight=counts)
        found = target_sums(weighted, whitening(weighted))
        np.testing.assert_allclose(found, _encoded(np.repeat(y, counts), task), rtol=1e-10)


def test_whitening_lets_each_class_count_alike():
    y = np.repeat([0, 1, 2], [50, 8, 2])
    target = encode_target(y)
    V = target.columns[:, 1:] * whitening(target)
    values = np.linalg.eigvalsh(V.T @ V)
    np.testing.assert_allclose(values, [0.0, 1.0, 1.0], atol=1e-12)
    for one_column in (encode_target(y > 0), encode_target(y * 1.5, task="regression")):
        assert whitening(one_column).tolist() == [1.0]


@pytest.mark.parametrize("n", [20_000, 200_000, 3_000_000])
def test_many_rows_do_not_overflow(n):
    """Whole numbers of rows, products of six of which no integer holds."""
    own = [n, 12 * n * n // 10, n**3, 3 * n, 9 * n, 40 * n, 50 * n, 60 * n]
    target = [n, n * n, n**3, n, n, 0, n * n, 0]  # two equal classes
    found = permutation_moments(np.int64(n), np.array(own, float), np.array(target, float))
    expected = exact_moments(n, own, target)
    np.testing.assert_allclose([found.mean, found.variance], expected[:2], rtol=1e-9)
    np.testing.assert_allclose(found.skewness, expected[2], rtol=1e-6)


@pytest.mark.parametrize("unit", [1e-90, 1e-30, 1e30, 1e90])
def test_units_do_not_matter(unit):
    rng = np.random.default_rng(3)
    y, task = TARGETS["three classes"]
    A, B = _matrices(8, rng)[0].astype(float), target_matrix(y, task).astype(float)
    plain = permutation_moments(8, dense_sums(A), dense_sums(B))
    found = permutation_moments(8, dense_sums(A * unit), dense_sums(B))
    np.testing.assert_allclose(found.mean, plain.mean * unit, rtol=1e-12)
    np.testing.assert_allclose(found.variance, plain.variance * unit**2, rtol=1e-12)
    np.testing.assert_allclose(found.skewness, plain.skewness, rtol=1e-9)


def test_one_odd_row_and_equal_classes_cannot_be_changed():
    odd = feature_matrix(np.r_[1.0, np.zeros(11)], "rbf", 0.5).astype(float)
    equal = target_matrix(np.arange(12) % 2, "classification").astype(float)
    found = permutation_moments(12, dense_sums(odd), dense_sums(equal))
    assert (float(found.variance), float(found.skewness)) == (0.0, 0.0)
    assert found.standardised(np.array(5.0)) == 0.0
    other = target_matrix(np.arange(12) % 3 == 0, "classification").astype(float)
    changed = permutation_moments(12, dense_sums(odd), dense_sums(other))
    expected = formula_moments(odd, other)
    np.testing.assert_allclose(changed.variance, float(expected[1]) * _unit(odd, other), rtol=1e-9)
    assert cancelled(12, dense_sums(odd), dense_sums(equal))
    assert not cancelled(12, dense_sums(odd), dense_sums(other))


def _unit(A, B):
    """From traces of the number of rows to those that the matrices have."""
    return (np.trace(A) * np.trace(B) / len(A) ** 2) ** 2


def test_many_columns_at_once_are_each_by_itself():
    rng = np.random.default_rng(4)
    sums = np.array([[dense_sums(M.astype(float)) for M in _matrices(9, rng)] for _ in range(2)])
    target = _encoded(*TARGETS["two classes"])
    both = permutation_moments(9, sums, target)
    assert both.mean.shape == both.variance.shape == both.skewness.shape == (2, 5)
    for i in range(2):
        for j in range(5):
            one = permutation_moments(9, sums[i, j], target)
            assert (one.mean, one.variance) == (both.mean[i, j], both.variance[i, j])
            assert one.skewness == both.skewness[i, j]


def test_fewest_rows_are_enough_for_the_formulas():
    assert FEWEST_ROWS >= 6
