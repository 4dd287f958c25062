"""Only files that a run wrote, and that nobody changed since, give way to the next one."""

from __future__ import annotations

import json
import os
import shutil

import pytest

from cli.helpers import FILES, FOLDS, SCORED, assert_refused, contents, done, run
from kernelpath.cli.manifest import COMPARISON_FILES, RUN_FILES, TEST_FILES, Manifest, is_our_kind
from kernelpath.cli.run_folder import resume_folder
from kernelpath.evaluation.checkpoint import FoldStore
from kernelpath.evaluation.folds import FoldResult

MINE = b"years of work"


def commands(table, out):
    """Every command that writes a folder."""
    return {
        "path": ["path", table, "-t", "outcome", "-o", out],
        "scored": ["path", table, "-t", "outcome", *FOLDS, "-o", out],
        "compare": ["compare", table, "-t", "outcome", "--methods", "f-test", *FOLDS, "-o", out],
        "test": ["test", table, "-t", "outcome", "-o", out],
        "demo": ["demo", "--only", "wide", "--rows", 30, "--features", 20, "-o", out],
    }


@pytest.fixture
def earlier(tmp_path, plain):
    """Copy of a run folder that may be changed."""
    out = tmp_path / "earlier"
    out.mkdir()
    for file in plain.iterdir():
        (out / file.name).write_bytes(file.read_bytes())
    return out


def again(table, out, *more):
    return run("path", table, "-t", "outcome", "-k", 2, "-o", out, *more)


# -- folders ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("more", [[], ["--overwrite"]])
@pytest.mark.parametrize("command", ["path", "scored", "compare", "test", "demo"])
def test_a_folder_of_the_user_is_left_alone(tmp_path, table, monkeypatch, command, more):
    def reached(*args, **kwargs):
        raise AssertionError("the work has begun")

    monkeypatch.setattr("kernelpath.tables.read.read_table", reached)
    monkeypatch.setattr("kernelpath.datasets.make_wide", reached)
    user = tmp_path / "user"
    folder = user / "wide" if command == "demo" else user
    folder.mkdir(parents=True)
    for name in {*RUN_FILES, *COMPARISON_FILES, *TEST_FILES} - {"model.kpmodel"}:
        (folder / name).write_bytes(MINE)
    before = contents(tmp_path)
    result = run(*commands(table, user)[command], *more)
    line = assert_refused(result, "in the way", " and ", "more", "--out", "move them away")
    assert "--overwrite" not in line
    assert contents(tmp_path) == before


@pytest.mark.parametrize("name", RUN_FILES)
def test_one_file_in_the_way_is_named(tmp_path, table, name):
    (tmp_path / name).write_bytes(MINE)
    assert_refused(again(table, tmp_path), f"{name} is in the way", "move it away")
    assert contents(tmp_path) == {name: MINE}


def test_other_files_of_the_user_stay(earlier, table):
    (earlier / "notes.txt").write_bytes(MINE)
    (earlier / "sub").mkdir()
    (earlier / "sub" / "report.html").write_bytes(MINE)
    assert again(table, earlier).exit_code == 0
    assert sorted(p.name for p in earlier.iterdir()) == sorted([*FILES, "notes.txt", "sub"])
    assert contents(earlier)["sub/report.html"] == MINE


@pytest.mark.parametrize("name", FILES)
def test_a_changed_file_gives_way_only_if_asked(earlier, table, name):
    file = earlier / name
    changed = file.read_bytes()
    if name == "run.json":
        changed = json.dumps(json.loads(changed) | {"remark": "mine"}).encode()
    elif name == "summary.json":
        changed += b"\n"
    else:
        changed += b"mine\n"
    file.write_bytes(changed)
    before = contents(earlier)
    line = assert_refused(again(table, earlier), f"{name} is in the way", "changed since")
    assert contents(earlier) == before
    if not name.endswith(".kpath"):  # an archive with bytes behind it is still one
        assert "--overwrite" in line
    assert again(table, earlier, "--overwrite").exit_code == 0
    assert all(map(Manifest.of(earlier).vouches, FILES))


def test_a_changed_file_that_the_new_run_would_remove(tmp_path, table, scored):
    for file in scored.iterdir():
        if file.name != "model.kpmodel":
            (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "scores.csv").write_bytes(MINE)
    assert_refused(again(table, tmp_path), "scores.csv is in the way")
    assert (tmp_path / "scores.csv").read_bytes() == MINE


def test_folders_of_version_1_need_a_word(earlier, table):
    record = json.loads((earlier / "run.json").read_text())
    record = record | {"version": 1, "files": sorted(record["files"])}
    del record["sha256"]
    (earlier / "run.json").write_text(json.dumps(record))
    done("report", earlier, "--out", earlier.parent / "page.html")
    line = assert_refused(again(table, earlier), "in the way")
    assert "--overwrite" in line or "move" in line
    (earlier / "path.png").unlink()
    assert_refused(again(table, earlier), "in the way", "--overwrite")
    assert again(table, earlier, "--overwrite").exit_code == 0
    assert Manifest.of(earlier).has_hashes


def test_a_forged_record_vouches_for_nothing_outside(tmp_path, table):
    (tmp_path / "precious.txt").write_bytes(MINE)
    out = tmp_path / "out"
    out.mkdir()
    files = {"../precious.txt": {"sha256": "0" * 64, "bytes": 13}, "notes.txt": None}
    record = {"format": "kernelpath-run", "version": 2, "files": files}
    (out / "run.json").write_text(json.dumps(record))
    (out / "notes.txt").write_bytes(MINE)
    assert again(table, out, "--overwrite").exit_code == 0
    assert (tmp_path / "precious.txt").read_bytes() == MINE
    assert (out / "notes.txt").read_bytes() == MINE


@pytest.mark.parametrize("content", [b"[" * 100_000, b"\xff\xfe", b"3", b'{"format": 3}', b""])
def test_any_file_may_be_called_run_json(tmp_path, table, content):
    (tmp_path / "run.json").write_bytes(content)
    assert_refused(again(table, tmp_path, "--overwrite"), "run.json is in the way")
    assert contents(tmp_path) == {"run.json": content}


def test_results_of_another_command_keep_their_record(earlier, table):
    before = contents(earlier)
    result = run(*commands(table, earlier)["compare"], "--overwrite")
    assert_refused(result, "holds the results of another command (path.csv", "--out")
    assert contents(earlier) == before


def test_a_file_that_appears_during_the_work(tmp_path, table, monkeypatch):
    from kernelpath.cli import run as run_module

    out, real = tmp_path / "run", run_module.write_run

    def late(*args):
        out.mkdir()
        (out / "report.html").write_bytes(MINE)
        return real(*args)

    command = commands(table, out)["scored"]
    with monkeypatch.context() as patch:
        patch.setattr(run_module, "write_run", late)
        assert_refused(run(*command), "report.html is in the way", "kept", "same command goes on")
    assert contents(out) == {"report.html": MINE}
    assert len(list(resume_folder(out).rglob("*.kpfold"))) >= 3
    (out / "report.html").unlink()
    done(*command)
    assert sorted(p.name for p in out.iterdir()) == SCORED


def test_kinds_are_known_by_content(scored, tmp_path):
    for file in scored.iterdir():
        assert is_our_kind(file, file.name), file.name
        strange = tmp_path / file.name
        strange.write_bytes(MINE)
        assert not is_our_kind(strange, strange.name)
        strange.unlink()
        strange.symlink_to(file)
        assert not is_our_kind(strange, strange.name)


# -- links -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("more", [[], ["--overwrite"]])
@pytest.mark.parametrize("name", ["run.json", "path.csv", "path.kpath"])
def test_links_are_neither_followed_nor_replaced(tmp_path, earlier, table, name, more):
    target = tmp_path / "elsewhere"
    (earlier / name).rename(target)
    (earlier / name).symlink_to(target)
    before = contents(tmp_path)
    assert_refused(again(table, earlier, *more), "in the way")
    assert contents(tmp_path) == before
    assert (earlier / name).is_symlink()


def test_a_link_to_a_folder_is_a_folder(tmp_path, earlier, table):
    (tmp_path / "link").symlink_to(earlier)
    assert again(table, tmp_path / "link").exit_code == 0
    assert (tmp_path / "link").is_symlink()


@pytest.mark.parametrize("command", ["path", "scored", "compare", "test", "demo"])
def test_a_link_to_nothing(tmp_path, table, command):
    (tmp_path / "link").symlink_to(tmp_path / "gone")
    for out in (tmp_path / "link", tmp_path / "link" / "run"):
        line = assert_refused(run(*commands(table, out)[command]), "link to", "is not there")
        assert "is a file" not in line
    assert os.listdir(tmp_path) == ["link"]


def test_folds_are_not_written_through_links(tmp_path):
    store = FoldStore(tmp_path / "memory")
    (tmp_path / "precious").write_bytes(MINE)
    link = store._file("a" * 32)
    link.symlink_to(tmp_path / "precious")
    store.put("a" * 32, FoldResult.empty(3, 2), force=True)
    assert (tmp_path / "precious").read_bytes() == MINE
    assert not link.is_symlink()


# -- the folder of folds ---------------------------------------------------------------------------


def test_the_folder_of_folds_loses_only_folds(tmp_path, table):
    out = tmp_path / "run"
    folder = resume_folder(out)
    (folder / "folds").mkdir(parents=True)
    for name in ("notes.txt", "folds/notes.txt", "folds/fold-mine.kpfold"):
        (folder / name).write_bytes(MINE)
    done(*commands(table, out)["scored"])
    kept = {"notes.txt", "folds/notes.txt", "folds/fold-mine.kpfold"}
    assert set(contents(folder)) == kept


@pytest.mark.parametrize("inner", [False, True])
def test_a_folder_of_folds_that_is_a_link(tmp_path, table, inner):
    out, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    elsewhere.mkdir()
    place = resume_folder(out)
    if inner:
        place.mkdir()
        place = place / "folds"
    place.symlink_to(elsewhere)
    assert_refused(run(*commands(table, out)["scored"]), "is a symbolic link")
    assert not list(elsewhere.iterdir())


# -- single files ----------------------------------------------------------------------------------


@pytest.fixture(params=["report", "page", "predict"])
def writes(request, scored, table):
    """Command that writes one file, without its name."""
    return {
        "report": ["report", scored, "--out"],
        "page": ["path", table, "-t", "outcome", "--report"],
        "predict": ["predict", scored, table, "--out"],
    }[request.param]


def test_a_single_file_of_the_user_is_never_overwritten(tmp_path, writes):
    file = tmp_path / "mine.csv"
    file.write_bytes(MINE)
    for more in ([], ["--overwrite"]):
        assert_refused(run(*writes, file, *more), "not written by kernelpath", "another file")
    assert contents(tmp_path) == {"mine.csv": MINE}


def test_a_single_file_gives_way_if_asked(tmp_path, writes):
    file = tmp_path / "page.csv"
    done(*writes, file)
    first = file.read_bytes()
    file.write_bytes(first + b"\n")
    assert_refused(run(*writes, file), "is there already", "--overwrite")
    assert file.read_bytes() == first + b"\n"
    done(*writes, file, "--overwrite")
    assert len(file.read_bytes()) <= len(first) + 20  # the command itself is in the page


def test_single_files_are_not_written_through_links(tmp_path, writes):
    file = tmp_path / "page.csv"
    done(*writes, file)
    (tmp_path / "link.csv").symlink_to(file)
    before = file.read_bytes()
    for more in ([], ["--overwrite"]):
        assert_refused(run(*writes, tmp_path / "link.csv", *more), "is a symbolic link")
    assert file.read_bytes() == before


def test_a_page_in_the_run_folder_itself(tmp_path, table):
    out = tmp_path / "run"
    for _ in range(2):
        done("path", table, "-t", "outcome", "-o", out, "--report", out / "report.html")
        assert all(map(Manifest.of(out).vouches, FILES))
    refused = run("path", table, "-t", "outcome", "-o", out, "--report", out / "path.csv")
    assert_refused(refused, "is a file of the run itself")


@pytest.mark.parametrize("named", [False, True])
def test_the_page_of_a_run_folder(earlier, named):
    done("report", earlier, *(["--out", earlier / "report.html"] if named else []))
    manifest = Manifest.of(earlier)
    assert all(map(manifest.vouches, FILES))  # the record knows the new page
    page = (earlier / "report.html").read_bytes()
    (earlier / "report.html").write_bytes(page + b"mine")
    assert_refused(run("report", earlier), "report.html is in the way", "--overwrite")
    assert (earlier / "report.html").read_bytes() == page + b"mine"
    done("report", earlier, "--overwrite")
    assert (earlier / "report.html").read_bytes() == page
    (earlier / "report.html").write_bytes(MINE)
    assert_refused(run("report", earlier, "--overwrite"), "report.html is in the way", "away")


def test_a_model_that_another_run_made_meanwhile_stays(tmp_path, table, scored, monkeypatch):
    """A run without --cv looks for a model at its start and again before its last step."""
    from kernelpath.cli import path as path_command

    out, real = tmp_path / "run", path_command.write_together

    def late(*args, **options):
        shutil.copytree(scored, out)
        return real(*args, **options)

    monkeypatch.setattr(path_command, "write_together", late)
    refused = run("path", table, "-t", "outcome", "-o", out)
    assert_refused(refused, "holds the model.kpmodel", "a run without --cv would remove")
    assert contents(out) == contents(scored)


def test_a_model_file_does_not_hold_the_hidden_folder_of_its_run(scored):
    import kernelpath as kp

    assert kp.load_model(scored / "model.kpmodel").memory is None


def test_an_empty_name_is_no_folder(tmp_path, table, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ended = run("path", table, "-t", "outcome", "--out", "")
    assert ended.exit_code == 2
    assert "is empty" in ended.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_missing_or_altered_part_of_a_run_is_named(tmp_path, table, plain):
    out = shutil.copytree(plain, tmp_path / "run")
    (out / "summary.json").unlink()
    assert_refused(run("report", out), "summary.json is missing", "--overwrite")
    again = shutil.copytree(plain, tmp_path / "again")
    (again / "run.json").write_text("{}")
    words = assert_refused(run("path", table, "-t", "outcome", "-o", again), "run.json")
    assert words.index("run.json") < words.index("path.kpath")
