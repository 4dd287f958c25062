"""Checks of settings, and warnings that point to the line of the user."""

from __future__ import annotations

import fractions
import inspect
import re
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

import kernelpath as kp
from kernelpath.utils import checks
from kernelpath.utils.warn import warn

SOURCE = Path(kp.__file__).parent
NUMBERS = [2, 2.5, np.float32(2.5), np.float64(-1), np.int8(3), fractions.Fraction(1, 3)]
NOT_NUMBERS = [True, False, np.True_, "2", None, 2j, [2], np.array([2.0]), np.array(2.0)]
NOT_FINITE = [float("nan"), float("inf"), -np.inf, np.float32("nan"), 10**400]


# -- checks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", NUMBERS)
def test_numbers(value):
    assert checks.is_number(value)
    assert checks.is_finite(value)
    checks.real("x", value)


@pytest.mark.parametrize("value", NOT_NUMBERS)
def test_what_is_no_number(value):
    assert not checks.is_number(value)
    assert not checks.is_finite(value)
    assert not checks.is_whole(value)
    for check in (checks.real, checks.whole):
        with pytest.raises(ValueError, match=re.escape(f"x must be a positive, got {value!r}")):
            check("x", value, must="be a positive")


@pytest.mark.parametrize("value", NOT_FINITE)
def test_what_is_not_finite(value):
    assert checks.is_number(value)
    assert not checks.is_finite(value)
    with pytest.raises(ValueError, match="x must be a number, got "):
        checks.real("x", value)


def test_whole_numbers():
    assert all(checks.is_whole(value) for value in (0, -3, 10**400, np.int64(4), np.uint8(1)))
    assert not any(
        checks.is_whole(value) for value in (1.0, np.float64(2), "1", fractions.Fraction(2))
    )


@pytest.mark.parametrize(
    ("bounds", "inside", "outside", "words"),
    [
        ({"above": 0}, [1e-9, 5], [0, -1], "a positive number"),
        ({"above": 0, "below": 1}, [0.5], [0, 1, 1.5], "a positive number below 1"),
        ({"at_least": 0}, [0, 3], [-1e-9], "a number of at least 0"),
        ({"at_least": 1, "at_most": 2}, [1, 2], [0.9, 2.1], "a number of at least 1, of at most 2"),
        ({"above": 1.5}, [1.6], [1.5, 0], "a number above 1.5"),
    ],
)  # fmt: skip
def test_bounds(bounds, inside, outside, words):
    for value in inside:
        checks.real("x", value, **bounds)
        checks.real("x", np.float64(value), **bounds)
    for value in outside:
        with pytest.raises(ValueError, match=re.escape(f"x must be {words}, got {value!r}")):
            checks.real("x", value, **bounds)


@pytest.mark.parametrize(
    ("bounds", "outside", "words"),
    [
        ({}, 0.5, "a whole number"),
        ({"at_least": 1}, 0, "a whole number from 1 on"),
        ({"at_least": 0, "at_most": 4}, 5, "a whole number from 0 to 4"),
    ],
)
def test_bounds_of_whole_numbers(bounds, outside, words):
    checks.whole("x", 3, **bounds)
    with pytest.raises(ValueError, match=f"^x must be {words}, got {outside}$"):
        checks.whole("x", outside, **bounds)


def test_wording_error_and_flags_as_numbers():
    checks.real("C", True, above=0, bools=True)
    checks.whole("verbose", False, bools=True)
    with pytest.raises(ValueError, match="C must be a positive number, got False"):
        checks.real("C", False, above=0, bools=True)
    with pytest.raises(TypeError, match=r"^k must lie somewhere, got 'a'$"):
        checks.whole("k", "a", must="lie somewhere", error=TypeError)


def test_flags():
    for value in (True, False, np.True_, np.False_):
        checks.flag("x", value)
    for value in (0, 1, None, "yes"):
        with pytest.raises(ValueError, match=f"^x must be True or False, got {value!r}$"):
            checks.flag("x", value)


def test_words():
    checks.one_of("x", "log", {"log": 1, "root": 2})
    with pytest.raises(ValueError, match=r"^x must be one of 'log' or a number, got 3$"):
        checks.one_of("x", 3, ("log",), or_else="a number")
    for value in (["log"], np.array(["log", "log"])):  # neither can be looked up
        with pytest.raises(ValueError, match="x must be one of 'log', got "):
            checks.one_of("x", value, {"log": 1})


# -- warnings -------------------------------------------------------------------------------------


def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    X[:, 2] = 1.0
    return X, (X[:, 0] > 0).astype(int)


X, Y = table()
SELECTOR = kp.LpKTASelector(n_features_to_select=2)


def line():
    """Number of the line that asks."""
    return inspect.currentframe().f_back.f_lineno


def where(caught):
    assert caught
    return {(one.filename, one.lineno) for one in caught}


def heard():
    return pytest.warns(UserWarning, match="constant")


def test_the_line_of_the_call_is_named():
    with heard() as caught:
        here = line(); clone(SELECTOR).fit(X, Y)  # fmt: skip  # noqa: E702
    assert where(caught) == {(__file__, here)}


def test_the_line_of_the_call_of_a_pipeline_is_named():
    pipeline = make_pipeline(clone(SELECTOR), KNeighborsClassifier())
    with heard() as caught:
        here = line(); pipeline.fit(X, Y)  # fmt: skip  # noqa: E702
    assert where(caught) == {(__file__, here)}
    pandas = clone(SELECTOR).set_output(transform="pandas")
    with heard() as caught:
        here = line(); pandas.fit_transform(X, Y)  # fmt: skip  # noqa: E702
    assert where(caught) == {(__file__, here)}


@pytest.mark.parametrize("n_jobs", [None, 1])
def test_the_line_of_the_call_of_a_cross_validation_is_named(n_jobs):
    pipeline = make_pipeline(clone(SELECTOR), KNeighborsClassifier())
    with heard() as caught:
        here = line(); cross_val_score(pipeline, X, Y, cv=2, n_jobs=n_jobs)  # fmt: skip  # noqa: E702
    assert where(caught) == {(__file__, here)}
    assert len(caught) == 2


def test_the_line_in_a_thread_is_named():
    places = []

    def work():
        places.append(line() + 1)
        clone(SELECTOR).fit(X, Y)

    with heard() as caught:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert where(caught) == {(__file__, places[0])}


def test_without_a_line_of_the_user_the_outermost_is_named():
    with heard() as caught:
        thread = threading.Thread(target=clone(SELECTOR).fit, args=(X, Y))
        thread.start()
        thread.join()
    assert {Path(one.filename) for one in caught} == {Path(threading.__file__)}


@pytest.mark.parametrize("backend", ["threading", "sequential"])
def test_workers_of_joblib_warn(backend):
    def fit(selector):
        places.append(line() + 1)
        return selector.fit(X, Y)

    places = []
    with heard() as caught:
        joblib.Parallel(n_jobs=2, backend=backend)(
            joblib.delayed(fit)(clone(SELECTOR)) for _ in range(2)
        )
    assert where(caught) == {(__file__, places[0])}


SCRIPT = """
import numpy as np
import kernelpath as kp

X = np.random.default_rng(0).normal(size=(60, 3))
y = (X[:, 0] > 0).astype(int)
X[:, 2] = 1.0
for _ in range(3):
    kp.LpKTASelector().fit(X, y)
kp.LpKTASelector().fit(X, y)
"""


def test_a_script_shows_its_lines(tmp_path):
    file = tmp_path / "script.py"
    file.write_text(SCRIPT)
    command = [sys.executable, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    told = re.findall(r"script\.py:(\d+): ConstantColumnWarning: .*constant", done.stderr)
    assert list(dict.fromkeys(told)) == ["9", "10"]


def test_the_command_line_has_no_line_of_the_user_and_says_it(tmp_path):
    file = tmp_path / "table.csv"
    rows = [",".join(f"{value:.6f}" for value in row) for row in np.column_stack([X, Y])]
    file.write_text("\n".join(["a,b,c,d,y", *rows]))
    command = [
        sys.executable,
        "-W",
        "error",
        "-m",
        "kernelpath",
        "path",
        str(file),
        "--target",
        "y",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "Column 'c' is constant" in done.stdout + done.stderr
    assert "ColumnWarning" not in done.stderr


def test_filters_by_module_and_category_hold():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", category=RuntimeWarning, module=re.escape(__name__))
        warn("Not heard.", RuntimeWarning)
        with pytest.raises(UserWarning, match="Heard"):
            warn("Heard.")


def test_nobody_counts_frames():
    counted = [
        str(file.relative_to(SOURCE))
        for file in SOURCE.rglob("*.py")
        if re.search(r"stacklevel|warnings\.warn\(", file.read_text(encoding="utf-8"))
        and file.name != "warn.py"
    ]
    assert counted == []
