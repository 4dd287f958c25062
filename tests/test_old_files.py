"""Files of the version before the package was rearranged: they load, and say what they said."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import kernelpath as kp

FILES = Path(__file__).parent / "files" / "before_the_move"
KNOWN = json.loads((FILES / "expected.json").read_text())
X, Y = np.array(KNOWN["X"]), np.array(KNOWN["y"])


@pytest.mark.parametrize("name", KNOWN["weights"])
def test_paths(name):
    path = kp.load_path(FILES / f"{name}.kpath")
    for size, weights in zip(KNOWN["sizes"][name], KNOWN["weights"][name], strict=True):
        np.testing.assert_allclose(path.at(n_features=size).weights, weights, rtol=1e-9, atol=0)


@pytest.mark.parametrize("name", KNOWN["predictions"])
def test_models(name):
    model = kp.load_model(FILES / f"{name}.kpmodel")
    table = X
    if name == "frame":
        table = pd.DataFrame(X, columns=list("abcde")).assign(town=np.where(Y, "Ulm", "Bonn"))
    np.testing.assert_allclose(model.predict(table), KNOWN["predictions"][name], rtol=1e-9)
    target = np.array(KNOWN["z"]) if name == "numbers" else Y
    assert model.references is True  # which the file does not know
    model.set_params(references=False)
    assert np.isfinite(model.fit(table, target).scores_.mean).all()  # refits with its settings
