"""Data sets, grids and the numbers of the paper for lp_kta_tables.py."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

TOLERANCE = 1e-3  # elimination_tol everywhere but in the comparison of tolerances
TOLERANCES = (1e-2, 1e-3, 1e-4, 1e-5)
TOLERANCE_POINT = (1.0, 0.1, 1.2)  # r1, rho, p of that comparison
FOLDS = 5
MOST_FEATURES = 200

FINE = tuple(round(2.0 - 0.05 * i, 2) for i in range(21))
COARSE = (2.0, 1.75, 1.5, 1.4, 1.3, 1.25, 1.2, 1.15, 1.1, 1.05, 1.0)
ALL_PAIRS = tuple((r1, rho) for r1 in (0.1, 1.0) for rho in (0.03, 0.1, 0.3, 1.0))
TEXT_PAIRS = tuple((r1, rho) for r1 in (0.1, 1.0) for rho in (0.03, 0.3))
SIZES = (5, 10, 15, 20, 30, 50, 75, 100, 125, 150, 175, 200)
# rho = 0: weights proportional to the alignments, the size set by elimination_tol alone.
SIZE_PAIRS = ((1.0, 0.0), (0.1, 0.03), (0.1, 0.3), (1.0, 0.1), (1.0, 1.0))


@dataclass(frozen=True)
class Paper:
    """Accuracy and number of features in Tables 2 and 3, first rows, and of uniform weights."""

    table2: tuple[float, int]
    uniform: float
    table3: tuple[float, int]


@dataclass(frozen=True)
class Plan:
    """What is run for one data set.

    ``r1 = lambda_1 / a_max`` and ``rho = lambda_2 / a_max``; the width of feature ``i`` is ``s``
    times its standard deviation; ``inner_p`` and ``inner_sizes`` are the positions in ``p`` and
    ``sizes`` that the inner folds try.
    """

    part: str | None
    s: tuple[float, ...]
    C: tuple[float, ...]
    pairs: tuple[tuple[float, float], ...] = TEXT_PAIRS
    p: tuple[float, ...] = FINE
    inner_p: tuple[int, ...] = (0, 4, 8, 12, 16, 20)
    inner_folds: int = 3
    seeds: int = 1
    size_pairs: tuple[tuple[float, float], ...] = SIZE_PAIRS
    sizes: tuple[int, ...] = SIZES
    inner_sizes: tuple[int, ...] = (1, 3, 5, 7, 9, 11)
    splits: int = 5
    path_sizes: tuple[int, ...] = (1, 2, 5, 10, 15, 20, 50, 100, 150, 200)
    path_folds: int = 3
    ranked: bool = False  # also balanced accuracy, AUC, balanced classes, one feature

    def describe(self) -> dict:
        """Everything that one stored result depends on; how many there are is not part of it."""
        tolerances = {"tol": TOLERANCE, "tols": TOLERANCES, "tol_point": TOLERANCE_POINT}
        own = {key: value for key, value in asdict(self).items() if key not in ("seeds", "splits")}
        return {**own, **tolerances, "folds": FOLDS}

    def quick(self) -> Plan:
        """Return a plan that takes seconds, to see that everything works."""
        return replace(
            self,
            s=self.s[-1:], C=self.C[:2], pairs=self.pairs[:1], p=(2.0, 1.5, 1.2, 1.0),
            inner_p=(0, 2), inner_folds=2, seeds=1, size_pairs=SIZE_PAIRS[:1],
            sizes=(10, 50, 200), inner_sizes=(0, 2), splits=1, path_sizes=(10, 50, 200),
            path_folds=2,
        )  # fmt: skip


PLANS = {
    "arcene": Plan(
        "train", s=(1.0, 4.0), C=(1.0, 10.0, 100.0), pairs=ALL_PAIRS, inner_folds=5, seeds=5,
        splits=10,
    ),
    "madelon": Plan(
        "train", s=(0.5, 1.0), C=(1.0, 3.0, 10.0), pairs=ALL_PAIRS[4:], p=COARSE,
        inner_p=(0, 2, 4, 6, 8, 10),
    ),
    "relathe": Plan(None, s=(1.0, 4.0), C=(1.0, 10.0, 100.0)),
    "pcmac": Plan(None, s=(1.0, 4.0), C=(1.0, 10.0, 100.0)),
    "basehock": Plan(None, s=(1.0, 4.0), C=(1.0, 10.0, 100.0)),
    "dorothea": Plan(
        "train", s=(1.0,), C=(0.1, 1.0, 10.0), pairs=ALL_PAIRS, seeds=3, ranked=True
    ),
}  # fmt: skip

PAPER = {
    "arcene": Paper((92.00, 3788), 81.00, (76.80, 124)),
    "madelon": Paper((65.70, 12), 59.85, (64.50, 14)),
    "relathe": Paper((92.57, 3644), 90.96, (89.40, 183)),
    "pcmac": Paper((93.62, 2947), 92.49, (89.76, 196)),
    "basehock": Paper((98.59, 4262), 97.99, (95.46, 184)),
    "dorothea": Paper((94.75, 20220), 91.38, (93.75, 17)),
}
