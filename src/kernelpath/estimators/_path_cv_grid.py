"""Settings of the selector that PathCV chooses inside the folds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from kernelpath.errors import not_one_of
from kernelpath.estimators._base import PathSelector
from kernelpath.evaluation.study import Study
from kernelpath.tracers.any_selector import describe

MOST_VARIANTS = 200


def settings_of_grid(selector: Any, grid: Any) -> list[dict[str, Any]]:
    """Every combination of the values of a grid, in the order of its names and values.

    Examples
    --------
    >>> import kernelpath as kp
    >>> settings_of_grid(kp.LpKTASelector(), {"norm_strength": [0.1, 1.0]})
    [{'norm_strength': 0.1}, {'norm_strength': 1.0}]
    """
    if grid is None:
        return []
    if not isinstance(grid, Mapping) or not grid:
        raise ValueError(
            "selector_grid must be a dict of settings of the selector and the values to choose "
            f"from, such as {{'norm_strength': [0.1, 1.0]}}, got {grid!r}"
        )
    if not hasattr(selector, "get_params"):
        raise ValueError(
            f"selector_grid has no effect on {describe(selector)}, a function without settings; "
            "leave it out, or take a selector"
        )
    known = selector.get_params(deep=True)
    for name, values in grid.items():
        if name not in known:
            raise not_one_of(f"a setting of {describe(selector)}", name, sorted(known))
        if isinstance(values, str) or not isinstance(values, list | tuple | np.ndarray):
            raise ValueError(f"selector_grid must name a list of values for {name}, got {values!r}")
        if len(values) == 0:
            raise ValueError(f"selector_grid has no value for {name}; give one, or leave it out")
    found = list(ParameterGrid({name: list(values) for name, values in grid.items()}))
    if len(found) > MOST_VARIANTS:
        raise ValueError(
            f"selector_grid has {len(found):,} combinations, each of which is traced in every "
            f"inner fold; give {MOST_VARIANTS} at most"
        )
    return found


def with_variants(study: Study, settings: list[dict[str, Any]]) -> Study:
    """The study with a selector for each of some settings; with one there is nothing to choose."""
    if not settings:
        return study
    found = tuple(clone(study.selector).set_params(**one) for one in settings)
    for one in found:
        if isinstance(one, PathSelector):
            one._check_settings()
    return replace(study, selector=found[0], variants=found if len(found) > 1 else ())
