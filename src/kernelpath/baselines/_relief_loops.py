"""Compiled loops of ReliefF: distances of some rows to all, the nearest, and their differences."""

from __future__ import annotations

import numpy as np

from kernelpath.utils.compiled import compiled

FAST = {"reassoc", "contract", "nsz"}  # sums in any order
TIE = 1e-9  # relative; distances that differ by rounding are the same


@compiled(part=True, fastmath=FAST)
def _distances(X, places, found):
    """Sums of absolute differences; a row is read once for all places."""
    for i in range(X.shape[0]):
        for b in range(places.shape[0]):
            total = 0.0
            for j in range(X.shape[1]):
                total += abs(X[places[b], j] - X[i, j])
            found[b, i] = total
    for b in range(places.shape[0]):
        found[b, places[b]] = np.inf  # no row is its own neighbour


@compiled(part=True)
def _shares(distances, low, high, itself, n_neighbors, nearest, shares):
    """Share of each row of a stretch among the nearest; all shares are 1 together, or 0."""
    there = high - low - (1 if low <= itself < high else 0)
    k = min(n_neighbors, there)
    shares[low:high] = 0.0
    if k == 0:
        return
    nearest[:k] = np.inf
    for i in range(low, high):
        if distances[i] < nearest[k - 1]:
            place = k - 1
            while place > 0 and nearest[place - 1] > distances[i]:
                nearest[place] = nearest[place - 1]
                place -= 1
            nearest[place] = distances[i]
    below, above = nearest[k - 1] * (1.0 - TIE), nearest[k - 1] * (1.0 + TIE)
    nearer, as_near = 0, 0
    for i in range(low, high):
        nearer += distances[i] < below
        as_near += below <= distances[i] <= above
    for i in range(low, high):
        if distances[i] < below:
            shares[i] = 1.0 / k
        elif distances[i] <= above:
            shares[i] = (k - nearer) / (k * float(as_near))


@compiled(part=True, fastmath=FAST)
def _add(X, one, other, weight, total):
    for j in range(X.shape[1]):
        total[j] += weight * abs(X[one, j] - X[other, j])


@compiled()
def class_differences(X, places, classes, ends, n_neighbors, weights):
    """Add what some rows say; class ``k`` has the rows from ``ends[k]`` to ``ends[k + 1]``."""
    n = X.shape[0]
    distances, shares = np.empty((places.shape[0], n)), np.zeros(n)
    nearest = np.empty(min(n_neighbors, n))
    _distances(X, places, distances)
    for b in range(places.shape[0]):
        own = classes[b]
        others = float(n - (ends[own + 1] - ends[own]))
        for k in range(ends.shape[0] - 1):
            low, high = ends[k], ends[k + 1]
            sign = -1.0 if k == own else (high - low) / others
            _shares(distances[b], low, high, places[b], n_neighbors, nearest, shares)
            for i in range(low, high):
                if shares[i] > 0:
                    _add(X, places[b], i, sign * shares[i], weights)


@compiled()
def number_differences(X, target, places, n_neighbors, sums):
    """Add differences, and products with those of the target; return the sum of the latter."""
    n = X.shape[0]
    distances, shares = np.empty((places.shape[0], n)), np.zeros(n)
    nearest = np.empty(min(n_neighbors, n))
    _distances(X, places, distances)
    of_target = 0.0
    for b in range(places.shape[0]):
        _shares(distances[b], 0, n, places[b], n_neighbors, nearest, shares)
        for i in range(n):
            if shares[i] > 0:
                apart = abs(target[places[b]] - target[i])
                of_target += shares[i] * apart
                _add(X, places[b], i, shares[i], sums[0])
                _add(X, places[b], i, shares[i] * apart, sums[1])
    return of_target
