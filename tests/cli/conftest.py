"""A table file that each test may read."""

import pytest

from cli.helpers import make_frame, save_csv


@pytest.fixture(scope="session")
def frame():
    return make_frame()


@pytest.fixture(scope="session")
def table(tmp_path_factory, frame):
    return save_csv(tmp_path_factory.mktemp("tables"), frame)
