"""The methods that the command line knows, in one place."""

from __future__ import annotations

from typing import NamedTuple


class MethodEntry(NamedTuple):
    """A method, as ``kernelpath methods`` shows it."""

    name: str
    kind: str  # "path", "ranking", or "choice": one for each size, which need not be nested
    line: str
    guide: str  # page of docs/guide


METHODS: dict[str, MethodEntry] = {
    entry.name: entry
    for entry in (
        MethodEntry(
            "lp-kta",
            "path",
            "generalized lp kernel-target alignment: non-linear effects, one feature at a time",
            "lp_kta",
        ),
        MethodEntry(
            "gmkl",
            "ranking",
            "order of entry on the l1 path of a machine that learns a sum of kernels",
            "gmkl",
        ),
        MethodEntry(
            "nmmkl",
            "choice",
            "non-monotonic multiple kernel learning: the best features for each size of its own",
            "nmmkl",
        ),
        MethodEntry(
            "l1kr",
            "ranking",
            "weights inside one kernel of all features, at the best point of their l1 path",
            "l1kr",
        ),
        MethodEntry(
            "f-test",
            "ranking",
            "F statistic of each feature: linear effects, or differences between class means",
            "command_line",
        ),
        MethodEntry(
            "forest", "ranking", "impurity importance in a random forest of trees", "command_line"
        ),
        MethodEntry(
            "mutual-info",
            "ranking",
            "mutual information of each feature with the target, by nearest neighbours",
            "command_line",
        ),
    )
}
BASELINES = ("f_test", "forest")
"""Rankings that ``path --baselines`` takes, as PathCV calls them."""
