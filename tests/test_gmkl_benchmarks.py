"""The GMKL benchmarks run on tiny problems, and their reference loops are what they claim to be."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest

import kernelpath as kp
from kernelpath.mkl.losses import Hinge
from kernelpath.mkl.solvers.base import CONVERGED, MOST_SCALES
from kernelpath.mkl.solvers.spg import pgd, spg
from kernelpath.mkl.svm.dual import solve_dual

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"


@pytest.fixture
def module(monkeypatch):
    """Import a script of the benchmarks; neither the path nor the modules stay."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(FOLDER / "papers"))
    monkeypatch.syspath_prepend(str(FOLDER))
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if str(FOLDER) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.fixture(scope="module")
def table():
    data = kp.datasets.make_ring(n_samples=50, n_features=3, random_state=0)
    return data.X, np.where(data.y > 0, 1.0, -1.0)


def test_svc_solves_the_same_machine(module, table):
    gmkl = module("gmkl")
    X, y = table
    K = gmkl.sum_problem(X, y).kernel.gram(np.ones(52))
    dual = Hinge(10.0).dual(y)
    own, theirs = (one(K, dual, tol=1e-6) for one in (solve_dual, gmkl.svc_dual))
    assert theirs.dual == pytest.approx(own.dual, rel=1e-5)
    assert theirs.primal == pytest.approx(own.primal, rel=1e-4)
    np.testing.assert_allclose(theirs.scores, own.scores, atol=1e-3)


def test_svc_inside_is_used_and_finds_the_same_optimum(module, table):
    gmkl = module("gmkl")
    problem = gmkl.sum_problem(*table)
    plain = spg(problem, tol=1e-2)
    with gmkl.svc_inside() as used:
        found = spg(problem, tol=1e-2)
    assert found.n_svm <= used.call_count <= found.n_svm + MOST_SCALES  # to find a start
    assert found.objective == pytest.approx(plain.objective, rel=2e-2)
    assert spg(problem, tol=1e-2).n_svm == plain.n_svm  # nothing stays patched


def test_rows_of_the_counts(module, table, monkeypatch, tmp_path):
    gmkl = module("gmkl")
    for home in (gmkl, module("common")):
        monkeypatch.setattr(home, "OUT", tmp_path)
    monkeypatch.setattr(gmkl, "rows_of", lambda name: None if name == "wdbc" else table)
    monkeypatch.setattr(gmkl, "REPEATS", 1)
    monkeypatch.setattr(gmkl, "SVC_ITERATIONS", 20)
    monkeypatch.setattr(sys, "argv", ["gmkl.py"])
    gmkl.main()
    content = json.loads((tmp_path / "gmkl.json").read_text())
    assert len(content["rows"]) == 2 * 5 + 2
    assert any("wdbc" in note for note in content["notes"])
    gaps = [row for row in content["rows"] if "certified" in row["what"]]
    assert all(row["met"] for row in gaps)


@pytest.mark.parametrize("kind", ["sum", "product"])
def test_descend_without_components_is_pgd(module, table, kind):
    runs = module("gmkl_runs")
    X, y = table
    problem = runs.make_problem(runs.make_kernel(kind, X), y, 1.33)
    found = runs.descend(problem, spectral=False, averaged=False, tol=1e-2)
    known = pgd(problem, tol=1e-2)
    assert found.status == known.status == CONVERGED
    assert found.n_svm == known.n_svm
    np.testing.assert_allclose(found.weights, known.weights, rtol=1e-9)


@pytest.mark.parametrize(("spectral", "averaged"), [(False, True), (True, False), (True, True)])
def test_components_reach_the_certified_gap(module, table, spectral, averaged):
    runs = module("gmkl_runs")
    X, y = table
    problem = runs.make_problem(runs.make_kernel("sum", X), y, 2.0)
    found = runs.descend(problem, spectral=spectral, averaged=averaged, tol=1e-3)
    assert found.status == CONVERGED
    assert found.gap <= 1e-3
    cut = runs.descend(problem, spectral=spectral, averaged=averaged, tol=0.0, seconds=0.0)
    assert cut.status != CONVERGED
    assert cut.n_svm < 200


def test_page_of_tiny_runs(module, table, monkeypatch, tmp_path):
    runs, page, settings = module("gmkl_runs"), module("gmkl_page"), module("gmkl_settings")
    madelon = module("gmkl_madelon")
    monkeypatch.setattr(runs, "load", lambda name: table)
    cases = [
        settings.Case(2, "liver", "sum", 1.33).quick(),
        settings.Case(4, "sonar", "sum", 1.0).quick(),
        settings.Case(7, "sonar", "sum", 1.1, settings.ALL).quick(),
        settings.Case(9, "sonar", "product", 1.0).quick(),
    ]
    versions = {"numpy": "0"}
    for case in cases:
        part = runs.run(case, 0)
        assert part["n_kernels"] == (3 if case.kind == "product" else 52)
        stored = {"settings": case.describe(), "parts": [part], "versions": versions, "date": "d"}
        (tmp_path / f"{case.key}.json").write_text(json.dumps(stored))
    file = tmp_path / "page.md"
    assert page.write_page(file, tmp_path, cases, madelon.Plan())
    text = file.read_text()
    for title in ("Table 2", "Table 4", "Table 7", "Table 9", "What reproduces"):
        assert title in text
    assert "nan" not in text
    widths = {}
    for block in text.split("\n\n"):
        lines = [line for line in block.splitlines() if line.startswith("|")]
        widths |= {line: line.count("|") == lines[0].count("|") for line in lines}
    assert widths
    assert all(widths.values())


def test_competitors_from_one_list_and_from_the_table_agree(module, table):
    competitors = module("gmkl_competitors")
    X, y = table
    parts = competitors.simple_mkl_parts(X[:40])
    split = competitors.Split(X[:40], y[:40], X[40:], y[40:], parts)
    train, new = split.grams()
    assert np.mean([K.trace() for K in train]) == pytest.approx(40)
    given = competitors.ours(train, split.y, new, competitors.L1())
    direct = competitors.ours_from_table(split)
    assert given.shape == direct.shape == (10,)
    assert (given == direct).mean() >= 0.8  # centring changes the scale of each kernel


def test_our_ridge_explains_a_sum_of_kernels(module):
    competitors = module("gmkl_competitors")
    rng = np.random.default_rng(0)
    blocks = [rng.normal(size=(60, 4)) for _ in range(3)]
    Y = np.column_stack([blocks[0] @ rng.normal(size=4), blocks[0] @ rng.normal(size=4)])
    Ks = np.array([X @ X.T / 4 for X in blocks])
    folds = competitors.KFold(3)
    found = competitors.our_ridge(Ks[:, :45, :45], Y[:45], Ks[:, 45:, :45], folds)
    assert competitors.r2(Y[45:], found) > 0.95
