"""Words of errors: what is suggested for a name that is not known."""

import pytest
from sklearn.metrics import get_scorer_names

from kernelpath.errors import nearest, not_one_of

PREDICTORS = ["weighted_kernel", "joint_rbf", "logistic", "ridge", "boosting", "forest", "auto"]
RULES = ["one_se", "best", "budget", "tolerance", "stable"]


@pytest.mark.parametrize(
    ("given", "known", "meant"),
    [
        ("f1_score", get_scorer_names(), "f1"),
        ("auc", get_scorer_names(), "roc_auc"),
        ("joint_rfb", PREDICTORS, "joint_rbf"),
        ("Forest", PREDICTORS, "forest"),
        ("one-se", RULES, "one_se"),
        ("bets", RULES, "best"),
        ("class", ["auto", "classification", "regression"], "classification"),
        ("al", ["all"], "all"),
        ("survival", ["sex", "survived"], "survived"),
    ],
)
def test_a_name_that_is_near_is_suggested(given, known, meant):
    assert nearest(given, known) == [meant]
    assert f"did you mean {meant!r}?" in str(not_one_of("it", given, known))


@pytest.mark.parametrize(
    ("given", "known"),
    [
        ("none", RULES),
        ("xgboost", PREDICTORS),
        ("r", get_scorer_names()),
        ("target", ["age", "weight", "bmi"]),
        ("income", ["outcome"]),
        ("a", ["age"]),
        ("id", ["bid"]),
        ("", ["age"]),
    ],
)
def test_a_name_that_is_far_is_not(given, known):
    assert nearest(given, known) == []
    assert "did you mean" not in str(not_one_of("it", given, known))


def test_several_names_come_nearest_first():
    assert nearest("class", ["glass", "first_class", "pclass"], n=5) == [
        "pclass",
        "glass",
        "first_class",
    ]
