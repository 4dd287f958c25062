"""Family-wise error by the best of all features in permutations of the target."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import kernelpath as kp
from alignment.chance_helpers import calibrated
from kernelpath.alignment import family
from kernelpath.errors import DataError
from reference.chance import least_p, two_valued_p

N, B = 36, 10


def _orders(n_permutations, n, random_state):
    """The orders of the rows that a test draws."""
    seed = int(np.random.RandomState(random_state).randint(2**31))
    found = []
    for start in range(0, n_permutations, family.AT_ONCE):
        rng = np.random.default_rng([seed, start])
        found += [rng.permutation(n) for _ in range(min(family.AT_ONCE, n_permutations - start))]
    return found


def _target(task, rng):
    if task == "regression":
        return rng.normal(size=N)
    return rng.permutation(np.arange(N) % (2 if task == "two" else 3))


def _least(X, y, **options):
    options = {"family_permutations": B, "random_state": 3} | options
    return kp.alignment_test(X, y, **options).least_by_chance


def _by_single_tests(X, y, **options):
    """The same by a test of its own for each permuted target."""
    return np.array([calibrated(X, y[o], **options).log_p.min() for o in _orders(B, len(y), 3)])


@pytest.mark.parametrize("task", ["two", "three", "regression"])
def test_least_p_values_are_those_of_dense_matrices(task):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(N, 5)), _target(task, rng)
    word = "regression" if task == "regression" else "classification"
    expected = least_p(X, y, word, _orders(B, N, 3))
    np.testing.assert_allclose(np.exp(_least(X, y)), expected, rtol=2e-4)


def test_columns_of_two_values_have_their_exact_law():
    rng = np.random.default_rng(1)
    X, y = (rng.random((N, 4)) < 0.4).astype(float), _target("two", rng)
    expected = [min(two_valued_p(x, y[o]) for x in X.T) for o in _orders(B, N, 3)]
    np.testing.assert_allclose(np.exp(_least(X, y)), expected, rtol=1e-9)


@pytest.mark.parametrize("kernel", ["rbf", "laplace", "linear", "polynomial"])
@pytest.mark.parametrize("task", ["two", "three", "regression"])
def test_every_kernel_and_target(kernel, task):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(N, 6)), _target(task, rng)
    found = _least(X, y, kernel=kernel)
    np.testing.assert_allclose(found, _by_single_tests(X, y, kernel=kernel), rtol=1e-4)


def test_mixed_columns_and_missing_values():
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.normal(size=(N, 4))).add_prefix("x")
    X.loc[rng.random(N) < 0.3, "x1"] = np.nan
    X["town"] = rng.choice(["Ulm", "Bonn", "Basel"], N)
    y = _target("two", rng)
    found = _least(X, y)
    each = [kp.alignment_test(X, y[o]).log_p.min() for o in _orders(B, N, 3)]
    np.testing.assert_allclose(found, each, rtol=1e-4)


def test_containers_and_threads_agree(monkeypatch):
    monkeypatch.setattr(family, "AT_ONCE", 4)
    rng = np.random.default_rng(4)
    X = rng.normal(size=(N, 300)) * (rng.random((N, 300)) < 0.4)
    y = _target("two", rng)
    found = _least(X, y, n_jobs=1)
    assert np.array_equal(found, _least(X, y, n_jobs=3))  # to the last bit
    for other in (np.asfortranarray(X), sp.csr_matrix(X), sp.csc_matrix(X)):
        np.testing.assert_allclose(_least(other, y), found, rtol=1e-4)


def test_only_seldom_p_values_are_computed_but_none_is_missed(monkeypatch):
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(N, 60)), _target("regression", rng)
    found = _least(X, y)
    monkeypatch.setattr(family, "SELDOM", 1 - 1e-9)
    np.testing.assert_allclose(_least(X, y), found, rtol=1e-12)


def test_adjusted_by_a_loop():
    rng = np.random.default_rng(6)
    least, log_p = np.log(rng.random(19) ** 3), np.log(rng.random(8) ** 4)
    z = np.append(np.ones(7), np.nan)
    test = kp.AlignmentTest(*np.ones((1, 8)), z, log_p, *np.ones((2, 8)), least_by_chance=least)
    expected = [(1 + sum(b <= p for b in least)) / 20 for p in log_p[:7]]
    np.testing.assert_allclose(test.adjusted("max"), [*expected, 1.0])
    found = test.discoveries(0.3, "max")
    assert found.tolist() == sorted(
        np.flatnonzero(test.adjusted("max") <= 0.3), key=lambda j: log_p[j]
    )


def test_a_false_discovery_anywhere_is_as_rare_as_asked():
    rng, draws = np.random.default_rng(7), 60
    wrong = 0
    for seed in range(draws):
        shared = rng.normal(size=(40, 1))
        X, y = 0.7 * shared + rng.normal(size=(40, 12)), rng.permutation(np.arange(40) % 2)
        test = kp.alignment_test(X, y, family_permutations=39, random_state=seed)
        wrong += len(test.discoveries(0.2, "max")) > 0
    assert 3 <= wrong <= 22  # 12 expected, three deviations


def test_strong_features_are_found():
    data = kp.datasets.make_wide(n_samples=200, n_features=50, random_state=0)
    test = kp.alignment_test(data.X, data.y, family_permutations=100, random_state=0)
    found = test.discoveries(0.05, "max")
    assert len(found) > 0
    assert set(found) <= set(data.relevant.tolist())
    axes = test.plot(method="max", level=0.05)
    assert "family-wise error rate" in " ".join(text.get_text() for text in axes.texts)


def test_words_of_refusals():
    rng = np.random.default_rng(8)
    X, y = rng.normal(size=(N, 3)), np.arange(N) % 2
    with pytest.raises(DataError, match="family_permutations=1000"):
        kp.alignment_test(X, y).discoveries(0.05, "max")
    test = kp.alignment_test(X, y, family_permutations=9, random_state=0)
    with pytest.raises(DataError, match=r"below 0\.1, and level=0\.05; take at least 400"):
        test.discoveries(0.05, "max")
    with pytest.raises(ValueError, match="only one of the two"):
        kp.alignment_test(X, y, permutations=10, family_permutations=10)
    with pytest.raises((TypeError, ValueError), match="family_permutations"):
        kp.alignment_test(X, y, family_permutations=-1)
