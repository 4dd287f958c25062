"""The golden comparison: it sees what differs, masks what may, and runs its jobs."""

from __future__ import annotations

import importlib.util
import io
import shutil
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def golden():
    spec = importlib.util.spec_from_file_location("golden", ROOT / "tools" / "golden.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["golden"] = module  # dataclasses look there
    spec.loader.exec_module(module)
    yield module
    del sys.modules["golden"]


def _archive(**arrays):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            member = io.BytesIO()
            np.save(member, array)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), member.getvalue())
    return file.getvalue()


@pytest.fixture
def outcome(tmp_path):
    """What a job wrote: a folder, and a copy of it to be changed."""
    base, head = tmp_path / "base", tmp_path / "head"
    base.mkdir()
    (base / "status.txt").write_text("done\n")
    (base / "values.txt").write_text("a = 1\nb = 0.25\n")
    np.save(base / "weights.npy", np.array([0.5, 0.25, np.nan]))
    (base / "p.kpath").write_bytes(_archive(values=np.arange(3.0), other=np.ones(2)))
    (base / "picture.png").write_bytes(b"\x89PNG\x00\xff")
    shutil.copytree(base, head)
    return base, head


# -- comparison -----------------------------------------------------------------------------------


def test_equal_folders(golden, outcome):
    (outcome[1] / "traceback.log").write_text("for people")
    verdict = golden.compare_job("one", *outcome)
    assert (verdict.word, verdict.details, verdict.good) == ("same", (), True)


def test_differences_are_named(golden, outcome):
    base, head = outcome
    np.save(head / "weights.npy", np.array([0.5, 0.25 + 1e-9, np.nan]))
    (head / "values.txt").write_text("a = 1\nb = 0.75\n")
    (head / "p.kpath").write_bytes(_archive(values=np.array([0.0, 1.0, 4.0]), other=np.ones(2)))
    (head / "picture.png").write_bytes(b"\x89PNG\x00\xfe")
    (head / "more.npy").touch()
    (base / "less.npy").touch()
    verdict = golden.compare_job("one", base, head)
    assert (verdict.word, verdict.good) == ("DIFFERS", False)
    found = dict(line.split(": ", 1) for line in verdict.details)
    assert found == {
        "less.npy": "in BASE only",
        "more.npy": "in HEAD only",
        "p.kpath": "values.npy: 1 of 3 values differ, by up to 2",
        "picture.png": "other bytes (6 and 6)",
        "values.txt": "2 lines; -b = 0.25 +b = 0.75",
        "weights.npy": "1 of 3 values differ, by up to 1e-09",
    }
    assert "and 3 more" in str(verdict)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (np.zeros(2), np.zeros(3), "float64(2,) became float64(3,)"),
        (np.zeros(2), np.zeros(2, np.float32), "float64(2,) became float32(2,)"),
        (np.zeros(2), -np.zeros(2), "2 of 2 values differ, by up to 0"),
        (np.array(["a", "b"]), np.array(["a", "c"]), "1 of 2 values differ"),
        (np.ones((2, 2)), np.ones((2, 2), order="F"), "stored in another order"),
    ],
)
def test_arrays(golden, tmp_path, old, new, words):
    for name, array in (("old", old), ("new", new)):
        np.save(tmp_path / f"{name}.npy", array)
    content = [(tmp_path / f"{name}.npy").read_bytes() for name in ("old", "new")]
    assert golden.content_difference(*content, "a.npy") == words


def _ended(folder, status, text=""):
    (folder / "status.txt").write_text(f"{status}\n")
    (folder / "raised.txt").write_text(text)


def test_jobs_that_fail(golden, outcome):
    base, head = outcome
    _ended(base, "absent", "AttributeError: no kp.New")
    verdict = golden.compare_job("one", base, head)
    assert (verdict.word, verdict.good) == ("new", True)
    assert golden.compare_job("one", head, base).word == "DIFFERS"  # gone
    _ended(base, "raised", "ValueError: x")
    assert golden.compare_job("one", base, head).word == "DIFFERS"
    _ended(head, "raised", "ValueError: x")
    verdict = golden.compare_job("one", base, head)
    assert (verdict.word, verdict.details) == ("same", ("both raise ValueError: x",))
    _ended(head, "raised", "ValueError: y")
    assert golden.compare_job("one", base, head).word == "DIFFERS"
    _ended(head, "broken: exit code -9")
    assert golden.compare_job("one", base, head).word == "BROKEN"
    assert golden.compare_job("one", base / "none", head).word == "new"
    assert golden.compare_job("one", base, head / "none").word == "DIFFERS"


# -- masks ----------------------------------------------------------------------------------------


def test_masks(golden):
    def masked(text, name="values.txt"):
        return golden.mask_text(text, {"/a": "<tree>", "/a/b": "<here>"}, name)

    assert masked("/a/b/run and /a/src") == "<here>/run and <tree>/src"
    assert masked("/a/src/kernelpath/x.py:12: UserWarning: y") == "<source>: UserWarning: y"
    assert masked("<class 'kernelpath.mkl.svm.dual.One'>") == "<class 'kernelpath.One'>"
    assert masked("path in 0.25 s, 3 s left", "terminal.txt") == "path in <time>, <time> left"
    assert masked("kernelpath: reading genes.csv\n12 rows\n", "terminal.txt") == "12 rows\n"
    assert masked("sigma 0.25 s") == "sigma 0.25 s"
    run = '{"files": {"comparison.json": {"sha256": "HASH", "bytes": 9}, "a.csv": {"sha256": '
    run = (run + '"HASH"}}, "seconds": 0.125, "sha256": "HASH"}\n').replace("HASH", 64 * "a")
    expected = run.replace("0.125", "<seconds>").replace('"bytes": 9', '"bytes": <size>')
    expected = expected.replace(f'"{64 * "a"}", "bytes"', '<hash>, "bytes"')
    expected = expected.replace(f'"sha256": "{64 * "a"}"}}\n', '"sha256": "<seal>"}\n')
    assert masked(run, "run.json") == expected


def test_the_name_of_a_tree_is_its_content(golden, tmp_path):
    (tmp_path / "a.py").write_text("x = 1")
    key = golden.content_key(tmp_path)
    assert golden.content_key(tmp_path) == key
    (tmp_path / "a.py").write_text("x = 2")
    assert golden.content_key(tmp_path) != key


# -- the program ----------------------------------------------------------------------------------


def test_some_jobs(golden, tmp_path, monkeypatch, capsys):
    """Two jobs are run and written; a copy that was changed is compared with that."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "written"
    assert golden.main(["--write", str(folder), "--only", "face"]) == 0
    names = folder / "face.names" / "values.txt"
    assert "== kp.LpKTASelector(" in names.read_text(encoding="utf-8")
    other = shutil.copytree(folder, tmp_path / "other")
    assert golden.main([str(folder), str(other)]) == 0
    text = names.read_text(encoding="utf-8").replace("== kp.PathCV(", "== kp.PathCW(", 1)
    (other / "face.names" / "values.txt").write_text(text, encoding="utf-8")
    assert golden.main([str(folder), str(other)]) == 1
    printed = capsys.readouterr().out
    assert "DIFFERS  face.names\n         values.txt: 2 lines; -== kp.PathCV(" in printed
    assert "same     face.schemas" in printed
    assert "1 same, 1 DIFFERS" in printed


def test_what_cannot_be_done(golden, tmp_path, capsys):
    (tmp_path / "mine.txt").touch()
    assert golden.main(["--write", str(tmp_path)]) == 2
    assert "is not empty" in capsys.readouterr().err
    names = ["gmkl.sum", "gmkl.product", "gmkl_other"]
    assert golden.chosen(names, ["gmkl"]) == names[:2]
    assert golden.chosen(names, ["*.s*"]) == names[:1]
    with pytest.raises(golden.CannotCompare, match="no job matches 'nothing'"):
        golden.chosen(names, ["gmkl", "nothing"])
    with pytest.raises(SystemExit):
        golden.main([])
