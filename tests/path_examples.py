"""Paths to test with, small and random ones, and files of them with changed parts."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile

import numpy as np
from scipy import sparse

from kernelpath.path.feature_path import FeaturePath, PathEvent, PathPoint, load_path
from kernelpath.utils import archive, provenance

WEIGHTS = np.array(
    [
        [0.5, 0.4, 0.4, 0.1, 0.0],
        [0.6, 0.3, 0.3, 0.0, 0.0],
        [0.7, 0.2, 0.0, 0.0, 0.0],
        [0.9, 0.0, 0.0, 0.0, 0.0],
    ]
)


def make_path(weights=WEIGHTS, supports=None, **changes):
    n = np.shape(weights)[0]
    arguments = {
        "method": "demo",
        "parameter_name": "p",
        "parameters": np.linspace(2, 1, n),
        "weights": weights,
        "supports": weights > 0 if supports is None else supports,
        "values": -np.arange(1.0, n + 1),
        "kkt": np.full(n, 1e-12),
        "gaps": np.where(np.arange(n) % 2, np.nan, 1e-9),
        "events": [PathEvent("eliminate", 3, "ignored", 1.7, 1), PathEvent("turn", -1, "", 1.2, 3)],
        "provenance": {"seed": 3, "nested": {"list": [1, 2.5, None]}},
    }
    return FeaturePath(**(arguments | changes))


def from_masks(masks, **changes):
    masks = np.asarray(masks, dtype=bool)
    return make_path(masks.astype(float), masks, events=(), **changes)


class Ranking:
    """Extension that knows a point for every size: the k first of a fixed order."""

    kind = "test-ranking"

    def __init__(self, ranking):
        self.ranking = np.asarray(ranking)
        self.n_usable = len(self.ranking)

    def at(self, path, k):
        support = np.zeros(path.n_features, dtype=bool)
        support[self.ranking[:k]] = True
        return PathPoint(-1, 1.0, support / 2, support, 0.0, 0.0, None, "between stored points")

    def order(self):
        return self.ranking

    def to_state(self):
        return {}, {"ranking": self.ranking}


def random_path(n_points=6, n_features=40, seed=0, same_pattern=True, **changes):
    rng = np.random.default_rng(seed)
    weights = sparse.random_array((n_points, n_features), density=0.4, rng=rng, format="csr")
    supports = weights if same_pattern else rng.random((n_points, n_features)) < 0.3
    arguments = {
        "method": "lp-kta",
        "parameter_name": "p",
        "parameters": np.linspace(2, 1, n_points),
        "weights": weights,
        "supports": supports,
        "values": rng.normal(size=n_points),
        "kkt": rng.random(n_points),
        "gaps": np.where(rng.random(n_points) < 0.5, np.nan, 0.1),
        "events": [PathEvent("enter", 3, "", 1.5, 1), PathEvent("turn", -1, "", 1.2, 2)],
        "provenance": provenance.versions() | {"text": "\ud83d \u00e9", "big": 2**70},
    }
    return FeaturePath(**(arguments | changes))


def to_bytes(path):
    file = io.BytesIO()
    path.save(file)
    return file.getvalue()


def from_bytes(content):
    return load_path(io.BytesIO(content))


def forge(content, change=lambda header: None, arrays=None, seal=True, **members):
    """Rewrite a file with changed parts and, as an attacker would, with right checksums."""
    with zipfile.ZipFile(io.BytesIO(content)) as old:
        parts = {name: old.read(name) for name in old.namelist()}
    header = json.loads(parts["path.json"])
    if arrays is not None:
        with np.load(io.BytesIO(parts["arrays.npz"])) as npz:
            stored = dict(npz) | arrays
        buffer = io.BytesIO()
        header["arrays"] = archive._write_npz(stored, buffer)
        parts["arrays.npz"] = buffer.getvalue()
        digest = hashlib.sha256(buffer.getvalue()).hexdigest()
        header["arrays_npz"] = {"bytes": len(buffer.getvalue()), "sha256": digest}
    change(header)
    parts["path.json"] = json.dumps(header).encode()
    parts["SHA256"] = hashlib.sha256(parts["path.json"]).hexdigest().encode()
    parts |= {name.replace("_", "."): data for name, data in members.items()}
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as new:
        for name, data in parts.items():
            if data is not None:
                new.writestr(name, data)
        new.comment = b"0" * 64
    if seal:
        archive._seal(file)
    return file.getvalue()
