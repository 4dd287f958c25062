"""Interrupts and full disks: no partial file, and an earlier run stays as it was."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time

import pytest

from cli.helpers import FILES, PROGRAM, assert_refused, contents, done, run
from kernelpath.cli import run as run_module
from kernelpath.estimators.lp_kta import LpKTASelector
from kernelpath.path.feature_path import FeaturePath

FULL = OSError(errno.ENOSPC, "No space left on device")
HALF_WRITTEN = "no file is half-written"


def raising(error, after=0, then=None):
    """Stand-in that raises at one call, after some good ones; ``then`` does the real work."""
    calls = []

    def stand_in(*args, **kwargs):
        calls.append(args)
        if len(calls) == after + 1:
            raise error
        return then(*args, **kwargs)

    return stand_in


@pytest.fixture(params=["new", "earlier"])
def out(request, tmp_path, table):
    """Folder that does not exist yet, or that holds an earlier run."""
    folder = tmp_path / "results" / "run"
    if request.param == "earlier":
        done("path", table, "-t", "outcome", "-o", folder, "-k", 1)
    return folder


def assert_untouched(out, table, *words, code):
    """Run, expect the end by ``code``, and find everything as it was before."""
    before, existed = contents(out.parent.parent), out.exists()
    result = run("path", table, "-t", "outcome", "-o", out, "-k", 4)
    assert_refused(result, *words, code=code)
    assert contents(out.parent.parent) == before
    assert out.exists() == existed
    if existed:
        assert sorted(p.name for p in out.iterdir()) == FILES
    else:
        assert not out.parent.exists()


def test_interrupt_during_the_alignments(monkeypatch, out, table):
    monkeypatch.setattr(LpKTASelector, "_align", raising(KeyboardInterrupt()))
    assert_untouched(out, table, HALF_WRITTEN, code=130)


def test_interrupt_while_reading(monkeypatch, out, table):
    monkeypatch.setattr("kernelpath.tables.read.read_table", raising(KeyboardInterrupt()))
    assert_untouched(out, table, HALF_WRITTEN, code=130)


ENDS = [(KeyboardInterrupt(), 130, HALF_WRITTEN), (FULL, 1, "no space left")]


@pytest.mark.parametrize(("error", "code", "words"), ENDS)
@pytest.mark.parametrize("place", ["save", "to_frame", "selected", "picture"])
def test_failure_while_writing(monkeypatch, out, table, place, error, code, words):
    fail = raising(error)
    if place in ("save", "to_frame"):
        monkeypatch.setattr(FeaturePath, place, fail)
    elif place == "selected":
        monkeypatch.setattr(run_module.Run, "selected", fail)
    else:
        monkeypatch.setattr("kernelpath.report.displays.path.save_plot", fail)
    assert_untouched(out, table, words, code=code)


@pytest.mark.parametrize(("error", "code", "words"), ENDS)
@pytest.mark.parametrize("after", [0, 1, 2, 5, 9])
def test_failure_while_files_take_their_place(monkeypatch, out, table, after, error, code, words):
    # inside FeaturePath.save, the stage, the journal, and then the seven files of the run; a new
    # folder appears by one replacement after that of FeaturePath.save
    after = after if out.exists() else after % 2
    monkeypatch.setattr(os, "replace", raising(error, after, os.replace))
    assert_untouched(out, table, words, code=code)


def test_the_name_of_the_temporary_folder_is_not_shown(monkeypatch, tmp_path, table):
    monkeypatch.setattr(os, "replace", raising(FULL, 0, os.replace))
    result = run("path", table, "-t", "outcome", "-o", tmp_path / "run")
    line = assert_refused(result, "no space left", "free some", str(tmp_path / "run"))
    assert ".kernelpath-" not in line


def test_disk_that_is_full_from_the_start(monkeypatch, out, table):
    monkeypatch.setattr(os, "fsync", raising(FULL))
    assert_untouched(out, table, "cannot be written", "no space left", code=1)


def test_file_systems_without_links(monkeypatch, tmp_path, table):
    def no_links(*args):
        raise OSError(errno.EPERM, "no links")

    out = tmp_path / "results" / "run"
    done("path", table, "-t", "outcome", "-o", out, "-k", 1)
    monkeypatch.setattr(os, "link", no_links)
    monkeypatch.setattr(os, "replace", raising(KeyboardInterrupt(), 3, os.replace))
    assert_untouched(out, table, HALF_WRITTEN, code=130)


def test_other_errors_of_the_system_are_one_line(monkeypatch, tmp_path, table):
    strange = OSError(errno.EIO, "Input/output error", "/dev/table")
    monkeypatch.setattr("kernelpath.tables.read.read_table", raising(strange))
    result = run("path", table, "-t", "outcome", "-o", tmp_path / "run")
    assert_refused(result, "cannot read or write /dev/table", "Input/output error")
    monkeypatch.setattr("kernelpath.tables.read.read_table", raising(MemoryError()))
    assert_refused(run("path", table, "-t", "outcome"), "not enough memory", "float32")


def test_bugs_are_not_hidden(monkeypatch, table):
    monkeypatch.setattr("kernelpath.tables.read.read_table", raising(RuntimeError("a bug")))
    with pytest.raises(RuntimeError, match="a bug"):
        run("path", table, "-t", "outcome")


@pytest.mark.skipif(os.name == "nt", reason="no such signals on Windows")
def test_ctrl_c_to_the_real_program(tmp_path):
    out = tmp_path / "results" / "run"
    command = [str(PROGRAM), "demo", "--features", "60000", "--out", str(out)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        give_up = time.monotonic() + 60
        while not out.parent.exists() and time.monotonic() < give_up:  # made when the work begins
            time.sleep(0.01)
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130, stderr
    assert stdout == ""
    assert stderr.endswith(f"kernelpath: interrupted; {HALF_WRITTEN}\n")  # after lines of a log
    assert not out.parent.exists()


@pytest.mark.parametrize("delay", [0.1, 0.25, 0.5, 1.0])
def test_an_interrupt_in_the_first_second(tmp_path, table, delay):
    """While modules are loaded, too, one line answers and the exit code is that of the docs."""
    command = [str(PROGRAM), "path", str(table), "-t", "outcome", "--cv", "5", "--nested"]
    process = subprocess.Popen(
        [*command, "-o", str(tmp_path / "run")], stderr=subprocess.PIPE, stdout=subprocess.PIPE
    )
    time.sleep(delay)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=120)
    if process.returncode != 130:  # Python had not yet come to our first line
        assert b", in main\n" not in said
        assert process.returncode in (1, -signal.SIGINT)
        return
    assert process.returncode == 130, said
    assert b"Traceback" not in said
    assert said.count(b"\n") == 1
    assert b"interrupted" in said
    assert not (tmp_path / "run").exists()


LOST = """
import sys, time, types
from kernelpath.cli import start

class Late:
    def __del__(self):
        raise KeyboardInterrupt  # Python prints such an exception, and goes on

def run():
    late = Late()
    del late
    for _ in range(200):
        time.sleep(0.01)
    print("went on")

sys.modules["kernelpath.cli.main"] = types.SimpleNamespace(main=run)
start.main()
"""


def test_an_interrupt_where_nothing_can_be_raised():
    run = subprocess.run([sys.executable, "-c", LOST], capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stdout) == (130, "")
    assert run.stderr == f"kernelpath: interrupted; {HALF_WRITTEN}\n"
