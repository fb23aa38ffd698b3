"""How many threads linear algebra may take."""

from collections.abc import Iterator
from contextlib import contextmanager

MANY_ROWS = 200_000
"""Rows from which on moments of rows take several threads."""


@contextmanager
def one_thread(rows: int = 0) -> Iterator[None]:
    """Inside, BLAS works in one thread unless there are `MANY_ROWS`; afterwards as before. Several
    threads do not speed small matrices up, but wait for each other: on a machine that others use
    as well, a fit of 600 rows took 28 seconds of processor time with two threads and 5 with one."""
    from threadpoolctl import threadpool_limits

    if rows >= MANY_ROWS:
        yield
        return
    with threadpool_limits(limits=1, user_api="blas"):
        yield
