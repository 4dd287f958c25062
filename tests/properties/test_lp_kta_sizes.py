"""Junctures, every size of the path, and the two solvers against each other."""

from __future__ import annotations

import numpy as np
import pytest

import kernelpath as kp
from kernelpath.tracers.lp_kta.problem import PNormProblem
from kernelpath.tracers.lp_kta.trace import grid, trace_path
from properties.test_lp_kta_theorems import (
    DIVERGENCES,
    EPS,
    SETTINGS,
    dense,
    every_setting,
    make_problem,
    some_alignments,
    twin,
    twin_arguments,
)

NORMED = [name for name in SETTINGS if name != "bregman only"]


def _path(setting, a=None, step=0.05, **options):
    problem = make_problem(some_alignments() if a is None else a, **SETTINGS[setting])
    return problem, trace_path(problem, grid(2.0, 1.0, step), **options)


# -- junctures ------------------------------------------------------------------------------------


@pytest.mark.parametrize("setting", NORMED)
def test_weight_equals_the_tolerance_at_the_juncture(setting):
    problem, path = _path(setting)
    lam1, lam2, x0, divergence = twin_arguments(setting)
    assert len(path.events) > 0
    for event in path.events:
        assert event.kind == "eliminate"
        a, p = problem.alignments[event.feature], event.parameter
        assert 1.0 <= p < 2.0
        if p > 1.0 + 1e-9:
            weight = twin.optimal_weight(a, p, lam1, lam2, x0, divergence)
            assert weight == pytest.approx(problem.elimination_tol, rel=1e-7)
        before = twin.optimal_weight(a, p + 1e-4, lam1, lam2, x0, divergence)
        after = twin.optimal_weight(a, max(p - 1e-4, 1.0), lam1, lam2, x0, divergence)
        assert before > problem.elimination_tol >= after * (1 - 1e-9)


@every_setting
def test_supports_change_exactly_at_the_events(setting):
    _, path = _path(setting)
    support = path.supports[0].copy()
    for i in range(1, len(path)):
        gone = [e.feature for e in path.events if e.position == i]
        assert all(path.parameters[i] <= e.parameter for e in path.events if e.position == i)
        assert all(path.parameters[i - 1] > e.parameter for e in path.events if e.position == i)
        assert support[gone].all()
        support[gone] = False
        np.testing.assert_array_equal(path.supports[i], support)
    met = [e.parameter for e in path.events]
    assert met == sorted(met, reverse=True)


def test_grid_ends_where_asked():
    for start, stop, step in ((2, 1, 0.01), (2, 1, 0.3), (1.7, 1.05, 0.05), (3, 1.5, 10)):
        p = grid(start, stop, step)
        assert (p[0], p[-1]) == (start, stop)
        assert np.all(np.diff(p) < 0)
        np.testing.assert_allclose(-np.diff(p)[:-1], step)
    assert len(grid(2.0, 1.0, 0.01)) == 101
    assert 1.3 in grid(2.0, 1.0, 0.1)


# -- two solvers ----------------------------------------------------------------------------------


@every_setting
@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("step", [0.01, 0.2])
def test_predictor_corrector_is_the_exact_path(setting, order, step):
    problem, exact = _path(setting, step=step)
    again = trace_path(
        problem, grid(2.0, 1.0, step), solver="predictor_corrector", predictor_order=order
    )
    np.testing.assert_array_equal(exact.n_selected, again.n_selected)
    np.testing.assert_array_equal(exact.weights.indices, again.weights.indices)
    np.testing.assert_allclose(again.weights.data, exact.weights.data, rtol=1e-9)
    np.testing.assert_allclose(again.values, exact.values, rtol=1e-9, atol=1e-12)
    assert again.kkt.max() <= 1e-10
    assert exact.kkt.max() <= 1e-10
    np.testing.assert_allclose(again.gaps, exact.gaps, rtol=1e-12)


@pytest.mark.parametrize("eps", [1e-3, 1e-30, 1e-60])
@pytest.mark.parametrize("step", [0.02, 0.5])
def test_solvers_agree_on_many_features_and_a_tiny_tolerance(eps, step):
    a = np.random.default_rng(70).chisquare(1, 300)
    problem = make_problem(a, 1.0, 0.5, eps=eps)
    exact = trace_path(problem, grid(2.0, 1.0, step))
    again = trace_path(problem, grid(2.0, 1.0, step), solver="predictor_corrector")
    np.testing.assert_array_equal(exact.n_selected, again.n_selected)
    np.testing.assert_array_equal(exact.weights.indices, again.weights.indices)
    np.testing.assert_allclose(again.weights.data, exact.weights.data, rtol=1e-9)


# -- every size -----------------------------------------------------------------------------------


@every_setting
def test_every_size_exists(setting):
    problem, path = _path(setting)
    lam1, lam2, x0, divergence = twin_arguments(setting)
    a = problem.alignments
    ranking = np.lexsort((np.arange(len(a)), -problem.scores))
    most, least = path.n_selected[0], path.n_selected[-1]
    for k in range(len(a) + 1):
        point = path.at(n_features=k)
        assert point.n_selected == point.support.sum() == k
        assert set(np.flatnonzero(point.support)) == set(ranking[:k])
        assert np.all(point.weights[~point.support] == 0)
        assert 1.0 <= point.parameter <= 2.0
        assert point.kkt <= 1e-10
        expected = twin.optimal_weights(a, point.parameter, lam1, lam2, x0, divergence)
        chosen = point.support
        np.testing.assert_allclose(point.weights[chosen], expected[chosen], rtol=1e-9, atol=1e-300)
        row = point.weights
        value = twin.objective(row, a, point.parameter, lam1, lam2, x0, divergence)
        assert point.value == pytest.approx(value, rel=1e-9, abs=1e-9)
        if k > most or k < least:
            assert "elimination tolerance" in point.note
            assert ("lowered" in point.note) == (k > most)
            assert point.gap is None
            assert point.parameter == (2.0 if k > most else 1.0)
        else:
            assert np.all(point.weights[chosen] > problem.elimination_tol)
            assert point.gap is not None
            assert point.gap >= 0


def test_a_size_of_the_grid_is_the_stored_point_or_an_earlier_juncture():
    _, path = _path("euclidean strong norm")
    for i, k in enumerate(path.n_selected):
        point = path.at(n_features=int(k))
        assert point.parameter >= path.parameters[i]
        assert point.n_selected == k
    assert path.at(n_features=int(path.n_selected[0])).position == 0


@pytest.mark.parametrize("k", [-1, 41, 10**9])
def test_sizes_out_of_range(k):
    _, path = _path("euclidean")
    with pytest.raises(kp.DataError, match="from 0 to 40"):
        path.at(n_features=k)


@pytest.mark.parametrize("solver", ["exact", "predictor_corrector"])
def test_ties_are_cut_by_column_order_and_said_so(solver):
    a = np.array([0.3, 2.0, 0.3, 0.05, 0.3, 0.05, 2.0, 0.0, 0.0])
    problem = make_problem(a, 1.0, 0.5)
    path = trace_path(problem, grid(2.0, 1.0, 0.01), solver=solver)
    order = [1, 6, 0, 2, 4, 3, 5, 7, 8]
    assert path.entry_order().tolist() == order
    for k in range(len(a) + 1):
        point = path.at(n_features=k)
        assert sorted(order[:k]) == np.flatnonzero(point.support).tolist()
        cuts = 0 < k < len(a) and a[order[k - 1]] == a[order[k]]
        assert ("ties broken by column order" in point.note) == cuts
    assert "3 equal" in path.at(n_features=3).note
    assert "2 equal" in path.at(n_features=1).note
    assert path.at(n_features=3).gap is None
    leaving = [e.feature for e in path.events]
    assert leaving.index(0) < leaving.index(2) < leaving.index(4)


def test_all_alignments_equal():
    path = trace_path(make_problem(np.full(5, 0.7), 1.0, 0.5), grid(2.0, 1.0, 0.1))
    for k in range(6):
        assert path.at(n_features=k).n_selected == k
    np.testing.assert_allclose(dense(path)[:, 0], dense(path)[:, 4], rtol=0)


def test_constant_columns_are_never_part_of_a_size():
    a = np.array([0.0, 1.0, 0.0, 0.4, 0.2])
    problem = PNormProblem(
        alignments=a,
        usable=np.array([False, True, False, True, True]),
        bregman_strength=1.0,
        norm_strength=0.1,
        divergence=DIVERGENCES["kl"][0],
        reference=np.full(5, 0.2),
        elimination_tol=EPS,
    )
    for solver in ("exact", "predictor_corrector"):
        path = trace_path(problem, grid(2.0, 1.0, 0.1), solver=solver)
        assert path.extension.n_usable == 3
        assert not np.any(path.supports.toarray()[:, [0, 2]])
        assert path.at(n_features=3).support.tolist() == [False, True, False, True, True]
        with pytest.raises(kp.DataError, match="from 0 to 3"):
            path.at(n_features=4)
        assert path.entry_order().tolist() == [1, 3, 4]


def test_a_point_beyond_the_path_keeps_its_order():
    """Weights within a point increase with the alignment, also beyond the tolerance."""
    _, path = _path("large tolerance")
    point = path.at(n_features=39)
    a = some_alignments()
    order = np.argsort(a[point.support])
    assert np.all(np.diff(point.weights[point.support][order]) >= 0)


# -- files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("setting", [s for s in SETTINGS if "quartic" not in s])
def test_saved_paths_keep_every_size(setting, tmp_path):
    _, path = _path(setting)
    path.save(tmp_path / "path.kpath")
    again = kp.load_path(tmp_path / "path.kpath")
    assert again == path
    for k in range(path.n_features + 1):
        assert again.at(n_features=k) == path.at(n_features=k)


def test_a_reference_vector_survives_saving(tmp_path):
    x0 = np.linspace(0, 0.5, 40)
    problem = make_problem(some_alignments(), 1.0, 0.2, reference=x0)
    path = trace_path(problem, grid(2.0, 1.0, 0.1))
    path.save(tmp_path / "path.kpath")
    again = kp.load_path(tmp_path / "path.kpath")
    for k in (0, 7, 40):
        assert again.at(n_features=k) == path.at(n_features=k)


def test_a_divergence_of_the_users_own_is_saved_without_the_extension(tmp_path):
    _, path = _path("quartic")
    assert path.at(n_features=3).n_selected == 3
    path.save(tmp_path / "path.kpath")
    again = kp.load_path(tmp_path / "path.kpath")
    assert again.extension is None
    np.testing.assert_array_equal(again.weights.data, path.weights.data)
    stored = int(path.n_selected[-1])
    assert again.at(n_features=stored).n_selected == stored
