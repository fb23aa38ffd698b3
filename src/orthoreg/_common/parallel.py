"""One function over many items, here or on a cluster that somebody else runs: no scheduler."""

import operator
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import reduce
from typing import Any, final

from .errors import InputError, OrthoregError, missing_extra
from .progress import progress

_FAN_IN = 8  # results that are added up at once on the cluster
_PATIENCE = 120.0  # seconds without any worker
_RETRIES = 2  # of an item whose worker raised what may pass: a lost connection, no memory
_client: ContextVar[Any] = ContextVar("the Dask client that work goes to", default=None)


@contextmanager
def cluster(target: Any) -> Iterator[Any]:
    """Work inside goes to a Dask cluster: a number of local worker processes of one thread each,
    the address of a scheduler ("tcp://10.0.0.1:8786"), or a `distributed.Client`. What it made
    itself it closes again.

    Parameters
    ----------
    target
        a number, an address or a client; None for no cluster.

    Returns
    -------
    context
        for `with`.

    Examples
    --------
    >>> import orthoreg as og
    >>> with og.cluster(None):  # None: everything runs in this process
    ...     pass
    """
    if target is None:
        yield None
        return
    client, owned = _connected(target)
    token = _client.set(client)
    try:
        yield client
    finally:
        _client.reset(token)
        for one in owned:
            one.close()


def map_in_order(
    function: Callable[[Any], Any],
    items: Sequence[Any],
    words: str,
    *,
    sizes: Sequence[int] | None = None,
) -> list[Any]:
    """function(item) for every item, in their order. `sizes` are the rows of each, for progress."""
    client, sizes = _client.get(), sizes or [1] * len(items)
    if client is None or not items:
        with progress(words, sum(sizes)) as show:
            told = _Throughput(show, sizes)
            return [told(function, item) for item in items]
    return _gathered(client, _submitted(client, function, items), words, sizes)


def map_reduce(
    function: Callable[[Any], Any],
    items: Sequence[Any],
    words: str,
    *,
    sizes: Sequence[int] | None = None,
) -> Any:
    """The sum of function(item) over all items, added in their order as a tree, so that no more
    than a few results are held at once. The tree depends on the number of items alone: here or on a
    cluster, with workers that die or without, the result has the same digits. What a worker had
    when it died is computed again elsewhere."""
    client, sizes = _client.get(), sizes or [1] * len(items)
    if client is None:
        tree = _Tree()
        with progress(words, sum(sizes)) as show:
            told = _Throughput(show, sizes)
            for item in items:
                tree.add(told(function, item))
        return tree.total()
    level = watched = _submitted(client, function, items)
    while len(level) > 1:
        groups = [level[i : i + _FAN_IN] for i in range(0, len(level), _FAN_IN)]
        level = [client.submit(_combined, group, pure=False, retries=_RETRIES) for group in groups]
    return _gathered(client, level, words, sizes, watched)[0]


def as_completed(function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[tuple[int, Any]]:
    """The place of each item, as they are done on the cluster, and function(item); the exception
    where that or its worker failed."""
    from distributed import as_completed as completed

    client = _client.get()
    futures = _submitted(client, function, items)
    place = {future.key: number for number, future in enumerate(futures)}
    with client.as_current():
        for future in completed(futures):
            error = future.exception()
            yield place[future.key], future.result() if error is None else error


def has_cluster() -> bool:
    """Whether work goes to a cluster."""
    return _client.get() is not None


def _connected(target: Any) -> tuple[Any, list[Any]]:
    """A client, and what must be closed after it was used."""
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
    # one that dies and, on a busy machine, is not back in time is replaced by a new one
    local.adapt(minimum=target, maximum=target, interval="5s")
    client = distributed.Client(local, set_as_default=False)
    return client, [client, local]


def _submitted(client: Any, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    # a task of its own: sent once, and made again where the worker that holds it dies
    shared = client.submit(_same, function, pure=False)
    return [client.submit(_apply, shared, item, pure=False, retries=_RETRIES) for item in items]


def _same(value: Any) -> Any:
    return value


def _apply(function: Callable[[Any], Any], item: Any) -> Any:
    return function(item)


def _combined(results: Sequence[Any]) -> Any:
    return reduce(operator.add, results)


def _gathered(
    client: Any,
    futures: list[Any],
    words: str,
    sizes: Sequence[int],
    watched: list[Any] | None = None,
) -> list[Any]:
    """The results; progress counts the `watched` ones that are done."""
    from distributed import KilledWorker, wait

    watched, waiting = futures if watched is None else watched, list(futures)
    started = seen = time.monotonic()
    with client.as_current(), progress(words, sum(sizes)) as show:
        while waiting and not any(one.status == "error" for one in futures):
            try:
                waiting = list(
                    wait(waiting, timeout=0.5, return_when="FIRST_COMPLETED").not_done  # pyright: ignore[reportAttributeAccessIssue]
                )
            except TimeoutError:
                pass
            now = time.monotonic()
            seen = now if client.nthreads() else seen
            if now - seen > _PATIENCE:
                raise ClusterError(
                    f"The cluster at {client.scheduler.address} has had no worker for "
                    f"{_PATIENCE:.0f} s. Start some, or see in their logs why they ended."
                )
            ended = [one.status not in ("pending", "lost") for one in watched]
            done = sum(size for size, is_done in zip(sizes, ended, strict=True) if is_done)
            show(done, _rate(done, sum(sizes), now - started))
    try:
        return client.gather(futures)
    except KilledWorker as error:
        raise ClusterError(
            f"A chunk ended {error.allowed_failures + 1} workers that tried it, most likely for "
            f"lack of memory. Give workers more of it, or read smaller chunks."
        ) from None


class ClusterError(OrthoregError, RuntimeError):
    """A cluster that cannot do the work."""


@final
class _Tree:
    """Results combined eight at a time, then eight of these, as `map_reduce` does on a cluster."""

    def __init__(self):
        self._levels: list[list[Any]] = [[]]

    def add(self, result: Any) -> None:
        """One more result."""
        self._levels[0].append(result)
        for height, level in enumerate(self._levels):
            if len(level) < _FAN_IN:
                break
            self._raise(height)

    def total(self) -> Any:
        """All results, combined."""
        for height, level in enumerate(self._levels):
            if level and (height + 1 < len(self._levels) or len(level) > 1):
                self._raise(height)
        return self._levels[-1][0]

    def _raise(self, height: int) -> None:
        if height + 1 == len(self._levels):
            self._levels.append([])
        self._levels[height + 1].append(_combined(self._levels[height]))
        self._levels[height].clear()


@final
class _Throughput:
    """Calls a function and says how much was done, and how fast."""

    def __init__(self, show: Callable[[float, str], None], sizes: Sequence[int]):
        self._show, self._sizes, self._done, self._at = show, list(sizes), 0, 0
        self._started = time.monotonic()

    def __call__(self, function: Callable[[Any], Any], item: Any) -> Any:
        seconds = time.monotonic() - self._started
        self._show(self._done, _rate(self._done, sum(self._sizes), seconds))
        found = function(item)
        self._done += self._sizes[self._at]
        self._at += 1
        return found


def _rate(done: int, total: int, seconds: float) -> str:
    """'1.3e+06 rows/s', once that is known; nothing where there are only a few items."""
    return f"{done / seconds:.2g} rows/s" if total > 1000 and done and seconds > 0 else ""
