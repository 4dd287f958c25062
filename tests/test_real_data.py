"""Real tables: fast against exact, closed forms, and the sizes that the research found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import rankdata
from sklearn.feature_selection import f_classif
from sklearn.model_selection import KFold

import kernelpath as kp
from kernelpath.alignment import align_table
from kernelpath.tables.table import as_column_table
from reference.alignment import align, worst_error

DATA = Path(__file__).parents[2] / "shared" / "data"

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(not DATA.is_dir(), reason=f"the shared data sets are not at {DATA}"),
]


def load(name, part=None):
    """Table and target; ``part`` 0 is the official training part."""
    file = DATA / f"{name}.npz"
    if not file.is_file():
        pytest.skip(f"no {file}")
    with np.load(file, allow_pickle=False) as stored:
        if "X" in stored:
            X = stored["X"]
        else:
            fields = (stored["data"].astype(np.float64), stored["indices"], stored["indptr"])
            X = sp.csr_matrix(fields, shape=tuple(stored["shape"]))
        y = stored["y"]
        if part is not None:
            X, y = X[stored["split"] == part], y[stored["split"] == part]
    return X, y


@pytest.fixture(scope="module")
def dorothea():
    return load("dorothea", part=0)


@pytest.mark.parametrize(
    ("name", "n_columns"),
    [("madelon", 8), ("arcene", 150), ("colon", 400), ("relathe", 120), ("dorothea", 200)],
)
@pytest.mark.parametrize("bandwidth", ["std", "median"])
def test_fast_against_exact(name, n_columns, bandwidth):
    X, y = load(name)
    columns = np.random.default_rng(90).permutation(X.shape[1])[:n_columns]
    X = X[:, columns]
    exact = kp.alignments(X, y, method="exact", bandwidth=bandwidth)
    result, _ = align_table(as_column_table(X), y, bandwidth=bandwidth)
    assert worst_error(result.values, exact) < 1e-8
    error = np.abs(result.values - exact)
    assert np.all(error <= result.bounds + 1e-12 * np.maximum(exact, 1))
    assert np.all(result.bounds <= 1e-8 * np.maximum(exact, 1))


@pytest.mark.parametrize("name", ["colon", "arcene", "relathe"])
@pytest.mark.parametrize("kernel", ["rbf", "laplace", "polynomial", "delta", "linear"])
def test_against_the_dense_twin(name, kernel):
    X, y = load(name)
    columns = np.random.default_rng(91).permutation(X.shape[1])[:3]
    rows = np.random.default_rng(92).permutation(X.shape[0])[:150]
    X, y = X[rows][:, columns], y[rows]
    dense = X.toarray() if sp.issparse(X) else X
    expected = align(dense, y, kernel)
    assert worst_error(kp.alignments(X, y, kernel=kernel), expected) < 1e-8
    assert worst_error(kp.alignments(dense, y, kernel=kernel, method="exact"), expected) < 1e-8


@pytest.mark.parametrize("name", ["relathe", "dorothea"])
def test_sparse_against_dense(name):
    X, y = load(name)
    columns = np.random.default_rng(93).permutation(X.shape[1])[:400]
    X = X[:, columns]
    assert worst_error(kp.alignments(X, y), kp.alignments(X.toarray(), y)) < 1e-8


@pytest.mark.parametrize("name", ["madelon", "arcene", "colon"])
def test_layouts_and_types(name):
    X, y = load(name)
    X = X[:, :60]
    plain = kp.alignments(X.astype(np.float64), y)
    tables = [X, np.asfortranarray(X), np.asfortranarray(X, dtype=np.float64)]
    for table in tables:
        np.testing.assert_allclose(kp.alignments(table, y), plain, rtol=1e-9, atol=1e-9)


# -- dorothea -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["rbf", "linear", "laplace", "delta"])
def test_dorothea_closed_form(dorothea, kernel):
    """Binary columns: ``a = n (sum over ones of centred y)^2 / (m (n - m))``, for any kernel."""
    X, y = dorothea
    n = X.shape[0]
    m = np.asarray(X.sum(axis=0)).ravel()
    sums = np.asarray(X.T @ (y - y.mean())).ravel()
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = np.where((m > 0) & (m < n), n * sums**2 / (m * (n - m)), 0.0)
    found = kp.alignments(X, y, kernel=kernel)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
    assert np.count_nonzero(m == 0) == 11_881


@pytest.mark.filterwarnings("ignore:.*are constant and will never be selected:UserWarning")
def test_dorothea_sizes(dorothea):
    """The sizes of research/dorothea.md, section 1, and the certificates of all 101 points."""
    X, y = dorothea
    selector = kp.LpKTASelector(statistic="alignment", bandwidth="std").fit(X, y)
    path = selector.path_
    largest = selector.alignments_.max()
    assert round(largest) == 106
    assert selector.bregman_strength_ == pytest.approx(largest)
    assert selector.norm_strength_ == pytest.approx(0.1 * largest)
    sizes = dict(zip(path.parameters.tolist(), path.n_selected.tolist()))
    expected = {2.0: 44_579, 1.6: 31_832, 1.4: 22_270, 1.2: 5_148, 1.1: 3_235, 1.0: 444}
    assert {p: sizes[p] for p in expected} == expected
    assert path.kkt.max() <= 1e-10
    assert path.is_nested
    tied = path.at(n_features=10_000)
    assert tied.n_selected == 10_000
    assert "8968 equal alignments" in tied.note


@pytest.mark.filterwarnings("ignore:.*are constant and will never be selected:UserWarning")
def test_dorothea_noise_ceiling(dorothea):
    X, y = dorothea
    selector = kp.LpKTASelector(norm_strength="noise", step=0.5).fit(X, y)
    assert 8 < selector.norm_strength_ < 20  # the research: 12.8 over five permutations
    above = np.count_nonzero(selector.alignments_ > selector.norm_strength_)
    assert 0 <= above - selector.path_.n_selected[-1] <= 20


def test_dorothea_empty_end(dorothea):
    X, y = dorothea
    largest = kp.alignments(X, y).max()
    selector = kp.LpKTASelector(bregman_strength=largest, norm_strength=largest, step=0.25)
    with pytest.warns(UserWarning, match="are constant"):
        path = selector.fit(X, y).path_
    assert path.n_selected[-1] == 0
    assert selector.support_.sum() > 0


def test_binary_ranking_is_the_f_test_ranking(dorothea):
    X, y = dorothea
    n = X.shape[0]
    usable = np.diff(X.tocsc().indptr) > 0
    X = X.tocsc()[:, usable]
    a = kp.alignments(X, y)
    share = a / np.sum((y - y.mean()) ** 2)  # the squared correlation
    F, _ = f_classif(X, y)
    np.testing.assert_allclose((n - 2) * share / (1 - share), F, rtol=1e-8, atol=1e-9 * F.max())
    order = np.argsort(-F, kind="stable")
    assert np.all(np.diff(a[order]) <= 1e-9 * a.max())
    agree = np.corrcoef(rankdata(np.round(a, 8)), rankdata(np.round(F, 8)))[0, 1]
    assert agree > 0.9999


# -- what the method finds ------------------------------------------------------------------------


def test_madelon_top_features_are_the_known_relevant_ones():
    """20 of 500 columns are relevant; the literature's list, counted from 0."""
    X, y = load("madelon", part=0)
    relevant = {28, 48, 64, 105, 128, 153, 241, 281, 318, 336, 338, 378, 433, 442, 451, 453,
                455, 472, 475, 493}  # fmt: skip
    path = kp.LpKTASelector().fit(X, y).path_
    top = set(path.entry_order()[:15].tolist())
    assert len(top & relevant) >= 11


@pytest.mark.parametrize("name", ["colon", "arcene", "relathe", "madelon"])
@pytest.mark.parametrize("divergence", ["euclidean", "kl"])
@pytest.mark.filterwarnings("ignore:.*constant and will never be selected:UserWarning")
def test_paths_of_real_tables(name, divergence, tmp_path):
    X, y = load(name)
    selector = kp.LpKTASelector(divergence=divergence, step=0.05).fit(X, y)
    path = selector.path_
    assert path.kkt.max() <= 1e-10
    assert path.is_nested
    other = kp.LpKTASelector(divergence=divergence, step=0.05, solver="predictor_corrector")
    again = other.fit(X, y).path_
    np.testing.assert_array_equal(again.n_selected, path.n_selected)
    np.testing.assert_allclose(again.weights.data, path.weights.data, rtol=1e-9)
    usable = path.extension.n_usable
    for k in (0, 1, 2, 17, usable // 2, usable):
        assert path.at(n_features=k).n_selected == k
    path.save(tmp_path / "real.kpath")
    assert kp.load_path(tmp_path / "real.kpath") == path


def test_a_path_with_two_curves_next_to_each_other():
    """Steps must not stay as short as rounding errors where the path turns within 1e-6."""
    X, y = load("wisconsin_reg")
    train, _ = list(KFold(10, shuffle=True, random_state=6).split(X))[6]
    model = kp.L1KRRegressor(norm_budget=1.0, search_branches=False).fit(X[train], y[train])
    assert model.end_ == "the ridge is next to zero"
    assert len(model.path_) < 1000
    assert model.path_.kkt.max() <= 1e-7
