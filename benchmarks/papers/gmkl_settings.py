"""Cases, limits and the numbers of the paper for gmkl_tables.py."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

C = 10.0
TOL = 1e-3
FOLDS = 5
RUNS, FEWER_RUNS = 3, 2  # of the folds; fewer in all tables but the first
PGD, SPG, DEFAULT = "PGD", "SPG", "default"
NONMONOTONE, SPECTRAL, BOTH = "PGD+N", "PGD+S", "PGD+N+S"
ALL = (PGD, NONMONOTONE, SPECTRAL, BOTH, SPG, DEFAULT)
PGD_SECONDS, SPG_SECONDS = 12.0, 12.0  # CPU, for one run
ADULT_KERNELS = 50

Time = tuple[float, float] | None  # mean and standard deviation in seconds; None: not converged


@dataclass(frozen=True)
class Case:
    """One row of a table: a data set, a kind of kernel and a norm.

    ``whole`` takes all rows in one run, as the paper seems to do where it gives no deviation.
    """

    table: int
    data: str
    kind: str
    p: float
    solvers: tuple[str, ...] = (PGD, SPG, DEFAULT)
    whole: bool = False
    pgd_seconds: float = PGD_SECONDS
    spg_seconds: float = SPG_SECONDS
    runs: int = RUNS

    @property
    def key(self) -> str:
        """Name of the stored result."""
        return f"table{self.table}_{self.data}_{self.p:g}"

    @property
    def folds(self) -> tuple[int | None, ...]:
        """Which folds are run; None stands for all rows."""
        return (None,) if self.whole else tuple(range(self.runs))

    def describe(self) -> dict:
        """Everything that a stored result depends on."""
        return {**asdict(self), "C": C, "tol": TOL, "folds": FOLDS}

    def quick(self) -> Case:
        """Return a case that takes seconds."""
        return replace(self, runs=1, pgd_seconds=0.1, spg_seconds=0.1)


SMALL = ("australian", "liver", "sonar", "breast_cancer", "diabetes_pima", "wpbc")
POWERS = (1.1, 1.33, 2.0)
CASES = (
    *(Case(2, name, "sum", p) for p in POWERS for name in SMALL),
    *(
        Case(4, name, "sum", 1.0, runs=FEWER_RUNS)
        for name in ("wpbc", "breast_cancer", "australian", "ionosphere", "sonar")
    ),
    *(Case(5, name, "product", p, runs=FEWER_RUNS) for p in POWERS for name in SMALL),
    *(
        Case(7, name, "sum", 1.1, (NONMONOTONE, SPECTRAL, BOTH), runs=FEWER_RUNS)
        for name in ("australian", "sonar", "breast_cancer", "diabetes_pima", "wpbc")
    ),
    *(
        Case(7, name, "sum", 1.33, (NONMONOTONE, SPECTRAL, BOTH), runs=FEWER_RUNS)
        for name in ("sonar", "breast_cancer", "diabetes_pima", "wpbc")
    ),
    *(Case(7, name, "adult", 1.1, ALL, whole=True) for name in ("a1a", "a2a")),
    *(
        Case(9, name, "product", 1.0, runs=FEWER_RUNS)
        for name in ("australian", "sonar", "liver", "breast_cancer", "diabetes_pima", "wpbc")
    ),
    Case(9, "leukemia", "product", 1.0, whole=True),
)

LABELS = {
    "australian": "Australian", "liver": "Liver", "sonar": "Sonar", "wpbc": "Wpbc",
    "breast_cancer": "Breast-Cancer", "diabetes_pima": "Diabetes", "ionosphere": "Ionosphere",
    "a1a": "Adult-1", "a2a": "Adult-2", "leukemia": "Leukemia",
}  # fmt: skip

# (table, data, p): seconds of projected gradient descent and of SPG-GMKL in the paper.
PAPER: dict[tuple[int, str, float], tuple[Time, Time]] = {
    (2, "australian", 1.1): ((39.4, 6.0), (7.0, 1.6)),
    (2, "australian", 1.33): ((248.3, 329.7), (6.9, 1.2)),
    (2, "australian", 2.0): ((23.5, 2.3), (6.0, 0.2)),
    (2, "liver", 1.1): ((282.2, 226.0), (0.8, 0.1)),
    (2, "liver", 1.33): ((3.3, 2.5), (0.7, 0.1)),
    (2, "liver", 2.0): ((0.7, 0.1), (0.6, 0.1)),
    (2, "sonar", 1.1): ((785.5, 471.1), (9.0, 1.8)),
    (2, "sonar", 1.33): ((57.8, 39.8), (4.2, 0.4)),
    (2, "sonar", 2.0): ((7.7, 1.1), (3.1, 0.3)),
    (2, "breast_cancer", 1.1): ((237.2, 97.8), (8.6, 2.2)),
    (2, "breast_cancer", 1.33): ((11.2, 2.4), (3.3, 0.1)),
    (2, "breast_cancer", 2.0): ((6.6, 0.6), (2.7, 0.1)),
    (2, "diabetes_pima", 1.1): ((73.6, 38.8), (4.1, 0.5)),
    (2, "diabetes_pima", 1.33): ((11.5, 2.4), (3.0, 0.1)),
    (2, "diabetes_pima", 2.0): ((3.6, 0.1), (2.5, 0.1)),
    (2, "wpbc", 1.1): ((44.4, 11.6), (1.2, 0.4)),
    (2, "wpbc", 1.33): ((5.3, 1.8), (1.3, 0.5)),
    (2, "wpbc", 2.0): ((1.7, 0.2), (1.2, 0.1)),
    (4, "wpbc", 1.0): ((38.2, 17.6), (6.2, 4.2)),
    (4, "breast_cancer", 1.0): ((57.9, 85.1), (5.1, 0.6)),
    (4, "australian", 1.0): ((29.5, 7.1), (10.1, 0.8)),
    (4, "ionosphere", 1.0): ((1392.4, 824.2), (39.2, 6.8)),
    (4, "sonar", 1.0): (None, (273.4, 64.0)),
    (5, "australian", 1.1): (None, (22.0, 8.4)),
    (5, "australian", 1.33): (None, (22.1, 6.7)),
    (5, "australian", 2.0): (None, (21.6, 6.4)),
    (5, "liver", 1.1): ((722.4, 880.0), (1.0, 0.3)),
    (5, "liver", 1.33): ((136.1, 167.9), (0.6, 0.2)),
    (5, "liver", 2.0): ((0.3, 0.1), (0.4, 0.1)),
    (5, "sonar", 1.1): (None, (7.4, 2.9)),
    (5, "sonar", 1.33): (None, (3.2, 0.5)),
    (5, "sonar", 2.0): ((293.8, 574.7), (3.1, 0.5)),
    (5, "breast_cancer", 1.1): ((28.4, 42.5), (4.0, 1.0)),
    (5, "breast_cancer", 1.33): ((448.6, 691.5), (3.3, 0.8)),
    (5, "breast_cancer", 2.0): ((377.8, 712.0), (3.2, 0.5)),
    (5, "diabetes_pima", 1.1): ((1232.5, 716.2), (4.8, 2.4)),
    (5, "diabetes_pima", 1.33): ((364.4, 718.3), (2.5, 0.5)),
    (5, "diabetes_pima", 2.0): ((2.1, 0.4), (2.1, 0.1)),
    (5, "wpbc", 1.1): ((1080.3, 90.9), (4.4, 1.8)),
    (5, "wpbc", 1.33): ((1064.7, 41.2), (3.7, 1.4)),
    (5, "wpbc", 2.0): ((209.3, 390.8), (2.1, 0.4)),
    (9, "australian", 1.0): (None, (16.6, 7.2)),
    (9, "sonar", 1.0): (None, (4.8, 1.7)),
    (9, "liver", 1.0): ((1482.6, 635.7), (2.6, 2.0)),
    (9, "breast_cancer", 1.0): ((1182.6, 662.4), (4.4, 1.5)),
    (9, "diabetes_pima", 1.0): ((1525.7, 552.6), (7.6, 6.6)),
    (9, "wpbc", 1.0): ((1093.9, 187.5), (2.7, 1.0)),
    (9, "leukemia", 1.0): ((2961.5, 0.0), (850.0, 0.0)),
}

# Table 7: machines with no component, non-monotone search, spectral steps, both.
PAPER_MACHINES = {
    "australian": (3230, 116, 5980, 621),
    "sonar": (209461, 3236, 3806, 2457),
    "breast_cancer": (109599, 1187, 3537, 3006),
    "diabetes_pima": (29347, 2966, 1239, 695),
    "wpbc": (14376, 9388, 340, 79),
    "a1a": (196, 196, 118, 50),
    "a2a": (238, 238, 115, 70),
}

# Table 4: the specialised solvers of the same problem, seconds in the paper.
PAPER_OTHERS = {
    "wpbc": ((400.2, 128.4), (15.5, 7.7)),
    "breast_cancer": ((676.1, 356.4), (12.3, 1.2)),
    "australian": ((383.2, 33.5), (1094.9, 621.6)),
    "ionosphere": ((1247.6, 680.0), (107.8, 18.8)),
    "sonar": ((1468.2, 1252.7), (935.1, 65.0)),
}
