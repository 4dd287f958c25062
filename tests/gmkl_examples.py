"""Problems of the tests of GMKL estimators."""

from __future__ import annotations

import numpy as np

import kernelpath as kp

RING = kp.datasets.make_ring(n_samples=120, n_features=8, random_state=0)
X, Y = RING.X, RING.y
RELEVANT = sorted(RING.relevant.tolist())
TRAIN, NEW = np.arange(80), np.arange(80, 120)


def rbf(a, b):
    return np.exp(-0.5 * np.subtract.outer(a, b) ** 2)


def matrices(rows, columns=TRAIN, features=range(8)):
    return [rbf(X[rows, j], X[columns, j]) for j in features]


def centred(K):
    K = K - K.mean(axis=0)
    return K - K.mean(axis=1)[:, None]
