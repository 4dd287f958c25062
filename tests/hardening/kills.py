"""Kills: at any moment of a run over an earlier one, and before every step of its last move."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd

from hardening._fork_server import LOST, UNSEEN, write_run
from hardening.tally import Tally
from kernelpath.cli.manifest import RUN_FILES, Manifest
from kernelpath.cli.run_folder import finish_moves, resume_folder, write_together

SIGNALS = {"SIGKILL": -9, "SIGTERM": 143, "SIGINT": 130}
OLD = ["path.kpath", "path.csv", "selected.csv", "scores.csv", "report.html"]
NEW = ["path.kpath", "path.csv", "selected.csv", "path.png", "report.html"]  # no scores
LOADED = (
    "kernelpath.cli.main", "kernelpath.cli.run", "kernelpath.tables.read",
    "kernelpath.report.html", "kernelpath.report.displays.accuracy",
    "matplotlib.backends.backend_agg",
)  # fmt: skip
HIDDEN = ".kernelpath-*"


def trials(long: bool, seed: int) -> list[Tally]:
    """Kills by three signals; fewer of each if not ``long``."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with serving() as server:
            found = [saves(server, folder / "saves")]
            found.append(moves(server, folder / "moves", long))
            found.append(recoveries(server, folder / "recoveries", long))
            found.append(undone(server, folder / "undone", long))
        with serving(*LOADED) as server:
            return found + runs(server, folder / "runs", long, random.Random(seed))


class Server:
    """The process that forks; see ``_fork_server``."""

    def __init__(self, process: subprocess.Popen) -> None:
        self._process = process

    def __call__(self, **wanted) -> dict:
        self._process.stdin.write(json.dumps(wanted) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, "the server has ended"
        return json.loads(answer)


@contextmanager
def serving(*modules: str):
    """Start the process that forks, with these modules loaded."""
    tests = Path(__file__).parents[1]
    paths = [str(tests), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    command = [sys.executable, "-m", "hardening._fork_server", *modules]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    )
    with process:
        try:
            yield Server(process)
        finally:
            process.stdin.close()
            process.wait(60)


# -- single files ----------------------------------------------------------------------------------


def saves(server: Server, folder: Path) -> Tally:
    """A signal before every step of replacing a file, as ``path.save`` does; then another save."""
    tally = Tally("signal before each step of replacing a file, then another save", ("old", "new"))
    folder.mkdir()
    file, log = folder / "file", str(folder.parent / "log")
    for name, code in SIGNALS.items():
        for step in range(100):
            file.write_text("old")
            number = getattr(signal, name)
            found = server(do="save", file=str(file), before=step, signal=number, log=log)["code"]
            outcome = file.read_text() if found in (0, code) else f"exit code {found}"
            server(do="save", file=str(folder / "other"), log=log)
            left = sorted(os.listdir(folder))
            tally.add(outcome if left == ["file", "other"] else f"left {left}", f"{name}, {step}")
            if found == 0:
                break
    return tally


# -- the last move ---------------------------------------------------------------------------------


def moves(server: Server, folder: Path, long: bool) -> Tally:
    """A signal before every call of the system, from the first file to the last."""
    tally = Tally("signal before each step of writing a run folder", ("old", "new"))
    folder.mkdir()
    for name, code in SIGNALS.items():
        step, last = 0, False
        while not last:
            out = earlier_run(folder)
            answer = _move(server, out, step, name)
            last = answer["code"] == 0
            expected = answer["code"] in (0, code)
            outcome = recovered(out) if expected else f"exit code {answer['code']}"
            tally.add(outcome, f"{name} before call {step}")
            step += 1 if long or name == "SIGKILL" else 3
    return tally


def recoveries(server: Server, folder: Path, long: bool) -> Tally:
    """SIGKILL in the move, then before every step of the recovery, then a recovery."""
    tally = Tally("SIGKILL in the move and again in the recovery", ("old", "new"))
    folder.mkdir()
    for step in range(0, 100, 1 if long else 4):
        out = earlier_run(folder)
        if _move(server, out, step, "SIGKILL")["code"] == 0:
            break
        if not list(out.glob(f"{HIDDEN}/move.json")):
            continue
        frozen = folder / "frozen"
        shutil.rmtree(frozen, ignore_errors=True)
        shutil.copytree(out, frozen)
        again, ended = 0, False
        while not ended:
            shutil.rmtree(out)
            shutil.copytree(frozen, out)
            ended = _recover(server, out, again)["code"] == 0
            tally.add(recovered(out), f"SIGKILL before call {step}, then {again}")
            again += 1 if long else 3
    return tally


def undone(server: Server, folder: Path, long: bool) -> Tally:
    """SIGINT in the move, and SIGKILL while the earlier files are brought back."""
    tally = Tally("SIGINT in the move, then SIGKILL while it is undone", ("old", "new"))
    folder.mkdir()
    for step in range(0, 100, 1 if long else 5):
        for then in range(1, 30, 1 if long else 7):
            out = earlier_run(folder)
            code = _move(server, out, step, "SIGINT", then)["code"]
            tally.add(recovered(out), f"SIGINT before call {step}, SIGKILL {then} calls later")
            if code != -signal.SIGKILL:
                break
        if code == 0:
            break
    return tally


def _move(server: Server, out: Path, step: int, name: str, then: int | None = None) -> dict:
    number, log = getattr(signal, name), str(out.parent / "log")
    return server(
        do="move", out=str(out), names=NEW, before=step, signal=number, then=then, log=log
    )


def _recover(server: Server, out: Path, step: int) -> dict:
    log = str(out.parent / "log")
    return server(do="open", out=str(out), before=step, signal=signal.SIGKILL, log=log)


def earlier_run(folder: Path) -> Path:
    """A run folder as new, with a file of the user in it."""
    out = folder / "run"
    shutil.rmtree(out, ignore_errors=True)
    write_together(out, RUN_FILES, lambda inside: write_run(inside, "old", OLD))
    (out / "notes.txt").write_text("mine")
    return out


def recovered(out: Path) -> str:
    """What the next command finds: the old run, the new one, or something else."""
    finish_moves(out)
    content = {file.name: file.read_text() for file in out.iterdir() if file.is_file()}
    left = [file.name for file in out.glob(HIDDEN)]
    if left or content.pop("notes.txt", "") != "mine":
        return f"left {left}"
    manifest = Manifest.of(out)
    tag = manifest.content.get("tag")
    names = {"old": OLD, "new": NEW}.get(tag, [])
    if set(content) != {*names, "run.json"} or not all(map(manifest.vouches, content)):
        return f"half {tag}: {sorted(content)}"
    return tag if all(content[name] == f"{tag} {name}" for name in names) else "mixed"


# -- whole runs ------------------------------------------------------------------------------------


def runs(server: Server, folder: Path, long: bool, rng: random.Random) -> list[Tally]:
    """Signals at random moments of a cross-validation over an earlier complete run."""
    folder.mkdir()
    command = [
        "path", str(_table(folder)), "-t", "y", "--cv", "3", "--sizes", "1,2,4", "--predictor",
        "weighted_kernel", "--overwrite", "--out", str(folder / "run"),
    ]  # fmt: skip
    log, out = folder / "log", folder / "run"

    def run(*more: str, **options) -> int:
        return server(do="command", argv=[*command, *more], log=str(log), **options)["code"]

    assert run("-k", "1") == 0, log.read_text()
    before = known(out)
    shutil.copytree(out, folder / "earlier")
    seconds = _seconds(run)
    after = known(out)
    ends = Tally("exit codes of killed runs", ("-9", "143", "130", "finished before"))
    states = Tally("path --cv 3 over an earlier run, killed at any moment", ("old", "new"))
    reruns = Tally("the same command after a kill", ("equal to uninterrupted",))
    for name, code in SIGNALS.items():
        for trial in range((200 if name == "SIGINT" else 40) if long else 1):
            shutil.rmtree(out)
            shutil.copytree(folder / "earlier", out)
            delay = rng.uniform(0, seconds) * (1 if trial % 2 else 0.4)
            case = f"{name} after {delay:.3f} s of {seconds:.3f} s"
            found = run(delay=delay, signal=getattr(signal, name))
            words = {
                0: "finished before",
                LOST: "signal lost",
                UNSEEN: "signal not seen",
                code: str(code),
            }
            ends.add(words.get(found, f"exit code {found}"), f"{case}: {_last_words(log)}")
            states.add({str(before): "old", str(after): "new"}.get(str(known(out)), "half"), case)
            if trial % (10 if long else 2) == 0:
                assert run() == 0, log.read_text()
                same = known(out) == after and not _left(folder)
                reruns.add("equal to uninterrupted" if same else f"left {_left(folder)}", case)
            else:
                shutil.rmtree(resume_folder(out), ignore_errors=True)
    return [ends, states, reruns]


def known(out: Path) -> dict[str, str]:
    """Hash of every file but the record, which has the seconds, and the rest of the record."""
    finish_moves(out)
    manifest = Manifest.of(out)
    record = {k: v for k, v in manifest.content.items() if k not in ("seconds", "sha256")}
    names = sorted(file.name for file in out.iterdir())
    vouched = [name for name in names if manifest.vouches(name)]
    return {"names": str(names), "vouched": str(vouched), "record": json.dumps(record)}


def _left(folder: Path) -> list[str]:
    left = [*folder.glob(HIDDEN), *folder.glob(f"run/{HIDDEN}"), *folder.glob(".run.resume")]
    return [file.name for file in left]


def _seconds(run) -> float:
    """How long a run takes here and now; sets the scale of the moments only."""
    started = time.monotonic()
    assert run() == 0
    return time.monotonic() - started


def _last_words(log: Path) -> str:
    return " ".join(log.read_text(errors="replace").split())[-300:]


def _table(folder: Path) -> Path:
    X = np.random.default_rng(0).normal(size=(60, 8))
    frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(8)])
    frame["y"] = np.where(np.abs(X[:, 3]) > 0.7, "sick", "well")
    frame.to_csv(folder / "table.csv", index=False)
    return folder / "table.csv"
