"""The products that make all points from blocks of columns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kernelpath as kp
from kernelpath.path_kernels import dense
from kernelpath.path_kernels.dense import low_rank_plan


def _made(groups, n_points, n_columns):
    """The weights that a plan stands for, multiplied out."""
    made = np.zeros((n_points, n_columns))
    for group in groups:
        before = 0
        for step in group.steps:
            for points, weights in step.plain:
                made[points, step.start : step.stop] += weights
            if step.basis is not None:
                mix = group.mix[:, before : before + step.n_sums]
                made[group.points, step.start : step.stop] += mix @ step.basis
                before += step.n_sums
        assert before == group.mix.shape[1]
    return made


def _ranges(weights):
    held = weights != 0
    first, last = held.argmax(axis=0), len(weights) - held[::-1].argmax(axis=0)
    order = np.lexsort((last, first))
    return weights[:, order], first[order], last[order]


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), n_columns=st.integers(1, 150), n_points=st.integers(1, 60))
def test_any_weights_are_made(seed, n_columns, n_points):
    rng = np.random.default_rng(seed)
    first = rng.integers(0, n_points, n_columns)
    last = np.minimum(first + rng.integers(1, 2 * n_points, n_columns), n_points)
    at = np.arange(n_points)[:, None]
    smooth = np.exp(-rng.random(n_columns) * at / n_points)
    rough = rng.random((n_points, n_columns)) + 0.1
    weights = np.where((at >= first) & (at < last), rough if seed % 3 == 0 else smooth, 0.0)
    weights, first, last = _ranges(weights)
    for dtype, tol in ((np.float64, 1e-13), (np.float32, 1e-6)):
        made = _made(low_rank_plan(weights, first, last, dtype), n_points, n_columns)
        assert np.abs(made - weights).max() <= tol * weights.max()


def test_a_path_needs_few_multiplications():
    data = kp.datasets.make_ring(n_samples=200, n_features=400, random_state=0)
    weights = kp.LpKTASelector().fit(data.X, data.y).path_.weights.toarray()
    weights, first, last = _ranges(weights[:, weights.any(axis=0)])
    groups = low_rank_plan(weights, first, last, np.float32)
    total = sum(group.mix.size for group in groups)
    for step in (step for group in groups for step in group.steps):
        total += sum(part.size for _, part in step.plain)
        total += 0 if step.basis is None else step.basis.size
    assert total < 0.6 * np.count_nonzero(weights)


def test_groups_are_cut_where_many_sums_are_held(monkeypatch):
    monkeypatch.setattr(dense, "MOST_SUMS", 2)
    weights = np.linspace(1.0, 2.0, 30)[:, None] + np.linspace(0.0, 1.0, 600)
    groups = low_rank_plan(weights, np.zeros(600, dtype=int), np.full(600, 30), np.float64)
    assert [group.mix.shape for group in groups] == [(30, 2)] * 10
    np.testing.assert_allclose(_made(groups, 30, 600), weights, rtol=1e-13)


@pytest.mark.parametrize("n_points", [1, 4, 7])
def test_few_points_are_taken_as_they_are(n_points):
    weights = np.ones((n_points, 5))
    (group,) = low_rank_plan(weights, np.zeros(5, dtype=int), np.full(5, n_points), np.float64)
    assert group.mix.size == 0
    assert group.steps[0].basis is None
