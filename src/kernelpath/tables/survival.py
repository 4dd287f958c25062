r"""Survival times as one column of numbers: null martingale residuals.

A row was watched until a time, and either the event was seen then or the row left unseen
(censored).  The residual is what was seen less what was to be expected without any feature,

.. math:: r_i = \delta_i - \hat H(t_i), \qquad \hat H(t) = \sum_{t_k \le t} \frac{d_k}{n_k}

with :math:`\delta_i` 1 for an event, :math:`d_k` the events at time :math:`t_k` and :math:`n_k` the
rows still watched then: the estimate of Nelson and Aalen.  Rows censored at the time of an event
are still watched then, and events at one time share one risk set, as in the likelihood of Breslow.
:math:`\sum_i x_{ij} r_i` is then the score of Cox's partial likelihood for feature :math:`j`, where
all coefficients are 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernelpath.errors import DataError
from kernelpath.tables.table import plain_array
from kernelpath.tables.targets import check_sample_weight
from kernelpath.utils.words import counted

FIELDS = "np.array([(True, 5.0), ...], dtype=[('event', bool), ('time', float)])"


def survival_target(
    time: ArrayLike, event: ArrayLike | None = None, *, sample_weight: ArrayLike | None = None
) -> NDArray[np.float64]:
    r"""Null martingale residuals: one column of numbers that stands for survival times.

    .. math:: r_i = \delta_i - \sum_{t_k \le t_i} \frac{d_k}{n_k}

    with :math:`\delta_i` 1 where the event was seen, :math:`d_k` the events at time :math:`t_k` and
    :math:`n_k` the rows that were watched until then or longer.  Large ones had the event earlier
    than others.  Any method for a continuous target takes them.

    Parameters
    ----------
    time : array of shape (n_samples,)
        How long each row was watched, not negative.  Or a structured array with one field of
        booleans, the event, and one of numbers, the time, as scikit-survival has it.
    event : array of shape (n_samples,), optional
        Whether the event was seen then: True and False, or 1 and 0.  Not with a structured array.
    sample_weight : array of shape (n_samples,), optional
        Weights of the rows; whole numbers mean repeated rows.

    Returns
    -------
    ndarray of shape (n_samples,)
        Residuals, at most 1; their weighted sum is 0.

    Notes
    -----
    Events at one time share one risk set (Breslow), and rows censored at the time of an event are
    in it.  The sum of a column times the residuals is then the score of Cox's partial likelihood
    at coefficients of 0.

    References
    ----------
    .. [therneau1990] Therneau, Grambsch, Fleming. Martingale-based residuals for survival models.
       Biometrika 77, 1990.

    Examples
    --------
    >>> import kernelpath as kp
    >>> kp.survival_target([1.0, 2.0, 2.0, 4.0], [True, True, False, False]).round(3)
    array([ 0.75 ,  0.417, -0.583, -0.583])
    """
    if event is None:
        time, event = survival_fields(time)
    times, seen = _checked_times(time), _checked_events(event)
    n = len(times)
    if len(seen) != n:
        raise DataError(
            f"time has {counted(n, 'value')}, but event has {counted(len(seen), 'value')}."
        )
    weights = np.ones(n) if sample_weight is None else check_sample_weight(sample_weight, n)
    if not np.any(seen[weights > 0]):
        raise DataError(
            "No row has the event: survival times need some rows in which it was seen, event=True."
        )
    distinct, place = np.unique(times, return_inverse=True)
    events = np.bincount(place, weights * seen, minlength=len(distinct))
    watched = np.bincount(place, weights, minlength=len(distinct))[::-1].cumsum()[::-1]
    rate = np.divide(events, watched, out=np.zeros(len(distinct)), where=watched > 0)
    return seen - rate.cumsum()[place]


def is_survival(y: Any) -> bool:
    """Whether a target has named fields, as a structured array of events and times has.

    Examples
    --------
    >>> is_survival(np.zeros(2, dtype=[("event", bool), ("time", float)])), is_survival([1.0])
    (True, False)
    """
    return getattr(getattr(y, "dtype", None), "names", None) is not None


def survival_fields(y: Any) -> tuple[NDArray, NDArray]:
    """Times and events of a structured array: its field of numbers and its field of booleans.

    Examples
    --------
    >>> y = np.array([(True, 5.0), (False, 7.5)], dtype=[("dead", bool), ("days", float)])
    >>> survival_fields(y)
    (array([5. , 7.5]), array([ True, False]))
    """
    if not is_survival(y):
        raise DataError(f"event is missing: give survival_target(time, event), or {FIELDS}.")
    array = np.asarray(y)
    by_kind = {array.dtype[name].kind: name for name in array.dtype.names or ()}
    number = next((name for kind, name in by_kind.items() if kind in "fiu"), None)
    if array.ndim != 1 or len(array.dtype.names or ()) != 2 or number is None or "b" not in by_kind:
        raise DataError(
            f"y is a structured array of the type {array.dtype}; survival times have one field of "
            f"booleans, the event, and one of numbers, the time: {FIELDS}."
        )
    return array[number], array[by_kind["b"]]


def _checked_times(time: Any) -> NDArray[np.float64]:
    """Times as floats, or what is wrong with them."""
    try:
        times = np.asarray(plain_array(time, "time"), dtype=np.float64)
    except (TypeError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError("time must be numbers, one per row.") from None
    if times.ndim != 1:
        raise DataError(f"time must be one-dimensional, got an array of shape {times.shape}.")
    strange = int(np.sum(~np.isfinite(times)))
    if strange:
        raise DataError(
            f"The survival times have NaN or inf in {counted(strange, 'row')}; leave such rows out."
        )
    below = times[times < 0]
    if len(below):
        raise DataError(
            f"{counted(len(below), 'survival time')} below 0, such as {below[0]:g}: "
            "a time counts from the row's own start."
        )
    return times


def _checked_events(event: Any) -> NDArray[np.float64]:
    """1 where the event was seen, else 0, or what is wrong with it."""
    given = np.asarray(plain_array(event, "event"))
    if given.ndim != 1:
        raise DataError(f"event must be one-dimensional, got an array of shape {given.shape}.")
    others = [value for value in given.tolist() if not _is_flag(value)]
    if others:
        raise DataError(
            "event must say of every row whether the event was seen, as True and False or 1 and 0; "
            f"got {others[0]!r}."
        )
    return given.astype(np.float64)


def _is_flag(value: Any) -> bool:
    return not isinstance(value, str) and value in (0, 1)
