"""Columns from 1e-310 to 1e300 and targets as large and small give what those of size 1 give."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
from scipy import sparse

import kernelpath as kp
from kernelpath.tables.table import as_column_table
from scale_examples import (
    LABELS,
    MIXED,
    MODELS,
    NEW,
    NUMBERS,
    REGRESSIONS,
    X,
    assert_same,
    fitted,
    path_cv,
    plain_model,
)

FEW = [1e-310, 1e-145, 1e160, 1e300]  # all of them: make harden
UNITS = [
    *(pytest.param(np.array([s, 1, 1, 1]), id=f"{s:g}") for s in FEW),
    pytest.param(MIXED, id="mixed"),
]


@pytest.fixture(autouse=True)
def strict():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message="LassoLW ended")
        yield


@pytest.mark.parametrize("units", UNITS)
@pytest.mark.parametrize("name", MODELS)
def test_the_size_of_a_column_does_not_matter(name, units):
    assert_same(name, fitted(name, units), units)


@pytest.mark.parametrize("unit", FEW)
@pytest.mark.parametrize("name", REGRESSIONS)
def test_the_size_of_the_target_does_not_matter(name, unit):
    assert_same(name, fitted(name, unit=unit), unit=unit)


@pytest.mark.parametrize("name", ["LpKTA", "GMKL", "PathCV weighted", "PathCV joint", "NMMKL"])
@pytest.mark.parametrize("layout", [sparse.csr_array, sparse.csc_matrix, np.asfortranarray])
def test_neither_does_it_in_other_layouts(name, layout):
    assert_same(name, fitted(name, MIXED, layout=layout), MIXED, layout=layout)


def test_ordinary_columns_stay_as_they_are_bit_by_bit():
    """One huge column changes nothing about the others."""
    far = X * MIXED
    found = kp.alignments(far, LABELS)
    assert found[2] == kp.alignments(X, LABELS)[2]
    table = as_column_table(X)
    assert table.within_reach() is table


@pytest.mark.parametrize("value", [1e300, 1e-300, 3.0])
def test_columns_that_are_constant_in_double_precision_are_called_so(value):
    far = X.copy()
    far[:, 0] = value * (1 + 1e-20 * X[:, 0])
    with pytest.warns(UserWarning, match="Column 0 is constant"):
        kp.LpKTASelector(step=0.5).fit(far, LABELS)
    assert kp.alignments(far, LABELS)[0] == 0.0


@pytest.mark.parametrize("name", ["PathCV weighted", "PathCV joint", "PathCV numbers"])
def test_saved_models_know_the_units(name, tmp_path):
    model = fitted(name, MIXED, unit=1e200)
    model.save(tmp_path / "model.kpmodel")
    loaded = kp.load_model(tmp_path / "model.kpmodel")
    np.testing.assert_array_equal(loaded.predict(NEW * MIXED), model.predict(NEW * MIXED))


def test_combined_kernels_of_mixed_columns():
    path = plain_model("LpKTA").path_
    for plain, far in zip(
        kp.combined_kernels(path, X, X_new=NEW),
        kp.combined_kernels(path, X * MIXED, X_new=NEW * MIXED),
    ):
        np.testing.assert_allclose(far.train, plain.train, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(far.new, plain.new, rtol=1e-8, atol=1e-10)


# -- widths of the user's own ---------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["rbf", "laplace", "polynomial"])
@pytest.mark.parametrize("size", [1e-145, 1e-100, 1e100, 1e145])
def test_widths_are_in_the_units_of_the_column(kernel, size):
    power = 1 if kernel == "laplace" else 2
    gamma = np.array([0.7 / size**power, 0.7, 0.7, 0.7])
    found = kp.alignments(X * [size, 1, 1, 1], LABELS, kernel=kernel, gamma=gamma)
    expected = kp.alignments(X, LABELS, kernel=kernel, gamma=0.7)
    np.testing.assert_allclose(found, expected, rtol=1e-7)


@pytest.mark.parametrize("size", [1e-300, 1e300])
def test_a_width_that_does_not_go_with_a_column_is_refused(size):
    with pytest.raises(kp.DataError, match=r"gamma=1 and the values of column 0 are too far apart"):
        kp.alignments(X * [size, 1, 1, 1], LABELS, gamma=1.0)


# -- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["GMKL", "GMKL product", "PathCV weighted", "PathCV joint"])
@pytest.mark.parametrize("units", [1.0, np.array([1e-300, 1, 1, 1])])
def test_new_rows_far_beyond_those_of_fit_are_refused_by_name(name, units):
    model = fitted(name, units)
    far = NEW * units
    far[2, 0] = 1e300
    with pytest.raises(kp.DataError, match="Column 0 has values too far from those of fit"):
        model.predict(far)


@pytest.mark.parametrize("kernel", ["gaussian", "polynomial"])
@pytest.mark.parametrize("size", [1e60, 1e160, 1e300])
def test_l1kr_predicts_new_rows_of_any_size_or_says_which_it_cannot(kernel, size):
    options = {"degree": 6} if kernel == "polynomial" else {}
    model = kp.L1KRRegressor(kernel, 0.3, search_branches=False, **options).fit(X, NUMBERS)
    if kernel == "gaussian":
        assert np.isfinite(model.predict(size * NEW)).all()
        return
    with pytest.raises(kp.DataError, match="The prediction of row 0 is not in the range"):
        model.predict(size * NEW)


def test_a_polynomial_goes_on_as_far_as_numbers_do():
    model = kp.L1KRRegressor("polynomial", None, ridge=1.0, degree=2, search_branches=False)
    model.fit(X, NUMBERS)
    bend = model.predict(1e30 * NEW) / 1e60
    np.testing.assert_allclose(model.predict(1e140 * NEW) / 1e280, bend, rtol=1e-9)


def test_scores_that_have_a_unit_are_refused_for_huge_targets():
    with pytest.raises(kp.DataError, match=r"values of about 5e\+160.*scoring='r2'"):
        path_cv(scoring="neg_mean_squared_error").fit(X, NUMBERS * 1e160)
    from sklearn.linear_model import Ridge

    with pytest.raises(kp.DataError, match=r"too small for the predictor.*another unit"):
        path_cv(predictor=Ridge()).fit(X, NUMBERS * 1e-200)


# -- reports --------------------------------------------------------------------------------------


def test_pages_show_the_units_of_the_user(tmp_path):
    model = fitted("PathCV numbers", MIXED, unit=1e200)
    for summary in (
        model.summary(),
        fitted("LpKTA numbers", MIXED, unit=1e200).path_.summary(X * MIXED, NUMBERS * 1e200),
    ):
        for view in summary["views"]:
            column = summary["features"][view["feature"]]["index"]
            assert np.abs(view["points"]["x"]).max() == pytest.approx(
                np.abs(X[:, column] * MIXED[column]).max(), rel=1e-3
            )
            assert np.abs(view["points"]["y"]).max() == pytest.approx(
                np.abs(NUMBERS).max() * 1e200, rel=1e-3
            )
            assert np.nanmax(np.abs(np.array(view["curves"], dtype=float))) > 1e199
        assert "NaN" not in json.dumps(summary)
        kp.save_html(summary, tmp_path / "page.html")


class Own(kp.RBF):
    """A kernel whose formula only its author knows."""


@pytest.mark.parametrize(
    "use",
    [
        lambda far: kp.alignments(far, LABELS, kernel=Own()),
        lambda far: kp.LpKTASelector(step=0.5, kernel=Own()).fit(far, LABELS),
        lambda far: kp.AdditivePathSelector(kernel=Own()).fit(far, LABELS),
        lambda far: kp.GMKLClassifier(base_kernel=Own()).fit(far, LABELS),
        lambda far: kp.NMMKLSelector(1, kernel=Own()).fit(far, LABELS),
    ],
)
def test_kernels_of_the_users_own_are_not_given_columns_in_other_units(use):
    with pytest.raises(kp.DataError, match=r"olumns 0, 1, 3.*another unit"):
        use(X * MIXED)
