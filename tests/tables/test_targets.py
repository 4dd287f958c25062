"""What numbers of a target are taken for."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import kernelpath as kp
from kernelpath.tables.targets import infer_task, say_how_it_is_read

RNG = np.random.default_rng(0)
MILES = RNG.integers(12, 45, 234)  # about 30 different ones
LETTERS = np.repeat(np.arange(1, 27), 20)
VISITS = np.r_[np.zeros(40, int), np.ones(20, int), 2, 2, 2, 3, 3, 4]
CYLINDERS = np.repeat([4, 6, 8], 20)


@pytest.mark.parametrize(
    ("y", "task", "judged"),
    [
        (MILES, "regression", "regression"),
        (LETTERS, "classification", "classification"),
        (LETTERS[::10], "regression", "regression"),  # two rows each
        (np.arange(40) % 10, "classification", "classification"),
        (CYLINDERS, "classification", "classification"),
        (np.r_[CYLINDERS, 5], "regression", "regression"),  # with gaps, and one of them once
        (VISITS, "classification", "regression"),  # the last one occurs once
        (np.array([1.5, 2.5] * 9), "classification", "classification"),
        (np.linspace(0, 1, 9), "regression", "regression"),
        (np.arange(31).repeat(99), "regression", "regression"),
    ],
)
def test_labels_and_quantities(y, task, judged):
    assert infer_task(y) == infer_task(y.astype(float)) == task
    assert infer_task(y, judged=True) == judged
    assert infer_task(y, "classification") == "classification"


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (CYLINDERS, "3 different whole numbers and is taken for classes; task='regression'"),
        (VISITS, "5 different whole numbers and is taken for a quantity; task='classification'"),
        (LETTERS, None),
        (np.array([3, 7] * 9), None),
        (np.linspace(0, 1, 9), None),
        (np.array(["a", "b"]), None),
    ],
)
def test_what_a_person_may_mean_otherwise_is_said(y, words):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        say_how_it_is_read(y, "classification")
        if words is None:
            say_how_it_is_read(y, "auto")
            return
    with pytest.warns(UserWarning, match=words):
        say_how_it_is_read(y, "auto")


def test_counts_are_predicted_as_a_quantity():
    X = VISITS[:, None] + RNG.normal(size=(len(VISITS), 2))
    model = kp.PathCV(cv=3, n_features=[1], predictor="logistic")
    with pytest.warns(UserWarning, match="taken for a quantity"):
        assert model.fit(X, VISITS).task_ == "regression"
    model.set_params(predictor="ridge").fit(X, CYLINDERS.repeat(2)[: len(X)])
    assert model.task_ == "regression"  # which ridge can only mean
