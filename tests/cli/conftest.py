"""A table file that each test may read."""

import pytest

from cli.helpers import FOLDS, done, make_frame, save_csv
from kernelpath.predictors import trees
from kernelpath.utils import progress


@pytest.fixture(scope="package", autouse=True)
def few_trees():
    """Boosting beside the curve stays, but takes no longer than the curve."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trees, "N_TREES", 20)
        yield


@pytest.fixture(autouse=True)
def no_log(monkeypatch):
    """No lines that depend on the time that a step takes, or on what is compiled already."""
    monkeypatch.setattr(progress, "LogLines", lambda stream: progress.Silent())


@pytest.fixture(scope="session")
def frame():
    return make_frame()


@pytest.fixture(scope="session")
def table(tmp_path_factory, frame):
    return save_csv(tmp_path_factory.mktemp("tables"), frame)


@pytest.fixture(scope="session")
def scored(tmp_path_factory, table):
    """Run folder with scores and a model; tests only read it."""
    out = tmp_path_factory.mktemp("runs") / "scored"
    done("path", table, "-t", "outcome", *FOLDS, "-k", 2, "--proba", "-o", out)
    return out


@pytest.fixture(scope="session")
def plain(tmp_path_factory, table):
    """Run folder of a path without scores."""
    out = tmp_path_factory.mktemp("runs") / "plain"
    done("path", table, "-t", "outcome", "-k", 3, "-o", out)
    return out
