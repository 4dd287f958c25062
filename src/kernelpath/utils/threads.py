"""How many threads the matrix products of NumPy and SciPy may use.

Both bring their own threads, which wait for work by spinning: for matrices of a few hundred rows
those of one are in the way of the other, and all of them slower than one thread alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits

__all__ = ["one_thread_up_to"]


@contextmanager
def one_thread_up_to(most_rows: int, n_rows: int) -> Iterator[None]:
    """Keep matrix products to one thread where there are no more than so many rows.

    Examples
    --------
    >>> from kernelpath.utils.threads import one_thread_up_to
    >>> with one_thread_up_to(1000, n_rows=200):
    ...     pass
    """
    with threadpool_limits(1 if n_rows <= most_rows else None, user_api="blas"):
        yield
