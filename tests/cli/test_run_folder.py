"""The last step of a run: finished or undone by whoever opens the folder next."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from cli.helpers import FILES, FOLDS, PROGRAM, SCORED, assert_refused, contents, done, run
from hardening._fork_server import write_run
from kernelpath.cli import run_folder
from kernelpath.cli.manifest import RUN_FILES, Manifest
from kernelpath.cli.run_folder import resume_folder
from kernelpath.errors import DataError

NEW = ["path.kpath", "selected.csv"]


@pytest.fixture
def copy(tmp_path, scored):
    """Run folder with a model that may be changed."""
    return shutil.copytree(scored, tmp_path / "copy")


@pytest.fixture
def cut(tmp_path, monkeypatch):
    """Folder in which a run died between two moves: an old path.kpath is replaced already."""
    out = tmp_path / "out"
    run_folder.write_together(
        out, RUN_FILES, lambda inside: write_run(inside, "old", [*NEW, "path.csv"])
    )

    class Killed(BaseException):
        pass

    real = os.replace

    def replace(source, target):
        if str(target).endswith("selected.csv"):
            raise Killed
        real(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", replace)
        patch.setattr(run_folder._Move, "undo", lambda move: None)
        with pytest.raises(Killed):
            run_folder.write_together(out, RUN_FILES, lambda inside: write_run(inside, "new", NEW))
    assert (out / "path.kpath").read_text() == "new path.kpath"
    assert (out / "selected.csv").read_text() == "old selected.csv"
    return out


def stage(out):
    return next(out.glob(".kernelpath-*.stage"))


def whole(out):
    """Tag of a folder whose files are all of one run."""
    manifest = Manifest.of(out)
    names = [file.name for file in out.iterdir()]
    assert all(map(manifest.vouches, names)), names
    return manifest.content["tag"]


def test_the_next_one_finishes(cut):
    run_folder.finish_moves(cut)
    assert whole(cut) == "new"
    assert sorted(os.listdir(cut)) == sorted([*NEW, "run.json"])
    run_folder.finish_moves(cut)  # and a second time changes nothing
    assert whole(cut) == "new"


def test_what_cannot_be_finished_is_undone(cut):
    (stage(cut) / "run" / "selected.csv").unlink()
    run_folder.finish_moves(cut)
    assert whole(cut) == "old"
    assert sorted(os.listdir(cut)) == sorted([*NEW, "path.csv", "run.json"])


def test_what_can_be_neither_is_said(cut):
    (stage(cut) / "run" / "selected.csv").unlink()
    (stage(cut) / "earlier" / "path.kpath").unlink()
    before = contents(cut)
    with pytest.raises(
        run_folder.DataError, match=r"files of it are missing; remove \.kernelpath-"
    ):
        run_folder.finish_moves(cut)
    assert contents(cut) == before


@pytest.mark.parametrize("name", ["path.kpath", "selected.csv", "path.csv"])
def test_what_the_user_changed_since_is_not_overwritten(cut, name):
    (cut / name).write_text("mine")
    before = contents(cut)
    with pytest.raises(DataError, match=f"{name} changed since; move it away"):
        run_folder.finish_moves(cut)
    assert contents(cut) == before
    (cut / name).rename(cut.parent / "mine")
    run_folder.finish_moves(cut)
    # The user's path.kpath had taken the place of the only copy of the new one.
    assert whole(cut) == ("old" if name == "path.kpath" else "new")


@pytest.mark.parametrize(
    "text", ["", "{}", "[" * 100_000, '{"format": "kernelpath-move", "version": 1, "new": 3}']
)
def test_a_journal_that_cannot_be_read(cut, text):
    (stage(cut) / "move.json").write_text(text)
    with pytest.raises(DataError, match=r"move.json there cannot be read; remove it"):
        run_folder.finish_moves(cut)


def test_a_journal_names_no_file_of_the_user(cut):
    journal = json.loads((stage(cut) / "move.json").read_text())
    journal["earlier"]["../precious"] = journal["earlier"]["path.csv"]
    (stage(cut) / "move.json").write_text(json.dumps(journal))
    with pytest.raises(DataError, match="cannot be read"):
        run_folder.finish_moves(cut)


def test_a_folder_that_cannot_be_written_to(cut, monkeypatch):
    def refuse(*args):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(DataError, match=r"killed in its last step.*with write access"):
        run_folder.finish_moves(cut)


@pytest.mark.parametrize("command", ["path", "compare", "test", "demo", "report", "predict"])
def test_every_command_opens_a_folder_so(cut, table, command):
    arguments = {
        "path": ["path", table, "-t", "outcome", "-o", cut],
        "compare": ["compare", table, "-t", "outcome", *FOLDS, "-o", cut],
        "test": ["test", table, "-t", "outcome", "-o", cut],
        "demo": ["demo", "--only", "wide", "--rows", 30, "--features", 20, "-o", cut.parent],
        "report": ["report", cut],
        "predict": ["predict", cut, table],
    }[command]
    if command == "demo":  # it has a folder for each of its tables
        cut = cut.rename(cut.with_name("wide"))
    run(*arguments)
    assert not list(cut.glob(".kernelpath-*"))
    assert Manifest.of(cut).content.get("tag") in ("new", None)


# -- reading ---------------------------------------------------------------------------------------


def test_predict_refuses_a_model_of_another_run(copy, table):
    model = (copy / "model.kpmodel").read_bytes()
    (copy / "model.kpmodel").write_bytes(model + b" ")
    refused = run("predict", copy, table)
    assert_refused(refused, "model.kpmodel is not the file that run.json lists", "path again")
    assert str(copy / "model.kpmodel") in refused.stderr
    (copy / "model.kpmodel").write_bytes(model)
    record = json.loads((copy / "run.json").read_text())
    del record["files"]["model.kpmodel"]  # as the record of a run without scores
    (copy / "run.json").write_text(json.dumps(record))
    assert_refused(run("predict", copy, table), "is not the file that run.json lists")
    done("predict", copy / "model.kpmodel", table)


@pytest.mark.parametrize("name", ["summary.json", "path.kpath", "model.kpmodel"])
def test_report_refuses_a_folder_of_two_runs(copy, name):
    (copy / name).write_bytes((copy / name).read_bytes() + b" ")
    before = contents(copy)
    assert_refused(run("report", copy), f"{name} is not the file that run.json lists")
    assert contents(copy) == before


def test_what_nobody_needs_may_change(copy, table):
    (copy / "path.png").unlink()
    (copy / "selected.csv").write_text("sorted by hand")
    done("predict", copy, table)
    done("report", copy)
    (copy / "run.json").unlink()
    done("predict", copy, table)
    done("report", copy, "--overwrite")


# -- two at a time ---------------------------------------------------------------------------------


HOLD = """
import sys
from pathlib import Path
from kernelpath.cli.run_folder import resuming
with resuming(Path(sys.argv[1])):
    print("ready", flush=True)
    sys.stdin.readline()
"""


@pytest.mark.skipif(os.name == "nt", reason="no locks there")
def test_a_second_run_for_the_same_folder_is_refused(tmp_path, table):
    out = tmp_path / "run"
    command = ["path", table, "-t", "outcome", *FOLDS, "-o", out]
    first = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(out)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with first:
        assert first.stdout.readline() == "ready\n"
        assert_refused(run(*command), "another run is at work", "wait", "--out")
        assert (resume_folder(out) / "folds").is_dir()
        first.communicate("\n", timeout=60)
    assert not resume_folder(out).exists()
    done(*command)
    assert sorted(p.name for p in out.iterdir()) == SCORED


def test_a_folder_that_another_run_made_meanwhile(tmp_path, table, monkeypatch):
    """Without locks two runs may work for one new folder; the last one wins, nothing is lost."""
    from kernelpath.cli import run as run_module

    out, real = tmp_path / "run", run_module.write_run

    def late(*args):
        run_folder.write_together(out, RUN_FILES, lambda inside: write_run(inside, "other", NEW))
        return real(*args)

    monkeypatch.setattr(run_module, "write_run", late)
    done("path", table, "-t", "outcome", *FOLDS, "-o", out)
    assert sorted(p.name for p in out.iterdir()) == SCORED
    assert all(map(Manifest.of(out).vouches, SCORED))


# -- signals ---------------------------------------------------------------------------------------

ENDS = {"SIGTERM": (143, "terminated"), "SIGHUP": (129, "hung up"), "SIGINT": (130, "interrupted")}


@pytest.mark.skipif(os.name == "nt", reason="no such signals on Windows")
@pytest.mark.parametrize("name", ENDS)
def test_signals_to_the_real_program(tmp_path, plain, name):
    out = shutil.copytree(plain, tmp_path / "wide")
    before = contents(out)
    command = [str(PROGRAM), "demo", "--only", "wide", "--features", "60000", "-o", str(tmp_path)]
    number = getattr(signal, name)
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # not so under nohup
    )  # fmt: skip
    with process:
        give_up = time.monotonic() + 60
        # The first thing that numpy's random numbers need is on the way: the work has begun.
        while not _loaded(process.pid, "_generator") and time.monotonic() < give_up:
            time.sleep(0.01)
        process.send_signal(number)
        stdout, stderr = process.communicate(timeout=60)
    code, word = ENDS[name]
    assert (process.returncode, stdout) == (code, ""), stderr
    assert stderr.endswith(f"kernelpath: {word}; no file is half-written\n")  # after lines of a log
    assert contents(out) == before


def _loaded(pid, library):
    try:
        with open(f"/proc/{pid}/maps") as maps:
            return library in maps.read()
    except OSError:
        return True


SWALLOWED = """
import signal, sys, time, types
from kernelpath.cli import start

def swallow():
    try:
        signal.raise_signal(signal.SIGTERM)
    except BaseException:
        pass  # as C code does that clears all errors

def run():
    swallow()
    for _ in range(500):
        time.sleep(0.01)
    print("went on")

def masked():
    try:
        signal.raise_signal(signal.SIGTERM)
    finally:
        raise ValueError("closed")  # as some clean-up does

sys.modules["kernelpath.cli.main"] = types.SimpleNamespace(main=globals()[sys.argv[1]])
start.main()
"""


@pytest.mark.skipif(os.name == "nt", reason="no such signals on Windows")
@pytest.mark.parametrize("how", ["run", "masked"])
def test_a_signal_is_never_lost(how):
    """Swallowed by a library, it comes again; hidden behind another error, it is found."""
    ended = subprocess.run(
        [sys.executable, "-c", SWALLOWED, how], capture_output=True, text=True, timeout=60
    )
    assert (ended.returncode, ended.stdout) == (143, "")
    assert ended.stderr == "kernelpath: terminated; no file is half-written\n"


BETWEEN_OWNERS = """
import signal, sys, time, types
from kernelpath.cli import start

binding = types.ModuleType("llvmlite.binding")
exec('''
def hand_over(signal, time, done):
    signal.raise_signal(signal.SIGINT)
    time.sleep(0.1)
    done.append("owned")
''', binding.__dict__)
done = []

def run():
    try:
        binding.hand_over(signal, time, done)
        time.sleep(10)
    finally:
        print(done)

sys.modules["kernelpath.cli.main"] = types.SimpleNamespace(main=run)
start.main()
"""


def test_an_interrupt_waits_for_the_compiler():
    """Between two owners, an object of the compiler would be freed twice."""
    ended = subprocess.run(
        [sys.executable, "-c", BETWEEN_OWNERS], capture_output=True, text=True, timeout=60
    )
    assert (ended.returncode, ended.stdout) == (130, "['owned']\n"), ended.stderr


@pytest.mark.skipif(os.name == "nt", reason="no such signals on Windows")
def test_nohup_is_respected(tmp_path, table):
    """A signal that is ignored from the start stays so."""
    code = (
        "import signal, sys; signal.signal(signal.SIGHUP, signal.SIG_IGN);"
        "from kernelpath.cli import start; start._listen();"
        "signal.raise_signal(signal.SIGHUP); print('alive')"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert ended.stdout == "alive\n"


def test_leftovers_of_dead_runs_are_removed(tmp_path, table, plain):
    out = shutil.copytree(plain, tmp_path / "run")
    (out / f".kernelpath-{'a' * 16}.stage" / "run").mkdir(parents=True)
    (out / f".kernelpath-{'b' * 16}.tmp").write_text("half")
    done("path", table, "-t", "outcome", "-o", out)
    assert sorted(p.name for p in out.iterdir()) == FILES
