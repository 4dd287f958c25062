"""Sealed files of any kind: what they share, and how a file of another kind is told apart."""

from __future__ import annotations

import errno
import io
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kernelpath.errors import PathFileError
from kernelpath.path.feature_path import load_path
from kernelpath.utils.archive import (
    KINDS,
    MODEL,
    PATH,
    building,
    decode_names,
    encode_names,
    read_archive,
    saving,
    write_archive,
)
from path_examples import random_path, to_bytes

HEADER = {"classes": ["a", "b"], "nested": {"scale": 0.1, "none": None}, "text": "\ud83d é"}
ARRAYS = {
    "floats": np.array([[0.5, -0.0], [np.inf, 5e-324]]),
    "fortran": np.asfortranarray(np.arange(6).reshape(2, 3)),
    "strided": np.arange(10)[::3],
    "empty": np.zeros((0, 4), np.float32),
    "scalar": np.array(7, np.int16),
    "text": np.array(["x", "long"]),
    "flags": np.array([True, False]),
}


def to_file(kind=MODEL, header=HEADER, arrays=ARRAYS):
    file = io.BytesIO()
    write_archive(kind, file, header, arrays)
    return file.getvalue()


def read(content, kind=MODEL):
    return read_archive(kind, io.BytesIO(content))


def test_round_trip_of_another_kind(tmp_path):
    file = tmp_path / "a.kpmodel"
    write_archive(MODEL, file, HEADER, ARRAYS)
    header, arrays, label = read_archive(MODEL, file)
    assert header.items() >= HEADER.items()
    assert (header["format"], header["format_version"]) == ("kernelpath-model", MODEL.version)
    assert list(arrays) == list(ARRAYS)
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(arrays[name], array, strict=True)
        assert not arrays[name].flags.writeable
    assert label == repr(str(file))
    assert file.read_bytes() == to_file()
    assert os.listdir(tmp_path) == ["a.kpmodel"]


def test_equal_content_gives_equal_bytes():
    copies = {name: np.array(array, order="K") for name, array in ARRAYS.items()}
    assert to_file(arrays=copies) == to_file()
    assert to_file(header=HEADER | {"text": ""}) != to_file()
    assert to_file(arrays=ARRAYS | {"scalar": np.array(8, np.int16)}) != to_file()


def test_a_file_of_another_kind_is_named_with_its_reader(tmp_path):
    path, model = tmp_path / "a.kpath", tmp_path / "a.kpmodel"
    random_path().save(path)
    model.write_bytes(to_file())
    message = r"a.kpath' is a saved path, not a saved model: read it with kernelpath.load_path$"
    with pytest.raises(PathFileError, match=message):
        read_archive(MODEL, path)
    message = r"a.kpmodel' is a saved model, not a saved path: read it with kernelpath.load_model$"
    with pytest.raises(PathFileError, match=message):
        load_path(model)


def test_kinds_can_be_told_apart():
    for field in ("format", "header_name", "noun", "reader"):
        assert len({getattr(kind, field) for kind in KINDS}) == len(KINDS)
    foreign = replace(MODEL, format="elsewhere-model")
    with pytest.raises(PathFileError, match="not a saved model: its format is 'elsewhere-model'"):
        read(to_file(foreign))
    newer = rf"newer kernelpath \(format {MODEL.version + 1}\).* up to {MODEL.version}: upgrade"
    with pytest.raises(PathFileError, match=newer):
        read(to_file(replace(MODEL, version=MODEL.version + 1)))
    later = replace(MODEL, version=MODEL.version + 1)
    assert read(to_file(), later)[0]["format_version"] == MODEL.version


def test_messages_use_the_words_of_the_kind(tmp_path):
    with pytest.raises(PathFileError, match=r"not a saved model.*written by PathCV.save"):
        read(b"a,b\n1,2\n")
    with pytest.raises(FileNotFoundError, match="no saved model here"):
        read_archive(MODEL, tmp_path / "a.kpmodel")
    with pytest.raises(FileNotFoundError, match=r"cannot save the model .*missing.a.kpmodel"):
        write_archive(MODEL, tmp_path / "missing" / "a.kpmodel", HEADER, ARRAYS)
    altered = pytest.raises(PathFileError, match=r"altered \(KeyError\).* fit the model again")
    with altered, building(MODEL, "the file"):
        raise KeyError


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.noun)
def test_damage_is_refused_by_the_reader_of_any_kind(kind):
    rng = np.random.default_rng(0)
    for content in (to_file(), to_bytes(random_path())):
        for length in (0, 1, 3, 30, *rng.integers(4, len(content), 100), len(content) - 1):
            with pytest.raises(PathFileError):
                read(content[:length], kind)
        for i in rng.choice(len(content), 300, replace=False):
            altered = bytearray(content)
            altered[i] ^= 1 << int(rng.integers(8))
            with pytest.raises(PathFileError):
                read(bytes(altered), kind)


def test_objects_and_reserved_keys_are_refused_and_leave_nothing(tmp_path):
    file = tmp_path / "a.kpmodel"
    for header, arrays, error, message in [
        (HEADER, {"names": np.array(["a", None], dtype=object)}, TypeError, "'names' holds Python"),
        (HEADER, {"mixed": np.zeros(2, [("x", "f8"), ("y", "O")])}, TypeError, "Python objects"),
        ({"estimator": object()}, ARRAYS, TypeError, "JSON"),
        ({"format": "other"}, ARRAYS, ValueError, r"not free: \['format'\]"),
        ({"arrays": 1}, ARRAYS, ValueError, r"not free: \['arrays'\]"),
    ]:
        with pytest.raises(error, match=message):
            write_archive(MODEL, file, header, arrays)
        assert os.listdir(tmp_path) == []


def test_errors_while_the_parts_are_made_name_the_file_once():
    full, file = OSError(errno.ENOSPC, "disk full"), Path("a.kpath")
    with pytest.raises(OSError, match="full") as caught, saving(PATH, file), saving(PATH, file):
        raise full
    assert str(caught.value).count("cannot save the path") == 1
    assert (caught.value.filename, caught.value.errno) == ("a.kpath", errno.ENOSPC)
    with pytest.raises(OSError, match="full") as caught, saving(PATH, io.BytesIO()):
        raise full
    assert caught.value is full


@pytest.mark.parametrize("names", [[], [""], ["a", "", "\ud83d", "\x00", "\U0001f9ec"], ["é"] * 9])
def test_names(names):
    arrays = encode_names(names) | encode_names(names[::-1], prefix="classes")
    stored = read(to_file(arrays=arrays))[1]
    assert decode_names(stored) == names
    assert decode_names(stored, prefix="classes") == names[::-1]
    assert decode_names(encode_names(np.array(names, dtype=object))) == names
    for lengths in (stored["names_lengths"] + 1, np.r_[stored["names_lengths"], -1, 1]):
        if len(lengths):
            with pytest.raises(ValueError, match="names do not fit"):
                decode_names(stored | {"names_lengths": lengths})


def test_what_packs_too_well_is_written_as_it_is(tmp_path):
    """A reader refuses large arrays in a tiny file; a file of the package is never one."""
    file = tmp_path / "a.kpmodel"
    zeros = np.zeros(2_200_000)  # 17.6 MB
    write_archive(MODEL, file, HEADER, {"zeros": zeros})
    assert file.stat().st_size > zeros.nbytes
    assert np.array_equal(read_archive(MODEL, file)[1]["zeros"], zeros)
    small = zeros[:2_000_000]
    write_archive(MODEL, file, HEADER, {"zeros": small})
    assert file.stat().st_size < small.nbytes / 100
    assert np.array_equal(read_archive(MODEL, file)[1]["zeros"], small)
