"""The rules that choose a size, and the point that holds the choice."""

from __future__ import annotations

import json
import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from kernelpath.errors import DataError
from kernelpath.evaluation.operating_point import RULES, OperatingPoint, check_rule, choose
from kernelpath.evaluation.scores import PathScores

BY_SCORE = [rule for rule in RULES if rule not in ("stable", "fdr")]  # which look at features


def with_means(*means, spread=0.02, sizes=None):
    """Two folds with these means and the standard error ``spread`` at every size."""
    means = np.array(means)
    sizes = 2 ** np.arange(len(means)) if sizes is None else sizes
    return PathScores(sizes, [means - spread, means + spread])


def make_point(**changes):
    arguments = {
        "n_features": 2, "score": 0.8941, "se": 0.0083, "parameter": 1.0234,
        "feature_names": ("b", "a"), "weights": [0.2, 0.7, 0.0], "support": [1, 1, 0],
        "predictor": "joint_rbf", "settings": {"C": 10.0, "gamma": [0.3, None]},
        "rule": "one_se", "scoring": "accuracy",
    }  # fmt: skip
    return OperatingPoint(**(arguments | changes))


def test_the_spread_of_the_examples_is_the_standard_error():
    np.testing.assert_allclose(with_means(0.5, 0.6).se, 0.02)


@pytest.mark.parametrize(
    ("means", "rule", "options", "size"),
    [
        ((0.7, 0.9, 0.8), "best", {}, 2),
        ((0.9, 0.9, 0.9), "best", {}, 1),
        ((0.7, 0.87, 0.885, 0.9), "one_se", {}, 4),
        ((0.7, 0.88, 0.885, 0.9), "one_se", {}, 2),  # exactly one standard error below
        ((0.7, 0.8, 0.9), "one_se", {}, 4),
        ((0.9, 0.7, 0.89), "one_se", {}, 1),
        ((0.7, 0.8, 0.75, 0.9), "budget", {"budget": 4}, 2),
        ((0.7, 0.8, 0.75, 0.9), "budget", {"budget": 5}, 2),
        ((0.7, 0.8, 0.75, 0.9), "budget", {"budget": 8}, 8),
        ((0.7, 0.8, 0.75, 0.9), "budget", {"budget": np.int64(1)}, 1),
        ((0.7, 0.8, 0.8, 0.9), "budget", {"budget": 4}, 2),
        ((0.7, 0.8, 0.89, 0.9), "tolerance", {}, 4),
        ((0.7, 0.8, 0.89, 0.9), "tolerance", {"tolerance": 0.1}, 2),  # 0.9 - 0.1 is not 0.8
        ((0.7, 0.8, 0.89, 0.9), "tolerance", {"tolerance": 0}, 8),
        ((0.7, 0.8, 0.89, 0.9), "tolerance", {"tolerance": 5.0}, 1),
        ((-9.0, -4.0, -3.5, -3.6), "best", {}, 4),
        ((-9.0, -4.0, -3.5, -3.6), "tolerance", {"tolerance": 0.5}, 2),
        ((-0.5, -1e-18, 0.0), "best", {}, 2),  # next to the scores in the folds, 1e-18 is rounding
    ],
)
def test_rules(means, rule, options, size):
    scores = with_means(*means)
    index = choose(scores, rule, **options)
    assert type(index) is int
    assert scores.n_features[index] == size


def test_one_se_uses_the_error_at_the_best_size():
    per_fold = [[0.7, 0.80, 0.80], [0.9, 0.84, 0.98]]  # means 0.8, 0.82, 0.89; se 0.1, 0.02, 0.09
    scores = PathScores([1, 2, 3], per_fold)
    assert choose(scores, "one_se") == 0
    per_fold = [[0.6, 0.80, 0.88], [1.0, 0.84, 0.90]]  # se at the best is 0.01
    assert choose(PathScores([1, 2, 3], per_fold), "one_se") == 2


def test_floating_point_noise_does_not_decide():
    scores = with_means(0.9, 0.9 * (1 + 1e-15), 0.9 * (1 + 3e-15))
    for rule in BY_SCORE:
        assert choose(scores, rule, budget=4, tolerance=0.0) == 0
    assert choose(with_means(0.9, 0.9 + 1e-8), "best") == 1


def test_one_fold_has_no_one_se_rule():
    scores = PathScores([1, 2, 3], [[0.7, 0.9, 0.8]])
    with pytest.warns(UserWarning, match="at least two folds"):
        assert choose(scores, "one_se") == 1
    assert choose(scores, "best") == 1


@pytest.mark.parametrize("rule", RULES)
def test_without_a_finished_fold_nothing_is_chosen(rule):
    scores = PathScores([1, 2], np.full((3, 2), np.nan))
    with pytest.raises(DataError, match="no fold is finished"):
        choose(scores, rule, budget=2)


def test_discoveries_are_the_largest_size_within_their_number():
    scores = with_means(0.9, 0.5, 0.7, sizes=[1, 3, 10])
    assert [choose(scores, "fdr", discoveries=k) for k in (1, 3, 10)] == [0, 1, 2]
    for k, place, few in ((2, 0, "1 feature"), (9, 1, "3 features"), (50, 2, "10 features")):
        with pytest.warns(UserWarning, match=f"takes {few}; with {k} among n_features") as caught:
            assert choose(scores, "fdr", discoveries=k) == place
        assert len(caught) == 1
    with pytest.warns(UserWarning, match="No feature is a discovery: .* the smallest size, 1 fea"):
        assert choose(scores, "fdr", discoveries=0) == 0
    assert choose(scores, "fdr", discoveries=10, budget=3) == 1  # as was asked for
    with pytest.raises(DataError, match="knows p-values"):
        choose(scores, "fdr")


@pytest.mark.parametrize("rule", BY_SCORE)
def test_one_size_is_chosen_by_every_rule(rule):
    assert choose(with_means(0.3, sizes=[7]), rule, budget=7) == 0


@pytest.mark.parametrize("rule", ["best", "one_se", "tolerance", "budget"])
def test_a_budget_is_the_rule_on_the_sizes_up_to_it(rule):
    rng = np.random.default_rng(0)
    for _ in range(50):
        per_fold = rng.normal(size=(4, 6)).round(1)
        whole = PathScores([1, 2, 3, 5, 8, 9], per_fold)
        for count in range(1, 7):
            few = PathScores(whole.n_features[:count], per_fold[:, :count])
            budget = int(whole.n_features[count - 1])
            plain = "best" if rule == "budget" else rule
            expected = choose(few, plain, tolerance=0.1)
            assert choose(whole, rule, budget=budget, tolerance=0.1) == expected


def with_costs(scores, full, folds=None):
    folds = np.tile(full if folds is None else folds, (scores.n_folds, 1))
    return PathScores(scores.n_features, scores.per_fold, costs_per_fold=folds, full_costs=full)


def test_a_budget_of_costs_looks_at_sizes_that_cost_no_more():
    """Of paths that are not nested a larger size may be the cheaper one."""
    scores = with_costs(with_means(0.5, 0.8, 0.9, 0.7), [1.0, 9.0, 3.5, 2.0], [9.0] * 4)
    sizes = {
        (rule, budget): int(scores.n_features[choose(scores, rule, budget=budget, tolerance=0.25)])
        for rule in ("best", "one_se", "budget", "tolerance")
        for budget in (1.0, 2.5, 3.5, 100)
    }
    assert sizes == {
        ("best", 1.0): 1, ("best", 2.5): 8, ("best", 3.5): 4, ("best", 100): 4,
        ("one_se", 1.0): 1, ("one_se", 2.5): 8, ("one_se", 3.5): 4, ("one_se", 100): 4,
        ("budget", 1.0): 1, ("budget", 2.5): 8, ("budget", 3.5): 4, ("budget", 100): 4,
        ("tolerance", 1.0): 1, ("tolerance", 2.5): 1, ("tolerance", 3.5): 4, ("tolerance", 100): 2,
    }  # fmt: skip
    with pytest.raises(DataError, match=r"no size costs at most 0.5; the cheapest costs 1"):
        choose(scores, "best", budget=0.5)
    with pytest.raises(ValueError, match="budget must be a cost"):
        choose(scores, "best", budget=-1.0)
    only_folds = PathScores(scores.n_features, scores.per_fold, costs_per_fold=[[1, 2, 3, 4]] * 2)
    assert choose(only_folds, "best", budget=3.0) == 2


@pytest.mark.parametrize("full", [[1.0, 2.0], [1.0, -1.0, 2.0, 3.0], [1.0, np.nan, 2.0, 3.0]])
def test_costs_that_are_none(full):
    scores = with_means(0.5, 0.8, 0.9, 0.7)
    with pytest.raises(ValueError, match="full_costs must be finite numbers of at least 0"):
        PathScores(scores.n_features, scores.per_fold, full_costs=full)


def test_a_point_with_a_cost_survives():
    point = make_point(cost=12.5)
    assert "cost 12.5" in repr(point)
    meta, arrays = point.to_state()
    assert OperatingPoint.from_state(json.loads(json.dumps(meta)), arrays) == point
    assert point != make_point()
    assert make_point().cost is None
    with pytest.raises(ValueError, match="cost must"):
        make_point(cost=-1.0)


def test_a_budget_below_every_size():
    with pytest.raises(DataError, match="at most 4; the smallest is 5"):
        choose(with_means(0.5, 0.6, sizes=[5, 10]), "budget", budget=4)


def test_own_rules():
    scores = with_means(0.5, 0.6, 0.7, sizes=[5, 10, 20])
    assert choose(scores, lambda s: s.n_features[1]) == 1
    assert choose(scores, lambda s: 20) == 2

    def knee(scores):
        return 12

    with pytest.raises(
        DataError, match=r"'knee' .*smaller size is 10, the nearest larger size is 20"
    ):
        choose(scores, knee)
    for wrong in (10.0, None, "10", True, [10]):
        with pytest.raises(TypeError, match="must return a number of features"):
            choose(scores, lambda s, wrong=wrong: wrong)

    class Rule:
        def __call__(self, scores):
            return 11

    with pytest.raises(DataError, match="'Rule'"):
        choose(scores, Rule())


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("onese",), ValueError, "did you mean 'one_se'"),
        (("one-se",), ValueError, "did you mean 'one_se'"),
        (
            ("zzz",),
            ValueError,
            r"'one_se', 'budget', 'tolerance', 'stable', 'fdr' or a callable, got 'zzz'$",
        ),
        ((None,), ValueError, "rule must be one of"),
        ((["best"],), ValueError, "rule must be one of"),
        (("budget",), ValueError, "needs a budget"),
        (("budget", 0), ValueError, "positive integer"),
        (("budget", 2.5), TypeError, "positive integer"),
        (("budget", True), TypeError, "positive integer"),
        (("best", "many"), TypeError, "positive integer"),
        (("tolerance", None, -0.1), ValueError, "at least 0"),
        (("tolerance", None, float("nan")), ValueError, "at least 0"),
        (("tolerance", None, float("inf")), ValueError, "at least 0"),
        (("tolerance", None, "0.1"), TypeError, "at least 0"),
        (("tolerance", None, None), ValueError, "needs a tolerance"),
    ],
)
def test_wrong_rules_are_refused_before_any_work(arguments, error, message):
    with pytest.raises(error, match=message):
        check_rule(*arguments)
    keywords = dict(zip(("budget", "tolerance"), arguments[1:]))
    with pytest.raises(error, match=message):
        choose(with_means(0.5, 0.6), arguments[0], **keywords)


def test_right_rules_pass_the_check():
    for rule in ("best", "one_se", "tolerance", max):
        check_rule(rule, None, 0.01)
    check_rule("budget", np.int32(3))
    check_rule("best", None, None)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, "2 features, accuracy 0.894 +- 0.008, p = 1.023, predictor 'joint_rbf'"),
        ({"se": np.nan, "predictor": ""}, "2 features, accuracy 0.894, p = 1.023"),
        (
            {"parameter": np.nan, "scoring": "r2", "score": -0.1},
            "2 features, r2 -0.100 +- 0.008, predictor 'joint_rbf'",
        ),
        (
            {"n_features": 1, "feature_names": ["b"], "support": [0, 1, 0], "parameter_name": "m"},
            "1 feature, accuracy 0.894 +- 0.008, m = 1.023, predictor 'joint_rbf'",
        ),
    ],
)
def test_a_point_is_one_line(changes, text):
    assert repr(make_point(**changes)) == f"OperatingPoint({text})"


def test_a_point_is_frozen_and_holds_copies():
    settings, weights = {"C": [1.0]}, np.array([0.2, 0.7, 0.0])
    point = make_point(settings=settings, weights=weights)
    settings["C"].append(2.0)
    weights[0] = 9.0
    assert point.settings == {"C": [1.0]}
    assert point.weights[0] == 0.2
    assert point.support.dtype == bool
    with pytest.raises(FrozenInstanceError):
        point.score = 1.0
    with pytest.raises(ValueError, match="read-only"):
        point.weights[0] = 1.0
    assert point == pickle.loads(pickle.dumps(point))
    assert point != make_point()


def test_numbers_of_numpy_in_the_settings_become_plain():
    point = make_point(settings={"n": np.int64(3), "C": np.float64(0.5), "flag": np.bool_(True)})
    assert point.settings == {"n": 3, "C": 0.5, "flag": True}
    assert type(point.settings["n"]) is int


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"n_features": 2.0}, TypeError, "integer"),
        ({"support": [1, 1]}, ValueError, "support"),
        ({"feature_names": ("a",)}, ValueError, "1 names, but the support 2"),
        ({"feature_names": "ab"}, ValueError, "sequence of strings"),
        ({"feature_names": (1, 2)}, ValueError, "sequence of strings"),
        ({"settings": {"C": object()}}, ValueError, "JSON-able"),
        ({"settings": {"C": float("nan")}}, ValueError, "JSON-able"),
        ({"settings": None}, ValueError, "dict"),
    ],
)
def test_points_that_do_not_fit_together(changes, error, message):
    with pytest.raises(error, match=message):
        make_point(**changes)


@pytest.mark.parametrize("changes", [{}, {"se": np.nan, "parameter": np.nan, "settings": {}}])
def test_state_goes_through_json_and_arrays(changes):
    point = make_point(feature_names=("\ud83d", "é"), **changes)
    meta, arrays = point.to_state()
    assert not any(array.dtype.hasobject for array in arrays.values())
    assert OperatingPoint.from_state(json.loads(json.dumps(meta, allow_nan=False)), arrays) == point
    for part, name in [(meta, "rule"), (meta, "settings"), (arrays, "numbers")]:
        lacking = {key: value for key, value in part.items() if key != name}
        state = (lacking, arrays) if part is meta else (meta, lacking)
        with pytest.raises(ValueError, match=f"lacks {name}"):
            OperatingPoint.from_state(*state)


# -- the rule "stable" -----------------------------------------------------------------------------


def with_choices(*folds, d=40, sizes=None):
    """Scores of folds that choose the first so many columns of these orders at every size."""
    sizes = np.arange(1, len(folds[0]) + 1) if sizes is None else np.array(sizes)
    supports = []
    for order in folds:
        chosen = np.zeros((len(sizes), d), dtype=bool)
        for i, k in enumerate(sizes):
            chosen[i, list(order[:k])] = True
        supports.append(chosen)
    return PathScores(sizes, np.full((len(folds), len(sizes)), 0.5), supports)


def slow_agreement(scores):
    """Plain loops over features, folds and sizes."""
    found = []
    folds = [own.toarray() for own in scores.supports]
    d = folds[0].shape[1]
    for i, k in enumerate(scores.n_features.tolist()):
        every = sum(all(own[i, j] for own in folds) for j in range(d))
        chance = (k / d) ** (len(folds) - 1)
        found.append((every / k - chance) / (1 - chance) if k < d else float("nan"))
    return found


def test_the_largest_size_that_folds_agree_on_is_stable():
    same, other = [*range(12), 12, 13], [*range(12), 20, 21]
    scores = with_choices(same, same, other)
    assert scores.n_features[choose(scores, "stable")] == 13  # 12 of 13 in common is 92 %
    assert scores.n_features[choose(scores, "stable", budget=5)] == 5
    slow = slow_agreement(scores)
    assert slow[12] >= 0.9 > slow[13]
    assert scores.n_features[choose(with_choices(same, same, same), "stable")] == 14


def test_what_folds_have_in_common_by_chance_is_no_agreement():
    order = list(range(20))
    scores = with_choices(order, [*order[:17], 18, 17, 19], d=20)
    slow = slow_agreement(scores)
    assert 17 / 18 > 0.9 > slow[17]  # seventeen of eighteen, of twenty columns
    assert scores.n_features[choose(scores, "stable")] == 19
    wide = with_choices(order, [*order[:17], 18, 17, 19], d=200)
    assert slow_agreement(wide)[17] > 0.9


def test_without_agreement_the_most_agreed_size_is_taken():
    scores = with_choices([0, 1, 2, 3], [1, 0, 4, 5], [6, 7, 1, 0])
    with pytest.warns(UserWarning, match="takes 4 features, with an agreement of 0.49"):
        assert scores.n_features[choose(scores, "stable")] == 4
    assert np.nanmax(slow_agreement(scores)) == pytest.approx((0.5 - 0.01) / 0.99)


def test_one_fold_or_all_columns_agree_on_nothing():
    with pytest.warns(UserWarning, match="at least two folds"):
        assert choose(with_choices([0, 1, 2]), "stable") == 0
    with pytest.warns(UserWarning, match="a column to leave out"):
        assert choose(with_choices([0, 1], [1, 0], d=2, sizes=[2]), "stable") == 0
    with pytest.raises(DataError, match="features chosen in every fold"):
        choose(with_means(0.7, 0.8), "stable")


def test_an_unfinished_fold_does_not_count_for_agreement():
    scores = with_choices([0, 1, 2], [0, 1, 2], [7, 8, 9])
    per_fold = scores.per_fold.copy()
    per_fold[2] = np.nan
    rest = PathScores(scores.n_features, per_fold, [own.toarray() for own in scores.supports])
    assert rest.n_features[choose(rest, "stable")] == 3
