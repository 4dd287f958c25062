"""Small files of every kind to try things on; made once."""

from __future__ import annotations

import io
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

import kernelpath as kp
from kernelpath.datasets import make_ring


@cache
def table() -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers and a column of text, with two classes."""
    data = make_ring(n_samples=60, n_features=6, random_state=0)
    frame = pd.DataFrame(data.X, columns=[f"gene {j}" for j in range(6)])
    frame["town"] = np.array(["Ulm", "Bonn", "Rom"])[np.arange(60) % 3]
    return frame, np.where(data.y == data.y.min(), "no", "yes")


@cache
def path(constrained: bool = False) -> kp.FeaturePath:
    """A path with an extension, events and names."""
    selector = kp.LpKTASelector(step=0.2, kernel="auto")
    if constrained:
        groups = [[1, 2], [3, 4]]
        selector.set_params(must_include=["town"], feature_groups=groups, costs=np.arange(7.0))
    return selector.fit(*table()).path_


@cache
def model(predictor: str = "joint_rbf") -> kp.PathCV:
    """A calibrated model with categories, at two sizes."""
    grid: Any = kp.JointRBFSVM(gamma=1.0, C=10.0)
    costs = None
    if predictor == "weighted_kernel":
        grid, costs = kp.WeightedKernelSVM(C=10.0), {"town": 2.0}
    selector = kp.LpKTASelector(step=0.2, kernel="auto", gamma=np.full(7, 0.5))
    found = kp.PathCV(selector, cv=2, predictor=grid, n_features=[2, 7], probability=True)
    found.set_params(costs=costs)
    return found.fit(*table())


def path_bytes(constrained: bool = False) -> bytes:
    """The path as a file."""
    file = io.BytesIO()
    path(constrained).save(file)
    return file.getvalue()


@cache
def model_bytes(predictor: str = "joint_rbf") -> bytes:
    """The model as a file."""
    file = io.BytesIO()
    model(predictor).save(file, n_features=7)
    return file.getvalue()


def write_tables(folder: Path) -> list[Path]:
    """The table in every format that is read."""
    frame, y = table()
    numbers = frame.drop(columns="town")
    whole = numbers.assign(y=y)
    files = [folder / f"table{ending}" for ending in
             (".csv", ".tsv.gz", ".parquet", ".feather", ".npz", ".svm")]  # fmt: skip
    whole.to_csv(files[0], index=False)
    whole.to_csv(files[1], index=False, sep="\t")
    whole.to_parquet(files[2])
    whole.to_feather(files[3])
    np.savez_compressed(files[4], X=numbers.to_numpy(), y=y == "yes")
    from sklearn.datasets import dump_svmlight_file

    dump_svmlight_file(sparse.csr_matrix(numbers.to_numpy()), y == "yes", str(files[5]))
    return files
