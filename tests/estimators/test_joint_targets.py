"""Selectors with targets of several columns and with survival times."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import kernelpath as kp
from kernelpath.errors import ConstantColumnWarning, DataError, MissingValuesWarning

RNG = np.random.default_rng(3)
N = 120
X = RNG.normal(size=(N, 8))
Y = np.column_stack([X[:, 1] ** 2, X[:, 4] + 0.3 * RNG.normal(size=N)])
LABELS = (np.column_stack([X[:, 0], X[:, 5] + X[:, 6]]) > 0).astype(int)
TIME = np.round(RNG.exponential(size=N) * np.exp(-1.5 * X[:, 3]), 2)
EVENT = RNG.random(N) < 0.7
SURVIVAL = np.array(list(zip(EVENT, TIME)), dtype=[("event", bool), ("time", float)])

PUBLISHED = {"statistic": "alignment", "bandwidth": "std"}


def _order(y, **settings):
    return kp.LpKTASelector(**settings).fit(X, y).path_.entry_order().tolist()


def test_the_path_is_that_of_the_mean_alignment():
    selector = kp.LpKTASelector(**PUBLISHED).fit(X, Y)
    alone = [kp.alignments(X, y) for y in Y.T]
    np.testing.assert_allclose(selector.alignments_, np.mean(alone, axis=0), rtol=1e-7)
    assert set(selector.path_.entry_order()[:2]) == {1, 4}
    assert selector.path_.provenance["task"] == "outputs"


def test_labels_of_several_columns():
    assert set(_order(LABELS)[:3]) == {0, 5, 6}
    assert set(_order(LABELS.astype(bool))[:3]) == {0, 5, 6}


def test_survival_is_the_path_of_the_residuals():
    selector = kp.LpKTASelector(**PUBLISHED).fit(X, SURVIVAL)
    expected = kp.alignments(X, kp.survival_target(TIME, EVENT))
    np.testing.assert_array_equal(selector.alignments_, expected)
    assert selector.path_.entry_order()[0] == 3
    assert selector.path_.provenance["task"] == "survival"


@pytest.mark.parametrize("y", [Y, LABELS, SURVIVAL], ids=["numbers", "labels", "survival"])
def test_the_order_of_rows_does_not_matter(y):
    order = RNG.permutation(N)
    found = kp.LpKTASelector().fit(X[order], y[order]).alignments_
    np.testing.assert_allclose(found, kp.LpKTASelector().fit(X, y).alignments_, rtol=1e-7)


@pytest.mark.parametrize("y", [Y, LABELS, SURVIVAL], ids=["numbers", "labels", "survival"])
def test_the_level_of_chance_keeps_rows_of_the_target_together(y):
    selector = kp.LpKTASelector(norm_strength="noise").fit(X, y)
    rng, largest = np.random.RandomState(0), []
    for _ in range(5):
        largest.append(kp.alignments(X, y[rng.permutation(N)]).max())
    assert selector.norm_strength_ == pytest.approx(np.median(largest), rel=1e-9)


def test_the_level_of_chance_of_one_column_is_what_it_was():
    selector = kp.LpKTASelector(norm_strength="noise").fit(X, Y[:, 0])
    rng = np.random.RandomState(0)
    largest = [kp.alignments(X, rng.permutation(Y[:, 0])).max() for _ in range(5)]
    assert selector.norm_strength_ == pytest.approx(np.median(largest), rel=1e-12)


@pytest.mark.parametrize("frame", [False, True])
def test_rows_with_a_hole_in_any_column_are_left_out(frame):
    y = Y.copy()
    y[[3, 7], 0], y[[7, 9], 1] = np.nan, np.nan
    kept = np.setdiff1d(np.arange(N), [3, 7, 9])
    given = pd.DataFrame(y, columns=["a", "b"]) if frame else y
    with pytest.warns(MissingValuesWarning, match="3 rows without a target"):
        found = kp.LpKTASelector().fit(X, given).alignments_
    np.testing.assert_array_equal(found, kp.LpKTASelector().fit(X[kept], Y[kept]).alignments_)


def test_rows_without_a_time_are_left_out():
    y = SURVIVAL.copy()
    y["time"][:4] = np.nan
    with pytest.warns(MissingValuesWarning, match="4 rows without a target"):
        found = kp.LpKTASelector().fit(X, y).alignments_
    np.testing.assert_array_equal(found, kp.LpKTASelector().fit(X[4:], SURVIVAL[4:]).alignments_)


def test_weights_are_repeated_rows():
    weights = RNG.integers(0, 3, N)
    rows = np.repeat(np.arange(N), weights)
    for y in (Y, LABELS, SURVIVAL):
        found = kp.LpKTASelector().fit(X, y, sample_weight=weights).alignments_
        repeated = kp.LpKTASelector().fit(X[rows], y[rows]).alignments_
        np.testing.assert_allclose(found, repeated, rtol=1e-7)


def test_one_warning_of_a_constant_column():
    y = np.column_stack([Y, np.ones(N)])
    with pytest.warns(ConstantColumnWarning, match="Column 2 of y") as caught:
        kp.LpKTASelector(norm_strength="noise").fit(X, y)
    assert len(caught) == 1


def test_text_beside_what_cannot_be_learned_is_one_refusal():
    frame = pd.DataFrame(X, columns=list("abcdefgh")).assign(town=["Bonn", "Ulm"] * (N // 2))
    y = pd.DataFrame({"u": 1.0, "v": 2.0}, index=range(N))
    with pytest.raises(DataError, match=r"2 obstacles.*kernel.*Every column of y is constant"):
        kp.LpKTASelector(kernel="rbf").fit(frame, y)


@pytest.mark.parametrize(
    "selector",
    [
        kp.GMKLClassifier(),
        kp.GMKLRegressor(),
        kp.NMMKLSelector(),
        kp.L1KRRegressor(),
        kp.baselines.Fisher(),
        kp.baselines.HSICLasso(),
        kp.PathCV(),
    ],
    ids=lambda one: type(one).__name__,
)
@pytest.mark.parametrize("y", [Y, SURVIVAL], ids=["outputs", "survival"])
def test_others_say_who_takes_them(selector, y):
    with pytest.raises(DataError) as caught:
        selector.fit(X, y)
    if isinstance(selector, kp.PathCV):
        assert "predictor=" in str(caught.value)
        assert "scoring=" in str(caught.value)
        return
    assert "must be one-dimensional" in str(caught.value)
    assert "kp.alignments, kp.LpKTASelector and kp.AdditivePathSelector" in str(caught.value)


def test_a_path_of_several_columns_is_kept_in_its_file(tmp_path):
    path = kp.LpKTASelector().fit(X, Y).path_
    path.save(tmp_path / "joint.kpath")
    assert kp.load_path(tmp_path / "joint.kpath") == path
    assert path.summary()["n_features"] == 8
    with pytest.raises(DataError, match="one-dimensional"):
        path.summary(X, Y)
