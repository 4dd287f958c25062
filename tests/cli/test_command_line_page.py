"""Every command of the page on the command line runs as printed, on small files."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from cli.helpers import done, make_frame
from kernelpath.cli.manifest import COMPARISON_FILES, RUN_FILES, TEST_FILES
from kernelpath.estimators import rankers

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "command_line.md"
TEXT = PAGE.read_text(encoding="utf-8")


def commands():
    blocks = re.findall(r"```console\n(.*?)```", TEXT, flags=re.S)
    return [line.removeprefix("$ ") for block in blocks for line in block.splitlines()]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Folder with the files that the page speaks of."""
    frame = make_frame(40, 5).assign(patient=np.arange(40) // 2)
    frame.to_csv(tmp_path / "genes.csv", index=False)
    frame.drop(columns="outcome").head(5).to_csv(tmp_path / "new.csv", index=False)
    ((_, toml),) = re.findall(r"```toml\n# (.*?)\n(.*?)```", TEXT, flags=re.S)
    (tmp_path / "run.toml").write_text(toml.replace("cv = 3", "cv = 2"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_there_are_commands_of_every_kind():
    found = {shlex.split(line)[1] for line in commands()}
    assert {"path", "predict", "report", "compare", "test", "methods"} <= found


@pytest.mark.slow
def test_commands_of_the_page_run(folder, monkeypatch):
    monkeypatch.setattr(rankers, "L1KR_BUDGETS", (0.3,))
    for line in commands():
        program, *arguments = shlex.split(line)
        assert program == "kernelpath"
        if arguments[0] == "--show-completion":
            continue  # asks the running shell; see test_completion
        # Eight features are more than there are here, and all sizes in five folds take long.
        swapped = line.replace("--n-features 10", "--n-features 3").replace("1,2,4,8", "1,2,4")
        swapped = swapped.replace("--cv 5", "--cv 2 --sizes 1,2,4 --predictor weighted_kernel")
        swapped = swapped.replace("--cv 3", "--cv 2")
        result = done(*shlex.split(swapped)[1:])
        assert result.stdout or "--quiet" in line
    assert not list(folder.glob(".*"))
    names = {p.name for p in (folder / "run").iterdir()}
    # beside the files of the run there is nothing but what report wrote there
    assert names == set(RUN_FILES)
    assert {p.name for p in (folder / "comparison").iterdir()} == set(COMPARISON_FILES)
    assert {p.name for p in (folder / "tested").iterdir()} == set(TEST_FILES)
    assert len((folder / "predictions.csv").read_text().splitlines()) == 6


def test_the_page_names_every_file_and_command():
    for name in RUN_FILES + COMPARISON_FILES + TEST_FILES:
        assert f"`{name}`" in TEXT
    for name in ("path", "predict", "report", "compare", "test", "methods", "demo"):
        assert f"| `{name}` |" in TEXT
