"""Columns of many shapes, and a look at the statistics behind the p-values."""

from __future__ import annotations

from unittest import mock

import numpy as np

from kernelpath.alignment import calibration
from kernelpath.alignment.api import align_table
from kernelpath.alignment.calibration import log_tails
from kernelpath.tables.table import as_column_table

MULTI = (1.0, 0.5, 0.25)


def calibrated(X, y, **options):
    """The result of a calibrated pass over the columns."""
    options = {"bandwidth": "multi", "calibrated": True} | options
    return align_table(as_column_table(X), y, **options)[0]


def chance(X, y, **options):
    """The result, and z and skewness of all columns at all widths, (n_columns, n_widths) each.

    Columns with missing values come after the others.
    """
    seen = []

    def watched(z, skewness, wanted):
        seen.append((z, skewness))
        return log_tails(z, skewness, wanted)

    with mock.patch.object(calibration, "log_tails", watched):
        result = calibrated(X, y, n_jobs=1, **options)
    z, skewness = (np.concatenate(part) for part in zip(*seen))
    return result, z, skewness


def shapes(n, rng):
    """Columns of many distributions, by name."""
    normal = rng.normal(size=n)
    return {
        "normal": normal,
        "uniform": rng.random(n),
        "exponential": rng.exponential(size=n),
        "t2": rng.standard_t(2, n),
        "lognormal": rng.lognormal(0.0, 2.0, n),
        "two bumps": normal + 6.0 * (rng.random(n) < 0.5),
        "counts": rng.poisson(2.0, n).astype(float),
        "rounded": np.round(rng.normal(size=n), 1),
        "mostly zero": np.where(rng.random(n) < 0.7, 0.0, rng.normal(size=n)),
        "rare": (np.arange(n) % 10 == 3).astype(float) + 2.0 * (np.arange(n) == 5),
        "offset": 1e6 + rng.normal(size=n),
    }


def shape_table(n, rng):
    """All of :func:`shapes` side by side."""
    return np.column_stack(list(shapes(n, rng).values()))
