"""``kernelpath path``: every format, every file it writes, every option."""

from __future__ import annotations

import gzip
import json
import math

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

import kernelpath as kp
from cli.helpers import FILES, done, make_frame, run_program, save_csv
from kernelpath.path.feature_path import load_path


def strict_json(text):
    """Parse JSON as other languages do: NaN and Infinity are no JSON."""

    def refuse(word):
        raise AssertionError(f"{word} is not JSON")

    assert len(text.splitlines()) == 1
    return json.loads(text, parse_constant=refuse)


def write_table(folder, frame, ending):
    """Write the same table in a format; return the file and the arguments it needs."""
    file = folder / f"t.{ending}"
    X, y = frame.drop(columns="outcome"), frame["outcome"]
    if ending == "csv":
        frame.to_csv(file, index=False)
    elif ending == "tsv":
        frame.to_csv(file, index=False, sep="\t")
    elif ending.endswith("gz"):
        separator = "," if "csv" in ending else "\t"
        file.write_bytes(gzip.compress(frame.to_csv(index=False, sep=separator).encode()))
    elif ending == "parquet":
        frame.to_parquet(file)
    elif ending in ("feather", "arrow"):
        frame.to_feather(file)
    elif ending == "npz":
        np.savez(file, X=X, y=y.to_numpy(str), feature_names=np.array(X.columns, str))
        return file, []
    elif ending == "sparse.npz":
        rows = sparse.csr_array(X.to_numpy())
        fields = {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr}
        np.savez(
            file, y=y == "sick", shape=X.shape, feature_names=np.array(X.columns, str), **fields
        )
        return file, []
    else:
        dump_svmlight_file(X.to_numpy(), y == "sick", str(file), zero_based=True)
        return file, []
    return file, ["--target", "outcome"]


@pytest.fixture(scope="module")
def reference(frame):
    y = frame["outcome"].to_numpy()
    return kp.LpKTASelector().fit(frame.drop(columns="outcome"), y)


@pytest.mark.parametrize(
    "ending",
    [
        "csv",
        "tsv",
        "csv.gz",
        "tsv.gz",
        "parquet",
        "feather",
        "arrow",
        "npz",
        "sparse.npz",
        "svm",
        "svmlight",
    ],
)
def test_every_format_gives_the_same_path(tmp_path, frame, reference, ending):
    file, options = write_table(tmp_path, frame, ending)
    found = strict_json(done("path", file, *options, "--json").stdout)
    names = reference.path_.at(n_features=8).names
    if ending.startswith("svm"):  # those files hold no names
        names = tuple(name.replace("g", "x") for name in names)
        assert any("x0, x1" in note for note in found["notes"])
    assert found["points"][0]["top"] == list(names[:5])
    alignments = {row["column"]: row["alignment"] for row in found["selected"]}
    for column, value in alignments.items():
        assert value == pytest.approx(reference.alignments_[column], rel=1e-6)


def test_files_agree_with_each_other_and_with_python(tmp_path, table, reference):
    out = tmp_path / "deep" / "run"
    result = done("path", table, "-t", "outcome", "--out", out, "-k", 3)
    assert sorted(p.name for p in out.iterdir()) == FILES
    assert (out / "path.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    path = load_path(out / "path.kpath")
    assert path.extension.n_usable == 8
    for k in range(9):
        assert path.at(n_features=k).names == reference.path_.at(n_features=k).names
    points = pd.read_csv(out / "path.csv")
    assert len(points) == len(path) == 101
    np.testing.assert_allclose(points["p"], path.parameters)
    np.testing.assert_array_equal(points["n_selected"], path.n_selected)
    selected = pd.read_csv(out / "selected.csv")
    header = ["rank", "name", "weight", "alignment", "p_value", "q_value", "column"]
    assert list(selected.columns) == header
    assert tuple(selected["name"]) == path.at(n_features=3).names
    assert selected["name"][0] == "g3"
    assert list(selected["rank"]) == [1, 2, 3]
    np.testing.assert_allclose(selected["alignment"], reference.alignments_[selected["column"]])
    assert "60 rows, 8 features, classification" in result.stdout
    assert "selected.csv (3 features)" in result.stdout
    given = pd.read_csv(table)
    test = kp.alignment_test(given.drop(columns="outcome"), given["outcome"])
    np.testing.assert_allclose(selected["p_value"], test.p_value[selected["column"]], rtol=1e-6)
    np.testing.assert_allclose(selected["q_value"], test.q_value[selected["column"]], rtol=1e-6)
    assert f"{len(test.discoveries(0.1))} feature" in result.stdout
    assert "at a false discovery rate of 0.1." in result.stdout
    assert str(out) in result.stdout


def test_json_agrees_with_the_files(tmp_path, table):
    out = tmp_path / "run"
    found = strict_json(done("path", table, "-t", "outcome", "-o", out, "-k", 2, "--json").stdout)
    assert sorted(found["files"]) == [str(out / name) for name in FILES]
    assert {"method": "lp-kta", "task": "classification", "n_constant": 0}.items() <= found.items()
    assert (found["n_samples"], found["n_features"]) == (60, 8)
    assert pd.read_csv(out / "selected.csv")["name"].tolist() == [
        row["name"] for row in found["selected"]
    ]
    path = load_path(out / "path.kpath")
    for row in found["points"]:
        point = path.at(n_features=row["n_features"])
        assert (row["p"], row["note"]) == (point.parameter, point.note)
        assert row["top"] == list(point.names[:5])
        assert row["gap"] == point.gap or math.isclose(row["gap"], point.gap)
    assert [row["n_features"] for row in found["points"]][-2:] == [2, 1]


def test_verbose_adds_parameter_and_certificates(table):
    lines = done("path", table, "-t", "outcome", "-k", 3, "--verbose").stdout.splitlines()
    assert lines[2].split() == ["features", "p", "KKT", "gap", "heaviest", "features"]
    beyond = [line for line in lines if line.startswith("* beyond the ends of the path")]
    assert len(beyond) == any("*" in line.split()[1] for line in lines[3 : lines.index("", 3)][:-1])


def test_table_names_sizes_and_features(table):
    published = ["--statistic", "alignment"]  # of which none is 0 at p = 2
    lines = done("path", table, "-t", "outcome", "-k", 3, *published).stdout.splitlines()
    assert lines[2].split() == ["features", "heaviest", "features"]
    sizes = [line.split()[0] for line in lines[3 : lines.index("", 3)]]
    assert sizes[0] == "8"
    assert "3" in sizes  # the size asked for has a row of its own
    assert any(line.split()[:1] == ["1"] and line.split()[-1] == "g3" for line in lines)
    assert lines[-1] == "Nothing was written; add --out DIR to keep the path."


def test_without_n_features_the_sparsest_point_is_selected(tmp_path, table):
    done("path", table, "-t", "outcome", "-o", tmp_path)
    path = load_path(tmp_path / "path.kpath")
    assert len(pd.read_csv(tmp_path / "selected.csv")) == path.n_selected[-1]


def test_a_second_run_replaces_the_first(tmp_path, table):
    done("path", table, "-t", "outcome", "-o", tmp_path, "-k", 1)
    (tmp_path / "mine.txt").write_text("keep")
    done("path", table, "-t", "outcome", "-o", tmp_path, "-k", 5)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([*FILES, "mine.txt"])
    assert len(pd.read_csv(tmp_path / "selected.csv")) == 5


def test_drop(table):
    result = done("path", table, "-t", "outcome", "--drop", "g3", "--drop", "g0", "--json")
    found = strict_json(result.stdout)
    assert found["n_features"] == 6
    assert not {"g3", "g0"} & set(found["points"][0]["top"])


def test_text_columns_with_kernel_auto(tmp_path, frame):
    town = np.where(np.arange(60) % 3, frame["outcome"], "other")
    file = save_csv(tmp_path, frame.assign(town=town))
    found = strict_json(done("path", file, "-t", "outcome", "--kernel", "auto", "--json").stdout)
    assert found["n_features"] == 9
    assert found["points"][0]["top"][:2] == ["g3", "town"]
    published = ["--statistic", "alignment", "--bandwidth", "std", "--json"]
    found = strict_json(done("path", file, "-t", "outcome", *published).stdout)
    assert found["points"][0]["top"][:2] == ["town", "g3"]
    assert done("path", file, "-t", "outcome", "--drop", "town").exit_code == 0


def test_regression(tmp_path, frame):
    numbers = frame.drop(columns="outcome").assign(y=(10 * frame["g5"] ** 2).round())
    file = save_csv(tmp_path, numbers)
    as_numbers = done("path", file, "-t", "y", "--task", "regression", "--json").stdout
    as_classes = done("path", file, "-t", "y", "--task", "classification", "--json").stdout
    assert strict_json(as_numbers)["task"] == "regression"
    assert strict_json(as_numbers)["selected"][0]["name"] == "g5"
    assert strict_json(as_classes)["task"] == "classification"


def test_noise_strength_leaves_only_what_beats_chance(tmp_path):
    file = save_csv(tmp_path, make_frame(120, 60))
    published = ["--statistic", "alignment", "--json"]
    plain = strict_json(done("path", file, "-t", "outcome", *published).stdout)
    noise = done("path", file, "-t", "outcome", "--norm-strength", "noise", "--json").stdout
    names = [row["name"] for row in strict_json(noise)["selected"]]
    assert names[0] == "g3"
    assert len(names) <= 3 < len(plain["selected"])


@pytest.mark.parametrize("kernel", ["rbf", "polynomial", "laplace"])
def test_kernels(table, kernel):
    done("path", table, "-t", "outcome", "--kernel", kernel, "--bandwidth", "median", "-j", 1)


@pytest.mark.parametrize("kernel", ["linear", "delta"])
def test_kernels_without_a_width(table, kernel):
    done("path", table, "-t", "outcome", "--kernel", kernel, "--bandwidth", "std", "-j", 1)


def test_quiet_says_only_where_the_files_are(tmp_path, table):
    result = done("path", table, "-t", "outcome", "-q", "-o", tmp_path / "run")
    assert len(result.stdout.splitlines()) == 1
    assert result.stdout.startswith("Wrote path.kpath")
    assert done("path", table, "-t", "outcome", "-q").output == ""


def test_constant_columns_are_noted_and_never_selected(tmp_path, frame):
    file = save_csv(tmp_path, frame.assign(same=1.0))
    result = done("path", file, "-t", "outcome")
    assert "note: Column 'same' is constant" in result.stderr
    assert "same" not in result.stdout
    found = strict_json(done("path", file, "-t", "outcome", "--json").stdout)
    assert found["n_constant"] == 1
    assert "constant" in found["notes"][0]


def test_a_path_that_selects_nothing_says_so(tmp_path, table):
    result = done("path", table, "-t", "outcome", "--norm-strength", "1e9", "-o", tmp_path)
    assert "No feature is selected" in result.stderr
    assert "--norm-strength" in result.stderr
    assert len(pd.read_csv(tmp_path / "selected.csv")) == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == FILES


def test_without_matplotlib_all_but_the_picture_is_written(tmp_path, table, monkeypatch):
    done("path", table, "-t", "outcome", "-o", tmp_path)

    def missing(*args, **options):
        raise ImportError("Plots need matplotlib, which is not installed")

    monkeypatch.setattr("kernelpath.report.displays.path.save_plot", missing)
    result = done("path", table, "-t", "outcome", "-o", tmp_path, "-k", 1)
    assert "note: Plots need matplotlib" in result.stderr
    # the picture of the first run is gone: it would not show the path beside it
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(set(FILES) - {"path.png"})


def test_as_a_program(tmp_path, table):
    result = run_program("path", table, "--target", "outcome", "--out", "run", cwd=tmp_path)
    assert result.returncode == 0
    assert result.stderr == ""  # no progress off a terminal
    assert "\x1b" not in result.stdout
    assert "\r" not in result.stdout
    assert result.stdout.endswith("to run\n")
    assert sorted(p.name for p in (tmp_path / "run").iterdir()) == FILES


def test_the_column_of_a_selected_feature_is_its_place_among_the_features(tmp_path):
    frame = make_frame()
    frame.insert(0, "outcome", frame.pop("outcome"))  # the target stands first in the file
    out = tmp_path / "run"
    words = ["-t", "outcome", "--drop", "g0", "-k", "2", "--out", out]
    done("path", save_csv(tmp_path, frame), *words)
    selected = pd.read_csv(out / "selected.csv")
    names = kp.load_path(out / "path.kpath").feature_names
    assert selected["name"].tolist() == [names[j] for j in selected["column"]]
    assert selected["column"][0] == 2  # g3 after g1 and g2
