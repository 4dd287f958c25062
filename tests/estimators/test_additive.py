"""AdditivePathSelector: what it finds, its path, and what must not change it."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import kernelpath as kp
from kernelpath.errors import ConstantColumnWarning, DataError
from kernelpath.estimators.additive import targets_of
from kernelpath.path.points import same_content
from kernelpath.tracers.additive.path import AdditiveExtension

RNG = np.random.default_rng(0)
N, D = 120, 30
X = RNG.normal(size=(N, D))
NUMBER = np.sin(2 * X[:, 4]) + X[:, 9] ** 2 + 0.3 * RNG.normal(size=N)
LABEL = np.where(NUMBER > 0.7, "sick", "well")
CLASSES = np.digitize(NUMBER, [0.0, 0.8, 2.0])
TARGETS = {
    "two classes": LABEL,
    "classes": CLASSES,
    "numbers": NUMBER,
    "outputs": np.column_stack([NUMBER, X[:, 20] + X[:, 4]]),
    "mixed": pd.DataFrame({"number": NUMBER, "label": np.where(X[:, 20] > 0, "a", "b")}),
    "survival": np.array(
        list(zip(RNG.random(N) < 0.7, RNG.exponential(size=N) * np.exp(-2 * X[:, 4]))),
        dtype=[("event", bool), ("time", float)],
    ),
}


def path_of(A=X, y=LABEL, weight=None, **options):
    return kp.AdditivePathSelector(**options).fit(A, y, weight).path_


def same(a, b, rtol=1e-4):
    """Equal but for what a tolerance of the gap allows."""
    assert len(a) == len(b)
    np.testing.assert_allclose(a.parameters, b.parameters, rtol=1e-8)
    np.testing.assert_allclose(a.values, b.values, rtol=1e-8)
    np.testing.assert_allclose(a.weights.toarray(), b.weights.toarray(), atol=rtol)


TIGHT = {"tol": 1e-10, "n_strengths": 15, "strength_stop": 0.1}


# -- what it finds ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", TARGETS)
def test_relevant_features_come_first(kind):
    path = path_of(y=TARGETS[kind])
    wanted = {"survival": {4}, "outputs": {4, 9, 20}, "mixed": {4, 9, 20}}.get(kind, {4, 9})
    assert set(path.entry_order()[: len(wanted)]) == wanted
    assert path.gaps.max() <= 1e-6
    assert path.gaps.min() >= 0
    assert path.method == "additive"
    assert path.n_selected[0] == 0
    task = {"outputs": "outputs", "mixed": "outputs", "survival": "survival"}
    task |= {"numbers": "regression"}
    assert path.provenance["task"] == task.get(kind, "classification")


def test_copies_do_not_enter():
    """lp-KTA takes the copies of a feature first; here they are told apart from new ones."""
    marginal = kp.LpKTASelector().fit(X, NUMBER).path_.entry_order().tolist()
    best, other = marginal[:2]
    assert {best, other} == {4, 9}
    A = X.copy()
    for j in (11, 12, 13):
        A[:, j] = A[:, best] + 0.2 * A[:, j]
    marginal = kp.LpKTASelector().fit(A, NUMBER).path_.entry_order().tolist()
    assert set(marginal[:4]) == {best, 11, 12, 13}
    order = path_of(A, NUMBER).entry_order().tolist()
    assert other in order[:2]
    assert len({best, 11, 12, 13} & set(order[:2])) == 1


def test_an_exact_copy_changes_no_value():
    alone = path_of(y=NUMBER, **TIGHT)
    twice = path_of(np.column_stack([X, X[:, 4]]), NUMBER, **TIGHT)
    common = np.intersect1d(alone.parameters.round(12), twice.parameters.round(12))
    assert len(common) >= 15
    for strength in common:
        i, j = (np.abs(p.parameters - strength).argmin() for p in (alone, twice))
        assert alone.values[i] == pytest.approx(twice.values[j], rel=1e-8)
        both = twice[j].weights[[4, D]].sum()
        assert both == pytest.approx(alone[i].weights[4], abs=1e-3)


def test_a_ridge_keeps_features_that_say_the_same():
    A = np.column_stack([X[:, 4:5] + 0.3 * RNG.normal(size=(N, 4)), X[:, 10:]])
    plain, elastic = (path_of(A, NUMBER, ridge=ridge) for ridge in (0.0, 5.0))
    place = [int(np.abs(p.parameters - 0.3 * p.parameters[0]).argmin()) for p in (plain, elastic)]
    weights = [np.sort(p[i].weights[:4])[::-1] for p, i in zip((plain, elastic), place)]
    assert weights[1][3] / weights[1][0] > weights[0][3] / weights[0][0]


# -- the path --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["two classes", "classes", "numbers"])
def test_there_is_a_point_for_every_size(kind):
    path = path_of(y=TARGETS[kind], max_features=12)
    for k in range(D + 1):
        point = path.at(n_features=k)
        assert point.n_selected == k
        assert np.all(point.weights[~point.support] == 0)
        stored = np.flatnonzero(path.n_selected == k)
        if len(stored):
            assert point == path[int(stored[path.values[stored].argmin()])]
        else:
            assert point.support[path.entry_order()[:k]].all()
            beyond = k > path.n_selected.max()
            assert point.origin == ("beyond" if beyond else "path")
            assert ("beyond the path" if beyond else "between two points") in point.note
            assert (point.weights[point.support] > 0).all() or not beyond
    assert sorted(path.entry_order()) == list(range(D))


def test_sizes_that_no_point_has_are_the_first_by_entry():
    path = path_of()
    args = path._arguments()
    keep = np.flatnonzero(~np.isin(path.n_selected, [3, 4, 5]))
    args |= {name: getattr(path, name)[keep] for name in ("parameters", "values", "kkt", "gaps")}
    args |= {"weights": path.weights[keep], "supports": path.weights[keep], "events": ()}
    thinned = kp.FeaturePath(**args)
    point = thinned.at(n_features=4)
    assert sorted(np.flatnonzero(point.support)) == sorted(path.entry_order()[:4])
    assert point.note.startswith("between two points: the first 4 by entry")


def test_entries_are_by_strength_then_norm_then_relevance():
    selector = kp.AdditivePathSelector(max_features=8).fit(X, NUMBER)
    path, relevance = selector.path_, selector.relevance_
    entered = [np.flatnonzero((path.weights[:, [j]].toarray() > 0).ravel()) for j in range(D)]
    first = np.array([where[0] if len(where) else len(path) for where in entered])
    order = path.entry_order()
    assert (np.diff(first[order]) >= 0).all()
    rest = order[first[order] == len(path)]
    assert (np.diff(relevance[rest]) <= 0).all()
    assert relevance.max() == pytest.approx(path.parameters[0])
    entries = [event.feature for event in path.events if event.kind == "enter"]
    assert set(entries) == set(order[first[order] < len(path)])


def test_relevance_is_the_alignment():
    selector = kp.AdditivePathSelector(n_components=50).fit(X, NUMBER)
    alignments = kp.alignments(X, NUMBER)
    np.testing.assert_allclose(np.square(selector.relevance_) * N, alignments, rtol=1e-3)


def test_files_hold_the_path():
    path = path_of(feature_groups=[[0, 1], [4, 5]])
    file = io.BytesIO()
    path.save(file)
    again = kp.load_path(io.BytesIO(file.getvalue()))
    assert again == path
    for k in path.sizes[[1, -1]]:
        assert same_content(again.at(n_features=int(k)), path.at(n_features=int(k)))


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"entered": np.array([0, 0])}, "order of entry"),
        ({"entered": np.array([0, 5])}, "order of entry"),
        ({"sizes": np.array([0, 1])}, "sizes"),
        ({"sizes": np.array([2, 1])}, "sizes"),
    ],
)
def test_damaged_files_are_refused(arrays, words):
    good = {"entered": np.array([1, 0]), "sizes": np.array([0, 1, 2]), "relevance": np.ones(2)}
    assert AdditiveExtension.from_state({}, good).n_usable == 2
    with pytest.raises(ValueError, match=words):
        AdditiveExtension.from_state({}, good | arrays)


# -- what must not change it -----------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["two classes", "classes", "numbers"])
def test_columns_in_another_order(kind):
    order = RNG.permutation(D)
    path, other = path_of(y=TARGETS[kind], **TIGHT), path_of(X[:, order], TARGETS[kind], **TIGHT)
    np.testing.assert_allclose(path.values, other.values, rtol=1e-8)
    back = np.argsort(order)
    np.testing.assert_allclose(path.weights.toarray(), other.weights.toarray()[:, back], atol=1e-4)
    n = path.n_selected.max()
    assert order[other.entry_order()[:n]].tolist() == path.entry_order()[:n].tolist()


def test_rows_in_another_order():
    order = RNG.permutation(N)
    same(path_of(**TIGHT), path_of(X[order], LABEL[order], **TIGHT))


@given(st.lists(st.integers(-60, 60), min_size=D, max_size=D), st.floats(0.1, 100))
@settings(max_examples=8, deadline=None)
def test_units_do_not_matter(powers, unit):
    same(path_of(y=NUMBER, **TIGHT), path_of(np.ldexp(X, powers), unit * NUMBER - 5, **TIGHT))


def test_whole_weights_are_repeated_rows():
    weight = RNG.integers(0, 4, N).astype(float)
    repeated = np.repeat(np.arange(N), weight.astype(int))
    for y in (LABEL, CLASSES, NUMBER):
        same(path_of(y=y, weight=weight, **TIGHT), path_of(X[repeated], y[repeated], **TIGHT))
        same(path_of(y=y, weight=weight, **TIGHT), path_of(y=y, weight=5 * weight, **TIGHT))


def test_threads_do_not_matter():
    assert path_of(n_jobs=1) == path_of(n_jobs=2)


def test_fits_are_deterministic_and_settings_stay():
    selector = kp.AdditivePathSelector(3)
    first = clone(selector).fit(X, LABEL)
    assert first.path_ == selector.fit(X, LABEL).path_
    assert repr(selector) == "AdditivePathSelector(n_features_to_select=3)"
    assert selector.support_.sum() == 3


def test_sparse_is_dense():
    A = X * (RNG.random(X.shape) < 0.3)
    path, other = (path_of(B, NUMBER, **TIGHT) for B in (A, sparse.csr_array(A)))
    same(path, other)


# -- tables ----------------------------------------------------------------------------------------


def test_text_gaps_and_constant_columns():
    town = np.where(np.quantile(NUMBER, 0.8) < NUMBER, "east", "west")
    gaps = X[:, 3].copy()
    gaps[NUMBER < 0] = np.nan  # that it is missing tells
    frame = pd.DataFrame(X[:, 10:16], columns=list("abcdef"))
    frame = frame.assign(town=town, gaps=gaps, same=1.0)
    with pytest.warns(ConstantColumnWarning, match="'same' is constant"):
        path = path_of(frame, NUMBER)
    assert set(path.feature_names[path.entry_order()[:2]]) == {"town", "gaps"}
    assert path.gaps.max() <= 1e-6
    assert path.extension.n_usable == 8


@pytest.mark.parametrize(
    "options",
    [
        {"kernel": "linear"}, {"kernel": "laplace"}, {"kernel": "polynomial"},
        {"kernel": kp.RBF()}, {"bandwidth": "multi"}, {"bandwidth": (2.0,)},
        {"bandwidth": "median"}, {"gamma": 0.5}, {"n_components": 1}, {"n_components": 20},
    ],
    ids=str,
)  # fmt: skip
def test_all_kernels_and_widths(options):
    path = path_of(y=X[:, 4] + 0.5 * X[:, 9] ** 3, **options)
    assert set(path.entry_order()[:2]) == {4, 9}
    assert path.gaps.max() <= 1e-6


class Wide(kp.RBF):
    def gamma(self, sigma):
        return 0.1 / np.square(sigma)


def test_kernels_of_ones_own():
    assert set(path_of(y=NUMBER, kernel=Wide()).entry_order()[:2]) == {4, 9}
    several = path_of(y=NUMBER, kernel=Wide(), bandwidth=(1.0, 0.5))
    usual = path_of(y=NUMBER, gamma=None, bandwidth=(np.sqrt(5.0), np.sqrt(5.0) / 2))
    np.testing.assert_allclose(several.values, usual.values, rtol=1e-6)


def test_columns_that_must_be_in():
    path, plain = path_of(must_include=[0, 3]), path_of()
    np.testing.assert_array_equal(path.values, plain.values)
    assert path.n_selected.min() == 2
    assert all(path.at(n_features=int(k)).support[[0, 3]].all() for k in path.sizes)
    assert path.entry_order()[:2].tolist() == [0, 3] or path.entry_order()[:2].tolist() == [3, 0]
    with pytest.raises(DataError, match="no point has exactly 1 feature"):
        path.at(n_features=1)


def test_columns_that_go_together():
    path = path_of(feature_groups=[[4, 9, 17]], must_include=["x2"])
    for k in path.sizes:
        support = path.at(n_features=int(k)).support
        assert support[[4, 9, 17]].all() or not support[[4, 9, 17]].any()
    assert set(path.entry_order()[1:4]) == {4, 9, 17}
    weights = path.weights.toarray()[:, [4, 9, 17]]
    np.testing.assert_array_equal(weights[:, 0], weights[:, 2])
    with pytest.raises(DataError, match="go together"):
        path.at(n_features=3)


# -- settings and words ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_components": 0}, "n_components must be a whole number from 1 to 50"),
        ({"ridge": -1.0}, "ridge must be"),
        ({"n_strengths": 1}, "n_strengths must be"),
        ({"strength_stop": 1.0}, "strength_stop must be a share of the first strength"),
        ({"max_features": 0}, "max_features must be"),
        ({"tol": 0.5}, "tol must be from 1e-12 to 0.1"),
        ({"kernel": "rfb"}, "did you mean 'rbf'"),
        ({"bandwidth": "wide"}, "bandwidth must be"),
        ({"task": "both"}, "task must be"),
    ],
)
def test_settings_are_checked(options, words):
    with pytest.raises(ValueError, match=words):
        path_of(**options)


@pytest.mark.parametrize(
    ("A", "y", "words"),
    [
        (X, np.ones(N, dtype=int), "one class only"),
        (np.ones((N, 3)), LABEL, "Every column is constant"),
        (X[:1], LABEL[:1], "minimum of 2"),
        (X, np.ones(N) * 0.5, "one class only"),
        (X, LABEL[:-1], "120 rows"),
    ],
)
def test_data_that_say_nothing(A, y, words):
    with pytest.raises(ValueError, match=words):
        path_of(A, y)


def test_two_rows_are_enough():
    path = path_of(X[:2], [0, 1])
    assert path.gaps.max() <= 1e-6
    assert path.at(n_features=1).n_selected == 1


def test_gaps_that_stay_open_are_said(monkeypatch):
    monkeypatch.setattr("kernelpath.tracers.additive.working_set.MOST_SWEEPS", 1)
    monkeypatch.setattr("kernelpath.tracers.additive.trace.MOST_ROUNDS", 1)
    with pytest.warns(ConvergenceWarning, match="above 100 times tol"):
        path_of(tol=1e-10)


def test_the_default_size():
    assert kp.AdditivePathSelector().fit(X, LABEL).support_.sum() == 10
    assert kp.AdditivePathSelector().fit(X[:, :4], LABEL).support_.sum() == 4
    assert kp.AdditivePathSelector(0.5).fit(X, LABEL).support_.sum() == 15


def test_targets():
    values, hinge = targets_of(np.array([[0, 1], [1, 0], [2, 1], [0, 0], [1, 1]]), "auto")
    assert hinge.tolist() == [True, True, True, True]
    np.testing.assert_allclose(np.square(values), 0.5)
    values, hinge = targets_of(np.array([[0.5, 1], [1.5, 0], [4.25, 1], [7.0, 0]]), "auto")
    assert hinge.tolist() == [False, True]
    assert np.square(values[0]).mean() == pytest.approx(0.5)


# -- inside of others ------------------------------------------------------------------------------


@pytest.mark.parametrize("predictor", ["weighted_kernel", "joint_rbf", "auto"])
def test_inside_path_cv(predictor):
    y = X[:, 4] + X[:, 9] ** 2 > 0.8
    model = kp.PathCV(
        kp.AdditivePathSelector(), predictor=predictor, cv=3, n_features=[1, 2, 4], references=False
    ).fit(X, y)
    assert model.score(X, y) > 0.85
    assert model.path_.method == "additive"


def test_a_saved_model_knows_its_selector(tmp_path):
    selector = kp.AdditivePathSelector(ridge=0.5, max_features=5)
    model = kp.PathCV(selector, predictor="joint_rbf", cv=2, n_features=[1, 2], references=False)
    model.fit(X, LABEL).save(tmp_path / "m.kpmodel")
    again = kp.load_model(tmp_path / "m.kpmodel")
    assert repr(again.selector) == repr(selector)
    assert again.path_ == model.path_
    assert (again.predict(X) == model.predict(X)).all()


def test_the_report_shows_it():
    model = kp.PathCV(
        kp.AdditivePathSelector(), predictor="joint_rbf", cv=2, n_features=[1, 2], references=False
    )
    summary = model.fit(X, LABEL).summary()
    assert summary["method"] == "additive"
    page = kp.render_html(path_of().summary(X, LABEL))
    assert "additive" in page
