"""Apply a function to many items, in this process or on a Dask cluster, and limit BLAS threads."""

import operator
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import reduce
from typing import Any, final

from .errors import InputError, OrthoregError, missing_extra
from .imports import import_cleanly
from .progress import progress

MANY_ROWS = 200_000
"""Minimum number of rows for which several threads compute moments."""

_FAN_IN = 8  # number of results that one cluster task adds
_MAX_IDLE = 120.0  # maximum seconds without any worker
# retries of an item after temporary errors such as a lost connection or a lack of memory
_RETRIES = 2
_client: ContextVar[Any] = ContextVar("the Dask client in use", default=None)


@final
class _BlasLimit:
    """A limit of BLAS to one thread while any thread of this process is inside `one_thread`.

    The number of BLAS threads is a property of the process. The last block to end restores it.
    """

    def __init__(self):
        self.reset()

    def reset(self) -> None:
        """Reset the state in a forked process, where the blocks of other threads never end."""
        self._lock, self._holders, self._limits = threading.Lock(), 0, None

    def acquire(self) -> None:
        """Enter a block."""
        import_cleanly("threadpoolctl")
        from threadpoolctl import threadpool_limits

        with self._lock:
            if self._holders == 0:
                with _control_of_blas():
                    self._limits = threadpool_limits(limits=1, user_api="blas")
            self._holders += 1

    def release(self) -> None:
        """Leave a block."""
        with self._lock:
            # zero in a process that was forked inside a block
            self._holders = max(self._holders - 1, 0)
            if self._holders == 0 and self._limits is not None:
                with _control_of_blas():
                    self._limits.restore_original_limits()


@contextmanager
def _control_of_blas() -> Iterator[None]:
    """Let this thread set the number of BLAS threads of the process.

    From version 3.8, threadpoolctl ignores all threads but the first one that sets a limit.
    However, the last block to end may be in a different thread from the first block to begin.
    """
    import threadpoolctl

    controller = getattr(threadpoolctl, "OpenBLASController", None)
    clear = getattr(controller, "clear_controlling_thread", lambda force: None)
    clear(force=True)
    try:
        yield
    finally:
        clear(force=True)


_blas_limit = _BlasLimit()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_blas_limit.reset)


@contextmanager
def one_thread(rows: int = 0) -> Iterator[None]:
    """Limit BLAS to one thread within the block, unless there are at least `MANY_ROWS` rows.

    With small matrices, several threads only wait for each other: on a busy machine, a fit of 600
    rows took 28 seconds of CPU time with two threads and 5 seconds with one.
    """
    if rows >= MANY_ROWS:
        yield
        return
    _blas_limit.acquire()
    try:
        yield
    finally:
        _blas_limit.release()


@contextmanager
def cluster(target: Any) -> Iterator[Any]:
    """Run the work within a `with` block on a Dask cluster.

    A client or a local cluster that is created here is closed at the end.

    Parameters
    ----------
    target
        a number of local worker processes with one thread each, the address of a scheduler
        ("tcp://10.0.0.1:8786"), or a `distributed.Client`. With None, work runs in this process.

    Returns
    -------
    context
        a context manager.

    Examples
    --------
    >>> import orthoreg as og
    >>> with og.cluster(None):  # None: everything runs in this process
    ...     pass
    """
    if target is None:
        yield None
        return
    variables = set(os.environ)
    client, owned = _connected(target)
    variables = set(os.environ) - variables  # variables that the import set for the workers
    token = _client.set(client)
    try:
        yield client
    finally:
        _client.reset(token)
        for resource in owned:
            resource.close()
        for name in variables:
            os.environ.pop(name, None)


def map_in_order(
    function: Callable[[Any], Any],
    items: Sequence[Any],
    description: str,
    *,
    sizes: Sequence[int] | None = None,
) -> list[Any]:
    """Return function(item) for each item, in order.

    `sizes` are numbers of rows, for the progress bar.
    """
    client, sizes = _client.get(), sizes or [1] * len(items)
    if client is None or not items:
        with progress(description, sum(sizes)) as show:
            call = _CallWithProgress(show, sizes)
            return [call(function, item) for item in items]
    return _gathered(client, _submitted(client, function, items), description, sizes)


def map_reduce(
    function: Callable[[Any], Any],
    items: Sequence[Any],
    description: str,
    *,
    sizes: Sequence[int] | None = None,
) -> Any:
    """Return the sum of function(item) over all items. Results are added in order, as a tree.

    Only a few results are held at a time. The tree depends only on the number of items. The result
    therefore has the same digits in this process and on a cluster, even if workers die and other
    workers repeat their work.
    """
    client, sizes = _client.get(), sizes or [1] * len(items)
    if client is None:
        tree = _Tree()
        with progress(description, sum(sizes)) as show:
            call = _CallWithProgress(show, sizes)
            for item in items:
                tree.add(call(function, item))
        return tree.total()
    level = item_futures = _submitted(client, function, items)
    while len(level) > 1:
        groups = [level[i : i + _FAN_IN] for i in range(0, len(level), _FAN_IN)]
        level = [client.submit(_combined, group, pure=False, retries=_RETRIES) for group in groups]
    return _gathered(client, level, description, sizes, item_futures)[0]


def as_completed(function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[tuple[int, Any]]:
    """Yield (index of the item, function(item)) in order of completion on the cluster.

    If a call or its worker failed, the exception is yielded instead of the result.
    """
    from distributed import as_completed as completed

    client = _client.get()
    futures = _submitted(client, function, items)
    index = {future.key: i for i, future in enumerate(futures)}
    with client.as_current():
        for future in completed(futures):
            error = future.exception()
            yield index[future.key], future.result() if error is None else error


def has_cluster() -> bool:
    """Return whether work runs on a cluster."""
    return _client.get() is not None


def _connected(target: Any) -> tuple[Any, list[Any]]:
    """Return a client, and the objects to close after use."""
    try:
        import distributed
    except ImportError:
        raise missing_extra("distributed", "dask", "Working on a cluster") from None
    if isinstance(target, distributed.Client):
        return target, []
    if isinstance(target, str):
        try:
            client = distributed.Client(target, timeout="10s", set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            raise InputError(
                f"No Dask scheduler answers at '{target}': {error}. Start one with 'dask "
                f"scheduler', or give a number of local workers."
            ) from None
        return client, [client]
    if isinstance(target, bool) or not isinstance(target, int) or target < 1:
        raise InputError(
            f"A cluster is a number of local workers, the address of a Dask scheduler, such as "
            f"'tcp://10.0.0.1:8786', or a distributed.Client; got {target!r}."
        )
    local = distributed.LocalCluster(
        n_workers=target, threads_per_worker=1, dashboard_address=":0", memory_limit="auto",
        silence_logs=50,
    )  # fmt: skip
    # replace workers that die and do not restart in time, as on a busy machine
    local.adapt(minimum=target, maximum=target, interval="5s")
    client = distributed.Client(local, set_as_default=False)
    return client, [client, local]


def _submitted(client: Any, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    # as a task, the function is sent only once, and again only if the worker that holds it dies
    shared = client.submit(_identity, function, pure=False)
    return [
        client.submit(operator.call, shared, item, pure=False, retries=_RETRIES) for item in items
    ]


def _identity(value: Any) -> Any:
    return value


def _combined(results: Sequence[Any]) -> Any:
    return reduce(operator.add, results)


def _gathered(
    client: Any,
    futures: list[Any],
    description: str,
    sizes: Sequence[int],
    item_futures: list[Any] | None = None,
) -> list[Any]:
    """Return the results of `futures`. Progress counts finished `item_futures`, by default
    `futures`."""
    from distributed import KilledWorker, wait

    item_futures, pending = futures if item_futures is None else item_futures, list(futures)
    started = last_worker_time = time.monotonic()
    with client.as_current(), progress(description, sum(sizes)) as show:
        while pending and not any(future.status == "error" for future in futures):
            try:
                pending = list(
                    wait(pending, timeout=0.5, return_when="FIRST_COMPLETED").not_done  # pyright: ignore[reportAttributeAccessIssue]
                )
            except TimeoutError:
                pass
            now = time.monotonic()
            last_worker_time = now if client.nthreads() else last_worker_time
            if now - last_worker_time > _MAX_IDLE:
                raise ClusterError(
                    f"The cluster at {client.scheduler.address} has had no worker for "
                    f"{_MAX_IDLE:.0f} s. Start workers, or read their logs for the reason."
                )
            has_ended = [future.status not in ("pending", "lost") for future in item_futures]
            done = sum(size for size, ended in zip(sizes, has_ended, strict=True) if ended)
            show(done, _rate(done, sum(sizes), now - started))
    try:
        return client.gather(futures)
    except KilledWorker as error:
        raise ClusterError(
            f"{error.allowed_failures + 1} workers died while processing the same chunk, most "
            f"likely because memory ran out. Give workers more memory, or read smaller chunks."
        ) from None


class ClusterError(OrthoregError, RuntimeError):
    """The cluster cannot finish the work."""


@final
class _Tree:
    """Results that are combined in groups of eight, level by level, as in `map_reduce` on a
    cluster.
    """

    def __init__(self):
        self._levels: list[list[Any]] = [[]]

    def add(self, result: Any) -> None:
        """Add a result."""
        self._levels[0].append(result)
        for height, level in enumerate(self._levels):
            if len(level) < _FAN_IN:
                break
            self._combine(height)

    def total(self) -> Any:
        """Return the combination of all results."""
        for height, level in enumerate(self._levels):
            if level and (height + 1 < len(self._levels) or len(level) > 1):
                self._combine(height)
        return self._levels[-1][0]

    def _combine(self, height: int) -> None:
        if height + 1 == len(self._levels):
            self._levels.append([])
        self._levels[height + 1].append(_combined(self._levels[height]))
        self._levels[height].clear()


@final
class _CallWithProgress:
    """Calls a function. Before each call, it shows the work done so far and its rate."""

    def __init__(self, show: Callable[[float, str], None], sizes: Sequence[int]):
        self._show, self._sizes, self._done, self._index = show, list(sizes), 0, 0
        self._started = time.monotonic()

    def __call__(self, function: Callable[[Any], Any], item: Any) -> Any:
        seconds = time.monotonic() - self._started
        self._show(self._done, _rate(self._done, sum(self._sizes), seconds))
        result = function(item)
        self._done += self._sizes[self._index]
        self._index += 1
        return result


def _rate(done: int, total: int, seconds: float) -> str:
    """Return a rate such as '1.3e+06 rows/s', or '' if it is unknown or there are few items."""
    return f"{done / seconds:.2g} rows/s" if total > 1000 and done and seconds > 0 else ""
