"""Which features are real: p-values of a path, or of a quick test of its table, in a summary."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kernelpath.alignment.api import align_table
from kernelpath.alignment.calibration import CalibratedResult
from kernelpath.errors import DataError
from kernelpath.path.feature_path import FeaturePath, PathPoint
from kernelpath.path.significance import AlignmentTest
from kernelpath.report.words import LEVEL, rate_words
from kernelpath.tables.table import Table

QUICK = 100_000_000  # values of a table that a test takes a second or two for
MOST_LISTED = 50  # discoveries of a summary, or the first features where there is none
FEWEST_LISTED = 5
MOST_POINTS = 1500  # features that are drawn


def known_test(
    path: FeaturePath, table: Table | None = None, y: Any = None, task: str = "auto"
) -> AlignmentTest | None:
    """The test that a path ranks by, or else one of its table; None where that takes too long.

    A table that cannot be tested, as one of few rows, has none.
    """
    if path.test is not None or table is None or y is None:
        return path.test
    rows, columns = table.shape
    size = table.values.nnz if hasattr(table.values, "nnz") else rows * columns
    if size > QUICK:
        return None
    asked = task if task in ("classification", "regression") else "auto"
    try:
        result, _ = align_table(table, y, bandwidth="multi", calibrated=True, task=asked)
    except (DataError, ValueError):  # it is an extra, and no reason to stop
        return None
    assert isinstance(result, CalibratedResult)
    return AlignmentTest.of(result, table.names)


def discovery_words(test: AlignmentTest | None, level: float = LEVEL) -> str:
    """How many features are discoveries, in a few words; "" where nothing is known.

    Examples
    --------
    >>> import kernelpath as kp
    >>> data = kp.datasets.make_wide(n_samples=300, n_features=500, random_state=0)
    >>> discovery_words(kp.alignment_test(data.X, data.y))
    '11 features at a false discovery rate of 0.1'
    """
    if test is None or np.isnan(test.z).all():
        return ""
    return rate_words(len(test.discoveries(level)), level)


def real_section(
    test: AlignmentTest | None, place: Callable[[int], int], chosen: PathPoint | None = None
) -> dict[str, Any] | None:
    """Discoveries with p and q, and points to draw all features by.

    ``place`` is the position of a feature in the list of those that the summary names, and
    ``chosen`` is the point at the size that was chosen.
    """
    if test is None or np.isnan(test.z).all():
        return None
    found, q = test.discoveries(LEVEL), test.q_value
    tested = np.flatnonzero(~np.isnan(test.z))
    order = tested[np.argsort(test.log_p[tested], kind="stable")]
    listed = order[: max(min(len(found), MOST_LISTED), min(FEWEST_LISTED, len(order)))]
    log10_p = test.log_p / np.log(10.0)
    drawn = _drawn(order, len(found))
    return {
        "level": LEVEL,
        "n_tested": len(tested),
        "n_discoveries": len(found),
        "n_chosen": None if chosen is None else int(chosen.support[found].sum()),
        "features": [place(i) for i in listed],
        "log10_p": _rounded(log10_p[listed], 3),
        "q_value": [float(f"{v:.3g}") for v in q[listed]],
        "width": [None if np.isnan(w) else float(f"{w:.3g}") for w in test.width[listed]],
        "points": {
            "alignment": _rounded(test.alignment[drawn], 3),
            "log10_p": _rounded(log10_p[drawn], 3),
            "found": np.isin(drawn, found).astype(int).tolist(),
        },
    }


def _drawn(order: np.ndarray, n_found: int) -> np.ndarray:
    """All discoveries and the next ones, then a sample of the others."""
    if len(order) <= MOST_POINTS:
        return order
    first = min(max(n_found, MOST_POINTS // 3), MOST_POINTS - 300)
    rest = np.linspace(first, len(order) - 1, MOST_POINTS - first).astype(int)
    return order[np.append(np.arange(first), rest)]


def _rounded(values: np.ndarray, digits: int) -> list[float]:
    return [float(v) + 0.0 for v in np.round(values, digits)]
