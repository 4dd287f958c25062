"""One method that is known by its name: what it is, what it takes, who makes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from kernelpath.errors import not_one_of

CLASSES, NUMBERS = "classification", "regression"


@dataclass(frozen=True)
class Method:
    """A method that is known by its name.

    Attributes
    ----------
    name, label : str
        On the command line, and on pages.
    kind : {"path", "choice", "ranking"}
        A path of its own with a certificate at every point, a choice for each size of its own
        (which need not be nested), or one order of the features that is cut at any size.
    line, paper, guide : str
        What it measures, in one sentence; where it was published; its page of the guide.
    make : callable
        ``make(task, sizes, **settings)`` returns a selector: an estimator whose ``fit`` leaves
        ``path_``, or a function ``rank(X, y)``.
    compared : callable, optional
        The same for a comparison, where all sizes are scored.  Default: `make`.
    tasks : tuple of {"classification", "regression"}
    most_classes, most_rows : int, optional
        Largest number of classes and rows that it takes; any by default.
    settings : tuple of str
        Settings that `make` takes.
    text : {"kernel", "codes", "no"}
        What becomes of text columns: a kernel of their own, codes, or a refusal.
    weights_inside : bool
        Whether its weights are inside one kernel of all features, and not those of a sum.
    needs : str
        Package that has to be installed for it; empty for most.
    """

    name: str
    label: str
    kind: str
    line: str
    paper: str
    guide: str
    make: Callable[..., Any] = field(repr=False, compare=False)
    compared: Callable[..., Any] | None = field(default=None, repr=False, compare=False)
    tasks: tuple[str, ...] = (CLASSES, NUMBERS)
    most_classes: int | None = None
    most_rows: int | None = None
    settings: tuple[str, ...] = ()
    text: str = "no"
    weights_inside: bool = False
    needs: str = ""

    def selector(self, task: str, sizes: Sequence[int] | None = None, **settings: Any) -> Any:
        """Selector for a task and, for methods that need to know them, sizes.

        Examples
        --------
        >>> from kernelpath.catalogue import METHODS
        >>> METHODS["nmmkl"].selector("classification", [1, 2], C=0.1)
        NMMKLSelector(C=0.1, kernel='auto', n_features_to_select=[1, 2],
                      task='classification')
        """
        return self.make(task, sizes, **self._checked(settings))

    def compared_selector(
        self, task: str, sizes: Sequence[int] | None = None, **settings: Any
    ) -> Any:
        """Selector that takes part in a comparison; settings that it has not are left out."""
        known = {name: value for name, value in settings.items() if name in self.settings}
        return (self.compared or self.make)(task, sizes, **known)

    def _checked(self, settings: dict[str, Any]) -> dict[str, Any]:
        for name in settings:
            if name not in self.settings:
                raise not_one_of(f"a setting of {self.name}", name, self.settings or ["none"])
        return settings

    def why_not(
        self, task: str, n_classes: int, n_rows: int, target: str = "y"
    ) -> tuple[str, str] | None:
        """Why it cannot be used for a table, and what would help; None if it can.

        Examples
        --------
        >>> from kernelpath.catalogue import METHODS
        >>> METHODS["l1kr"].why_not("classification", 3, 100)
        ('l1kr takes numbers or two classes, and y has 3', 'keep the rows of two classes')
        """
        if self.needs and find_spec(self.needs) is None:
            return f"{self.name} needs a package", f"install it: pip install {self.needs}"
        if task not in self.tasks:
            takes, holds = ("classes", "numbers") if task == NUMBERS else ("numbers", "classes")
            remedy = f"set task='{self.tasks[0]}' if they are {takes}"
            return f"{self.name} takes {takes}, and {target} holds {holds}", remedy
        if task == CLASSES and self.most_classes is not None and n_classes > self.most_classes:
            numbers = "numbers or " if NUMBERS in self.tasks else ""
            what = f"{self.name} takes {numbers}two classes, and {target} has {n_classes:,}"
            return what, "keep the rows of two classes"
        if self.most_rows is not None and n_rows > self.most_rows:
            what = f"{self.name} takes at most {self.most_rows:,} rows, and there are {n_rows:,}"
            return what, "draw some of the rows"
        return None

    def refuses_text(self, compared: bool = False) -> bool:
        """Whether text columns are refused; rankings of a comparison take them as codes."""
        return self.text == "no" and not (compared and self.compared is not None)

    def as_dict(self) -> dict[str, Any]:
        """All but the makers, as JSON can hold it."""
        return {
            "name": self.name,
            "kind": self.kind,
            "line": self.line,
            "guide": self.guide,
            "label": self.label,
            "tasks": list(self.tasks),
            "most_classes": self.most_classes,
            "most_rows": self.most_rows,
            "text": self.text,
            "weights_inside": self.weights_inside,
            "settings": list(self.settings),
            "paper": self.paper,
            "needs": self.needs,
        }
