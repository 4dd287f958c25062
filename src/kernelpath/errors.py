"""The errors a user can cause, each with a sentence that says what to do."""

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

MOST_LISTED = 10
MOST_SEARCHED = 30_000
"""Names that are searched for one that is near; more would take long."""
SHORTEST_BEGINNING = 4
"""Letters of a word that is taken for the beginning of a longer one."""


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
    """Rows were left out, since something of them is missing; or new rows lack what fit had."""


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


@dataclass
class Obstacles:
    """What is wrong with a table, collected to be said at once.

    Examples
    --------
    >>> obstacles = Obstacles()
    >>> for text in ("y has one class.", "Column 'a' holds text; use kernel='auto'."):
    ...     with obstacles.noting():
    ...         raise DataError(text)
    >>> obstacles.refuse()
    Traceback (most recent call last):
    kernelpath.errors.DataError: There are 2 obstacles: (1) y has one class; (2) Column 'a' holds
    text; use kernel='auto'.
    """

    found: list[DataError] = field(default_factory=list)

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Note a refusal instead of raising it."""
        try:
            yield
        except DataError as error:
            self.found.append(error)

    def refuse(self) -> None:
        """Raise what was noted: one error as it is, several as a list in one sentence."""
        if len(self.found) == 1:
            raise self.found[0]
        if self.found:
            texts = [str(error).rstrip(".") for error in self.found]
            listed = "; ".join(f"({i}) {text}" for i, text in enumerate(texts, start=1))
            error = DataError(f"There are {len(texts)} obstacles: {listed}.")
            raise naming(error, *(name for one in self.found for name in settings_named(one)))


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
    near = nearest(given, known) if isinstance(given, str) else []
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return ValueError(f"{name} must be one of {wanted}, got {given!r}{hint}")


# -- names that are near ---------------------------------------------------------------------------


def nearest(given: str, known: Sequence[str], n: int = 1) -> list[str]:
    """Names that a mistyped one may stand for, nearest first; mostly one, or none.

    Near is what differs by case and separators only, by a slip or two of the keyboard, or is one of
    the words of the other.

    Examples
    --------
    >>> nearest("Surived", ["sex", "survived"]), nearest("f1_score", ["rand_score", "f1"])
    (['survived'], ['f1'])
    >>> nearest("target", ["age", "weight"]), nearest("none", ["one_se", "best"])
    ([], [])
    """
    names = list(known[:MOST_SEARCHED])
    same = [name for name in names if _plain(name) == _plain(given)]
    alike = {_plain(name): name for name in reversed(names)}
    close = difflib.get_close_matches(_plain(given), list(alike), n=20, cutoff=0.5)
    slips = {name: _slips(_plain(given), name) for name in close}
    typed = sorted((name for name in close if _is_slip(given, name, slips)), key=slips.__getitem__)
    parts = sorted((name for name in names if _is_part(given, name)), key=len)
    return list(dict.fromkeys([*same, *(alike[name] for name in typed), *parts]))[:n]


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]+", "", name.casefold())


def _is_slip(given: str, name: str, slips: dict[str, int]) -> bool:
    """Whether so few letters differ that it may be a slip: one in short words, two in others."""
    word = _plain(given)
    short = min(len(word), len(name))
    if short < 2 or (short <= 3 and word[0] != name[0]):
        return False
    return slips[name] <= (1 if short <= 5 else 2)


def _is_part(given: str, name: str) -> bool:
    """Whether one is a word of the other, or its beginning."""
    one, other = given.casefold(), name.casefold()
    words, others = (set(re.split(r"[\s_-]+", text)) for text in (one, other))
    if len(one) >= SHORTEST_BEGINNING and other.startswith(one):
        return True
    long = min(len(one), len(other)) >= 2
    return long and not one.isdigit() and (one in others or other in words)


def _slips(one: str, other: str) -> int:
    """Letters to insert, leave out, replace or exchange with their neighbours."""
    before: list[int] = []
    last = list(range(len(other) + 1))
    for i, a in enumerate(one, start=1):
        row = [i]
        for j, b in enumerate(other, start=1):
            least = min(last[j] + 1, row[-1] + 1, last[j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and b == one[i - 2]:
                least = min(least, before[j - 2] + 1)
            row.append(least)
        before, last = last, row
    return last[-1]
