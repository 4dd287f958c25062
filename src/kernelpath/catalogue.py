"""Every method that is known by a name, one entry each: what it is, what it takes, who makes it.

The commands ``path``, ``compare`` and ``methods``, :func:`kernelpath.compare` and
:func:`kernelpath.methods` read this table; a method that is added here is in all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from kernelpath.errors import DataError, naming, not_one_of

if TYPE_CHECKING:
    import pandas as pd

    from kernelpath.tables.table import Table

CLASSES, NUMBERS = "classification", "regression"
MOST_BUDGETS = 60  # features; every budget of NMMKL is a problem of its own, in every fold
ALL_BUDGETS_UP_TO = 500  # columns; beyond, a ranking is cut at a growing grid of sizes
FIRST_BUDGETS = 10  # of a selector with budgets, where no sizes are asked for
N_STRENGTHS = 50  # points of a path of its own; a ranking makes do with fewer
BASELINES = ("f_test", "forest")
"""Rankings that baselines have always had, by these names."""


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


# -- who makes a selector --------------------------------------------------------------------------
# Imports are inside: the names alone must not cost the time of loading everything.


def _lp_kta(task: str, sizes: Any, **settings: Any) -> Any:
    from kernelpath.estimators.lp_kta import LpKTASelector

    return LpKTASelector(task=task, **settings)


def _gmkl(task: str, sizes: Any, *, kernel: str = "auto", **settings: Any) -> Any:
    return _gmkl_kind(task)(base_kernel=kernel, strengths=N_STRENGTHS, **settings)


def _gmkl_product(task: str, sizes: Any, **settings: Any) -> Any:
    return _gmkl_kind(task)("product", strengths=N_STRENGTHS, **settings)


def _gmkl_kind(task: str) -> Any:
    from kernelpath.estimators.gmkl import GMKLClassifier, GMKLRegressor

    return GMKLClassifier if task == CLASSES else GMKLRegressor


def _nmmkl(task: str, sizes: Any, *, kernel: str = "auto", **settings: Any) -> Any:
    from kernelpath.estimators.nmmkl import NMMKLSelector

    budgets = None if sizes is None else list(sizes)
    return NMMKLSelector(budgets, kernel=kernel, task=task, **settings)


def _nmmkl_compared(task: str, sizes: Any, *, kernel: str = "auto") -> Any:
    from kernelpath.estimators.rankers import BudgetChoices

    return BudgetChoices(list(sizes), kernel, task)


def _l1kr(task: str, sizes: Any) -> Any:
    from kernelpath.estimators.l1kr import L1KRClassifier, L1KRRegressor
    from kernelpath.estimators.rankers import L1KR_BUDGETS

    kind = L1KRClassifier if task == CLASSES else L1KRRegressor
    return kind(norm_budget=L1KR_BUDGETS, search_branches=False)


def _hkl(task: str, sizes: Any, **settings: Any) -> Any:
    from kernelpath.baselines.hkl import HKL

    return HKL("all" if sizes is None else list(sizes), task=task, **settings)


def _ranker(name: str) -> Callable[..., Any]:
    def make(task: str, sizes: Any, *, seed: int = 0, **settings: Any) -> Any:
        from kernelpath.estimators.rankers import Ranker

        return Ranker(name, task, seed)

    return make


def _baseline(cls: str, takes_task: bool = False) -> Callable[..., Any]:
    def make(task: str, sizes: Any, **settings: Any) -> Any:
        from kernelpath import baselines

        more = {"task": task} if takes_task else {}
        return getattr(baselines, cls)("all" if sizes is None else list(sizes), **settings, **more)

    return make


def _adapter(cls: str) -> Callable[..., Any]:
    def make(task: str, sizes: Any) -> Any:
        from kernelpath.baselines import adapters

        return getattr(adapters, cls)("all" if sizes is None else list(sizes), task=task)

    return make


def _own_path(cls: str) -> Callable[..., Any]:
    """A baseline with a path of its own, which ends soon after the largest size."""

    def make(task: str, sizes: Any, **settings: Any) -> Any:
        from kernelpath import baselines

        return getattr(baselines, cls)(
            max_features=None if sizes is None else max(sizes), **settings
        )

    return make


# -- the entries -----------------------------------------------------------------------------------

_SKLEARN = "Pedregosa et al. Scikit-learn: machine learning in Python. JMLR, 2011."
_ENTRIES = (
    Method(
        "lp-kta", "Generalized lp-KTA", "path",
        "generalized lp kernel-target alignment: non-linear effects, one feature at a time",
        "Jawanpuria, Varma, Nath. On p-norm path following in multiple kernel learning for "
        "non-linear feature selection. ICML, 2014.",
        "lp_kta", _lp_kta, text="kernel",
        settings=("kernel", "bandwidth", "norm_strength", "bregman_strength", "elimination_tol",
                  "n_jobs", "must_include", "feature_groups", "costs"),
    ),
    Method(
        "gmkl", "GMKL, sum of kernels", "path",
        "l1 path of a machine that learns a sum of kernels; in a comparison the order of entry",
        "Jain, Vishwanathan, Varma. SPG-GMKL: generalized multiple kernel learning with a million "
        "kernels. KDD, 2012.",
        "gmkl", _gmkl, _ranker("gmkl"), text="kernel",
        settings=("kernel", "C", "must_include", "feature_groups"),
    ),
    Method(
        "gmkl-product", "GMKL, product of kernels", "path",
        "l1 path of the widths of a product of kernels: effects of several features together",
        "Varma, Babu. More generality in efficient multiple kernel learning. ICML, 2009.",
        "gmkl", _gmkl_product, _ranker("gmkl-product"), settings=("C", "must_include"),
        weights_inside=True,
    ),
    Method(
        "nmmkl", "NMMKL", "choice",
        "non-monotonic multiple kernel learning: the best features for each size of its own",
        "Yang, Xu, Lyu, King. Budget constrained non-monotonic feature selection. Neural Networks, "
        "2015.",
        "nmmkl", _nmmkl, _nmmkl_compared, text="kernel",
        settings=("kernel", "C", "must_include", "feature_groups"),
    ),
    Method(
        "l1kr", "L1KR", "path",
        "weights inside one kernel of all features, along their l1 path",
        "Li, Sminchisescu. The feature selection path in kernel methods. AISTATS, 2010.",
        "l1kr", _l1kr, _ranker("l1kr"), most_classes=2, most_rows=1000, weights_inside=True,
    ),
    Method(
        "f-test", "F-test", "ranking",
        "F statistic of each feature: linear effects, or differences between class means",
        _SKLEARN, "command_line", _ranker("f-test"), text="codes",
    ),
    Method(
        "forest", "Random forest", "ranking",
        "impurity importance in a random forest of trees",
        "Breiman. Random forests. Machine Learning, 2001.",
        "command_line", _ranker("forest"), text="codes", settings=("seed",),
    ),
    Method(
        "mutual-info", "Mutual information", "ranking",
        "mutual information of each feature with the target, by nearest neighbours",
        "Ross. Mutual information between discrete and continuous data sets. PLoS ONE, 2014.",
        "command_line", _ranker("mutual-info"), text="codes", settings=("seed",),
    ),
    Method(
        "fisher", "Fisher score", "ranking",
        "distance of the class means relative to the spread; squared correlation",
        "Bishop. Neural Networks for Pattern Recognition. Oxford University Press, 1995.",
        "baselines", _baseline("Fisher", takes_task=True),
    ),
    Method(
        "hsic-lasso", "HSIC Lasso", "ranking",
        "order of entry on the l1 path of a sum of kernels that is to be the target's",
        "Yamada, Jitkrittum, Sigal, Xing, Sugiyama. High-dimensional feature selection by "
        "feature-wise kernelized lasso. Neural Computation, 2014.",
        "baselines", _baseline("HSICLasso", takes_task=True),
    ),
    Method(
        "bahsic", "BAHSIC", "ranking",
        "backward elimination by the dependence of all features together on the target",
        "Song, Smola, Gretton, Bedo, Borgwardt. Feature selection via dependence maximization. "
        "Journal of Machine Learning Research, 2012.",
        "baselines", _baseline("BAHSIC", takes_task=True), most_rows=5000,
    ),
    Method(
        "hkl", "Hierarchical kernel learning", "path",
        "kernels of features and of their products, each chosen after its parts",
        "Bach. Exploring large feature spaces with hierarchical multiple kernel learning. Advances "
        "in Neural Information Processing Systems, 2009.",
        "baselines", _hkl, most_classes=2, most_rows=1000,
    ),
    Method(
        "svm-lw", "SVM, largest weights", "ranking",
        "largest weights of a linear support vector machine",
        "Guyon, Weston, Barnhill, Vapnik. Gene selection for cancer classification using support "
        "vector machines. Machine Learning, 2002.",
        "baselines", _baseline("SVMLW"), tasks=(CLASSES,), settings=("C",),
    ),
    Method(
        "svr-lw", "SVR, largest weights", "ranking",
        "largest weights of linear support vector regression",
        "Smola, Schölkopf. A tutorial on support vector regression. Statistics and Computing, "
        "2004.",
        "baselines", _baseline("SVRLW"), tasks=(NUMBERS,), settings=("C",),
    ),
    Method(
        "lasso-lw", "Lasso, largest weights", "ranking",
        "largest weights of the lasso, then the order of entry",
        "Tibshirani. Regression shrinkage and selection via the lasso. Journal of the Royal "
        "Statistical Society, Series B, 1996.",
        "baselines", _baseline("LassoLW"), tasks=(NUMBERS,),
    ),
    Method(
        "l1-svm", "SVM with the 1-norm", "ranking",
        "weights of a support vector machine with the 1-norm",
        "Fung, Mangasarian. A feature selection Newton method for support vector machine "
        "classification. Computational Optimization and Applications, 2004.",
        "baselines", _baseline("L1SVM"), tasks=(CLASSES,), settings=("C",),
    ),
    Method(
        "l1-svm-path", "SVM with the 1-norm, whole path", "path",
        "exact path of a linear support vector machine over the 1-norm of its weights",
        "Zhu, Rosset, Hastie, Tibshirani. 1-norm support vector machines. Advances in Neural "
        "Information Processing Systems, 2003.",
        "baselines", _own_path("L1SVMPath"), tasks=(CLASSES,), most_classes=2,
    ),
    Method(
        "l1-mkl-path", "l1 multiple kernel learning, whole path", "path",
        "path of logistic multiple kernel learning over the strength of its l1 norm",
        "Bach, Thibaux, Jordan. Computing regularization paths for learning multiple kernels. "
        "Advances in Neural Information Processing Systems, 2004.",
        "baselines", _own_path("L1MKLPath"), tasks=(CLASSES,), most_classes=2,
    ),
    Method(
        "smo-mkl", "SMO-MKL", "ranking",
        "weights of a learned sum of kernels whose squared p-norm is penalised",
        "Vishwanathan, Sun, Ampornpunt, Varma. Multiple kernel learning and the SMO algorithm. "
        "Advances in Neural Information Processing Systems, 2010.",
        "baselines", _baseline("SMOMKL"), tasks=(CLASSES,), settings=("C",),
    ),
    Method(
        "fsv", "FSV", "ranking",
        "weights of a machine with a concave count of features in its objective",
        "Bradley, Mangasarian. Feature selection via concave minimization and support vector "
        "machines. ICML, 1998.",
        "baselines", _baseline("FSV"), tasks=(CLASSES,),
    ),
    Method(
        "l0-approximation", "l0 approximation", "ranking",
        "how long a feature survives when columns are scaled by the last weights",
        "Weston, Elisseeff, Schölkopf, Tipping. Use of the zero-norm with linear models and kernel "
        "methods. Journal of Machine Learning Research, 2003.",
        "baselines", _baseline("L0Approximation"), tasks=(CLASSES,), settings=("C",),
    ),
    Method(
        "r2w2", "R2W2", "ranking",
        "scales that minimise radius times norm, a bound of the leave-one-out error",
        "Weston, Mukherjee, Chapelle, Pontil, Poggio, Vapnik. Feature selection for SVMs. Advances "
        "in Neural Information Processing Systems, 2000.",
        "baselines", _baseline("R2W2"), tasks=(CLASSES,), settings=("C",),
    ),
    Method(
        "forward-stepwise", "Forward stepwise", "ranking",
        "order of entry by partial F-tests",
        "Guyon, Elisseeff. An introduction to variable and feature selection. Journal of Machine "
        "Learning Research, 2003.",
        "baselines", _baseline("ForwardStepwise"), most_classes=2,
    ),
    Method(
        "information-gain", "Information gain", "ranking",
        "mutual information of the target and each feature, cut where the classes change",
        "Fayyad, Irani. Multi-interval discretization of continuous-valued attributes for "
        "classification learning. IJCAI, 1993.",
        "baselines", _baseline("InformationGain", takes_task=True),
    ),
    Method(
        "chi-square", "Chi-square", "ranking",
        "chi-square statistic of counts: how they are spread over the classes",
        "Liu, Setiono. Chi2: feature selection and discretization of numeric attributes. IEEE "
        "International Conference on Tools with Artificial Intelligence, 1995.",
        "baselines", _baseline("ChiSquare"), tasks=(CLASSES,),
    ),
    Method(
        "gini", "Gini index", "ranking",
        "decrease of the impurity of the classes at the best cut of each feature",
        "Breiman, Friedman, Olshen, Stone. Classification and Regression Trees. Wadsworth, 1984.",
        "baselines", _baseline("GiniIndex"), tasks=(CLASSES,),
    ),
    Method(
        "kruskal-wallis", "Kruskal-Wallis", "ranking",
        "distance of the mean ranks of the classes, for each feature",
        "Kruskal, Wallis. Use of ranks in one-criterion variance analysis. Journal of the American "
        "Statistical Association, 1952.",
        "baselines", _baseline("KruskalWallis"), tasks=(CLASSES,),
    ),
    Method(
        "mrmr", "mRMR", "ranking",
        "order of entry by information about the target, less that about features before",
        "Peng, Long, Ding. Feature selection based on mutual information: criteria of "
        "max-dependency, max-relevance, and min-redundancy. IEEE Transactions on Pattern Analysis "
        "and Machine Intelligence, 2005.",
        "baselines", _baseline("MRMR", takes_task=True),
    ),
    Method(
        "relieff", "ReliefF", "ranking",
        "differences between near rows of several classes, less those within a class",
        "Robnik-Šikonja, Kononenko. Theoretical and empirical analysis of ReliefF and RReliefF. "
        "Machine Learning, 2003.",
        "baselines", _baseline("ReliefF", takes_task=True),
    ),
    Method(
        "spectral", "SPEC", "ranking",
        "smoothness over a graph of rows with similar targets",
        "Zhao, Liu. Spectral feature selection for supervised and unsupervised learning. ICML, "
        "2007.",
        "baselines", _baseline("Spectral", takes_task=True),
    ),
    Method(
        "permutation-importance", "Permutation importance", "ranking",
        "how much worse a forest predicts rows left out where a feature is shuffled",
        "Breiman. Random forests. Machine Learning, 2001.",
        "baselines", _baseline("PermutationImportance", takes_task=True),
    ),
    Method(
        "rfe-svm", "SVM-RFE", "ranking",
        "backward elimination by the weights of a linear machine, fitted again in every round",
        "Guyon, Weston, Barnhill, Vapnik. Gene selection for cancer classification using support "
        "vector machines. Machine Learning, 2002.",
        "baselines", _baseline("RFESVM", takes_task=True), settings=("C",),
    ),
    Method(
        "variance-filter", "Variance", "ranking",
        "variance of each column as it is; the target is not looked at",
        _SKLEARN, "baselines", _baseline("VarianceFilter", takes_task=True),
    ),
    Method(
        "cars", "CARS", "ranking",
        "how long a feature survives a competition by the coefficients of partial least squares",
        "Li, Liang, Xu, Cao. Key wavelengths screening using competitive adaptive reweighted "
        "sampling method for multivariate calibration. Analytica Chimica Acta, 2009.",
        "baselines", _baseline("CARS", takes_task=True),
    ),
    Method(
        "centered-kta", "Centered KTA", "ranking",
        "weights of the sum of one-feature kernels that is best aligned with the target",
        "Cortes, Mohri, Rostamizadeh. Algorithms for learning kernels based on centered alignment. "
        "Journal of Machine Learning Research, 2012.",
        "baselines", _baseline("CenteredKTA", takes_task=True),
    ),
    Method(
        "uniform", "Uniform", "ranking",
        "the same weight for all columns: the reference of all of them, with no order of its own",
        "Jawanpuria, Varma, Nath. On p-norm path following in multiple kernel learning for "
        "non-linear feature selection. ICML, 2014.",
        "baselines", _baseline("Uniform", takes_task=True),
    ),
    Method(
        "boruta", "Boruta", "ranking",
        "features that matter more to a forest than shuffled copies do",
        "Kursa, Rudnicki. Feature selection with the Boruta package. Journal of Statistical "
        "Software, 2010.",
        "baselines", _adapter("Boruta"), needs="boruta",
    ),
    Method(
        "fastcan", "FastCan", "ranking",
        "forward selection by the canonical correlation with the target",
        "Zhang, Wang, Worden, Sun, Cross. Canonical-correlation-based fast feature selection for "
        "structural health monitoring. Mechanical Systems and Signal Processing, 2025.",
        "baselines", _adapter("FastCan"), needs="fastcan",
    ),
    Method(
        "abess", "Abess", "ranking",
        "best subsets by splicing: the smallest size whose subset holds a feature",
        "Zhu, Wen, Zhu, Zhang, Wang. A polynomial algorithm for best-subset selection problem. "
        "Proceedings of the National Academy of Sciences, 2020.",
        "baselines", _adapter("Abess"), needs="abess",
    ),
)  # fmt: skip
METHODS: dict[str, Method] = {entry.name: entry for entry in _ENTRIES}
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
    ('choice', ['lp-kta', 'gmkl', 'gmkl-product'])
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
