"""L1KR: an effect that three features have together only, which no single one shows."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import kernelpath as kp
from common import Report

XOR_DRAWS = 10
KINDS = ("normal columns", "columns of -1 and 1")


def three_together(report: Report) -> None:
    """Parity of three features: of values of -1 and 1, and of signs of normal ones."""
    for kind in KINDS:
        found = [parity(kind, seed) for seed in range(XOR_DRAWS)]
        held, heaviest, sizes, kta, gmkl, others = zip(*found)
        report.add(
            f"XOR of three {kind} among 50, 300 rows: draws whose selected features "
            "contain the three",
            f"{sum(held)} of {XOR_DRAWS} ({np.mean(sizes):.0f} features on average; the three "
            f"heaviest are the right ones in {sum(heaviest)}, from another branch in "
            f"{sum(others)})",
            f">= 9 of {XOR_DRAWS}", sum(held) >= 9,
        )  # fmt: skip
        report.note(
            f"XOR of three {kind}: the first three features are the right ones in {sum(kta)} of "
            f"{XOR_DRAWS} draws by lp-KTA, in {sum(gmkl)} by GMKL with a sum of kernels."
        )


def parity(kind: str, seed: int) -> tuple[bool, bool, int, bool, bool, bool]:
    """Whether L1KR selects the three, as the heaviest, how many; two others; and the branch."""
    data = kp.datasets.make_xor(300, 50, order=3, random_state=seed)
    X, true = data.X, set(np.asarray(data.relevant).tolist())
    if "-1" in kind:
        X = np.sign(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = kp.L1KRClassifier().fit(X, data.y)
    kta = kp.LpKTASelector().fit(X, data.y).path_.entry_order()[:3]
    gmkl = kp.GMKLClassifier().fit(X, data.y).feature_importances_.argsort()[::-1][:3]
    return (
        true <= set(np.flatnonzero(model.support_).tolist()),
        true == set(np.argsort(-model.weights_)[:3].tolist()),
        int(model.support_.sum()),
        true == set(kta.tolist()),
        true == set(gmkl.tolist()),
        model.branch_ != "from zero weights",
    )


def main() -> None:
    report = Report("l1kr_xor", "L1KR: three features that count together only")
    three_together(report)
    report.note("Default settings of all methods.")
    report.save()


if __name__ == "__main__":
    main()
