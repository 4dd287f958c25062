r"""Gaussian kernels of one column as sums of waves: no matrix of rows by rows is needed.

By Poisson's summation formula, for differences :math:`|t| \le R`,

.. math:: e^{-t^2/2} \approx \frac{h}{\sqrt{2\pi}}
          \Bigl(1 + 2 \sum_{m=1}^{M} e^{-(hm)^2/2} \cos(h m t)\Bigr), \qquad
          h = \frac{2\pi}{R + s},\quad M = \lceil s / h \rceil,

within a few times :math:`e^{-s^2/2}`, which is :data:`NEGLIGIBLE`.  Centring removes the constant,
and the cosine of a difference is a product of two waves: the centred kernel is that of
:math:`2 M` numbers a row, few of which matter.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from kernelpath.utils.compiled import compiled

NEGLIGIBLE = 1e-12  # of a kernel, entry by entry
DROPPED = 1e-8  # Frobenius norm that a factor may lack, relative to the kernel
REACH = math.sqrt(-2.0 * math.log(NEGLIGIBLE))  # s
ROW_BLOCK = 256  # rows whose waves stay in the cache
FAST = {"reassoc", "contract", "nsz"}


@compiled(part=True)
def _spacing(x, reach):
    """``h`` and ``M`` for the values of a column."""
    h = 2.0 * math.pi / (x.max() - x.min() + reach)
    return h, math.ceil(reach / h)


@compiled(fastmath=FAST)
def wave_sums(x, Y, reach, block):
    """Return the squared norm of ``K`` and ``sum_c y_c' K y_c`` for the centred kernel of a column.

    ``Y`` has a centred column of the target in each row.  Products of two waves are waves, so that
    the norm needs the sums of ``2 M`` waves only, and not those of all pairs.
    """
    h, n_waves = _spacing(x, reach)
    n, q = x.shape[0], Y.shape[0]
    real, imag = np.zeros(2 * n_waves + 1), np.zeros(2 * n_waves + 1)
    along, across = np.zeros((q, n_waves + 1)), np.zeros((q, n_waves + 1))
    turn_r, turn_i = np.empty(block), np.empty(block)
    now_r, now_i = np.empty(block), np.empty(block)
    for start in range(0, n, block):
        size = min(block, n - start)
        for i in range(size):
            turn_r[i], turn_i[i] = math.cos(h * x[start + i]), math.sin(h * x[start + i])
            now_r[i], now_i[i] = 1.0, 0.0
        for m in range(1, 2 * n_waves + 1):
            total_r, total_i = 0.0, 0.0
            for i in range(size):
                r = now_r[i] * turn_r[i] - now_i[i] * turn_i[i]
                now_i[i] = now_r[i] * turn_i[i] + now_i[i] * turn_r[i]
                now_r[i] = r
                total_r += r
                total_i += now_i[i]
            real[m] += total_r
            imag[m] += total_i
            if m <= n_waves:
                for c in range(q):
                    y = Y[c, start : start + size]
                    total_r, total_i = 0.0, 0.0
                    for i in range(size):
                        total_r += y[i] * now_r[i]
                        total_i += y[i] * now_i[i]
                    along[c, m] += total_r
                    across[c, m] += total_i
    real[0] = n
    norm, agreement = 0.0, 0.0
    for a in range(1, n_waves + 1):
        weight = math.exp(-0.5 * (h * a) ** 2)
        for c in range(q):
            agreement += weight * (along[c, a] ** 2 + across[c, a] ** 2)
        for b in range(1, a + 1):
            same_r = real[a - b] - (real[a] * real[b] + imag[a] * imag[b]) / n
            same_i = imag[a - b] - (imag[a] * real[b] - real[a] * imag[b]) / n
            both_r = real[a + b] - (real[a] * real[b] - imag[a] * imag[b]) / n
            both_i = imag[a + b] - (imag[a] * real[b] + real[a] * imag[b]) / n
            part = same_r**2 + same_i**2 + both_r**2 + both_i**2
            twice = 1.0 if a == b else 2.0
            norm += twice * weight * math.exp(-0.5 * (h * b) ** 2) * part
    scale = 2.0 * h / math.sqrt(2.0 * math.pi)
    return 0.5 * scale * scale * norm, scale * agreement


@compiled()
def _waves(x, reach):
    """Waves of the values of a column, one in each row, times the roots of their weights."""
    h, n_waves = _spacing(x, reach)
    result = np.empty((2 * n_waves, x.shape[0]))
    root = math.sqrt(2.0 * h / math.sqrt(2.0 * math.pi))
    turn_r, turn_i = np.cos(h * x), np.sin(h * x)
    now_r, now_i = np.ones_like(x), np.zeros_like(x)
    for m in range(n_waves):
        weight = root * math.exp(-0.25 * (h * (m + 1)) ** 2)
        for i in range(x.shape[0]):
            r = now_r[i] * turn_r[i] - now_i[i] * turn_i[i]
            now_i[i] = now_r[i] * turn_i[i] + now_i[i] * turn_r[i]
            now_r[i] = r
            result[2 * m, i] = weight * r
            result[2 * m + 1, i] = weight * now_i[i]
    return result


def gaussian_factor(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Factor of the centred Gaussian kernel of width 1, scaled to Frobenius norm 1.

    Returns
    -------
    ndarray of shape (n_rows, rank)
        Its products are the kernel within :data:`DROPPED`.

    Examples
    --------
    >>> x = np.array([0.0, 0.5, 2.0])
    >>> K = np.exp(-0.5 * np.square(x[:, None] - x))
    >>> K = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    >>> factor = gaussian_factor(x)
    >>> factor.shape, np.allclose(factor @ factor.T, K / np.linalg.norm(K))
    ((3, 2), True)
    """
    return compressed(_waves(np.ascontiguousarray(x), REACH).T)


def compressed(factor: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same kernel, centred and of norm 1, by as few columns as :data:`DROPPED` allows."""
    factor = factor - factor.mean(axis=0)
    sizes, vectors = np.linalg.eigh(factor.T @ factor)
    squares = np.square(np.maximum(sizes, 0.0))
    keep = np.cumsum(squares) > DROPPED**2 * squares.sum()
    return factor @ (vectors[:, keep] / np.sqrt(np.linalg.norm(sizes[keep])))


def target_agreements(Z: NDArray[np.float64], Y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Inner product of the kernel of each column with that of the target, both of norm 1.

    Parameters
    ----------
    Z : ndarray of shape (n_rows, n_columns)
        Columns in units of the width of their kernels.
    Y : ndarray of shape (n_rows, rank)
        Centred factor of the kernel of the target, of norm 1.

    Examples
    --------
    >>> Z = np.array([[0.0, 3.0], [0.5, 1.0], [2.0, 0.0]])
    >>> target_agreements(Z, gaussian_factor(Z[:, 0])).round(3).tolist()
    [1.0, 0.677]
    """
    rows = np.ascontiguousarray(Y.T)
    result = np.empty(Z.shape[1])
    for j in range(Z.shape[1]):
        norm, agreement = wave_sums(np.ascontiguousarray(Z[:, j]), rows, REACH, ROW_BLOCK)
        result[j] = agreement / math.sqrt(norm)
    return result
