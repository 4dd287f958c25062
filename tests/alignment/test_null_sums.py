"""Statistics behind the p-values: every kernel, container and shape against dense matrices."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp

import kernelpath as kp
from alignment.chance_helpers import MULTI, chance, shape_table, shapes
from alignment.helpers import TASKS, make_target
from kernelpath.alignment import null_sums
from reference.chance import table_chance, worst_z

N = 60
Z_FAST, Z_EXACT, SKEWNESS = 1e-4, 1e-8, 1e-3


class Cauchy(kp.FeatureKernel):
    """A kernel of the user's own."""

    def gamma(self, sigma):
        return 1 / np.square(sigma)

    def half_squared_distance(self, x, z, gamma):
        squares = gamma * np.square(np.subtract(x, z))
        return squares / (1 + squares)


# What the package calls it, and how the twin makes it.
KERNELS = {
    "rbf": ("rbf", {"kernel": "rbf", "factors": MULTI}),
    "laplace": ("laplace", {"kernel": "laplace", "factors": MULTI}),
    "linear": ("linear", {"kernel": "linear"}),
    "polynomial 2": (kp.Polynomial(2), {"kernel": "polynomial", "degree": 2}),
    "polynomial 3": ("polynomial", {"kernel": "polynomial", "degree": 3}),
    "polynomial 5": (kp.Polynomial(5, 0.5), {"kernel": "polynomial", "degree": 5, "coef0": 0.5}),
    "delta": ("delta", {"kernel": "delta"}),
    "own": (
        Cauchy(),
        {
            "own": lambda a, b, gamma: 1 / (1 + gamma * (a - b) ** 2),
            "width": lambda scale: 1 / scale**2,
            "factors": MULTI,
        },
    ),
}


def _odd_columns(n, rng):
    """One row far from all others, which are alike, nearly alike or not alike."""
    X = rng.normal(size=(n, 5)) * [0.0, 1e-6, 1e-3, 1e-2, 1.0]
    X[7] = [1.0, 1.0, 1.0, 1.0, 50.0]
    return X


def _sparse_table(n, rng):
    """Counts and numbers, most of them 0."""
    X = np.where(rng.random((n, 6)) < 0.6, 0.0, rng.normal(size=(n, 6)))
    X[:, :3] = rng.poisson(0.7, (n, 3))
    return X


def _with_holes(X, rng):
    """Missing values here and there, in one column nearly everywhere."""
    holes = rng.random(X.shape) < 0.2
    holes[:, -1] = np.arange(len(X)) > 9
    holes[3] = True
    return np.where(holes, np.nan, X)


def _table(name):
    rng = np.random.default_rng(11)
    tables = {
        "shapes": lambda: shape_table(N, rng),
        "holes": lambda: _with_holes(shape_table(N, rng), rng),
        "sparse": lambda: _sparse_table(N, rng),
        "sparse holes": lambda: _with_holes(_sparse_table(N, rng), rng),
        "float32": lambda: shape_table(N, rng)[:, :-1].astype(np.float32),
        "odd": lambda: _odd_columns(N, rng),
    }
    return tables[name]()


@cache
def _expected(table, kernel, task, equal=False):
    y, name = _target(task, equal)
    return table_chance(_table(table), y, name, **KERNELS[kernel][1])


def _target(task, equal=False):
    rng = np.random.default_rng(12)
    if equal:
        return rng.permutation(np.arange(N) % (2 if task == "binary" else 4)), "classification"
    return make_target(task, N, rng)


def _holds(X, kernel, task, expected, equal=False):
    """Both ways agree with the twin; returns what the usual way found."""
    y, name = _target(task, equal)
    first = None
    for method, tolerance in (("auto", Z_FAST), ("exact", Z_EXACT)):
        options = {"kernel": KERNELS[kernel][0], "method": method, "task": name}
        result, z, skewness = chance(X, y, **options)
        assert worst_z(z, expected[0]) < tolerance
        assert np.max(np.abs(skewness - expected[1])) < SKEWNESS
        assert np.isfinite(result.log_p).all()
        first = first or result
    return first


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_every_kernel_and_target_against_the_twin(kernel, task):
    expected = _expected("shapes", kernel, task)
    assert np.abs(expected[0]).max() > 0.3  # something to be wrong about
    _holds(_table("shapes"), kernel, task, expected)


@pytest.mark.parametrize("kernel", KERNELS)
def test_missing_values_are_a_category_of_their_own(kernel):
    for table, wrap in (("holes", np.asarray), ("sparse holes", sp.csr_array)):
        _holds(wrap(_table(table)), kernel, "binary", _expected(table, kernel, "binary"))


@pytest.mark.parametrize("task", ["multiclass", "regression"])
@pytest.mark.parametrize("kernel", ["rbf", "laplace"])
def test_missing_values_with_other_targets(kernel, task):
    _holds(_table("holes"), kernel, task, _expected("holes", kernel, task))


CONTAINERS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "csr": sp.csr_array,
    "csc": sp.csc_matrix,
    "csr float32": lambda X: sp.csr_array(X.astype(np.float32)),
}


@pytest.mark.parametrize("kernel", ["rbf", "laplace", "polynomial 3", "delta"])
@pytest.mark.parametrize("container", CONTAINERS)
def test_every_container(container, kernel):
    X = _table("sparse").astype(np.float32).astype(np.float64)
    y, name = _target("multiclass")
    expected = table_chance(X, y, name, **KERNELS[kernel][1])
    _holds(CONTAINERS[container](X), kernel, "multiclass", expected)


@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray])
@pytest.mark.parametrize("kernel", ["rbf", "laplace", "linear"])
def test_single_precision(layout, kernel):
    expected = _expected("float32", kernel, "binary")
    _holds(layout(_table("float32")), kernel, "binary", expected)


@pytest.mark.parametrize("unit", [1e-200, 1e-90, 1e90, 1e200])
@pytest.mark.parametrize("kernel", ["rbf", "laplace", "linear", "polynomial 2"])
def test_tiny_and_huge_units(kernel, unit):
    z, skewness = _expected("shapes", kernel, "binary")
    _holds(_table("shapes")[:, :5] * unit, kernel, "binary", (z[:5], skewness[:5]))


# -- columns in which few rows are far from all others -------------------------------------------


@pytest.mark.parametrize("equal", [False, True])
@pytest.mark.parametrize("task", ["binary", "multiclass"])
def test_one_odd_row(task, equal):
    """Where classes are of equal size, what a permutation changes is small beside what it keeps."""
    z, skewness = _expected("odd", "rbf", task, equal)
    if equal:
        assert np.all(z[0] == 0.0)
        assert np.all(z[2] != 0.0)
    found = _holds(_table("odd"), "rbf", task, (z, skewness), equal)
    if equal:
        assert found.log_p[0] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.slow  # without compiled loops
@pytest.mark.parametrize("classes", [2, 4])
def test_odd_rows_of_long_columns(classes):
    """More rows than are compared in pairs: a finer grid, or no claim at all."""
    n = 450
    rng = np.random.default_rng(13)
    X = rng.normal(size=(n, 5)) * [0.1, 1e-2, 1e-3, 1e-4, 1e-6]
    X[7] = 1.0
    y = rng.permutation(np.arange(n) % classes)
    found, z, skewness = chance(X, y)
    exact, z_exact, skewness_exact = chance(X, y, method="exact")
    told = (z != 0.0) | (z_exact == 0.0)
    assert worst_z(z[told], z_exact[told]) < Z_FAST
    assert np.max(np.abs(skewness - skewness_exact)[told]) < 2e-2
    assert told[:2].all()
    assert np.all(found.log_p >= exact.log_p - 1e-3)  # where it cannot tell, it claims nothing


@pytest.mark.slow  # without compiled loops
def test_heavy_tails_with_equal_classes_are_not_discoveries():
    """Sums that are right to 1e-5 only would make some of these p-values tiny."""
    rng = np.random.default_rng(14)
    for n in (60, 450):
        X = rng.standard_cauchy((n, 150))
        X[:, 50:] = rng.lognormal(0.0, 3.0, (n, 100))
        for classes in (2, 4):
            y = rng.permutation(np.arange(n) % classes)
            log_p = chance(X, y)[0].log_p
            some = np.union1d(np.arange(0, 150, 5), np.argsort(log_p)[:10])
            exact = chance(X[:, some], y, method="exact")[0].log_p
            assert np.all(log_p[some] > exact - 1e-2)
            assert np.exp(log_p.min()) > 1e-5


# -- how it is done --------------------------------------------------------------------------------


@pytest.mark.parametrize("factors", [(1.0,), (0.25, 1.0, 0.5), (3.0, 0.7, 0.1), (100.0, 1.0, 0.02)])
def test_any_widths_in_any_order(factors):
    y, name = _target("binary")
    X = _table("shapes")
    expected = table_chance(X, y, name, factors=factors)
    result, z, skewness = chance(X, y, bandwidth=factors)
    assert worst_z(z, expected[0]) < 3 * Z_FAST
    assert np.max(np.abs(skewness - expected[1])) < 3 * SKEWNESS
    assert result.log_p_by_width.shape == (X.shape[1], len(factors))


def test_median_width():
    y, name = _target("regression")
    X = _table("shapes")
    expected = table_chance(X, y, name, bandwidth="median")
    _, z, skewness = chance(X, y, bandwidth="median", task=name)
    assert worst_z(z, expected[0]) < Z_FAST
    assert np.max(np.abs(skewness - expected[1])) < SKEWNESS


@pytest.mark.parametrize("levels", [2, 3, 23, 24, 25, 30])
def test_few_values_and_one_more(levels):
    """Up to 24 different values are exact, whatever the container."""
    rng = np.random.default_rng(levels)
    x = rng.permutation(np.resize(rng.normal(size=levels), N))[:, None]
    y, name = _target("multiclass")
    expected = table_chance(x, y, name, factors=MULTI)
    for table in (x, sp.csr_array(x), np.where(np.arange(N)[:, None] == 3, np.nan, x)):
        twin = expected if not np.isnan(_dense(table)).any() else None
        twin = twin or table_chance(table, y, name, factors=MULTI)
        _, z, _ = chance(table, y)
        exactly = levels <= null_sums.MOST_LEVELS
        assert worst_z(z, twin[0]) < (1e-9 if exactly else Z_FAST)


def _dense(table):
    return table.toarray() if sp.issparse(table) else table


def test_pairs_in_blocks_are_all_pairs(monkeypatch):
    y, _ = _target("binary")
    X = _table("shapes")
    _, z, skewness = chance(X, y, method="exact")
    monkeypatch.setattr(null_sums, "BLOCK", 700)
    _, blocked, blocked_skewness = chance(X, y, method="exact")
    np.testing.assert_allclose(blocked, z, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(blocked_skewness, skewness, rtol=1e-9, atol=1e-12)


def test_a_grid_that_would_be_too_large(monkeypatch):
    """Such columns are compared in pairs."""
    y, _ = _target("binary")
    X = _table("shapes")
    _, z, _ = chance(X, y, method="exact")
    monkeypatch.setattr(null_sums, "LARGEST_GRID", 100)
    _, found, _ = chance(X, y)
    same = np.abs(found - z).max(axis=1) < 1e-11
    names = list(shapes(N, np.random.default_rng(11)))
    assert same[names.index("lognormal")]
    assert not same[names.index("uniform")]
    assert worst_z(found, z) < Z_FAST


@pytest.mark.parametrize(
    ("kernel", "method", "words"),
    [
        (Cauchy(), "auto", "use kernel='rbf'"),
        ("laplace", "exact", "leave out method='exact'"),
        ("rbf", "exact", "leave out method='exact'"),
        ("rbf", "auto", "give it a larger width"),
    ],
)
def test_too_many_pairs_are_refused(kernel, method, words, monkeypatch):
    monkeypatch.setattr(null_sums, "MOST_POINTS", 50)
    monkeypatch.setattr(null_sums, "LARGEST_GRID", 10)
    y, _ = _target("binary")
    with pytest.raises(kp.DataError, match="60 different values") as caught:
        chance(np.random.default_rng(0).normal(size=(N, 2)), y, kernel=kernel, method=method)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
