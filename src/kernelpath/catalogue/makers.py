"""Who makes the selector of a method.

Imports are inside: the names of the methods alone must not cost the time of loading everything.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kernelpath.catalogue.entry import CLASSES

N_STRENGTHS = 50  # points of a path of its own; a ranking makes do with fewer


def lp_kta(task: str, sizes: Any, **settings: Any) -> Any:
    """Path of lp-KTA."""
    from kernelpath.estimators.lp_kta import LpKTASelector

    return LpKTASelector(task=task, **settings)


def additive(task: str, sizes: Any, **settings: Any) -> Any:
    """Path of an additive model."""
    from kernelpath.estimators.additive import AdditivePathSelector

    return AdditivePathSelector(task=task, **settings)


def gmkl(task: str, sizes: Any, *, kernel: str = "auto", **settings: Any) -> Any:
    """Path of GMKL with a sum of kernels."""
    return _gmkl_kind(task)(base_kernel=kernel, strengths=N_STRENGTHS, **settings)


def gmkl_product(task: str, sizes: Any, **settings: Any) -> Any:
    """Path of GMKL with a product of kernels."""
    return _gmkl_kind(task)("product", strengths=N_STRENGTHS, **settings)


def _gmkl_kind(task: str) -> Any:
    from kernelpath.estimators.gmkl import GMKLClassifier, GMKLRegressor

    return GMKLClassifier if task == CLASSES else GMKLRegressor


def nmmkl(task: str, sizes: Any, *, kernel: str = "auto", **settings: Any) -> Any:
    """NMMKL with a budget for every size."""
    from kernelpath.estimators.nmmkl import NMMKLSelector

    budgets = None if sizes is None else list(sizes)
    return NMMKLSelector(budgets, kernel=kernel, task=task, **settings)


def nmmkl_compared(task: str, sizes: Any, *, kernel: str = "auto") -> Any:
    """The same, as a comparison takes it."""
    from kernelpath.estimators.rankers import BudgetChoices

    return BudgetChoices(list(sizes), kernel, task)


def joint(task: str, sizes: Any, **settings: Any) -> Any:
    """Path of features that are judged together."""
    from kernelpath.estimators.joint import JointPathSelector

    return JointPathSelector(task=task, **settings)


def l1kr(task: str, sizes: Any) -> Any:
    """Path of L1KR."""
    from kernelpath.estimators.l1kr import L1KRClassifier, L1KRRegressor
    from kernelpath.estimators.rankers import L1KR_BUDGETS

    kind = L1KRClassifier if task == CLASSES else L1KRRegressor
    return kind(norm_budget=L1KR_BUDGETS, search_branches=False)


def hkl(task: str, sizes: Any, **settings: Any) -> Any:
    """Path of HKL."""
    from kernelpath.baselines.hkl import HKL

    return HKL("all" if sizes is None else list(sizes), task=task, **settings)


def ranker(name: str) -> Callable[..., Any]:
    """A ranking by its name."""

    def make(task: str, sizes: Any, *, seed: int = 0, **settings: Any) -> Any:
        from kernelpath.estimators.rankers import Ranker

        return Ranker(name, task, seed)

    return make


def baseline(cls: str, takes_task: bool = False) -> Callable[..., Any]:
    """A class of the baselines."""

    def make(task: str, sizes: Any, **settings: Any) -> Any:
        from kernelpath import baselines

        more = {"task": task} if takes_task else {}
        return getattr(baselines, cls)("all" if sizes is None else list(sizes), **settings, **more)

    return make


def adapter(cls: str) -> Callable[..., Any]:
    """An adapter of another package."""

    def make(task: str, sizes: Any) -> Any:
        from kernelpath.baselines import adapters

        return getattr(adapters, cls)("all" if sizes is None else list(sizes), task=task)

    return make


def own_path(cls: str) -> Callable[..., Any]:
    """A baseline with a path of its own, which ends soon after the largest size."""

    def make(task: str, sizes: Any, **settings: Any) -> Any:
        from kernelpath import baselines

        return getattr(baselines, cls)(
            max_features=None if sizes is None else max(sizes), **settings
        )

    return make
