"""Alignments with several columns and with survival times, against dense twins and Cox's score."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import kernelpath as kp
from alignment.helpers import KERNELS, TASKS, make_table, make_target
from kernelpath.errors import ConstantColumnWarning, DataError
from reference import cox
from reference.alignment import align_outputs, worst_error

N = 24
TOL = 1e-8


def _problem(n, seed=0):
    """A table and one output of every kind."""
    rng = np.random.default_rng(seed)
    X = make_table(n, rng)
    outputs, tasks = zip(*(make_target(task, n, rng) for task in TASKS))
    return X, list(outputs), list(tasks)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("method", ["auto", "exact", "fast"])
def test_against_dense_matrices(kernel, method):
    X, outputs, tasks = _problem(N)
    found = kp.alignments(X, np.column_stack(outputs), kernel=kernel, method=method)
    assert worst_error(found, align_outputs(X, outputs, tasks, kernel)) < TOL


@pytest.mark.parametrize("kernel", ["rbf", "linear", "delta"])
def test_weights_are_repeated_rows(kernel):
    X, outputs, tasks = _problem(N, seed=1)
    counts = np.random.default_rng(2).integers(0, 4, N)
    found = kp.alignments(X, np.column_stack(outputs), kernel=kernel, sample_weight=counts)
    assert worst_error(found, align_outputs(X, outputs, tasks, kernel, counts=counts)) < TOL


@pytest.mark.parametrize("container", [np.asarray, sp.csc_matrix, pd.DataFrame])
@pytest.mark.parametrize("n", [40, 700])
def test_the_mean_of_the_outputs(container, n):
    X, outputs, _ = _problem(n, seed=3)
    X[:, 0] += np.random.default_rng(4).normal(size=n)  # no whole numbers: all algorithms
    alone = [kp.alignments(container(X), y) for y in outputs]
    found = kp.alignments(container(X), np.column_stack(outputs))
    np.testing.assert_allclose(found, np.mean(alone, axis=0), rtol=1e-7, atol=1e-8)


def test_missing_values_stay_a_category():
    X, outputs, _ = _problem(60, seed=5)
    X[::7, 0] = np.nan
    alone = [kp.alignments(X, y) for y in outputs]
    found = kp.alignments(X, np.column_stack(outputs))
    np.testing.assert_allclose(found, np.mean(alone, axis=0), rtol=1e-7, atol=1e-8)


def test_a_column_twice_counts_once():
    X, outputs, _ = _problem(60, seed=6)
    y = outputs[2]
    np.testing.assert_allclose(kp.alignments(X, np.column_stack([y, y])), kp.alignments(X, y))


def test_units_of_outputs_do_not_matter():
    X, outputs, _ = _problem(60, seed=7)
    y = np.column_stack([outputs[2], outputs[2] ** 2])
    far = y * [1e200, 1e-200] + [3e200, 0]
    np.testing.assert_allclose(kp.alignments(X, far), kp.alignments(X, y), rtol=1e-7)


def test_near_1_without_relation():
    rng = np.random.default_rng(8)
    X, flags = rng.normal(size=(300, 300)), rng.permutation(np.arange(300) % 2)
    y = np.column_stack([rng.normal(size=300), rng.exponential(size=300), flags])
    assert kp.alignments(X, y).mean() == pytest.approx(1.0, abs=0.05)


def test_constant_outputs_are_left_out():
    X, outputs, _ = _problem(60, seed=9)
    y = pd.DataFrame({"a": outputs[2], "same": 1})
    with pytest.warns(ConstantColumnWarning, match="Column 'same' of y is constant"):
        found = kp.alignments(X, y)
    np.testing.assert_array_equal(found, kp.alignments(X, outputs[2]))


def test_tasks_of_all_outputs_at_once():
    X, outputs, _ = _problem(60, seed=10)
    found = kp.alignments(X, np.column_stack(outputs), task="regression")
    alone = [kp.alignments(X, y, task="regression") for y in outputs]
    np.testing.assert_allclose(found, np.mean(alone, axis=0), rtol=1e-7, atol=1e-8)


def test_other_lengths_and_holes_are_refused():
    X, outputs, _ = _problem(60)
    y = np.column_stack(outputs)
    with pytest.raises(DataError, match="60 rows, but y has 59 values"):
        kp.alignments(X, y[:-1])
    y[3, 2] = np.nan
    with pytest.raises(DataError, match=r"Column 2 of y: .* NaN or inf in 1 row"):
        kp.alignments(X, y)


# -- survival times --------------------------------------------------------------------------------


def _survival(n=60, seed=11):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    time, event = np.round(rng.exponential(size=n) * np.exp(-X[:, 2]), 1), rng.random(n) < 0.6
    y = np.array(list(zip(event, time)), dtype=[("event", bool), ("time", float)])
    return X, time, event, y


def test_the_linear_kernel_has_the_score_of_cox():
    X, time, event, y = _survival()
    found = kp.alignments(X, y, kernel="linear")
    variance = np.mean(np.square(cox.residuals(time, event)))
    for j, x in enumerate(X.T):
        spread = sum((value - x.mean()) ** 2 for value in x)
        score = cox.score_at_zero(x, time, event)
        assert found[j] * variance * spread == pytest.approx(score**2, rel=1e-9, abs=1e-9)


def test_the_residuals_are_a_target_like_any_other():
    X, time, event, y = _survival()
    found = kp.alignments(X, y)
    np.testing.assert_array_equal(found, kp.alignments(X, kp.survival_target(time, event)))
    assert found.argmax() == 2


def test_survival_with_weights_is_survival_of_repeated_rows():
    X, _, _, y = _survival()
    counts = np.random.default_rng(12).integers(0, 3, len(y))
    rows = np.repeat(np.arange(len(y)), counts)
    found = kp.alignments(X, y, sample_weight=counts)
    np.testing.assert_allclose(found, kp.alignments(X[rows], y[rows]), rtol=1e-7)


def test_survival_times_that_cannot_be_used():
    X, _, _, y = _survival()
    y["event"] = False
    with pytest.raises(DataError, match="No row has the event"):
        kp.alignments(X, y)
    y["time"] = 1.0
    y["event"] = True
    with pytest.raises(DataError, match="constant"):
        kp.alignments(X, y)
