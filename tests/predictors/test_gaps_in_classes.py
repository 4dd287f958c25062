"""Classes so rare that some training rows have none of them: their numbers have gaps."""

from __future__ import annotations

import numpy as np
import pytest

import kernelpath as kp

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 3))
Y = np.array(["a", "c", "e"])[np.searchsorted([-0.5, 0.5], X[:, 0])]
Y[[3, 40]], Y[[7, 50]] = "b", "d"  # two rows each


@pytest.mark.parametrize(
    "predictor", ["logistic", "boosting", "forest", "weighted_kernel", "joint_rbf"]
)
@pytest.mark.parametrize("class_weight", ["balanced", {"a": 2.0, "b": 5.0}])
@pytest.mark.filterwarnings("ignore:.*class", "ignore:.*least populated")
def test_every_predictor_serves_rare_classes(predictor, class_weight):
    model = kp.PathCV(
        predictor=predictor, class_weight=class_weight, cv=3, n_features=[1, 2], references=False
    ).fit(X, Y)
    assert model.operating_point_.score > 0.4  # chance: 0.2
    assert set(model.predict(X)) <= set("abcde")
