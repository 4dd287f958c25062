"""LpKTASelector by p-values and several widths, and what PathCV makes of them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

import kernelpath as kp
from kernelpath.errors import DataError
from kernelpath.tracers.any_selector import trace


def waves(n=300, d=30, seed=0):
    """A wave, a line and a band among noise; columns 0, 1 and 2."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    signal = np.sin(4 * X[:, 0]) + X[:, 1] + 1.5 * (np.abs(X[:, 2]) < 0.6)
    return X, (signal + 0.3 * rng.normal(size=n) > 0.5).astype(int)


X, Y = waves()
CALIBRATED = {"statistic": "calibrated", "bandwidth": "multi"}
PUBLISHED = {"statistic": "alignment", "bandwidth": "std"}


@pytest.fixture(scope="module")
def fitted():
    return kp.LpKTASelector(**CALIBRATED, n_features_to_select="fdr").fit(X, Y)


def test_ranks_by_the_p_values_of_alignment_test(fitted):
    test = kp.alignment_test(X, Y)
    assert fitted.test_ == test
    assert fitted.path_.test == test
    order = fitted.path_.entry_order()
    assert np.all(np.diff(test.log_p[order]) >= 0)
    assert set(order[:3]) == {0, 1, 2}
    assert fitted.test_.width[0] == 0.25


def test_selects_the_discoveries(fitted):
    found = fitted.test_.discoveries(0.1)
    assert sorted(fitted.get_support(indices=True)) == sorted(found)
    point = fitted.path_.at(fdr=0.1)
    assert sorted(np.flatnonzero(point.support)) == sorted(found)
    assert fitted.path_.n_discoveries(0.1) == len(found) < 30


def test_a_size_or_a_rate_but_not_both(fitted):
    with pytest.raises(ValueError, match="n_features and fdr"):
        fitted.path_.at(n_features=2, fdr=0.1)
    with pytest.raises(ValueError, match="fdr must be"):
        fitted.path_.at(fdr=1.5)
    with pytest.raises(DataError, match="knows no p-values"):
        kp.LpKTASelector(**PUBLISHED).fit(X, Y).path_.at(fdr=0.1)


def test_the_published_method_to_the_letter():
    plain = kp.LpKTASelector(**PUBLISHED).fit(X, Y)
    assert (plain.statistic_, plain.bandwidth_, plain.test_) == ("alignment", "std", None)
    np.testing.assert_allclose(plain.alignments_, kp.alignments(X, Y), atol=1e-7)


def test_several_widths_without_calibration_rank_by_the_alignment_at_the_width_of_each():
    own = kp.LpKTASelector(statistic="alignment", bandwidth="multi").fit(X, Y)
    again = kp.alignments(X, Y, gamma=own.test_.gamma)
    np.testing.assert_allclose(own.alignments_, again, atol=1e-7)
    assert own.path_.entry_order().tolist() == np.argsort(-again, kind="stable").tolist()


def test_score_is_another_name_of_the_statistic():
    own = kp.LpKTASelector(score="calibrated")
    assert own.statistic == clone(own).statistic == "calibrated"
    assert own.set_params(score="alignment").statistic == "alignment"
    with pytest.raises(TypeError, match="no parameter 'scores'"):
        kp.LpKTASelector(scores="calibrated")
    with pytest.raises(ValueError, match="statistic must be one of"):
        kp.LpKTASelector(statistic="kalibrated").fit(X, Y)


def test_a_file_keeps_the_widths(fitted, tmp_path):
    fitted.path_.save(tmp_path / "path.kpath")
    loaded = kp.load_path(tmp_path / "path.kpath")
    assert loaded == fitted.path_
    assert loaded.test.width.tolist() == fitted.test_.width.tolist()
    combined = next(iter(kp.combined_kernels(loaded, X, positions=[-1])))
    direct = next(iter(kp.combined_kernels(fitted.path_, X, positions=[-1])))
    np.testing.assert_array_equal(combined.train, direct.train)


def test_kernels_of_a_path_have_the_width_of_each_feature(fitted):
    traced = trace(fitted, X, Y)
    np.testing.assert_array_equal(traced.kernel["each_width"], fitted.test_.width)
    own, given, plain = (
        next(iter(kp.combined_kernels(fitted.path_, X, positions=[-1], **how))).train
        for how in ({}, {"gamma": fitted.test_.gamma}, {"bandwidth": "std"})
    )
    np.testing.assert_array_equal(own, given)
    assert np.abs(own - plain).max() > 1e-3 * np.abs(own).max()


@pytest.fixture(scope="module")
def model():
    return kp.PathCV(rule="fdr", level=0.05, cv=3, predictor="weighted_kernel").fit(X, Y)


def test_path_cv_takes_the_discoveries(model):
    assert model.operating_point_.n_features == model.path_.n_discoveries(0.05)
    assert model.operating_point_.rule == "fdr"
    assert model.path_.test is not None
    assert model.choose("best").rule == "best"


def test_a_model_by_p_values_is_saved(model, tmp_path):
    model.save(tmp_path / "model.kpmodel")
    loaded = kp.load_model(tmp_path / "model.kpmodel")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.choose("fdr").n_features == model.operating_point_.n_features


def test_the_narrow_effect_is_predicted():
    published = kp.PathCV(
        kp.LpKTASelector(**PUBLISHED), cv=3, n_features=[3], references=False
    ).fit(X, Y)
    own = kp.PathCV(cv=3, n_features=[3], references=False).fit(X, Y)
    assert own.operating_point_.score > published.operating_point_.score


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            {"selector": kp.LpKTASelector(**PUBLISHED), "rule": "fdr"},
            "rule='fdr' counts features by their p",
        ),
        ({"level": 0.05}, "level"),
        ({"rule": "fdr", "level": 0}, "level"),
    ],
)
def test_settings_that_cannot_be(settings, words):
    with pytest.raises(ValueError, match=words):
        kp.PathCV(cv=3, **settings).fit(X, Y)


def test_weights_count_as_rows():
    weight = np.random.default_rng(0).integers(1, 3, len(X))
    own = kp.LpKTASelector(**CALIBRATED).fit(X, Y, sample_weight=weight)
    repeated = kp.LpKTASelector(**CALIBRATED).fit(np.repeat(X, weight, 0), np.repeat(Y, weight))
    np.testing.assert_allclose(own.test_.log_p, repeated.test_.log_p, atol=1e-6)


def test_few_rows_are_said():
    with pytest.raises(DataError, match="needs at least 8"):
        kp.LpKTASelector(**CALIBRATED).fit(X[:6], np.array([0, 1, 0, 1, 0, 1]))


def test_a_setting_without_effect_is_refused():
    with pytest.raises(ValueError, match=r"tol.*no effect"):
        kp.LpKTASelector(statistic="calibrated", tol=1e-6).fit(X, Y)


# -- the default -----------------------------------------------------------------------------------

FREE = ({}, {"solver": "predictor_corrector"}, {"elimination_tol": 0.01}, {"must_include": [4]},
        {"feature_groups": [[0, 5]]}, {"costs": {3: 2.0}}, {"divergence": "kl"})  # fmt: skip
OF_ALIGNMENT = (
    {"bregman_strength": 10.0}, {"norm_strength": 1.0}, {"norm_strength": "noise"},
    {"reference": 0.1}, {"tol": 1e-6}, {"gamma": 0.5}, {"bandwidth": "std"},
    {"bandwidth": "median"},
)  # fmt: skip


def _taken(fitted):
    return fitted.statistic_, fitted.bandwidth_, fitted.test_ is not None


@pytest.mark.parametrize("settings", FREE, ids=str)
def test_by_default_features_are_ranked_by_p_values_over_three_widths(settings):
    own = kp.LpKTASelector(step=0.1, **settings).fit(X, Y)
    asked = kp.LpKTASelector(step=0.1, **settings, **CALIBRATED).fit(X, Y)
    assert _taken(own) == _taken(asked) == ("calibrated", "multi", True)
    assert own.path_ == asked.path_
    assert own.path_.provenance["chosen"] == {"statistic": "calibrated", "bandwidth": "multi"}


@pytest.mark.parametrize("settings", OF_ALIGNMENT, ids=str)
def test_a_setting_that_speaks_of_the_alignment_keeps_it(settings):
    own = kp.LpKTASelector(step=0.1, **settings).fit(X, Y)
    width = None if "gamma" in settings else settings.get("bandwidth", "std")
    assert _taken(own) == ("alignment", width, False)
    named = {"statistic": "alignment"} | settings
    if "gamma" not in named:
        named.setdefault("bandwidth", "std")
    assert own.path_ == kp.LpKTASelector(step=0.1, **named).fit(X, Y).path_


def test_where_chance_changes_nothing_the_alignment_ranks():
    """One row apart, and two classes of one size: every order of the target says the same."""
    Z = np.zeros((20, 3))
    Z[[3, 7, 12], range(3)] = 1.0
    y = np.arange(20) % 2
    own = kp.LpKTASelector().fit(Z, y)
    assert _taken(own) == ("alignment", "std", False)
    assert own.support_.all()
    asked = kp.LpKTASelector(statistic="calibrated").fit(Z, y)
    assert _taken(asked) == ("calibrated", "multi", True)
    assert not asked.support_.any()


def test_strengths_are_in_units_of_the_alignments():
    own = kp.LpKTASelector(bregman_strength=40.0, norm_strength=0.0, p_stop=1.5).fit(X, Y)
    expected = kp.alignments(X, Y) / 80.0
    np.testing.assert_allclose(own.path_[0].weights, np.where(expected > 1e-3, expected, 0.0))


@pytest.mark.parametrize(("n", "taken"), [(7, "alignment"), (8, "calibrated")])
def test_p_values_need_eight_rows(n, taken):
    y = np.arange(n) % 2
    assert kp.LpKTASelector().fit(X[:n], y).statistic_ == taken
    assert kp.LpKTASelector().fit(X[:4], y[:4], sample_weight=[2, 2, 2, n - 6]).statistic_ == taken


def test_weights_that_count_no_rows_keep_the_alignment():
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(X))
    own = kp.LpKTASelector().fit(X, Y, sample_weight=weight)
    assert _taken(own) == ("alignment", "std", False)
    expected = kp.alignments(X, Y, sample_weight=weight)
    np.testing.assert_allclose(own.alignments_, expected, rtol=1e-7)
    whole = np.floor(2 * weight)
    own = kp.LpKTASelector().fit(X, Y, sample_weight=whole)
    rows = np.repeat(np.arange(len(X)), whole.astype(int))
    again = kp.LpKTASelector().fit(X[rows], Y[rows])
    assert own.statistic_ == again.statistic_ == "calibrated"
    np.testing.assert_array_equal(own.path_.entry_order(), again.path_.entry_order())


@pytest.mark.parametrize(
    ("settings", "taken"),
    [
        ({"bandwidth": (1.0, 0.2)}, ("calibrated", (1.0, 0.2), True)),
        ({"bandwidth": "multi"}, ("calibrated", "multi", True)),
        ({"bandwidth": "multi", "norm_strength": 1.0}, ("alignment", "multi", True)),
        ({"statistic": "alignment"}, ("alignment", "std", False)),
        ({"statistic": "calibrated", "norm_strength": 1.0}, ("calibrated", "multi", True)),
        ({"statistic": "calibrated", "gamma": 0.5}, ("calibrated", None, True)),
        ({"norm_strength": 1.0, "n_features_to_select": "fdr"}, ("calibrated", "multi", True)),
        ({"kernel": "linear"}, ("calibrated", None, True)),
        ({"kernel": "linear", "bandwidth": "std"}, ("alignment", None, False)),
    ],
    ids=str,
)
def test_what_is_named_is_taken(settings, taken):
    assert _taken(kp.LpKTASelector(step=0.1, **settings).fit(X, Y)) == taken


def test_the_order_is_that_of_dense_matrices():
    """Slow twin: p-values from kernel matrices at three widths, combined by Cauchy's rule."""
    from scipy import stats

    from kernelpath.alignment.null_moments import dense_sums, permutation_moments

    rows = np.random.default_rng(2).permutation(len(X))[:60]
    Z, y = X[rows], Y[rows]
    v = y - y.mean()
    H = np.eye(60) - 1 / 60
    p = np.empty((3, X.shape[1]))
    for w, factor in enumerate((1.0, 0.5, 0.25)):
        for j, x in enumerate(Z.T):
            A = H @ np.exp(-0.5 * np.subtract.outer(x, x) ** 2 / (factor**2 * x.var())) @ H
            null = permutation_moments(60, dense_sums(A), dense_sums(np.outer(v, v)))
            z = (v @ A @ v - null.mean) / np.sqrt(null.variance)
            p[w, j] = stats.pearson3.sf(z, null.skewness)
    combined = np.arctan2(1, np.mean(1 / np.tan(np.pi * np.minimum(p, 0.99)), axis=0)) / np.pi
    combined *= 1 + 0.1 * (1 - combined)  # what dependence makes it too eager by
    own = kp.LpKTASelector().fit(Z, y)
    np.testing.assert_allclose(own.test_.p_value, combined, rtol=2e-3)
    assert own.path_.entry_order().tolist() == np.argsort(combined).tolist()
    assert own.bregman_strength_ == pytest.approx(-np.log(combined).min(), rel=1e-3)


def test_the_model_of_the_default_uses_the_width_of_each_feature(tmp_path):
    model = kp.PathCV(predictor="weighted_kernel", cv=3, n_features=[2, 3], references=False)
    model.fit(X, Y)
    test = model.path_.test
    used = np.flatnonzero(model.path_.at(n_features=3).support)
    assert len(set(test.width[used])) > 1
    model.save(tmp_path / "model.kpmodel")
    loaded = kp.load_model(tmp_path / "model.kpmodel")
    new = waves(40, seed=1)[0]
    np.testing.assert_array_equal(loaded.predict(new), model.predict(new))
    views = {view["feature"]: view for view in model.summary()["views"]}
    assert views  # drawn at the width of each


def test_refused_for_fdr_is_only_what_knows_no_p_values():
    own = kp.PathCV(kp.LpKTASelector(), cv=3, rule="fdr", references=False).fit(X, Y)
    assert own.operating_point_.n_features == own.path_.n_discoveries(0.1)
