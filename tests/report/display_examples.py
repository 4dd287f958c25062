"""Summaries to draw, and a check that nothing in a picture covers anything else."""

from __future__ import annotations

from functools import lru_cache

import matplotlib as mpl
import numpy as np
import pandas as pd
from sklearn.datasets import load_iris

import kernelpath as kp
from kernelpath.path.feature_path import PathEvent
from kernelpath.report.summary import summarize_cv, summarize_path


@lru_cache
def iris_summary():
    """A cross-validation with three classes, real names and all that goes with it."""
    data = load_iris(as_frame=True)
    published = kp.LpKTASelector(statistic="alignment", bandwidth="std")  # chooses several
    model = kp.PathCV(published, cv=3, predictor="joint_rbf", rule="best")
    return summarize_cv(model.fit(data.data, np.asarray(data.target_names)[data.target]))


@lru_cache
def mixed_summaries():
    """Summaries of a table with categories: values, two classes, four classes."""
    rng = np.random.default_rng(0)
    n = 120
    table = pd.DataFrame(
        {
            "colour": pd.Categorical(rng.choice(["red", "green", "blue"], n)),
            "city": pd.Categorical(rng.choice([f"$town$ number {i}" for i in range(15)], n)),
            "dose": 1e7 + rng.normal(size=n),
            "age": rng.uniform(20, 80, n).round(),
        }
    )
    y = (table.colour == "red") + 0.04 * table.age + 0.1 * table.city.cat.codes
    targets = {
        "values": y,
        "two": np.where(y > y.median(), "ill", "well"),
        "four": np.asarray(pd.qcut(y, 4, labels=["$low", "mid", "high", "top"]).astype(str)),
    }
    return {
        name: summarize_path(
            kp.LpKTASelector(kernel="auto").fit(table, target).path_, table, target
        )
        for name, target in targets.items()
    }


def words(ax):
    return [text.get_text() for text in ax.texts]


def boxes_of(texts):
    seen = [text for text in texts if text.get_text() and text.get_visible()]
    return [mpl.text.Text.get_window_extent(text) for text in seen]


def all_texts(axes):
    """Everything written in and around axes, labels of hidden ticks apart."""
    for ax in np.ravel(axes):
        if not ax.axison:
            yield from ax.texts
            continue
        yield from (*ax.texts, ax.xaxis.label, ax.yaxis.label)
        yield from (ax.title, ax._left_title)
        yield from ax.get_xticklabels()
        yield from ax.get_yticklabels()


def assert_nothing_collides(axes):
    """No text covers another, and none is cut off by the edge of the figure."""
    figure = np.ravel(axes)[0].figure
    figure.canvas.draw()
    boxes = boxes_of(all_texts(axes))
    assert boxes
    for i, box in enumerate(boxes):
        assert figure.bbox.x0 - 1 <= box.x0 <= box.x1 <= figure.bbox.x1 + 1
        assert figure.bbox.y0 - 1 <= box.y0 <= box.y1 <= figure.bbox.y1 + 1
        assert not any(box.shrunk(0.97, 0.9).overlaps(other) for other in boxes[:i])


def turning_path(names=None):
    """A path whose sum of weights grows, falls and grows again; x1 leaves and comes back."""
    weights = 0.01 * np.array(
        [
            [1.0, 0.0, 0.0, 0.0],
            [2.0, 2.0, 0.0, 0.0],
            [3.0, 4.0, 1.0, 0.0],
            [2.0, 0.0, 3.0, 0.0],
            [3.0, 0.0, 9.0, 1.0],
            [4.0, 1.0, 15.0, 1.0],
        ]
    )
    sums = weights.sum(axis=1)
    happened = [("enter", 0, 0), ("enter", 1, 1), ("enter", 2, 2), ("turn", -1, 2),
                ("leave", 1, 3), ("turn", -1, 3), ("enter", 3, 4), ("enter", 1, 5)]  # fmt: skip
    return kp.FeaturePath(
        method="l1kr", parameter_name="sum of weights", parameters=sums, weights=weights,
        supports=weights > 0, values=-np.arange(6.0), kkt=np.full(6, 1e-9),
        gaps=np.full(6, np.nan), feature_names=names,
        events=[PathEvent(kind, i, "", sums[at], at) for kind, i, at in happened],
    )  # fmt: skip
