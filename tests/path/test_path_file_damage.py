"""Files of paths: every damage, forgery and inconsistency is refused with a clear message."""

from __future__ import annotations

import hashlib
import io
import zipfile

import numpy as np
import pytest

from kernelpath.errors import PathFileError
from kernelpath.path.feature_path import load_path
from kernelpath.utils import archive
from path_examples import forge, from_bytes, random_path, to_bytes


@pytest.fixture(scope="module")
def content():
    return to_bytes(random_path(feature_names=[f"gene {j}" for j in range(40)]))


def test_every_altered_byte_is_refused(content):
    rng = np.random.default_rng(0)
    ends = {*range(120), *range(len(content) - 500, len(content))}
    positions = ends | set(rng.choice(len(content), 400, replace=False).tolist())
    for i in positions:
        for flip in (0x01, 0xFF):
            altered = bytearray(content)
            altered[i] ^= flip
            with pytest.raises(PathFileError):
                from_bytes(bytes(altered))


def test_every_truncation_and_addition_is_refused(content):
    rng = np.random.default_rng(1)
    lengths = {*range(100), *range(len(content) - 200, len(content))}
    for length in lengths | set(rng.integers(0, len(content), 100).tolist()):
        with pytest.raises(PathFileError):
            from_bytes(content[:length])
    for altered in (content + b"\0", b"\0" + content, content[1:], content + content):
        with pytest.raises(PathFileError):
            from_bytes(altered)


def test_messages_say_what_is_wrong_and_what_to_do(tmp_path, content):
    file = tmp_path / "a.kpath"
    foreign = io.BytesIO()
    np.savez(foreign, a=np.zeros(3))
    for data, message in [
        (b"", "empty"),
        (b"\x80\x04K\x01.", "not a saved path"),
        (b"p,value\n1,2\n", "not a saved path"),
        (foreign.getvalue(), "has no path.json"),
        (content[:-300], "truncated, damaged or altered.*another copy"),
        (content[:500] + b"?" + content[501:], "truncated, damaged or altered"),
    ]:
        file.write_bytes(data)
        with pytest.raises(PathFileError, match=message) as caught:
            load_path(file)
        assert "a.kpath" in str(caught.value)


def test_missing_file():
    with pytest.raises(FileNotFoundError, match=r"no saved path here: 'nowhere.kpath'"):
        load_path("nowhere.kpath")


def test_forged_file_without_change_is_read(content):
    assert from_bytes(forge(content)) == from_bytes(content)
    assert from_bytes(forge(content, arrays={})) == from_bytes(content)


@pytest.mark.parametrize("seal", [True, False])
def test_newer_format_asks_for_an_upgrade(content, seal):
    newer = forge(content, lambda h: h.update(format_version=7), seal=seal, new_member=b"?")
    with pytest.raises(PathFileError, match=r"newer kernelpath \(format 7\).* up to 1: upgrade"):
        from_bytes(newer)


@pytest.mark.parametrize(
    "change",
    [
        lambda h: h.update(format="other"),
        lambda h: h.update(format_version="1"),
        lambda h: h.update(format_version=0),
        lambda h: h.pop("format"),
        lambda h: h.pop("method"),
        lambda h: h.pop("arrays"),
        lambda h: h.update(n_features=39),
        lambda h: h.update(n_points=5),
        lambda h: h.update(n_points=-1),
        lambda h: h.update(n_features="40"),
        lambda h: h.update(extension={"kind": "unheard-of", "meta": {}}),
        lambda h: h.update(extension=3),
        lambda h: h["arrays"].pop("kkt"),
        lambda h: h["arrays"]["kkt"].update(bytes=10),
        lambda h: h["arrays"]["kkt"].update(bytes=10**12),
        lambda h: h["arrays"]["kkt"].update(sha256="0" * 64),
        lambda h: h["arrays_npz"].update(bytes=7),
        lambda h: h["arrays_npz"].update(sha256="0" * 64),
    ],
)
def test_inconsistent_header_is_refused(content, change):
    with pytest.raises(PathFileError):
        from_bytes(forge(content, change))


@pytest.mark.parametrize(
    "members",
    [
        {"path_json": b"{"},
        {"path_json": b"[1]"},
        {"path_json": None},
        {"SHA256": None},
        {"SHA256": b""},
        {"arrays_npz": None},
        {"arrays_npz": b"PK"},
        {"extra": b"more"},
    ],
)
def test_wrong_members_are_refused(content, members):
    with pytest.raises(PathFileError):
        from_bytes(forge(content, **members))


def test_json_of_another_shape_with_a_right_checksum_is_refused(content):
    for text in (b"[1]", b"null", b"[" * 100_000, b"\xff"):
        members = {"path_json": text, "SHA256": hashlib.sha256(text).hexdigest().encode()}
        with pytest.raises(PathFileError):
            from_bytes(forge(content, **members))


@pytest.mark.parametrize(
    "arrays",
    [
        {"weights_steps": np.full(96, 1_000_000, np.int32)},
        {"weights_steps": np.full(96, -1, np.int32)},
        {"weights_steps": np.zeros(3, np.int32)},
        {"weights_indptr": np.array([0, 96, 3, 4, 5, 6, 96], np.int32)},
        {"weights_indptr": np.array([5, 6, 7, 8, 9, 10, 11], np.int32)},
        {"weights_indptr": np.zeros(3, np.int32)},
        {"weights_data": np.full(96, np.nan)},
        {"weights_data": np.zeros((96, 2))},
        {"values": np.zeros(5)},
        {"values": np.array(["a"] * 6)},
        {"event_positions": np.array([0, 6])},
        {"event_features": np.array([40, 0])},
        {"event_kinds": np.array([9, 0], np.uint8)},
        {"names_lengths": np.full(40, 10**6)},
        {"names_lengths": np.r_[-1, np.ones(39, np.int64)]},
        {"names_text": np.full(10, 0xFF, np.uint8)},
    ],
)
def test_arrays_that_do_not_fit_are_refused(content, arrays):
    assert from_bytes(content).weights.nnz == 96
    with pytest.raises(PathFileError, match="damaged"):
        from_bytes(forge(content, arrays=arrays))


def test_pickled_objects_are_neither_written_nor_read(content):
    with pytest.raises(TypeError, match="Python objects"):
        forge(content, arrays={"values": np.array([{}] * 6)})
    npy = io.BytesIO()
    np.save(npy, np.array([print]), allow_pickle=True)
    with pytest.raises(ValueError, match="never written"):
        archive._parse_head(npy.getvalue())


def test_a_bomb_is_refused_before_it_is_unpacked(content, monkeypatch):
    """An array that unpacks to far more than path.json says is never decompressed."""
    sizes = []
    read = zipfile.ZipExtFile.read
    monkeypatch.setattr(zipfile.ZipExtFile, "read", lambda s, n=-1: sizes.append(n) or read(s, n))
    for name, n_values, change, message in (
        ("kkt", 10**6, lambda h: h["arrays"]["kkt"].update(bytes=128), "8000128 bytes, not 128"),
        (
            "kkt",
            10**6,
            lambda h: None,
            r"kkt has shape \(1000000,\), where \(points,\) with points = 6",
        ),
        ("kkt", 10**7, lambda h: None, "bytes of arrays are declared in a file of"),
        ("bomb", 10**6, lambda h: None, "nothing is known about the arrays bomb"),
    ):
        small = forge(content, change, arrays={name: np.zeros(n_values)})
        assert len(small) < 10**6
        sizes.clear()
        with pytest.raises(PathFileError, match=message):
            from_bytes(small)
        assert max(sizes) < len(small)
    outer = io.BytesIO()
    with zipfile.ZipFile(outer, "w", zipfile.ZIP_DEFLATED) as new:
        new.writestr("path.json", b" " * 10**7)
        new.comment = b"0" * 64
    archive._seal(outer)
    with pytest.raises(PathFileError, match="compressed"):
        from_bytes(outer.getvalue())
