"""LpKTASelector as a scikit-learn selector, on every kind of table."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import kernelpath as kp
from reference.alignment import align, worst_error


def expected_failures(estimator):
    """Checks that cannot hold, each with its reason."""
    if estimator.norm_strength != "noise":
        return {}
    reason = "permuting n labels and permuting repeated labels draw different permutations"
    return {
        "check_sample_weight_equivalence_on_dense_data": reason,
        "check_sample_weight_equivalence_on_sparse_data": reason,
    }


@parametrize_with_checks(
    [
        kp.LpKTASelector(divergence="kl", solver="predictor_corrector", step=0.1),
        kp.LpKTASelector(norm_strength="noise", bandwidth="median", step=0.1),
    ],
    expected_failed_checks=expected_failures,
)
@pytest.mark.filterwarnings("ignore:No feature exceeds the chance level:UserWarning")
@pytest.mark.filterwarnings("ignore:No features were selected:UserWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def _ring(n=120, d=12, seed=80):
    """Two relevant columns, 3 and 7, without linear relation to the target."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = (X[:, 3] ** 2 + X[:, 7] ** 2 > 1.6).astype(int)
    return X, y


X, Y = _ring()
NAMES = [f"gene {j}" for j in range(X.shape[1])]
FRAME = pd.DataFrame(X, columns=NAMES)


def _same_path(a, b, rtol=1e-9):
    np.testing.assert_array_equal(a.n_selected, b.n_selected)
    np.testing.assert_array_equal(a.weights.indices, b.weights.indices)
    np.testing.assert_allclose(a.weights.data, b.weights.data, rtol=rtol)
    np.testing.assert_array_equal(a.parameters, b.parameters)


# -- the fit --------------------------------------------------------------------------------------


def test_fit_leaves_the_whole_path():
    selector = kp.LpKTASelector(statistic="alignment", bandwidth="std").fit(X, Y)
    path = selector.path_
    assert path.method == "lp-kta"
    assert len(path) == 101
    assert path.parameters[[0, -1]].tolist() == [2.0, 1.0]
    assert path.is_nested
    assert path.kkt.max() <= 1e-10
    assert set(path.entry_order()[:2]) == {3, 7}
    assert worst_error(selector.alignments_, align(X, Y)) < 1e-8
    assert np.all(selector.alignment_bounds_ <= 1e-8 * np.maximum(selector.alignments_, 1))
    assert selector.bregman_strength_ == pytest.approx(selector.alignments_.max())
    assert selector.norm_strength_ == pytest.approx(0.1 * selector.alignments_.max())
    assert path.provenance["estimator"] == "LpKTASelector"
    assert path.provenance["data"]["n_samples"] == len(X)


@pytest.mark.parametrize("divergence", ["euclidean", "kl", kp.GeneralizedKL()])
@pytest.mark.parametrize("solver", ["exact", "predictor_corrector"])
def test_every_solver_and_divergence(divergence, solver):
    path = kp.LpKTASelector(divergence=divergence, solver=solver, step=0.05).fit(X, Y).path_
    assert path.kkt.max() <= 1e-10
    assert set(np.flatnonzero(path.at(n_features=2).support)) == {3, 7}
    top = path[0].weights.max()
    assert 0.1 < top < 1.0


def test_noise_strength_is_the_median_permuted_maximum():
    selector = kp.LpKTASelector(norm_strength="noise", random_state=3).fit(X, Y)
    rng = np.random.RandomState(3)
    largest = [kp.alignments(X, rng.permutation(Y)).max() for _ in range(5)]
    assert selector.norm_strength_ == pytest.approx(np.median(largest), rel=1e-12)
    again = kp.LpKTASelector(norm_strength="noise", random_state=3).fit(X, Y)
    assert again.path_ == selector.path_
    other = kp.LpKTASelector(norm_strength="noise", random_state=4).fit(X, Y)
    assert other.norm_strength_ != selector.norm_strength_


@pytest.mark.parametrize("bregman", [0, 1.5])
@pytest.mark.parametrize("norm", [4.0, "auto"])
def test_strengths_as_given(bregman, norm):
    selector = kp.LpKTASelector(bregman_strength=bregman, norm_strength=norm, step=0.1)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Without a Bregman term", UserWarning)
        selector.fit(X, Y)
    a = selector.alignments_.max()
    assert selector.bregman_strength_ == bregman
    expected = norm if norm != "auto" else (a if bregman == 0 else 0.1 * a)
    assert selector.norm_strength_ == pytest.approx(expected)


def test_norm_strength_zero():
    path = kp.LpKTASelector(norm_strength=0, step=0.25).fit(X, Y).path_
    assert len(set(path.n_selected.tolist())) == 1


def test_reference_per_feature():
    reference = np.zeros(X.shape[1])
    reference[5] = 50.0
    path = kp.LpKTASelector(reference=reference, step=0.1).fit(X, Y).path_
    assert path.entry_order()[0] == 5


def test_regression_and_multiclass():
    rng = np.random.default_rng(81)
    y = X[:, 3] ** 2 + 0.1 * rng.normal(size=len(X))
    assert kp.LpKTASelector().fit(X, y).path_.entry_order()[0] == 3
    three = np.digitize(X[:, 7], [-0.5, 0.5])
    assert kp.LpKTASelector().fit(X, three).path_.entry_order()[0] == 7
    forced = kp.LpKTASelector(task="regression").fit(X, three)
    assert forced.path_.provenance["task"] == "regression"


# -- what transform keeps -------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 2, 5, 12, np.int64(4)])
def test_a_count_of_features(k):
    selector = kp.LpKTASelector(n_features_to_select=k).fit(X, Y)
    assert selector.transform(X).shape == (len(X), k)
    assert selector.support_.sum() == k
    np.testing.assert_array_equal(selector.transform(X), X[:, selector.support_])
    assert np.all(selector.weights_[~selector.support_] == 0)


@pytest.mark.parametrize(("share", "count"), [(1.0, 12), (0.5, 6), (0.25, 3), (0.01, 1)])
def test_a_share_of_features(share, count):
    selector = kp.LpKTASelector(n_features_to_select=share).fit(X, Y)
    assert selector.support_.sum() == count


def test_default_is_the_sparsest_point_with_a_feature():
    selector = kp.LpKTASelector().fit(X, Y)
    sizes = selector.path_.n_selected
    assert selector.support_.sum() == sizes[sizes > 0].min()
    path = kp.LpKTASelector(norm_strength=1e3, bregman_strength=1.0).fit(X, Y).path_
    assert path.n_selected[-1] == 0
    empty_end = kp.LpKTASelector(norm_strength=1e3, bregman_strength=1.0).fit(X, Y)
    assert empty_end.support_.sum() == path.n_selected[path.n_selected > 0][-1]


def test_string_labels_and_names():
    selector = kp.LpKTASelector(n_features_to_select=2).fit(FRAME, np.array(["no", "yes"])[Y])
    assert selector.get_feature_names_out().tolist() == ["gene 3", "gene 7"]
    assert selector.feature_names_in_.tolist() == NAMES
    assert set(selector.path_.at(n_features=2).names) == {"gene 3", "gene 7"}
    assert selector.path_.feature_names.tolist() == NAMES
    plain = kp.LpKTASelector(n_features_to_select=2).fit(X, Y)
    assert not hasattr(plain, "feature_names_in_")
    assert plain.get_feature_names_out().tolist() == ["x3", "x7"]
    np.testing.assert_array_equal(plain.support_, selector.support_)
    assert plain.get_support(indices=True).tolist() == [3, 7]
    np.testing.assert_array_equal(plain.inverse_transform(X[:, [3, 7]])[:, [3, 7]], X[:, [3, 7]])


def test_set_output():
    frame = kp.LpKTASelector(n_features_to_select=2).set_output(transform="pandas")
    frame = frame.fit_transform(FRAME, Y)
    assert isinstance(frame, pd.DataFrame)
    assert frame.columns.tolist() == ["gene 3", "gene 7"]
    table = pl.from_pandas(FRAME)
    selector = kp.LpKTASelector(n_features_to_select=2).set_output(transform="polars")
    out = selector.fit(table, Y).transform(table)
    assert isinstance(out, pl.DataFrame)
    assert out.columns == ["gene 3", "gene 7"]
    assert selector.feature_names_in_.tolist() == NAMES


def test_frames_and_arrays_give_the_same_path():
    path = kp.LpKTASelector(step=0.05).fit(X, Y).path_
    for table in (FRAME, pl.from_pandas(FRAME), np.asfortranarray(X), X.tolist()):
        _same_path(kp.LpKTASelector(step=0.05).fit(table, Y).path_, path)


def test_sparse_fit_and_transform():
    rng = np.random.default_rng(82)
    counts = rng.poisson(0.5, (150, 30)).astype(float)
    y = (counts[:, 4] + rng.normal(size=150) > 1).astype(int)
    dense = kp.LpKTASelector(n_features_to_select=5).fit(counts, y)
    for table in (sp.csr_matrix(counts), sp.csc_matrix(counts), sp.csr_array(counts)):
        selector = kp.LpKTASelector(n_features_to_select=5).fit(table, y)
        _same_path(selector.path_, dense.path_, rtol=1e-6)
        out = selector.transform(table)
        assert sp.issparse(out)
        np.testing.assert_array_equal(out.toarray(), counts[:, selector.support_])


def test_categories_with_the_auto_kernel():
    rng = np.random.default_rng(83)
    town = np.array(["Ulm", "Bonn", "Kiel", "Jena"])[rng.integers(0, 4, len(X))]
    y = np.isin(town, ["Ulm", "Kiel"]).astype(int)
    for column in (town, pd.Categorical(town), pd.Series(town, dtype="string")):
        frame = FRAME.assign(town=column)
        selector = kp.LpKTASelector(kernel="auto", n_features_to_select=1).fit(frame, y)
        assert selector.get_feature_names_out().tolist() == ["town"]
        kept = selector.set_output(transform="pandas").transform(frame)
        assert kept["town"].tolist() == town.tolist()
        assert kp.LpKTASelector(kernel="auto").fit(pl.from_pandas(frame), y).path_.n_features == 13
        with pytest.raises(kp.DataError, match=r"'town'.*kernel='auto'"):
            kp.LpKTASelector(kernel="rbf").fit(frame, y)


# -- scikit-learn machinery -----------------------------------------------------------------------


def test_clone_and_pickle():
    selector = kp.LpKTASelector(step=0.1, divergence="kl", n_features_to_select=3)
    twin = clone(selector)
    assert twin.get_params() == selector.get_params()
    assert not hasattr(twin, "path_")
    fitted = selector.fit(FRAME, Y)
    again = pickle.loads(pickle.dumps(fitted))
    assert again.path_ == fitted.path_
    for k in (0, 4, 12):
        assert again.path_.at(n_features=k) == fitted.path_.at(n_features=k)
    np.testing.assert_array_equal(again.transform(FRAME), fitted.transform(FRAME))
    with pytest.raises(NotFittedError):
        twin.transform(X)


def test_pipeline_and_grid_search():
    pipeline = make_pipeline(kp.LpKTASelector(n_features_to_select=2), StandardScaler(), SVC())
    all_columns = cross_val_score(make_pipeline(StandardScaler(), SVC()), X, Y, cv=4).mean()
    assert cross_val_score(pipeline, X, Y, cv=4).mean() > max(0.85, all_columns)
    search = GridSearchCV(
        pipeline,
        {
            "lpktaselector__n_features_to_select": [1, 2, 12],
            "lpktaselector__divergence": ["euclidean", "kl"],
        },
        cv=3,
    )
    search.fit(FRAME, np.array(["no", "yes"])[Y])
    assert search.best_params_["lpktaselector__n_features_to_select"] == 2
    assert set(search.best_estimator_[0].get_feature_names_out()) == {"gene 3", "gene 7"}


def test_sample_weight_counts_rows():
    counts = np.random.default_rng(84).integers(0, 3, len(X))
    weighted = kp.LpKTASelector(step=0.1).fit(X, Y, sample_weight=counts)
    repeated = kp.LpKTASelector(step=0.1).fit(np.repeat(X, counts, axis=0), np.repeat(Y, counts))
    _same_path(weighted.path_, repeated.path_, rtol=1e-6)


def test_a_row_of_weight_zero_is_absent_also_from_the_permutations():
    weights = (np.random.default_rng(86).random(len(X)) < 0.7).astype(float)
    kept = weights > 0
    options = {"norm_strength": "noise", "step": 0.1, "random_state": 0}
    whole = kp.LpKTASelector(**options).fit(X, Y, sample_weight=weights)
    part = kp.LpKTASelector(**options).fit(X[kept], Y[kept])
    assert whole.norm_strength_ == pytest.approx(part.norm_strength_, rel=1e-6)
    _same_path(whole.path_, part.path_, rtol=1e-5)


# -- invariances ----------------------------------------------------------------------------------


def test_deterministic_for_any_number_of_threads():
    first = kp.LpKTASelector(step=0.05).fit(X, Y).path_
    assert kp.LpKTASelector(step=0.05).fit(X, Y).path_ == first
    for n_jobs in (2, -1):
        other = kp.LpKTASelector(step=0.05, n_jobs=n_jobs).fit(X, Y).path_
        assert other.weights.data.tobytes() == first.weights.data.tobytes()


@pytest.mark.parametrize("solver", ["exact", "predictor_corrector"])
def test_permuted_columns_permute_the_path(solver):
    order = np.random.default_rng(85).permutation(X.shape[1])
    plain = kp.LpKTASelector(step=0.05, solver=solver).fit(X, Y).path_
    permuted = kp.LpKTASelector(step=0.05, solver=solver).fit(X[:, order], Y).path_
    np.testing.assert_allclose(
        permuted.weights.toarray(), plain.weights.toarray()[:, order], rtol=1e-9
    )
    assert order[permuted.entry_order()].tolist() == plain.entry_order().tolist()


def test_raw_and_standardised_columns_give_the_same_path():
    raw = X * 10.0 ** np.arange(-6, 6) + 3.0 * 10.0 ** np.arange(-6, 6)
    scaled = StandardScaler().fit_transform(raw)
    for options in (
        {}, {"statistic": "alignment"}, {"kernel": "laplace"}, {"bandwidth": "median"},
        {"kernel": "polynomial"},
    ):  # fmt: skip
        rtol = 1e-6 if options else 2e-5  # p-values of RBF kernels come from a grid
        selector = kp.LpKTASelector(step=0.05, **options)
        plain = clone(selector).fit(scaled, Y).path_
        _same_path(clone(selector).fit(raw, Y).path_, plain, rtol=rtol)


def test_callers_data_stay_as_they_are():
    table, target, weights = X.copy(), Y.copy(), np.ones(len(X))
    for array in (table, target, weights):
        array.setflags(write=False)
    kp.LpKTASelector(norm_strength="noise").fit(table, target, sample_weight=weights)
    frame = FRAME.copy()
    kp.LpKTASelector().fit_transform(frame, target)
    pd.testing.assert_frame_equal(frame, FRAME)


# -- constant columns -----------------------------------------------------------------------------


def test_constant_columns_are_reported_once_and_have_weight_zero():
    frame = FRAME.copy()
    frame["gene 0"], frame["gene 5"] = 1.5, 0.0
    with pytest.warns(UserWarning, match="'gene 0', 'gene 5' are constant") as caught:
        selector = kp.LpKTASelector(n_features_to_select=10).fit(frame, Y)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert selector.alignments_[[0, 5]].tolist() == [0, 0]
    assert np.isfinite(selector.path_.weights.data).all()
    assert not selector.path_.supports.toarray()[:, [0, 5]].any()
    with pytest.raises(kp.DataError, match="from 0 to 10"):
        selector.path_.at(n_features=11)
    with pytest.warns(UserWarning, match="'gene 0' is constant"):
        kp.LpKTASelector(divergence="kl").fit(FRAME.assign(**{"gene 0": 1}), Y)


def test_only_constant_columns():
    with pytest.raises(kp.DataError, match="Every column is constant"):
        kp.LpKTASelector().fit(np.ones((20, 3)), np.arange(20) % 2)


def test_noise_strength_selects_nothing_where_nothing_is_above_chance():
    rng = np.random.default_rng(0)
    noise, labels = rng.normal(size=(150, 500)), rng.integers(0, 2, 150)
    with pytest.warns(UserWarning, match="none is selected"):
        selector = kp.LpKTASelector(norm_strength="noise").fit(noise, labels)
    assert selector.path_.n_selected[-1] == 0
    assert selector.support_.sum() == 0


def test_more_features_than_are_not_constant_keeps_all_of_those():
    table = X.copy()
    table[:, [0, 5]] = 1.0
    with (
        pytest.warns(UserWarning, match="are constant"),
        pytest.warns(UserWarning, match="only 10 of 12 columns"),
    ):
        selector = kp.LpKTASelector(n_features_to_select=11).fit(table, Y)
    assert selector.support_.sum() == 10


@pytest.mark.filterwarnings("ignore:Left out:kernelpath.errors.MissingValuesWarning")
def test_a_selector_that_drops_rows_works_alone():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    X[:5, 1] = np.nan
    y, weight = X[:, 0] > 0, rng.random(60) + 0.5
    selector = kp.LpKTASelector(n_features_to_select=2, missing="drop").fit(X, y, weight)
    same = kp.LpKTASelector(n_features_to_select=2).fit(X[5:], y[5:], weight[5:])
    np.testing.assert_array_equal(selector.weights_, same.weights_)
    kept = X[:, selector.support_]
    np.testing.assert_array_equal(selector.transform(X), kept)  # all rows: only fit drops some
    again = kp.LpKTASelector(n_features_to_select=2, missing="drop")
    np.testing.assert_array_equal(again.fit_transform(X, y, sample_weight=weight), kept)
    for wrong in (weight[:55], np.r_[weight, weight], weight[:, None]):
        with pytest.raises(kp.DataError, match=r"sample_weight has shape .* table has 60 rows"):
            again.fit(X, y, sample_weight=wrong)
        with pytest.raises(kp.DataError, match=r"sample_weight has shape .* table has 60 rows"):
            kp.PathCV(cv=2, missing="drop").fit(X, y, sample_weight=wrong)
    with pytest.raises(kp.DataError, match="X has 60 rows, but y has 55"):
        again.fit(X, y[5:])
    with pytest.raises(kp.DataError, match="groups has 120 values, but the table has 60 rows"):
        kp.PathCV(cv=2, missing="drop").fit(X, y, groups=np.arange(120))
