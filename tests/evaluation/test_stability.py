"""The stability index, against the formula in plain loops and cases worked by hand."""

from __future__ import annotations

import math
import pickle
import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from kernelpath.errors import DataError
from kernelpath.evaluation.scores import PathScores
from kernelpath.evaluation.stability import Stability, stability_of


def stability(chosen, names=None, **options):
    """Stability of masks of shape (n_folds, n_sizes, n_columns)."""
    chosen = np.asarray(chosen, dtype=bool)
    n_folds, n_sizes, n_columns = chosen.shape
    sizes = n_columns + np.arange(n_sizes)  # large enough for every mask
    scores = PathScores(sizes, np.zeros((n_folds, n_sizes)), chosen)
    return stability_of(scores, names, **options)


def slow_index(Z):
    """Index and variance of [nogueira2018] by loops over folds and features."""
    M, d = Z.shape
    p = [sum(Z[i, f] for i in range(M)) / M for f in range(d)]
    k = [sum(Z[i]) for i in range(M)]
    kbar = sum(k) / M
    scale = kbar / d * (1 - kbar / d)
    index = 1 - M / (M - 1) * sum(q * (1 - q) for q in p) / d / scale
    phi = []
    for i in range(M):
        agreement = sum(Z[i, f] * p[f] for f in range(d)) / d
        rest = 2 * kbar * k[i] / d**2 - k[i] / d - kbar / d + 1
        phi.append((agreement - k[i] * kbar / d**2 + index / 2 * rest) / scale)
    mean = sum(phi) / M
    return index, 4 / M**2 * sum((x - mean) ** 2 for x in phi)


def random_masks(n_folds, n_sizes, n_columns, seed):
    rng = np.random.default_rng(seed)
    return rng.random((n_folds, n_sizes, n_columns)) < rng.random((1, n_sizes, n_columns))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("n_folds", [2, 5, 9])
def test_agrees_with_the_formula_in_loops(n_folds, seed):
    chosen = random_masks(n_folds, 4, 12, seed)
    found = stability(chosen)
    for j in range(4):
        index, variance = slow_index(chosen[:, j].astype(float))
        assert found.index[j] == pytest.approx(index, abs=1e-12)
        half = 1.959963984540054 * math.sqrt(variance)
        assert found.interval[j] == pytest.approx([index - half, min(index + half, 1)], abs=1e-9)
    np.testing.assert_allclose(found.frequency.toarray(), chosen.mean(axis=0))


def test_identical_choices_give_exactly_one():
    for n_folds in (2, 3, 7, 10):
        found = stability(np.repeat(random_masks(1, 3, 30, 1), n_folds, axis=0))
        assert (found.index == 1).all()
        np.testing.assert_allclose(found.interval, 1, atol=1e-12)
        assert (found.interval <= 1).all()


def test_by_hand():
    # Two folds choose {a, b} and {a, c} of four: p = 1, 1/2, 1/2, 0 and kbar / d = 1/2, so
    # the index is 1 - 2 * (1/8) / (1/4) = 0, as one common feature is what chance gives.
    found = stability([[[1, 1, 0, 0]], [[1, 0, 1, 0]]])
    assert found.index[0] == pytest.approx(0, abs=1e-15)
    # Disjoint pairs: p = 1/2 everywhere, 1 - 2 * (1/4) / (1/4) = -1.
    assert stability([[[1, 1, 0, 0]], [[0, 0, 1, 1]]]).index[0] == pytest.approx(-1)
    # Three folds {a}, {a}, {b} of three: p = 2/3, 1/3, 0; 1 - 3/2 * (4/27) / (2/9) = 0.
    assert stability([[[1, 0, 0]], [[1, 0, 0]], [[0, 1, 0]]]).index[0] == pytest.approx(0)


def test_random_choices_of_fixed_size_give_about_zero():
    rng = np.random.default_rng(0)
    order = rng.random((60, 1, 200)).argsort(axis=2)
    found = stability(order < 40)  # forty of two hundred in every fold
    assert abs(found.index[0]) < 0.01


def test_undefined_where_nothing_or_everything_is_chosen():
    chosen = np.zeros((3, 3, 5), dtype=bool)
    chosen[:, 1] = True
    chosen[:, 2, 1] = True
    found = stability(chosen)
    np.testing.assert_array_equal(np.isnan(found.index), [True, True, False])
    np.testing.assert_array_equal(np.isnan(found.interval).all(axis=1), [True, True, False])
    assert repr(found) == "Stability(3 sizes from 5 to 7 of 5 columns, 3 folds, index 1.00 to 1.00)"


def test_one_fold_has_no_index_but_frequencies():
    found = stability([[[1, 0, 1]]])
    assert np.isnan(found.index).all()
    assert np.isnan(found.interval).all()
    np.testing.assert_array_equal(found.frequency.toarray(), [[1, 0, 1]])
    assert repr(found) == "Stability(1 size from 3 to 3 of 3 columns, 1 fold, index undefined)"


def test_only_finished_folds_count():
    chosen = random_masks(4, 2, 8, 3)
    per_fold = np.zeros((4, 2))
    per_fold[1] = np.nan
    found = stability_of(PathScores([8, 9], per_fold, chosen))
    assert found == stability(chosen[[0, 2, 3]])
    assert found.n_folds == 3
    with pytest.raises(DataError, match="no fold is finished"):
        stability_of(PathScores([8, 9], np.full((4, 2), np.nan), chosen))
    with pytest.raises(DataError, match="no supports"):
        stability_of(PathScores([8, 9], np.zeros((4, 2))))


def test_a_higher_level_is_a_wider_interval():
    chosen = random_masks(5, 1, 40, 0)
    narrow, wide = stability(chosen, level=0.5), stability(chosen, level=0.99)
    assert narrow.interval[0, 0] > wide.interval[0, 0]
    assert (narrow.level, wide.level) == (0.5, 0.99)
    for level in (0, 1, -0.1, "0.9", True, float("nan")):
        with pytest.raises(ValueError, match="level"):
            stability(chosen, level=level)


CHOSEN = [[[0, 1, 1, 0, 0]], [[0, 1, 1, 0, 0]], [[0, 1, 0, 0, 1]]]


def test_features_by_frequency():
    found = stability(CHOSEN, list("abcde"))
    frame = found.of(n_features=5)
    assert list(frame.columns) == ["feature", "name", "frequency"]
    assert frame["name"].tolist() == ["b", "c", "e"]
    assert frame["feature"].tolist() == [1, 2, 4]
    np.testing.assert_allclose(frame["frequency"], [1, 2 / 3, 1 / 3])
    assert stability(CHOSEN).of(5)["name"].tolist() == ["x1", "x2", "x4"]
    with pytest.raises(DataError, match="smaller size is 5, none is larger"):
        found.of(n_features=6)
    with pytest.raises(TypeError, match="integer"):
        found.of(n_features=5.0)


def test_core_features():
    found = stability(CHOSEN, list("abcde"))
    assert found.core(n_features=5) == ("b",)
    assert found.core(n_features=5, share=2 / 3) == ("b", "c")
    assert found.core(n_features=5, share=0.67) == ("b",)
    assert found.core(n_features=5, share=0.01) == ("b", "c", "e")
    for share in (0, 1.1, -1, "all", float("nan")):
        with pytest.raises(ValueError, match="share"):
            found.core(n_features=5, share=share)


def test_frame():
    chosen = np.concatenate([CHOSEN, np.zeros((3, 1, 5), bool)], axis=1)
    frame = stability(chosen).to_frame()
    columns = ["n_features", "index", "lower", "upper", "n_chosen", "n_core"]
    assert list(frame.columns) == columns
    assert frame["n_chosen"].tolist() == [3, 0]
    assert frame["n_core"].tolist() == [1, 0]
    assert frame["n_features"].tolist() == [5, 6]
    assert frame["lower"][0] <= frame["index"][0] <= frame["upper"][0]


def test_wrong_parts_are_refused():
    good = {"n_features": [1], "index": [1.0], "interval": [[1, 1]], "n_folds": 2}
    frequency = sparse.csr_array(np.eye(3)[:1])
    found = Stability(frequency=frequency, **good)
    assert found == pickle.loads(pickle.dumps(found))
    for changes, message in (
        ({"interval": [1, 1]}, "interval"),
        ({"index": [1.0, 1.0]}, "index"),
        ({"frequency": np.eye(3)}, "frequency must have 1 rows"),
        ({"feature_names": ["a"]}, "feature_names"),
    ):
        with pytest.raises(ValueError, match=message):
            Stability(**(good | {"frequency": frequency} | changes))


def test_wide_tables_cost_what_is_stored():
    n_columns, sizes, rng = 2_000_000, [1, 10, 100], np.random.default_rng(0)
    supports = []
    for _ in range(5):
        order = rng.choice(n_columns, 100, replace=False)
        indices = np.concatenate([np.sort(order[:k]) for k in sizes])
        indptr = np.concatenate([[0], np.cumsum(sizes)])
        data = np.ones(len(indices), bool)
        supports.append(sparse.csr_array((data, indices, indptr), shape=(3, n_columns)))
    scores = PathScores(sizes, np.zeros((5, 3)), supports)
    tracemalloc.start()
    found = stability_of(scores)
    found.of(n_features=100)
    found.to_frame()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < n_columns  # not even one byte for every column
    assert np.abs(found.index).max() < 0.01
