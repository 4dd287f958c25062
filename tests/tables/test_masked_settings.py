"""Masked numbers in settings are no numbers either, and what users give stays as it is."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse

import kernelpath as kp
from sklearn_examples import ESTIMATORS

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 4))
Y = (X[:, 0] + 0.3 * X[:, 1] > 0).astype(int)


def masked(*values):
    """Numbers of which the first is masked."""
    return np.ma.masked_array(values, mask=[True, *[False] * (len(values) - 1)])


def path_cv(**options):
    quick = {"cv": 2, "n_features": [1], "predictor": "weighted_kernel", "references": False}
    return kp.PathCV(**quick | options)


ROWS = np.arange(40)
SETTINGS = {
    "weights": lambda: kp.GMKLClassifier(weights=masked(5.0, 1, 1, 1)),
    "high": lambda: kp.GMKLClassifier(feasible=kp.Box(0.0, masked(1.0, 2, 2, 2))),
    "groups": lambda: kp.GMKLClassifier(regularizer=kp.MixedNorm(masked(0, 0, 1, 1))),
    "n_features_to_select": lambda: kp.NMMKLSelector(masked(1, 2)),
    "n_features": lambda: path_cv(n_features=masked(1, 2)),
    "cv": lambda: path_cv(cv=[(masked(*ROWS[:20]), ROWS[20:]), (ROWS[20:], ROWS[:20])]),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_masked_settings_are_refused(name):
    with pytest.raises(kp.DataError, match=f"{name} is a masked array"):
        SETTINGS[name]().fit(X, Y)


@pytest.mark.parametrize(
    "selector", [kp.LpKTASelector(), kp.NMMKLSelector(2), kp.baselines.Fisher(2)]
)
def test_missing_objects_stay_missing_in_transform(selector):
    cells = X.astype(object)
    cells[0] = None
    kept = selector.fit(X, Y).transform(cells).astype(float)
    assert np.isnan(kept[0]).all()
    np.testing.assert_array_equal(kept[1:], selector.transform(X)[1:])


@pytest.mark.parametrize("weight", [np.nan, np.inf, 0, -1, 1e300, "a", None, True])
def test_class_weights_are_checked(weight):
    with pytest.raises(ValueError, match="class_weight must be from 1e-09"):
        path_cv(class_weight={0: 1.0, 1: weight}).fit(X, Y)


def test_a_generator_seeds_the_folds():
    first, second = (path_cv(random_state=np.random.default_rng(3)).fit(X, Y) for _ in range(2))
    np.testing.assert_array_equal(first.scores_.per_fold, second.scores_.per_fold)


def test_groups_of_several_lengths_are_refused_in_words():
    with pytest.raises(ValueError, match="one integer for each kernel"):
        kp.MixedNorm([[0, 1], [2, 3, 4]])


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_matrix])
@pytest.mark.parametrize("cls", ESTIMATORS)
def test_a_sparse_table_stays_as_it_is(cls, form):
    """Stored zeros and twofold entries are summed up in a copy, if at all."""
    cells = np.abs(X) if cls is kp.baselines.ChiSquare else X
    held = form(np.where(np.abs(X) < 0.3, 0.0, cells))
    data, index = (
        np.append(held.data, [0.0, 0.5]),
        np.append(held.indices, held.indices[-1:].repeat(2)),
    )
    table = form((data, index, np.append(held.indptr[:-1], len(data))), shape=held.shape)
    table.data[3] = 0.0
    assert not table.has_canonical_format
    before = [getattr(table, name).copy() for name in ("data", "indices", "indptr")]
    estimator = cls(cv=2, n_features=[1]) if cls is kp.PathCV else cls()
    target = X[:, 0] if cls.__name__.endswith("Regressor") else Y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator.fit(table, target)
    for name, array in zip(("data", "indices", "indptr"), before):
        np.testing.assert_array_equal(getattr(table, name), array)
