"""What reaches the terminal: help, version, progress, and hostile names."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess

import numpy as np
import pandas as pd
import pytest
import typer

from cli.helpers import FILES, PROGRAM, assert_refused, done, run, run_program, save_csv
from kernelpath import __version__
from kernelpath.cli import console, main
from kernelpath.errors import DataError, naming
from kernelpath.path.feature_path import load_path
from kernelpath.report.plain_text import visible

HOSTILE = [
    "\x1b[31mred\x1b[0m",
    "two\nlines",
    "[bold]loud[/bold]",
    "$a_b$",
    "<script>alert(1)</script>",
    "\U0001f9ec gene",
    "n" * 300,
    "tab\tbell\x07\x9b31m",
]


def printable(text):
    return all(c.isprintable() for c in text.replace("\n", ""))


@pytest.fixture
def hostile(tmp_path, frame):
    renamed = frame.copy()
    renamed.columns = [*HOSTILE, "outcome"]
    renamed["outcome"] = np.where(renamed["outcome"] == "sick", "\x1b[2Jsick", "[red]well")
    return save_csv(tmp_path, renamed)


def test_hostile_names_are_kept_in_files_and_tamed_on_the_terminal(tmp_path, hostile):
    out = tmp_path / "[bold]run"
    result = done("path", hostile, "-t", "outcome", "-k", 8, "-o", out)
    assert printable(result.output)
    assert "n" * 25 not in result.stdout
    assert "$a_b$" in result.stdout
    assert "[bold]run" in result.stdout
    assert sorted(p.name for p in out.iterdir()) == FILES
    with open(out / "selected.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["name"] for row in rows} == set(map(visible, HOSTILE))
    for file in out.iterdir():
        if file.suffix in (".csv", ".html", ".json"):
            assert not re.search(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]", file.read_bytes())
    assert set(load_path(out / "path.kpath").feature_names) == set(HOSTILE)
    found = done("path", hostile, "-t", "outcome", "-k", 8, "--json").stdout
    assert printable(found)
    assert found.isascii()
    assert {row["name"] for row in json.loads(found)["selected"]} == set(HOSTILE)


def test_hostile_names_in_refusals_and_notes(tmp_path, hostile, frame):
    assert_refused(run("path", hostile), "no target was named")
    for target in ("[bold]loud", "\x1b[31mred", "zzz"):
        assert_refused(run("path", hostile, "-t", target), "no column")
    renamed = frame.drop(columns="outcome")
    renamed.columns = HOSTILE
    for bad in (np.inf, "text"):
        broken = renamed.astype(object)
        broken.iloc[2] = bad
        file = save_csv(tmp_path, broken.assign(y=frame["outcome"]), "t.csv")
        assert_refused(run("path", file, "-t", "y", "--kernel", "rbf"), "column", "hold")
    constant = renamed.assign(y=frame["outcome"], **{HOSTILE[0]: 1.0})
    result = done("path", save_csv(tmp_path, constant), "-t", "y")
    assert printable(result.stderr)
    assert "constant" in result.stderr
    assert_refused(run("path", tmp_path / "\x1b[31m\n.csv", "-t", "y"), "no such file")


@pytest.mark.parametrize(("value", "hint"), [("many", "such as 'many'"), ("1,5", "a point")])
def test_text_in_a_column_of_numbers_is_named(tmp_path, value, hint):
    file = tmp_path / "t.csv"
    rows = [f"{i * 0.37:.2f};{i % 3};{'ab'[i % 2]}" for i in range(20)]
    rows[4] = f"{value};1;a"
    file.write_text("\n".join(["dose;visits;y", *rows]) + "\n")
    assert_refused(run("path", file, "-t", "y", "--kernel", "rbf"), "'dose'", hint)
    result = done("path", file, "-t", "y")
    assert "counts as text" in result.stderr


def test_a_path_that_nobody_leaves_is_said_to_be_one(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("a,b,y\n" + "".join(f"{i},{i + i % 2},{int(i > 9)}\n" for i in range(20)))
    assert "No feature leaves" in done("path", file, "-t", "y").stderr
    assert "No feature leaves" not in done("path", file, "-t", "y", "-k", "1").stderr


@pytest.mark.parametrize("width", ["60", "80", "160"])
@pytest.mark.parametrize("scoring", ["accuracy", "balanced_accuracy"])
def test_scores_keep_their_width_in_a_narrow_terminal(tmp_path, frame, monkeypatch, width, scoring):
    monkeypatch.setenv("COLUMNS", width)
    names = {name: f"a rather long name of {name}" for name in frame if name != "outcome"}
    file = save_csv(tmp_path, frame.rename(columns=names))
    scored = ["--cv", "3", "--sizes", "1,2,4", "--predictor", "weighted_kernel"]
    shown = done("path", file, "-t", "outcome", *scored, "--scoring", scoring).stdout
    rows = [line for line in shown.splitlines() if re.match(r" +[124] ", line)]
    assert len(rows) == 3
    for row in rows:
        assert re.match(r" +\d +\d\.\d{3} +\d\.\d{3} ", row)
        assert len(row.rstrip()) <= int(width)
    assert "chosen (one_se)" in shown
    assert scoring.replace("_", " ") in shown


def test_numbers_keep_their_width_in_a_narrow_terminal(tmp_path, frame, monkeypatch):
    monkeypatch.setenv("COLUMNS", "50")
    wide = frame.rename(columns=lambda name: name if name == "outcome" else name + "_" * 60)
    out = done("path", save_csv(tmp_path, wide), "-t", "outcome", "--verbose").stdout
    rows = [line.split() for line in out.splitlines() if re.match(r" +\d", line)]
    assert rows
    for row in rows:
        assert row[0].replace(",", "").isdigit()
        float(row[1].rstrip("*"))
        float(row[2])


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("a\x1bb\nc\x07", "a\ufffdb\ufffdc\ufffd"),
        ("\u202egnp.exe\ufeff", "\ufffdgnp.exe\ufffd"),
        ("x" * 50, "x" * 39 + "…"),
    ],
)
def test_safe(text, shown):
    assert console.safe(text) == shown


def test_in_option_words():
    text = "use kernel=\"auto\", task='regression', norm_strength=0.5 or probability=True."
    error = naming(DataError(text), "kernel", "task", "norm_strength", "probability")
    said = console.in_option_words(error)
    assert said == "use --kernel auto, --task regression, --norm-strength 0.5 or --proba."
    assert console.in_option_words(DataError(text)) == text


def test_names_that_look_like_settings_stay(tmp_path, table):
    """Files and columns may be called as they like."""
    folder = tmp_path / "kernel=rbf"
    folder.mkdir()
    assert_refused(run("path", folder / "cv=3.csv", "-t", "y"), f"{folder}/cv=3.csv")
    frame = pd.read_csv(table).assign(**{"task=auto": 1.0})
    frame.to_csv(folder / "a.csv", index=False)
    notes = json.loads(done("path", folder / "a.csv", "-t", "outcome", "--json").stdout)["notes"]
    assert "task=auto" in " ".join(notes)


def test_progress_on_a_terminal_leaves_the_results_alone(table):
    pty = pytest.importorskip("pty")
    reader, writer = pty.openpty()
    command = [str(PROGRAM), "path", str(table), "-t", "outcome", "--json"]
    try:
        quiet = subprocess.run(command, stdout=subprocess.PIPE, stderr=writer, timeout=120)
        bar = subprocess.run(command[:-1], stdout=subprocess.PIPE, stderr=writer, timeout=120)
        os.write(writer, b"\nend")
        shown = os.read(reader, 100_000)
    finally:
        os.close(reader)
        os.close(writer)
    assert quiet.returncode == bar.returncode == 0
    assert json.loads(quiet.stdout)["n_features"] == 8
    assert b"alignments" in shown
    assert b"alignments" not in bar.stdout


def test_a_terminal_without_utf8(hostile):
    result = subprocess.run(
        [str(PROGRAM), "path", str(hostile), "-t", "outcome"],
        capture_output=True,
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
        timeout=120,
    )
    assert result.returncode == 0
    assert b"$a_b$" in result.stdout


def test_a_reader_that_goes_away(table):
    process = subprocess.Popen(
        [str(PROGRAM), "path", str(table), "-t", "outcome"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(60) == 0


def test_version():
    result = run_program("--version")
    assert (result.returncode, result.stdout, result.stderr) == (
        0,
        f"kernelpath {__version__}\n",
        "",
    )


COMMANDS = ["path", "compare", "test", "predict", "report", "methods", "demo"]


@pytest.mark.parametrize("command", [None, *COMMANDS])
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_mentions_every_option_and_an_example(command, flag):
    text = done(*filter(None, [command]), flag).stdout
    group = typer.main.get_command(main.app)
    described = group.commands[command] if command else group
    for parameter in described.params:
        for name in [o for o in parameter.opts if o.startswith("-")]:
            assert re.search(rf"{re.escape(name)}\b", text), name
    assert f"Example: kernelpath {command or 'path'} " in text
    if command is None:
        assert sorted(described.commands) == sorted(COMMANDS)
        assert all(re.search(rf"│ {name}\b", text) for name in COMMANDS)
        assert "Exit codes: 0 done" in text


def test_help_wraps_its_paragraphs():
    lines = [line.strip() for line in done("path", "--help").stdout.splitlines()]
    start = next(i for i, line in enumerate(lines) if line.startswith("Every column"))
    paragraph = lines[start : lines.index("", start)]
    assert all(len(line) > 60 for line in paragraph[:-1])


@pytest.mark.parametrize("words", [["--help"], ["path", "--help"], ["--version"], ["methods"]])
def test_a_reader_that_goes_away_ends_the_program_quietly(words):
    with subprocess.Popen(
        [PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as program:
        program.stdout.close()
        assert program.stderr.read() == ""
    assert program.returncode == 0


def test_wrong_usage_stays_wrong_when_nobody_reads_it():
    with subprocess.Popen([PROGRAM, "path", "--no-such"], stderr=subprocess.PIPE) as program:
        program.stderr.close()
    assert program.returncode != 0
