"""A file is there whole or not at all."""

from __future__ import annotations

import errno
import os
import subprocess
import sys

import pytest

from kernelpath.errors import DataError
from kernelpath.utils import atomic
from kernelpath.utils.atomic import UNFINISHED, check_writable, locked, replacing, staging, sweep


def raising(number):
    def refuse(*args, **kwargs):
        raise OSError(number, os.strerror(number))

    return refuse


def _files(folder):
    return sorted(file.name for file in folder.iterdir())


def test_content_arrives_unchanged_and_alone(tmp_path):
    with replacing(tmp_path / "out.bin") as handle:
        handle.write(b"a\r\nb\0")
        assert not (tmp_path / "out.bin").exists()
    assert (tmp_path / "out.bin").read_bytes() == b"a\r\nb\0"
    assert _files(tmp_path) == ["out.bin"]


@pytest.mark.parametrize(
    "error", [ValueError("x"), KeyboardInterrupt(), SystemExit(3), OSError(errno.ENOSPC, "full")]
)
def test_any_failure_leaves_the_old_file(tmp_path, error):
    file = tmp_path / "out.txt"
    file.write_bytes(b"old")
    with pytest.raises(type(error)), replacing(file) as handle:  # noqa: PT012
        handle.write(b"new")
        raise error
    assert file.read_bytes() == b"old"
    assert _files(tmp_path) == ["out.txt"]


def test_a_failed_replace_cleans_up(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "replace", raising(errno.EACCES))
    with pytest.raises(PermissionError), replacing(tmp_path / "out.txt") as handle:
        handle.write(b"new")
    assert _files(tmp_path) == []


def test_content_is_synced_before_the_name_changes(tmp_path, monkeypatch):
    calls = []
    sync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda fd: (calls.append("sync"), sync(fd)))
    monkeypatch.setattr(os, "replace", lambda *args: (calls.append("replace"), replace(*args)))
    with replacing(tmp_path / "out.txt"):
        pass
    assert calls[:2] == ["sync", "replace"]


def test_access_rights_follow_the_umask_or_the_old_file(tmp_path):
    file = tmp_path / "out.txt"
    before = os.umask(0o027)
    try:
        with replacing(file):
            pass
        assert file.stat().st_mode & 0o777 == 0o640
        file.chmod(0o604)
        with replacing(file):
            pass
        assert file.stat().st_mode & 0o777 == 0o604
    finally:
        os.umask(before)


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with replacing(tmp_path / "link") as handle:
        handle.write(b"x")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"x"


def test_a_link_is_not_followed_if_asked(tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "dangling").symlink_to(tmp_path / "gone")
    for name in ("link", "dangling"):
        with replacing(tmp_path / name, follow=False) as handle:
            handle.write(b"x")
        assert not (tmp_path / name).is_symlink()
        assert (tmp_path / name).read_bytes() == b"x"
    assert _files(tmp_path) == ["dangling", "link", "real"]
    assert (tmp_path / "real").read_bytes() == b"old"


KILLED = """
import os, sys
from pathlib import Path
from kernelpath.utils.atomic import replacing, staging
folder = Path(sys.argv[1])
with staging(folder) as stage, replacing(folder / "out.txt") as handle:
    (stage / "draft").write_text("half")
    handle.write(b"half")
    if sys.argv[2] == "wait":
        print("ready", flush=True)
        sys.stdin.readline()
    os.kill(os.getpid(), 9)
"""


def start_writer(folder, how):
    return subprocess.Popen(
        [sys.executable, "-c", KILLED, str(folder), how],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.skipif(os.name == "nt", reason="no locks there")
def test_only_what_the_dead_left_is_removed(tmp_path):
    with start_writer(tmp_path, "die") as dead:
        dead.communicate(timeout=60)
    assert len(_files(tmp_path)) == 2
    with start_writer(tmp_path, "wait") as living:
        assert living.stdout.readline() == "ready\n"
        assert len(_files(tmp_path)) == 2  # it has removed those of the dead one
        sweep(tmp_path)
        assert len(_files(tmp_path)) == 2
        living.communicate("die\n", timeout=60)
    with replacing(tmp_path / "other.txt"):
        pass
    assert _files(tmp_path) == ["other.txt"]


def test_strange_names_are_not_swept(tmp_path):
    names = [
        ".kernelpath-notes.tmp",
        ".kernelpath-" + "0" * 16,
        "x.kernelpath-" + "0" * 16 + ".tmp",
    ]
    for name in names:
        (tmp_path / name).write_bytes(b"mine")
    (tmp_path / "target").write_bytes(b"mine")
    link = tmp_path / f".kernelpath-{'0' * 16}.tmp"
    link.symlink_to(tmp_path / "target")
    sweep(tmp_path)
    assert _files(tmp_path) == sorted([*names, "target", link.name])


def test_a_stage_with_an_unfinished_move_stays(tmp_path):
    with staging(tmp_path) as stage:
        (stage / UNFINISHED).write_text("{}")
    sweep(tmp_path)
    assert _files(tmp_path) == [stage.name]
    (stage / UNFINISHED).unlink()
    sweep(tmp_path)
    assert _files(tmp_path) == []


def test_a_file_that_was_swept_before_it_was_locked(tmp_path, monkeypatch):
    real, calls = atomic.lock, []

    def late(descriptor, *args, **kwargs):
        if not calls:
            calls.append(1)
            sweep(tmp_path)  # another process comes between
        return real(descriptor, *args, **kwargs)

    monkeypatch.setattr(atomic, "lock", late)
    with replacing(tmp_path / "out.txt") as handle:
        handle.write(b"whole")
    assert (tmp_path / "out.txt").read_bytes() == b"whole"
    assert _files(tmp_path) == ["out.txt"]


def test_without_locks_nothing_is_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(atomic, "fcntl", None)
    left = tmp_path / f".kernelpath-{'0' * 16}.tmp"
    left.write_bytes(b"half")
    with staging(tmp_path) as stage, replacing(tmp_path / "out.txt") as handle:
        handle.write(b"whole")
        assert stage.is_dir()
    with locked(tmp_path):
        assert _files(tmp_path) == sorted([left.name, "out.txt"])


def test_check_writable_refuses_links_to_nothing(tmp_path):
    (tmp_path / "link").symlink_to("gone")
    for folder in (tmp_path / "link", tmp_path / "link" / "run"):
        with pytest.raises(DataError, match="link is a link to gone, which is not there"):
            check_writable(folder)


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
