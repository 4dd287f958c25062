"""Spectral: features that vary little between similar rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.spatial.distance import cdist

from kernelpath.baselines._base import CLASSES, NUMBERS, Answer, BaselineSelector, Ranking, ranked
from kernelpath.tables.targets import TASKS
from kernelpath.utils import checks

LARGEST = 2.0  # eigenvalues of a normalised Laplacian are between 0 and this
SAME = 1e-9  # eigenvalues that differ by rounding
BLOCK_VALUES = 2**21  # of similarities held at a time


class Spectral(BaselineSelector):
    r"""SPEC: features that change little between similar rows [zhao2007]_.

    Similarities :math:`W` of rows, with row sums :math:`D`, have the Laplacian
    :math:`L = I - D^{-1/2} W D^{-1/2}`, its eigenvalues :math:`0 = \lambda_1 \le \dots \le
    \lambda_n \le 2` and eigenvectors :math:`\xi_i`.  A standardised feature :math:`f` is
    :math:`\hat f = D^{1/2} f / \|D^{1/2} f\|`, with :math:`\alpha_i = \hat f^\top \xi_i`, and

    .. math:: \varphi_1 = \sum_i \alpha_i^2 \lambda_i, \qquad
              \varphi_2 = \frac{\sum_{i > 1} \alpha_i^2 \lambda_i}{\sum_{i > 1} \alpha_i^2}, \qquad
              \varphi_3 = \sum_{i = 2}^{k} \alpha_i^2 (2 - \lambda_i)

    A small :math:`\varphi_1` or :math:`\varphi_2` and a large :math:`\varphi_3` are good.

    Parameters
    ----------
    n_features_to_select : int, sequence of int, or "all", optional
        Budget; or several, or all from 1 on: then ``path_`` holds them all, and the largest one
        is selected.  Default: all from 1 to 10, or as many as there are.
    style : int
        -1 ranks by :math:`\varphi_1`; 0 by :math:`\varphi_2`, which leaves out what a feature has
        in common with the constant; :math:`k \ge 2` by :math:`\varphi_3` of the first k
        eigenvectors, and of all that have the eigenvalue of the last of them.
    supervised : bool
        Whether similar rows are those of a similar target: of the same class, where each weighs
        one over the rows of the class, or by a Gaussian of the standardised numbers.  Otherwise the
        target is not looked at: similar are rows by a Gaussian of all standardised columns.
    gamma : float, optional
        Of Gaussians, :math:`\exp(-\gamma \|x - x'\|^2)`.  Default: one over the number of columns.
    task : {"auto", "classification", "regression"}

    Attributes
    ----------
    path_ : FeaturePath
        One nested point for each budget; weights are the scores.
    scores_ : ndarray of shape (n_features,)
        :math:`2 - \varphi_1`, :math:`2 - \varphi_2` or :math:`\varphi_3`, so that more is better.
    ranking_ : ndarray of int, shape (n_features,)
        1 is the best; constant columns share the last rank.
    support_ : ndarray of bool, shape (n_features,)
    budgets_, n_features_in_, feature_names_in_, classes_

    Notes
    -----
    With classes :math:`\varphi_1 = \varphi_2` is the share of the variance within the classes, so
    the order is that of the Fisher score of several classes.  Gaussians take time that grows with
    the square of the rows, and their :math:`\varphi_3` all eigenvectors: the cube, and a matrix.

    References
    ----------
    .. [zhao2007] Zhao, Liu. Spectral feature selection for supervised and unsupervised learning.
       ICML, 2007.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import kernelpath as kp
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> kp.baselines.Spectral(2).fit(X, y).path_[0].names
    ('petal length (cm)', 'petal width (cm)')
    >>> kp.baselines.Spectral(1, supervised=False).fit(X, y).path_[0].names
    ('petal length (cm)',)
    """

    METHOD: ClassVar[str] = "spectral"
    TASKS: ClassVar[tuple[str, ...]] = (CLASSES, NUMBERS)
    POSITIVE: ClassVar[tuple[str, ...]] = ()
    LEAST_ROWS: ClassVar[int] = 4

    def __init__(
        self,
        n_features_to_select: Any = None,
        *,
        style: int = -1,
        supervised: bool = True,
        gamma: float | None = None,
        task: str = "auto",
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.style = style
        self.supervised = supervised
        self.gamma = gamma
        self.task = task

    def _check_settings(self) -> None:
        super()._check_settings()
        checks.one_of("task", self.task, TASKS)
        checks.flag("supervised", self.supervised)
        if not (checks.is_whole(self.style) and (self.style in (-1, 0) or self.style >= 2)):
            raise ValueError(
                f"style must be -1, 0, or a whole number from 2 on, got {self.style!r}"
            )
        if self.gamma is not None:
            checks.real("gamma", self.gamma, above=0, must=checks.POSITIVE)

    def _rank(self, Z: NDArray[np.float64], answer: Answer, budgets: list[int]) -> Ranking:
        style = int(self.style)
        if self.supervised and answer.task != NUMBERS:
            return ranked(class_scores(Z, answer.codes, style))
        rows = answer.values[:, None] if self.supervised else Z
        gamma = 1.0 / rows.shape[1] if self.gamma is None else float(self.gamma)
        if style > 0:
            return ranked(eigenvector_scores(Z, rows, gamma, style))
        return ranked(smoothness(Z, rows, gamma, weighted_mean=style == 0))


def class_scores(
    Z: NDArray[np.float64], codes: NDArray[np.intp], style: int
) -> NDArray[np.float64]:
    """Scores with similarities of classes, whose eigenvalues are 0, once for each, and 1.

    Examples
    --------
    >>> class_scores(np.array([[-1.0], [-1.0], [1.0], [1.0]]), np.array([0, 0, 1, 1]), -1).tolist()
    [2.0]
    """
    counts = np.bincount(codes)
    means = np.array([Z[codes == k].mean(axis=0) for k in range(len(counts))])
    between = counts @ np.square(means) / np.square(Z).sum(axis=0)
    if 0 < style <= len(counts):
        return LARGEST * between
    return 1.0 + np.minimum(between, 1.0)  # 2 between + 1 (1 - between), and 2 - (1 - between)


def smoothness(
    Z: NDArray[np.float64], rows: NDArray[np.float64], gamma: float, *, weighted_mean: bool
) -> NDArray[np.float64]:
    """Scores of the first ranking function, or less the ``weighted_mean`` of the second.

    Examples
    --------
    >>> Z, rows = np.array([[-1.0], [-1.0], [1.0], [1.0]]), np.array([[0.0], [0.0], [9.0], [9.0]])
    >>> smoothness(Z, rows, 1.0, weighted_mean=False).tolist()
    [2.0]
    """
    degree, inside = np.empty(len(Z)), np.zeros(Z.shape[1])
    for which, similar in _similarities(rows, gamma):
        degree[which] = similar.sum(axis=1)
        inside += np.einsum("ij,ij->j", Z[which], similar @ Z)
    size = degree @ np.square(Z)
    apart = np.maximum(size - inside, 0.0)
    if weighted_mean:
        size = size - np.square(degree @ Z) / degree.sum()
    return np.maximum(LARGEST - apart / size, 0.0)


def eigenvector_scores(
    Z: NDArray[np.float64], rows: NDArray[np.float64], gamma: float, most: int
) -> NDArray[np.float64]:
    """Scores of the third ranking function."""
    similar = np.concatenate([part for _, part in _similarities(rows, gamma)])
    root = np.sqrt(similar.sum(axis=1))
    similar /= np.outer(root, root)
    first = root / np.linalg.norm(root)
    similar -= np.outer(first, LARGEST * first)  # the first eigenvector becomes the last
    values, vectors = linalg.eigh(similar)
    eigenvalues = 1.0 - values[:0:-1]
    last = eigenvalues[min(most - 1, len(eigenvalues)) - 1]
    kept = np.flatnonzero(eigenvalues <= last + SAME)
    scaled = Z * root[:, None]
    shares = np.square(vectors[:, :0:-1][:, kept].T @ scaled) / np.square(scaled).sum(axis=0)
    return (LARGEST - eigenvalues[kept]) @ shares


def _similarities(
    rows: NDArray[np.float64], gamma: float
) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    """Rows of the matrix of similarities, some at a time."""
    step = max(1, BLOCK_VALUES // len(rows))
    for start in range(0, len(rows), step):
        which = slice(start, min(start + step, len(rows)))
        yield which, np.exp(-gamma * cdist(rows[which], rows, "sqeuclidean"))
