"""Forks a child for every trial and ends it by a signal, at a time or before a call of the system.

Reads one JSON object a line and answers with another.  A fork starts in a millisecond with all
modules loaded, so that hundreds of kills take minutes.
"""

from __future__ import annotations

import contextlib
import faulthandler
import importlib
import json
import os
import signal
import sys
import time
from pathlib import Path

from kernelpath.cli import manifest, run_folder, start
from kernelpath.utils.atomic import replacing

CALLS = ("replace", "unlink", "link", "mkdir", "rmdir", "fsync")
LOST = 99  # exit code of a child that received a signal and went on to its end
UNSEEN = 98  # and of one that was sent a signal and did not notice


def main() -> None:
    """Serve until the input ends."""
    faulthandler.enable()
    for name in sys.argv[1:]:
        importlib.import_module(name)
    for line in sys.stdin:
        sys.stdout.write(json.dumps(serve(json.loads(line))) + "\n")
        sys.stdout.flush()


def serve(wanted: dict) -> dict:
    """Run one child to its end."""
    reader, writer = os.pipe()
    sent, sending = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        os.set_blocking(sent, False)
        _be_child(wanted, writer, sent)
    os.close(writer)
    os.close(sent)
    ready = os.read(reader, 1)
    if wanted.get("delay") is not None and ready:
        time.sleep(wanted["delay"])
        with contextlib.suppress(BrokenPipeError):  # it has ended before
            os.write(sending, b"s")
        os.kill(child, wanted["signal"])  # not waited for yet, so the number is still its own
    calls = os.read(reader, 100)
    os.close(reader)
    os.close(sending)
    _, status = os.waitpid(child, 0)
    return {"code": os.waitstatus_to_exitcode(status), "calls": int(calls or -1)}


def _be_child(wanted: dict, writer: int, sent: int) -> None:
    code = 1
    try:
        with open(wanted["log"], "wb") as log:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        start._listen()
        os.write(writer, b"r")
        counted = _Counted(wanted) if wanted.get("before") is not None else None
        code = _ended(DUTIES[wanted["do"]], wanted)
        if code == 0 and start.ending:
            code = LOST
        with contextlib.suppress(BlockingIOError, KeyboardInterrupt):
            if code == 0 and os.read(sent, 1):
                time.sleep(1)  # sent in the last moment, it comes now
                code = UNSEEN
        if counted is not None:
            os.write(writer, str(counted.calls).encode())
    finally:
        with contextlib.suppress(BaseException):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _ended(duty, wanted: dict) -> int:
    try:
        duty(wanted)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except KeyboardInterrupt:
        return start.exit_code()
    return 0


class _Counted:
    """Counts calls that change the disk, and sends signals before some of them."""

    def __init__(self, wanted: dict) -> None:
        self.calls, self.signals = 0, {wanted["before"]: wanted["signal"]}
        if wanted.get("then") is not None:  # while the first signal is answered
            self.signals[wanted["before"] + wanted["then"]] = signal.SIGKILL
        for name in CALLS:
            setattr(os, name, self._counting(getattr(os, name)))

    def _counting(self, real):
        def call(*args, **kwargs):
            number = self.signals.pop(self.calls, None)
            self.calls += 1
            if number is not None:
                os.kill(os.getpid(), number)
            return real(*args, **kwargs)

        return call


# -- what children do ------------------------------------------------------------------------------


def write_run(folder: Path, tag: str, names: list[str]) -> list[str]:
    """Write a run of a few bytes, with a true manifest."""
    for name in names:
        (folder / name).write_text(f"{tag} {name}")
    files = {name: manifest.describe(folder / name) for name in names}
    record = {"format": manifest.FORMAT, "version": manifest.VERSION, "tag": tag, "files": files}
    text = json.dumps(manifest.sealed(record))
    (folder / manifest.RECORD).write_text(text)
    return []


def _move(wanted: dict) -> None:
    run_folder.write_together(
        wanted["out"],
        manifest.RUN_FILES,
        lambda folder: write_run(folder, "new", wanted["names"]),
    )


def _save(wanted: dict) -> None:
    with replacing(wanted["file"]) as handle:
        handle.write(b"new")


def _open(wanted: dict) -> None:
    run_folder.finish_moves(Path(wanted["out"]))


def _command(wanted: dict) -> None:
    sys.argv = ["kernelpath", *wanted["argv"]]
    start.main()


DUTIES = {"save": _save, "move": _move, "open": _open, "command": _command}

if __name__ == "__main__":
    main()
