"""lp-KTA under constraints, against one coordinate of the objective at a time."""

import io
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kernelpath as kp
from reference import lp_kta as slow

RNG = np.random.default_rng(0)
N, D = 60, 9
LABELS = np.repeat([0, 1], N // 2)
X = RNG.normal(size=(N, D)) + np.linspace(1.2, 0.0, D) * LABELS[:, None]


def twin(path, alignments, groups, must, costs, tol=1e-3):
    """Weights, support and objective of every point, from the definition in the docstring."""
    origin = path.provenance
    lam1, lam2 = origin["bregman_strength"], origin["norm_strength"]
    grouped = {j for group in groups for j in group}
    units = [*groups, *([j] for j in range(len(alignments)) if j not in grouped)]
    paid = np.ones(len(units))
    if costs is not None and any(costs):
        paid = np.array([sum(costs[j] for j in unit) for unit in units])
        paid = np.where(paid > 0, paid, paid[paid > 0].min())
        paid = paid / paid.mean()
    a = [np.mean([alignments[j] for j in unit]) / c for unit, c in zip(units, paid)]
    for p in path.parameters:
        weights, support = np.zeros(len(alignments)), np.zeros(len(alignments), dtype=bool)
        eta = np.array([slow.optimal_weight(score, p, lam1, lam2) for score in a])
        for unit, c, own in zip(units, paid, eta):
            if own > tol or set(unit) & set(must):
                weights[unit], support[unit] = own / c / len(unit), True
        chosen = np.array([support[unit[0]] for unit in units])
        value = slow.objective(np.where(chosen, eta, 0.0), a, p, lam1, lam2)
        yield weights, support, value, slow.objective(eta, a, p, lam1, lam2)


@settings(max_examples=25, deadline=None)
@given(
    columns=st.permutations(range(D)),
    sizes=st.lists(st.integers(1, 3), max_size=3),
    must=st.sets(st.integers(0, D - 1), max_size=3),
    costs=st.none() | st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=D, max_size=D),
    solver=st.sampled_from(["exact", "predictor_corrector"]),
    statistic=st.sampled_from(["alignment", "calibrated"]),
)
def test_every_point_is_that_of_the_definition(columns, sizes, must, costs, solver, statistic):
    ends = np.cumsum([0, *sizes])
    groups = [columns[a:b] for a, b in pairwise(ends)]
    selector = kp.LpKTASelector(
        step=0.25, must_include=sorted(must), feature_groups=groups, costs=costs, solver=solver,
        statistic=statistic,
    ).fit(X, LABELS)  # fmt: skip
    path = selector.path_
    a = selector.alignments_ if statistic == "alignment" else -selector.test_.log_p
    expected = twin(path, a, groups, must, costs)
    for point, (weights, support, value, best) in zip(path, expected):
        assert (point.support == support).all()
        np.testing.assert_allclose(point.weights, weights, rtol=1e-7, atol=1e-12)
        assert point.value == pytest.approx(value, rel=1e-9)
        assert point.kkt < 1e-9
        assert value - best <= point.gap * (1 + 1e-9) + 1e-12


@settings(max_examples=25, deadline=None)
@given(
    labels=st.lists(st.integers(0, 4), min_size=D, max_size=D),
    must=st.sets(st.integers(0, D - 1), max_size=3),
)
def test_sizes_are_those_of_whole_groups(labels, must):
    path = kp.LpKTASelector(feature_groups=labels, must_include=list(must)).fit(X, LABELS).path_
    together = [set(np.flatnonzero(np.array(labels) == one)) for one in set(labels)]
    always = set().union(*(group for group in together if group & must))
    assert path.sizes[0] == len(always)
    assert path.sizes[-1] == D
    before = set()
    for k in path.sizes.tolist():
        point = path.at(n_features=k)
        chosen = set(np.flatnonzero(point.support))
        assert len(chosen) == k
        assert always | before <= chosen
        assert all(group <= chosen or not group & chosen for group in together)
        assert point.kkt < 1e-9
        before = chosen
    for k in set(range(D + 1)) - set(path.sizes.tolist()):
        with pytest.raises(kp.DataError, match=r"exactly .* go together; .* is|none is"):
            path.at(n_features=k)
    assert set(path.entry_order()[: len(always)]) == always
    assert path.is_nested


def test_without_constraints_in_it_a_constraint_changes_nothing():
    plain = kp.LpKTASelector().fit(X, LABELS).path_
    for options in (
        {"must_include": []},
        {"feature_groups": list(range(D))},
        {"feature_groups": []},
        {"costs": np.full(D, 7.0)},
        {"costs": dict.fromkeys(["x1", "x4"], 1.0)},
        {"costs": np.zeros(D)},
    ):
        path = kp.LpKTASelector(**options).fit(X, LABELS).path_
        assert (path.weights != plain.weights).nnz == 0
        assert path.gaps.tolist() == plain.gaps.tolist()
        assert path.events.to_frame().equals(plain.events.to_frame())
        for k in range(D + 1):
            assert (path.at(k).weights == plain.at(k).weights).all()


def test_columns_of_a_group_share_its_weight():
    groups = {"first": [0, 1, 2], "last": ["x7", "x8"]}
    selector = kp.LpKTASelector(bregman_strength=1.0, norm_strength=0.01, feature_groups=groups)
    path = selector.fit(X, LABELS).path_
    point = path[0]
    mean = selector.alignments_[[0, 1, 2]].mean()
    eta = slow.optimal_weight(mean, 2.0, 1.0, 0.01)
    np.testing.assert_allclose(point.weights[[0, 1, 2]], eta / 3)


@pytest.mark.parametrize("statistic", ["alignment", "calibrated"])
def test_costs_rank_by_what_a_unit_of_cost_brings(statistic):
    first = kp.LpKTASelector(costs={"x0": 50.0}, statistic=statistic).fit(X, LABELS)
    a = first.alignments_ if statistic == "alignment" else -first.test_.log_p
    ranked = a / np.where(np.arange(D) == 0, 50.0, 1.0)
    assert first.path_.entry_order().tolist() == np.argsort(-ranked, kind="stable").tolist()
    euros, cents = (
        kp.LpKTASelector(costs=unit * np.arange(1.0, D + 1), statistic=statistic)
        .fit(X, LABELS)
        .path_
        for unit in (1.0, 100.0)
    )
    np.testing.assert_allclose(euros.weights.toarray(), cents.weights.toarray(), rtol=1e-9)


def test_constant_columns_that_must_be_in_are_in_with_weight_0():
    Z = X.copy()
    Z[:, [2, 5]] = 4.0
    with pytest.warns(kp.errors.ConstantColumnWarning):
        path = kp.LpKTASelector(must_include=[2], feature_groups=[[5, 6]]).fit(Z, LABELS).path_
    assert path.sizes[[0, -1]].tolist() == [1, D]
    assert all(support[2] for support in path.supports)
    point = path.at(n_features=D)
    assert point.weights[[2, 5]].tolist() == [0.0, 0.0]
    assert point.weights[6] > 0
    assert path.at(n_features=1).names == ("x2",)


def test_constraints_survive_a_file():
    selector = kp.LpKTASelector(
        must_include=[8], feature_groups=[[0, 4], [1, 2]], costs={"x3": 2.0, "x0": 0.0}
    )
    path = selector.fit(X, LABELS).path_
    file = io.BytesIO()
    path.save(file)
    again = kp.load_path(io.BytesIO(file.getvalue()))
    assert again == path
    assert again.sizes.tolist() == path.sizes.tolist()
    for k in path.sizes.tolist():
        assert again.at(k) == path.at(k)


def test_names_patterns_and_identifiers():
    frame = pd.DataFrame(X[:, :4], columns=["age", "lab_a", "lab_b", "weight"])
    frame["passenger_id"] = RNG.permutation(N) * 3
    with pytest.warns(UserWarning, match="identifiers"):
        assert "passenger_id" not in _chosen(kp.LpKTASelector(), frame, 4)
    asked = kp.LpKTASelector(must_include=["passenger_id"], feature_groups={"lab": "lab_*"})
    assert "passenger_id" in _chosen(asked, frame, 2)
    assert {"lab_a", "lab_b", "passenger_id"} <= set(_chosen(asked, frame, 5))


def _chosen(selector, frame, k):
    return selector.fit(frame, LABELS).path_.at(n_features=k).names


def test_the_size_of_transform():
    grouped = {"feature_groups": [[0, 1, 2], [3, 4]]}
    for asked, kept in ((5, 5), (0.4, 3), (0.99, 9)):
        selector = kp.LpKTASelector(n_features_to_select=asked, **grouped).fit(X, LABELS)
        assert selector.support_.sum() == kept
    with pytest.raises(kp.DataError, match="nearest smaller size is 0, the nearest larger size is"):
        kp.LpKTASelector(n_features_to_select=1, **grouped).fit(X, LABELS)
