r"""Columns of numbers as a few parts each, and the information in them: the one home of both.

Codes stand one row for each column.  Sums of :math:`c \log c` over counts are looked up.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernelpath.baselines._base import NUMBERS, Answer
from kernelpath.utils.compiled import compiled

DISCRETIZATIONS = ("mdl", "quantile")
TARGET_PARTS = 5  # of a target of numbers
BLOCK_VALUES = 2**21  # sorted at a time
TIE = 1e-10  # nats for each row; of cuts that are as good, the first is taken
LOG_3 = math.log(3.0)


@dataclass(frozen=True, eq=False)
class Parts:
    """Some columns in parts.

    Attributes
    ----------
    which : slice
        The columns.
    codes : ndarray of int, shape (n_columns, n_rows)
        Part of each row.
    gains : ndarray of shape (n_columns,) or None
        Information in the best single cut, accepted or not, in nats; None without a target.
    """

    which: slice
    codes: NDArray[np.int32]
    gains: NDArray[np.float64] | None


def sorted_blocks(
    Z: NDArray[np.float64],
) -> Iterator[tuple[slice, NDArray[np.float64], NDArray[np.intp]]]:
    """Blocks of columns: which, their values as rows, and the rows of the table by value."""
    n, d = Z.shape
    step = max(1, BLOCK_VALUES // n)
    for start in range(0, d, step):
        which = slice(start, min(start + step, d))
        values = np.ascontiguousarray(Z[:, which].T)
        yield which, values, np.argsort(values, axis=1)


def discretized(
    Z: NDArray[np.float64], classes: NDArray[np.intp], how: str, n_bins: int
) -> Iterator[Parts]:
    """Blocks of columns in parts: cut by the classes ("mdl"), or of equal frequency ("quantile").

    Examples
    --------
    >>> Z = np.arange(8.0)[:, None]
    >>> [part.codes.tolist() for part in discretized(Z, np.repeat([0, 1], 4), "quantile", 4)]
    [[[0, 0, 1, 1, 2, 2, 3, 3]]]
    >>> [part.codes.tolist() for part in discretized(Z, np.repeat([0, 1], 4), "mdl", 4)]
    [[[0, 0, 0, 0, 1, 1, 1, 1]]]
    """
    table = n_log_n(len(Z))
    for which, values, order in sorted_blocks(Z):
        codes = np.empty(values.shape, dtype=np.int32)
        gains = None
        if how == "quantile":
            _equal_frequency(values, order, n_bins, codes)
        else:
            gains = np.empty(len(values))
            _shortest_description(values, order, classes, classes.max() + 1, table, codes, gains)
        yield Parts(which, codes, gains)


def target_classes(answer: Answer) -> NDArray[np.intp]:
    """Class of each row; numbers in parts of equal frequency.

    Examples
    --------
    >>> from kernelpath.baselines._base import NUMBERS
    >>> answer = Answer(NUMBERS, np.zeros(0, int), np.zeros((10, 0)), np.arange(10.0))
    >>> target_classes(answer).tolist()
    [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    """
    if answer.task != NUMBERS:
        return answer.codes
    values = np.ascontiguousarray(answer.values)[None, :]
    codes = np.empty(values.shape, dtype=np.int32)
    _equal_frequency(values, np.argsort(values, axis=1), TARGET_PARTS, codes)
    return np.unique(codes[0], return_inverse=True)[1].astype(np.intp)


def n_log_n(most: int) -> NDArray[np.float64]:
    """Values of ``c log c`` for c = 0, 1, ...

    Examples
    --------
    >>> n_log_n(2).round(3).tolist()
    [0.0, 0.0, 1.386]
    """
    counts = np.arange(most + 1, dtype=np.float64)
    return counts * np.log(np.maximum(counts, 1.0))


def information(codes: NDArray[np.int32], classes: NDArray[np.intp]) -> NDArray[np.float64]:
    """Mutual information of each row of codes with the classes, in nats.

    Examples
    --------
    >>> codes = np.array([[0, 0, 1, 1], [0, 1, 0, 1]], dtype=np.int32)
    >>> information(codes, np.array([0, 0, 1, 1])).round(4).tolist()
    [0.6931, 0.0]
    """
    found = np.empty(len(codes))
    every = np.ones(len(codes), dtype=np.bool_)
    held = sums_of_counts(codes)
    other: NDArray[np.int32] = classes.astype(np.int32)
    own = sums_of_counts(other[None, :])[0]
    _shared_information(codes, int(codes.max()) + 1, other, int(other.max()) + 1, held, own,
                        every, n_log_n(codes.shape[1]), found)  # fmt: skip
    return found


def information_with(
    codes: NDArray[np.int32], one: int, held: NDArray[np.float64], free: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """The same with one of the rows of codes, for those that are free; 0 for the others.

    ``held`` are the `sums_of_counts` of all.
    """
    found, levels = np.zeros(len(codes)), int(codes.max()) + 1
    _shared_information(codes, levels, codes[one], levels, held, held[one], free,
                        n_log_n(codes.shape[1]), found)  # fmt: skip
    return found


def sums_of_counts(codes: NDArray[np.int32]) -> NDArray[np.float64]:
    """Sum of ``c log c`` over the counts of the parts, for each row of codes."""
    found = np.empty(len(codes))
    _sums_of_counts(codes, int(codes.max()) + 1, n_log_n(codes.shape[1]), found)
    return found


# -- loops -----------------------------------------------------------------------------------------


@compiled()
def _equal_frequency(values, order, n_bins, codes):
    """Part of a value: the middle of its ranks, so that equal values stay together."""
    n = values.shape[1]
    for j in range(values.shape[0]):
        start = 0
        while start < n:
            value, end = values[j, order[j, start]], start + 1
            while end < n and values[j, order[j, end]] == value:
                end += 1
            code = n_bins * (start + end) // (2 * n)
            for i in range(start, end):
                codes[j, order[j, i]] = code
            start = end


@compiled(part=True)
def _best_cut(labels, new_value, low, high, n_classes, table):
    """Gain of the best cut of a stretch times its rows, the cut, and the least gain to accept."""
    left, right = np.zeros(n_classes, np.int64), np.zeros(n_classes, np.int64)
    for i in range(low, high):
        right[labels[i]] += 1
    n, present, right_sum = high - low, 0, 0.0
    for k in range(n_classes):
        present += right[k] > 0
        right_sum += table[right[k]]
    entropy = table[n] - right_sum
    best, cut, needed, left_sum = -1.0, -1, np.inf, 0.0
    left_present, right_present = 0, present
    for i in range(low, high - 1):
        k = labels[i]
        left_present += left[k] == 0
        left_sum += table[left[k] + 1] - table[left[k]]
        right_sum += table[right[k] - 1] - table[right[k]]
        left[k] += 1
        right[k] -= 1
        right_present -= right[k] == 0
        if not new_value[i + 1]:
            continue
        n_left, n_right = i + 1 - low, high - i - 1
        left_entropy, right_entropy = table[n_left] - left_sum, table[n_right] - right_sum
        gain = entropy - left_entropy - right_entropy
        if gain > best + TIE * n:
            best, cut = gain, i + 1
            parts = left_present * left_entropy / n_left + right_present * right_entropy / n_right
            spread = present * entropy / n - parts
            three = present * LOG_3 + math.log1p(-2.0 * math.exp(-present * LOG_3))
            needed = math.log(n - 1.0) + three - spread if n > 1 else np.inf
    return best, cut, needed


@compiled()
def _shortest_description(values, order, classes, n_classes, table, codes, gains):
    """Cut in two again and again where that shortens the description of the classes."""
    n = values.shape[1]
    labels, new_value = np.empty(n, np.int64), np.zeros(n, np.bool_)
    starts = np.empty(n, np.bool_)
    lows, highs = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64)
    for j in range(values.shape[0]):
        for i in range(n):
            labels[i] = classes[order[j, i]]
            new_value[i] = i > 0 and values[j, order[j, i]] != values[j, order[j, i - 1]]
        starts[:] = False
        lows[0], highs[0], waiting, gains[j] = 0, n, 1, -1.0
        while waiting > 0:
            waiting -= 1
            low, high = lows[waiting], highs[waiting]
            gain, cut, needed = _best_cut(labels, new_value, low, high, n_classes, table)
            if gains[j] < 0:
                gains[j] = max(gain, 0.0) / n
            if cut > 0 and gain > needed:
                starts[cut] = True
                lows[waiting], highs[waiting] = low, cut
                lows[waiting + 1], highs[waiting + 1] = cut, high
                waiting += 2
        code = 0
        for i in range(n):
            code += starts[i]
            codes[j, order[j, i]] = code


@compiled()
def _sums_of_counts(codes, levels, table, found):
    counts = np.empty(levels, np.int64)
    for j in range(codes.shape[0]):
        counts[:] = 0
        for i in range(codes.shape[1]):
            counts[codes[j, i]] += 1
        found[j] = 0.0
        for a in range(levels):
            found[j] += table[counts[a]]


@compiled()
def _shared_information(codes, levels, other, other_levels, held, own, free, table, found):
    """By counts of pairs; two tables in turn, as a count just written is slow to be read."""
    n = codes.shape[1]
    size = levels * other_levels
    even, odd = np.empty(size, np.int32), np.empty(size, np.int32)
    for j in range(codes.shape[0]):
        if not free[j]:
            continue
        even[:] = 0
        odd[:] = 0
        for i in range(0, n - 1, 2):
            even[codes[j, i] * other_levels + other[i]] += 1
            odd[codes[j, i + 1] * other_levels + other[i + 1]] += 1
        if n % 2 == 1:
            even[codes[j, n - 1] * other_levels + other[n - 1]] += 1
        joint = 0.0
        for a in range(size):
            joint += table[even[a] + odd[a]]
        found[j] = max((joint - own) - (held[j] - table[n]), 0.0) / n
