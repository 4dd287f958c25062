"""What leaving small weights out of the chosen point of L1KR does to the error on new rows.

    python benchmarks/l1kr_prune.py [--trials 6]

The same rows for both: the simulated functions of the paper's Table 1 (training and test rows as
there) and splits of real tables, 30 % held out.  Ratios below 1 are gains.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from sklearn.model_selection import train_test_split

sys.path.insert(0, str(Path(__file__).parent / "papers"))

from l1kr_settings import CASES, Split, drawn_split, whole_table

from common import Report

REAL = ("diabetes", "wisconsin_reg", "boston")
SPLITS = 3


def split_of(data: str, seed: int) -> Split | None:
    table = whole_table(data)
    if table is None:
        return None
    X, X_test, y, y_test = train_test_split(*table, test_size=0.3, random_state=seed)
    return Split(X, y, X_test, y_test)


def compared(split: Split) -> tuple[float, int, int]:
    """Error of the pruned machine over that of the point, and the sizes of both."""
    import kernelpath as kp

    model = kp.L1KRRegressor(search_branches=False).fit(split.X, split.y)
    whole = model.path_[model.position_]
    errors = [
        float(np.mean((model.predict(split.X_test, position=at) - split.y_test) ** 2))
        for at in (None, model.position_)
    ]
    return errors[0] / errors[1], int(model.support_.sum()), int(whole.n_selected)


def row(report: Report, name: str, found: list[tuple[float, int, int]]) -> None:
    ratios, kept, before = (np.array(part) for part in zip(*found))
    se = ratios.std(ddof=1) / np.sqrt(len(ratios))
    report.add(
        f"{name}, {len(found)} draws: {np.median(kept):g} of {np.median(before):g} features in the "
        "median, error over that of the whole point",
        f"{ratios.mean():.3f} ± {se:.3f}", "<= 1 + 2 errors", bool(ratios.mean() <= 1 + 2 * se),
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=6)
    trials = parser.parse_args().trials
    report = Report("l1kr_prune", "L1KR: small weights left out")
    print(report.title)
    for case in CASES:
        if case.data not in REAL:
            found = [compared(drawn_split(case, trial)) for trial in range(trials)]
            row(report, case.label, found)
    for data in REAL:
        splits = [split_of(data, seed) for seed in range(SPLITS)]
        if None in splits:
            report.note(f"{data} is not here: left out")
            continue
        row(report, data, [compared(split) for split in splits if split is not None])
    report.note(
        "The rule was chosen on the simulated functions; the real tables were looked at once"
    )
    report.save()


if __name__ == "__main__":
    main()
