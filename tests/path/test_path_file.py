"""Files of paths: exact round trips, writes that are whole or nothing, extensions."""

from __future__ import annotations

import errno
import io
import json
import os
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from kernelpath.errors import PathFileError
from kernelpath.path import feature_path as path_module
from kernelpath.path import file as path_file
from kernelpath.path.feature_path import load_path, register_extension
from kernelpath.utils import archive
from path_examples import forge, from_bytes, random_path, to_bytes

HOSTILE = [
    *("", "plain", "\"quoted', <b>&", "two\nlines\r", "\U0001f9ec gene", "e\u0301\u202e\ufeff"),
    *("n" * 300, "\ud83d", "\ude00", " \t", "{}%s\\", "../../etc", "a\x00", "\x00"),
]


@pytest.fixture(scope="module")
def content():
    return to_bytes(random_path(feature_names=[f"gene {j}" for j in range(40)]))


@pytest.mark.parametrize("same_pattern", [True, False])
@pytest.mark.parametrize("names", [None, "given"])
@pytest.mark.parametrize("shape", [(6, 40), (1, 1), (3, 0), (2, 5)])
def test_round_trip(tmp_path, same_pattern, names, shape):
    names = None if names is None else [f"n{j}" for j in range(shape[1])]
    path = random_path(*shape, same_pattern=same_pattern, feature_names=names, events=())
    path.save(tmp_path / "a.kpath")
    loaded = load_path(str(tmp_path / "a.kpath"))
    assert loaded == path
    assert (loaded._names is None) == (names is None)
    assert loaded.provenance == path.provenance
    assert not loaded.weights.data.flags.writeable
    assert pickle.loads(pickle.dumps(loaded)) == path
    assert os.listdir(tmp_path) == ["a.kpath"]


def test_round_trip_keeps_events_extremes_and_zero_weights():
    weights = sparse.csr_array(([5e-324, -0.0, 1e308], ([0, 0, 1], [0, 2, 39])), shape=(6, 40))
    path = random_path(weights=weights, supports=weights, values=[np.inf, -np.inf, np.nan, 0, 1, 2])
    loaded = from_bytes(to_bytes(path))
    assert loaded == path
    assert list(loaded.events) == list(path.events)
    np.testing.assert_array_equal(loaded.weights.toarray(), weights.toarray())
    assert loaded.n_selected.tolist() == [2, 1, 0, 0, 0, 0]


def test_hostile_names_survive():
    path = random_path(n_features=len(HOSTILE), feature_names=HOSTILE)
    loaded = from_bytes(to_bytes(path))
    assert loaded.feature_names.tolist() == HOSTILE
    assert len(loaded.to_frame()) == len(path)
    assert loaded.events.to_frame()["name"].tolist() == [HOSTILE[3], ""]


def test_many_names():
    names = np.array([f"g{j}" for j in range(200_000)], dtype=object)
    names[7] = "n" * 300
    path = random_path(1, len(names), feature_names=names, events=())
    assert from_bytes(to_bytes(path)) == path


def test_equal_paths_give_equal_bytes(tmp_path):
    first, again = to_bytes(random_path()), to_bytes(pickle.loads(pickle.dumps(random_path())))
    assert first == again
    random_path().save(tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == first
    assert to_bytes(from_bytes(first)) == first
    assert to_bytes(random_path(seed=1)) != first


def test_the_file_is_a_zip_of_npz_and_json_that_others_can_read(content):
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        assert sorted(file.namelist()) == ["SHA256", "arrays.npz", "path.json"]
        assert file.testzip() is None
        header = json.loads(file.read("path.json"))
        assert (header["format"], header["format_version"]) == ("kernelpath-path", 1)
        with np.load(io.BytesIO(file.read("arrays.npz")), allow_pickle=False) as arrays:
            np.testing.assert_array_equal(arrays["values"], from_bytes(content).values)
            assert set(arrays) == set(header["arrays"])


class Failing(io.BytesIO):
    """File that fails at the n-th write."""

    def __init__(self, countdown, error):
        super().__init__()
        self.countdown, self.error = countdown, error

    def write(self, data):
        self.countdown -= 1
        if self.countdown < 0:
            raise self.error
        return super().write(data)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(errno.ENOSPC, "disk full")])
@pytest.mark.parametrize("stage", ["_path_arrays", "_write_npz", "_seal", "fsync", "replace"])
def test_interrupted_write_leaves_the_old_file_and_nothing_else(
    tmp_path, monkeypatch, error, stage
):
    file = tmp_path / "a.kpath"
    random_path().save(file)
    before = file.read_bytes()

    def interrupt(*args):
        if stage == "_write_npz":
            args[1].write(b"half an archive")
        raise error

    owner = {"_path_arrays": path_file, "fsync": os, "replace": os}.get(stage, archive)
    monkeypatch.setattr(owner, stage, interrupt)
    with pytest.raises(type(error)) as caught:
        random_path(seed=1).save(file)
    monkeypatch.undo()
    assert file.read_bytes() == before
    assert os.listdir(tmp_path) == ["a.kpath"]
    if isinstance(error, OSError):
        assert caught.value.errno == errno.ENOSPC
        assert "a.kpath" in str(caught.value)


def test_a_disk_that_fills_up_at_any_write(content):
    parts = path_file._parts(from_bytes(content))
    counter = Failing(10**6, None)
    archive._write(archive.PATH, counter, *parts)
    assert counter.getvalue() == content
    n_writes = 10**6 - counter.countdown
    assert n_writes > 50
    for countdown in range(n_writes):
        failing = Failing(countdown, OSError(errno.ENOSPC, "disk full"))
        with pytest.raises(OSError, match="disk full"):
            archive._write(archive.PATH, failing, *parts)


def test_devices_are_written_to_and_not_replaced():
    full = Path(os.devnull).with_name("full")
    if not full.is_char_device():
        pytest.skip("this system has no device that is always full")
    with pytest.raises(OSError, match="cannot save the path") as caught:
        random_path().save(full)
    assert caught.value.errno == errno.ENOSPC
    assert full.is_char_device()


def test_targets_that_cannot_be_written(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"missing.a.kpath"):
        random_path().save(tmp_path / "missing" / "a.kpath")
    with pytest.raises(IsADirectoryError, match="cannot save"):
        random_path().save(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError):
        random_path().save(tmp_path / "file" / "a.kpath")
    with pytest.raises(TypeError):
        random_path().save(io.StringIO())


def test_directory_without_write_permission(tmp_path):
    tmp_path.chmod(0o500)
    try:
        if os.access(tmp_path, os.W_OK):
            pytest.skip("permissions do not bind this user")
        with pytest.raises(PermissionError, match=r"a.kpath"):
            random_path().save(tmp_path / "a.kpath")
    finally:
        tmp_path.chmod(0o700)


def test_links_modes_and_long_names(tmp_path):
    real, link = tmp_path / ("n" * 250), tmp_path / "link"
    link.symlink_to(real)
    random_path().save(real)
    real.chmod(0o640)
    random_path(seed=1).save(link)
    assert link.is_symlink()
    assert load_path(real) == random_path(seed=1)
    assert real.stat().st_mode & 0o777 == 0o640


class Scaled:
    """Extension with a state: metadata and an array."""

    kind = "test-scaled"

    def __init__(self, scale, ranking, saved=True):
        self.scale, self.ranking, self.saved = scale, np.asarray(ranking), saved
        self.n_usable = len(self.ranking)

    def order(self):
        return self.ranking

    def to_state(self):
        return ({"scale": self.scale}, {"ranking": self.ranking}) if self.saved else None

    @classmethod
    def from_state(cls, meta, arrays):
        return cls(meta["scale"], arrays["ranking"])


def test_extension_round_trip_and_its_registry(monkeypatch):
    monkeypatch.setattr(path_module, "EXTENSIONS", path_file.EXTENSIONS)
    path = random_path(extension=Scaled(2.5, [3, 1, 2]))
    data = to_bytes(path)
    with pytest.raises(PathFileError, match="extension 'test-scaled'"):
        from_bytes(data)
    try:
        assert register_extension(Scaled) is Scaled
        loaded = from_bytes(data)
        assert loaded == path
        assert loaded.extension.scale == 2.5
        np.testing.assert_array_equal(loaded.entry_order(), [3, 1, 2])
        with pytest.raises(PathFileError, match="damaged"):
            from_bytes(forge(data, lambda h: h["extension"].update(meta={})))
    finally:
        del path_file.EXTENSIONS["test-scaled"]


def test_unknown_kind_is_imported_from_the_table(monkeypatch):
    imported = []

    def fake_import(name):
        imported.append(name)
        monkeypatch.setitem(path_file.EXTENSIONS, "test-scaled", Scaled)

    monkeypatch.setitem(path_file.EXTENSION_MODULES, "test-scaled", "a.module")
    monkeypatch.setattr(path_file, "import_module", fake_import)
    path = random_path(extension=Scaled(1.0, [0]))
    assert from_bytes(to_bytes(path)) == path
    assert imported == ["a.module"]


def test_extension_that_cannot_be_saved_is_left_out():
    path = random_path(extension=Scaled(1.0, [0], saved=False))
    loaded = from_bytes(to_bytes(path))
    assert loaded.extension is None
    assert loaded == random_path()
