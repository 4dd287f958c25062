"""The scalar problem of lp-KTA for many features at once."""

from __future__ import annotations

import numpy as np
import pytest

from kernelpath.tracers.lp_kta.divergences import SquaredEuclidean
from kernelpath.tracers.lp_kta.weights import euclidean_weights, solve_weights


@pytest.mark.parametrize("spread", [0.0, 1e-15, 1e-13, 1e-9, 1e-3])
@pytest.mark.parametrize("towards", [-np.inf, 0.0, np.inf])
def test_scores_that_are_nearly_equal(spread, towards):
    """Logarithms of a score by two libraries differ by rounding, which once gave NaN or worse."""
    for score in np.random.default_rng(0).uniform(0.3, 30.0, size=40):
        scores = score * (1.0 + spread * np.array([0.0, 0.3, 1.0]))
        logs = np.log(scores)
        if towards:
            logs = np.nextafter(logs, towards)
        for p in (2.0, 1.3, 1.01):
            indices, weights = np.empty(3, dtype=np.int32), np.empty(3)
            residual, _ = euclidean_weights(scores, logs, 0.1, p, 1.0, 0.5, indices, weights)
            expected = solve_weights(scores, p, 1.0, 0.5, SquaredEuclidean())
            assert indices.tolist() == [0, 1, 2]
            assert np.abs(weights - expected).max() <= 1e-12 * expected.max()
            assert residual <= 1e-12 * score
