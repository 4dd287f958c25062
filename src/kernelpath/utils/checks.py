"""Checks of settings: each refuses a value with one sentence that says what it must be.

Settings that others make pointless are refused, too: what was asked for would not happen.
"""

from __future__ import annotations

import inspect
import math
import numbers
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelpath.errors import not_one_of

POSITIVE = "be a number that is positive"
NOT_NEGATIVE = "be a number that is at least 0"


def is_number(value: Any) -> bool:
    """Whether a value is a real number of Python or NumPy; True and False are none.

    Examples
    --------
    >>> is_number(np.float32(2)), is_number(float("nan")), is_number(True), is_number("2")
    (True, True, False, False)
    """
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def is_whole(value: Any) -> bool:
    """Whether a value is an integer of Python or NumPy; True and False are none.

    Examples
    --------
    >>> is_whole(np.int8(2)), is_whole(2.0), is_whole(True)
    (True, False, False)
    """
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def is_finite(value: Any) -> bool:
    """Whether a value is a number that double precision can hold.

    Examples
    --------
    >>> is_finite(1e300), is_finite(float("inf")), is_finite(10**400)
    (True, False, False)
    """
    try:
        return is_number(value) and math.isfinite(value)
    except OverflowError:
        return False


def real(
    name: str,
    value: Any,
    *,
    at_least: float | None = None,
    above: float | None = None,
    at_most: float | None = None,
    below: float | None = None,
    must: str = "",
    bools: bool = False,
    error: type[Exception] = ValueError,
) -> None:
    """Refuse what is not a finite number within the bounds.

    Parameters
    ----------
    name : str
    value : object
    at_least, above, at_most, below : float, optional
        Bounds; those of ``above`` and ``below`` do not belong to the range.
    must : str, optional
        What the sentence says after "must"; by default it follows from the bounds.
    bools : bool
        Whether True and False count, as 1 and 0.
    error : type
        What is raised.

    Examples
    --------
    >>> real("C", 0.5, above=0)
    >>> real("C", -1, above=0)
    Traceback (most recent call last):
        ...
    ValueError: C must be a positive number, got -1
    >>> real("share", 2, above=0, at_most=1, must="be a share of the rows")
    Traceback (most recent call last):
        ...
    ValueError: share must be a share of the rows, got 2
    """
    number = is_finite(value) or (bools and isinstance(value, bool))
    if number and _within(value, at_least, above, at_most, below):
        return
    raise error(f"{name} must {must or _range(at_least, above, at_most, below)}, got {value!r}")


def whole(
    name: str,
    value: Any,
    *,
    at_least: int | None = None,
    at_most: int | None = None,
    must: str = "",
    bools: bool = False,
    error: type[Exception] = ValueError,
) -> None:
    """Refuse what is not a whole number within the bounds; the parameters are those of `real`.

    Examples
    --------
    >>> whole("max_iter", 100, at_least=1)
    >>> whole("max_iter", 0, at_least=1)
    Traceback (most recent call last):
        ...
    ValueError: max_iter must be a whole number from 1 on, got 0
    >>> whole("position", 7, at_least=0, at_most=4)
    Traceback (most recent call last):
        ...
    ValueError: position must be a whole number from 0 to 4, got 7
    """
    number = is_whole(value) or (bools and isinstance(value, bool))
    if number and _within(value, at_least, None, at_most, None):
        return
    words = "be a whole number" + ("" if at_least is None else f" from {at_least}")
    if at_most is not None:
        words += f" to {at_most}"
    elif at_least is not None:
        words += " on"
    raise error(f"{name} must {must or words}, got {value!r}")


def flag(name: str, value: Any) -> None:
    """Refuse what is neither True nor False.

    Examples
    --------
    >>> flag("nested", 1)
    Traceback (most recent call last):
        ...
    ValueError: nested must be True or False, got 1
    """
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {value!r}")


def one_of(name: str, value: Any, options: Iterable[str], or_else: str = "") -> None:
    """Refuse what is none of the words; ``or_else`` says what else the setting takes.

    Examples
    --------
    >>> one_of("solver", "exakt", ["exact", "fast"], or_else="None")
    Traceback (most recent call last):
        ...
    ValueError: solver must be one of 'exact', 'fast' or None, got 'exakt'; did you mean 'exact'?
    """
    words = list(options)
    if not (isinstance(value, str) and value in words):
        raise not_one_of(name, value, words, or_else)


def _within(
    value: Any,
    at_least: float | None,
    above: float | None,
    at_most: float | None,
    below: float | None,
) -> bool:
    high_enough = (at_least is None or value >= at_least) and (above is None or value > above)
    low_enough = (at_most is None or value <= at_most) and (below is None or value < below)
    return bool(high_enough and low_enough)


def _range(
    at_least: float | None, above: float | None, at_most: float | None, below: float | None
) -> str:
    """What a number must be, in words.

    Examples
    --------
    >>> _range(0, None, None, 1)
    'be a number of at least 0, below 1'
    """
    positive = above == 0
    bounds = {
        "of at least": at_least,
        "above": None if positive else above,
        "of at most": at_most,
        "below": below,
    }
    words = ", ".join(f"{how} {bound:g}" for how, bound in bounds.items() if bound is not None)
    return f"be a {'positive ' * positive}number {words}".rstrip()


def seed_of(random_state: Any) -> int:
    """A seed from what scikit-learn calls ``random_state``; None means 0.

    Examples
    --------
    >>> seed_of(None), seed_of(np.int64(3))
    (0, 3)
    """
    if random_state is None:
        return 0
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    from sklearn.utils import check_random_state

    return int(check_random_state(random_state).randint(2**31 - 1))


# -- settings without effect -----------------------------------------------------------------------


@dataclass(frozen=True)
class Idle:
    """A setting, and when it has no effect.

    Attributes
    ----------
    setting : str
        Name of the parameter; only values other than its default are refused.
    when : callable
        Gets the estimator.
    why : str
        Goes on after "has no effect".
    way : str
        What to do about it.
    """

    setting: str
    when: Callable[[Any], bool]
    why: str
    way: str = "leave it out"


def refuse_idle(estimator: Any, rules: Iterable[Idle]) -> None:
    """Raise for the first setting that was given and would change nothing.

    Examples
    --------
    >>> class Machine:
    ...     def __init__(self, kernel="rbf", degree=3):
    ...         self.kernel, self.degree = kernel, degree
    >>> rule = Idle("degree", lambda own: own.kernel == "rbf", "with kernel='rbf'")
    >>> refuse_idle(Machine(), [rule])
    >>> refuse_idle(Machine(degree=2), [rule])
    Traceback (most recent call last):
        ...
    ValueError: degree=2 has no effect with kernel='rbf'; leave it out
    """
    defaults = inspect.signature(type(estimator).__init__).parameters
    for rule in rules:
        if rule.setting not in defaults:  # of a sister class
            continue
        value = getattr(estimator, rule.setting)
        if _differs(value, defaults[rule.setting].default) and rule.when(estimator):
            raise ValueError(f"{_shown(rule.setting, value)} has no effect {rule.why}; {rule.way}")


def _differs(value: Any, default: Any) -> bool:
    if value is default:
        return False
    plain = isinstance(value, str | int | float | tuple) and isinstance(default, type(value))
    return not (plain and value == default) and not _same_number(value, default)


def _same_number(value: Any, default: Any) -> bool:
    numbers = (int, float)
    if isinstance(value, bool) or not isinstance(default, numbers) or isinstance(default, bool):
        return False
    try:
        return float(value) == float(default)
    except (TypeError, ValueError):
        return False


def _shown(name: str, value: Any) -> str:
    return f"{name}={value!r}" if isinstance(value, str | int | float) else name
