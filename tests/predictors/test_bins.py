"""Columns cut at weighted quantiles: those of scikit-learn, and so the same trees."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.ensemble._hist_gradient_boosting.binning import _find_binning_thresholds

from kernelpath.predictors.bins import Bins
from kernelpath.predictors.trees import Trees

RNG = np.random.default_rng(0)
N = 700
X = np.column_stack([RNG.normal(size=N), RNG.integers(0, 20, N), RNG.lognormal(size=N)])
X[RNG.random(N) < 0.1, 2] = np.nan
WEIGHTS = {
    "any": RNG.uniform(0.1, 3.0, N),
    "classes": np.where(X[:, 0] > 1, 5.3, 0.6),
}


@pytest.mark.parametrize("weight", WEIGHTS.values(), ids=WEIGHTS)
@pytest.mark.parametrize("max_bins", [16, 63, 255])
def test_the_steps_are_those_of_scikit_learn(weight, max_bins):
    bins = Bins.fit(X, weight, max_bins)
    assert set(bins.edges) == ({0, 2} if max_bins > 20 else {0, 1, 2})
    for j, edges in bins.edges.items():
        theirs = _find_binning_thresholds(X[:, j], max_bins, weight)
        np.testing.assert_allclose(edges, theirs, rtol=1e-12)


@pytest.mark.parametrize("max_bins", [16, 63])
def test_a_row_of_weight_two_is_there_twice(max_bins):
    """Also where a share of the weight is met by the end of a row, which rounding may hide."""
    counts = RNG.integers(0, 4, N)
    once = Bins.fit(X, counts.astype(float), max_bins)
    repeated = np.repeat(X, counts, axis=0)
    shares = np.linspace(0, 100, max_bins + 1)[1:-1]
    for j, edges in once.edges.items():
        seen = repeated[~np.isnan(repeated[:, j]), j]
        theirs = np.percentile(seen, shares, method="averaged_inverted_cdf")
        assert np.mean(np.isin(edges.round(12), theirs.round(12))) > 0.9
        np.testing.assert_array_equal(
            edges, Bins.fit(repeated, np.ones(len(repeated)), max_bins).edges[j]
        )


@pytest.mark.parametrize("kind", [HistGradientBoostingClassifier, HistGradientBoostingRegressor])
@pytest.mark.parametrize("weight", WEIGHTS.values(), ids=WEIGHTS)
def test_the_trees_are_the_same(kind, weight):
    y = np.sin(2 * X[:, 0]) + 0.1 * X[:, 1] + np.isnan(X[:, 2])
    y = (y > 1).astype(int) if kind is HistGradientBoostingClassifier else y
    machine = kind(max_iter=20, max_bins=63, early_stopping=False, random_state=0)
    theirs = Trees.of_boosting(machine.fit(X, y, sample_weight=weight)).sums(X)
    bins = Bins.fit(X, weight, 63)
    ours = Trees.of_boosting(machine.fit(bins.codes(X), y, sample_weight=weight), bins).sums(X)
    np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)


def test_missing_values_and_ties_stay():
    bins = Bins.fit(X, np.ones(N), 63)
    coded = bins.codes(X)
    assert np.array_equal(np.isnan(coded), np.isnan(X))
    assert np.array_equal(coded[:, 1], X[:, 1])
    order = np.argsort(X[:, 0])
    assert (np.diff(coded[order, 0]) >= 0).all()
