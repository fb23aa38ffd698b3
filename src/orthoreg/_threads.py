"""How many threads linear algebra may take."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def one_thread() -> Iterator[None]:
    """Inside, BLAS works in one thread; afterwards as before. Of small matrices several threads
    make no shorter work, but wait for each other, which costs processor time as well."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="blas"):
        yield
