"""Compiled ends of a combination: mirror one triangle, centre with the training rows."""

from __future__ import annotations

from kernelpath.utils.compiled import compiled

FAST = {"reassoc", "contract", "nsz"}
TILE = 32


@compiled(fastmath=FAST)
def triangle_means(lower, weight, means):
    """Weighted means of the columns of a symmetric matrix, given its lower triangle."""
    means[:] = 0.0
    for i in range(lower.shape[0]):
        row = lower[i]
        w = weight[i]
        total = w * row[i]
        for j in range(i):
            means[j] += w * row[j]
            total += weight[j] * row[j]
        means[i] += total


@compiled()
def centre_triangle(matrix, means, grand):
    """Centre the lower triangle in place and mirror it, tile by tile."""
    n = matrix.shape[0]
    for top in range(0, n, TILE):
        bottom = min(top + TILE, n)
        for left in range(0, bottom, TILE):
            for i in range(top, bottom):
                shift = means[i] - grand
                for j in range(left, min(left + TILE, i + 1)):
                    value = (matrix[i, j] - means[j]) - shift
                    matrix[i, j] = value
                    matrix[j, i] = value


@compiled(fastmath=FAST)
def centre_rows(matrix, weight, means, grand):
    """Centre new rows with the training rows, in place."""
    for i in range(matrix.shape[0]):
        row = matrix[i]
        own = 0.0
        for j in range(row.shape[0]):
            own += weight[j] * row[j]
        for j in range(row.shape[0]):
            row[j] = (row[j] - means[j]) - (own - grand)
