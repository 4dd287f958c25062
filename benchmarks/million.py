"""A million features: 1,000 rows, float32, generated in chunks, the whole path in one process."""

from __future__ import annotations

import resource
import time

import numpy as np

import kernelpath as kp
from common import Report

ROWS, FEATURES, CHUNK = 1_000, 1_000_000, 20_000


def generate() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X = np.empty((ROWS, FEATURES), dtype=np.float32, order="F")
    relevant = []
    blocks = kp.datasets.iter_wide_chunks(ROWS, FEATURES, dtype=np.float32, chunk_size=CHUNK)
    for start, block in blocks:
        X[:, start : start + block.X.shape[1]] = block.X
        relevant.extend((block.relevant + start).tolist())
        y = block.y
    return X, y, np.array(relevant)


def main() -> None:
    report = Report("million", "A million features, 1,000 rows, float32, one process")
    print(report.title, flush=True)
    X, y, relevant = generate()
    kp.LpKTASelector().fit(X[:, :200], y)
    wall, cpu = time.perf_counter(), time.process_time()
    path = kp.LpKTASelector(n_jobs=2).fit(X, y).path_
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    found = len(set(path.entry_order()[: len(relevant)].tolist()) & set(relevant.tolist()))
    report.add("peak memory, table of 3.7 GB included", f"{peak:.1f} GB", "<= 8 GB", peak <= 8)
    report.add("time of fit (2 threads), 101 points", f"{wall:.1f} s wall", "no bar", None)
    report.add("largest KKT residual along the path", f"{path.kkt.max():.0e}", "<= 1e-10",
               bool(path.kkt.max() <= 1e-10))  # fmt: skip
    report.note(
        f"CPU time {cpu:.1f} s; {path.n_selected[0]:,} features at p = 2, "
        f"{path.n_selected[-1]:,} at p = 1; {found} of the {len(relevant)} relevant features "
        f"are the first {len(relevant)} of the path"
    )
    report.save()


if __name__ == "__main__":
    main()
