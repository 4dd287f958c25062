"""Compiled loops work wherever the package may write, and where it may not."""

from __future__ import annotations

import errno
import gc
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import time
import warnings
from pathlib import Path
from types import SimpleNamespace

import numba
import numpy as np
import pytest
from numba.core.caching import IndexDataCacheFile

import kernelpath as kp
from kernelpath.utils import compiled as module
from kernelpath.utils.compiled import compiled

SOURCE = Path(kp.__file__).parent
WORDS = "Compiled code cannot be kept"
LOOP = """
from kernelpath.utils.compiled import compiled

@compiled()
def total(values):
    out = 0.0
    for value in values:
        out += value
    return out
"""

jitted = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    """Load the same file again and again, as new processes would."""
    monkeypatch.setattr(module, "_said", False)
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)  # beside the file, wherever tests keep it
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    file = tmp_path / "loop.py"
    file.write_text(LOOP)

    def load():
        spec = importlib.util.spec_from_file_location("loop", file)
        loaded = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(loaded)
        return loaded.total

    return load


def _kept(tmp_path, ending):
    return sorted((tmp_path / "__pycache__").glob(f"*.{ending}"))


VALUES = np.array([1.0, 2.0, 4.5])


@jitted
def test_compiled_code_is_kept_for_the_next_start(fresh, tmp_path):
    assert fresh()(VALUES) == 7.5
    assert len(_kept(tmp_path, "nbc")) == 1
    again = fresh()
    assert again(VALUES) == 7.5
    assert sum(again.stats.cache_hits.values()) == 1


@jitted
def test_two_processes_that_save_at_the_same_time_do_not_mix_their_code(fresh, monkeypatch):
    """Both read the index before either writes, and the code of the first is written last."""
    late, write = [], IndexDataCacheFile._save_data

    def slowly(*code):
        if late:
            write(*code)
        else:
            late.append(code)

    whole = VALUES.astype(np.int64)
    with monkeypatch.context() as patched:
        patched.setattr(IndexDataCacheFile, "_load_index", lambda self: {})
        patched.setattr(IndexDataCacheFile, "_save_data", slowly)
        assert fresh()(VALUES) == 7.5
        assert fresh()(whole) == 7.0
    write(*late[0])
    for values, total in ((VALUES, 7.5), (whole, 7.0)) * 2:
        assert fresh()(values) == total


FACTORY = """
import numpy as np
from kernelpath.utils.compiled import compiled

def made(squared):
    @compiled(part=True)
    def total(values, gaps):
        out = 0.0
        for start in range(0, values.shape[0], 2):
            part = values[start : start + 2]
            for j in range(part.shape[0]):
                gaps[j] = part[j] * part[j] if squared else part[j]
            for j in range(part.shape[0]):
                out += gaps[j]
        return out
    return total

plain, squares = made(False), made(True)

@compiled()
def first(rows, out):
    gaps = np.empty(2)
    for i in range(rows.shape[0]):
        out[i] = plain(rows[i], gaps)

@compiled()
def second(rows, out):
    gaps = np.empty(2)
    for i in range(rows.shape[0]):
        out[i] = squares(rows[i], gaps)
"""
SUMS = """
import sys
import numpy as np
import factory

for name in sys.argv[1:]:
    out = np.empty(1)
    getattr(factory, name)(np.array([[1.0, 2.0, 3.0]]), out)
    print(out[0])
"""


@jitted
def test_what_a_factory_makes_in_two_processes_is_told_apart_in_a_third(tmp_path):
    (tmp_path / "factory.py").write_text(FACTORY)
    env = os.environ | {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "kept")}

    def sums(*names):
        command = [sys.executable, "-c", SUMS, *names]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
        return [float(line) for line in done.stdout.split()]

    assert sums("first") == [6.0]
    assert sums("second") == [14.0]
    assert sums("first", "second") == [6.0, 14.0]
    assert sums("second", "first") == [14.0, 6.0]


FORMULA = """
from kernelpath.utils.compiled import compiled

POWER = 2.0

@compiled(kept=False)
def formula(value):
    return value**POWER + 1.0
"""
USER = """
from formula import formula
from kernelpath.utils.compiled import compiled

def make(inner):
    @compiled()
    def total(values):
        out = 0.0
        for value in values:
            out += inner(value)
        return out
    return total

total = make(formula)

@compiled()
def twice(values):
    out = 0.0
    for value in values:
        out += 2.0 * formula(value)
    return out
"""


ASK = """
import json, os, sys
from pathlib import Path
from types import SimpleNamespace
import numpy as np
import kernelpath.utils.compiled

for formula in json.load(sys.stdin):
    Path(sys.argv[1], "formula.py").write_text(formula)
    child = os.fork()
    if child == 0:
        import user
        loops = user.total, user.twice
        values = [loop(np.array([1.0, 2.0])) for loop in loops]
        print(json.dumps([values, [sum(loop.stats.cache_hits.values()) for loop in loops]]))
        sys.stdout.flush()
        os._exit(0)
    os.waitpid(child, 0)
"""
EDITS = (
    (FORMULA, [7.0, 14.0], 0),
    (FORMULA, [7.0, 14.0], 1),
    (FORMULA.replace("+ 1.0", "- 1.0"), [3.0, 6.0], 0),
    (FORMULA.replace("POWER = 2.0", "POWER = 3.0"), [11.0, 22.0], 0),
    (FORMULA.replace("kept=False", "kept=False, fastmath=True"), [7.0, 14.0], 0),
    ("# a comment" + FORMULA, [7.0, 14.0], 1),
)


@jitted
@pytest.mark.skipif(not hasattr(os, "fork"), reason="every edit is read by a fork")
def test_an_edit_in_another_file_is_noticed(tmp_path):
    (tmp_path / "user.py").write_text(USER)
    paths = os.pathsep.join([str(tmp_path), str(SOURCE.parent)])
    environment = {**os.environ, "PYTHONPATH": paths, "NUMBA_CACHE_DIR": str(tmp_path / "kept")}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"  # edits within a second
    done = subprocess.run(
        [sys.executable, "-c", ASK, str(tmp_path)],
        input=json.dumps([formula for formula, _, _ in EDITS]),
        capture_output=True, text=True, env=environment, check=True, timeout=300,
    )  # fmt: skip
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert found == [[values, [hits, hits]] for _, values, hits in EDITS]


@jitted
@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("content", [b"", b"no pickle", None])
def test_a_damaged_file_is_compiled_again_and_replaced(fresh, tmp_path, ending, content):
    fresh()(VALUES)
    (file,) = _kept(tmp_path, ending)
    file.write_bytes(file.read_bytes()[:-40] if content is None else content)
    assert fresh()(VALUES) == 7.5
    again = fresh()
    assert again(VALUES) == 7.5
    assert sum(again.stats.cache_hits.values()) == 1


@jitted
@pytest.mark.parametrize("method", ["_save_index", "_save_data"])
def test_a_full_disk_is_said_once(fresh, monkeypatch, method):
    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(IndexDataCacheFile, method, full)
    total = fresh()
    with pytest.warns(UserWarning, match=f"{WORDS}.*No space left on device.*NUMBA_CACHE_DIR"):
        assert total(VALUES) == 7.5
    assert total(VALUES.astype(np.float32)) == 7.5  # compiled again, without a word


@jitted
def test_a_folder_that_vanishes_is_said_once(fresh, tmp_path, monkeypatch):
    total = fresh()
    shutil.rmtree(tmp_path / "__pycache__")
    (tmp_path / "__pycache__").touch()
    with pytest.warns(UserWarning, match=WORDS):
        assert total(VALUES) == 7.5


@jitted
def test_nothing_is_said_before_anything_is_compiled(fresh, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "loop.py"))
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setattr("numba.core.caching.UserWideCacheLocator.from_function", _nowhere)
    (tmp_path / "__pycache__").touch()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        total = fresh()
    with pytest.warns(UserWarning, match="neither the folder of the package"):
        assert total(VALUES) == 7.5


def _nowhere(*arguments):
    return None


@pytest.fixture
def asides(monkeypatch):
    """What is said while loops are compiled."""
    said = []
    monkeypatch.setattr(module, "aside", said.append)
    monkeypatch.setattr(module, "NOTICEABLE", 0.0)
    return said


@jitted
def test_compiling_is_said_and_loading_is_not(fresh, asides):
    total = fresh()
    assert asides == []
    total(VALUES)
    assert asides == [module.COMPILING, ""]
    total(VALUES)
    fresh()(VALUES)  # from the disk
    assert len(asides) == 2


@jitted
@pytest.mark.parametrize(("seconds", "told"), [(1e-3, [module.COMPILING, ""]), (1e3, [])])
def test_only_compiling_that_takes_a_while_is_said(fresh, asides, monkeypatch, seconds, told):
    total = fresh()
    listener = module._Compiling()  # which has compiled nothing so far
    monkeypatch.setattr(module, "NOTICEABLE", seconds)
    happened = SimpleNamespace(data={"dispatcher": total})
    listener.on_start(happened)
    time.sleep(0.2)
    listener.on_end(happened)
    assert asides == told
    listener.on_start(happened)  # many short times are a while
    listener.on_end(happened)
    assert asides == 2 * told


@jitted
def test_compiling_of_others_is_not_ours_to_tell(asides):
    @numba.njit
    def twice(x):
        return 2 * x

    assert twice(3.0) == 6.0
    assert asides == []


@jitted
def test_no_garbage_is_collected_while_a_loop_is_compiled(fresh, monkeypatch):
    states = []
    monkeypatch.setattr(module, "aside", lambda text: states.append(gc.isenabled()))
    monkeypatch.setattr(module, "NOTICEABLE", 0.0)
    assert fresh()(VALUES) == 7.5
    assert states == [False, False]
    assert gc.isenabled()


@jitted
def test_garbage_is_collected_again_after_a_loop_that_cannot_be_compiled(asides):
    @compiled()
    def wrong(values):
        return values.no_such_thing()

    with pytest.raises(numba.TypingError):
        wrong(VALUES)
    assert gc.isenabled()
    assert asides == [module.COMPILING, ""]


def test_without_compilation_functions_stay_as_they_are(monkeypatch):
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)

    def twice(x):
        return 2 * x

    assert compiled(fastmath=True)(twice) is twice


def test_every_loop_is_compiled_through_one_door():
    doors = [
        file.name
        for file in SOURCE.rglob("*.py")
        if any(
            line.strip().startswith(("import numba", "from numba"))
            for line in file.read_text(encoding="utf-8").splitlines()
        )
    ]
    assert doors == ["compiled.py"]


@pytest.mark.slow
@jitted
def test_the_first_run_says_that_it_compiles_and_no_other(tmp_path):
    rows = np.random.default_rng(0).normal(size=(60, 2))
    lines = [f"{a},{b},{int(a > 0)}" for a, b in rows]
    (tmp_path / "table.csv").write_text("\n".join(["a,b,y", *lines]) + "\n")

    def log(*options):
        done = subprocess.run(
            [sys.executable, "-m", "kernelpath", "path", "table.csv", "--target", "y", *options],
            cwd=tmp_path,
            env=os.environ
            | {"PYTHONPATH": str(SOURCE.parent), "NUMBA_CACHE_DIR": str(tmp_path / "kept")},
            capture_output=True, text=True, timeout=300, check=True,
        )  # fmt: skip
        return done.stderr

    assert log().count(f"kernelpath: {module.COMPILING}\n") == 1
    assert "compiling" not in log()
    kept = {file: file.stat().st_size for file in (tmp_path / "kept").rglob("*.nbc")}
    smallest = min(kept, key=kept.get)
    smallest.unlink()
    assert log("--quiet") == ""
    assert smallest.exists()  # it was compiled again


@pytest.mark.slow
def test_the_command_line_works_where_nothing_can_be_kept(tmp_path):
    """Regular files stand where folders should be: also the superuser cannot write there."""
    package = tmp_path / "package" / "kernelpath"
    shutil.copytree(SOURCE, package, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [package, *(path for path in package.rglob("*") if path.is_dir())]:
        (folder / "__pycache__").touch()
    blocked = tmp_path / "blocked"
    blocked.touch()
    rows = np.random.default_rng(0).normal(size=(30, 2))
    lines = [f"{a},{b},{int(a > 0)}" for a, b in rows]
    (tmp_path / "table.csv").write_text("\n".join(["a,b,y", *lines]) + "\n")
    done = subprocess.run(
        [sys.executable, "-m", "kernelpath", "path", "table.csv", "--target", "y"],
        cwd=tmp_path,
        env=os.environ
        | {
            "PYTHONPATH": str(package.parent),
            "HOME": str(blocked),
            "NUMBA_CACHE_DIR": str(blocked),
            "NUMBA_DISABLE_JIT": "0",
        },
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count(WORDS) == 1
    assert f"note: {WORDS}, since neither {blocked}" in done.stderr
