"""The errors a user can cause, each with a sentence that says what to do."""

import difflib
from collections.abc import Iterable
from typing import NamedTuple, TypeVar

MOST_LISTED = 10


class KernelPathError(Exception):
    """Base of the errors that the package raises on purpose."""


class DataError(KernelPathError, ValueError):
    """The table or the target cannot be used as it is, or a place cannot be written to."""

    reason: str | None = None
    """Why a place cannot be written to, without its name; see `cannot_write`."""


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


class LeakWarning(UserWarning):
    """A column alone predicts nearly perfectly, and may not be known before the outcome."""


class MissingValuesWarning(UserWarning):
    """Rows were left out, since something of them is missing."""


class RareClassWarning(UserWarning):
    """A class is so rare that another measure than accuracy was taken."""


class ReadingWarning(UserWarning):
    """Some columns were read as something else than what they seem, or left out."""


class SameColumnsWarning(UserWarning):
    """Of columns that explain the same, some were selected."""


class FinishedFolds(NamedTuple):
    """How much of a cross-validation was done when it was interrupted."""

    done: int
    total: int


def tell_finished(interrupt: BaseException, folds: FinishedFolds, note: str) -> None:
    """Let an interrupt carry what is finished, and a note that Python shows with it."""
    interrupt.add_note(note)
    vars(interrupt)["finished_folds"] = folds


def finished_folds(interrupt: BaseException) -> FinishedFolds | None:
    """What an interrupt carries of finished folds.

    Examples
    --------
    >>> interrupt = KeyboardInterrupt()
    >>> tell_finished(interrupt, FinishedFolds(2, 5), "2 of 5 folds are finished.")
    >>> finished_folds(interrupt)
    FinishedFolds(done=2, total=5)
    """
    return vars(interrupt).get("finished_folds")


Raised = TypeVar("Raised", bound=Exception)


def naming(error: Raised, *settings: str) -> Raised:
    """Let an error or a warning carry the names of the settings that its words name.

    Whoever knows them by other names, as the command line does, looks for these only: a file, a
    column or a class may have a name that looks like a setting.

    Examples
    --------
    >>> error = naming(DataError("5 rows are fewer than cv=9 folds"), "cv")
    >>> settings_named(error), settings_named(ValueError("cv=9"))
    (('cv',), ())
    """
    vars(error)["settings"] = settings
    return error


def settings_named(error: BaseException) -> tuple[str, ...]:
    """Names of the settings that an error or a warning carries; see `naming`."""
    return tuple(getattr(error, "settings", ()))


def cannot_write(place: object, reason: str) -> DataError:
    """Error for a place that cannot be written to; whoever knows it by another name says that.

    Examples
    --------
    >>> error = cannot_write("run", "permission denied")
    >>> str(error), error.reason
    ('run: cannot be written: permission denied', 'permission denied')
    """
    error = DataError(" ".join(f"{place}: cannot be written: {reason}".split()))
    error.reason = reason
    return error


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
