"""The two expansions of the Gaussian keep the error they state."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from numpy.polynomial.chebyshev import chebgrid2d

from kernelpath.alignment.expansions import (
    GRID_RATIO,
    SHORTEST,
    chebyshev_table,
    exponential_sum,
    grid_index,
    grid_length,
    stack_tables,
    tolerance_key,
)

LENGTHS = [1e-6, 1e-3, 0.1, 1.0, 3.5, 7.0, 14.0, 30.0]
GRID = np.sort(np.concatenate([np.cos(np.linspace(0, np.pi, 41)), [-1, 0, 1, 0.999, -0.37]]))


def _distance(length):
    """``d`` on the grid in extended precision."""
    u = GRID.astype(np.longdouble)
    return -np.expm1(-(np.longdouble(length) ** 2 / 8) * (u[:, None] - u[None, :]) ** 2)


def _full(table):
    coefficients = np.zeros((table.degree, table.degree))
    coefficients[0::2, 0::2] = table.even
    coefficients[1::2, 1::2] = table.odd
    return coefficients


@pytest.mark.parametrize("key", [8, 16, 20, 24, 32])
@pytest.mark.parametrize("length", LENGTHS)
def test_table_is_within_its_stated_tail(length, key):
    index = int(grid_index(np.array([length]))[0])
    table = chebyshev_table(index, key)
    exact = _distance(grid_length(index))
    found = chebgrid2d(GRID, GRID, _full(table))
    largest = float(exact.max())
    stated = 2 * table.tail.sum() + table.corner
    error = float(np.abs(found - exact).max())
    assert error <= stated + 2e-15 * largest * table.degree
    if key < 30:  # the finest tables end at rounding
        assert stated <= 1.01 * 10 ** (-key / 2) * largest + 1e-15 * largest * table.degree
    assert error > 0  # the bound is put to the test


@pytest.mark.parametrize("length", LENGTHS)
def test_finer_tables_are_larger_and_better(length):
    index = int(grid_index(np.array([length]))[0])
    tables = [chebyshev_table(index, key) for key in (8, 14, 20, 26, 32)]
    degrees = [table.degree for table in tables]
    assert degrees == sorted(degrees)
    tails = [2 * table.tail.sum() + table.corner for table in tables]
    assert all(b <= a * (1 + 1e-9) for a, b in pairwise(tails))


def test_grid_never_shortens_a_column():
    lengths = np.geomspace(SHORTEST, 1e6, 997)
    up = grid_length(grid_index(lengths))
    assert np.all(up >= lengths * (1 - 1e-8))
    assert np.all(up <= lengths * GRID_RATIO * (1 + 1e-8))
    on_grid = grid_length(np.arange(-50, 120))
    np.testing.assert_array_equal(grid_index(on_grid), np.arange(-50, 120))
    assert grid_index(np.array([0.0])) == grid_index(np.array([SHORTEST]))


def test_tolerance_key_rounds_to_the_finer_side():
    tolerances = np.array([1e-5, 3e-9, 1e-9, 1e-12])
    keys = tolerance_key(tolerances)
    assert np.all(10.0 ** (-keys / 2) <= tolerances * (1 + 1e-9))
    assert tolerance_key(np.array(0.0)) == 32
    assert tolerance_key(np.array(1e-300)) == 32
    assert tolerance_key(np.array(0.5)) == 8


def test_stack_holds_its_tables():
    tables = [chebyshev_table(int(grid_index(np.array([s]))[0]), 20) for s in (2.0, 9.0, 0.1)]
    stack = stack_tables(tables)
    assert stack.degree.tolist() == [table.degree for table in tables]
    for i, table in enumerate(tables):
        for padded, block in ((stack.even[i], table.even), (stack.odd[i], table.odd)):
            np.testing.assert_array_equal(padded[: len(block), : len(block)], block)
        assert np.abs(stack.even[i]).sum() == pytest.approx(np.abs(table.even).sum(), rel=1e-14)
        np.testing.assert_array_equal(stack.tail[i][: table.degree], table.tail)
        assert stack.corner[i] == table.corner


@pytest.mark.parametrize("n_nodes", [12, 16, 20, 24, 28])
def test_exponential_sum_is_within_its_error(n_nodes):
    terms = exponential_sum(n_nodes)
    gaps = np.concatenate([np.linspace(0, 15, 7919), np.geomspace(1e-12, 1e8, 1013)])
    powers = np.exp(-np.multiply.outer(gaps, terms.rates))
    found = (powers * terms.factors).real.sum(axis=1)
    worst = np.abs(found - np.exp(-0.5 * gaps**2)).max()
    assert worst <= terms.error
    assert worst > terms.error / 100  # not stated far too large
    assert np.all(terms.rates.real > 0)  # every exponential fades


def test_exponential_sums_get_better():
    errors = [exponential_sum(n).error for n in (12, 16, 20, 24)]
    assert errors == sorted(errors, reverse=True)
    assert errors[0] > 1e-8
    assert errors[-1] < 2e-13
