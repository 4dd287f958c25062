"""Damage by accident: flipped bits, cuts, insertions and added bytes, in every kind of file.

Each file that is still read is then used: a path gives its table and its points, a model predicts
and transforms, a table is compared cell by cell, a fold is resumed from.
"""

from __future__ import annotations

import io
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import kernelpath as kp
from hardening import samples
from hardening.tally import Tally
from kernelpath.tables.read import read_table

RIGHT, REFUSED, OTHER = "right", "refused in words", "other values, still a valid file"
REFUSED_IN_USE = "loaded, then refused in words"  # as a row that is too far from those of fit
IN_WORDS = (kp.PathFileError, kp.DataError)


def mutations(content: bytes, count: int, rng: np.random.Generator) -> Iterator[tuple[str, bytes]]:
    """So many damaged copies: 60 % bit flips, 25 % truncations, the rest cuts and insertions."""
    size = len(content)
    for i in range(count):
        place = int(rng.integers(size))
        kind = rng.random()
        if kind < 0.6:
            bit = 1 << int(rng.integers(8))
            flipped = bytes([content[place] ^ bit])
            yield (
                f"bit {bit} of byte {place} flipped",
                (content[:place] + flipped + content[place + 1 :]),
            )
        elif kind < 0.85:
            yield f"cut off at {place}", content[:place]
        elif kind < 0.92:
            length = int(rng.integers(1, 200))
            yield f"{length} bytes at {place} left out", content[:place] + content[place + length :]
        elif kind < 0.98:
            extra = rng.bytes(int(rng.integers(1, 50)))
            yield f"{len(extra)} bytes put in at {place}", content[:place] + extra + content[place:]
        else:
            yield f"{i} bytes added", content + rng.bytes(i + 1)


def use_path(path: kp.FeaturePath) -> tuple:
    """Everything a user looks at."""
    frame = path.to_frame()
    points = [path.at(k) for k in path.sizes.tolist()] if path.extension else []
    events = path.events.to_frame()
    return path, frame.to_numpy().tolist(), points, events.shape, path.entry_order().tolist()


def use_model(model: kp.PathCV) -> tuple:
    """Everything a user asks of a model."""
    X, y = samples.table()
    found = [model.predict(X), model.decision_function(X), model.predict_proba(X)]
    for k in sorted(model._models):
        found += [model.predict(X, n_features=k), model.decision_function(X, n_features=k)]
    found.append(model.transform(X).to_numpy() if hasattr(model.transform(X), "to_numpy")
                 else np.asarray(model.transform(X)))  # fmt: skip
    model.scores_.to_frame()
    model.choose("best")
    repr(model)
    return found, model.score(X, y), use_path(model.path_)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, list | tuple):
        same = isinstance(other, list | tuple) and len(one) == len(other)
        return same and all(map(_same, one, other))
    if isinstance(one, np.ndarray):
        numbers = one.dtype.kind == "f"
        return isinstance(other, np.ndarray) and np.array_equal(one, other, equal_nan=numbers)
    return bool(one == other) or (one != one and other != other)


def outcome(read: Callable[[], Any], use: Callable[[Any], Any], right: Any, other: str) -> str:
    """What became of a file: right, refused in words, ``other``, or a broken promise."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            held = read()
        except IN_WORDS as error:
            return REFUSED if "\n" not in str(error) else f"several lines: {error}"
        except Exception as error:
            return f"{type(error).__name__} at load: {error}"
        try:
            return RIGHT if _same(use(held), right) else other
        except kp.DataError:
            return REFUSED_IN_USE
        except Exception as error:
            return f"{type(error).__name__} in use: {error}"


def _archives(count: int, rng: np.random.Generator) -> list[Tally]:
    tallies = []
    for title, content, load, use in (
        (".kpath", samples.path_bytes(), kp.load_path, use_path),
        (".kpmodel", samples.model_bytes(), kp.load_model, use_model),
    ):
        tally = Tally(f"damage: {title}", (RIGHT, REFUSED))
        right = use(load(io.BytesIO(content)))
        for case, damaged in mutations(content, count, rng):
            read = partial(load, io.BytesIO(damaged))
            tally.add(outcome(read, use, right, "silently different"), case)
        tallies.append(tally)
    return tallies


def _folds(count: int, rng: np.random.Generator) -> Tally:
    """A damaged file of finished work is computed again: the scores are the right ones."""
    X, y = samples.table()
    X = X.drop(columns="town")
    tally = Tally("damage: .kpfold", (RIGHT,))
    with tempfile.TemporaryDirectory() as folder:

        def fit() -> kp.PathCV:
            grid = kp.JointRBFSVM(gamma=1.0, C=10.0)
            return kp.PathCV(
                cv=2, n_features=[2], predictor=grid, memory=folder, references=False
            ).fit(X, y)

        right = fit().scores_
        file = sorted(Path(folder).glob("*.kpfold"))[0]
        content = file.read_bytes()
        for case, damaged in mutations(content, count, rng):
            file.write_bytes(damaged)
            tally.add(outcome(fit, lambda found: found.scores_, right, "silently different"), case)
    return tally


def _tables(count: int, rng: np.random.Generator) -> list[Tally]:
    tallies = []
    with tempfile.TemporaryDirectory() as folder:
        for file in samples.write_tables(Path(folder)):
            ending = "".join(file.suffixes)
            # A digit of a CSV is as good as another: the format cannot show such damage.
            tally = Tally(f"damage: table{ending}", (RIGHT, REFUSED, OTHER))
            target = None if ending in (".npz", ".svm") else "y"

            def read(file: Path = file, target: str | None = target) -> Any:
                return read_table(file, target=target)

            def use(table: Any) -> list:
                X = table.X.toarray() if hasattr(table.X, "toarray") else np.asarray(table.X)
                return [X, table.y.tolist(), list(table.feature_names)]

            content = file.read_bytes()
            right = use(read())
            for case, damaged in mutations(content, count, rng):
                file.write_bytes(damaged)
                tally.add(outcome(read, use, right, OTHER), case)
            tallies.append(tally)
    return tallies


def trials(long: bool, seed: int) -> list[Tally]:
    """Damage to archives, folds and tables."""
    rng = np.random.default_rng(seed)
    found = _archives(400 if long else 25, rng)
    found.append(_folds(60 if long else 4, rng))
    return found + _tables(120 if long else 12, rng)
