"""The chosen point of a path, and the rules that choose it from cross-validated scores.

A rule is a function of the scores that returns an index into ``scores.n_features``; a new one is
one function in :data:`RULES` and its name in ``RULE_NAMES``. Users may also pass their own callable
to :func:`choose`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from kernelpath.errors import DataError, naming, not_one_of
from kernelpath.evaluation import RULE_NAMES
from kernelpath.evaluation.scores import TIE, PathScores, score_text
from kernelpath.path.points import Frozen, frozen_vector
from kernelpath.utils import checks
from kernelpath.utils.warn import warn
from kernelpath.utils.words import counted

AGREEMENT = 0.9
"""Share of the features of a size, beyond chance, that every fold must choose: rule "stable"."""
Rule = str | Callable[[PathScores], int]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class OperatingPoint(Frozen):
    """The chosen number of features with all that belongs to it; frozen, compares by content.

    Parameters
    ----------
    n_features : int
        Number of features that the rule chose.
    score, se : float
        Cross-validated mean score and its standard error (NaN with one fold).
    parameter : float
        Path parameter on the whole table; NaN when there is none.
    feature_names : sequence of str
        Names of the selected features, heaviest first.
    weights, support : array of shape (n_columns,)
        Weight of every column, and the boolean mask of the selected ones.
    predictor : str
        What predicts from the features, for example ``"joint_rbf"``.
    settings : dict
        Settings of the predictor; must be JSON-able and is copied.
    rule : str
        The rule that chose the point.
    scoring : str
        Name of the measure; a larger score is better.
    parameter_name : str
        Name of the path parameter.
    cost : float, optional
        What the selected features cost together, where features have costs.

    Examples
    --------
    >>> OperatingPoint(n_features=2, score=0.8941, se=0.008, parameter=1.02,
    ...     feature_names=("b", "a"), weights=[0.2, 0.7, 0.0], support=[True, True, False],
    ...     predictor="joint_rbf", settings={"C": 10.0}, rule="one_se", scoring="accuracy")
    OperatingPoint(2 features, accuracy 0.894 +- 0.008, p = 1.02, predictor 'joint_rbf')
    """

    n_features: int
    score: float
    se: float
    parameter: float
    feature_names: tuple[str, ...]
    weights: np.ndarray
    support: np.ndarray
    predictor: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    rule: str = ""
    scoring: str = "score"
    parameter_name: str = "p"
    cost: float | None = None

    def __post_init__(self) -> None:
        checks.whole("n_features", self.n_features, must="be an integer", error=TypeError)
        weights = frozen_vector(self.weights, float, "weights")
        support = frozen_vector(self.support, bool, "support", len(weights))
        names = tuple(self.feature_names)
        if isinstance(self.feature_names, str) or not all(isinstance(n, str) for n in names):
            raise ValueError("feature_names must be a sequence of strings")
        if len(names) != np.count_nonzero(support):
            raise ValueError(
                f"feature_names holds {len(names)} names, but the support "
                f"{np.count_nonzero(support)} features"
            )
        numbers = {name: float(getattr(self, name)) for name in ("score", "se", "parameter")}
        texts = ("predictor", "rule", "scoring", "parameter_name")
        self._set(n_features=int(self.n_features), weights=weights, support=support, **numbers)
        self._set(feature_names=tuple(map(str, names)), settings=_plain(self.settings))
        self._set(**{name: str(getattr(self, name)) for name in texts})
        if self.cost is not None:
            checks.real("cost", self.cost, at_least=0, must=checks.NOT_NEGATIVE)
            self._set(cost=float(self.cost))

    def to_state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """JSON-able metadata and plain arrays that :meth:`from_state` reads."""
        meta = {
            name: getattr(self, name)
            for name in ("n_features", "predictor", "rule", "scoring", "parameter_name")
        }
        meta |= {"feature_names": list(self.feature_names), "settings": _plain(self.settings)}
        if self.cost is not None:
            meta["cost"] = self.cost
        # An array, because JSON has no NaN.
        numbers = np.array([self.score, self.se, self.parameter])
        return meta, {"numbers": numbers, "weights": self.weights, "support": self.support}

    @classmethod
    def from_state(cls, meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> OperatingPoint:
        """Build the point again; a state that does not fit together is a ValueError."""
        numbers = ("score", "se", "parameter")
        stored = {f.name for f in fields(cls)} - {*numbers, "weights", "support"}
        missing = sorted(stored - meta.keys() - {"cost"})
        missing += sorted({"numbers", "weights", "support"} - arrays.keys())
        if missing:
            raise ValueError(f"the state of the operating point lacks {', '.join(missing)}")
        values = frozen_vector(arrays["numbers"], float, "numbers", len(numbers))
        known: dict[str, Any] = {name: meta.get(name) for name in stored}
        known |= dict(zip(numbers, values.tolist()))
        return cls(weights=arrays["weights"], support=arrays["support"], **known)

    def __repr__(self) -> str:
        few = counted(self.n_features, "feature")
        parts = [few, f"{self.scoring} {score_text(self.score, self.se)}"]
        if self.cost is not None:
            parts.append(f"cost {self.cost:g}")
        if not np.isnan(self.parameter):
            parts.append(f"{self.parameter_name} = {self.parameter:.4g}")
        if self.predictor:
            parts.append(f"predictor {self.predictor!r}")
        return f"OperatingPoint({', '.join(parts)})"


def _plain(settings: Any) -> dict[str, Any]:
    """Deep copy with JSON types only; NumPy numbers become plain ones."""
    if not isinstance(settings, dict):
        raise ValueError(f"settings must be a dict, got {settings!r}")
    try:
        return json.loads(json.dumps(settings, allow_nan=False, default=_plain_number))
    except (TypeError, ValueError) as error:
        raise ValueError(f"settings must be JSON-able: {error}") from error


def _plain_number(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} is not JSON-able")


def best(scores: PathScores, *, budget: Any = None, tolerance: Any = None) -> int:
    """Largest mean; among ties the fewest features."""
    scores.best()  # refuses scores without a finished fold
    able = _affordable(scores, budget)
    return _fewest(scores, float(scores.mean[able].max()), able)


def one_se(scores: PathScores, *, budget: Any = None, tolerance: Any = None) -> int:
    """Fewest features with a mean within one standard error of the best.

    With a single finished fold there is no standard error: a UserWarning, then the best.
    """
    top = best(scores, budget=budget)
    error = float(scores.se[top])
    if np.isnan(error):
        warn(
            "rule 'one_se' needs at least two folds for a standard error; taking the best size",
        )
        return top
    return _fewest(scores, float(scores.mean[top]) - error, _affordable(scores, budget))


def within_budget(scores: PathScores, *, budget: Any = None, tolerance: Any = None) -> int:
    """Largest mean among the sizes within the budget; ties go to the fewest features."""
    return best(scores, budget=_checked_budget(budget, required=True, costly=_costly(scores)))


def within_tolerance(scores: PathScores, *, budget: Any = None, tolerance: Any = None) -> int:
    """Fewest features with a mean at most ``tolerance``, in units of the score, below the best."""
    tolerance = _checked_tolerance(tolerance, required=True)
    top = float(scores.mean[best(scores, budget=budget)])
    return _fewest(scores, top - tolerance, _affordable(scores, budget))


def most_agreed(scores: PathScores, *, budget: Any = None, tolerance: Any = None) -> int:
    r"""Most features on which the folds agree, whatever the scores are.

    Of the :math:`k` features of a size a share :math:`s` is chosen by every one of :math:`M` folds.
    Folds that choose from :math:`d` columns at random have :math:`c = (k/d)^{M-1}` of them in
    common, and the agreement is :math:`(s - c) / (1 - c)`: the largest size with :data:`AGREEMENT`
    is taken.  If no size has that, the one with the highest is, with a UserWarning; of several the
    one with the most features.  A size at which all columns are chosen has no agreement.
    """
    scores.best()  # refuses scores without a finished fold
    able = _affordable(scores, budget)
    agreement = _agreement(scores)
    known = able & ~np.isnan(agreement)
    if not known.any():
        warn("rule 'stable' needs at least two folds and a column to leave out; taking the best")
        return best(scores, budget=budget)
    enough = known & (agreement >= AGREEMENT - TIE)
    if not enough.any():
        top = float(agreement[known].max())
        enough = known & (agreement >= top - TIE)
        k = int(scores.n_features[np.flatnonzero(enough)[-1]])
        warn(
            f"There is no size whose features nearly all folds agree on: rule 'stable' takes "
            f"{counted(k, 'feature')}, with an agreement of {top:.2f} where {AGREEMENT:g} is due.",
        )
    return int(np.flatnonzero(enough)[-1])


def _agreement(scores: PathScores) -> np.ndarray:
    """Share of the features of a size that every fold chooses, beyond chance; NaN if undefined."""
    folds = [own.csr for own, done in zip(scores.supports, scores.finished) if done]
    if not folds:
        raise DataError("rule 'stable' needs the features chosen in every fold")
    # The int type matters: a sum of boolean matrices is their union, not their count.
    counts = sum(csr.astype(np.int64) for csr in folds)
    M, d, k = len(folds), counts.shape[1], scores.n_features
    every = np.concatenate([[0], np.cumsum(counts.data == M)])
    chance = np.where(k < d, (k / d) ** (M - 1), np.nan)
    if M < 2:
        chance[:] = np.nan
    return (np.diff(every[counts.indptr]) / k - chance) / (1 - chance)


def discovered(
    scores: PathScores, *, budget: Any = None, tolerance: Any = None, discoveries: int | None = None
) -> int:
    """Largest size with at most as many features as there are discoveries; at least the smallest.

    Scores have no part in it.  A UserWarning says that there is no discovery, or that not all are
    in since no size of so many features was scored.
    """
    scores.best()  # refuses scores without a finished fold
    if discoveries is None:
        raise DataError(
            "rule 'fdr' needs a path that knows p-values; choose by the PathCV that traced it."
        )
    able = _affordable(scores, budget)
    within = np.flatnonzero(able & (scores.n_features <= discoveries))
    place = int(within[-1]) if len(within) else int(np.flatnonzero(able)[0])
    k = int(scores.n_features[place])
    if discoveries == 0:
        warn(
            "No feature is a discovery: rule 'fdr' keeps the smallest size, "
            f"{counted(k, 'feature')}, which may be there by chance."
        )
    elif k != discoveries and not (~able & (scores.n_features <= discoveries)).any():
        found = counted(discoveries, "discovery", "discoveries")
        text = (
            f"There are {found}, a size that was not scored: rule 'fdr' takes "
            f"{counted(k, 'feature')}; with {discoveries} among n_features it takes them all."
        )
        warn(naming(UserWarning(text), "n_features"))
    return place


def _fewest(scores: PathScores, target: float, able: np.ndarray) -> int:
    """First of the sizes ``able`` whose mean reaches the target."""
    reaching = scores.reaching(target)
    return int(reaching[able[reaching]][0])


def _costly(scores: PathScores) -> bool:
    """Whether a budget is one of costs, and not of features."""
    return scores.costs_per_fold is not None or scores.full_costs is not None


def _affordable(scores: PathScores, budget: Any) -> np.ndarray:
    """Mask of the sizes within the budget: of features, or of costs where features have some.

    What counts is the cost of the model of all rows, if that is known: it is the one to be paid.
    """
    if budget is None:
        return np.ones(len(scores.n_features), dtype=bool)
    if not _costly(scores):
        spent, text = scores.n_features, "no size is at most {:g}; the smallest is {:g}"
    else:
        full: Any = scores.full_costs
        spent = scores.costs if full is None else full  # type: ignore[assignment]
        text = "no size costs at most {:g}; the cheapest costs {:g}"
    able = spent <= budget
    if not able.any():
        raise DataError(text.format(budget, spent.min()))
    return able


_FUNCTIONS = (best, one_se, within_budget, within_tolerance, most_agreed, discovered)
RULES: dict[str, Callable[..., int]] = dict(zip(RULE_NAMES, _FUNCTIONS, strict=True))


def check_rule(
    rule: Rule,
    budget: float | None = None,
    tolerance: float | None = 0.01,
    costly: bool = False,
) -> None:
    """Refuse an unknown rule or one that lacks its number, before any long work.

    ``costly`` says that the budget is one of costs, and not of features.

    Examples
    --------
    >>> check_rule("one_se")
    >>> check_rule("budget")
    Traceback (most recent call last):
        ...
    ValueError: rule 'budget' needs a budget, the largest allowed number of features
    """
    _checked_budget(budget, required=isinstance(rule, str) and rule == "budget", costly=costly)
    _checked_tolerance(tolerance, required=isinstance(rule, str) and rule == "tolerance")
    if callable(rule) or (isinstance(rule, str) and rule in RULES):
        return
    raise not_one_of("rule", rule, RULES, "a callable")


def choose(
    scores: PathScores,
    rule: Rule,
    *,
    budget: float | None = None,
    tolerance: float | None = 0.01,
    discoveries: int | None = None,
) -> int:
    """Index into ``scores.n_features`` that a rule chooses.

    Parameters
    ----------
    scores : PathScores
    rule : {"best", "one_se", "budget", "tolerance", "stable", "fdr"} or callable
        A callable takes the scores and returns a number of features that was scored.
    budget : int or float, optional
        Largest allowed number of features or, where features have costs, largest allowed cost: the
        rule looks at sizes within it only.  The rule ``"budget"`` needs one and is ``"best"``
        otherwise; a callable is not told.
    tolerance : float, default=0.01
        Loss of score that is accepted, in units of the score, for the rule ``"tolerance"``.
    discoveries : int, optional
        Number of features at the false discovery rate of the rule ``"fdr"``.

    Raises
    ------
    DataError
        If no fold is finished, no size is within the budget, or a callable returned a number of
        features that was not scored.

    Notes
    -----
    Means that differ by rounding only are ties; among ties the fewest features win.

    Examples
    --------
    >>> scores = PathScores([1, 2, 5], [[0.6, 0.89, 0.9], [0.8, 0.89, 0.9], [0.7, 0.86, 0.91]])
    >>> [choose(scores, rule, tolerance=0.03) for rule in ("best", "one_se", "tolerance")]
    [2, 2, 1]
    >>> [choose(scores, rule, budget=2) for rule in ("best", "one_se", "budget")]
    [1, 1, 1]
    >>> choose(scores, lambda scores: scores.n_features[0])
    0
    """
    check_rule(rule, budget, tolerance, _costly(scores))
    if isinstance(rule, str):
        more = {"discoveries": discoveries} if rule == "fdr" else {}
        return RULES[rule](scores, budget=budget, tolerance=tolerance, **more)
    chosen = rule(scores)
    name = getattr(rule, "__name__", type(rule).__name__)
    if not checks.is_whole(chosen):
        raise TypeError(f"rule {name!r} must return a number of features, got {chosen!r}")
    try:
        return scores.position(chosen)
    except DataError as error:
        raise DataError(f"rule {name!r} chose a size without a score: {error}") from None


def _checked_budget(budget: Any, *, required: bool, costly: bool = False) -> float | None:
    if budget is None:
        if required:
            raise ValueError("rule 'budget' needs a budget, the largest allowed number of features")
        return None
    if costly:
        checks.real("budget", budget, at_least=0, must="be a cost, a number of at least 0")
        return float(budget)
    checks.whole("budget", budget, must="be a positive integer", error=TypeError)
    checks.whole("budget", int(budget), at_least=1, must="be a positive integer")
    return int(budget)


def _checked_tolerance(tolerance: Any, *, required: bool) -> float | None:
    if tolerance is None:
        if required:
            raise ValueError("rule 'tolerance' needs a tolerance, in units of the score")
        return None
    if not checks.is_number(tolerance):
        raise TypeError(f"tolerance must be a number of at least 0, got {tolerance!r}")
    if not 0 <= float(tolerance) < float("inf"):
        raise ValueError(f"tolerance must be a number of at least 0, got {tolerance}")
    return float(tolerance)
