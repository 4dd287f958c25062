"""Methods of other packages: with stand-ins of the same interface, and with the packages if there.

A stand-in does something obvious, of which the adapter's answer follows.
"""

from __future__ import annotations

import sys
import types
from importlib import metadata

import numpy as np
import pandas as pd
import pytest

import kernelpath as kp
from baseline_examples import LABELS, THREE, VALUES, D, X
from kernelpath.baselines import adapters
from kernelpath.baselines.adapters import Abess, Boruta, FastCan
from kernelpath.catalogue import METHODS

EVERY = [getattr(adapters, name) for name in adapters.__all__]


def correlations(A, y):
    y = np.asarray(y, dtype=float).reshape(len(A), -1)
    A, y = A - A.mean(axis=0), y - y.mean(axis=0)
    return np.sqrt(np.square(A.T @ y / len(A) / y.std(axis=0)).sum(axis=1))


class StandInBoruta:
    def __init__(self, estimator, n_estimators, max_iter, random_state, verbose):
        assert n_estimators == "auto"
        assert estimator.max_depth == 5

    def fit(self, A, y):
        size = correlations(A, y)
        self.ranking_ = np.where(size > 0.3, 1, 2 + (size < 0.1))
        self.importance_history_ = np.array([np.full(len(size), np.nan), size, size])
        return self


class StandInFastCan:
    def __init__(self, n_features_to_select, verbose):
        self.n = n_features_to_select

    def fit(self, A, y):
        if self.n > 6:
            raise RuntimeError("No improvement can be found when selecting the 7th feature.")
        size = correlations(A, y)
        self.indices_ = np.argsort(-size)[: self.n]
        self.scores_ = size[self.indices_]
        return self


class StandInSubset:
    def __init__(self, support_size):
        self.k = support_size

    def fit(self, A, y):
        size = correlations(A, y)
        size[np.argsort(-size)[self.k :]] = 0.0
        several = np.ndim(y) > 1
        self.coef_ = np.outer(size, [1.0, -1.0, 0.5]) if several else size
        return self


STAND_INS = {
    "boruta": {"BorutaPy": StandInBoruta},
    "fastcan": {"FastCan": StandInFastCan},
    "abess": dict.fromkeys(
        ("LinearRegression", "LogisticRegression", "MultinomialRegression"), StandInSubset
    ),
}


@pytest.fixture
def stand_ins(monkeypatch):
    for name, content in STAND_INS.items():
        module = types.ModuleType(name)
        module.__dict__.update(content)
        module.__spec__ = types.SimpleNamespace(name=name)
        monkeypatch.setitem(sys.modules, name, module)


@pytest.mark.usefixtures("stand_ins")
@pytest.mark.parametrize("cls", EVERY)
@pytest.mark.parametrize("y", [LABELS, THREE, VALUES], ids=["two", "three", "numbers"])
def test_selectors_like_any_other(cls, y):
    size = correlations(X / X.std(axis=0), pd.get_dummies(y) if y is THREE else pd.factorize(y)[0]
                        if y is LABELS else y)  # fmt: skip
    frame = pd.DataFrame(X, columns=[f"gene {j}" for j in range(D)])
    selector = cls([1, 3]).fit(frame, y)
    assert selector.path_.n_selected.tolist() == [1, 3]
    assert selector.path_.is_nested
    assert (selector.scores_ >= 0).all()
    if not (cls is Boruta and y is THREE):  # codes of several classes are no numbers
        assert selector.get_support(indices=True).tolist() == sorted(np.argsort(-size)[:3])
    shuffled = np.random.default_rng(0).permutation(D)
    there = cls([1, 3]).fit(X[:, shuffled], y)
    np.testing.assert_array_equal(selector.support_[shuffled], there.support_)
    model = kp.PathCV(cls(2), cv=2, n_features=[1, 2], references=False, predictor="joint_rbf")
    assert model.fit(X, y).scores_.n_features.tolist() == [1, 2]


@pytest.mark.usefixtures("stand_ins")
def test_what_each_says():
    with pytest.warns(UserWarning, match="Column 0 is constant"):
        found = Boruta("all").fit(np.column_stack([np.ones(len(X)), X]), VALUES)
    assert found.confirmed_.shape == (D + 1,)
    assert not found.confirmed_[0]
    assert set(np.flatnonzero(found.confirmed_)) == set(np.flatnonzero(found.scores_ == 1.0))
    assert 1 <= found.confirmed_.sum() < D
    with pytest.warns(UserWarning, match="ended with 6 features, fewer than the 9 asked for"):
        assert FastCan(D).fit(X, VALUES).ranking_.max() == 7
    ranks = Abess("all").fit(X, VALUES)
    np.testing.assert_allclose(1.0 / ranks.scores_, ranks.ranking_)


@pytest.mark.usefixtures("stand_ins")
@pytest.mark.parametrize("cls", EVERY)
def test_by_name(cls):
    entry = next(one for one in METHODS.values() if one.needs == cls.NEEDS)
    assert isinstance(entry.selector("classification", [1, 2]), cls)
    assert kp.methods().loc[entry.name, "needs"] == cls.NEEDS
    found = kp.compare(X, VALUES, [entry.name], cv=2, n_features=[1, 2], predictor="joint_rbf")
    assert list(found.scores) == [entry.name]


@pytest.mark.parametrize("cls", EVERY)
def test_a_package_that_is_absent(cls, monkeypatch):
    monkeypatch.setitem(sys.modules, cls.NEEDS, None)
    with pytest.raises(ImportError, match=f"{cls.__name__} needs the package {cls.NEEDS}, which "
                       f"is not installed: pip install {cls.NEEDS}"):  # fmt: skip
        cls(2).fit(X, VALUES)
    entry = next(one for one in METHODS.values() if one.needs == cls.NEEDS)
    monkeypatch.setattr("kernelpath.catalogue.entry.find_spec", lambda name: None)
    assert entry.why_not("regression", 0, 70) == (
        f"{entry.name} needs a package", f"install it: pip install {cls.NEEDS}",
    )  # fmt: skip


@pytest.mark.usefixtures("stand_ins")
def test_bad_settings():
    for selector, words in (
        (Boruta(2, max_iter=1), "max_iter must be a whole number from 2 on"),
        (Boruta(2, max_depth=0), "max_depth must be a whole number from 1 on"),
        (FastCan(2, task="classes"), "task must be one of"),
        (Abess(0), "at least 1"),
    ):
        with pytest.raises(ValueError, match=words):
            selector.fit(X, VALUES)


def installed(name):
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


@pytest.mark.parametrize("cls", EVERY)
def test_the_package_itself(cls):
    if installed(cls.NEEDS) is None:
        pytest.skip(f"{cls.NEEDS} is not installed")
    settings = {"max_iter": 12} if cls is Boruta else {}
    assert {1, 5} <= set(cls(3, **settings).fit(X, VALUES).get_support(indices=True))
    assert 4 in cls(1, **settings).fit(X, THREE).get_support(indices=True)
    assert len({0, 1, 2} & set(cls(3, **settings).fit(X, LABELS).get_support(indices=True))) >= 2
