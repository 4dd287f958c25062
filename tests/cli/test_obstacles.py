"""What is wrong with a table is said in one line, each with its option; and those options."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from cli.helpers import assert_refused, done, run, save_csv

SCORED = ["--cv", "3", "--sizes", "1,2", "--predictor", "logistic"]
N = 60


def mixed_frame():
    """Numbers with holes, text, names of rows, and a target that depends on the holes' column."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=N)
    frame = pd.DataFrame(
        {
            "x": x,
            "holes": np.where(rng.random(N) < 0.2, np.nan, rng.normal(size=N)),
            "town": rng.choice(["Ulm", "Bonn"], N),
            "name": [f"person {i}" for i in range(N)],
        }
    )
    return frame.assign(outcome=np.where(x > 0.8, "sick", "well"))


@pytest.fixture
def table(tmp_path):
    return save_csv(tmp_path, mixed_frame())


def refused(*arguments):
    result = run(*arguments)
    assert result.exit_code == 1, result.output
    (line,) = result.stderr.strip().splitlines()
    return line


@pytest.mark.parametrize("command", ["path", "compare"])
def test_several_obstacles_are_said_at_once(tmp_path, command):
    table = save_csv(tmp_path, mixed_frame().assign(outcome="well", far=np.inf))
    line = refused(command, table, "-t", "outcome", "--missing", "error", "--kernel", "rbf")
    assert "There are 4 obstacles: (1) column 'town' holds text; add --kernel auto" in line
    assert "(2) column 'holes' holds missing values; leave out --missing error" in line
    assert "(3) The target has one class only" in line
    assert "(4) column 'far' holds infinite values" in line


def test_one_obstacle_is_no_list(table):
    line = refused("path", table, "-t", "outcome", "--missing", "error")
    assert line.endswith(
        "table.csv: column 'holes' holds missing values; leave out --missing error, or leave "
        "columns out with --drop"
    )


def test_a_table_of_identifiers_names_the_option(tmp_path):
    frame = mixed_frame()[["name", "outcome"]].assign(id=np.arange(N) + 100)
    table = save_csv(tmp_path, frame)
    assert "--keep-identifiers" in refused("path", table, "-t", "outcome")
    done("path", table, "-t", "outcome", "--keep-identifiers")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x,y\n1,a\n2,b\n", "--cv 3 folds, but there are 2 rows"),
        ("x,y\n" + "1.5,a\n2.5,a\n" * 9, "one class only"),
        ("x,y\n" + "1.5,a\n2.5,\n" * 9, "9 rows without a target are left out"),
        ("x,z,y\n" + ",,a\n,,b\n" * 9, "constant or empty"),
        ("x,y\n" + "".join(f"{i % 7}.5,p{i}\n" for i in range(30)), "Every row has its own class"),
        ("x,outcome\n" + "1.5,a\n2.5,b\n" * 9, "no column 'y'"),
    ],
    ids=["two rows", "one class", "one class left", "all missing", "id", "no such column"],
)
def test_bad_tables_are_refused_in_one_line(tmp_path, text, words):
    file = tmp_path / "table.csv"
    file.write_text(text)
    assert words in refused("path", file, "-t", "y", "--cv", "3")


@pytest.mark.parametrize(("way", "rows"), [("kernel", N), ("impute", N), ("drop", None)])
@pytest.mark.parametrize("method", ["lp-kta", "f-test"])
def test_missing_values_go_the_way_that_is_asked_for(table, method, way, rows):
    found = json.loads(
        done("path", table, "-t", "outcome", "--method", method, "--missing", way, "--json").stdout
    )
    assert found["n_samples"] == (rows or int(mixed_frame()["holes"].notna().sum()))
    assert any("(--missing drop)" in note for note in found["notes"]) == (way == "drop")
    assert any("(--keep-identifiers counts them)" in note for note in found["notes"])


def test_options_of_tables_are_recorded_and_come_from_a_file(table, tmp_path):
    config = tmp_path / "run.toml"
    config.write_text('missing = "impute"\nkeep-identifiers = true\nclass-weight = "none"\n')
    done("path", table, "-t", "outcome", *SCORED, "--config", config, "--out", tmp_path / "run")
    options = json.loads((tmp_path / "run" / "run.json").read_text())["options"]
    known = {name: options[name] for name in ("missing", "keep-identifiers", "class-weight")}
    assert known == {"missing": "impute", "keep-identifiers": True, "class-weight": "none"}


def test_weights_of_classes_change_what_is_found_and_are_for_classes(table, tmp_path):
    def scores(weight):
        given = ["--class-weight", weight, "--scoring", "recall_macro", "--json"]
        found = json.loads(done("path", table, "-t", "outcome", *SCORED, *given).stdout)
        return [size["score"] for size in found["sizes"]]

    assert scores("balanced") != scores("none")
    numbers = save_csv(tmp_path, mixed_frame().assign(outcome=np.arange(N) / 7), "numbers.csv")
    line = refused("path", numbers, "-t", "outcome", *SCORED, "--class-weight", "balanced")
    assert "--class-weight balanced needs classes" in line
    result = run("path", table, "-t", "outcome", "--class-weight", "balanced")
    assert result.exit_code == 2
    assert "without --cv" in result.stderr


def test_numbers_with_commas_and_separators_at_the_end_of_lines(tmp_path):
    file = tmp_path / "table.csv"
    lines = [f"{i % 9},{i % 4}5;{'ab'[i % 2]};{i},5;" for i in range(40)]
    file.write_text("\ufeffsize;kind;price;\n" + "\n".join(lines) + "\n", encoding="utf-8")
    found = json.loads(done("path", file, "-t", "price", "--json").stdout)
    assert (found["task"], found["n_features"]) == ("regression", 2)
    assert any("Target 'price'" in note and "numbers" in note for note in found["notes"])
    assert any("decimal comma: column 'size'" in note for note in found["notes"])


def test_a_number_with_its_unit_is_named(tmp_path):
    frame = mixed_frame().drop(columns="name").assign(weight=[f"{i % 12} kg" for i in range(N)])
    file = save_csv(tmp_path, frame)
    found = json.loads(done("path", file, "-t", "outcome", "--json").stdout)
    assert any("units and marks" in n and "'weight' (in kg)" in n for n in found["notes"])
    frame["weight"] = [f"{i % 12} {'kg' if i % 3 else 'g'}" for i in range(N)]
    found = json.loads(done("path", save_csv(tmp_path, frame), "-t", "outcome", "--json").stdout)
    told = [note for note in found["notes"] if "numbers with a unit such as '0 g'" in note]
    assert told[0].endswith(
        "write one unit in all rows, or take it off; as it is, it counts as text"
    )


def test_units_of_targets_and_of_new_rows(tmp_path):
    frame = mixed_frame().drop(columns="name").assign(weight=[f"{i % 12}.5 kg" for i in range(N)])
    file, out = save_csv(tmp_path, frame), tmp_path / "run"
    found = json.loads(done("path", file, "-t", "weight", "--json").stdout)
    assert found["task"] == "regression"
    labels = save_csv(tmp_path, frame.assign(net=[f"{4 + i % 2}G" for i in range(N)]))
    found = json.loads(done("path", labels, "-t", "net", "--json").stdout)
    assert not any("Target 'net'" in note for note in found["notes"])
    done("path", save_csv(tmp_path, frame), "-t", "outcome", "--cv", "3", "--must-include",
         "weight", "--sizes", "2", "--out", out)  # fmt: skip
    new = save_csv(tmp_path, frame.assign(weight=[f"{i % 12}.5 g" for i in range(N)]))
    result = run("predict", out / "model.kpmodel", new)
    assert_refused(result, "numbers in g in column 'weight', which held numbers in kg in fit")


def test_text_that_names_rows_is_not_said_to_count(tmp_path):
    frame = mixed_frame().drop(columns="name")
    frame["price"] = [f"{i}.19 {'EUR' if i % 3 else 'USD'}" for i in range(N)]
    file = save_csv(tmp_path, frame)
    found = json.loads(done("path", file, "-t", "outcome", "--json").stdout)
    assert any("EUR" in n or "USD" in n for n in found["notes"])
    assert any(n.endswith("its values name rows, and it is left out") for n in found["notes"])
    kept = done("path", file, "-t", "outcome", "--keep-identifiers", "--json").stdout
    assert any(n.endswith("it counts as text") for n in json.loads(kept)["notes"])


# -- what was left out -----------------------------------------------------------------------------


@pytest.mark.parametrize("scored", [[], SCORED])
def test_one_wording_for_rows_and_features(tmp_path, scored):
    frame = mixed_frame().assign(site="A", dose=1.0)
    frame.loc[:2, "outcome"] = None
    table, out = save_csv(tmp_path, frame), tmp_path / "run"
    dropped = int(frame.loc[3:, "holes"].isna().sum())
    result = done("path", table, "-t", "outcome", "--missing", "drop", *scored, "--out", out)
    rows = f"{N - 3 - dropped} rows (3 without a target and {dropped} with missing values left out)"
    features = "3 features (1 identifier and 2 constant columns left out)"
    assert result.stdout.startswith(f"{rows}, {features}, classification: ")
    assert "8 features" not in result.stdout
    assert "6 features" not in result.stdout
    page = (out / "report.html").read_text()
    assert f"<span>{rows}</span><span>{features}</span>" in page
    data = json.loads((out / "summary.json").read_text())["data"]
    assert data["rows_left_out"] == {"no_target": 3, "missing": dropped, "no_weight": 0, "alone": 0}
    line = done("path", table, "-t", "outcome", "--missing", "drop", *scored, "--json").stdout
    assert json.loads(line)["rows_left_out"] == data["rows_left_out"]


def test_a_comparison_says_the_same(tmp_path):
    frame = mixed_frame().assign(dose=1.0)
    frame.loc[:2, "outcome"] = None
    table = save_csv(tmp_path, frame)
    words = ["--methods", "lp-kta,f-test", *SCORED]
    result = done("compare", table, "-t", "outcome", *words, "--out", tmp_path / "out")
    said = "57 rows (3 without a target left out)"
    left = "3 features (1 identifier and 1 constant column left out)"
    assert result.stdout.startswith(f"{said}, {left}, classification; ")
    assert said in (tmp_path / "out" / "comparison.html").read_text()


def test_why_one_class_is_left(tmp_path):
    frame = mixed_frame()
    frame.loc[frame["outcome"] == "sick", "holes"] = np.nan
    table = save_csv(
        tmp_path, frame.assign(holes=frame["holes"].where(frame["outcome"] == "well", np.nan))
    )
    line = refused("path", table, "-t", "outcome", "--missing", "drop")
    assert "rows with missing values (--missing drop) are left out, and all others" in line
    assert "have the target 'well'" in line
    assert "choose --missing kernel or --missing impute" in line
    none = frame.assign(outcome=frame["outcome"].where(frame["outcome"] == "well"))
    line = refused("path", save_csv(tmp_path, none), "-t", "outcome")
    assert "rows without a target are left out, and all others have the target 'well'" in line
