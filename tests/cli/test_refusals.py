"""Wrong usage and bad data: exit codes, one clear line, nothing written."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from cli.helpers import (
    FOLDS,
    assert_refused,
    contents,
    done,
    make_frame,
    run,
    run_program,
    save_csv,
)


@pytest.fixture
def refuse(tmp_path):
    """Run ``path`` with an output folder, expect a refusal and no trace of the run."""

    def refuse_run(file, *words, target="outcome", options=()):
        before = contents(tmp_path)
        aim = [] if target is None else ["--target", target]
        result = run("path", file, *aim, *options, "--out", tmp_path / "new" / "run")
        assert contents(tmp_path) == before
        assert not (tmp_path / "new").exists()
        return assert_refused(result, *words)

    return refuse_run


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--foo"], ["No such option", "--foo"]),
        (["--kernel", "cubic"], ["--kernel", "cubic", "rbf", "laplace"]),
        (["--task", "guess"], ["--task"]),
        (["--method", "lasso"], ["--method"]),
        (["--bandwidth", "wide"], ["--bandwidth"]),
        (
            ["--bandwidth", "median", "--kernel", "delta"],
            ["--bandwidth", "no effect with --kernel"],
        ),
        (["--n-features", "0"], ["--n-features"]),
        (["--n-features", "many"], ["--n-features"]),
        (["--norm-strength", "x"], ["--norm-strength", "noise"]),
        (["--norm-strength", "-1"], ["--norm-strength"]),
        (["--norm-strength", "nan"], ["--norm-strength"]),
        (["--bregman-strength", "noise"], ["--bregman-strength", "auto"]),
        (["--bregman-strength", "inf"], ["--bregman-strength"]),
        (["--norm-strength", "0", "--bregman-strength", "0"], ["both are 0"]),
        (["--elimination-tol", "0.5"], ["--elimination-tol", "0.3679"]),
        (["--elimination-tol", "0"], ["--elimination-tol"]),
        (["--seed", str(2**70)], ["--seed", "4294967295"]),
        (["--seed", str(2**70), "--cv", "3"], ["--seed", "4294967295"]),
        (["--elimination-tol", "nan"], ["--elimination-tol"]),
        (["--jobs", "0"], ["--jobs"]),
    ],
)
def test_wrong_usage(tmp_path, table, options, words):
    result = run("path", table, "-t", "outcome", *options, "--out", tmp_path / "run")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    for word in words:
        assert word in result.stderr
    assert not (tmp_path / "run").exists()


def test_nothing_to_do_shows_the_help():
    for arguments in ((), ("path",)):
        result = run(*arguments)
        assert result.exit_code == 2
        assert "Usage" in result.output
    assert run("path", "--target", "y").exit_code == 2
    assert run("paths").exit_code == 2
    for options in (["--rows", "1"], ["--features", "x"], ["--seed", "-1"]):
        assert run("demo", *options).exit_code == 2


def test_missing_file_and_directory(tmp_path, refuse):
    refuse(tmp_path / "none.csv", "none.csv", "no such file", "check the name")
    refuse(tmp_path, "directory", "name a table file")


def test_empty_and_unknown_files(tmp_path, refuse):
    (tmp_path / "empty.csv").touch()
    refuse(tmp_path / "empty.csv", "is empty")
    (tmp_path / "table.xlsx").write_bytes(b"PK")
    way = "as CSV, or read it with pandas and give the frame to kp.PathCV"
    refuse(tmp_path / "table.xlsx", f"unknown ending '.xlsx': save the sheet {way}", ".parquet")
    for name in ("table.json", "table.json.gz", "table.dta"):
        (tmp_path / name).write_bytes(b"{}")
        refuse(tmp_path / name, f"save the table {way}")
    (tmp_path / "table.png").write_bytes(b"x")
    refuse(tmp_path / "table.png", "unknown ending '.png': use .csv")


@pytest.mark.parametrize("ending", ["parquet", "csv.gz", "npz", "feather"])
@pytest.mark.parametrize("share", [0.5, 0.9])
def test_truncated_files(tmp_path, frame, refuse, ending, share):
    file = tmp_path / f"t.{ending}"
    if ending == "parquet":
        frame.to_parquet(file)
    elif ending == "feather":
        frame.to_feather(file)
    elif ending == "npz":
        np.savez(file, X=frame.drop(columns="outcome"), y=frame["outcome"] == "sick")
    else:
        file.write_bytes(gzip.compress(frame.to_csv(index=False).encode()))
    content = file.read_bytes()
    file.write_bytes(content[: int(len(content) * share)])
    target = None if ending == "npz" else "outcome"
    refuse(file, "cannot be read", "cut short", target=target)


@pytest.mark.parametrize("ending", ["parquet", "npz", "svm", "csv.gz"])
def test_unreadable_files(tmp_path, refuse, ending):
    file = tmp_path / f"t.{ending}"
    file.write_bytes(b"\x00\x01 not a table\n" * 9)
    target = None if ending in ("npz", "svm") else "outcome"
    refuse(file, "cannot be read", target=target)


def test_unknown_target_suggests_near_names(table, refuse):
    refuse(table, "no column 'outcom'", "did you mean 'outcome'", target="outcom")
    refuse(table, "there is 'outcome'", target="Outcome")
    refuse(table, "choose among the 9 columns", "'g0'", target="zzz")


def test_no_target(table, refuse):
    # the last name is shown too: that is where the target often is
    refuse(table, "no target was named", "--target", "'g0'", "'g1'", "'outcome'", target=None)


def test_dropping(table, refuse):
    refuse(table, "no column 'g33'", "did you mean 'g3'", options=["--drop", "g33"])
    refuse(table, "both the target and to be dropped", options=["--drop", "outcome"])
    drops = [word for j in range(8) for word in ("--drop", f"g{j}")]
    refuse(table, "no feature column is left", options=drops)


def test_text_columns_say_how(tmp_path, frame, refuse):
    file = save_csv(tmp_path, frame.assign(town="Ulm"))
    rbf = ["--kernel", "rbf"]
    refuse(file, "column 'town' holds text", "--kernel auto", "--drop", "encode", options=rbf)
    many = save_csv(tmp_path, frame.assign(**{f"t{j}": "a" for j in range(8)}))
    line = refuse(many, "columns 't0', 't1'", "and 3 more hold text", options=rbf)
    assert "'t7'" not in line


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinity_names_the_columns(tmp_path, frame, refuse, value):
    broken = frame.copy()
    broken.loc[3, "g2"] = value
    broken.loc[5, "g5"] = value
    line = refuse(save_csv(tmp_path, broken), "columns 'g2', 'g5' hold infinite values")
    assert "--drop" in line
    file = tmp_path / "t.npz"
    np.savez(file, X=broken.drop(columns="outcome"), y=broken["outcome"] == "sick")
    refuse(file, "columns 'x2', 'x5' hold", target=None)
    file = tmp_path / "t.svm"
    file.write_text("0 0:1.0 1:2.0\n1 0:3.0 1:inf\n0 1:1.5\n")
    refuse(file, "column 'x1' holds", target=None)


def test_a_target_that_is_nowhere(tmp_path, frame, refuse):
    nothing = save_csv(tmp_path, frame.assign(outcome=None))
    refuse(nothing, "target 'outcome' is missing in every row")


def test_missing_values_and_targets_are_welcome(tmp_path, frame):
    gaps = frame.assign(town=["Ulm", None, "Bonn"] * 20)
    gaps.loc[3, "g2"] = np.nan
    gaps.loc[4, "outcome"] = None
    result = done("path", save_csv(tmp_path, gaps), "-t", "outcome")
    assert "were left out" not in result.stderr
    assert "1 of 60 rows has no target and was left out." in result.stderr


def test_targets_that_teach_nothing(tmp_path, frame, refuse):
    refuse(save_csv(tmp_path, frame.assign(outcome="sick")), "one class only", "sick")
    number = save_csv(tmp_path, frame.assign(outcome=1.5))
    refuse(number, "constant", options=["--task", "regression"])
    text = save_csv(tmp_path, frame)
    refuse(text, "holds text", "--task classification", options=["--task", "regression"])


def test_too_few_rows(tmp_path, frame, refuse):
    refuse(save_csv(tmp_path, frame[:1]), "holds 1 row", "at least 2")
    refuse(save_csv(tmp_path, frame[:0]), "holds 0 row")


def test_every_column_constant(tmp_path, refuse):
    file = tmp_path / "t.csv"
    file.write_text("a,b,outcome\n1,2,x\n1,2,y\n1,2,x\n")
    refuse(file, "Every column is constant")


def test_duplicate_names(tmp_path, refuse):
    file = tmp_path / "t.csv"
    file.write_text("a,a,outcome\n1,2,x\n2,3,y\n3,5,x\n")
    refuse(file, "more than once", "'a'", "rename")


def test_more_features_than_there_are(tmp_path, frame, refuse):
    file = save_csv(tmp_path, frame.assign(same=1))
    refuse(file, "--n-features 9", "only 8 features", options=["--n-features", "9"])


@pytest.mark.parametrize("command", ["path", "demo"])
def test_output_below_a_regular_file(tmp_path, table, command):
    blocker = tmp_path / "file"
    blocker.write_text("mine")
    arguments = [table, "-t", "outcome"] if command == "path" else ["--rows", "50"]
    for out in (blocker, blocker / "sub", blocker / "sub" / "sub"):
        result = run(command, *arguments, "--out", out)
        assert_refused(result, str(out), "cannot be written")
    assert contents(tmp_path) == {"file": b"mine"}


def test_as_a_program(tmp_path):
    result = run_program("path", "no such\x1b[31m.csv", "-t", "y", "-o", "run", cwd=tmp_path)
    assert_refused(result, "no such file")
    assert contents(tmp_path) == {}
    assert run_program("path", "--foo").returncode == 2


def test_measures_of_two_classes_name_those_of_several(tmp_path):
    file = save_csv(tmp_path, make_frame().assign(outcome=list("abc") * 20))
    result = run("path", file, "-t", "outcome", *FOLDS[:4], "--scoring", "roc_auc")
    assert_refused(result, "--scoring roc_auc does not work", "give --scoring roc_auc_ovr")
