"""`kp.JointPathSelector`: what it finds, what it takes, what users trip over."""

from __future__ import annotations

import io
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import kernelpath as kp
from kernelpath.estimators import joint

XOR = kp.datasets.make_xor(150, 12, order=2, random_state=0)
X, Y, PAIR = XOR.X, XOR.y, XOR.relevant.tolist()
N, D = X.shape


def chosen(selector):
    return selector.get_support(indices=True).tolist()


# -- what it finds --------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["rbf", "anova"])
def test_two_features_that_act_together(kernel):
    selector = kp.JointPathSelector(2, kernel).fit(X, Y)
    assert chosen(selector) == PAIR
    assert selector.weights_[PAIR].tolist() == [1.0, 1.0]
    assert selector.loo_loss_ == selector.path_.at(2).value < 0.6
    assert clone(selector).get_params() == selector.get_params()
    pipeline = make_pipeline(kp.JointPathSelector(2), SVC(C=10)).fit(X, Y)
    assert pipeline.score(X, Y) > 0.9


def test_the_path_has_every_size_and_the_default_is_the_least_loss():
    selector = kp.JointPathSelector().fit(X, Y)
    path = selector.path_
    assert path.method == "joint"
    assert path.is_nested
    assert path.sizes.tolist() == list(range(D + 1))
    assert path.n_selected.tolist() == list(range(D + 1))
    assert [path.at(k).n_selected for k in range(D + 1)] == list(range(D + 1))
    assert np.isfinite(path.values).all()
    assert selector.loo_loss_ == path.values[1:].min()
    assert path.entry_order().tolist() == selector.order_.tolist()
    assert sorted(selector.order_.tolist()) == list(range(D))
    assert selector.n_checked_ == 10 * (D - 10)
    assert [event.feature for event in path.events] == selector.order_.tolist()
    assert selector.scale_ in (0.1, 0.3, 1.0, 2.0, 4.0, 8.0)


def test_between_stored_sizes_the_loss_is_not_known():
    wide = np.random.default_rng(0).normal(size=(40, 36))
    path = kp.JointPathSelector(33).fit(wide, wide[:, 0] > 0).path_
    point = path.at(33)
    assert point.n_selected == 33
    assert np.isnan(point.value)
    assert "not computed" in point.note
    assert np.isfinite(path.at(36).value)


def test_several_classes_and_numbers():
    rng = np.random.default_rng(1)
    table = rng.normal(size=(180, 10))
    sign = np.sign(table[:, 2] * table[:, 5])
    three = np.where(table[:, 7] > 0.8, "c", np.where(sign > 0, "a", "b"))
    selector = kp.JointPathSelector(3).fit(table, three)
    assert chosen(selector) == [2, 5, 7]
    assert selector.classes_.tolist() == ["a", "b", "c"]
    numbers = table[:, 2] * table[:, 5] + 0.1 * rng.normal(size=180)
    selector.fit(table, 1e9 + 1e3 * numbers)
    assert set(chosen(selector)) >= {2, 5}
    assert not hasattr(selector, "classes_")
    assert selector.loo_loss_ < 0.5


def test_rows_of_a_group_are_left_out_together():
    """Copies of a row tell nothing about rows of others, though they predict each other."""
    rng = np.random.default_rng(2)
    who = np.repeat(np.arange(25), 4)
    person = rng.normal(size=(25, 6))[who] + 0.01 * rng.normal(size=(100, 6))
    y = rng.permutation(np.repeat([0, 1], 13)[:25])[who]  # nothing predicts it
    alone = kp.JointPathSelector(4).fit(person, y)
    together = kp.JointPathSelector(4).fit(person, y, groups=who)
    assert alone.loo_loss_ < 0.3
    assert together.loo_loss_ > 0.8
    names = np.array([f"person {g}" for g in who])
    np.testing.assert_array_equal(
        kp.JointPathSelector(4).fit(person, y, groups=names).order_, together.order_
    )


def test_path_cv_hands_groups_on():
    groups = np.repeat(np.arange(30), 5)
    seen = []

    class Watched(kp.JointPathSelector):
        def fit(self, X, y, *, groups=None):
            seen.append(None if groups is None else len(groups))
            return super().fit(X, y, groups=groups)

    settings = {"cv": 3, "n_features": [1, 2], "predictor": "joint_rbf", "references": False}
    model = kp.PathCV(Watched(), **settings).fit(X, Y, groups=groups)
    assert None not in seen
    assert {100, 150} <= set(seen)
    assert model.operating_point_.n_features == 2
    seen.clear()
    kp.PathCV(Watched(), **settings).fit(X, Y)
    assert set(seen) == {None}


# -- what it takes --------------------------------------------------------------------------------


def test_categories_dates_and_missing_values():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.normal(size=(150, 5)), columns=list("abcde"))
    frame["kind"] = rng.choice(["r", "g", "b"], 150)
    frame["day"] = rng.permutation(pd.date_range("2020-01-01", periods=150))
    frame.loc[::6, "b"] = np.nan
    y = np.where(frame.kind == "r", frame.a, -frame.a) > 0
    with pytest.warns(kp.errors.ReadingWarning, match="days since"):
        selector = kp.JointPathSelector(2).fit(frame, y)
    assert selector.get_feature_names_out().tolist() == ["a", "kind"]
    assert selector.path_.sizes[-1] == 7
    hidden = frame[["a", "b"]].assign(c=rng.normal(size=150))
    told = hidden.b.isna()
    assert kp.JointPathSelector(1).fit(hidden, told).get_feature_names_out() == ["b"]
    with pytest.warns(kp.errors.MissingValuesWarning, match="25 rows"):
        dropped = kp.JointPathSelector(1, missing="drop").fit(hidden, frame.a > 0)
    assert len(dropped.rows_) == 125
    with pytest.raises(kp.DataError, match="NaN in column 'b'"):
        kp.JointPathSelector(missing="error").fit(hidden, told)


def test_sparse_tables_and_more_columns_than_take_part():
    rng = np.random.default_rng(4)
    dense = sparse.random_array((300, 400), density=0.3, rng=rng).toarray()
    dense[:, [3, 300]] = rng.uniform(-1, 1, size=(300, 2))
    y = dense[:, 3] * dense[:, 300] > 0
    selector = kp.JointPathSelector(2, max_columns=60)
    for table in (dense, sparse.csr_array(dense)):
        assert chosen(selector.fit(table, y)) == [3, 300]
        assert len(selector.order_) == selector.path_.sizes[-1] == 400
        assert np.isnan(selector.path_[-1].value)
    scores = kp.alignments(dense, y)[selector.order_[60:]]
    assert (np.diff(scores) <= 1e-5).all()


def test_columns_that_must_be_in():
    with_constant = np.column_stack([X, np.ones(N)])
    must = [PAIR[0], next(j for j in range(D) if j not in PAIR), D]
    with pytest.warns(UserWarning, match="constant, and in only where required"):
        selector = kp.JointPathSelector(4, must_include=must).fit(with_constant, Y)
    assert set(chosen(selector)) == {*must, PAIR[1]}
    assert selector.path_.sizes.tolist() == list(range(3, D + 2))
    with pytest.raises(kp.DataError, match="3 features must be in"):
        selector.path_.at(2)
    everything = kp.JointPathSelector(must_include=list(range(D))).fit(X, Y)
    assert everything.path_.sizes.tolist() == [D]


@pytest.mark.parametrize(
    "start", [PAIR[::-1] + [j for j in range(12) if j not in PAIR], kp.LpKTASelector(), np.var]
)
def test_other_starts(start):
    if start is np.var:

        def start(X, y):
            return X.var(axis=0)

    selector = kp.JointPathSelector(2, start=start).fit(X, Y)
    assert chosen(selector) == PAIR  # among twelve columns exchanges find them, too


def test_names_as_a_start():
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(D)])
    selector = kp.JointPathSelector(start=["c11", "c3"]).fit(frame, Y)
    assert set(selector.order_[:2].tolist()) == set(PAIR)


# -- invariances ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["rbf", "anova"])
def test_the_order_of_columns_and_rows_and_their_scales_change_nothing(kernel):
    table = np.column_stack([X, X[:, 3], X[:, 5] * 2])  # copies, too
    first = kp.JointPathSelector(kernel=kernel, max_rows=120)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first.fit(table, Y)
        columns, rows = (np.random.default_rng(5).permutation(n) for n in table.shape[::-1])
        other = clone(first).fit(table[:, columns] * 7 - 3, Y)
        names = np.concatenate([np.arange(D), [3, 5]])  # copies are alike
        np.testing.assert_array_equal(names[columns[other.order_]], names[first.order_])
        assert other.loo_loss_ == pytest.approx(first.loo_loss_, rel=1e-8)
        mixed = clone(first).fit(table[rows], Y[rows])
        assert set(rows[mixed.rows_].tolist()) == set(first.rows_.tolist())
        np.testing.assert_array_equal(names[mixed.order_], names[first.order_])


def test_a_fit_again_is_the_same_and_so_is_a_file():
    selector = kp.JointPathSelector(3)
    path = selector.fit(X, Y).path_
    assert selector.fit(X, Y).path_ == path
    file = io.BytesIO()
    path.save(file)
    again = kp.load_path(io.BytesIO(file.getvalue()))
    assert again == path
    assert again.at(7).names == path.at(7).names


def test_damaged_files_are_refused():
    extension = joint.JointExtension(np.array([1, 0]), 0)
    for meta, taken in (
        ({"n_kept": 3}, [1, 0]),
        ({"n_kept": True}, [1, 0]),
        ({"n_kept": 0}, [1, 1]),
    ):
        with pytest.raises(ValueError, match=r"always in|taken twice"):
            extension.from_state(meta, {"taken": np.array(taken)})


# -- what users trip over -------------------------------------------------------------------------


def test_rows_are_drawn_and_that_is_said():
    with pytest.warns(UserWarning, match="Of 150 rows 80 take part.*max_rows"):
        selector = kp.JointPathSelector(2, max_rows=80).fit(X, Y)
    assert len(selector.rows_) == 80
    assert len(kp.JointPathSelector(2, max_rows=None).fit(X, Y).rows_) == N
    assert len(kp.JointPathSelector(2).fit(X, Y).rows_) == N


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kernel": "linear"}, "kernel must be one of 'rbf', 'anova'"),
        ({"start": "forward"}, "start must be one of 'elimination' or columns in their order"),
        ({"start": 3}, "start must be 'elimination', columns"),
        ({"start": kp.LpKTASelector}, "start must be 'elimination', columns"),
        ({"start": [0, 99]}, "start needs names or positions from 0 to 11, got 99"),
        ({"max_rows": 2}, "max_rows must be a whole number from 5 on"),
        ({"max_columns": 0}, "max_columns must be a whole number from 1 on"),
        ({"task": "ranking"}, "task must be one of"),
        ({"missing": "guess"}, "missing"),
        ({"identifiers": "no"}, "identifiers must be one of"),
        ({"must_include": ["nobody"]}, "names the column 'nobody'"),
        ({"must_include": [0, 1, 2], "max_columns": 2}, "3 columns must be in, more than"),
        ({"n_features_to_select": 99}, "from 0 to 12"),
    ],
)
def test_wrong_settings(options, words):
    with pytest.raises(ValueError, match=words):
        kp.JointPathSelector(**options).fit(X, Y)


def test_tables_it_cannot_take():
    few = kp.JointPathSelector()
    with pytest.raises(kp.DataError, match="one at a time and needs at least 5 rows"):
        few.fit(X[:4], [0, 1, 0, 1])
    with pytest.raises(kp.DataError, match="one class only"):
        few.fit(X, np.ones(N, dtype=int).astype(str))
    with pytest.raises(kp.DataError, match="at least 3 are needed, and there are 2"):
        few.fit(X, Y, groups=np.arange(N) % 2)
    with pytest.raises(kp.DataError, match="groups has 3 values"):
        few.fit(X, Y, groups=[1, 2, 3])
    with pytest.raises(kp.DataError, match="groups has missing values"):
        few.fit(X, Y, groups=[np.nan] * N)
    with pytest.raises(kp.DataError, match="one-dimensional"):
        few.fit(X, Y, groups=np.ones((N, 2)))
    big = np.random.default_rng(0).normal(size=(9000, 2))
    with pytest.raises(kp.DataError, match=r"Kernel matrices of 9,000 rows would need 6 GB.*lower"):
        kp.JointPathSelector(max_rows=None).fit(big, big[:, 0] > 0)


def test_rows_without_a_target_have_no_group():
    y = Y.astype(float)
    y[:10] = np.nan
    with pytest.warns(kp.errors.MissingValuesWarning, match="10 rows"):
        selector = kp.JointPathSelector(2).fit(X, y, groups=np.arange(N) // 3)
    assert chosen(selector) == PAIR
    assert len(selector.rows_) == N - 10
