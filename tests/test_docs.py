"""Code in README, guides and examples runs as printed."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def python_blocks(file: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", file.read_text(encoding="utf-8"), flags=re.S)


@pytest.fixture(autouse=True)
def no_screen():
    matplotlib.use("Agg")
    yield
    plt.close("all")


def test_readme_example_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (block,) = python_blocks(ROOT / "README.md")
    names: dict = {}
    exec(compile(block, "README.md", "exec"), names)
    assert names["X_small"].shape == (500, 12)
    assert len(names["path"].at(n_features=3).names) == 3
    assert names["kp"].load_path("path.kpath") == names["path"]


def test_own_divergence_of_the_guide_runs():
    (block,) = python_blocks(ROOT / "docs" / "guide" / "extend.md")
    exec(compile(block, "extend.md", "exec"), {"__name__": "guide"})


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_examples_run(file, capsys):
    runpy.run_path(str(file))
    assert capsys.readouterr().out


def test_links_of_the_pages_lead_somewhere():
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    for page in pages:
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / link).exists(), f"{page.name}: {link}"
