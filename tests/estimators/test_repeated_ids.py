"""Columns that are called an id and repeat: said where rows may belong together, and only there."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import pytest

import kernelpath as kp
from cli.helpers import done, save_csv
from kernelpath.errors import ReadingWarning
from kernelpath.tables.kinds import Kind
from kernelpath.tables.repeated import repeats

N = 80
SAID = (
    "'id' repeats (16 values in 80 rows): if rows with the same id belong together, give --groups "
    "id (groups=) so that folds keep them together; --drop id leaves it out."
)


def table():
    rng = np.random.default_rng(0)
    id_ = np.repeat(np.arange(16), 5)
    y = np.where(rng.normal(size=N) > 0, "yes", "no")
    return pd.DataFrame({"id": id_, "x": rng.normal(size=N), "z": rng.normal(size=N)}), y


@pytest.mark.parametrize(
    ("name", "values", "kind", "answer"),
    [
        ("id", np.arange(N) // 5, Kind.NUMBER, (16, N)),
        ("patient_id", np.arange(N) // 5, Kind.CATEGORY, (16, N)),
        ("id", [*range(N), np.nan], Kind.NUMBER, None),  # an identifier
        ("id", np.arange(12), Kind.CATEGORY, None),  # no value repeats
        ("id", np.arange(N) % 2, Kind.NUMBER, None),
        ("id", np.arange(N) // 5 + 0.5, Kind.NUMBER, None),
        ("id", np.arange(N) // 5, Kind.DATE, None),
        ("visits", np.arange(N) // 5, Kind.NUMBER, None),
    ],
)
def test_which_columns_repeat(name, values, kind, answer):
    assert repeats(name, np.asarray(values, dtype=float), kind) == answer


def fitted(X, y, **given):
    model = kp.PathCV(cv=3, n_features=[1, 2], references=False, random_state=0, nested=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y, **given)
    told = [str(one.message) for one in caught if one.category is ReadingWarning]
    return [text for text in told if "repeats" in text], model.summary()["notices"]


def test_an_id_that_repeats_is_said_once_and_stays():
    X, y = table()
    told, notices = fitted(X, y)
    assert told == [SAID]  # the inner fits do not say it again
    assert [one["text"] for one in notices if one["kind"] == "repeated_id"] == [SAID]


def test_nothing_is_said_with_groups():
    X, y = table()
    told, notices = fitted(X, y, groups=X["id"])
    assert told == []
    assert all(one["kind"] != "repeated_id" for one in notices)


def test_the_command_says_it_beside_the_result(tmp_path):
    X, y = table()
    file = save_csv(tmp_path, X.assign(y=y))
    given = ("path", file, "-t", "y", "--cv", "3", "--sizes", "1,2")
    assert SAID in done(*given).stdout
    found = json.loads(done(*given, "--groups", "id", "--json").stdout)
    assert not any("repeats" in note for note in found["notes"])
