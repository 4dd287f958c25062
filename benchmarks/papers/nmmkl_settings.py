"""Cases, grids and the numbers of the paper for nmmkl_tables.py."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

FOLDS = 5
SCREEN = 1000  # features that Fisher's score keeps on the two microarray sets
TOY_ROWS, TOY_TRAIN = 500, 400
SIMULATED_ROWS = 200
SIGNIFICANT = 0.05
PAPER_TRIALS = 30
ENOUGH_TRIALS = 10  # for a test of differences

PUBLISHED, SWAP = "nmmkl_paper", "nmmkl_swap"
OURS = (PUBLISHED, SWAP)
SVM, L0, FISHER = "svm_lw", "l0", "fisher"
R2W2, FSV, L1 = "r2w2", "fsv", "l1_svm"
STEPWISE, SVR, LASSO = "stepwise", "svr_lw", "lasso_lw"
ALL = (*OURS, SVM, L0, FISHER, R2W2, FSV, L1)
FAST = (*OURS, SVM, L0, FISHER, L1)
REGRESSION = (*OURS, STEPWISE, SVR, LASSO)
NAMES = {
    PUBLISHED: "NMMKL, published", SWAP: "NMMKL, swap",
    SVM: "SVM-LW", L0: "L0-appr", FISHER: "Fisher", R2W2: "R2W2", FSV: "FSV", L1: "L1-SVM",
    STEPWISE: "Stepwise", SVR: "SVR-LW", LASSO: "LASSO-LW",
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """One data set of one table.

    Parameters
    ----------
    C, tau : tuple of float
        What the folds choose from for NMMKL.
    other_C : tuple of float
        The same for the other selectors; empty stands for ``C``.
    final_C, final_epsilon : tuple of float
        The same for the machine on the selected features.
    borrowed : bool
        The exchanges take the parameters that the folds chose for the largest weights.
    """

    table: str
    data: str
    budgets: tuple[int, ...]
    methods: tuple[str, ...]
    trials: int = 30
    train: float = 0.8
    C: tuple[float, ...] = (0.01, 0.1)
    tau: tuple[float, ...] = (0.1, 1.0)
    final_C: tuple[float, ...] = (0.1, 1.0)
    final_epsilon: tuple[float, ...] = ()
    other_C: tuple[float, ...] = ()
    borrowed: bool = False
    screen: int | None = None

    @property
    def key(self) -> str:
        """Name of the stored results."""
        return f"{self.table}_{self.data}"

    @property
    def regression(self) -> bool:
        """Whether the target is a number."""
        return bool(self.final_epsilon)

    def describe(self, method: str) -> dict:
        """What the stored trials of one method depend on, the number of trials apart."""
        found = asdict(self)
        for name in ("methods", "trials"):
            del found[name]
        if method != SWAP:
            del found["borrowed"]
        if method not in OURS:
            found["C"] = self.other_C or self.C
            del found["tau"]
        del found["other_C"]
        return {**found, "method": method, "folds": FOLDS}

    def quick(self) -> Case:
        """Return a case that takes seconds."""
        return replace(
            self, trials=2, C=self.C[-1:], other_C=(), tau=self.tau[-1:],
            final_C=self.final_C[:1], final_epsilon=self.final_epsilon[:1], borrowed=True,
        )  # fmt: skip


SMALL, LARGE = (10, 20), (10, 20, 40, 60)
FINAL_TOY = (0.1, 1.0, 10.0)
CASES = (
    Case("table1", "toy", (1, 2), ALL, C=(0.003, 0.03, 0.3), final_C=FINAL_TOY),
    Case(
        "table1", "toy_small_C", (1, 2), ALL, C=(0.001, 0.003, 0.03, 0.3), tau=(1.0,),
        final_C=FINAL_TOY,
    ),
    Case("table1", "toy_one_C", (1, 2), ALL, C=(0.1,), tau=(1.0,), final_C=FINAL_TOY),
    *(
        Case("table3", name, SMALL, ALL, other_C=(0.01, 0.1, 1.0))
        for name in ("sonar", "ionosphere", "wdbc", "wpbc")
    ),
    *(
        Case("figure2", name, LARGE, FAST, tau=(1.0,), borrowed=True, screen=SCREEN)
        for name in ("colon", "lymphoma")
    ),
    Case("figure2", "bci", LARGE, FAST, tau=(1.0,), borrowed=True),
    *(
        Case("figure2", name, LARGE, FAST, tau=(1.0,), borrowed=True)
        for name in ("digit1", "usps_ssl", "coil2_ssl")
    ),
    Case(
        "table5", "simulated", (5, 6), REGRESSION, 20, 0.5, (0.003, 0.03, 0.3), (0.0,),
        (1.0, 10.0), (0.1, 0.5, 1.0),
    ),
    Case(
        "table6", "boston", (5, 6), REGRESSION, 30, 0.5, (0.003, 0.03, 0.3), (0.0,),
        (1.0, 10.0, 100.0), (0.1, 1.0, 2.5, 5.0),
    ),
    Case(
        "table7", "forest_fires", (1, 3), REGRESSION, 30, 0.5, (0.003, 0.03, 0.3), (0.0,),
        (0.001, 0.01, 0.1, 1.0), (0.1, 0.5, 1.0, 2.0),
    ),
)  # fmt: skip

LABELS = {
    "toy": "Toy", "toy_small_C": "Toy, C from 0.001",
    "toy_one_C": "Toy, C = 0.1", "sonar": "Sonar", "ionosphere": "Iono",
    "wdbc": "Wdbc", "wpbc": "Wpbc",
    "bci": "Bci", "digit1": "Digit1", "usps_ssl": "Usps", "coil2_ssl": "Coil", "colon": "Colon",
    "lymphoma": "Lym", "simulated": "Simulated", "boston": "Housing",
    "forest_fires": "Forest fires",
}  # fmt: skip

# Table 2: columns and rows.
PAPER_SHAPES = {
    "ionosphere": (34, 351), "wdbc": (30, 569), "wpbc": (33, 198), "sonar": (60, 208),
    "bci": (117, 400), "digit1": (241, 1500), "usps_ssl": (241, 1500), "coil2_ssl": (241, 1500),
    "colon": (2000, 62), "lymphoma": (4026, 96),
}  # fmt: skip

Number = tuple[float, float]  # mean and standard deviation
CLASSIFIERS = (PUBLISHED, SVM, L0, FISHER, R2W2, FSV, L1)


def _row(*values: float) -> dict[str, Number]:
    """Means and deviations in turn, in the order of the paper's columns."""
    return dict(zip(CLASSIFIERS, zip(values[::2], values[1::2])))


# Tables 1 and 3: accuracy in percent.
PAPER_ACCURACY: dict[tuple[str, int], dict[str, Number]] = {
    ("toy", 1): _row(93.9, 1.9, 86.4, 3.2, 85.7, 2.9, 93.9, 1.9, 90.3, 4.4, 86.3, 2.7, 86.3, 3.3),
    ("toy", 2): _row(99.7, 0.5, 99.7, 0.5, 99.7, 0.5, 94.7, 1.8, 97.5, 2.8, 99.4, 1.4, 99.7, 0.5),
    ("sonar", 10): _row(
        75.0, 2.3, 71.4, 4.6, 69.8, 5.9, 69.3, 5.9, 64.3, 7.1, 71.4, 5.1, 70.0, 6.0
    ),
    ("sonar", 20): _row(
        75.0, 5.8, 72.1, 5.8, 74.1, 4.8, 72.4, 3.4, 70.7, 4.6, 73.1, 4.2, 72.1, 4.4
    ),
    ("ionosphere", 10): _row(
        86.1, 3.7, 85.3, 5.2, 85.6, 5.0, 84.3, 5.0, 86.0, 4.3, 82.4, 5.6, 86.6, 4.0
    ),
    ("ionosphere", 20): _row(
        87.3, 4.1, 86.4, 4.7, 85.7, 4.7, 85.1, 3.8, 85.1, 4.8, 86.7, 3.4, 86.6, 3.8
    ),
    ("wdbc", 10): _row(97.0, 1.0, 95.1, 0.8, 96.0, 0.8, 94.6, 1.7, 93.5, 1.2, 94.2, 1.0, 96.3, 0.4),
    ("wdbc", 20): _row(97.4, 0.6, 97.4, 0.5, 97.2, 1.0, 97.4, 0.6, 94.6, 1.0, 96.5, 1.0, 97.0, 0.5),
    ("wpbc", 10): _row(79.5, 4.8, 78.3, 4.7, 79.8, 6.0, 78.2, 5.2, 78.0, 5.1, 78.0, 5.1, 79.0, 6.4),
    ("wpbc", 20): _row(81.2, 5.0, 80.7, 5.2, 80.4, 4.7, 80.1, 4.7, 79.3, 3.9, 78.6, 4.6, 78.0, 6.7),
}

# Tables 5 to 7: mean squared error and Q2.
PAPER_ERRORS: dict[tuple[str, int], dict[str, tuple[Number, Number]]] = {
    ("simulated", 5): {
        PUBLISHED: ((1.1599, 0.6977), (0.0339, 0.0186)),
        STEPWISE: ((1.2156, 0.6893), (0.0356, 0.0183)),
        SVR: ((1.2128, 0.7421), (0.0353, 0.0198)),
        LASSO: ((1.2156, 0.6893), (0.0356, 0.0183)),
    },
    ("simulated", 6): {
        PUBLISHED: ((1.1600, 0.6977), (0.0339, 0.0186)),
        STEPWISE: ((1.2352, 0.6787), (0.0362, 0.0180)),
        SVR: ((1.2127, 0.7422), (0.0353, 0.0198)),
        LASSO: ((1.2553, 0.6716), (0.0368, 0.0178)),
    },
    ("boston", 5): {
        PUBLISHED: ((25.65, 2.36), (0.3208, 0.0329)),
        STEPWISE: ((26.24, 2.41), (0.3281, 0.0326)),
        SVR: ((26.95, 3.12), (0.3365, 0.0368)),
        LASSO: ((26.25, 2.57), (0.3283, 0.0345)),
    },
    ("boston", 6): {
        PUBLISHED: ((25.07, 2.50), (0.3131, 0.0290)),
        STEPWISE: ((25.39, 2.69), (0.3174, 0.0344)),
        SVR: ((26.75, 2.94), (0.3342, 0.0360)),
        LASSO: ((25.83, 2.41), (0.3232, 0.0344)),
    },
    ("forest_fires", 1): {
        PUBLISHED: ((1.9662, 0.1412), (1.0077, 0.0056)),
        STEPWISE: ((2.0046, 0.1476), (1.0276, 0.0295)),
        SVR: ((1.9805, 0.1450), (1.0149, 0.0081)),
        LASSO: ((1.9802, 0.1416), (1.0147, 0.0320)),
    },
    ("forest_fires", 3): {
        PUBLISHED: ((1.9663, 0.1412), (1.0077, 0.0057)),
        STEPWISE: ((2.0046, 0.1476), (1.0276, 0.0295)),
        SVR: ((1.9792, 0.1458), (1.0142, 0.0086)),
        LASSO: ((1.9754, 0.1655), (1.0142, 0.0146)),
    },
}

# Table 4: times in 20 that exactly the five features, and the sixth as well, were selected.
PAPER_PICKS: dict[str, tuple[str, str]] = {
    PUBLISHED: (
        "19: 4 3 2 5 1; 1: 4 3 2 5 6",
        "20: 4 3 2 5 1 6",
    ),
    STEPWISE: (
        "10: 4 3 2 5 1; 6: 4 3 2 5 6; 2: 4 3 5 2 6; 2: not legible",
        "13 with 1 to 6; the others with a noise feature",
    ),
    SVR: ("10: 4 3 2 5 1; 10: 4 3 2 5 6", "not legible in our copy"),
    LASSO: (
        "15: 4 3 2 5 1; 4: 4 3 2 5 6; 1: 4 3 2 6 5",
        "a noise feature or feature 7 in all",
    ),
}
