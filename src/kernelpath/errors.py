"""The errors a user can cause, each with a sentence that says what to do."""

import difflib
from collections.abc import Iterable

MOST_LISTED = 10


class KernelPathError(Exception):
    """Base of the errors that the package raises on purpose."""


class DataError(KernelPathError, ValueError):
    """The table or the target cannot be used as it is."""


class ExtensionError(KernelPathError, ValueError):
    """A kernel, divergence, regularizer or set of the user's own contradicts itself."""


class PathFileError(KernelPathError, ValueError):
    """A saved path is damaged, altered or of a newer format."""


class ConstantColumnWarning(UserWarning):
    """Some columns carry no information."""


class FewerFeaturesWarning(UserWarning):
    """Fewer features can be selected than were asked for."""


class NothingSelectedWarning(UserWarning):
    """No feature is above the level of chance."""


class SameColumnsWarning(UserWarning):
    """Of columns that explain the same, some were selected."""


def not_one_of(name: str, given: object, choices: Iterable[str], other: str = "") -> ValueError:
    """Error for an argument that is none of the ``choices``, nor what ``other`` says.

    Examples
    --------
    >>> print(not_one_of("x", "lok", ["log", "fraction"], "None"))
    x must be one of 'log', 'fraction' or None, got 'lok'; did you mean 'log'?
    """
    known = list(choices)
    wanted = ", ".join(map(repr, known[:MOST_LISTED])) + ", ..." * (len(known) > MOST_LISTED)
    wanted += f" or {other}" if other else ""
    near = (
        difflib.get_close_matches(given, known, n=1, cutoff=0.5) if isinstance(given, str) else []
    )
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return ValueError(f"{name} must be one of {wanted}, got {given!r}{hint}")
