"""Damage on purpose: every entry of a header and every array replaced, all seals computed again.

A forged file whose content a real one could have cannot be told from it; everything else has to be
refused in words when it is loaded, and never later by an error of a library.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import kernelpath as kp
from hardening import samples
from hardening.forged import forged, members
from hardening.mutations import REFUSED, REFUSED_IN_USE, RIGHT, outcome, use_model, use_path
from hardening.tally import Tally
from kernelpath.utils.archive import MODEL, PATH, ArchiveKind

VALID = "another valid content"


def _arrays(array: np.ndarray) -> Iterator[tuple[str, np.ndarray | None]]:
    """What may stand in the place of an array."""
    yield "left out", None
    yield "empty", array[:0]
    yield "one short", array[:-1]
    yield "one longer", np.concatenate([array, array[-1:]]) if array.size else np.zeros(1)
    yield "a column more", np.stack([array, array], axis=-1)
    yield "a number", np.zeros((), array.dtype)
    yield "as text", np.full(array.shape, "a")
    yield "as truth values", array.astype(bool)
    yield "as complex numbers", array.astype(complex)
    yield "as dates", np.zeros(array.shape, "M8[s]")
    yield "with fields", np.zeros(array.shape, [("a", "f8")])
    yield "float16", np.zeros(array.shape, np.float16)
    yield "reversed", array[::-1].copy()
    if array.dtype.kind == "f":
        for value in (np.nan, np.inf, -np.inf, -1e300, 1e300):
            yield f"all {value:g}", np.full(array.shape, value)
            one = array.copy()
            one.ravel()[-1:] = value
            yield f"one {value:g}", one
        yield "float32", array.astype(np.float32)
    elif array.dtype.kind in "iu":
        for value in (-1, 2**31 - 1, 2**62):
            yield f"all {value}", np.full(array.shape, value, np.int64)
            one = array.astype(np.int64)
            one.ravel()[-1:] = value
            yield f"one {value}", one.astype(array.dtype) if array.dtype.kind == "u" else one
        yield "as numbers", array.astype(float)
    elif array.dtype.kind == "b":
        yield "all true", np.ones(array.shape, bool)
        yield "all false", np.zeros(array.shape, bool)


VALUES: list[Any] = [
    None, True, 0, -1, 1, 3.5, 1e300, float("nan"), float("inf"), 2**70, "", "a", "7", [], [1],
    ["a"], {}, {"a": 1}, [[[]]],
]  # fmt: skip


def _places(value: Any, at: tuple = ()) -> Iterator[tuple]:
    """Every place inside a header, containers too."""
    if at:
        yield at
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _places(part, (*at, key))
    elif isinstance(value, list):
        for i, part in enumerate(value[:3]):
            yield from _places(part, (*at, i))


def _at(place: tuple, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(header: dict[str, Any]) -> None:
        inside: Any = header
        for key in place[:-1]:
            inside = inside[key]
        inside[place[-1]] = value

    return change


def _without(place: tuple) -> Callable[[dict[str, Any]], None]:
    def change(header: dict[str, Any]) -> None:
        inside: Any = header
        for key in place[:-1]:
            inside = inside[key]
        del inside[place[-1]]

    return change


def cases(kind: ArchiveKind, content: bytes) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """All forgeries of a file, by name; each is made when it is called."""
    text, arrays = members(content, kind)
    for name, array in arrays.items():
        for what, other in _arrays(array):
            yield f"{name} {what}", lambda n=name, o=other: forged(kind, content, arrays={n: o})
    header = json.loads(text)
    for checksum in ("arrays", "arrays_npz"):  # computed again
        header.pop(checksum)
    for place in _places(header):
        where = "/".join(map(str, place))
        yield f"{where} left out", lambda p=place: forged(kind, content, _without(p))
        for value in VALUES:
            yield f"{where} = {value!r}", lambda p=place, v=value: forged(kind, content, _at(p, v))


def trials(long: bool, seed: int) -> list[Tally]:
    """All forgeries, or a sample of them."""
    rng = np.random.default_rng(seed)
    tallies = []
    for title, kind, content, load, use in (
        (".kpath", PATH, samples.path_bytes(), kp.load_path, use_path),
        (".kpath, constraints", PATH, samples.path_bytes(True), kp.load_path, use_path),
        (".kpmodel, joint RBF", MODEL, samples.model_bytes(), kp.load_model, use_model),
        (".kpmodel, weighted kernels", MODEL, samples.model_bytes("weighted_kernel"),
         kp.load_model, use_model),
    ):  # fmt: skip
        tally = Tally(f"forged: {title}", (RIGHT, REFUSED, REFUSED_IN_USE, VALID))
        right = use(load(io.BytesIO(content)))
        every = list(cases(kind, content))
        most = 900 if long else 40
        chosen = (
            every
            if len(every) <= most
            else [every[i] for i in np.sort(rng.choice(len(every), most, replace=False))]
        )
        for case, make in chosen:
            tally.add(outcome(partial(load, io.BytesIO(make())), use, right, VALID), case)
        tallies.append(tally)
    return tallies
