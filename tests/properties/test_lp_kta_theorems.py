"""The theorems of the lp-KTA paper, as tests on arbitrary alignments."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelpath.tracers.lp_kta.divergences import GeneralizedKL, SquaredEuclidean
from kernelpath.tracers.lp_kta.predictor_corrector import first_derivative, second_derivative
from kernelpath.tracers.lp_kta.problem import PNormProblem
from kernelpath.tracers.lp_kta.trace import grid, trace_path
from reference import lp_kta as twin

EPS = 1e-3
INVERSE_E = np.exp(-1.0)


class Quartic:
    """``F = x^2 / 2 + x^4``, as a user would write it."""

    name = "quartic"
    positive_reference = False

    def generator(self, x):
        x = np.asarray(x, dtype=float)
        return 0.5 * x**2 + x**4

    def derivative(self, x):
        x = np.asarray(x, dtype=float)
        return x + 4 * x**3

    def second_derivative(self, x):
        return 1 + 12 * np.asarray(x, dtype=float) ** 2

    def third_derivative(self, x):
        return 24 * np.asarray(x, dtype=float)


DIVERGENCES = {
    "euclidean": (SquaredEuclidean(), twin.euclidean),
    "kl": (GeneralizedKL(), twin.kl),
    "quartic": (Quartic(), twin.quartic),
}


def make_problem(a, lam1=1.0, lam2=0.1, divergence="euclidean", reference=0.0, eps=EPS):
    a = np.asarray(a, dtype=float)
    return PNormProblem(
        alignments=a,
        usable=np.ones(len(a), dtype=bool),
        bregman_strength=lam1,
        norm_strength=lam2,
        divergence=DIVERGENCES[divergence][0],
        reference=np.broadcast_to(reference, a.shape).astype(float),
        elimination_tol=eps,
    )


def some_alignments(seed=60, n=40):
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.chisquare(1, n - 6) * 0.2, rng.uniform(0.5, 3, 5), [0.0]])


SETTINGS = {
    "euclidean": {"lam1": 1.0, "lam2": 0.1},
    "euclidean strong norm": {"lam1": 0.3, "lam2": 1.0},
    "euclidean reference": {"lam1": 1.0, "lam2": 0.4, "reference": 0.2},
    "norm only": {"lam1": 0.0, "lam2": 3.5},
    "bregman only": {"lam1": 1.0, "lam2": 0.0},
    "kl": {"lam1": 1.0, "lam2": 0.3, "divergence": "kl", "reference": EPS},
    "kl reference": {"lam1": 0.1, "lam2": 0.5, "divergence": "kl", "reference": 0.05},
    "quartic": {"lam1": 0.5, "lam2": 0.2, "divergence": "quartic"},
    "quartic reference": {"lam1": 0.5, "lam2": 0.2, "divergence": "quartic", "reference": 0.1},
    "large tolerance": {"lam1": 1.0, "lam2": 1.0, "eps": 0.3},
    "tiny tolerance": {"lam1": 1.0, "lam2": 0.5, "eps": 1e-12},
}
every_setting = pytest.mark.parametrize("setting", SETTINGS)


def dense(path):
    return path.weights.toarray()


def twin_arguments(setting):
    options = SETTINGS[setting]
    return (options["lam1"], options["lam2"], options.get("reference", 0.0),
            DIVERGENCES[options.get("divergence", "euclidean")][1])  # fmt: skip


# -- Theorem 2 and nestedness -------------------------------------------------------------------


@every_setting
@pytest.mark.parametrize("solver", ["exact", "predictor_corrector"])
def test_small_weights_shrink_and_large_weights_grow(setting, solver):
    problem = make_problem(some_alignments(), **SETTINGS[setting])
    path = trace_path(problem, grid(2.0, 1.0, 0.05), solver=solver)
    W, p = dense(path), path.parameters
    moved = 0
    for i in range(len(path) - 1):
        here, there, rounding = W[i], W[i + 1], 1e-9
        small = (here < INVERSE_E) & (here > 0)
        assert np.all(there[small] <= here[small] * (1 + rounding))
        large = here > np.exp(-1.0 / p[i])
        assert np.all(there[large] >= here[large] * (1 - rounding))
        moved += small.sum() + large.sum()
    assert moved > 30
    assert path.is_nested
    assert np.all(np.diff(path.n_selected) <= 0)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    st.lists(st.floats(0, 20), min_size=1, max_size=8),
    st.floats(0.05, 5),
    st.floats(0.01, 5),
    st.floats(1e-9, 0.36),
)
def test_theorem_for_arbitrary_numbers(a, lam1, lam2, eps):
    path = trace_path(make_problem(a, lam1, lam2, eps=eps), grid(2.0, 1.0, 0.1))
    W = dense(path)
    for here, there, p in zip(W[:-1], W[1:], path.parameters[:-1]):
        small, large = here < INVERSE_E, here > np.exp(-1 / p)
        assert np.all(there[small] <= here[small] * (1 + 1e-9))
        assert np.all(there[large] >= here[large] * (1 - 1e-9))
    assert path.is_nested
    assert path.kkt.max() <= 1e-10
    assert np.all(W[W > 0] > eps)


# -- optimality -----------------------------------------------------------------------------------


@every_setting
@pytest.mark.parametrize("solver", ["exact", "predictor_corrector"])
def test_weights_equal_the_twin_and_kkt_holds_at_every_point(setting, solver):
    a = some_alignments()
    problem = make_problem(a, **SETTINGS[setting])
    path = trace_path(problem, grid(2.0, 1.0, 0.1), solver=solver)
    lam1, lam2, x0, divergence = twin_arguments(setting)
    assert path.kkt.max() <= 1e-10
    for p, row, support in zip(path.parameters, dense(path), path.supports):
        expected = twin.optimal_weights(a, p, lam1, lam2, x0, divergence)
        borderline = np.abs(expected - problem.elimination_tol) < 1e-9 * problem.elimination_tol
        kept = expected > problem.elimination_tol
        assert np.all((support == kept) | borderline)
        np.testing.assert_allclose(row[support], expected[support], rtol=1e-9)
        assert np.all(row[~support] == 0)
        slopes = lam2 * p * row[support] ** (p - 1) - a[support]
        if lam1:
            slopes += lam1 * np.array([twin.SLOPES[divergence](e, x0) for e in row[support]])
        assert np.all(np.abs(slopes) <= 1e-9 * a.max())


@every_setting
def test_twin_is_the_minimiser(setting):
    """The reference itself, against a minimiser that knows no derivative."""
    lam1, lam2, x0, divergence = twin_arguments(setting)
    for p in (1.02, 1.3, 1.7, 2.0):
        for a in (0.0, 0.05, 0.6, 2.0):
            root = twin.optimal_weight(a, p, lam1, lam2, x0, divergence)
            direct = twin.minimised(a, p, lam1, lam2, x0, divergence)
            value = [
                twin.coordinate_objective(eta, a, p, lam1, lam2, x0, divergence)
                for eta in (root, direct)
            ]
            assert value[0] <= value[1] + 1e-12


@every_setting
@pytest.mark.parametrize("solver", ["exact", "predictor_corrector"])
def test_values_and_lemma_1(setting, solver):
    """Values are objective (1); what elimination loses is within ``path.gaps``."""
    a = some_alignments()
    problem = make_problem(a, **SETTINGS[setting])
    path = trace_path(problem, grid(2.0, 1.0, 0.1), solver=solver)
    lam1, lam2, x0, divergence = twin_arguments(setting)
    excesses = []
    for p, row, value, gap in zip(path.parameters, dense(path), path.values, path.gaps):
        assert value == pytest.approx(
            twin.objective(row, a, p, lam1, lam2, x0, divergence), rel=1e-10, abs=1e-10
        )
        best = twin.optimal_weights(a, p, lam1, lam2, x0, divergence)
        excess = value - twin.objective(best, a, p, lam1, lam2, x0, divergence)
        assert -1e-10 <= excess <= gap + 1e-10
        excesses.append(excess)
    assert np.all(path.gaps >= 0)
    if setting == "large tolerance":
        assert max(excesses) > 1e-2  # the lemma is put to the test


@every_setting
def test_gap_is_at_most_the_lemma(setting):
    problem = make_problem(some_alignments(), **SETTINGS[setting])
    path = trace_path(problem, grid(2.0, 1.0, 0.1))
    lam1, lam2, _, _ = twin_arguments(setting)
    F, eps, p = problem.divergence, problem.elimination_tol, path.parameters
    distance = F.generator(0.0) - F.generator(eps) + eps * F.derivative(eps)
    out = problem.n_features - path.n_selected
    lemma = out * (lam1 * distance + lam2 * (p - 1) * eps**p)
    if isinstance(F, SquaredEuclidean):
        assert distance == pytest.approx(eps**2)
    assert np.all(path.gaps <= lemma * (1 + 1e-9))


def test_gap_counts_features_just_below_the_tolerance():
    """Weights of 0.99 eps: the bound must be nearly attained, and so nearly the lemma's."""
    eps, lam1, lam2, p = 0.05, 1.0, 0.5, 1.5
    a = 2 * lam1 * 0.99 * eps + lam2 * p * (0.99 * eps) ** (p - 1)
    path = trace_path(make_problem([a] * 5 + [3.0], lam1, lam2, eps=eps), np.array([p, 1.4]))
    lemma = 5 * (lam1 * eps**2 + lam2 * (p - 1) * eps**p)
    assert path.n_selected[0] == 1
    assert 0.9 * lemma <= path.gaps[0] <= lemma * (1 + 1e-9)


# -- derivatives along the path -------------------------------------------------------------------


@pytest.mark.parametrize("setting", [s for s in SETTINGS if s != "bregman only"])
@pytest.mark.parametrize("p", [1.15, 1.5, 1.9])
def test_derivatives_by_finite_differences(setting, p):
    problem = make_problem(some_alignments()[-6:-1], **SETTINGS[setting])
    lam1, lam2, x0, divergence = twin_arguments(setting)
    a = problem.alignments

    def weights(q):
        return twin.optimal_weights(a, q, lam1, lam2, x0, divergence)

    h = 1e-4
    eta = weights(p)
    eighth = [weights(p + k * h) for k in (-2, -1, 0, 1, 2)]
    slope = (eighth[0] - 8 * eighth[1] + 8 * eighth[3] - eighth[4]) / (12 * h)
    np.testing.assert_allclose(first_derivative(problem, p, eta), slope, rtol=1e-6, atol=1e-9)
    H = 2e-3
    wide = [weights(p + k * H) for k in (-2, -1, 0, 1, 2)]
    bend = (-wide[0] + 16 * wide[1] - 30 * wide[2] + 16 * wide[3] - wide[4]) / (12 * H * H)
    np.testing.assert_allclose(second_derivative(problem, p, eta), bend, rtol=1e-4, atol=1e-6)


def test_without_the_norm_term_nothing_moves():
    problem = make_problem(some_alignments(), lam1=1.0, lam2=0.0)
    eta = problem.alignments[:5] / 2
    assert np.all(first_derivative(problem, 1.5, eta) == 0)
    path = trace_path(problem, grid(2.0, 1.0, 0.25))
    W = dense(path)
    np.testing.assert_allclose(W, np.broadcast_to(W[0], W.shape), rtol=1e-14)
    np.testing.assert_allclose(W[0], np.where(problem.alignments > 2e-3, problem.alignments / 2, 0))
    assert len(path.events) == 0


# -- closed forms ---------------------------------------------------------------------------------


def test_closed_forms():
    a = some_alignments()
    lam1, lam2 = 0.7, 0.4
    path = trace_path(make_problem(a, lam1, lam2), grid(2.0, 1.0, 0.5))
    two = a / (2 * (lam1 + lam2))
    np.testing.assert_allclose(dense(path)[0], np.where(two > EPS, two, 0), rtol=1e-12)
    one = np.maximum(a - lam2, 0) / (2 * lam1)
    np.testing.assert_allclose(dense(path)[-1], np.where(one > EPS, one, 0), rtol=1e-12)
    # KL at p = 1: log(eta / x0) = (a - lam2) / lam1
    kl = trace_path(make_problem(a, lam1, lam2, "kl", 0.1), grid(2.0, 1.0, 0.5))
    one = 0.1 * np.exp((a - lam2) / lam1)
    np.testing.assert_allclose(dense(kl)[-1], np.where(one > EPS, one, 0), rtol=1e-10)
    # norm alone: eta = (a / (lam2 p))^(1 / (p - 1))
    norm = trace_path(make_problem(a, 0.0, 4.0), grid(2.0, 1.0, 0.5))
    middle = (a / (4.0 * 1.5)) ** 2
    np.testing.assert_allclose(dense(norm)[1], np.where(middle > EPS, middle, 0), rtol=1e-10)
    assert dense(norm)[-1].sum() == 0  # p = 1: no alignment exceeds the strength


def test_reference_vector_per_feature():
    a = np.array([1.0, 1.0, 0.2, 0.2])
    x0 = np.array([0.0, 0.5, 0.0, 0.5])
    path = trace_path(make_problem(a, 1.0, 0.3, reference=x0), grid(2.0, 1.0, 0.2))
    for p, row in zip(path.parameters, dense(path)):
        expected = twin.optimal_weights(a, p, 1.0, 0.3, x0)
        np.testing.assert_allclose(row, np.where(expected > EPS, expected, 0), rtol=1e-9)
    assert path.entry_order().tolist() == [1, 3, 0, 2]


@pytest.mark.parametrize("solver", ["exact", "predictor_corrector"])
def test_unbounded_end_is_left_out_with_a_warning(solver):
    problem = make_problem([0.5, 1.0, 3.0], 0.0, 1.0)
    with pytest.warns(UserWarning, match="unbounded at p = 1"):
        path = trace_path(problem, grid(2.0, 1.0, 0.25), solver=solver)
    assert path.parameters[-1] == 1.25
    expected = (np.array([0.5, 1.0, 3.0]) / 1.25) ** 4
    np.testing.assert_allclose(dense(path)[-1], expected, rtol=1e-9)


@pytest.mark.parametrize("solver", ["exact", "predictor_corrector"])
def test_weights_beyond_the_largest_float_are_an_error_not_nonsense(solver):
    """Without a Bregman term ``(a / lam2 p)^(1 / (p - 1))`` leaves every float near p = 1."""
    problem = make_problem([0.5, 50.0, 100.0], 0.0, 1e-3)
    path, message = _traced(problem, solver)
    if path is None:
        assert "norm_strength" in message or "bregman_strength" in message
        return
    for p, row in zip(path.parameters, dense(path)):
        log = np.log(problem.alignments / (1e-3 * p)) / (p - 1)
        assert np.all(np.abs(np.log(row) - log) <= 1e-9 * np.abs(log)), p


def _traced(problem, solver):
    try:
        with pytest.warns(UserWarning, match="unbounded"):
            return trace_path(problem, grid(2.0, 1.0, 0.01), solver=solver), ""
    except ValueError as error:
        return None, str(error)
