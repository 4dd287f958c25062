"""The knockoff filter: thresholds against plain loops, symmetry, and discoveries in simulations."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.feature_selection import f_regression

import kernelpath as kp
from kernelpath.errors import DataError
from kernelpath.inference.knockoffs import knockoff_threshold


def independent(seed, n=200, d=60, relevant=15):
    """Independent normal columns, whose knockoffs are fresh draws; most act through a band."""
    rng = np.random.default_rng(seed)
    X, copies = rng.normal(size=(2, n, d))
    y = (np.abs(X[:, : relevant - 3]) > 0.7).sum(axis=1) + X[:, relevant - 3 : relevant].sum(axis=1)
    return X, copies, y + 0.5 * rng.normal(size=n)


def slow_threshold(W, fdr, offset):
    """The definition, in plain loops."""
    for t in sorted({abs(w) for w in W if w != 0}):
        behind, ahead = sum(w <= -t for w in W), sum(w >= t for w in W)
        if ahead and (offset + behind) / ahead <= fdr + 1e-12:
            return t
    return math.inf


@pytest.mark.parametrize("offset", [0, 1])
@pytest.mark.parametrize("fdr", [0.1, 0.2, 0.5])
def test_thresholds_are_those_of_plain_loops(offset, fdr):
    rng = np.random.default_rng(0)
    found = set()
    for _ in range(200):
        W = (rng.normal(size=rng.integers(1, 40)) + rng.uniform(0, 2)).round(1)
        threshold = knockoff_threshold(W, fdr, offset)
        assert threshold == slow_threshold(W.tolist(), fdr, offset)
        found.add(math.isfinite(threshold))
    assert found == {True, False}


def test_ten_discoveries_are_enough_for_a_tenth():
    assert knockoff_threshold(np.arange(1.0, 11.0), 0.1, 1) == 1.0
    assert knockoff_threshold(np.arange(1.0, 10.0), 0.1, 1) == math.inf
    assert knockoff_threshold(np.zeros(5), 0.1, 0) == math.inf


def test_the_statistic_is_the_difference_of_the_alignments():
    X, copies, y = independent(0, n=1000)
    copies = copies * 7.0  # each has its own width
    found = kp.knockoff_filter(X, copies, y, fdr=0.2)
    expected = kp.alignments(X, y) - kp.alignments(copies, y)
    np.testing.assert_array_equal(found.statistics, expected)
    assert found.threshold == slow_threshold(expected.tolist(), 0.2, 1)
    np.testing.assert_array_equal(found.selected, expected >= found.threshold)
    assert found.selected[:15].sum() > 5


def test_the_entry_statistic_is_that_of_plain_loops():
    X, copies, y = independent(1)

    def rank(Z, y):
        return f_regression(Z, y)[0]

    found = kp.knockoff_filter(X, copies, y, statistic="entry", selector=rank)
    order = np.argsort(-np.concatenate([rank(X, y), rank(copies, y)]))
    for j in range(60):
        places = {order.tolist().index(j): 1, order.tolist().index(60 + j): -1}
        first = min(places)
        assert found.statistics[j] == places[first] * (120 - first)


@pytest.mark.parametrize("statistic", ["alignment", "entry"])
def test_a_pair_that_changes_places_changes_its_sign_alone(statistic):
    X, copies, y = independent(2)
    swapped = np.arange(60) % 3 == 0
    other = [np.where(swapped, a, b) for a, b in ((copies, X), (X, copies))]
    one = kp.knockoff_filter(X, copies, y, statistic=statistic).statistics
    again = kp.knockoff_filter(*other, y, statistic=statistic).statistics
    np.testing.assert_allclose(again, np.where(swapped, -1, 1) * one, rtol=1e-9, atol=1e-12)


def test_ties_are_broken_fairly():
    """Copies that are the features themselves tell nothing: half of them are ahead."""
    X, _, y = independent(3, d=400)
    found = kp.knockoff_filter(X, X, y, statistic="entry")
    assert 150 < (found.statistics > 0).sum() < 250
    assert (found.statistics != 0).all()
    other = kp.knockoff_filter(X, X, y, statistic="entry", random_state=1)
    assert (np.sign(other.statistics) != np.sign(found.statistics)).any()
    assert not kp.knockoff_filter(X, X, y).selected.any()  # all differences are 0


@pytest.mark.parametrize("statistic", ["alignment", "entry"])
@pytest.mark.parametrize("fdr", [0.1, 0.2])
def test_false_discoveries_are_as_rare_as_promised(statistic, fdr):
    shares, power = [], []
    for seed in range(100):
        X, copies, y = independent(1000 + seed, n=1000)
        found = kp.knockoff_filter(X, copies, y, fdr=fdr, statistic=statistic)
        shares.append((found.features >= 15).sum() / max(len(found), 1))
        power.append((found.features < 15).sum() / 15)
    assert np.mean(shares) <= fdr + 2 * np.std(shares) / np.sqrt(100)
    assert np.mean(power) > 0.9
    assert np.mean(shares) > 0  # there is something to keep


def test_nothing_is_found_in_noise():
    hits = 0
    for seed in range(60):
        X, copies = np.random.default_rng(seed).normal(size=(2, 80, 30))
        hits += kp.knockoff_filter(X, copies, np.arange(80) % 2, fdr=0.2).selected.any()
    assert hits / 60 <= 0.2 + 2 * np.sqrt(0.2 * 0.8 / 60)


def test_frames_text_and_sparse_tables():
    rng = np.random.default_rng(0)
    X, copies = (rng.integers(0, 3, size=(300, 6)) for _ in range(2))
    y = (X[:, 2] == 1).astype(int)
    names = list("abcdef")
    frame, other = (pd.DataFrame(Z, columns=names) for Z in (X, copies))
    found = kp.knockoff_filter(frame, other, y, fdr=0.5, offset=0)
    assert found.names[0] == "c"
    assert found == kp.knockoff_filter(frame, copies, y, fdr=0.5, offset=0)
    text = [Z.astype(str).replace({"1": "one"}) for Z in (frame, other)]
    for statistic in ("alignment", "entry"):
        worded = kp.knockoff_filter(*text, y, fdr=0.5, offset=0, statistic=statistic)
        assert worded.names[0] == "c"
        scattered = [sp.csr_array(Z) for Z in (X, copies)]
        plain, thin = (
            kp.knockoff_filter(*pair, y, fdr=0.5, offset=0, statistic=statistic)
            for pair in ((X, copies), scattered)
        )
        np.testing.assert_allclose(thin.statistics, plain.statistics, atol=1e-6)


def test_the_result_tells_what_was_found():
    X, copies, y = independent(5, n=600)
    found = kp.knockoff_filter(X, copies, y, fdr=0.2)
    frame = found.to_frame()
    assert frame["statistic"].is_monotonic_decreasing
    assert frame["feature"][: len(found)].tolist() == found.features.tolist()
    assert frame["selected"].sum() == len(found) == len(found.names) > 0
    assert repr(found).startswith(f"KnockoffSelection({len(found)} of 60 columns at FDR 0.2: x")
    assert found == kp.knockoff_filter(X, copies, y, fdr=0.2)
    with pytest.raises(AttributeError, match="cannot assign"):
        found.threshold = 0.0


def test_too_few_columns_are_said():
    X, copies, y = independent(6, d=16)
    with pytest.warns(UserWarning, match="With 9 columns nothing can be selected at fdr=0.1"):
        kp.knockoff_filter(X[:, :9], copies[:, :9], y)
    kp.knockoff_filter(X[:, :10], copies[:, :10], y)
    kp.knockoff_filter(X[:, :9], copies[:, :9], y, offset=0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"fdr": 0}, "fdr must be a share between 0 and 1, got 0"),
        ({"fdr": 1.0}, "fdr must be a share"),
        ({"statistic": "lasso"}, "statistic must be one of 'alignment', 'entry'"),
        ({"offset": 2}, r"offset must be 1 \(knockoff\+\) or 0, got 2"),
        ({"offset": True}, "offset must be 1"),
        ({"selector": kp.LpKTASelector()}, "selector has no effect with statistic='alignment'"),
        (
            {"statistic": "entry", "selector": kp.LpKTASelector(), "kernel": "linear"},
            "kernel has no effect with a selector of your own",
        ),
    ],
)
def test_settings_are_refused_in_words(options, words):
    with pytest.raises(ValueError, match=words):
        kp.knockoff_filter(*independent(0), **options)


def test_tables_that_are_no_pair_are_refused():
    X, copies, y = independent(0, d=16)
    frame = pd.DataFrame(X).add_prefix("c")
    for one, other, words in (
        (X, copies[:, 1:], r"X has shape \(200, 16\) and X_knockoff \(200, 15\)"),
        (X, copies[1:], "every column needs a knockoff, row by row"),
        (frame, frame.rename(columns={"c3": "z"}), "Column 3 is 'c3' in X and 'z' in X_knockoff"),
        (frame.assign(c3="a"), frame, "Column 'c3' holds text in X and numbers in X_knockoff"),
        (frame, frame.assign(c3="a"), "Column 'c3' holds numbers in X and text in X_knockoff"),
    ):
        with pytest.raises(DataError, match=words):
            kp.knockoff_filter(one, other, y)
    with pytest.raises(DataError, match="200 rows, but y has 199 values"):
        kp.knockoff_filter(X, copies, y[1:])
