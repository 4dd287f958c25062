"""``kernelpath report`` and ``kernelpath predict``: what a run folder is good for afterwards."""

from __future__ import annotations

import csv
import io
import json
import shutil

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file

import kernelpath as kp
from cli.helpers import FOLDS, SCORED, assert_refused, contents, done, run, run_program, save_csv
from kernelpath.cli.report import problems, read_summary
from kernelpath.report.form import schema


@pytest.fixture
def copy(tmp_path, scored):
    """Run folder that a test may damage."""
    return shutil.copytree(scored, tmp_path / "run")


# -- report ----------------------------------------------------------------------------------------


def test_the_page_again(copy, scored):
    page = (copy / "report.html").read_bytes()
    (copy / "report.html").unlink()
    result = done("report", copy)
    assert result.stdout == f"Wrote {copy / 'report.html'}\n"
    again = (copy / "report.html").read_text(encoding="utf-8")
    assert "table.csv: outcome" in again
    assert "kernelpath path" in again
    assert "model.kpmodel" in again
    assert abs(len(again) - len(page.decode())) < 2000  # the list of files differs
    assert sorted(p.name for p in copy.iterdir()) == SCORED


def test_the_page_elsewhere(tmp_path, copy):
    before = contents(copy)
    done("report", copy, "--out", tmp_path / "deep" / "page.html")
    assert (tmp_path / "deep" / "page.html").read_bytes().startswith(b"<!doctype html>")
    assert contents(copy) == before
    assert_refused(run("report", copy, "--out", tmp_path), "is a directory")


def test_pages_of_single_files(copy):
    for name in ("summary.json", "path.kpath", "model.kpmodel"):
        place = (copy / name).with_suffix(".html")
        done("report", copy / name)
        assert place.read_bytes().startswith(b"<!doctype html>")


def altered(change):
    """Summary file with one thing changed, as text."""

    def damage(text):
        summary = json.loads(text)
        change(summary)
        return json.dumps(summary)

    return damage


DAMAGE = {
    "cut": (lambda text: text[:1000], "cannot be read"),
    "list": (lambda text: "[1, 2]", "not a summary"),
    "foreign": (altered(lambda s: s.update(format="other")), "not a summary"),
    "newer": (altered(lambda s: s.update(version=99)), "use a newer kernelpath"),
    "missing": (altered(lambda s: s.pop("sizes")), "sizes is missing"),
    "type": (altered(lambda s: s["sizes"][1].update(n_features="x")), "sizes[1].n_features"),
    "position": (altered(lambda s: s["sizes"][0].update(features=[10**6])), "names no feature"),
    "negative": (altered(lambda s: s["sizes"][0].update(features=[-1])), "below 0"),
    "unknown": (altered(lambda s: s.update(extra=1)), "extra is unknown"),
    "nan": (lambda text: text.replace('"n_hidden": 0', '"n_hidden": NaN', 1), "NaN is not JSON"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damaged_summaries(copy, kind):
    damage, words = DAMAGE[kind]
    file = copy / "summary.json"
    text = file.read_text()
    assert damage(text) != text
    file.write_text(damage(text))
    before = contents(copy)
    assert_refused(run("report", copy), str(file), words)
    assert contents(copy) == before


def test_the_check_of_summaries_accepts_what_is_written(scored, plain):
    for folder in (scored, plain):
        summary = read_summary(folder / "summary.json")
        assert list(problems(summary, schema(), len(summary["features"]))) == []


@pytest.mark.parametrize("kind", ["missing", "type", "negative", "unknown"])
def test_the_check_of_summaries_agrees_with_another_one(scored, kind):
    validator = pytest.importorskip("jsonschema").Draft202012Validator(schema())
    text = (scored / "summary.json").read_text()
    assert validator.is_valid(json.loads(text))
    damaged = json.loads(DAMAGE[kind][0](text))
    assert not validator.is_valid(damaged)
    assert list(problems(damaged, schema(), 100))


def test_other_things_are_no_runs(tmp_path, copy):
    assert_refused(run("report", tmp_path / "none"), "no such file or folder")
    assert_refused(run("report", tmp_path), "holds no summary.json")
    for name in ("path.kpath", "model.kpmodel"):
        (copy / name).write_bytes((copy / name).read_bytes()[:-40])
        assert_refused(run("report", copy / name), "truncated, damaged or altered")
    (copy / "run.json").write_text('{"files": 3}')  # the page can do without the record
    assert_refused(run("report", copy), "report.html: is there already", "--overwrite")
    done("report", copy, "--overwrite")


# -- predict ---------------------------------------------------------------------------------------


def lines(text):
    return list(csv.reader(io.StringIO(text)))


@pytest.fixture(scope="module")
def model(scored):
    return kp.load_model(scored / "model.kpmodel")


def test_predictions_are_those_of_the_model(scored, model, table, frame):
    X = frame.drop(columns="outcome")
    header, *rows = lines(done("predict", scored, table).stdout)
    assert header == ["prediction"]
    assert [row[0] for row in rows] == model.predict(X).tolist()
    single = done("predict", scored / "model.kpmodel", table).stdout
    assert single == done("predict", scored, table).stdout
    other = lines(done("predict", scored, table, "-k", 2).stdout)[1:]
    assert [row[0] for row in other] == model.predict(X, n_features=2).tolist()


def test_probabilities(scored, model, table, frame):
    header, *rows = lines(done("predict", scored, table, "--proba").stdout)
    assert header == ["prediction", "probability of sick", "probability of well"]
    found = np.array([row[1:] for row in rows], dtype=float)
    np.testing.assert_allclose(found, model.predict_proba(frame.drop(columns="outcome")))


def test_columns_are_found_by_name_and_only_chosen_ones_are_needed(tmp_path, scored, model, frame):
    expected = done("predict", scored, save_csv(tmp_path, frame, "all.csv")).stdout
    mixed = frame[["outcome", *reversed(frame.columns[:8])]].assign(day="2026-01-01", note=None)
    assert done("predict", scored, save_csv(tmp_path, mixed, "mixed.csv")).stdout == expected
    needed = list(model.operating_point_.feature_names)
    file = tmp_path / "few.parquet"
    frame[needed].to_parquet(file)
    assert done("predict", scored, file).stdout == expected
    result = run("predict", scored, save_csv(tmp_path, frame.drop(columns=needed), "none.csv"))
    assert_refused(result, "none.csv", f"'{needed[0]}'", "missing, which the model needs")


def test_blocks_of_rows_make_no_difference(scored, table, monkeypatch):
    expected = done("predict", scored, table).stdout
    monkeypatch.setattr("kernelpath.cli.predict.MOST_CELLS", 70)
    assert done("predict", scored, table).stdout == expected


def test_predictions_to_a_file(tmp_path, scored, table):
    out = tmp_path / "deep" / "p.csv"
    result = done("predict", scored, table, "--out", out)
    assert result.stdout == f"Wrote 60 predictions to {out}\n"
    assert out.read_text() == done("predict", scored, table).stdout
    before = out.read_bytes()
    refused = run("predict", scored, tmp_path / "none.csv", "--out", out, "--overwrite")
    assert_refused(refused, "no such file")
    assert out.read_bytes() == before


def test_matrix_files(tmp_path, frame):
    X, y = frame.drop(columns="outcome").to_numpy(copy=True), frame["outcome"] == "sick"
    dump_svmlight_file(X, y, str(tmp_path / "train.svm"), zero_based=True)
    out = tmp_path / "run"
    done("path", tmp_path / "train.svm", *FOLDS, "-o", out)
    X[:, 7] = 0.0  # such a file ends before columns that are zero in all rows
    dump_svmlight_file(X, y, str(tmp_path / "new.svm"), zero_based=True)
    expected = kp.load_model(out / "model.kpmodel").predict(X).tolist()
    np.savez(tmp_path / "new.npz", X=X)  # no target, no names: by place
    for file in ("new.svm", "new.npz"):
        rows = lines(done("predict", out, tmp_path / file).stdout)[1:]
        assert [float(row[0]) for row in rows] == expected
    wide = np.hstack([X, X])
    dump_svmlight_file(wide, y, str(tmp_path / "wide.svm"), zero_based=True)
    assert_refused(run("predict", out, tmp_path / "wide.svm"), "fitted on")
    np.savez(tmp_path / "narrow.npz", X=X[:, :2])
    assert_refused(run("predict", out, tmp_path / "narrow.npz"), "missing, which the model needs")


def test_categories(tmp_path, frame):
    town = np.where(np.arange(60) % 5, frame["outcome"], "other")
    trained = frame.assign(town=town)
    out = tmp_path / "run"
    file = save_csv(tmp_path, trained)
    done("path", file, "-t", "outcome", "--kernel", "auto", *FOLDS, "-o", out)
    model = kp.load_model(out / "model.kpmodel")
    assert "town" in model.operating_point_.feature_names
    expected = model.predict(trained.drop(columns="outcome")).tolist()
    assert [row[0] for row in lines(done("predict", out, file).stdout)[1:]] == expected
    new = save_csv(tmp_path, trained.assign(town="elsewhere"), "new.csv")  # not seen before
    seen = done("predict", out, new)
    assert len(lines(seen.stdout)) == 61
    assert seen.stderr.count("note:") == 1
    assert "column 'town' holds 'elsewhere' in 60 rows, which the model has not seen" in seen.stderr
    gaps = save_csv(tmp_path, trained.assign(town=None), "gaps.csv")
    assert len(lines(done("predict", out, gaps).stdout)) == 61
    numbers = save_csv(tmp_path, trained.assign(town=1), "numbers.csv")
    assert_refused(run("predict", out, numbers), "numbers.csv: column 'town' holds numbers")


def test_numbers_may_be_written_otherwise_than_those_of_the_run(tmp_path, scored, frame):
    expected = done("predict", scored, save_csv(tmp_path, frame.round(2), "points.csv")).stdout
    commas = tmp_path / "commas.csv"
    frame.round(2).to_csv(commas, sep=";", decimal=",", index=False)
    text = frame.round(2).assign(g3=[str(x).replace(".", ",") for x in frame["g3"].round(2)])
    text.to_parquet(tmp_path / "text.parquet")
    text.assign(g3=text["g3"].astype("category")).to_parquet(tmp_path / "categories.parquet")
    for file in (commas, tmp_path / "text.parquet", tmp_path / "categories.parquet"):
        found = done("predict", scored, file)
        assert found.stdout == expected
        assert "read as numbers with a decimal comma: column" in found.stderr
    dates = tmp_path / "dates.parquet"
    frame.assign(g3=pd.Timestamp("2020-01-01")).to_parquet(dates)
    assert_refused(run("predict", scored, dates), "'g3' holds dates, where the model had numbers")


def test_what_predict_refuses(tmp_path, scored, plain, frame, table):
    assert_refused(run("predict", plain, table), "holds no model.kpmodel", "--cv")
    assert_refused(run("predict", tmp_path / "none", table), "no such file or folder")
    assert_refused(run("predict", scored, table, "-k", 3), "none of 3", "--n-features 3")
    text = save_csv(tmp_path, frame.assign(g3="a"), "text.csv")
    assert_refused(run("predict", scored, text), "'g3' holds text")
    gaps = save_csv(tmp_path, frame.assign(g3=np.nan), "gaps.csv")
    assert len(lines(done("predict", scored, gaps).stdout)) == 61
    broken = save_csv(tmp_path, frame.assign(g3=np.inf), "broken.csv")
    assert_refused(run("predict", scored, broken), "broken.csv: column 'g3' holds infinite")
    assert run("predict", scored).exit_code == 2
    assert_refused(run("predict", scored / "path.kpath", table), "is a saved path")


def test_a_column_of_nearly_that_name(tmp_path, scored, frame):
    file = save_csv(tmp_path, frame.rename(columns={"g3": "G3"}), "upper.csv")
    assert_refused(run("predict", scored, file), "'g3' is missing", "did you mean 'G3'?")


def test_inputs_are_never_overwritten(tmp_path, scored, table, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data, model = tmp_path / "selected.csv", tmp_path / "m.kpmodel"
    path, settings = tmp_path / "p.kpath", tmp_path / "run.toml"
    data.write_bytes(table.read_bytes())
    model.write_bytes((scored / "model.kpmodel").read_bytes())
    path.write_bytes((scored / "path.kpath").read_bytes())
    settings.write_text('target = "outcome"\n')
    before = {file: file.read_bytes() for file in (data, model, path, settings)}
    trace = ("path", data, "-t", "outcome")
    for command in (
        (*trace, "--report", data), (*trace, "--report", "./selected.csv"), (*trace, "--out", "."),
        ("path", data, "--config", settings, "--report", settings),
        ("predict", model, data, "--out", data), ("report", path, "--out", path),
        ("report", model, "--out", model), ("report", scored, "--out", scored / "scores.csv"),
    ):  # fmt: skip
        assert_refused(run(*command), "is read, so it cannot be written")
    assert {file: file.read_bytes() for file in before} == before
    result = run("predict", model, data, "--out", model)
    assert result.exit_code == 2
    assert "ends in .csv" in " ".join(result.stderr.replace("│", " ").split())


def test_no_rows_give_no_predictions(tmp_path, scored, frame):
    file = tmp_path / "empty.parquet"
    frame[:0].to_parquet(file)
    assert done("predict", scored, file).stdout == "prediction\n"


def test_no_probabilities_without_calibration(tmp_path, table):
    out = tmp_path / "run"
    done("path", table, "-t", "outcome", *FOLDS, "-o", out)
    assert_refused(run("predict", out, table, "--proba"), "again with --proba")


def test_predictions_as_a_program(tmp_path, scored, frame):
    frame.head(3).to_csv(tmp_path / "new.csv", index=False)
    result = run_program("predict", scored, "new.csv", cwd=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    assert len(pd.read_csv(io.StringIO(result.stdout))) == 3


def test_labels_that_begin_like_formulas(tmp_path, frame):
    labels = {"sick": "=1+1", "well": "-"}
    file = save_csv(tmp_path, frame.assign(outcome=frame["outcome"].map(labels)))
    done("path", file, "-t", "outcome", *FOLDS, "-o", tmp_path / "run")
    found = {row[0] for row in lines(done("predict", tmp_path / "run", file).stdout)[1:]}
    assert found == {"'=1+1", "-"}


def test_whole_labels_stay_whole_where_some_are_missing(tmp_path, frame):
    labels = frame["outcome"].eq("sick").astype("Int64").where(frame.index != 3)
    file = save_csv(tmp_path, frame.assign(outcome=labels))
    done("path", file, "-t", "outcome", *FOLDS, "-o", tmp_path / "run")
    found = {row[0] for row in lines(done("predict", tmp_path / "run", file).stdout)[1:]}
    assert found == {"0", "1"}
