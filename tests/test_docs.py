"""Code in README, guides and examples runs as printed."""

from __future__ import annotations

import ast
import re
import runpy
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

import kernelpath as kp
from kernelpath.errors import ReadingWarning
from kernelpath.kernels import _formulas

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def python_blocks(file: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", file.read_text(encoding="utf-8"), flags=re.S)


def run_blocks(file: Path, blocks: list[str], smaller: tuple[tuple[str, str], ...]) -> dict:
    """Run code in one namespace; pairs of text, old and new, make the work in it smaller."""
    names: dict = {"__file__": str(file)}
    for old, new in smaller:
        assert any(old in block for block in blocks), f"{file.name} does not say {old}"
        blocks = [block.replace(old, new) for block in blocks]
    for block in blocks:
        exec(compile(block, file.name, "exec", dont_inherit=True), names)
    return names


def run_page(file: Path, *smaller: tuple[str, str]) -> dict:
    return run_blocks(file, python_blocks(file), smaller)


GUIDE = ROOT / "docs" / "guide"
ONE = "predictor=kp.JointRBFSVM(gamma=1.0, C=10.0)"  # nothing to tune


@pytest.fixture(autouse=True)
def no_screen():
    matplotlib.use("Agg")
    yield
    plt.close("all")


def test_readme_example_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # The whole curve, with two more rankings, takes minutes.
    names = run_page(
        ROOT / "README.md",
        ("n_features=2000", "n_features=300"),
        ("cv=5", "cv=2, n_features=[1, 3, 5]"),
        ('baselines=("f_test", "forest")', ""),
    )
    assert names["X_small"].shape == (500, 12)
    assert len(names["path"].at(n_features=3).names) == 3
    assert names["kp"].load_path("path.kpath") == names["path"]
    again = names["kp"].load_model("model.kpmodel")
    assert again.operating_point_ == names["model"].operating_point_


def test_the_guide_to_the_report_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = run_page(
        GUIDE / "report.md",
        ("n_samples=300, n_features=400", "n_samples=120, n_features=40"),
        ("cv=3, n_features=[1, 2, 5, 10, 20, 50]", "cv=2, n_features=[2, 5, 10]"),
    )
    assert "features reach" in names["summary"]["headline"]
    assert "<title>Simulated table</title>" in (tmp_path / "report.html").read_text("utf-8")
    assert (tmp_path / "stability.png").stat().st_size > 10_000


def test_the_guide_to_path_cv_runs(capsys):
    run_page(GUIDE / "path_cv.md", ("cv=5", "cv=3, n_features=[1, 2, 4]"))
    said = capsys.readouterr().out
    assert said.startswith("logistic 0.")
    assert "perfect Column 'bill' alone reaches" in said


def test_the_guide_to_comparisons_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = run_page(
        GUIDE / "compare.md",
        ("cv=5, n_features=[1, 2, 4, 8]", f"cv=3, n_features=[1, 2], {ONE}"),
        ("cv=3, n_features=[1, 2, 4]", "cv=2, n_features=[1, 2]"),
        ("NMMKLSelector([1, 2, 4]", "NMMKLSelector([1, 2]"),
    )
    row = names["found"].differences("f-test", n_features=2).iloc[0]
    assert (row["method"], row["difference"] > 0) == ("lp-kta", True)
    assert list(names["more"].scores) == list(names["methods"])
    assert (tmp_path / "comparison.html").stat().st_size > 100_000


def test_the_guide_to_stability_runs():
    names = run_page(
        GUIDE / "stability.md",
        ('predictor="joint_rbf")', f"{ONE}, references=False)"),
    )
    relevant = set(names["data"].relevant.tolist())
    assert set(names["stability"].stable_.features.tolist()) == relevant
    page = (GUIDE / "stability.md").read_text(encoding="utf-8")
    shown = shown_values("\n".join(python_blocks(GUIDE / "stability.md")))
    assert f"{names['stability'].stable_!r}".split(", threshold")[0] in page
    bound = "stability.bound(threshold=0.9, n_features=20)"
    assert eval(bound, names) == pytest.approx(float(shown[bound]))
    assert names["model"].operating_point_.n_features == 2
    assert str(names["stability"].probabilities_.shape) in page
    found = names["found"]
    assert found.selected[names["relevant"]].mean() > 0.8
    assert len(found) <= len(names["relevant"]) / (1 - 0.3)
    # The knockoffs are exchangeable with the columns as far as covariances go.
    joint = np.cov(np.hstack([names["X"], names["X_knockoff"]]).T)
    np.testing.assert_allclose(joint[:60, :60], joint[60:, 60:], atol=0.25)
    np.testing.assert_allclose(joint[0, 1:60], joint[0, 61:], atol=0.2)


def test_the_choice_of_a_method_runs():
    names = run_page(
        GUIDE / "which_method.md",
        ("n_samples=150", "n_samples=100"),
        ('predictor="joint_rbf"', ONE),
    )
    scores = names["found"].scores
    assert scores["joint"].mean[0] > scores["lp-kta"].mean[0] + 0.1


def test_the_guide_to_tests_runs_and_shows_what_it_finds():
    page = GUIDE / "inference.md"
    names = run_page(page)
    shown = shown_values("\n".join(python_blocks(page)))
    values = {code: value for code, value in shown.items() if "to_frame" not in code}
    assert len(values) == 9
    for code, value in values.items():
        assert str(eval(code, names)) == value, code
    assert names["axes"].get_xlabel().startswith("expected")
    assert names["refined"].log_p[0] == names["test"].log_p[0]  # far from the threshold


def test_the_guide_to_rare_classes_runs():
    with pytest.warns(UserWarning, match="scores are balanced accuracy"):
        names = run_page(
            GUIDE / "rare_classes.md", ("1500", "600"), ("cv=3", "cv=2, references=False")
        )
    assert names["model"].scores_.scoring == "balanced_accuracy"
    assert names["ranked"].scores_.scoring == "roc_auc"


def test_the_guide_to_several_targets_runs():
    names = run_page(
        GUIDE / "targets.md",
        ("RandomForestRegressor(100", "RandomForestRegressor(20"),
        ("[1, 2, 4, 8], cv=3", "[1, 2, 4], cv=2"),
    )
    assert set(names["selector"].get_feature_names_out()) == {"x1", "x4", "x7"}
    assert set(names["model"].operating_point_.feature_names) >= {"x1", "x4"}
    assert set(names["path"].at(n_features=2).names) == {"x2", "x9"}
    assert names["survival"].scores_.mean.max() > 0.65


def test_the_guide_to_models_behind_a_selector_runs():
    """With stand-ins where a package is absent."""
    names = run_page(GUIDE / "in_front_of.md", ("cv=3", "cv=2"), ("[3, 6, 12]", "[6, 12]"))
    assert names["scores"].mean() > 0.7
    assert names["small"].shape == (300, names["model"].operating_point_.n_features)


def test_every_page_stands_in_the_list():
    docs = ROOT / "docs"
    listed = re.findall(r"\]\(([^)#:]+\.md)\)", (docs / "README.md").read_text(encoding="utf-8"))
    pages = {str(page.relative_to(docs)) for page in docs.rglob("*.md")} - {"README.md"}
    assert {link for link in listed if link != "../README.md"} == pages
    assert len(listed) == len(set(listed))


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
    assert len(blocks) == 6
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
    names = run_page(
        GUIDE / "gmkl.md",
        ("strengths=15", "strengths=8"),
        ("strengths=8), cv=3", "strengths=4), cv=2, n_features=[1, 2]"),
        ("data.X[:, :8], data.y)", "data.X[:100, :8], data.y[:100])"),
    )
    assert names["path"].gaps.max() <= 1e-3
    assert names["cv"].operating_point_.n_features >= 1


def test_the_guide_to_the_additive_path_runs_and_shows_what_it_finds():
    page = GUIDE / "additive.md"
    names = run_page(page)
    shown = shown_values(python_blocks(page)[0])
    assert len(shown) == 2
    for code, value in shown.items():
        assert repr(eval(code, names)) == value
    assert names["path"].gaps.max() <= 1e-6
    assert names["path"].at(n_features=25).note.startswith("beyond the path: ")
    assert names["model"].operating_point_.n_features >= 2


def test_the_guide_to_nmmkl_runs():
    names = run_page(GUIDE / "nmmkl.md")
    assert names["selector"].ratio_ <= names["selector"].bound_ * (1 + 1e-4)
    assert [point.names for point in names["path"]] == [("x2",), ("x0", "x1")]


def test_the_guide_to_the_joint_path_runs():
    names = run_page(GUIDE / "joint.md", ('predictor="joint_rbf"', ONE))
    assert names["selector"].get_support(indices=True).tolist() == names["data"].relevant.tolist()
    assert names["selector"].loo_loss_ < 0.4
    assert names["model"].operating_point_.n_features == 2


def shown_values(block: str) -> dict[str, str]:
    """Expressions of one line with the value that a comment behind them shows."""
    lines = re.findall(r"^(\S.*?)  +# (.+)$", block, flags=re.M)
    return {code: shown for code, shown in lines if isinstance(ast.parse(code).body[0], ast.Expr)}


def test_the_guide_to_constraints_runs_and_shows_what_it_finds():
    page = GUIDE / "constraints.md"
    names = run_page(page)
    shown = shown_values("\n".join(python_blocks(page)))
    assert len(shown) == 5
    for code, value in shown.items():  # at the end of the page, all of them
        assert str(eval(code, names)) == value, code
    with pytest.raises(kp.DataError) as error:
        names["model"].path_.at(n_features=3)
    assert str(error.value) in page.read_text(encoding="utf-8")


def test_the_guide_to_any_table_runs(capsys):
    with pytest.warns(ReadingWarning, match="left out as identifiers.*'name'"):
        names = run_page(GUIDE / "any_table.md")
    chosen, predicted = capsys.readouterr().out.splitlines()
    assert chosen == str(names["model"].operating_point_.feature_names)
    assert predicted.count("True") + predicted.count("False") == 3


def test_the_guide_to_l1kr_runs():
    names = run_page(
        GUIDE / "l1kr.md",
        ("n_samples=200", "n_samples=120"),
        ("search_branches=False), cv=3", f"search_branches=False), n_features=[1, 2], cv=2, {ONE}"),
        ("search.fit(data.X, data.y)", "search.fit(data.X[:80], data.y[:80])"),
    )
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
    near = {"abs": 0.006}
    shown = dict(re.findall(r"# (OperatingPoint|NestedScore)\(.*?accuracy (0\.\d+)", page))
    assert float(shown["OperatingPoint"]) == pytest.approx(model.operating_point_.score, **near)
    assert float(shown["NestedScore"]) == pytest.approx(names["honest"].nested_score_.mean, **near)
    given = {"tolerance": {"tolerance": 0.02}, "budget": {"budget": 5}}
    for rule in ("best", "one_se", "tolerance", "budget", "stable"):
        (score,) = re.findall(rf'\| `"{rule}"` .*features, (0\.\d+)', page)
        point = model.choose(rule, **given.get(rule, {}))
        assert float(score) == pytest.approx(point.score, **near)
    (score,) = re.findall(r"\)\n# (0\.\d+)\n", page)
    assert float(score) == pytest.approx(model.score(names["X_test"], names["y_test"]), abs=0.012)
    index = model.stability_.to_frame().set_index("n_features")["index"]
    said = re.search(r"it is (\d\.\d+) for one feature, (\d\.\d+) for five and between (\S+)", page)
    assert said is not None
    found = [index[1], index[5], index.loc[5:26].min()]
    assert [float(value) for value in said.groups()] == pytest.approx(found, abs=0.1)
    assert (names["again"].predict(names["X_test"]) == model.predict(names["X_test"])).all()


SMALLER = {
    "plot_how_many_features": (
        ('("f_test", "forest")', '("f_test",), cv=3'),
        ("[1, 2, 3, 5, 8, 12, 20, 30]", "[1, 2, 5, 30]"),
    ),
    "plot_optimism": (("range(6)", "range(2)"), ("(60, 60)", "(60, 12)")),
}


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_examples_run(file, capsys):
    run_blocks(file, [file.read_text(encoding="utf-8")], SMALLER.get(file.stem, ()))
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


def test_the_guide_to_the_choice_of_a_path_runs_and_shows_what_it_finds():
    names = run_page(GUIDE / "auto.md")
    assert names["selector"].chosen_ == "interaction"
    assert names["model"].operating_point_.n_features == 2
    assert names["model"].contest_.name == "interaction"
