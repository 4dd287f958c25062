"""Every method that is known by a name, one entry each: what it is, what it takes, who makes it.

The commands ``path``, ``compare`` and ``methods``, :func:`kernelpath.compare` and
:func:`kernelpath.methods` read this table; a method that is added here is in all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kernelpath.catalogue.entries import ENTRIES
from kernelpath.catalogue.entry import CLASSES, NUMBERS, Method
from kernelpath.errors import DataError, naming, not_one_of

if TYPE_CHECKING:
    import pandas as pd

    from kernelpath.tables.table import Table

__all__ = ["CLASSES", "METHODS", "NUMBERS", "Method", "method", "methods"]

MOST_BUDGETS = 60  # features; every budget of NMMKL is a problem of its own, in every fold
ALL_BUDGETS_UP_TO = 500  # columns; beyond, a ranking is cut at a growing grid of sizes
FIRST_BUDGETS = 10  # of a selector with budgets, where no sizes are asked for
BASELINES = ("f_test", "forest")
"""Rankings that baselines have always had, by these names."""


METHODS: dict[str, Method] = {entry.name: entry for entry in ENTRIES}
BASELINE_NAMES = (*BASELINES, *(n for n in METHODS if n.replace("-", "_") not in BASELINES))
"""What ``path --baselines`` takes, as ``PathCV(baselines=...)``."""


def method(name: str, setting: str = "method", other: str = "") -> Method:
    """Entry of a name; dashes and underscores are the same.

    ``setting`` is what holds the name, and ``other`` what else it may hold.

    Examples
    --------
    >>> method("F_test").name
    'f-test'
    """
    found = METHODS.get(_dashed(name))
    if found is None:
        raise not_one_of(setting, name, METHODS, other)
    return found


def refuse(
    entries: Sequence[Method],
    task: str,
    n_classes: int,
    n_rows: int,
    *,
    setting: str,
    table: Table | None = None,
) -> None:
    """Refuse methods that cannot use a table, before any work.

    Parameters
    ----------
    entries : sequence of Method
    task : {"classification", "regression"}
    n_classes, n_rows : int
    setting : str
        Where the methods were named.
    table : Table, optional
        Only needed where it may hold text.
    """
    for one in entries:
        why = one.why_not(task, n_classes, n_rows)
        if why is not None:
            text = f"{why[0]}; leave it out of {setting}, or {why[1]}."
            raise naming(DataError(text), setting, "task")
    numeric = [one.name for one in entries if one.refuses_text(compared=True)]
    if numeric and table is not None and table.categorical.any():
        text = table.sentence(table.categorical.nonzero()[0], "holds", "hold")
        error = DataError(
            f"{text} text, and {numeric[0]} takes numbers; leave {numeric[0]} out of {setting}, or "
            "encode text as numbers."
        )
        raise naming(error, setting)


def _dashed(name: str) -> str:
    return name.replace("_", "-").casefold()


def label(name: str) -> str:
    """What pages call a method; one without an entry keeps its name.

    Examples
    --------
    >>> label("svm_lw"), label("mine")
    ('SVM, largest weights', 'mine')
    """
    found = METHODS.get(_dashed(name))
    return name if found is None else found.label


def budgets(kind: Method, n_columns: int) -> list[int] | None:
    """Sizes of a path for which none are asked; None where the method needs none.

    Examples
    --------
    >>> budgets(METHODS["nmmkl"], 4), budgets(METHODS["fisher"], 4)
    ([1, 2, 3, 4], None)
    """
    from kernelpath.tracers.any_selector import size_grid

    if kind.kind == "choice":
        return size_grid(min(n_columns, MOST_BUDGETS)).tolist()
    return size_grid(n_columns).tolist() if n_columns > ALL_BUDGETS_UP_TO else None


def methods() -> pd.DataFrame:
    """All methods that are known by a name, as a table.

    The names are those of :func:`kernelpath.compare`, ``kernelpath path --method`` and ``kernelpath
    compare --methods``.

    Returns
    -------
    pandas.DataFrame
        One row per method, by its name.  ``kind``: ``"path"``, a path of its own with a
        certificate at every point; ``"choice"``, one for each size, which need not be nested;
        ``"ranking"``, one order of the features.  ``tasks``: classes, numbers or both.
        ``most_classes`` and ``most_rows``: what it takes at most.  ``text``: whether text columns
        get a kernel of their own, count as codes, or are refused.  ``weights_inside``: whether
        its weights are those inside one kernel of all features.  ``settings``: options of the
        command line that it takes.  ``needs``: a package that has to be installed for it.

    Examples
    --------
    >>> import kernelpath as kp
    >>> table = kp.methods()
    >>> table.loc["nmmkl", "kind"], table.index[:3].tolist()
    ('choice', ['lp-kta', 'additive', 'gmkl'])
    >>> table.index[table["tasks"] == "regression"].tolist()
    ['svr-lw', 'lasso-lw']
    """
    import pandas as pd

    rows = [entry.as_dict() for entry in METHODS.values()]
    frame = pd.DataFrame(rows).set_index("name").rename(columns={"line": "what"})
    for name in ("tasks", "settings"):
        frame[name] = frame[name].map(", ".join)
    for name in ("most_classes", "most_rows"):
        frame[name] = frame[name].astype("Int64")
    order = ["label", "kind", "what", "tasks", "most_classes", "most_rows", "text",
             "weights_inside", "settings", "needs", "paper", "guide"]  # fmt: skip
    return frame[order]
