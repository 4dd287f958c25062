"""HKL: kernels of features and of their products, chosen along a lattice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.validation import check_is_fitted

from kernelpath.baselines._base import CLASSES, NUMBERS
from kernelpath.baselines._hkl_lattice import GaussianLattice, Lattice, PolynomialLattice
from kernelpath.baselines._hkl_solver import ActiveSet, Hull, Solved, TooManyKernels
from kernelpath.errors import DataError, FewerFeaturesWarning
from kernelpath.estimators._base import PathSelector, budgets_of, check_budgets
from kernelpath.path.build import build_path
from kernelpath.tables.missing import Imputer
from kernelpath.tables.reading import read_new, say_new_holes
from kernelpath.tables.standardize import FARTHEST, Columns
from kernelpath.tables.table import (
    Table,
    columns_with_holes,
    refuse_infinite,
    refuse_infinite_columns,
    refuse_text,
)
from kernelpath.tables.targets import TASKS, as_vector, check_lengths, encode_target, infer_task
from kernelpath.utils import checks
from kernelpath.utils.checks import Idle, is_whole, refuse_idle
from kernelpath.utils.progress import begin, progress_bar
from kernelpath.utils.units import in_units, size_exponent
from kernelpath.utils.warn import warn
from kernelpath.utils.words import counted

if TYPE_CHECKING:
    import pandas as pd

LATTICES = ("gaussian", "polynomial")
LEAST_ROWS, MOST_ROWS = 3, 1000
MOST_COLUMNS = 1000
MOST_NUMBERS = 2**27  # of the matrices of all features, and of those of the hull: 1 GB each
MOST_KERNELS = 500  # with a weight: a step solves for all of them
MOST_DEGREE = 10
AUTO, LEAST_BETA, MOST_MORE = "auto", 2.0, 4.0
NARROWEST, WIDEST = 0.01, 100.0  # standard deviations
LARGEST, SMALLEST = 1.0, 1e-5  # strengths
WEAKEST, STRONGEST = 1e-10, 1e6
LEAST_TOL = 1e-9
WHOLE_PATH, FULL, REACHED = "strengths", "kernels", "features"
IDLE = (
    Idle("degree", lambda own: own.lattice == "gaussian",
         "with lattice='gaussian': it is that of the polynomials"),
    Idle("sigma", lambda own: own.lattice == "polynomial",
         "with lattice='polynomial': it is that of the Gaussian kernels"),
)  # fmt: skip


class HKL(PathSelector):
    r"""Hierarchical kernel learning: products of features, each after its parts [bach2009]_.

    .. math:: \min_{f, b}\; \frac{1}{2n} \sum_i \Bigl(y_i - b - \sum_{v} f_v(x_i)\Bigr)^2
              + \frac{\lambda}{2} \Bigl(\sum_{v} d_v \Bigl(\sum_{w \ge v} \|f_w\|^2\Bigr)^{1/2}
              \Bigr)^2, \qquad d_v = \beta^{|v|}

    There is a kernel :math:`K_v` for every set of features, the product of their Gaussian kernels,
    or for every vector of degrees, the product of polynomials of single features.  The norm sets
    the functions of :math:`v` and of all its descendants to zero together: a product is chosen only
    after all its parts.  The problem is convex, and is solved over all kernels, of which there are
    more than could be looked at; the gap of every point is a bound over all of them.

    A feature is chosen where a kernel that holds it is.  Its weight is the sum of the weights of
    these kernels in the learned kernel :math:`\sum_v \zeta_v K_v`, relative to that of all.

    Parameters
    ----------
    n_features_to_select : int, sequence of int, or "all", optional
        The path ends before a point with more features than the largest of them.  Default, and
        "all": no bound.
    lattice : {"gaussian", "polynomial"}
        Of standardised columns.  Gaussian kernels of one feature are centred over the rows, with a
        diagonal of mean 1, so that a product has little of its parts; the polynomials are
        orthonormal over the rows, for a normal column nearly those of Hermite.
    sigma : float
        Width of the Gaussian kernels in standard deviations, from 0.01 to 100.
    degree : int
        Largest degree of a feature in a product of polynomials, from 1 to 10.
    beta : float or "auto"
        How much more a kernel costs than its parts, from 1 to 100.  "auto" is 2 up to 13 columns
        and grows with more, so that the sum of the sufficient condition stays of the size of its
        first term: :math:`(1 + (1 + \beta)^{-2})^p \le 4` for p columns.
    root_weight : float
        :math:`d` of the root, the constant kernel, which is that of the whole function: it pulls
        like a ridge.  In the paper's formula it is 1; smaller ones choose fewer features.
    strengths : int or sequence of float
        :math:`\lambda`, for a target of variance 1: so many from 1 to 1e-5, or these.
    max_kernels : int
        The path ends where the proof needs to look at more kernels one by one, or where more than
        500 have a weight; Gaussian ones with weights take 8 `n_samples`\ :sup:`2` bytes each, 1 GB
        at most.
    tol : float
        Largest gap, relative to the objective, or to what it is less than without any feature if
        that is smaller.
    task : {"auto", "classification", "regression"}
        Two classes count as -1 and 1.  With "auto" more than two numbers are numbers.

    Attributes
    ----------
    path_ : FeaturePath
        A point for each strength, from the largest; ``path_.at(n_features=3)`` has one only for the
        sizes that are there.  ``path_.gaps`` are the certified gaps, ``path_.values`` the
        objectives, for a target of variance 1.
    position_ : int
        Point of the path with the smallest error of rows left out: that of ``predict``.
    leave_one_out_ : ndarray of shape (n_points,)
        Mean squared errors of rows left out, the weights of the kernels staying as they are.
    weights_ : ndarray of shape (n_features,)
    support_ : ndarray of bool, shape (n_features,)
    beta_ : float
        The one that was used.
    n_kernels_, n_explored_ : ndarray of int, shape (n_points,)
        Kernels that are chosen, and those that the proof looked at one by one.
    end_ : {"strengths", "kernels", "features"}
        Why the path ended: all strengths are done, or one kernel or feature more was too many.
    ties_ : list of ndarray
        Columns that are nearly the same but for scale and shift: the first one stands for all.
    n_features_in_, feature_names_in_, classes_

    Notes
    -----
    For the weights of a hull of kernels an interior point method solves the problem.  Kernels
    outside can be left out if for all :math:`t` whose parents are inside, and the dual vector
    :math:`\alpha`,

    .. math:: \sum_{w \ge t} \frac{\alpha^\top K_w \alpha}{(\sum_{t \le v \le w} d_v)^2}
              \le \sum_v \zeta_v\, \alpha^\top K_v \alpha,

    which is a product over the features and so costs no more than one kernel; what it is more by
    bounds the gap.  Those that violate it are added.  A step takes ``n_samples^3 + n_kernels
    n_samples^2``.  At most 1,000 rows and columns, and `n_features` `n_samples`\ :sup:`2` up to
    2^27.

    References
    ----------
    .. [bach2009] Bach. Exploring large feature spaces with hierarchical multiple kernel learning.
       Advances in Neural Information Processing Systems 21, 2009.  With proofs: High-dimensional
       non-linear variable selection through hierarchical kernel learning. arXiv:0909.0844.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelpath as kp
    >>> X = np.random.default_rng(0).normal(size=(100, 6))
    >>> y = X[:, 1] + X[:, 4] + 2 * X[:, 1] * X[:, 4]
    >>> model = kp.baselines.HKL(2, lattice="polynomial").fit(X, y)
    >>> sorted(model.kernels().kernel)
    ['x1', 'x1 x4', 'x4']
    >>> bool((model.path_.gaps <= 1e-3 * model.path_.values).all())
    True
    """

    METHOD: ClassVar[str] = "hkl"
    TASKS: ClassVar[tuple[str, ...]] = (CLASSES, NUMBERS)

    def __init__(
        self,
        n_features_to_select: Any = None,
        *,
        lattice: str = "gaussian",
        sigma: float = 1.0,
        degree: int = 3,
        beta: Any = "auto",
        root_weight: float = 0.1,
        strengths: Any = 25,
        max_kernels: int = 1000,
        tol: float = 1e-3,
        task: str = "auto",
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.lattice = lattice
        self.sigma = sigma
        self.degree = degree
        self.beta = beta
        self.root_weight = root_weight
        self.strengths = strengths
        self.max_kernels = max_kernels
        self.tol = tol
        self.task = task

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Follow the path, and choose a point.

        Parameters
        ----------
        X : array, sparse matrix or dataframe of shape (n_samples, n_features)
            Numbers; made dense.
        y : array of shape (n_samples,)

        Returns
        -------
        self
        """
        self._check_settings()
        rows, y, _ = self._check_rows(X, y)
        refuse_text(rows, "encode it as numbers")
        imputer, self._holes = Imputer.fit(rows), columns_with_holes(rows.values)
        table, self._fill = imputer.apply(rows), imputer.fill
        y = as_vector(y)
        check_lengths(table.shape[0], y)
        most = self._most_features()
        target, task = self._target(y)
        self._columns, Z = Columns.of(table)
        self.ties_ = self._columns.ties
        with progress_bar():
            begin("kernels")
            self._lattice = self._made_lattice(Z)
            self.beta_ = self._beta(Z.shape[1])
            hull = Hull(self._lattice, target, self.beta_, float(self.root_weight))
            self._points, self.end_ = self._followed(hull, most)
        self._keep(table, y, task)
        return self

    # -- table and target --------------------------------------------------------------------------

    def _check_kernel(self, table: Table) -> None:
        n, d = table.shape
        if n < LEAST_ROWS:
            raise DataError(f"HKL needs at least {LEAST_ROWS} rows, got n_samples = {n}.")
        if n > MOST_ROWS:
            raise DataError(
                f"HKL takes at most {MOST_ROWS:,} rows, and there are {n:,}; draw some of them."
            )
        if d > MOST_COLUMNS or n * n * d > MOST_NUMBERS:
            most = min(MOST_COLUMNS, MOST_NUMBERS // n**2)
            raise DataError(
                f"HKL takes at most {most:,} columns with {n:,} rows, and there are {d:,}; choose "
                "some of them first, as by kp.LpKTASelector."
            )

    def _most_features(self) -> int:
        """Largest number of features that is asked for."""
        if self.n_features_to_select is None or isinstance(self.n_features_to_select, str):
            return self.n_features_in_
        asked = budgets_of(self.n_features_to_select)
        if asked.min() < 1:
            raise DataError(f"n_features_to_select must be at least 1, got {asked.min()}.")
        if asked.max() > self.n_features_in_:
            raise DataError(
                f"n_features_to_select must be at most {self.n_features_in_}, the number of "
                f"columns, got {asked.max()}."
            )
        return int(asked.max())

    def _target(self, y: NDArray) -> tuple[NDArray[np.float64], str]:
        """The target with mean 0 and variance 1; remembers what it stands for."""
        task = self._inferred(y)
        target = encode_target(y, task=task)
        if hasattr(self, "classes_"):
            del self.classes_
        if task == NUMBERS:
            values = y.astype(np.float64)
        else:
            assert target.classes is not None
            if len(target.classes) > 2:
                raise DataError(
                    "HKL is for a target of numbers or two classes, but y has "
                    f"{len(target.classes)} classes; keep the rows of two, or wrap it in "
                    "sklearn.multiclass.OneVsRestClassifier."
                )
            self.classes_: NDArray = target.classes
            values = np.where(y == self.classes_[1], 1.0, -1.0)
        size = float(np.abs(values).max())  # huge and tiny numbers have squares, too
        self._mean, self._unit = float(values.mean()), size * float((values / size).std())
        scaled = values / size
        scaled = (scaled - scaled.mean()) / scaled.std()
        return scaled - scaled.mean(), task

    def _inferred(self, y: NDArray) -> str:
        """Numbers are numbers, also those that could be classes, as there are but two of these."""
        if self.task == "auto" and y.dtype.kind in "iuf" and len(np.unique(y)) > 2:
            return NUMBERS
        return infer_task(y, self.task)

    def _made_lattice(self, Z: NDArray[np.float64]) -> Lattice:
        if self.lattice == "gaussian":
            return GaussianLattice(Z, float(self.sigma))
        return PolynomialLattice(Z, int(self.degree))

    def _beta(self, n_columns: int) -> float:
        if not isinstance(self.beta, str):
            return float(self.beta)
        return max(LEAST_BETA, float((MOST_MORE ** (1.0 / n_columns) - 1.0) ** -0.5 - 1.0))

    # -- the path ----------------------------------------------------------------------------------

    def _strengths(self) -> NDArray[np.float64]:
        if is_whole(self.strengths):
            return np.geomspace(LARGEST, SMALLEST, int(self.strengths))
        return np.unique(np.asarray(self.strengths, dtype=np.float64))[::-1]

    def _followed(self, hull: Hull, most: int) -> tuple[list[Solved], str]:
        """Points from the largest strength downwards, and why there are no more."""
        most_kernels = MOST_KERNELS
        if self.lattice == "gaussian":
            most_kernels = min(most_kernels, MOST_NUMBERS // hull.lattice.n_rows**2)
        strengths, points = self._strengths(), list[Solved]()
        update = begin("path")
        try:
            active = ActiveSet(hull, float(self.tol), most_kernels, int(self.max_kernels))
            for done, strength in enumerate(strengths):
                point = active.solve(float(strength))
                size = int(np.any(point.nodes, axis=0).sum())
                if size > most and points:
                    return points, REACHED
                points.append(point)
                if size > most:
                    warn(
                        f"The first point of the path has {counted(size, 'feature')}, more than "
                        f"the {most} asked for; larger strengths may have fewer.",
                        FewerFeaturesWarning,
                    )
                    return points, REACHED
                update(done + 1, len(strengths))
        except TooManyKernels:
            if not points:
                raise DataError(
                    f"HKL needs to look at more than {self.max_kernels:,} kernels for the first "
                    "point of "
                    "the path; raise max_kernels, beta, or the largest of strengths."
                ) from None
            return points, FULL
        return points, WHOLE_PATH

    def _keep(self, table: Table, y: NDArray, task: str) -> None:
        """Fitted attributes."""
        points = self._points
        weights = np.zeros((len(points), self.n_features_in_))
        held = np.zeros(weights.shape, dtype=bool)
        for own, inside, point in zip(weights, held, points):
            nodes = np.array(point.nodes) > 0
            own[self._columns.places] = point.zeta @ nodes / point.zeta.sum()
            inside[self._columns.places] = nodes.any(axis=0)
        errors = np.array([np.mean(np.square(point.errors)) for point in points])
        self.position_ = int(errors.argmin())
        with np.errstate(over="ignore", under="ignore"):
            self.leave_one_out_ = errors * self._unit * self._unit
        self.n_kernels_ = np.array([len(point.nodes) for point in points])
        self.n_explored_ = np.array([point.explored for point in points])
        self.path_ = build_path(
            method=self.METHOD,
            parameter_name="strength",
            parameters=[point.strength for point in points],
            weights=weights,
            supports=held,
            values=[point.value for point in points],
            gaps=[point.gap for point in points],
            feature_names=table.names,
            provenance=self._describe(table, y, task=task),
        )
        self.weights_ = weights[self.position_]
        self.support_ = held[self.position_]

    # -- use ---------------------------------------------------------------------------------------

    def _point(self, position: Any) -> Solved:
        check_is_fitted(self)
        if position is None:
            return self._points[self.position_]
        checks.whole("position", position, at_least=0, at_most=len(self._points) - 1)
        return self._points[int(position)]

    def kernels(self, position: int | None = None) -> pd.DataFrame:
        """Kernels that are chosen at a point of the path, by decreasing weight.

        Parameters
        ----------
        position : int, optional
            Another point of ``path_`` than ``position_``.

        Returns
        -------
        pandas.DataFrame
            ``kernel``, such as "x1 x4" or, with degrees, "x1^2 x4"; ``n_features``; ``weight`` in
            the learned kernel, relative to that of all; ``share``, the part of the norm that goes
            to the kernel and all its descendants, before the root's.
        """
        import pandas as pd

        point, names = self._point(position), self.path_.feature_names[self._columns.places]
        labels = [
            " ".join(
                f"{names[i]}^{node[i]}" if node[i] > 1 else str(names[i])
                for i in np.flatnonzero(node)
            )
            for node in point.nodes
        ]
        order = np.argsort(-point.zeta, kind="stable")
        columns = {
            "kernel": pd.Series(labels, dtype=object),
            "n_features": [int(np.count_nonzero(node)) for node in point.nodes],
            "weight": point.zeta / point.zeta.sum(),
            "share": point.x / point.x.sum(),
        }
        return pd.DataFrame(columns).iloc[order].reset_index(drop=True)

    def decision_function(self, X: Any, position: int | None = None) -> NDArray[np.float64]:
        """Value of the function: for classes about -1 for the first, and 1 for the second.

        Parameters
        ----------
        X : array, sparse matrix or dataframe of shape (n_samples, n_features)
        position : int, optional
            Another point of ``path_`` than ``position_``.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        point = self._point(position)
        table = read_new(self, X)
        refuse_infinite_columns(table)
        refuse_text(table, "encode it as numbers")
        say_new_holes(table, self._holes)
        table = Imputer(self._fill).apply(table)
        # Far away a Gaussian kernel is 0, wherever that is; a polynomial goes on and on.
        farthest = FARTHEST if self.lattice == "gaussian" else np.inf
        Z = self._columns.transform(table.values, farthest)
        with np.errstate(over="ignore", invalid="ignore"):
            found = self._lattice.cross(point.nodes, point.zeta, Z) @ point.dual - point.offset
            return refuse_infinite(self._mean + self._unit * found)

    def predict(self, X: Any, position: int | None = None) -> NDArray:
        """Predict numbers, or the class of the sign of the decision value.

        Parameters
        ----------
        X : array, sparse matrix or dataframe of shape (n_samples, n_features)
        position : int, optional
            Another point of ``path_`` than ``position_``, as
            ``model.path_.at(n_features=3).position``.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        values = self.decision_function(X, position)
        if not hasattr(self, "classes_"):
            return values
        return np.asarray(self.classes_[(values > 0.0).astype(np.intp)])

    def score(self, X: Any, y: ArrayLike) -> float:
        """Coefficient of determination, or for classes the share of rows that are right.

        Parameters
        ----------
        X : like in ``fit``
        y : array of shape (n_samples,)

        Returns
        -------
        float
        """
        target, found = as_vector(y), self.predict(X)
        if hasattr(self, "classes_"):
            return float(accuracy_score(target, found))
        unit = size_exponent(np.abs(target).max())  # the score is free of units
        return float(r2_score(in_units(target, unit), in_units(found, unit)))

    # -- settings ----------------------------------------------------------------------------------

    def _check_settings(self) -> None:
        check_budgets(self.n_features_to_select)
        checks.one_of("lattice", self.lattice, LATTICES)
        checks.one_of("task", self.task, TASKS)
        checks.real(
            "sigma", self.sigma, at_least=NARROWEST, at_most=WIDEST,
            must=f"be a number from {NARROWEST:g} to {WIDEST:g}",
        )  # fmt: skip
        checks.whole("degree", self.degree, at_least=1, at_most=MOST_DEGREE)
        if isinstance(self.beta, str):
            checks.one_of("beta", self.beta, [AUTO], "a number")
        else:
            checks.real("beta", self.beta, at_least=1, at_most=100)
        checks.real("root_weight", self.root_weight, at_least=0, at_most=100)
        checks.whole("max_kernels", self.max_kernels, at_least=1)
        checks.real("tol", self.tol, at_least=LEAST_TOL, at_most=0.1)
        self._check_strengths()
        refuse_idle(self, IDLE)

    def _check_strengths(self) -> None:
        if is_whole(self.strengths):
            checks.whole("strengths", self.strengths, at_least=1)
            return
        try:
            given = np.atleast_1d(np.asarray(self.strengths, dtype=object)).tolist()
        except ValueError:
            given = []
        if not given:
            raise ValueError("strengths must be a whole number or several numbers, got none")
        for one in given:
            checks.real("strengths", one, at_least=WEAKEST, at_most=STRONGEST)
