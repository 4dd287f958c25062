"""Counts in words: one is one, wherever it is printed."""

import re

import numpy as np
import pytest

import kernelpath as kp
from kernelpath.report.html import render_html
from kernelpath.utils.words import counted, listed

NOUNS = "row|column|feature|fold|size|point|juncture point|class|model|value|label|time|setting"
WRONG = re.compile(rf"(?<![\d.,])1 (?:{NOUNS})(?:s|es)\b|\b\w+\((?:s|es)\)")


@pytest.mark.parametrize(
    ("count", "words"), [(0, "0 rows"), (1, "1 row"), (2, "2 rows"), (12000, "12,000 rows")]
)
def test_counts(count, words):
    assert counted(count, "row") == words
    assert counted(count, "class", "classes").endswith("class" if count == 1 else "classes")


def test_lists():
    assert listed(["a", "b"]) == "a and b"


def test_one_feature_is_one_everywhere(capsys):
    """Whatever is said of a table with one column and a size of one."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 1))
    y = X[:, 0] + rng.normal(size=40) > 0
    model = kp.PathCV(cv=2, predictor="logistic", verbose=1).fit(X, y)
    said = capsys.readouterr()
    objects = (model.path_, model.path_[0], model.scores_, model.operating_point_, model.plan_)
    texts = [said.out, said.err, *map(str, objects), *map(str, model.reference_scores_.values())]
    page = re.sub(r"<script.*?</script>|<style.*?</style>", "", render_html(model), flags=re.S)
    for text in (*texts, re.sub(r"<[^>]*>", " ", page)):
        assert not WRONG.search(text), WRONG.search(text)


@pytest.mark.parametrize(
    ("do", "words"),
    [
        (lambda X, y: kp.LpKTASelector().fit(X, y[:1]), "but y has 1 value."),
        (lambda X, y: kp.LpKTASelector(must_include=[True, False]).fit(X, y), "needs 1 value,"),
    ],
)
def test_errors_count_alike(do, words):
    X = np.arange(12.0)[:, None]
    y = np.repeat([0, 1], 6)
    with pytest.raises((ValueError, TypeError), match=words) as caught:
        do(X, y)
    assert not WRONG.search(str(caught.value))
