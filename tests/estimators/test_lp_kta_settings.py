"""Settings and data that LpKTASelector refuses, and what it says about them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import kernelpath as kp

RNG = np.random.default_rng(88)
X = RNG.normal(size=(40, 12))
Y = np.arange(40) % 2
FRAME = pd.DataFrame(X, columns=[f"gene {j}" for j in range(12)])


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"elimination_tol": 0.37}, "elimination_tol.*1/e"),
        ({"elimination_tol": np.exp(-1)}, "elimination_tol"),
        ({"elimination_tol": 0}, "elimination_tol"),
        ({"elimination_tol": "small"}, "elimination_tol"),
        ({"p_stop": 0.9}, "p_stop"),
        ({"p_stop": 2.0}, "p_stop < p_start"),
        ({"p_start": np.nan}, "p_start"),
        ({"step": 0}, "step"),
        ({"step": -0.1}, "step"),
        ({"step": None}, "step"),
        ({"bregman_strength": -1}, "bregman_strength"),
        ({"bregman_strength": "noise"}, "bregman_strength"),
        ({"bregman_strength": np.inf}, "bregman_strength"),
        ({"norm_strength": -0.1}, "norm_strength"),
        ({"norm_strength": "loud"}, "'auto' or 'noise'"),
        ({"norm_strength": True}, "norm_strength"),
        ({"bregman_strength": 0, "norm_strength": 0}, "both 0"),
        ({"solver": "newton"}, "predictor_corrector"),
        ({"predictor_order": 3}, "predictor_order"),
        ({"divergence": "itakura"}, "'euclidean', 'kl'"),
        ({"divergence": object()}, "missing: generator"),
        ({"divergence": "kl", "reference": 0.0}, "positive reference"),
        ({"reference": -1.0}, r"from 0 to 1e\+100, got -1"),
        ({"reference": 1e300}, r"from 0 to 1e\+100, got 1e\+300"),
        ({"reference": "half"}, "reference must be numbers, got"),
        ({"reference": [1.0, "half"]}, "reference must be numbers, got"),
        ({"reference": 1 + 2j}, "reference must be numbers, got"),
        ({"reference": True}, "reference must be numbers, got"),
        ({"reference": [1.0, [2.0, 3.0]]}, "reference must be numbers"),
        ({"reference": [1.0, object()]}, "reference must be numbers"),
        ({"reference": [1.0, 2.0]}, r"one number per feature \(12\)"),
        ({"kernel": "rbff"}, "did you mean 'rbf'"),
        ({"bandwidth": "mean"}, "bandwidth"),
        ({"gamma": -1.0}, "gamma"),
        ({"tol": 0}, "tol"),
        ({"task": "rank"}, "task"),
        ({"n_features_to_select": 13}, "from 0 to 12"),
        ({"n_features_to_select": -1}, "from 0 to 12"),
        ({"n_features_to_select": 1.5}, "share"),
        ({"n_features_to_select": "all"}, "n_features_to_select"),
        ({"n_features_to_select": True}, "n_features_to_select"),
    ],
)
def test_wrong_settings(settings, words):
    with pytest.raises(ValueError, match=words):
        kp.LpKTASelector(**settings).fit(X, Y)


def test_wrong_data():
    with pytest.raises(ValueError, match="requires y"):
        kp.LpKTASelector().fit(X, None)
    with pytest.raises(kp.DataError, match="'gene 2'"):
        kp.LpKTASelector().fit(FRAME.assign(**{"gene 2": np.inf}), Y)
    with pytest.raises(kp.DataError, match="contains NaN in column 'gene 2'"):
        kp.LpKTASelector(missing="error").fit(FRAME.assign(**{"gene 2": np.nan}), Y)
    with pytest.raises(ValueError, match="missing must be one of 'kernel', 'impute'"):
        kp.LpKTASelector(missing="kernels").fit(X, Y)
    with pytest.raises(ValueError, match=r"feature|column"):
        kp.LpKTASelector().fit(pd.DataFrame(index=range(len(Y))), Y)
    with pytest.raises(ValueError, match="rows"):
        kp.LpKTASelector().fit(X, Y[:-1])


def test_duplicate_column_names_are_refused():
    frame = pd.DataFrame(X[:, :3], columns=["a", "b", "a"])
    with pytest.raises(kp.DataError, match="'a'"):
        kp.LpKTASelector().fit(frame, Y)


def test_a_step_longer_than_the_range_gives_both_ends():
    path = kp.LpKTASelector(step=1e12).fit(X, Y).path_
    assert path.parameters.tolist() == [2.0, 1.0]
