"""Golden comparison: the same jobs in two work trees, and what they wrote, byte for byte.

    python tools/golden.py BASE [HEAD]      # commits; HEAD: the files as they are
    python tools/golden.py --write FOLDER   # what this tree finds, to be given as BASE later

Prints a line for each job: "same", "DIFFERS" with what differs, or "new" for a job that asks for
what BASE does not have.  The exit code is 0 if nothing differs, 1 if something does, and 2 if the
comparison cannot be made.  The jobs are those beside this file, for both trees.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import fnmatch
import hashlib
import io
import json
import os
import queue
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import zipfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
JOBS_FILE = Path(__file__).with_name("golden_jobs.py")
MARK = "golden.json"  # in a folder that --write has written
KEPT_TREES = 6  # copies with compiled code, in the folder of the user's cache
MOST_RUNS = 3  # of a job, until nothing is left to be compiled
MOST_NAMED = 3  # differences of a job that are printed


# -- trees ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tree:
    """A copy of ``src`` in the user's cache, with its compiled code beside it.

    The copy has a name made of its content, so numba finds the code that an earlier run compiled,
    and files that are edited meanwhile change nothing.  The version is left out of it.
    """

    name: str
    folder: Path

    @property
    def source(self) -> Path:
        """What PYTHONPATH is set to."""
        return self.folder / "src"

    def environment(self) -> dict[str, str]:
        """Variables of the jobs: this tree, one thread, the same terminal everywhere."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "NUMBA_"))}
        threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        return kept | dict.fromkeys((*threads, "NUMBA_NUM_THREADS"), "1") | {
            "PYTHONPATH": str(self.source),
            "PYTHONUTF8": "1",
            "NUMBA_CACHE_DIR": str(self.folder / "numba"),
            "MPLBACKEND": "Agg",
            "COLUMNS": "100",
            "TERM": "dumb",
            "NO_COLOR": "1",
        }  # fmt: skip


def cache_folder() -> Path:
    """Folder of the copies."""
    given = os.environ.get("XDG_CACHE_HOME")
    return (Path(given) if given else Path.home() / ".cache") / "kernelpath-golden"


def tree_of(commit: str | None, cache: Path) -> Tree:
    """Copy the source of a commit, or the files as they are, unless it is there already."""
    name = commit or "the files as they are"
    with tempfile.TemporaryDirectory(dir=_made(cache), prefix=".new-") as text:
        new = Path(text)
        if commit is None:
            shutil.copy(ROOT / "pyproject.toml", new)
            skip = shutil.ignore_patterns("__pycache__", "*.nbi", "*.nbc", "*.pyc")
            shutil.copytree(ROOT / "src", new / "src", ignore=skip)
        else:
            archive = _git("archive", commit, "src", "pyproject.toml")
            with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
                tar.extractall(new, filter="data")
        _without_version(new)
        folder = cache / content_key(new / "src")
        if not folder.exists():
            try:
                new.rename(folder)
            except OSError:
                if not folder.exists():  # else another run was faster
                    raise
            new.mkdir(exist_ok=True)
    os.utime(folder)
    _forget_old(cache)
    return Tree(name, folder)


def _without_version(folder: Path) -> None:
    """Set the version to 0: every file that the package writes names it."""
    settings = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
    file = folder / settings["tool"]["hatch"]["version"]["path"]
    text = re.sub(r"(__version__\b[^=\n]*=\s*).*", r'\1"0"', file.read_text(encoding="utf-8"))
    file.write_text(text, encoding="utf-8")


def content_key(folder: Path) -> str:
    """Hash of the names and contents of all files."""
    digest = hashlib.sha256()
    for file in sorted(p for p in folder.rglob("*") if p.is_file()):
        content = file.read_bytes()
        name = file.relative_to(folder).as_posix()
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:24]


def _forget_old(cache: Path) -> None:
    trees = [p for p in cache.iterdir() if p.is_dir() and not p.name.startswith(".")]
    trees.sort(key=lambda p: p.stat().st_mtime, reverse=True)
    for old in trees[KEPT_TREES:]:
        shutil.rmtree(old, ignore_errors=True)


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _git(*given: str) -> bytes:
    done = subprocess.run(["git", *given], cwd=ROOT, capture_output=True)
    if done.returncode:
        raise CannotCompare(done.stderr.decode(errors="replace").strip())
    return done.stdout


class CannotCompare(Exception):
    """The comparison cannot be made."""


# -- jobs -----------------------------------------------------------------------------------------


class Runner:
    """A process that runs the jobs in a tree, one after the other.

    Parameters
    ----------
    tree : Tree
    """

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.process = subprocess.Popen(
            [sys.executable, str(JOBS_FILE)], env=tree.environment(), cwd=tree.folder,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8",
        )  # fmt: skip
        self.names: list[str] = json.loads(self._answer())

    def _answer(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            self.close()
            raise CannotCompare(f"the jobs do not run in {self.tree.name}; see above")
        return line.strip()

    def run(self, name: str, folder: Path) -> str:
        """Run a job into a new folder, mask what may differ, and say how it ended.

        Loops that are compiled in this very process may find other last bits than the same loops
        read from the cache, so a job that compiled something is run again.
        """
        for _ in range(MOST_RUNS):
            before = self._compiled()
            status = self._run_once(name, folder)
            if self._compiled() == before:
                break
        tools = str(JOBS_FILE.parent)
        places = {str(folder): "<here>", str(self.tree.folder): "<tree>", tools: "<tools>"}
        for file in sorted(p for p in folder.rglob("*") if p.is_file()):
            mask_file(file, places)
        (folder / "status.txt").write_text(status + "\n", encoding="utf-8")
        return status

    def _run_once(self, name: str, folder: Path) -> str:
        if folder.exists():
            shutil.rmtree(folder)
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps([name, str(folder)]) + "\n")
        self.process.stdin.flush()
        return self._answer()

    def _compiled(self) -> dict[Path, int]:
        return {p: p.stat().st_mtime_ns for p in (self.tree.folder / "numba").rglob("*.nb[ic]")}

    def close(self) -> None:
        """End the process."""
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            with contextlib.suppress(BrokenPipeError):  # it has ended by itself
                pipe.close()
        self.process.wait()


def chosen(names: Sequence[str], patterns: Sequence[str]) -> list[str]:
    """Names that match a pattern, such as ``gmkl.s*``, or begin with it, such as ``gmkl``."""
    found = {
        p: {n for n in names if fnmatch.fnmatch(n, p) or n.startswith(f"{p}.")} for p in patterns
    }
    for pattern, matching in found.items():
        if not matching:
            raise CannotCompare(f"no job matches {pattern!r}")
    return [n for n in names if any(n in matching for matching in found.values())]


# -- masks ----------------------------------------------------------------------------------------

TEXT_ENDINGS = {".txt", ".json", ".csv", ".html", ".toml", ".log"}
TIMED = {"run.json", "comparison.json", "terminal.txt"}  # files that hold durations
SECONDS = re.compile(r'("seconds": ?)[0-9.e+-]+')
PRINTED = re.compile(r"\b[0-9]+(\.[0-9]+)? (ms|s|min|h)\b")
SEAL = re.compile(r'("sha256": ")[0-9a-f]{64}("\s*\}\s*)$')  # of run.json, over its seconds too
# comparison.json holds seconds, so its hash and size differ too.
TIMED_FILE = re.compile(r'("comparison\.json": \{\s*"sha256": )"[0-9a-f]{64}"(,\s*"bytes": )\d+')
PROGRESS = re.compile(r"^kernelpath: (?!interrupted|terminated|hung up).*\n", flags=re.MULTILINE)
SOURCE_LINE = re.compile(r"<tree>\S*?\.py:\d+")
CLASS = re.compile(r"<class 'kernelpath\.[\w.]*\.(\w+)'>")


def mask_file(file: Path, places: dict[str, str]) -> None:
    """Replace, in a file of text, what differs between two runs of the same tree."""
    if file.suffix not in TEXT_ENDINGS:
        return
    text = file.read_text(encoding="utf-8", errors="surrogateescape")
    new = mask_text(text, places, file.name)
    if new != text:
        file.write_text(new, encoding="utf-8", errors="surrogateescape")


def mask_text(text: str, places: dict[str, str], name: str = "values.txt") -> str:
    """Mask folders, durations, the seal of run.json, and in which module something is."""
    for place, word in sorted(places.items(), key=lambda pair: -len(pair[0])):
        text = text.replace(place, word)
    text = CLASS.sub(r"<class 'kernelpath.\1'>", SOURCE_LINE.sub("<source>", text))
    if name in TIMED:
        text = SECONDS.sub(r"\1<seconds>", text)
    if name == "terminal.txt":
        text = PRINTED.sub("<time>", PROGRESS.sub("", text))  # a line now and then
    if name == "run.json":
        text = TIMED_FILE.sub(r"\1<hash>\2<size>", SEAL.sub(r"\1<seal>\2", text))
    return text


# -- comparison -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Verdict:
    """What was found for a job."""

    name: str
    word: str  # "same", "new", "DIFFERS", "BROKEN"
    details: tuple[str, ...] = ()

    @property
    def good(self) -> bool:
        """Whether the comparison may go on to say that nothing has changed."""
        return self.word in ("same", "new")

    def __str__(self) -> str:
        shown = list(self.details[:MOST_NAMED])
        if len(self.details) > MOST_NAMED:
            shown.append(f"and {len(self.details) - MOST_NAMED} more")
        return "".join([f"{self.word:8s} {self.name}", *(f"\n         {one}" for one in shown)])


def compare_job(name: str, base: Path, head: Path) -> Verdict:
    """Compare what a job wrote in two trees."""
    if not head.is_dir():
        return Verdict(name, "DIFFERS", ("was not run in HEAD",))
    if not base.is_dir():
        return Verdict(name, "new", ("BASE has no such job",))
    before, after = _status(base), _status(head)
    sides = (("BASE", before, base), ("HEAD", after, head))
    broken = [(where, status, p) for where, status, p in sides if status.startswith("broken")]
    if broken:
        last = [" ".join(_text(p / "output.txt").splitlines()[-1:]) for *_, p in broken]
        words = [f"{where} {status}; {text}" for (where, status, _), text in zip(broken, last)]
        return Verdict(name, "BROKEN", tuple(words))
    if before == "absent" and after != "absent":
        return Verdict(name, "new", (f"BASE: {_text(base / 'raised.txt').strip()}",))
    if before != after:
        said = _text((head if after != "done" else base) / "raised.txt").strip()
        return Verdict(name, "DIFFERS", (f"{before} in BASE, {after} in HEAD: {said}",))
    details = tuple(differences(base, head))
    if details:
        return Verdict(name, "DIFFERS", details)
    note = () if after == "done" else (f"both raise {_text(head / 'raised.txt').strip()}",)
    return Verdict(name, "same", note)


def _status(folder: Path) -> str:
    return _text(folder / "status.txt").strip()


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""


def differences(base: Path, head: Path) -> Iterator[str]:
    """What differs between two folders, in words."""
    before, after = (
        {p.relative_to(folder).as_posix(): p for p in _files(folder)} for folder in (base, head)
    )
    for name in sorted(before.keys() | after.keys()):
        if name not in after:
            yield f"{name}: in BASE only"
        elif name not in before:
            yield f"{name}: in HEAD only"
        else:
            old, new = before[name].read_bytes(), after[name].read_bytes()
            if old != new:
                yield f"{name}: {content_difference(old, new, name)}"


def _files(folder: Path) -> list[Path]:
    # Logs are for people.
    return [p for p in folder.rglob("*") if p.is_file() and p.suffix != ".log"]


def content_difference(old: bytes, new: bytes, name: str) -> str:
    """How two files of one name differ: the array and largest difference, or the first line."""
    if name.endswith(".npy"):
        return _array_difference(
            *(np.load(io.BytesIO(one), allow_pickle=False) for one in (old, new))
        )
    if zipfile.is_zipfile(io.BytesIO(old)) and zipfile.is_zipfile(io.BytesIO(new)):
        return _archive_difference(old, new)
    try:
        return _text_difference(old.decode(), new.decode())
    except UnicodeDecodeError:
        return f"other bytes ({len(old)} and {len(new)})"


def _array_difference(old: np.ndarray, new: np.ndarray) -> str:
    if (old.shape, old.dtype) != (new.shape, new.dtype):
        return f"{old.dtype}{old.shape} became {new.dtype}{new.shape}"
    if old.dtype.kind not in "biufc":
        return f"{int(np.sum(old != new))} of {old.size} values differ"
    bits = np.frombuffer(old.tobytes(), np.uint8) != np.frombuffer(new.tobytes(), np.uint8)
    n_other = int(bits.reshape(old.size, -1).any(axis=1).sum()) if old.size else 0
    if not n_other:
        return "stored in another order"
    with np.errstate(all="ignore"):
        kind = complex if old.dtype.kind == "c" else float
        gap = np.abs(old.astype(kind) - new.astype(kind))
    largest = float(np.nanmax(gap)) if not np.isnan(gap).all() else float("nan")
    return f"{n_other} of {old.size} values differ, by up to {largest:.3g}"


def _archive_difference(old: bytes, new: bytes) -> str:
    with zipfile.ZipFile(io.BytesIO(old)) as before, zipfile.ZipFile(io.BytesIO(new)) as after:
        names = [set(archive.namelist()) for archive in (before, after)]
        if names[0] != names[1]:
            return f"other members: {', '.join(sorted(names[0] ^ names[1]))}"
        found: list[str] = []
        # Arrays first: other members hold hashes of them.
        for name in sorted(names[0], key=lambda n: (not n.endswith((".npy", ".npz")), n)):
            if found and not name.endswith(".npy"):
                break
            if before.read(name) != after.read(name):
                found.append(
                    f"{name}: {content_difference(before.read(name), after.read(name), name)}"
                )
    return "; ".join(found[:2]) if found else "the same members, packed otherwise"


def _text_difference(old: str, new: str) -> str:
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=0)
    changed = [line for line in lines if line[:1] in "+-" and line[:3] not in ("---", "+++")]
    if not changed:
        return "other ends of lines"
    old_line, new_line = (next((c for c in changed if c[0] == sign), None) for sign in "-+")
    return f"{len(changed)} lines; {' '.join(_excerpts(old_line, new_line))}"


def _excerpts(old: str | None, new: str | None, width: int = 100) -> list[str]:
    """Both lines, from shortly before the place where they part."""
    if old is None or new is None:
        return [line[:width] for line in (old, new) if line is not None]
    pairs = zip(old[1:], new[1:])
    place = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(old), len(new)) - 1)
    start = max(1, place + 1 - width // 2)
    dots = "..." if start > 1 else ""
    return [f"{line[0]}{dots}{line[start : start + width]}" for line in (old, new)]


# -- the program ----------------------------------------------------------------------------------


class Side:
    """BASE or HEAD: a tree in which jobs are run, or what one has written earlier.

    Parameters
    ----------
    given : str or None
        A commit, a folder of ``--write``, or None for the files as they are.
    folder : Path
        For the outcomes, one folder for each job.
    n_jobs : int
        Processes side by side.
    """

    def __init__(self, given: str | None, folder: Path, n_jobs: int) -> None:
        self.name = given or "the files as they are"
        self.folder = folder
        self.runners: list[Runner] = []
        self.free: queue.SimpleQueue[Runner] = queue.SimpleQueue()
        if given is not None and (Path(given) / MARK).is_file():
            self.folder = Path(given).resolve()
            self.names: list[str] = json.loads(_text(self.folder / MARK))
            return
        tree = tree_of(given, cache_folder())
        try:
            for _ in range(n_jobs):
                self.runners.append(Runner(tree))
                self.free.put(self.runners[-1])
        except CannotCompare:
            self.close()
            raise
        self.names = self.runners[0].names

    def run(self, name: str) -> str:
        """Run a job, unless it was run earlier; say how it ended."""
        if not self.runners:
            return _status(self.folder / name)
        runner = self.free.get()
        try:
            return runner.run(name, self.folder / name)
        finally:
            self.free.put(runner)

    def close(self) -> None:
        """End the processes."""
        for runner in self.runners:
            runner.close()

    def __enter__(self) -> Side:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def compare(base: Side, head: Side, names: Sequence[str], n_jobs: int) -> list[Verdict]:
    """Run and compare all jobs, printing each verdict when it is known."""

    def one(name: str) -> Verdict:
        base.run(name)
        head.run(name)
        return compare_job(name, base.folder / name, head.folder / name)

    verdicts = []
    with ThreadPoolExecutor(n_jobs) as pool:
        for verdict in pool.map(one, names):
            print(verdict, flush=True)
            verdicts.append(verdict)
    return verdicts


def write(folder: Path, patterns: Sequence[str], n_jobs: int) -> int:
    """Write the outcome of this tree into a new or empty folder."""
    if folder.exists() and any(folder.iterdir()):
        raise CannotCompare(f"{folder} is not empty")
    good = True
    with Side(None, _made(folder).resolve(), n_jobs) as side, ThreadPoolExecutor(n_jobs) as pool:
        names = chosen(side.names, patterns)
        for name, status in zip(names, pool.map(side.run, names)):
            print(f"{status:8s} {name}", flush=True)
            good = good and not status.startswith("broken")
    (folder / MARK).write_text(json.dumps(names, indent=1) + "\n", encoding="utf-8")
    return 0 if good else 1


def main(given: Sequence[str] | None = None) -> int:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("base", nargs="?", help="commit, or folder of --write")
    parser.add_argument("head", nargs="?", help="the same; default: the files as they are")
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="run this tree only")
    parser.add_argument(
        "--only",
        action="append",
        metavar="PATTERN",
        help="such as gmkl or 'path_cv.*'; may be given several times",
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes side by side (default 1)")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep what both trees wrote")
    options = parser.parse_args(given)
    if (options.base is None) == (options.write is None):
        parser.error("give BASE, or --write FOLDER")
    try:
        return _run(options)
    except CannotCompare as error:
        print(f"golden: {error}", file=sys.stderr)
        return 2


def _run(options: Any) -> int:
    start, n_jobs, patterns = time.perf_counter(), options.jobs, options.only or ["*"]
    if options.write is not None:
        return write(options.write, patterns, n_jobs)
    with tempfile.TemporaryDirectory(prefix="golden-") as text:
        folder = Path(text) if options.keep is None else _made(options.keep.resolve())
        with (
            Side(options.base, folder / "base", n_jobs) as base,
            Side(options.head, folder / "head", n_jobs) as head,
        ):
            verdicts = compare(base, head, chosen(head.names, patterns), n_jobs)
    counts = {w: sum(v.word == w for v in verdicts) for w in ("same", "new", "DIFFERS", "BROKEN")}
    words = ", ".join(f"{n} {word}" for word, n in counts.items() if n)
    print(f"{words}: {base.name} and {head.name}, {time.perf_counter() - start:.0f} s")
    return 0 if all(verdict.good for verdict in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
