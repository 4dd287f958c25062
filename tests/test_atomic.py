"""Files appear whole or not at all, and a directory is proved writable before the work."""

import errno
import os
import stat

import pytest

from kernelpath.atomic import atomic_write, check_writable
from kernelpath.errors import DataError


def raising(number):
    def refuse(*args, **kwargs):
        raise OSError(number, os.strerror(number))

    return refuse


@pytest.mark.parametrize(("mode", "content"), [("wb", b"\x00\r\n\xff"), ("w", "a\nb\r\né\n")])
def test_content_arrives_unchanged_and_alone(tmp_path, mode, content):
    file = tmp_path / "out.bin"
    with atomic_write(file, mode) as handle:
        handle.write(content)
        assert not file.exists()
    expected = content if mode == "wb" else content.encode("utf-8")
    assert file.read_bytes() == expected
    assert os.listdir(tmp_path) == ["out.bin"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_any_failure_leaves_the_old_file(tmp_path, error):
    file = tmp_path / "out.txt"
    file.write_text("old")

    def write():
        with atomic_write(file, "w") as handle:
            handle.write("new")
            raise error

    with pytest.raises(error):
        write()
    assert file.read_text() == "old"
    assert os.listdir(tmp_path) == ["out.txt"]


def test_a_failed_replace_is_one_line_and_cleans_up(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "replace", raising(errno.EACCES))
    file = tmp_path / "out.txt"
    with pytest.raises(DataError, match="permission denied") as caught, atomic_write(file):
        pass
    assert "\n" not in str(caught.value)
    assert os.listdir(tmp_path) == []


def test_a_full_disk_is_reported(tmp_path):
    def write():
        with atomic_write(tmp_path / "out.txt"):
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(DataError, match="no space left"):
        write()
    assert os.listdir(tmp_path) == []


def test_errors_of_the_block_itself_pass_unchanged(tmp_path):
    with pytest.raises(FileNotFoundError), atomic_write(tmp_path / "out.txt"):
        open(tmp_path / "other.txt").close()
    assert os.listdir(tmp_path) == []


def test_content_is_synced_before_the_name_changes(tmp_path, monkeypatch):
    calls = []
    sync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda fd: (calls.append("sync"), sync(fd)))
    monkeypatch.setattr(os, "replace", lambda a, b: (calls.append("replace"), replace(a, b)))
    with atomic_write(tmp_path / "out.txt"):
        pass
    assert calls[:2] == ["sync", "replace"]


@pytest.mark.skipif(os.name != "posix", reason="access rights of POSIX")
def test_access_rights_follow_the_umask_or_the_old_file(tmp_path):
    new, old = tmp_path / "new", tmp_path / "old"
    old.write_text("")
    old.chmod(0o640)
    before = os.umask(0o022)
    try:
        for file in (new, old):
            with atomic_write(file, "w") as handle:
                handle.write("x")
    finally:
        os.umask(before)
    assert stat.S_IMODE(new.stat().st_mode) == 0o644
    assert stat.S_IMODE(old.stat().st_mode) == 0o640


@pytest.mark.skipif(os.name != "posix", reason="symbolic links")
def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    with atomic_write(tmp_path / "link", "w") as handle:
        handle.write("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_very_long_names_work(tmp_path):
    file = tmp_path / ("n" * 250)
    with atomic_write(file) as handle:
        handle.write(b"x")
    assert file.read_bytes() == b"x"


def test_bad_targets(tmp_path):
    (tmp_path / "plain").write_text("")
    for path, words in [
        (tmp_path, "is a directory"),
        (tmp_path / "none" / "x", "does not exist"),
        (tmp_path / "plain" / "x", "below a file"),
    ]:
        with pytest.raises(DataError, match=words), atomic_write(path):
            pytest.fail("the block must not run")
    with pytest.raises(ValueError, match="mode"), atomic_write(tmp_path / "x", "a"):
        pass


def test_check_writable_creates_parents_and_leaves_nothing(tmp_path):
    folder = tmp_path / "a" / "b"
    assert check_writable(folder) == folder
    assert check_writable(str(folder)) == folder
    assert os.listdir(folder) == []


def test_check_writable_refuses_files(tmp_path):
    (tmp_path / "plain").write_text("keep")
    with pytest.raises(DataError, match="is a file"):
        check_writable(tmp_path / "plain")
    with pytest.raises(DataError, match="below a file"):
        check_writable(tmp_path / "plain" / "run")
    assert (tmp_path / "plain").read_text() == "keep"


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "no space left"),
        (errno.EDQUOT, "no space left"),
        (errno.EACCES, "permission denied"),
        (errno.EROFS, "read-only"),
        (errno.EIO, "choose another place"),
    ],
)
def test_check_writable_says_why(tmp_path, monkeypatch, number, words):
    monkeypatch.setattr(os, "fsync", raising(number))
    with pytest.raises(DataError, match=words) as caught:
        check_writable(tmp_path / "odd\nname")
    assert "\n" not in str(caught.value)
    assert os.listdir(tmp_path / "odd\nname") == []


def test_check_writable_when_the_directory_cannot_be_made(tmp_path, monkeypatch):
    monkeypatch.setattr("pathlib.Path.mkdir", raising(errno.EACCES))
    with pytest.raises(DataError, match="permission denied"):
        check_writable(tmp_path / "run")
