"""The comparison with another commit: what it calls slower, and that nothing of it stays."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"
TREES = {"base": Path("old"), "head": Path("new")}


@pytest.fixture
def against(monkeypatch):
    """The script as a module; neither the path nor the modules stay."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(FOLDER))
    yield importlib.import_module("against")
    for name in set(sys.modules) - before:
        if str(FOLDER) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def fake(monkeypatch, against, seconds):
    """Measurements that are given, and the trees in the order in which they had their turn."""
    left, turns = {side: list(own) for side, own in seconds.items()}, []

    def run(name, tree):
        side = next(side for side, own in TREES.items() if own == tree)
        turns.append(side)
        value = left[side].pop(0)
        return value if isinstance(value, dict) else {"seconds": value, "work": ""}

    monkeypatch.setattr(against, "run", run)
    return turns


def test_trees_take_turns_and_noise_is_not_slower(monkeypatch, against):
    seconds = {"base": [1.0, 1.0, 1.0, 1.0], "head": [1.2, 1.0, 0.9, 1.2]}
    turns = fake(monkeypatch, against, seconds)
    row, slower = against.compare("l1kr", TREES, 4)
    assert not slower
    assert "| no |" in row
    assert turns == ["base", "head", "head", "base", "base", "head", "head", "base"]


def test_three_of_four_pairs_are_slower(monkeypatch, against):
    fake(monkeypatch, against, {"base": [1.0, 2.0, 1.0, 1.0], "head": [1.1, 2.2, 1.1, 1.08]})
    row, slower = against.compare("l1kr", TREES, 2)
    assert slower
    assert "1.100" in row
    assert row.count("|") == against.HEADER.count("|")


def test_what_seems_slower_at_first_has_a_second_chance(monkeypatch, against):
    turns = fake(monkeypatch, against, {"base": [1.0] * 4, "head": [1.2, 1.2, 1.0, 1.0]})
    assert not against.compare("l1kr", TREES, 2)[1]
    assert len(turns) == 8


@pytest.mark.parametrize(("side", "worse"), [("base", False), ("head", True)])
def test_a_job_that_fails_is_named(monkeypatch, against, side, worse):
    error = {"error": "AttributeError: no such thing"}
    fake(monkeypatch, against, {"base": [1.0], "head": [1.0]} | {side: [error]})
    row, slower = against.compare("l1kr", TREES, 1)
    assert slower is worse
    assert f"fails at {side}: AttributeError" in row


def test_the_work_tree_is_removed_after_an_error(against):
    if subprocess.run(["git", "-C", str(FOLDER), "rev-parse", "HEAD"]).returncode:
        pytest.skip("not a clone")
    seen = []

    def stop():
        with against.checked_out("HEAD") as tree:
            seen.append((tree, (tree / "src" / "kernelpath").is_dir()))
            raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        stop()
    [(tree, there)] = seen
    command = ["git", "-C", str(FOLDER), "worktree", "list", "--porcelain"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert there
    assert not tree.exists()
    assert str(tree) not in listed
