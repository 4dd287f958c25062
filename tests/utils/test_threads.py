"""Small problems take one thread for matrix products, whatever the machine has."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import kernelpath as kp
from kernelpath.estimators import additive, gmkl, l1kr, nmmkl
from kernelpath.utils.threads import one_thread_up_to


def most_threads():
    np.ones((2, 2)) @ np.ones((2, 2))
    return max(one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas")


@pytest.fixture(autouse=True)
def two_threads():
    with threadpool_limits(2, user_api="blas"):
        if most_threads() < 2:
            pytest.skip("these libraries have one thread")
        yield


def test_few_rows_one_thread_and_many_as_they_were():
    with one_thread_up_to(100, n_rows=100):
        assert most_threads() == 1
    with one_thread_up_to(100, n_rows=101):
        assert most_threads() == 2
    assert most_threads() == 2


@pytest.mark.parametrize(
    ("module", "name", "model"),
    [
        (l1kr, "trace_l1kr", kp.L1KRRegressor(norm_budget=0.1)),
        (gmkl, "solve", kp.GMKLRegressor()),
        (nmmkl, "trace_budgets", kp.NMMKLSelector(2)),
        (additive, "Tracer", kp.AdditivePathSelector(2)),
    ],
)
@pytest.mark.parametrize("limit", [1000, 10])
def test_estimators_ask_for_it(monkeypatch, module, name, model, limit):
    seen = []
    real = getattr(module, name)

    def spy(*args, **kwargs):
        seen.append(most_threads())
        return real(*args, **kwargs)

    monkeypatch.setattr(module, name, spy)
    monkeypatch.setattr(module, "ONE_THREAD_ROWS", limit)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4))
    model.fit(X, X[:, 0] + 0.1 * rng.normal(size=40))
    assert set(seen) == {1 if limit >= 40 else 2}
