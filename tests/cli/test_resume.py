"""Runs that end before their time: what is kept, and how the same command goes on."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time

import pytest

from cli.helpers import (
    FOLDS,
    PROGRAM,
    SCORED,
    assert_refused,
    contents,
    done,
    make_frame,
    run,
    save_csv,
)
from kernelpath.cli.run_folder import resume_folder
from kernelpath.evaluation import run as folds_module
from kernelpath.utils import progress

LINES = progress.LogLines  # which other tests do without
evaluate = folds_module.evaluate_fold


def raising_in_fold(number, error):
    def stand_in(study, fold, *args, **kwargs):
        if fold == number:
            raise error
        return evaluate(study, fold, *args, **kwargs)

    return stand_in


@pytest.fixture
def command(table, tmp_path):
    out = tmp_path / "results" / "run"
    return ["path", table, "-t", "outcome", *FOLDS, "-o", out], out


def test_an_interrupted_run_goes_on(monkeypatch, command):
    arguments, out = command
    monkeypatch.setattr(folds_module, "evaluate_fold", raising_in_fold(1, KeyboardInterrupt()))
    result = run(*arguments)
    assert_refused(result, "1 of 3 folds finished", "the same command goes on", code=130)
    assert not out.exists()
    assert "Going on" not in result.stderr
    assert len(list(resume_folder(out).rglob("*.kpfold"))) >= 1
    traced = []

    def watch(study, fold, train, test, result=None, **options):
        if result is None or not result.complete:
            traced.append(fold)
        return evaluate(study, fold, train, test, result, **options)

    monkeypatch.setattr(folds_module, "evaluate_fold", watch)
    monkeypatch.setattr(progress, "LogLines", LINES)
    told = re.findall(r"Going on from an earlier run: (.*)\.\n", done(*arguments).stderr)
    (known, total) = re.fullmatch(r"([\d,]+) of ([\d,]+) models are known", *told).groups()
    assert 3 <= int(known) < int(total) / 2  # the sizes of a fold, with their tuning
    assert traced[:2] == [1, 2]  # the first fold was not computed again
    assert traced[2:8] == [0, 1, 2] * 2  # two references on the same folds
    assert sorted(p.name for p in out.iterdir()) == SCORED
    assert [p.name for p in out.parent.iterdir()] == ["run"]  # no resume folder is left


@pytest.mark.parametrize("option", ["--quiet", "--json"])
def test_quiet_runs_go_on_without_a_word(monkeypatch, command, option):
    arguments, out = command
    with monkeypatch.context() as patch:
        patch.setattr(folds_module, "evaluate_fold", raising_in_fold(1, KeyboardInterrupt()))
        assert run(*arguments).exit_code == 130
    monkeypatch.setattr(progress, "LogLines", LINES)
    result = done(*arguments, option)
    assert "Going on" not in result.stdout + result.stderr
    assert (out / "model.kpmodel").exists()


def test_an_interrupt_before_anything_is_known_leaves_nothing(monkeypatch, command, tmp_path):
    arguments, _ = command

    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("kernelpath.tables.read.read_table", interrupted)
    assert_refused(run(*arguments), "no file is half-written", code=130)
    assert list(tmp_path.iterdir()) == []


def test_without_a_folder_nothing_is_kept(monkeypatch, table):
    monkeypatch.setattr(folds_module, "evaluate_fold", raising_in_fold(1, KeyboardInterrupt()))
    result = run("path", table, "-t", "outcome", *FOLDS)
    assert_refused(result, "nothing is kept", "--out DIR", code=130)


def test_an_earlier_run_stays_until_the_new_one_is_complete(monkeypatch, command, scored):
    arguments, out = command
    out.mkdir(parents=True)
    for file in scored.iterdir():
        (out / file.name).write_bytes(file.read_bytes())
    before = contents(out)
    monkeypatch.setattr(folds_module, "evaluate_fold", raising_in_fold(2, KeyboardInterrupt()))
    assert_refused(run(*arguments), "2 of 3 folds", code=130)
    assert contents(out) == before


def test_a_full_disk_at_the_end_keeps_the_folds(monkeypatch, command):
    arguments, out = command
    full = OSError(28, "No space left on device")

    def failing(*args, **kwargs):
        raise full

    with monkeypatch.context() as patch:
        patch.setattr("kernelpath.cli.run.write_scores", failing)
        assert_refused(run(*arguments), "no space left", str(out))
    assert not out.exists()
    # three folds, of two references too, and the settings of the model on all rows
    assert len(list(resume_folder(out).rglob("*.kpfold"))) >= 4 + 6
    done(*arguments)
    assert not resume_folder(out).exists()


def test_output_below_a_regular_file(tmp_path, table):
    blocker = tmp_path / "file"
    blocker.write_text("mine")
    for out in (blocker, blocker / "sub"):
        result = run("path", table, "-t", "outcome", *FOLDS, "-o", out)
        assert_refused(result, "cannot be written")
    assert contents(tmp_path) == {"file": b"mine"}


@pytest.mark.parametrize("out", [".", "run/", "run/../run"])
def test_the_folder_is_a_hidden_neighbour(tmp_path, monkeypatch, out):
    inside = tmp_path / "here"
    inside.mkdir()
    monkeypatch.chdir(inside)
    from pathlib import Path

    folder = resume_folder(Path(out))
    assert folder.name in (".here.resume", ".run.resume")
    assert folder.parent.resolve() in (tmp_path, inside)


# -- as a program ----------------------------------------------------------------------------------


@pytest.fixture
def long_command(tmp_path):
    file = save_csv(tmp_path, make_frame(240, 20))
    out = tmp_path / "run"
    return [str(PROGRAM), "path", str(file), "-t", "outcome", "--cv", "3", "--sizes",
            "1,2,3,4,5,10,20", "--predictor", "weighted_kernel", "-j", "1", "-v", "--out",
            str(out)], out  # fmt: skip


def _holds_models(file):
    """Whether a file of finished work is that of a fold, and not a path that took long."""
    try:
        return b"inner_known" in file.read_bytes()
    except FileNotFoundError:  # replaced just now
        return False


def start_and_end(command, out, with_signal):
    """Start, wait for the first finished models on disk, and end by a signal."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        give_up = time.monotonic() + 120
        while not any(_holds_models(file) for file in resume_folder(out).rglob("*.kpfold")):
            assert process.poll() is None, process.stderr.read()
            assert time.monotonic() < give_up
            time.sleep(0.005)
        process.send_signal(with_signal)
        stdout, stderr = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    return process.returncode, stdout, stderr


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="no such signals on Windows")
def test_killed_and_started_again(long_command):
    command, out = long_command
    code, stdout, _ = start_and_end(command, out, signal.SIGKILL)
    assert (code, stdout) == (-signal.SIGKILL, "")
    assert not out.exists()
    again = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert again.returncode == 0, again.stderr
    assert "known from an earlier run" in again.stderr
    assert sorted(p.name for p in out.iterdir()) == SCORED
    assert not resume_folder(out).exists()


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="no such signals on Windows")
def test_ctrl_c_to_the_real_program(long_command):
    command, out = long_command
    command.remove("-v")
    code, stdout, stderr = start_and_end(command, out, signal.SIGINT)
    assert code == 130, stderr
    assert stdout == ""
    assert "the same command goes on from there" in stderr.splitlines()[-1]  # after lines of a log
    assert not out.exists()
