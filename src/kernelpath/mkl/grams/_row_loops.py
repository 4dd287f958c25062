"""Compiled sum of rows of single precision."""

from __future__ import annotations

from kernelpath.utils.compiled import compiled


@compiled()
def add_rows(kept, slots, factors, total):
    """Add ``factors[t] * kept[slots[t]]`` to ``total``, in double precision."""
    for t in range(slots.shape[0]):
        row = kept[slots[t]]
        factor = factors[t]
        for j in range(total.shape[0]):
            total[j] += factor * row[j]
