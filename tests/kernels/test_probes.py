"""What users bring is held against itself: honest objects pass, broken ones are named."""

from __future__ import annotations

import math

import numpy as np
import pytest

import kernelpath as kp
from kernelpath.kernels import KERNELS
from kernelpath.kernels.probe import probe_kernel
from kernelpath.mkl.feasible_sets import Budget, FeasibleSet
from kernelpath.mkl.losses import DualProblem, Hinge
from kernelpath.mkl.weighted_kernels.columns import ColumnKernel, SumOfColumnKernels
from kernelpath.mkl.weighted_kernels.precomputed import GivenKernels
from kernelpath.mkl.weighted_kernels.products import ARDPolynomial, ProductRBF
from kernelpath.utils.probes import (
    probe_divergence,
    probe_dual,
    probe_feasible,
    probe_regularizer,
    probe_weighted,
)
from kernels.examples import OWN, Cauchy, Energy, Multiquadric

DATA = kp.datasets.make_ring(n_samples=80, n_features=5, random_state=0)
X, Y = DATA.X, DATA.y


# -- everything of the package passes --------------------------------------------------------------


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_of_the_package_pass(name):
    probe_kernel(KERNELS[name]())


@pytest.mark.parametrize("name", OWN)
def test_honest_kernels_pass(name):
    probe_kernel(OWN[name].kernel)


@pytest.mark.parametrize("divergence", [kp.SquaredEuclidean(), kp.GeneralizedKL()], ids=repr)
def test_divergences_of_the_package_pass(divergence):
    probe_divergence(divergence, [1e-6, 30.0])


REGULARIZERS = [
    kp.NoRegularizer(), kp.L1(3.0), kp.L1(1e-6), kp.Lp(1.0), kp.Lp(1.2, 0.01), kp.Lp(2), kp.Lp(3.5),
    kp.ElasticNet(2.0), kp.ElasticNet(2.0, 0.0), kp.ElasticNet(2.0, 1.0),
    kp.MixedNorm([0, 0, 1, 2, 1]), kp.MixedNorm([0, 0, 1, 2, 1], p=1.5, q=1.0),
    kp.MixedNorm([3, 3, 3, 3, 3], p=2.0, q=4.0, strength=1e3),
]  # fmt: skip


@pytest.mark.parametrize("regularizer", REGULARIZERS, ids=repr)
def test_regularizers_of_the_package_pass(regularizer):
    probe_regularizer(regularizer, 5)


SETS = [
    kp.NonNegative(), kp.Simplex(2.0), kp.CappedSimplex(2.0, 0.5), kp.Box(0.1, 2.0),
    kp.LpBall(1.5, 2.0), kp.LpBall(1.0, 0.3), Budget(2, fixed=(3,)),
]  # fmt: skip


@pytest.mark.parametrize("feasible", SETS, ids=repr)
def test_sets_of_the_package_pass(feasible):
    probe_feasible(feasible, 5)


def test_weighted_kernels_of_the_package_pass():
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    Z = Z[:20]
    probe_weighted(ProductRBF(Z), Z)
    probe_weighted(ARDPolynomial(Z), Z)
    probe_weighted(SumOfColumnKernels(Z, [ColumnKernel(kp.RBF(), (j,), 0.5) for j in range(5)]), Z)
    grams = [np.outer(z, z) for z in Z.T]
    probe_weighted(GivenKernels(grams), grams)


# -- broken kernels --------------------------------------------------------------------------------


class NotZero(Cauchy):
    def half_squared_distance(self, x, z, gamma):
        return 0.3 + super().half_squared_distance(x, z, gamma)


class Lopsided(Cauchy):
    def half_squared_distance(self, x, z, gamma):
        return np.maximum(np.subtract(x, z), 0.0)


class NotANumber(Cauchy):
    def half_squared_distance(self, x, z, gamma):
        return np.where(np.subtract(x, z) > 2, np.nan, super().half_squared_distance(x, z, gamma))


class Scalar(Cauchy):
    def half_squared_distance(self, x, z, gamma):
        return float(np.square(np.subtract(x, z)).sum())


class Raises(Cauchy):
    def half_squared_distance(self, x, z, gamma):
        return math.exp(x - z)


class OfAllRows(Cauchy):
    def half_squared_distance(self, x, z, gamma):
        return super().half_squared_distance(x, z, gamma) * np.std(x)


class Indefinite(Cauchy):
    def half_squared_distance(self, x, z, gamma):
        return np.abs(np.subtract(x, z)) ** 3


class Negative(Cauchy):
    def half_squared_distance(self, x, z, gamma):
        return -super().half_squared_distance(x, z, gamma)


class Apart(Cauchy):
    def half_squared_distance(self, x, z, gamma):
        return super().half_squared_distance(x, z, gamma)

    def gram(self, x, z, gamma):
        return np.multiply.outer(x, z)


class Sideways(Multiquadric):
    def gram(self, x, z, gamma):
        return super().gram(x, z, gamma)[:, :2]


class NoWidth(Cauchy):
    def gamma(self, sigma):
        return -1 / np.square(sigma)


class OneWidth(Cauchy):
    def gamma(self, sigma):
        return 1.0


class Nothing(kp.FeatureKernel):
    def gamma(self, sigma):
        return 1 / np.square(sigma)


class _Laplace(kp.FeatureKernel):
    """A kernel given by its values, changed by subclasses."""

    def gamma(self, sigma):
        return 1 / np.asarray(sigma)

    def gram(self, x, z, gamma):
        return self.change(np.exp(-gamma * np.abs(np.subtract.outer(x, z))))


class NoLuck(_Laplace):
    def change(self, values):
        return np.random.default_rng().uniform(1, 2) * values


class ZeroDiagonal(_Laplace):
    """Positive definite only when it is centred."""

    def change(self, values):
        return values - 1


class FarUp(_Laplace):
    def change(self, values):
        return values + 1e11


class Asserts(_Laplace):
    def change(self, values):
        raise AssertionError("not yet")


class NotThere(_Laplace):
    def change(self, values):
        raise NotImplementedError


class Masked(_Laplace):
    def change(self, values):
        return np.ma.masked_array(values, mask=values == 1)


class Text(_Laplace):
    def change(self, values):
        return values.astype(str)


BROKEN_KERNELS = {
    NoLuck: r"NoLuck.gram gives a pair of values another number",
    ZeroDiagonal: r"ZeroDiagonal.gram is not positive definite.*give half_squared_distance",
    FarUp: r"FarUp.gram has values up to 1e\+11 that differ by 1 only",
    Asserts: r"Asserts.gram fails at a point of trial: AssertionError: not yet",
    NotThere: r"NotThere.gram fails at a point of trial: NotImplementedError",
    Masked: r"Masked.gram gives masked numbers",
    Text: r"Text.gram gives text",
    NotZero: r"NotZero.half_squared_distance is not 0 for a value and itself",
    Lopsided: r"Lopsided.half_squared_distance is not symmetric",
    NotANumber: r"NotANumber.half_squared_distance gives NaN or infinity",
    Scalar: r"Scalar.half_squared_distance gives an array of shape \(\)",
    Raises: r"Raises.half_squared_distance fails at a point of trial: TypeError",
    OfAllRows: r"OfAllRows.half_squared_distance gives a pair of values another number",
    Indefinite: r"Indefinite.half_squared_distance does not belong to a positive definite",
    Negative: r"Negative.half_squared_distance gives a negative",
    Apart: r"Apart.gram and half_squared_distance contradict each other",
    Sideways: r"Sideways.half_squared_distance fails|Sideways.gram",
    NoWidth: r"NoWidth.gamma must be positive",
    OneWidth: r"OneWidth.gamma gives one number",
    Nothing: r"Nothing defines neither half_squared_distance nor gram",
}


@pytest.mark.parametrize("kernel", BROKEN_KERNELS)
def test_broken_kernels_are_refused_everywhere(kernel):
    match = BROKEN_KERNELS[kernel]
    for use in (
        lambda: kp.alignments(X, Y, kernel=kernel()),
        lambda: kp.LpKTASelector(kernel=kernel()).fit(X, Y),
        lambda: kp.GMKLClassifier(base_kernel=kernel()).fit(X, Y),
        lambda: kp.NMMKLSelector([1], kernel=kernel()).fit(X, Y),
    ):
        with pytest.raises(kp.ExtensionError, match=match):
            use()


class Late(Cauchy):
    """A number for ordinary values only."""

    def half_squared_distance(self, x, z, gamma):
        d = super().half_squared_distance(x, z, gamma)
        return np.where(d > 0.98, np.nan, d)


class LateIndefinite(Cauchy):
    """Positive definite near the mean only."""

    def half_squared_distance(self, x, z, gamma):
        far = np.abs(np.subtract(x, z)) > 20
        return np.where(far, -5.0, super().half_squared_distance(x, z, gamma))


def test_a_nan_later_on_is_an_error():
    wide = np.vstack([X, 30 * X[:2], -30 * X[:2]])
    y = np.append(Y, Y[[0, 1, 0, 1]])
    model = kp.PathCV(kp.LpKTASelector(kernel=Late()), predictor="weighted_kernel", n_features=[2],
                      cv=3, references=False).fit(X[:, :3] / 3, Y)  # fmt: skip
    for use in (
        lambda: kp.alignments(wide, y, kernel=Late()),
        lambda: kp.GMKLClassifier(base_kernel=Late()).fit(wide, y),
        lambda: model.predict(100 * X[:, :3]),
    ):
        with pytest.raises(kp.ExtensionError, match=r"half_squared_distance gives nan for x ="):
            use()


def test_a_kernel_that_is_not_positive_definite_on_the_data_is_refused():
    far = np.repeat([-15.0, 15.0], 20)[:, None] + np.random.default_rng(0).normal(size=(40, 2))
    y = np.repeat([0, 1], 20)
    for use in (
        lambda: kp.alignments(far, y, kernel=LateIndefinite()),
        lambda: kp.GMKLClassifier(base_kernel=LateIndefinite()).fit(far, y),
    ):
        with pytest.raises(kp.ExtensionError, match="LateIndefinite is not positive definite"):
            use()


# -- broken divergences ----------------------------------------------------------------------------


class Quartic:
    name = "quartic"
    positive_reference = False

    def generator(self, x):
        return np.square(x) + np.power(x, 4)

    def derivative(self, x):
        return 2 * np.asarray(x) + 4 * np.power(x, 3)

    def second_derivative(self, x):
        return 2 + 12 * np.square(x)

    def third_derivative(self, x):
        return 24 * np.asarray(x, dtype=float)


def _changed(base, **changes):
    """A class some of whose methods give something else."""

    def method(name, change):
        return lambda self, x: change(getattr(base, name)(self, x), x)

    return type("Changed", (base,), {name: method(name, own) for name, own in changes.items()})


BROKEN_DIVERGENCES = {
    "nan": ({"derivative": lambda v, x: v * np.nan}, "Changed.derivative is nan"),
    "nan at 0": (
        {"derivative": lambda v, x: np.where(np.asarray(x) == 0, np.nan, v)},
        "Changed.derivative is nan at 0",
    ),
    "infinite at 0": (
        {"generator": lambda v, x: np.where(np.asarray(x) == 0, np.inf, v)},
        "Changed.generator is inf at 0",
    ),
    "sign": ({"derivative": lambda v, x: -v}, "Changed.derivative is .*, but generator has"),
    "factor": ({"derivative": lambda v, x: 0.5 * v}, "Changed.derivative is .*, but generator has"),
    "second": ({"second_derivative": lambda v, x: 2 * v}, "Changed.second_derivative is .*, but"),
    "third": ({"third_derivative": lambda v, x: v + 1}, "Changed.third_derivative is .*, but"),
    "concave": (
        dict.fromkeys(
            ("generator", "derivative", "second_derivative", "third_derivative"), lambda v, x: -v
        ),
        "Changed.derivative decreases",
    ),
    "shape": ({"derivative": lambda v, x: np.sum(v)}, "Changed.derivative gives an array of shape"),
}


@pytest.mark.parametrize("case", BROKEN_DIVERGENCES)
def test_broken_divergences_are_refused(case):
    methods, match = BROKEN_DIVERGENCES[case]
    for solver in ("exact", "predictor_corrector"):
        with pytest.raises(kp.ExtensionError, match=match):
            kp.LpKTASelector(divergence=_changed(Quartic, **methods)(), solver=solver).fit(X, Y)


def test_an_honest_divergence_is_solved():
    for solver in ("exact", "predictor_corrector"):
        path = kp.LpKTASelector(divergence=Quartic(), solver=solver).fit(X, Y).path_
        assert path.kkt.max() < 1e-6


def test_what_is_wrong_with_something_that_is_no_divergence():
    with pytest.raises(ValueError, match="a class: give an object of it"):
        kp.LpKTASelector(divergence=kp.SquaredEuclidean).fit(X, Y)
    half = type("Half", (kp.SquaredEuclidean,), {"third_derivative": None})()
    with pytest.raises(ValueError, match=r"\(missing: third_derivative\)"):
        kp.LpKTASelector(divergence=half).fit(X, Y)


def test_a_subclass_of_a_divergence_of_the_package_is_itself():
    """It was traced by the closed form of its parent."""
    changed = type("Half", (kp.SquaredEuclidean,), {
        "generator": lambda self, x: 0.5 * np.square(x),
        "derivative": lambda self, x: np.asarray(x, dtype=float),
        "second_derivative": lambda self, x: np.ones_like(np.asarray(x, dtype=float)),
    })()  # fmt: skip
    options = {"bregman_strength": 1.0, "norm_strength": 1.0}
    half = kp.LpKTASelector(divergence=changed, **options).fit(X, Y).path_
    twin = kp.LpKTASelector(bregman_strength=0.5, norm_strength=1.0).fit(X, Y).path_
    assert np.abs(half.weights.toarray() - twin.weights.toarray()).max() < 1e-10


def test_a_linear_term_changes_no_divergence():
    """The slope at the reference counts there too where the reference is 0."""
    tilted = type("Tilted", (kp.SquaredEuclidean,), {
        "generator": lambda self, x: np.square(x) + 3 * np.asarray(x),
        "derivative": lambda self, x: 2 * np.asarray(x, dtype=float) + 3,
    })()  # fmt: skip
    path = kp.LpKTASelector(divergence=tilted, bregman_strength=1.0).fit(X, Y).path_
    twin = kp.LpKTASelector(bregman_strength=1.0).fit(X, Y).path_
    assert np.abs(path.weights.toarray() - twin.weights.toarray()).max() < 1e-10
    assert np.abs(path.values - twin.values).max() < 1e-10


def test_a_divergence_without_a_slope_at_its_reference_is_refused():
    steep = type("Steep", (kp.GeneralizedKL,), {"positive_reference": False})()
    with pytest.raises(kp.DataError, match="has the derivative -inf at 0; give a reference"):
        kp.LpKTASelector(divergence=steep).fit(X, Y)


def test_a_divergence_that_fails_later_is_an_error():
    late = _changed(Quartic, derivative=lambda v, x: np.where(np.asarray(x) > 3, np.nan, v))()
    with pytest.raises(kp.ExtensionError, match=r"Changed\.(derivative|generator)"):
        kp.LpKTASelector(divergence=late, bregman_strength=1e-3, norm_strength=1e-3).fit(X, Y)


# -- broken regularizers ---------------------------------------------------------------------------


class Ridge:
    """Half the squares."""

    def __init__(self, strength=5.0):
        self.strength = strength

    def value(self, d):
        return 0.5 * self.strength * float(np.square(d).sum())

    def gradient(self, d):
        return self.strength * np.asarray(d)

    def hess_diag(self, d):
        return np.full(len(d), self.strength)

    def conjugate(self, g):
        return 0.5 / self.strength * float(np.square(np.maximum(g, 0)).sum())

    def domain_scale(self, g):
        return math.inf

    def with_strength(self, strength):
        return type(self)(strength)


BROKEN_REGULARIZERS = {
    "conjugate always 0": ({"conjugate": lambda v, g: 0.0}, "Changed.conjugate is 0 at a gradient"),
    "conjugate too large": ({"conjugate": lambda v, g: 2 * v + 1}, "Changed.conjugate is"),
    "conjugate nan": ({"conjugate": lambda v, g: math.nan}, "Changed.conjugate is nan"),
    "gradient nan": ({"gradient": lambda v, d: v * np.nan}, "Changed.gradient gives NaN"),
    "gradient sign": ({"gradient": lambda v, d: -v}, "Changed.gradient says that a step"),
    "gradient short": ({"gradient": lambda v, d: v[:-1]}, "Changed.gradient gives an array"),
    "value nan": ({"value": lambda v, d: math.nan}, "Changed.value is nan"),
    "curve": ({"hess_diag": lambda v, d: 3 * v}, "Changed.hess_diag is"),
    "concave": (
        {"value": lambda v, d: -v, "gradient": lambda v, d: -v, "hess_diag": lambda v, d: -v},
        "Changed.value lies below its tangents",
    ),
    "domain": ({"domain_scale": lambda v, g: math.nan}, "Changed.domain_scale is nan"),
    "domain text": ({"domain_scale": lambda v, g: "inf"}, "Changed.domain_scale gives text"),
}


@pytest.mark.parametrize("case", BROKEN_REGULARIZERS)
@pytest.mark.parametrize("settings", [{}, {"strengths": 3}], ids=["point", "path"])
def test_broken_regularizers_are_refused(case, settings):
    methods, match = BROKEN_REGULARIZERS[case]
    regularizer = _changed(Ridge, **methods)()
    with pytest.raises(kp.ExtensionError, match=match):
        kp.GMKLClassifier(regularizer=regularizer, **settings).fit(X, Y)


def test_a_restriction_that_is_none_is_named():
    def fails(self, parts):
        raise IndexError("out of range")

    for restrict, match in (
        (lambda self, parts: None, "Partial.restrict gives None, which is no regularizer"),
        (fails, "Partial.restrict fails at a point of trial: IndexError: out of range"),
        (None, "Partial.restrict fails at a point of trial: TypeError"),
    ):
        regularizer = type("Partial", (Ridge,), {"restrict": restrict})()
        with pytest.raises(kp.ExtensionError, match=match):
            kp.GMKLClassifier(regularizer=regularizer).fit(X, Y)


def test_honest_regularizers_are_solved():
    got = kp.GMKLClassifier(regularizer=Ridge(5.0), tol=1e-6).fit(X, Y)
    expected = kp.GMKLClassifier(regularizer=kp.Lp(2, 5.0), tol=1e-6).fit(X, Y)
    assert got.objective_ == pytest.approx(expected.objective_, rel=1e-5)
    assert got.gap_ <= 1e-6


def test_subclasses_of_regularizers_of_the_package():
    """An inherited conjugate belongs to the parent."""
    methods = {
        "value": lambda self, d: 2 * float(np.sum(d)),
        "gradient": lambda self, d: np.full(len(d), 2.0),
    }
    dear = type("Dear", (kp.L1,), methods)()
    with pytest.raises(kp.ExtensionError, match=r"Dear.conjugate is (inf|0)"):
        kp.GMKLClassifier(regularizer=dear).fit(X, Y)
    same = type("Same", (kp.L1,), {})()
    with pytest.raises(TypeError, match="exponents needs a regularizer with an exponent"):
        kp.GMKLClassifier(regularizer=same, exponents=3).fit(X, Y)
    costly = type("Costly", (kp.NoRegularizer,), methods)()
    with pytest.raises(kp.ExtensionError, match=r"Costly.conjugate is inf"):
        kp.GMKLClassifier(regularizer=costly, feasible=kp.Simplex(1.0)).fit(X, Y)


def test_regularizers_that_fail_later_are_an_error():
    class Late(Ridge):
        """Not a number where all weights are equal, as at the start."""

        def gradient(self, d):
            return super().gradient(d) * (np.nan if np.ptp(d) == 0 and d[0] > 0 else 1.0)

    with pytest.raises(kp.ExtensionError, match=r"Late.gradient gives NaN"):
        kp.GMKLClassifier(regularizer=Late(), solver="spg").fit(X, Y)


# -- broken sets, losses and weighted kernels ------------------------------------------------------


class Halved:
    """Not a projection."""

    bounded = True

    def start(self, n):
        return np.full(n, 0.1)

    def project(self, x):
        return 0.5 * np.maximum(x, 0)

    def support(self, g):
        return float(np.maximum(g, 0).sum())

    def minimize_linear(self, g):
        return np.where(g < 0, 1.0, 0.0)


class Cube(Halved):
    def project(self, x):
        return np.clip(x, 0, 1)


class Outside(Cube):
    def start(self, n):
        return np.full(n, 2.0)


class Ball(Cube):
    def project(self, x):
        return np.clip(x, -1, 1)


class Small(Cube):
    def support(self, g):
        return 0.1


class Corner(Cube):
    """In the set and idempotent, but far from what is nearest."""

    def project(self, x):
        inside = ((x >= 0) & (x <= 1)).all()
        return np.asarray(x) if inside else np.zeros(len(x))


class MySimplex(kp.Simplex):
    def project(self, x):
        return np.clip(x, 0, 1)


BROKEN_SETS = {
    Halved: "Halved.project moves a point that it gave itself",
    Outside: "Outside.start is a point that project moves",
    Ball: "Ball.project gives weights that are negative",
    Small: "Small.support is 0.1, but",
    Corner: "Corner.project does not give the nearest point",
    MySimplex: "MySimplex.project replaces that of Simplex",
}


@pytest.mark.parametrize("cls", BROKEN_SETS)
def test_broken_sets_are_refused(cls):
    with pytest.raises(kp.ExtensionError, match=BROKEN_SETS[cls]):
        kp.GMKLClassifier(feasible=cls(), regularizer=kp.L1(1.0)).fit(X, Y)


class Inherited(FeasibleSet):
    """The cube with nothing but what a set needs; its support follows from a corner."""

    bounded = True
    start, project, minimize_linear = Cube.start, Cube.project, Cube.minimize_linear


@pytest.mark.parametrize("cls", [Cube, Inherited])
def test_an_honest_set_is_solved(cls):
    got = kp.GMKLClassifier(feasible=cls(), regularizer=kp.L1(1.0), tol=1e-5).fit(X, Y)
    box = kp.GMKLClassifier(feasible=kp.Box(0.0, 1.0), regularizer=kp.L1(1.0), tol=1e-5).fit(X, Y)
    assert got.objective_ == pytest.approx(box.objective_, rel=1e-4)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"linear": np.full(80, np.nan)}, "dual must have 80 numbers as linear"),
        ({"low": np.full(80, 0.5)}, "low <= 0 <= high"),
        ({"high": np.ones(3)}, "80 numbers as high"),
        ({"ridge": -1.0}, "has the ridge -1"),
    ],
)
def test_broken_losses_are_refused(change, match):
    class Own:
        def dual(self, y, weight=None):
            good = Hinge(1.0).dual(y, weight)
            parts = {name: getattr(good, name) for name in ("linear", "low", "high")}
            return DualProblem(**(parts | change))

    with pytest.raises(kp.ExtensionError, match=match):
        kp.GMKLClassifier(loss=Own()).fit(X, Y)
    probe_dual(Hinge(), Hinge().dual(np.where(Y[0] == Y, 1.0, -1.0)), 80)


class Bound:
    is_sum = False

    def __init__(self, X):
        self._X, (self.n_rows, self.n_kernels) = X, X.shape

    def _between(self, d, X, Z):
        squares = np.sum(d * np.square(X[:, None] - Z[None]), axis=2)
        return 1 / (1 + squares)

    def gram(self, d):
        return self._between(d, self._X, self._X)

    def grad_quad(self, d, U):
        M = -(U @ U.T) * self.gram(d) ** 2
        return np.einsum("ij,ijk->k", M, np.square(self._X[:, None] - self._X[None]))

    def cross_times(self, d, X_new, U):
        return self._between(d, X_new, self._X) @ U


def _maker(**methods):
    class Maker:
        def bind(self, X):
            return _changed_bound(methods)(X)

    return Maker()


def _changed_bound(methods):
    def replaced(name, change):
        def method(self, *arguments):
            return change(getattr(Bound, name)(self, *arguments))

        return method

    body = {name: replaced(name, change) for name, change in methods.items() if name != "is_sum"}
    if "is_sum" in methods:
        body["is_sum"] = methods["is_sum"]
    return type("Changed", (Bound,), body)


BROKEN_WEIGHTED = {
    "gram nan": ({"gram": lambda v: v * np.nan}, "Changed.gram gives NaN"),
    "gram lopsided": ({"gram": np.tril}, "Changed.gram is not symmetric"),
    "gradient": ({"grad_quad": lambda v: -v}, "Changed.grad_quad says that a step"),
    "cross": ({"cross_times": lambda v: v[::-1]}, "Changed.cross_times of the training rows"),
    "sum": ({"is_sum": True}, "Changed.is_sum is true, but"),
}


@pytest.mark.parametrize("case", BROKEN_WEIGHTED)
def test_broken_weighted_kernels_are_refused(case):
    methods, match = BROKEN_WEIGHTED[case]
    with pytest.raises(kp.ExtensionError, match=match):
        kp.GMKLClassifier(kernel=_maker(**methods)).fit(X, Y)


def test_an_honest_weighted_kernel_is_solved():
    model = kp.GMKLClassifier(kernel=_maker()).fit(X, Y)
    assert model.score(X, Y) > 0.8


def test_energy_is_honest():
    """One less its distance is not positive definite, but its own kernel is."""
    probe_kernel(Energy())


class InPlace(Cauchy):
    def half_squared_distance(self, x, z, gamma):
        x *= np.sqrt(gamma)
        return super().half_squared_distance(x, z, 1.0)


class Complex(Cauchy):
    def half_squared_distance(self, x, z, gamma):
        return super().half_squared_distance(x, z, gamma) + 0j


class Static(kp.FeatureKernel):
    @staticmethod
    def gamma(sigma):
        return 1 / np.square(sigma)

    @staticmethod
    def half_squared_distance(x, z, gamma):
        return Cauchy().half_squared_distance(x, z, gamma)


def test_kernels_that_change_their_arguments_or_give_complex_numbers():
    before = X.copy()
    with pytest.raises(kp.ExtensionError, match=r"InPlace.*read-only"):
        kp.alignments(X, Y, kernel=InPlace())
    assert np.array_equal(X, before)
    with pytest.raises(kp.ExtensionError, match=r"Complex.half_squared_distance gives complex"):
        kp.alignments(X, Y, kernel=Complex())


def test_static_methods_are_methods():
    assert np.array_equal(
        kp.alignments(X, Y, kernel=Static()), kp.alignments(X, Y, kernel=Cauchy())
    )


class _Scaled(kp.FeatureKernel):
    """An RBF kernel times a number, which changes nothing: kernels are scaled anyway."""

    def __init__(self, factor):
        object.__setattr__(self, "factor", factor)

    def gamma(self, sigma):
        return 0.5 / np.square(sigma)

    def gram(self, x, z, gamma):
        return self.factor * np.exp(-gamma * np.square(np.subtract.outer(x, z)))


@pytest.mark.parametrize("n_rows", [30, 70, 100])
@pytest.mark.parametrize("factor", [1e-200, 1e-13, 1e-12, 1e12])
def test_a_factor_of_a_kernel_does_not_matter(n_rows, factor):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 4))
    y = (X[:, 0] ** 2 > 0.5).astype(int)
    one, other = (kp.GMKLClassifier(base_kernel=_Scaled(f)).fit(X, y) for f in (1.0, factor))
    np.testing.assert_allclose(other.weights_, one.weights_, rtol=1e-2, atol=1e-3)
    pair = [kp.NMMKLSelector(1, kernel=_Scaled(f)).fit(X, y).support_ for f in (1.0, factor)]
    np.testing.assert_array_equal(*pair)


def test_a_kernel_in_single_precision_is_honest():
    class Single(_Scaled):
        def gram(self, x, z, gamma):
            return np.exp(-((np.sqrt(gamma) * np.subtract.outer(x, z)).astype(np.float32) ** 2))

    X = np.random.default_rng(0).normal(size=(100, 4))
    kp.NMMKLSelector([1, 2], kernel=Single(1.0)).fit(X, X[:, 0] > 0)


def test_a_gram_that_is_no_matrix_is_named():
    class Elementwise(_Scaled):
        def gram(self, x, z, gamma):
            return np.exp(-gamma * np.square(x[: len(z)] - z[: len(x)]))

    class Fixed(_Scaled):
        def gamma(self, sigma):
            return 1.0

    with pytest.raises(kp.ExtensionError, match=r"Elementwise.gram gives an array of shape \(4,\)"):
        kp.alignments(np.eye(4), [0, 1, 0, 1], kernel=Elementwise(1.0))
    with pytest.raises(
        kp.ExtensionError, match=r"Fixed\.gamma gives one number for several columns"
    ):
        kp.alignments(np.eye(4), [0, 1, 0, 1], kernel=Fixed(1.0))


def test_a_conjugate_that_is_finite_everywhere_needs_no_domain():
    class Ridge:
        strength = 1.0

        def value(self, d):
            return 0.5 * float(np.square(d).sum())

        def gradient(self, d):
            return np.asarray(d, dtype=float)

        def hess_diag(self, d):
            return np.ones(len(d))

        def conjugate(self, g):
            return 0.5 * float(np.square(np.maximum(g, 0.0)).sum())

    X = np.random.default_rng(0).normal(size=(50, 3))
    model = kp.GMKLClassifier(regularizer=Ridge()).fit(X, X[:, 0] > 0)
    assert 0 <= model.gap_ <= 1e-3
