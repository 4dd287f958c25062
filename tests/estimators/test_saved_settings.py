"""A loaded model refits as the saved one, to the last bit, or says what it lacks."""

from __future__ import annotations

import functools
import io
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from sklearn import config_context, model_selection
from sklearn.base import clone
from sklearn.feature_selection import SelectKBest, f_classif, mutual_info_classif
from sklearn.metrics import balanced_accuracy_score, make_scorer

import kernelpath as kp
from evaluation.helpers import curve, path_cv, ring
from kernelpath import baselines
from kernelpath.estimators.saved_settings import HOMES, NotSaved, SettingsWriter, decode
from kernelpath.kernels import KERNELS
from kernelpath.mkl.losses import HuberHinge

X, Y = ring(60)
XR, YR = curve(60)
PART_MODULES = ("kernels", "divergences", "regularizers", "feasible_sets")
FILES = Path(__file__).parents[1] / "files"


def _again(model):
    file = io.BytesIO()
    model.save(file)
    return kp.load_model(io.BytesIO(file.getvalue()))


def _check_refit(model, table=X, target=Y, **fit):
    """The loaded model and the saved one, each fitted once more, agree in every bit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = _again(model.fit(table, target, **fit))
        np.testing.assert_array_equal(again.predict(table), model.predict(table))
        # Once more: the settings of a loaded model can be saved, too.
        again = _again(again)
        model.fit(table, target, **fit)
        again.fit(table, target, **fit)
    assert again.scores_ == model.scores_
    assert again.path_ == model.path_
    assert again.operating_point_ == model.operating_point_
    assert again.baseline_scores_ == model.baseline_scores_
    np.testing.assert_array_equal(again.predict(table), model.predict(table))
    return again


SELECTORS = {
    "default": None,
    "lp-kta": kp.LpKTASelector(step=0.2, divergence="kl"),
    "additive": kp.AdditivePathSelector(n_strengths=12, ridge=0.5, bandwidth=(1.0, 0.5)),
    "auto": kp.AutoPathSelector(candidates=["additive", "lp-kta"], cv=2),
    "gmkl": kp.GMKLClassifier(strengths=4),
    "gmkl product": kp.GMKLClassifier("product", kp.L1(0.1), strengths=[0.5, 0.1]),
    "gmkl parts": kp.GMKLClassifier(
        regularizer=kp.ElasticNet(0.5), feasible=kp.Box(0.0, np.full(6, 3.0)), strengths=3
    ),
    "gmkl loss": kp.GMKLClassifier(regularizer=kp.Lp(1.5), loss=HuberHinge(2.0), strengths=3),
    "gmkl groups": kp.GMKLClassifier(regularizer=kp.MixedNorm([0, 0, 1, 1, 2, 2]), strengths=3),
    "gmkl random": kp.GMKLClassifier("product", strengths=2, random_state=3),
    "joint": kp.JointPathSelector(3, "anova", start=kp.LpKTASelector(), max_rows=50),
    "nmmkl": kp.NMMKLSelector([1, 2, 3], kernel="rbf", ridge=0.2),
    "nmmkl groups": kp.NMMKLSelector([2, 4], groups=np.array([0, 0, 1, 1, 2, 2])),
    "l1kr": kp.L1KRClassifier(norm_budget=[0.1, 0.3], max_features=3),
    "FSV": baselines.FSV(3, balance=0.1),
    "Fisher": baselines.Fisher(3),
    "L1SVM": baselines.L1SVM(3, C=0.5),
    "L1MKLPath": baselines.L1MKLPath(3, kernel="linear", smallest_ratio=0.1),
    "SMOMKL": baselines.SMOMKL(3, 1.66, strength=0.5),
    "L1SVMPath": baselines.L1SVMPath(3, max_features=5),
    "R2W2": baselines.R2W2(3),
    "BAHSIC": baselines.BAHSIC(3, drop=0.5),
    "HSICLasso": baselines.HSICLasso(3, sigma=0.5),
    "HKL": baselines.HKL(3, sigma=0.5, strengths=[0.3, 0.1, 0.03]),
    "SVMLW": baselines.SVMLW([1, 2, 4]),
    "L0Approximation": baselines.L0Approximation(np.array([1, 2])),
    "ChiSquare": baselines.ChiSquare(3),
    "GiniIndex": baselines.GiniIndex(3),
    "InformationGain": baselines.InformationGain(3, discretization="quantile", n_bins=4),
    "KruskalWallis": baselines.KruskalWallis([1, 3]),
    "MRMR": baselines.MRMR(3, criterion="fcq"),
    "ReliefF": baselines.ReliefF(3, n_neighbors=5, n_rows=20, random_state=1),
    "Spectral": baselines.Spectral(3, style=2, supervised=False),
    "ForestRanking": baselines.ForestRanking(3, n_estimators=5),
    "MutualInformation": baselines.MutualInformation(3, n_neighbors=5),
    "PermutationImportance": baselines.PermutationImportance(3, None, cv=2, n_repeats=1),
    "RFESVM": baselines.RFESVM(3, C=0.1, drop=0.5),
    "VarianceFilter": baselines.VarianceFilter(3),
    "CenteredKTA": baselines.CenteredKTA(3, "linear"),
    "Uniform": baselines.Uniform("all"),
    "CARS": baselines.CARS(3, n_runs=1, n_rounds=4),
    "f_classif": f_classif,
}
REGRESSION = {
    "gmkl": kp.GMKLRegressor(strengths=3, epsilon=0.2),
    "nmmkl": kp.NMMKLSelector([1, 2]),
    "l1kr": kp.L1KRRegressor(norm_budget=[0.1, 0.3], max_features=3),
    "SVRLW": baselines.SVRLW(3, epsilon=0.2),
    "LassoLW": baselines.LassoLW(3, alpha=0.1),
    "ForwardStepwise": baselines.ForwardStepwise(3),
}


@pytest.mark.parametrize("name", SELECTORS)
def test_every_selector_comes_back(name):
    table = X - X.min(axis=0) if name == "ChiSquare" else X
    again = _check_refit(path_cv(SELECTORS[name]), table)
    assert type(again.selector) is type(SELECTORS[name])


@pytest.mark.parametrize("name", REGRESSION)
def test_every_selector_of_regression_comes_back(name):
    again = _check_refit(path_cv(REGRESSION[name]), XR, YR)
    assert type(again.selector) is type(REGRESSION[name])


def test_all_selectors_of_the_package_are_tried():
    tried = {type(selector).__name__ for selector in [*SELECTORS.values(), *REGRESSION.values()]}
    own = {name for name, home in HOMES.items() if home.startswith("kernelpath.")}
    public = {n for n in kp.__all__ if hasattr(getattr(kp, n), "fit")}
    public -= {"PathCV", "StabilityPath"}  # which take a selector
    assert public | set(baselines.__all__) <= own & tried
    parts = {n for n in kp.__all__ if hasattr(getattr(kp, n), "__dataclass_fields__")}
    parts = {n for n in parts if set(getattr(kp, n).__module__.split(".")) & set(PART_MODULES)}
    parts -= {"FeatureKernel"}  # a base without a formula
    assert len(parts) == 17
    assert parts <= own | {kernel.__name__ for kernel in KERNELS.values()}


LP_KTA = {
    "RBF": {"kernel": kp.RBF()},
    "Polynomial": {"kernel": kp.Polynomial(2, coef0=0.5)},
    "Laplace": {"kernel": kp.Laplace()},
    "Linear": {"kernel": kp.Linear()},
    "gamma": {"gamma": np.linspace(0.1, 2.0, 6)},
    "gamma single": {"gamma": np.linspace(0.1, 2.0, 6, dtype=np.float32)},
    "reference": {"reference": np.linspace(0.0, 1.0, 6)},
    "divergence": {"divergence": kp.GeneralizedKL()},
    "strengths": {"bregman_strength": np.float64(0.3), "norm_strength": np.float32(0.7)},
}


@pytest.mark.parametrize("name", LP_KTA)
def test_kernels_and_arrays_come_back(name):
    _check_refit(path_cv(kp.LpKTASelector(step=0.2, **LP_KTA[name])))


SETTINGS = {
    "class_weight": {"class_weight": {0: 1, 1: 9}},
    "balanced": {"class_weight": "balanced"},
    "RandomState": {"random_state": np.random.RandomState(5)},
    "seed": {"random_state": np.int64(7)},
    "baselines": {"baselines": ["f_test", "forest"]},
    "own baselines": {"baselines": {"fisher": baselines.Fisher(3), "f": f_classif}},
    "scoring": {"scoring": "balanced_accuracy"},
    "KFold": {"cv": model_selection.KFold(3, shuffle=True, random_state=2)},
    "repeated": {"cv": model_selection.RepeatedStratifiedKFold(n_splits=2, n_repeats=2,
                                                              random_state=1)},
    "shuffled": {"cv": model_selection.ShuffleSplit(2, test_size=0.3, random_state=0)},
    "times": {"cv": model_selection.TimeSeriesSplit(2, gap=1)},
    "predefined": {"cv": model_selection.PredefinedSplit(np.arange(60) % 3)},
    "splits": {"cv": [(np.arange(30), np.arange(30, 60)), (np.arange(30, 60), np.arange(30))]},
    "inner_cv": {"inner_cv": model_selection.StratifiedKFold(2),
                 "predictor": kp.WeightedKernelSVM(C=(1.0, 10.0))},
    "grids": {"predictor": kp.JointRBFSVM(gamma=2.0, C=np.array([1.0, 5.0]))},
    "range": {"n_features": range(1, 4)},
    "sizes": {"n_features": np.array([1, 3])},
    "calibrated": {"probability": True, "rule": "tolerance", "tolerance": 0.05},
    "budget": {"rule": "budget", "budget": 1, "nested": True},
}  # fmt: skip


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_of_the_model_come_back(name):
    _check_refit(path_cv(**SETTINGS[name]))


def test_folders_come_back(tmp_path):
    for memory in (tmp_path / "a", str(tmp_path / "b")):
        model = path_cv(memory=memory).fit(X, Y)
        assert _again(model).memory == memory
    assert type(_again(path_cv(memory=tmp_path).fit(X, Y)).memory) is type(tmp_path)


@pytest.mark.parametrize("name", ["MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"])
def test_generators_go_on_with_the_same_numbers(name):
    source = np.random.Generator(getattr(np.random, name)(4))
    source.normal(size=3)
    writer = SettingsWriter()
    made = decode(writer.encode(source), writer.arrays)
    np.testing.assert_array_equal(made.normal(size=9), source.normal(size=9))
    old = np.random.RandomState(3)
    old.normal(size=3)  # an odd number: one of a pair is kept
    made = decode(writer.encode(old), writer.arrays)
    np.testing.assert_array_equal(made.normal(size=9), old.normal(size=9))


# -- what cannot be kept ---------------------------------------------------------------------------


class OwnRBF(kp.RBF):
    """A kernel of the user's own."""


class OwnSelector(kp.LpKTASelector):
    """A selector of the user's own."""


@dataclass(frozen=True)
class OwnDivergence(kp.SquaredEuclidean):
    """A divergence of the user's own."""

    name = "own"


def rank(X, y):
    return np.abs(np.corrcoef(X.T, y)[-1, :-1])


def _requesting():
    return kp.LpKTASelector().set_fit_request(sample_weight=True)


class RBF(kp.RBF):
    """Named like one of the package."""


FOREIGN = {
    "function": ({"selector": rank}, "selector", "function rank"),
    "lambda": ({"selector": lambda X, y: rank(X, y)}, "selector", "lambda"),
    "partial": ({"selector": functools.partial(mutual_info_classif, random_state=0)}, "selector",
                "functools.partial"),
    "scikit-learn": ({"selector": SelectKBest(k=2)}, "selector", "SelectKBest"),
    "subclass": ({"selector": OwnSelector()}, "selector", r"OwnSelector\(\)"),
    "kernel": ({"selector": kp.LpKTASelector(kernel=kp.Laplace(), divergence=OwnDivergence())},
               "selector__divergence", r"OwnDivergence\(\)"),
    "baselines": ({"baselines": {"mine": rank, "f": "f_test"}}, "baselines", "function rank"),
    "inside": ({"baselines": {"mine": kp.LpKTASelector(divergence=OwnDivergence())}}, "baselines",
               "OwnDivergence"),
    "scoring": ({"scoring": make_scorer(balanced_accuracy_score)}, "scoring", "make_scorer"),
    "rule": ({"rule": lambda scores: 1}, "rule", "lambda"),
    "splits": ({"cv": model_selection.StratifiedKFold(2).split(X, Y)}, "cv", "generator"),
    "shared": ({"random_state": (shared := np.random.RandomState(2)),
                "selector": kp.LpKTASelector(random_state=shared)}, "selector__random_state",
               "RandomState"),
}  # fmt: skip


@pytest.mark.parametrize("name", FOREIGN)
def test_what_is_foreign_predicts_but_does_not_fit(name):
    options, place, text = FOREIGN[name]
    model = path_cv(**options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, Y)
    again = _again(model)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    repr(again)
    again._repr_html_()
    way_out = rf"set_params\({place}=\.\.\.\)"
    for one in (again, clone(again), _again(again)):
        with pytest.raises(kp.DataError, match=rf"not hold its {place}, which was .*{text}") as got:
            one.fit(X, Y)
        assert got.match(way_out)
        assert len(str(got.value).splitlines()) == 1
        assert " at 0x" not in str(got.value)


def test_what_was_foreign_fits_once_it_is_given_again():
    model = path_cv(rank, class_weight={0: 1, 1: 3}).fit(X, Y)
    again = _again(model).set_params(selector=rank).fit(X, Y)
    assert again.scores_ == model.scores_
    assert again.operating_point_ == model.operating_point_


def test_a_request_for_metadata_is_not_lost_without_a_word():
    with config_context(enable_metadata_routing=True):
        model = path_cv(_requesting()).fit(X, Y, sample_weight=np.ones(len(Y)))
    with pytest.raises(kp.DataError, match=r"its selector, which was LpKTASelector\(\)"):
        _again(model).fit(X, Y)


@pytest.mark.parametrize("own", [OwnRBF(), RBF()])
def test_a_kernel_of_ones_own_is_foreign(own):
    writer = SettingsWriter()
    back = decode(writer.encode(kp.LpKTASelector(kernel=own)), writer.arrays)
    assert isinstance(back.kernel, NotSaved)
    assert repr(back.kernel) == f"<not saved: {own!r}>"


def test_nothing_is_imported_by_a_name_out_of_a_file():
    for saved in (
        {"class": "os.system", "settings": {}},
        {"class": "Popen", "settings": {}},
        {"class": "f_classif", "settings": {}},
        {"function": "RBF"},
        {"function": "eval"},
        {"random": "Generator", "state": {"dict": [["bit_generator", "seed"]]}},
        {"unheard": 1},
    ):
        with pytest.raises((ValueError, KeyError)):
            decode(saved, {})


# -- files of the first format ---------------------------------------------------------------------


@pytest.mark.parametrize("name", ["lp_kta", "default"])
def test_old_files_that_say_everything_refit(name):
    # In that format every setting of the selector was written, the width among them.
    own = {"step": 0.2, "kernel": "laplace", "bandwidth": "std"}
    fresh = path_cv(kp.LpKTASelector(**own) if name == "lp_kta" else None).fit(X, Y)
    old = kp.load_model(FILES / f"{name}_v1.kpmodel")
    np.testing.assert_array_equal(old.predict(X), fresh.predict(X))
    old.fit(X, Y)
    assert old.scores_ == fresh.scores_
    assert old.operating_point_ == fresh.operating_point_


@pytest.mark.parametrize(
    ("name", "places"),
    [("fisher", ("selector", "class_weight", "baselines")), ("array", ("selector__gamma",))],
)
def test_old_files_that_left_something_out_predict_only(name, places):
    old = kp.load_model(FILES / f"{name}_v1.kpmodel")
    assert old.predict(X).shape == Y.shape
    with pytest.raises(kp.DataError, match="does not hold its") as caught:
        old.fit(X, Y)
    for place in places:
        assert caught.match(f"{place}=")
