"""Kernels, divergences and regularizers of strangers, honest and broken ones, at random.

An honest one must give what a slow computation gives; a broken one must be refused in words that
name its class.  Nothing else may happen: no other answer, no other exception.
"""

from __future__ import annotations

import warnings

import numpy as np

import kernelpath as kp
from hardening.tally import Tally
from reference import own_kernels as slow

RIGHT, REFUSED = "right", "refused in words"


def trials(long: bool, seed: int) -> list[Tally]:
    """Families of trials: objects as their makers meant them, and with one fault."""
    rng = np.random.default_rng(seed)
    n = 300 if long else 12
    return [
        _kernels(rng, n),
        _divergences(rng, n),
        _regularizers(rng, n),
    ]


def _outcome(use, expected, broken: bool) -> str:
    """What happened: the right answer, a refusal by name, or something that may not."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            got = use()
    except kp.ExtensionError as error:
        if not broken:
            return f"refused without reason: {error}"
        return REFUSED if "Trial" in str(error) else f"class not named: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    if broken:
        return "accepted although broken"
    value = expected()
    deviation = np.abs(np.asarray(got) - value).max() / np.abs(value).max()
    return RIGHT if deviation <= 1e-3 else f"wrong by {deviation:.1e}"


# -- kernels ---------------------------------------------------------------------------------------

PARENTS = (kp.FeatureKernel, kp.RBF, kp.Laplace, kp.Polynomial, kp.Linear)


def _formula(rng):
    """A positive definite kernel of two numbers: a mixture of known ones."""
    a, b, c, e = rng.exponential(size=4) * (rng.uniform(size=4) < 0.6)
    a += 0.1
    power = rng.uniform(0.3, 1.9)

    def k(x, z, gamma):
        t = gamma * (x - z) ** 2
        product = gamma * x * z
        return a / (1 + t) + b * np.exp(-(t ** (power / 2))) + c * product + e * (1 + product) ** 2

    return k


def _kernel(k, rng, fault):
    """A class with this kernel by one of its formulas, perhaps with a fault."""

    def distance(self, x, z, gamma):
        x, z = np.asarray(x, dtype=float), np.asarray(z, dtype=float)
        return fault(0.5 * (k(x, x, gamma) + k(z, z, gamma)) - k(x, z, gamma), x, z)

    def gram(self, x, z, gamma):
        x, z = np.asarray(x, dtype=float)[:, None], np.asarray(z, dtype=float)[None, :]
        return fault(k(x, z, gamma), x, z)

    body = {"gamma": lambda self, sigma: 1 / np.square(np.asarray(sigma, dtype=float))}
    body |= {"half_squared_distance": distance} if rng.uniform() < 0.5 else {"gram": gram}
    parent = PARENTS[rng.integers(len(PARENTS))]
    return type("TrialKernel", (parent,), body)()


KERNEL_FAULTS = {
    "NaN": lambda v, x, z: v * np.nan,
    "NaN far away": lambda v, x, z: np.where(np.abs(x - z) > 3, np.nan, v),
    "infinite": lambda v, x, z: np.where(x > z + 3, np.inf, v),
    "lopsided": lambda v, x, z: v * np.where(x > z, 1.5, 1.0),
    "negative": lambda v, x, z: -v,
    "a sum": lambda v, x, z: np.sum(v),
    "other rows": lambda v, x, z: v / (1 + np.max(np.abs(x))),
    "a step": lambda v, x, z: v * np.where(np.abs(x - z) > 1, -1.0, 1.0),
    "transposed": lambda v, x, z: v.T[:1],
    "complex": lambda v, x, z: v + 1j,
}


def _kernels(rng, n):
    tally = Tally("kernels of one's own", (RIGHT, REFUSED))
    for case in range(n):
        k = _formula(rng)
        name = rng.choice([*KERNEL_FAULTS, *["honest"] * len(KERNEL_FAULTS)])
        fault = KERNEL_FAULTS.get(str(name), lambda v, x, z: v)
        kernel = _kernel(k, rng, fault)
        X = rng.normal(size=(25, 3)) * rng.choice([1e-3, 1.0, 50.0])
        y = np.where(X[:, 0] > np.median(X[:, 0]), 1, 0)
        use, expected = _consumer(rng, X, y, kernel, k)
        outcome = _outcome(use, expected, name != "honest")
        tally.add(outcome, f"case {case}: {name}, {type(kernel).__mro__[1].__name__}")
    return tally


def _width(scale):
    return 1 / scale**2


def _consumer(rng, X, y, kernel, k):
    """Somebody who needs the kernel, and the slow answer."""
    which = rng.integers(4)
    if which == 0:
        return (
            lambda: kp.alignments(X, y, kernel=kernel),
            lambda: slow.alignments(X, y, k, _width, "classification"),
        )
    if which == 1:
        path = kp.LpKTASelector(statistic="alignment", bandwidth="std").fit(X, y).path_
        weights = path.weights[[0]].toarray()[0]
        return (
            lambda: next(kp.combined_kernels(path, X, kernel=kernel, positions=0)).train,
            lambda: slow.combined(X, X, weights, k, _width)[0],
        )
    given = []
    for x in X.T:
        mean, scale = slow.mean_and_scale(x, np.ones(len(x)))
        given.append(slow.matrix(k, x - mean, x - mean, _width(scale)))
    if which == 2:
        return (
            lambda: kp.GMKLClassifier(base_kernel=kernel, weights="uniform", tol=1e-6)
            .fit(X, y).decision_function(X),
            lambda: kp.GMKLClassifier(kernel="precomputed", weights="uniform", tol=1e-6)
            .fit(given, y).decision_function(given),
        )  # fmt: skip
    return (
        lambda: kp.GMKLClassifier(base_kernel=kernel, tol=1e-6).fit(X, y).objective_,
        lambda: kp.GMKLClassifier(kernel="precomputed", tol=1e-6).fit(given, y).objective_,
    )


# -- divergences -----------------------------------------------------------------------------------

DERIVATIVES = ("generator", "derivative", "second_derivative", "third_derivative")
DIVERGENCE_FAULTS = {
    "NaN": lambda v, x: v * np.nan,
    "NaN somewhere": lambda v, x: np.where((x > 0.3) & (x < 0.7), np.nan, v),
    "sign": lambda v, x: -v,
    "factor": lambda v, x: 1.3 * v,
    "one number": lambda v, x: np.sum(v),
    "text": lambda v, x: "x",
}


def _divergence(rng, fault, where):
    """``F(x) = a x^2 + b x^4 + c (exp(x) - 1)``, with a fault in one method."""
    a, b, c = rng.exponential(size=3) * (rng.uniform(size=3) < 0.7)
    a += 0.1
    formulas = {
        "generator": lambda x: a * x**2 + b * x**4 + c * np.expm1(x),
        "derivative": lambda x: 2 * a * x + 4 * b * x**3 + c * np.exp(x),
        "second_derivative": lambda x: 2 * a + 12 * b * x**2 + c * np.exp(x),
        "third_derivative": lambda x: 24 * b * x + c * np.exp(x),
    }

    def method(name, formula):
        def compute(self, x):
            x = np.asarray(x, dtype=float)
            value = formula(x)
            return fault(value, x) if name == where else value

        return compute

    body = {name: method(name, formula) for name, formula in formulas.items()}
    body |= {"name": "trial", "positive_reference": False}
    parent = (object, kp.SquaredEuclidean)[rng.integers(2)]
    return type("TrialDivergence", (parent,), body)(), formulas


def _divergences(rng, n):
    tally = Tally("divergences of one's own", (RIGHT, REFUSED))
    X = rng.normal(size=(60, 4))
    y = np.abs(X[:, 0]) + 0.3 * X[:, 1] > 0.8
    for case in range(n):
        honest = rng.uniform() < 0.5
        name = "honest" if honest else str(rng.choice([*DIVERGENCE_FAULTS]))
        where = "" if honest else str(rng.choice(DERIVATIVES))
        if where == "third_derivative" and name in ("sign", "factor"):
            where = "second_derivative"  # a third derivative of 0 has no sign
        fault = DIVERGENCE_FAULTS.get(name, lambda v, x: v)
        divergence, formulas = _divergence(rng, fault, where)
        solver = str(rng.choice(["exact", "predictor_corrector"]))
        selector = kp.LpKTASelector(
            divergence=divergence, solver=solver, bregman_strength=1.0, norm_strength=0.5, step=0.25
        )

        def use(selector=selector):
            return selector.fit(X, y).path_.weights.toarray()

        def expected(selector=selector, formulas=formulas):
            return _slow_weights(selector, formulas["derivative"])

        tally.add(_outcome(use, expected, not honest), f"case {case}: {name} in {where}, {solver}")
    return tally


def _slow_weights(selector, slope):
    """Each weight by bisection: ``F'(w) - F'(0) + norm p w^(p - 1) = alignment``."""
    rows = []
    for p in selector.path_.parameters:
        row = []
        for a in selector.alignments_:
            low, high = 0.0, 1e3
            for _ in range(200):
                middle = 0.5 * (low + high)
                with np.errstate(over="ignore"):
                    pull = slope(middle) - slope(0.0) + 0.5 * p * middle ** (p - 1)
                low, high = (middle, high) if pull < a else (low, middle)
            row.append(low if low > selector.elimination_tol else 0.0)
        rows.append(row)
    return np.array(rows)


# -- regularizers ----------------------------------------------------------------------------------

REGULARIZER_FAULTS = {
    "NaN": lambda v: v * np.nan,
    "sign": lambda v: -v,
    "factor": lambda v: 0.5 * v,
    "zero": lambda v: 0.0 * v,
    "text": lambda v: "x",
}
PARTS = ("value", "gradient", "hess_diag", "conjugate")


def _regularizer(rng, fault, where):
    """``r(d) = sum_k c_k d_k^p / p``, the powers of the package with prices."""
    p = float(rng.choice([1.5, 2.0, 3.0]))
    strength = float(rng.uniform(2.0, 20.0))
    dual = p / (p - 1)
    formulas = {
        "value": lambda d: strength / p * float(np.sum(np.asarray(d) ** p)),
        "gradient": lambda d: strength * np.asarray(d, dtype=float) ** (p - 1),
        "hess_diag": lambda d: strength * (p - 1) * np.asarray(d, dtype=float) ** (p - 2),
        "conjugate": lambda g: strength / dual
        * float(np.sum((np.maximum(g, 0) / strength) ** dual)),
    }  # fmt: skip

    def method(name, formula):
        def compute(self, x):
            with np.errstate(divide="ignore"):
                value = formula(x)
            return fault(value) if name == where else value

        return compute

    body = {name: method(name, formula) for name, formula in formulas.items()}
    body["domain_scale"] = lambda self, g: np.inf
    return type("TrialRegularizer", (), body)(), kp.Lp(p, strength)


def _regularizers(rng, n):
    tally = Tally("regularizers of one's own", (RIGHT, REFUSED))
    X = rng.normal(size=(50, 4))
    y = np.where(np.abs(X[:, 0]) + 0.3 * X[:, 1] > 0.8, 1, 0)
    for case in range(n):
        honest = rng.uniform() < 0.5
        name = "honest" if honest else str(rng.choice([*REGULARIZER_FAULTS]))
        where = "" if honest else str(rng.choice(PARTS))
        own, twin = _regularizer(rng, REGULARIZER_FAULTS.get(name, lambda v: v), where)

        def use(own=own):
            return kp.GMKLClassifier(regularizer=own, tol=1e-5).fit(X, y).objective_

        def expected(twin=twin):
            return kp.GMKLClassifier(regularizer=twin, tol=1e-5).fit(X, y).objective_

        tally.add(_outcome(use, expected, not honest), f"case {case}: {name} in {where}")
    return tally
