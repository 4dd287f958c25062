"""Simulated problems hold what they promise: size, seed, places and strength of the signal."""

import numpy as np
import pytest

from kernelpath import datasets
from kernelpath.datasets import iter_wide_chunks, make_additive, make_ring, make_wide, make_xor

SMALL = {"n_samples": 120, "n_features": 300, "n_relevant": 7}


def alignment(x, y):
    """Centred, trace-normalised alignment, straight from the definition."""
    x = x.astype(np.float64)
    K = np.exp(-((x[:, None] - x) ** 2) / (2 * x.var()))
    yc = y - y.mean()
    return yc @ K @ yc / (len(x) - K.sum() / len(x))


def standardised(y):
    return (y - y.mean()) / y.std()


@pytest.mark.slow
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_relevant_features_stand_out_at_the_default_size(task):
    problem = make_wide(task=task)
    assert problem.X.shape == (1000, 20_000)
    y = standardised(problem.y)
    noise = np.setdiff1d(np.arange(20_000), problem.relevant)
    picked = np.random.default_rng(0).choice(noise, 300, replace=False)
    background = np.array([alignment(problem.X[:, j], y) for j in picked])
    strengths = np.array([alignment(problem.X[:, j], y) for j in problem.relevant])
    assert 0.8 < background.mean() < 1.2
    assert strengths.min() > 1.4 * np.quantile(background, 0.999)
    # A binary noise column, the worst case, is a chi-square variable: 14 is passed by 1 in 5,000.
    assert strengths.min() > 14


def test_most_relevant_features_have_no_linear_correlation():
    problem = make_wide(n_samples=4000, n_features=50)
    r = np.array([np.corrcoef(problem.X[:, j], problem.y)[0, 1] for j in problem.relevant])
    assert np.sum(np.abs(r) < 0.07) == 9
    assert np.sum(np.abs(r) > 0.15) == 3


@pytest.mark.parametrize("name", sorted(datasets._SHAPES))
def test_even_shapes_are_uncorrelated_and_monotone_ones_are_not(name):
    marginal, effect, importance = datasets._SHAPES[name]
    z = marginal(np.random.default_rng(3), 50_000)
    r = abs(np.corrcoef(z, effect(z))[0, 1])
    assert importance > 0
    assert r > 0.7 if name in ("linear", "threshold", "saturation") else r < 0.02


def test_classes_are_balanced():
    for n_samples, total in [(1000, 0), (51, 1), (2, 0)]:
        y = make_wide(n_samples=n_samples, n_features=20).y
        assert set(y.tolist()) == {-1, 1}
        assert y.sum() == total


def test_noise_sets_the_explained_variance():
    clean = make_wide(**SMALL, task="regression", noise=0.0).y
    noisy = make_wide(**SMALL, task="regression", noise=2.0).y
    assert clean.std() == pytest.approx(1.0, abs=0.15)
    assert np.std(noisy - clean) == pytest.approx(2.0, rel=0.15)


@pytest.mark.parametrize("chunk_size", [1, 37, 64, 100, 300, 1000])
def test_blocks_are_the_table_whatever_their_size(chunk_size):
    whole = make_wide(**SMALL, random_state=5)
    parts = list(iter_wide_chunks(**SMALL, random_state=5, chunk_size=chunk_size))
    assert np.array_equal(np.hstack([part.X for _, part in parts]), whole.X)
    assert [name for _, part in parts for name in part.feature_names] == whole.feature_names
    relevant = np.concatenate([start + part.relevant for start, part in parts])
    assert np.array_equal(relevant, whole.relevant)
    assert all(np.array_equal(part.y, whole.y) for _, part in parts)


def test_columns_and_target_do_not_depend_on_the_width():
    narrow = make_wide(n_samples=60, n_features=200, n_relevant=3)
    wide = make_wide(n_samples=60, n_features=1000, n_relevant=3)
    assert np.array_equal(narrow.y, wide.y)
    same = np.setdiff1d(np.arange(200), np.union1d(narrow.relevant, wide.relevant))
    assert same.size >= 194
    assert np.array_equal(narrow.X[:, same], wide.X[:, same])


def test_a_block_of_a_very_wide_table_is_cheap():
    start, block = next(iter_wide_chunks(n_features=1_000_000, dtype=np.float32, chunk_size=256))
    assert start == 0
    assert block.X.shape == (1000, 256)
    assert block.X.dtype == np.float32
    assert block.feature_names[7] == "f000007"


def test_marginals_are_mixed():
    X = make_wide(n_samples=400, n_features=600).X
    distinct = np.array([np.unique(column).size for column in X.T])
    assert np.sum(distinct == 2) > 10
    assert np.sum((distinct > 4) & (distinct < 40)) > 30
    assert np.sum(distinct == 400) > 400
    centred = X - X.mean(axis=0)
    skewness = (centred**3).mean(axis=0) / X.std(axis=0) ** 3
    assert np.sum(skewness[distinct == 400] > 0.8) > 40
    assert X.std(axis=0).max() > 100 * X.std(axis=0).min()
    assert X.std(axis=0).min() > 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtype(dtype):
    problem = make_wide(**SMALL, dtype=dtype)
    assert problem.X.dtype == dtype
    np.testing.assert_allclose(problem.X, make_wide(**SMALL).X, rtol=1e-6)


@pytest.mark.parametrize("make", [make_wide, make_additive, make_xor, make_ring])
def test_every_problem_is_fixed_by_its_seed(make):
    size = {"n_samples": 80, "n_features": 30}
    one, two, other = (make(**size, random_state=seed) for seed in (1, 1, 2))
    assert np.array_equal(one.X, two.X)
    assert np.array_equal(one.y, two.y)
    assert np.array_equal(one.relevant, two.relevant)
    assert not np.array_equal(one.X, other.X)
    assert not np.array_equal(one.y, other.y)
    assert one.X.shape == (80, 30)
    assert len(set(one.feature_names)) == 30
    assert one.feature_names[7] == "f07"
    assert np.all(np.diff(one.relevant) > 0)
    assert np.isfinite(one.X).all()
    assert one.description.endswith(".")


@pytest.mark.parametrize("make", [make_wide, make_additive, make_xor, make_ring])
def test_relevant_places_move_with_the_seed(make):
    places = {tuple(make(n_features=60, n_samples=20, random_state=s).relevant) for s in range(8)}
    assert len(places) == 8


def test_additive_is_explained_by_its_five_features():
    problem = make_additive(n_samples=2000, noise=0.0)
    assert problem.relevant.size == 5
    # Additive in the relevant features: a sum of free step functions leaves nearly nothing.
    bins = (problem.X[:, problem.relevant] * 20).astype(int)
    design = np.hstack([np.eye(20)[column] for column in bins.T])
    fitted = design @ np.linalg.lstsq(design, problem.y, rcond=None)[0]
    assert np.var(problem.y - fitted) < 0.03 * np.var(problem.y)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_xor_is_the_sign_of_the_product(order):
    problem = make_xor(n_samples=400, n_features=10, order=order)
    product = problem.X[:, problem.relevant].prod(axis=1)
    assert problem.relevant.size == order
    assert np.array_equal(np.sign(product), problem.y)


def test_xor_is_out_of_reach_of_single_features():
    problem = make_xor(n_samples=800, order=3)
    strengths = [alignment(problem.X[:, j], problem.y) for j in problem.relevant]
    assert max(strengths) < 6


def test_ring_is_a_balanced_disc():
    problem = make_ring(n_samples=4000)
    radius = np.hypot(*problem.X[:, problem.relevant].T)
    assert radius[problem.y == 1].max() < radius[problem.y == -1].min()
    assert abs(problem.y.mean()) < 0.06
    assert np.abs(problem.X).max() <= 1


@pytest.mark.parametrize(
    ("make", "arguments", "words"),
    [
        (make_wide, {"task": "ranking"}, "task"),
        (make_wide, {"n_features": 5}, "do not fit"),
        (make_wide, {"n_relevant": 0}, "do not fit"),
        (make_wide, {"n_samples": 1}, "n_samples"),
        (make_wide, {"random_state": None}, "random_state"),
        (make_additive, {"n_features": 4}, "do not fit"),
        (make_xor, {"order": 99}, "do not fit"),
        (make_ring, {"random_state": -1}, "random_state"),
        (iter_wide_chunks, {"chunk_size": 0}, "chunk_size"),
    ],
)
def test_impossible_requests_are_refused_at_once(make, arguments, words):
    with pytest.raises(ValueError, match=words):
        make(**arguments)
