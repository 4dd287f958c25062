"""A kernel of the package is one class: what a new one gets without another line anywhere."""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numba
import numpy as np
import pytest
import scipy.sparse as sp

import kernelpath as kp
from kernelpath import kernels
from kernelpath.alignment import _point_loops
from kernelpath.estimators.saved_settings import SettingsWriter, decode
from kernelpath.kernels import _formulas, _pairs, formula_code, resolve_kernel
from kernelpath.mkl.weighted_kernels import factors
from kernelpath.path_kernels import KernelBank, _dense_loops, _sparse_loops
from kernelpath.path_kernels.explicit import ExplicitMap
from kernelpath.predictors import base
from kernelpath.tables.table import as_column_table
from reference import own_kernels as slow

RNG = np.random.default_rng(3)
N = 40
X = np.round(RNG.normal(size=(N, 5)), 2)
X[:, 3] = X[:, 3] > 0  # two values
X[:, 4] = np.round(3 * np.abs(X[:, 4]), 1) * (RNG.uniform(size=N) < 0.15)  # mostly zeros
NEW = np.vstack([X[:3], np.round(RNG.normal(size=(8, 5)), 2)])
SIGNAL = np.abs(X[:, 0]) + 0.7 * X[:, 1] + 0.3 * X[:, 3]
Y = (SIGNAL > 0.9).astype(int)
TABLES = {"dense": np.asarray, "sparse": sp.csr_matrix}
REGISTERS = ("KERNELS", "BY_CODE", "WIDTH_POWERS", "_METHODS")
JIT = not numba.config.DISABLE_JIT


class Square(kp.FeatureKernel):
    """The width that all kernels here have."""

    width_power: ClassVar[int] = -2

    def gamma(self, sigma):
        return 1.0 / np.square(np.asarray(sigma, dtype=float))


@dataclass(frozen=True)
class Cauchy(Square):
    """By its distance."""

    name: ClassVar[str] = "cauchy"
    code: ClassVar[int] = 1000
    of_differences: ClassVar[bool] = True

    @staticmethod
    def pair_distance(x, z, gamma):
        squares = gamma * (x - z) * (x - z)
        return squares / (1.0 + squares)


@dataclass(frozen=True)
class Rational(Square):
    """With a setting, by distance and kernel."""

    power: float = 2.0
    name: ClassVar[str] = "rational"
    code: ClassVar[int] = 1001
    of_differences: ClassVar[bool] = True

    @staticmethod
    def pair_distance(x, z, gamma, power):
        return -math.expm1(-power * math.log1p(gamma * (x - z) * (x - z) / power))

    @staticmethod
    def pair_kernel(x, z, gamma, power):
        return (1.0 + gamma * (x - z) * (x - z) / power) ** -power


@dataclass(frozen=True)
class Sloped(Square):
    """By the kernel, of more than differences."""

    name: ClassVar[str] = "sloped"
    code: ClassVar[int] = 1002

    @staticmethod
    def pair_kernel(x, z, gamma):
        return gamma * x * z + 1.0 / (1.0 + gamma * (x - z) * (x - z))


NEW_KERNELS = {
    "cauchy": (Cauchy, Cauchy(), lambda x, z, g: 1 / (1 + g * (x - z) ** 2)),
    "rational": (Rational, Rational(0.5), lambda x, z, g: (1 + 2 * g * (x - z) ** 2) ** -0.5),
    "sloped": (Sloped, Sloped(), lambda x, z, g: g * x * z + 1 / (1 + g * (x - z) ** 2)),
}


def width(scale):
    return 1 / scale**2


class Calls:
    """Loops that were made for the new kernel, and ran."""

    def __init__(self, cls, monkeypatch):
        self.cls, self.names = cls, set()
        for place, name in (
            (_point_loops, "pairwise"), (_dense_loops, "distances_of"),
            (_sparse_loops, "fill_tables"), (_sparse_loops, "scatter"),
            (factors, "pivoted_factor"), (factors, "map_rows"),
        ):  # fmt: skip
            monkeypatch.setattr(place, name, self._watched(name, getattr(place, name)))

    def _watched(self, name, make):
        def watched(cls, *more):
            loop = make(cls, *more)

            def run(*given):
                result = loop(*given)
                if cls is self.cls and (not JIT or loop.signatures):
                    self.names.add(name)
                return result

            return run

        return watched


@pytest.fixture(params=NEW_KERNELS)
def new(request):
    """Register a kernel as the module of formulas does it, for one test."""
    tables = [getattr(_formulas, name) for name in REGISTERS]
    before = [dict(table) for table in tables]
    cls, kernel, k = NEW_KERNELS[request.param]
    assert kernels.built_in(cls) is cls
    yield kernel, k
    for table, kept in zip(tables, before):
        table.clear()
        table.update(kept)


@pytest.fixture
def calls(new, monkeypatch):
    def never(*given):
        raise AssertionError("not by the formula of arrays")

    monkeypatch.setattr("kernelpath.alignment.contraction.own_pairwise", never)
    monkeypatch.setattr("kernelpath.path_kernels.columns.distance_block", never)
    return Calls(type(new[0]), monkeypatch)


def close(actual, expected, tol=1e-9):
    expected = np.asarray(expected)
    return np.abs(np.asarray(actual) - expected).max() <= tol * np.abs(expected).max()


# -- formulas -------------------------------------------------------------------------------------


def test_the_others_follow(new):
    kernel, k = new
    x, z, gamma = X[:6, 0], NEW[:4, 0], 0.7
    expected = slow.matrix(k, x, z, gamma)
    own, other = (np.array([k(a, a, gamma) for a in values]) for values in (x, z))
    d = 0.5 * (own[:, None] + other) - expected
    assert np.allclose(kernel.gram(x, z, gamma), expected, rtol=0, atol=1e-14)
    got = kernel.half_squared_distance(x[:, None], z[None, :], gamma)
    assert np.allclose(got, d, rtol=0, atol=1e-14)
    assert kernel.half_squared_distance(x[2], z[1], gamma) == got[2, 1]
    pairs, settings = _pairs.pairs_of(type(kernel)), _formulas.formula_settings(kernel)
    at_zero = k(0.0, 0.0, gamma)
    shifted = k(0.3, 1.1, gamma) - k(0.3, 0.0, gamma) - k(0.0, 1.1, gamma) + at_zero
    assert pairs.shifted(0.3, 1.1, gamma, *settings) == pytest.approx(shifted, rel=1e-12)


def test_it_is_known_by_its_name(new):
    kernel, _ = new
    cls = type(kernel)
    assert resolve_kernel(cls.name) == cls()
    assert formula_code(kernel) == cls.code
    assert getattr(kernels, cls.__name__) is cls
    writer = SettingsWriter()
    saved = writer.encode(kp.LpKTASelector(kernel=kernel))
    assert decode(saved, writer.arrays).kernel == kernel
    with pytest.raises(ValueError, match=cls.name):
        kp.alignments(X, Y, kernel="unknown")
    with pytest.raises(ValueError, match="needs a name that no other kernel has"):
        kernels.built_in(cls)

    class Same(cls):
        name = "same"

        @staticmethod
        def pair_kernel(x, z, gamma):
            return 1.0

    with pytest.raises(ValueError, match="needs a code that no other kernel has"):
        kernels.built_in(Same)
    assert formula_code(Same()) == kernels.codes.OWN


def test_a_class_without_a_formula_is_refused(new):
    class Empty(Square):
        @staticmethod
        def pair_shifted(x, z, gamma):
            return 0.0

    with pytest.raises(TypeError, match="defines neither pair_distance nor pair_kernel"):
        _pairs.pairs_of(Empty)


# -- every consumer, by compiled loops ------------------------------------------------------------


@pytest.mark.parametrize("table", TABLES)
def test_alignments(new, calls, table):
    kernel, k = new
    expected = slow.alignments(X, Y, k, width, "classification")
    for method in ("auto", "exact", "fast"):
        assert close(kp.alignments(TABLES[table](X), Y, kernel=kernel, method=method), expected)
    assert calls.names == {"pairwise"}


@pytest.mark.skipif(not JIT, reason="without compiling, a square beyond the numbers is a warning")
def test_alignments_in_units_of_their_own(new, calls):
    kernel, k = new
    far = np.column_stack([1e170 * X[:, 0], X[:, 1:]])
    expected = slow.alignments(X, Y, k, width, "classification")
    assert close(kp.alignments(far, Y, kernel=kernel), expected, 1e-7)


@pytest.mark.parametrize("table", TABLES)
def test_combined_kernels(new, calls, table):
    kernel, k = new
    path = kp.LpKTASelector(kernel=kernel, statistic="alignment").fit(X, Y).path_
    given = kp.combined_kernels(
        path, TABLES[table](X), X_new=TABLES[table](NEW), kernel=kernel, positions=[0, 40, -1]
    )
    for position, got in zip([0, 40, -1], given):
        weights = path.weights[[position]].toarray()[0]
        K, K_new = slow.combined(X, NEW, weights, k, width)
        assert close(got.train, K, 1e-8)
        assert close(got.new, K_new, 1e-8)
    thin = {"fill_tables", "scatter"} if table == "sparse" and kernel.of_differences else set()
    assert calls.names == {"pairwise", "distances_of"} | thin


def test_columns_of_several_kernels(new, calls):
    kernel, k = new
    bank = KernelBank(
        X, (kernel, kp.RBF(), kp.Delta()), np.array([0, 1, 0, 2, 0]), np.ones(5), X.mean(axis=0),
        np.ones(5), np.zeros(5), np.zeros(5, dtype=bool), None, None,
    )  # fmt: skip
    (got,) = bank.combine(np.ones(5))
    expected = np.zeros((N, N))
    formulas = (k, lambda x, z, g: math.exp(-g * (x - z) ** 2), lambda x, z, g: float(x == z))
    for x, which in zip((X - X.mean(axis=0)).T, bank.which):
        K = slow.matrix(formulas[which], x, x, 1.0)
        K = K - K.mean(axis=0)
        expected += K - K.mean(axis=1, keepdims=True)
    assert close(got.train, expected, 1e-10)
    assert "distances_of" in calls.names


@pytest.mark.parametrize(("table", "large"), [("dense", False), ("sparse", False), ("dense", True)])
def test_path_cv_saved_by_name(new, calls, table, large, tmp_path, monkeypatch):
    kernel, k = new
    if large:  # a map of numbers in place of a matrix
        monkeypatch.setattr(base, "LARGE_ROWS", 20)
    model = kp.PathCV(
        kp.LpKTASelector(kernel=kernel),
        predictor=kp.WeightedKernelSVM(C=1.0),
        n_features=[3],
        cv=3,
        references=False,
    ).fit(TABLES[table](X), Y)
    weights = model.path_.at(3).weights
    expected = slow.predictions(X, Y, NEW, weights, k, width, "classification", 1.0)
    got = model.decision_function(TABLES[table](NEW))
    if large:
        assert np.mean((got > 0) == (expected > 0)) >= 0.8
    else:
        assert np.abs(got - expected).max() < 0.01 * np.ptp(expected)
    assert "distances_of" in calls.names
    file = tmp_path / "model.kpmodel"
    model.save(file)
    again = kp.load_model(file)
    assert np.array_equal(again.decision_function(TABLES[table](NEW)), got)
    assert again.selector.kernel == kernel


def test_the_map_of_many_rows(new):
    kernel, k = new
    bank = KernelBank.fit(as_column_table(X), kernel=kernel)
    weights = np.array([0.5, 0.2, 0.0, 0.2, 0.1])
    explicit = ExplicitMap.fit(bank, weights, n_components=N)
    phi = ExplicitMap.from_arrays(explicit.to_arrays()).transform(X)
    phi = phi - phi.mean(axis=0)
    K, _ = slow.combined(X, NEW, weights, k, width)
    assert close(phi @ phi.T, K, 1e-6)


@pytest.mark.parametrize("table", TABLES)
def test_gmkl(new, calls, table):
    kernel, k = new
    got = kp.GMKLClassifier(base_kernel=kernel, tol=1e-6).fit(TABLES[table](X), Y)
    given, given_new = [], []
    for x, values in zip(X.T, NEW.T):
        mean, scale = slow.mean_and_scale(x, np.ones(len(x)))
        given.append(slow.matrix(k, x - mean, x - mean, width(scale)))
        given_new.append(slow.matrix(k, values - mean, x - mean, width(scale)))
    expected = kp.GMKLClassifier(kernel="precomputed", tol=1e-6).fit(given, Y)
    assert got.objective_ == pytest.approx(expected.objective_, rel=1e-5)
    actual = got.decision_function(TABLES[table](NEW))
    assert close(actual, expected.decision_function(given_new), 2e-2)
    assert "pivoted_factor" in calls.names
    rough = kp.GMKLClassifier(base_kernel=kernel, tol=1e-6, nystrom=N).fit(X, Y)
    assert close(rough.decision_function(NEW), actual, 2e-2)
    assert calls.names == {"pivoted_factor", "map_rows"}


def test_by_name_along_a_path(new):
    kernel, _ = new
    selector = kp.LpKTASelector(kernel=kernel.name).fit(X, Y)
    assert len(list(kp.combined_kernels(selector.path_, X, positions=[0, -1]))) == 2
    assert kp.NMMKLSelector([2], kernel=kernel.name).fit(X, Y).support_.sum() == 2


# -- the file itself ------------------------------------------------------------------------------

ADDED = """

@built_in
@dataclass(frozen=True)
class Cauchy(FeatureKernel):
    name: ClassVar[str] = "cauchy"
    code: ClassVar[int] = 4
    width_power: ClassVar[int] = -2
    of_differences: ClassVar[bool] = True

    def gamma(self, sigma):
        return 1.0 / np.square(np.asarray(sigma, dtype=float))

    @staticmethod
    def pair_distance(x, z, gamma):
        squares = gamma * (x - z) * (x - z)
        return squares / (1.0 + squares)
"""
ASKED = """
import sys, numpy as np, kernelpath as kp
X, y = np.load(sys.argv[1])["X"], np.load(sys.argv[1])["y"]
print(*map(repr, kp.alignments(X, y, kernel="cauchy").tolist()))
"""


def test_a_class_in_the_file_of_formulas_is_enough_and_may_be_edited(tmp_path):
    package = tmp_path / "kernelpath"
    skipped = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(kp.__file__).parent, package, ignore=skipped)
    np.savez(tmp_path / "data.npz", X=X, y=Y)
    file = package / "kernels" / "_formulas.py"
    plain = file.read_text("utf-8")
    environment = os.environ | {
        "PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
    }  # fmt: skip

    def alignments():
        done = subprocess.run(
            [sys.executable, "-c", ASKED, str(tmp_path / "data.npz")],
            capture_output=True, text=True, check=True, timeout=300, env=environment,
        )  # fmt: skip
        return [float(word) for word in done.stdout.split()]

    file.write_text(plain + ADDED, "utf-8")
    _, _, k = NEW_KERNELS["cauchy"]
    assert close(alignments(), slow.alignments(X, Y, k, width, "classification"))
    file.write_text(plain + ADDED.replace("gamma * (x - z)", "3.0 * gamma * (x - z)"), "utf-8")
    edited = slow.alignments(X, Y, lambda x, z, g: k(x, z, 3.0 * g), width, "classification")
    assert close(alignments(), edited)
