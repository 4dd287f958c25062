"""Settings that others make pointless are refused: what was asked for would not happen."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any


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
