"""L1MKLPath: the regularisation path of multiple kernel learning with logistic loss."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kernelpath.baselines._mkl_path import MKLPath
from kernelpath.baselines._own_path import Found, OwnPathBaseline
from kernelpath.baselines._waves import gaussian_factor
from kernelpath.errors import DataError
from kernelpath.utils import checks

KERNELS = ("rbf", "linear")
MOST_NUMBERS = 2**27  # of all factors, 1 GB


class L1MKLPath(OwnPathBaseline):
    r"""Path of multiple kernel learning over the strength of its block l1 norm [bach2004]_.

    .. math:: \min_{b, f_1, f_2, \ldots}\; \sum_i \log\bigl(1 + e^{-y_i f(x_i)}\bigr)
              + \lambda \sum_j \|f_j\|_{K_j}, \qquad f = b + \sum_j f_j

    with one kernel for each feature, from the :math:`\lambda` at which the first feature enters
    downwards.  This is PF-l1-MKL of the lp-KTA paper: a tangent predicts and Newton's method
    corrects, and where a feature enters or leaves is located to rounding errors.

    Parameters
    ----------
    n_features_to_select : int, optional
        The point that is selected: the last one with so many features, or the next fewer that the
        path has.  Default: the end of the path.
    kernel : {"rbf", "linear"}
        Kernels of the standardised features, centred and of trace `n_samples`; the Gaussian ones
        have the width of one standard deviation, as those of :class:`kernelpath.LpKTASelector`.
    max_features : int, optional
        Where more features have a weight for the first time, the path ends.
    smallest_ratio : float
        Where the path ends at the latest, relative to the largest :math:`\lambda`.

    Attributes
    ----------
    path_ : FeaturePath
        Points at the events and between them; ``parameters`` are :math:`\lambda`.  Weights are
        those of the kernels, :math:`\|f_j\| / \lambda`: the machine at a point is that with the
        kernel :math:`\sum_j \eta_j K_j`.  ``gaps`` are proved by a point of the dual problem and
        relative to the objective, ``kkt`` is the residual of the optimality conditions.
    intercepts_ : ndarray of shape (n_points,)
    weights_ : ndarray of shape (n_features,)
        Weights at the point that is selected, whose place is ``position_``.
    coefs_ : scipy.sparse.csr_array of shape (n_points, n_features)
        Weights at all points.
    support_ : ndarray of bool, shape (n_features,)
    position_, n_features_in_, feature_names_in_, classes_

    Notes
    -----
    The paper adds a logarithmic barrier to smooth the corners of the path.  Here the equations are
    written in the weights :math:`\eta_j`, in which they are smooth between two events, so there is
    no barrier, and no bias from it.  No matrix of rows by rows is needed for features without a
    weight: a kernel is the product of a factor with 10 to 20 columns, within a relative 1e-8.  Gaps
    are rounding errors; where two columns are nearly but not quite the same, events are let pass
    that are late by a relative 1e-5 at most, and the gaps say so.

    References
    ----------
    .. [bach2004] Bach, Thibaux, Jordan. Computing regularization paths for learning multiple
       kernels. Advances in Neural Information Processing Systems, 2004.

    Examples
    --------
    >>> import kernelpath as kp
    >>> data = kp.datasets.make_ring(n_samples=100, n_features=6, random_state=0)
    >>> model = kp.baselines.L1MKLPath(2).fit(data.X, data.y)
    >>> bool((model.get_support(indices=True) == sorted(data.relevant)).all())
    True
    >>> bool(model.path_.gaps.max() < 1e-7)
    True
    """

    METHOD: ClassVar[str] = "l1_mkl_path"
    PARAMETER: ClassVar[str] = "lambda"

    def __init__(
        self,
        n_features_to_select: int | None = None,
        *,
        kernel: str = "rbf",
        max_features: int | None = None,
        smallest_ratio: float = 0.01,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.kernel = kernel
        self.max_features = max_features
        self.smallest_ratio = smallest_ratio

    def _check_settings(self) -> None:
        super()._check_settings()
        checks.one_of("kernel", self.kernel, KERNELS)
        checks.real("smallest_ratio", self.smallest_ratio, above=0, must=checks.POSITIVE)
        checks.real("smallest_ratio", self.smallest_ratio, below=1, must="be below 1")

    def _follow(self, Z: NDArray[np.float64], label: NDArray[np.float64], most: int) -> Found:
        factors, room = [], MOST_NUMBERS
        for column in Z.T:
            factors.append(_factor(column, self.kernel))
            room -= factors[-1].size
            if room < 0:
                raise DataError(
                    "the factors of all kernels take more than a gigabyte; choose some of the "
                    "columns first, as with Fisher, or set kernel='linear'"
                )
        points = MKLPath(factors, label).run(most, float(self.smallest_ratio))
        self.intercepts_ = np.array([one.bias for one in points])
        return Found(
            columns=[one.columns for one in points],
            weights=[one.weights for one in points],
            parameters=[one.strength for one in points],
            values=[one.value for one in points],
            kkt=[one.kkt for one in points],
            gaps=[one.gap for one in points],
        )


def _factor(column: NDArray[np.float64], kernel: str) -> NDArray[np.float64]:
    """Factor of the centred kernel of a standardised column, of trace ``n_rows``.

    Examples
    --------
    >>> factor = _factor(np.array([-1.0, -1.0, 1.0, 1.0]), "rbf")
    >>> float(np.square(factor).sum().round(6))
    4.0
    """
    if kernel == "linear":
        return column[:, None]
    factor = gaussian_factor(column)
    return factor * (np.sqrt(len(column)) / np.linalg.norm(factor))
