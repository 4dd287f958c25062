"""Who sees to it that every choice of a cross-validation obeys the constraints of the user.

Selectors that have the settings get them.  Rankings are put in order by PathCV: what must be in
comes first, and a group has the best score of its columns.  Other selectors are refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from kernelpath.errors import DataError, naming
from kernelpath.tables.constraints import SETTINGS, Constraints
from kernelpath.tracers.any_selector import ChoicesBySize, describe
from kernelpath.utils.warn import warn


def settings_in_force(model: Any, selector: Any) -> dict[str, Any]:
    """Constraints of PathCV and, where it has none, those of its selector."""
    last = _last(selector)
    found = {}
    for name in SETTINGS:
        own, its = getattr(model, name), _its_own(last, name)
        if own is not None and its is not None:
            raise ValueError(f"{name} is set in PathCV and in its selector; leave out one of them")
        found[name] = its if own is None else own
    return found


def already_told(selector: Any) -> dict[str, None]:
    """Settings of PathCV that a selector has been told of, to be set to None."""
    return {name: None for name in SETTINGS if _its_own(_last(selector), name) is not None}


def tell(selector: Any, given: dict[str, Any], reach: Constraints | None) -> tuple[Any, bool]:
    """The selector, told of the constraints, and whether it obeys them itself.

    ``given`` are the constraints as settings, and ``reach`` what they mean within the budget.

    Raises
    ------
    DataError
        If it can neither be told nor be put in order as a ranking.
    """
    if reach is None:
        return selector, True
    last = _last(selector)
    takes = _settings(last)
    untold = [n for n in SETTINGS[:2] if given[n] is not None and n not in takes]
    own_path = hasattr(last, "fit") and getattr(last, "reads_tables", False)
    ranks = not own_path or getattr(last, "is_ranking", False)
    if untold and not ranks:
        error = DataError(
            f"{describe(selector)} has no {untold[0]}, and its path is no ranking that could be "
            "put in order; leave it out, or take another selector, such as LpKTASelector()."
        )
        raise naming(error, *untold)
    new = _news(last, given, reach)
    if last is not selector:
        new = _through_pipeline(selector, new, reach)
    told = clone(selector).set_params(**new) if new else selector
    return told, not untold and not ranks


def _news(last: Any, given: dict[str, Any], reach: Constraints) -> dict[str, Any]:
    """Settings that a selector has, was not given itself, and is to be told."""
    takes = [name for name in _settings(last) if name in given]
    new = {n: given[n] for n in takes if given[n] is not None and _its_own(last, n) is None}
    if "costs" in takes and not reach.reachable.all():
        new["costs"] = reach.costs
    return new


def _through_pipeline(selector: Any, new: dict[str, Any], reach: Constraints) -> dict[str, Any]:
    """The same for the last step of a pipeline, on whose way names of columns may be lost."""
    values = {
        "must_include": np.flatnonzero(reach.kept).tolist(),
        "feature_groups": reach.unit.tolist(),
        "costs": reach.costs,
    }
    step = selector.steps[-1][0]
    return {f"{step}__{name}": values[name] for name in new}


def say_if_costs_only_count(
    selector: Any, constraints: Constraints | None, traced: ChoicesBySize
) -> None:
    """Warn where costs are counted and change nothing else."""
    if constraints is None or constraints.costs is None or "costs" in _settings(_last(selector)):
        return
    if traced.importance is not None and constraints.divides(traced.importance):
        return
    text = (
        f"The order of features by {describe(selector)} does not depend on costs: they are only "
        "counted."
    )
    warn(naming(UserWarning(text), "costs"))


def full_costs(
    constraints: Constraints | None, traced: ChoicesBySize, sizes: NDArray[np.int64]
) -> NDArray[np.float64] | None:
    """What the features of every size cost on a path; None without costs."""
    if constraints is None or constraints.costs is None:
        return None
    return np.array([constraints.cost(traced.at(int(k)).columns) for k in sizes])


def sizes_that_exist(
    sizes: NDArray[np.int64], traced: ChoicesBySize, constraints: Constraints | None
) -> NDArray[np.int64]:
    """Sizes that were asked for, or the next smaller ones where some columns go together."""
    lacking = np.setdiff1d(sizes, traced.sizes)
    if constraints is None or len(lacking) == 0:
        return sizes
    taken = [traced.nearest(int(k)) or int(traced.sizes[0]) for k in lacking]
    text = (
        f"There are no choices of exactly {_listed(lacking)} features, since some are always in or "
        f"go together; {_listed(np.unique(taken))} are taken instead."
    )
    warn(naming(UserWarning(text), "n_features"))
    return np.unique(np.concatenate([np.intersect1d(sizes, traced.sizes), taken]))


def _listed(sizes: NDArray[np.int64]) -> str:
    shown = [f"{k:,}" for k in sizes[:5].tolist()] + (["..."] if len(sizes) > 5 else [])
    return ", ".join(shown[:-1]) + " and " * (len(shown) > 1) + shown[-1]


def _last(selector: Any) -> Any:
    return selector.steps[-1][1] if hasattr(selector, "steps") else selector


def _settings(selector: Any) -> dict[str, Any]:
    return selector.get_params(deep=False) if hasattr(selector, "get_params") else {}


def _its_own(selector: Any, name: str) -> Any:
    """A constraint that the selector was given."""
    known = _settings(selector)
    own = known.get(name)
    return known.get("groups") if own is None and name == "feature_groups" else own
