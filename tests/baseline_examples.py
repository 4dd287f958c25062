"""Tables and targets of the tests of baselines."""

from __future__ import annotations

import numpy as np

import kernelpath as kp
from kernelpath.baselines import (
    CARS,
    ChiSquare,
    Fisher,
    ForestRanking,
    ForwardStepwise,
    PermutationImportance,
    VarianceFilter,
    forest,
)

ALL = [getattr(kp.baselines, name) for name in kp.baselines.__all__]
EVERY = [cls for cls in ALL if cls.is_ranking]  # the others have a path of their own
FOR_CLASSES = [cls for cls in EVERY if "classification" in cls.TASKS]
FOR_NUMBERS = [cls for cls in EVERY if "regression" in cls.TASKS]
IN_UNITS = (ChiSquare, VarianceFilter)  # methods that take columns as they are
FOR_MANY_CLASSES = [cls for cls in FOR_CLASSES if cls is not ForwardStepwise]

RNG = np.random.default_rng(0)
N, D = 70, 9
X = RNG.normal(size=(N, D)) * np.geomspace(0.01, 100.0, D) + 5.0
Z = (X - X.mean(axis=0)) / X.std(axis=0)
LABELS = np.where(Z[:, 0] + Z[:, 1] - Z[:, 2] + 0.7 * RNG.normal(size=N) > 0, 1.0, -1.0)
THREE = np.array(["a", "b", "c"])[np.digitize(Z[:, 4] + 0.2 * RNG.normal(size=N), [-0.5, 0.5])]
VALUES = 3.0 * Z[:, 5] - 2.0 * Z[:, 1] + Z[:, 7] + 0.5 * RNG.normal(size=N) + 40.0
STANDARD = (VALUES - VALUES.mean()) / VALUES.std()


def table_of(cls, table=X):
    """The table as a method takes it: no negative values for counts."""
    return table - table.min(axis=0) if cls is ChiSquare else table


def target_of(cls):
    return VALUES if cls in FOR_NUMBERS and cls is not Fisher else LABELS


def against_the_rest(y):
    return [np.where(y == label, 1.0, -1.0) for label in np.unique(y)]


FEWER = (
    (ForestRanking, "n_estimators", 30), (PermutationImportance, "n_repeats", 2),
    (PermutationImportance, "cv", 2), (CARS, "n_runs", 2), (CARS, "n_rounds", 12),
)  # fmt: skip


def draw_less(monkeypatch):
    """Defaults with which methods that draw many times take milliseconds."""
    monkeypatch.setattr(forest, "N_TREES", 20)
    for cls, name, few in FEWER:
        monkeypatch.setitem(cls.__init__.__kwdefaults__, name, few)
