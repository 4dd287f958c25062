"""Code in README, guides and examples runs as printed."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

import kernelpath as kp
from kernelpath.kernels import _formulas

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
    names: dict = {}
    for block in python_blocks(ROOT / "README.md"):
        # The whole curve, with two more rankings, takes minutes.
        block = block.replace("cv=5", "cv=3, n_features=[1, 3, 5, 8]").replace(
            'baselines=("f_test", "forest")', ""
        )
        exec(compile(block, "README.md", "exec"), names)
    assert names["X_small"].shape == (500, 12)
    assert len(names["path"].at(n_features=3).names) == 3
    assert names["kp"].load_path("path.kpath") == names["path"]
    again = names["kp"].load_model("model.kpmodel")
    assert again.operating_point_ == names["model"].operating_point_


def test_the_guide_to_the_report_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for block in python_blocks(ROOT / "docs" / "guide" / "report.md"):
        exec(compile(block, "report.md", "exec"), names)
    assert "features reach" in names["summary"]["headline"]
    assert "<title>Simulated table</title>" in (tmp_path / "report.html").read_text("utf-8")
    assert (tmp_path / "stability.png").stat().st_size > 10_000


def test_the_guide_to_path_cv_runs(capsys):
    names: dict = {}
    for block in python_blocks(ROOT / "docs" / "guide" / "path_cv.md"):
        exec(compile(block, "path_cv.md", "exec"), names)
    said = capsys.readouterr().out
    assert said.startswith("logistic 0.")
    assert "perfect Column 'bill' alone reaches" in said


def test_the_guide_to_comparisons_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for block in python_blocks(ROOT / "docs" / "guide" / "compare.md"):
        exec(compile(block, "compare.md", "exec"), names)
    row = names["found"].differences("f-test", n_features=2).iloc[0]
    assert (row["method"], row["difference"] > 0) == ("lp-kta", True)
    assert list(names["more"].scores) == list(names["methods"])
    assert (tmp_path / "comparison.html").stat().st_size > 100_000


@pytest.fixture
def kernels_restored():
    tables = [getattr(_formulas, name) for name in ("KERNELS", "BY_CODE")]
    before = [dict(table) for table in tables]
    yield
    for table, kept in zip(tables, before):
        table.clear()
        table.update(kept)


@pytest.mark.usefixtures("kernels_restored")
def test_what_the_guide_adds_works():
    names: dict = {"__name__": "guide"}
    blocks = python_blocks(ROOT / "docs" / "guide" / "extend.md")
    assert len(blocks) == 5
    for block in blocks:
        exec(compile(block, "extend.md", "exec", dont_inherit=True), names)
    prices = blocks[3].split("class Prices")[1].split("data =")[0]
    assert sum(bool(line.strip()) for line in prices.splitlines()) <= 20
    kernel, u = names["BoundCauchy"](names["data"].X), np.linspace(-1, 1, 150)[:, None]
    d, step = np.full(8, 0.3), 1e-6 * np.eye(8)[2]
    change = kernel.gram(d + step) - kernel.gram(d - step)
    slope = float(u[:, 0] @ change @ u[:, 0]) / 2e-6
    assert kernel.grad_quad(d, u)[2] == pytest.approx(slope, rel=1e-5)


def test_the_guide_to_gmkl_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for block in python_blocks(ROOT / "docs" / "guide" / "gmkl.md"):
        exec(compile(block, "gmkl.md", "exec"), names)
    assert names["path"].gaps.max() <= 1e-3
    assert names["cv"].operating_point_.n_features >= 1


def test_the_guide_to_nmmkl_runs():
    names: dict = {}
    for block in python_blocks(ROOT / "docs" / "guide" / "nmmkl.md"):
        exec(compile(block, "nmmkl.md", "exec"), names)
    assert names["selector"].ratio_ <= names["selector"].bound_ * (1 + 1e-4)
    assert [point.names for point in names["path"]] == [("x2",), ("x0", "x1")]


def test_the_guide_to_l1kr_runs():
    names: dict = {}
    for block in python_blocks(ROOT / "docs" / "guide" / "l1kr.md"):
        exec(compile(block, "l1kr.md", "exec"), names)
    model, data = names["model"], names["data"]
    assert set(np.argsort(-model.weights_)[:2].tolist()) == set(np.asarray(data.relevant).tolist())
    held = set(np.flatnonzero(names["point"].support).tolist())
    assert len(held) == 3
    assert held >= set(np.asarray(data.relevant).tolist())
    assert names["screened"].score(names["wide"].X, names["wide"].y) > 0.8


@pytest.mark.slow
def test_the_tutorial_runs_and_says_what_it_prints(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for block in python_blocks(ROOT / "docs" / "guide" / "how_many_features.md"):
        code = compile(block.replace('baselines=("f_test", "forest")', ""), "guide", "exec")
        exec(code, names)
    model, page = names["model"], (ROOT / "docs" / "guide" / "how_many_features.md").read_text()
    # Other versions of the libraries may move a prediction or two.
    near = {"abs": 0.02}
    shown = dict(re.findall(r"# (OperatingPoint|NestedScore)\(.*?accuracy (0\.\d+)", page))
    assert float(shown["OperatingPoint"]) == pytest.approx(model.operating_point_.score, **near)
    assert float(shown["NestedScore"]) == pytest.approx(names["honest"].nested_score_.mean, **near)
    for rule, options in {
        "best": {},
        "tolerance": {"tolerance": 0.02},
        "budget": {"budget": 5},
    }.items():
        (score,) = re.findall(rf'\| `"{rule}"` .*features, (0\.\d+)', page)
        assert float(score) == pytest.approx(model.choose(rule, **options).score, **near)
    assert (names["again"].predict(names["X_test"]) == model.predict(names["X_test"])).all()


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_examples_run(file, capsys):
    runpy.run_path(str(file))
    assert capsys.readouterr().out


def test_api_page_is_that_of_the_docstrings():
    names = runpy.run_path(str(ROOT / "docs" / "make_api.py"))
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    assert page == names["page"](), "write it again with: make readme"
    listed = {name for group in names["GROUPS"].values() for name in group}
    assert listed == set(kp.__all__) - {"__version__", "datasets"}


def test_links_of_the_pages_lead_somewhere():
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    for page in pages:
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / link).exists(), f"{page.name}: {link}"
