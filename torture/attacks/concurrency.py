"""Fits that run at the same time, in threads, processes and event loops."""

import asyncio
import functools
import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np

from torture._attack import Broken, attack

_WORKERS = 2
_FITS = 3  # in a trial

Seeds = Sequence[int]


def fitted(seed: int) -> bytes:
    """Return the model file of a fit to noisy random data."""
    import tempfile

    import orthoreg as og

    rng, times = np.random.default_rng(seed), np.arange(150) * 0.05
    states = np.c_[np.cos(times), -np.sin(times)] + 0.02 * rng.standard_normal((150, 2))
    data = og.Dataset.from_arrays(states, times, names=["x", "v"])
    residual = og.Zero() if seed % 2 else og.RandomFeatures(20)
    model = og.OrthoReg("poly(2)", residual).fit(data)
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "m.orthoreg")
        return (Path(folder) / "m.orthoreg").read_bytes()


def _in_threads(seeds: Seeds) -> list[bytes]:
    with ThreadPoolExecutor(_WORKERS) as pool:
        return list(pool.map(fitted, seeds))


def _in_event_loop(seeds: Seeds) -> list[bytes]:
    async def gathered() -> list[bytes]:
        return await asyncio.gather(*(asyncio.to_thread(fitted, seed) for seed in seeds))

    return asyncio.run(gathered())


def _by_joblib(backend: str, seeds: Seeds) -> list[bytes]:
    from joblib import Parallel, delayed

    calls = (delayed(fitted)(seed) for seed in seeds)
    return [bytes(file or b"") for file in Parallel(_WORKERS, backend=backend)(calls)]


def _by_dask(scheduler: str, seeds: Seeds) -> list[bytes]:
    from dask.base import compute
    from dask.delayed import delayed

    tasks = [delayed(fitted)(seed) for seed in seeds]
    return list(compute(*tasks, scheduler=scheduler, num_workers=_WORKERS))


def _in_processes(method: str, seeds: Seeds) -> list[bytes]:
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(_WORKERS, mp_context=context) as pool:
        return list(pool.map(fitted, seeds))


_THREADS: dict[str, Callable[[Seeds], list[bytes]]] = {
    "threads": _in_threads,
    "asyncio": _in_event_loop,
    "joblib's threads": functools.partial(_by_joblib, "threading"),
    "Dask's threads": functools.partial(_by_dask, "threads"),
}
_PROCESSES: dict[str, Callable[[Seeds], list[bytes]]] = {
    "fork": functools.partial(_in_processes, "fork"),
    "spawn": functools.partial(_in_processes, "spawn"),
    "loky": functools.partial(_by_joblib, "loky"),
    "Dask's processes": functools.partial(_by_dask, "processes"),
}


def _compare(ways: dict[str, Callable[[Seeds], list[bytes]]], rng: np.random.Generator) -> None:
    seeds = [int(seed) for seed in rng.integers(0, 1000, _FITS)]
    way = str(rng.choice(list(ways)))
    expected = [fitted(seed) for seed in seeds]
    if ways[way](seeds) != expected:
        raise Broken(f"{way}: model files differ from those of one fit after the other")


@attack("concurrency", trials=100, seconds=120.0)
def model_files_of_threads(rng: np.random.Generator, folder: Path) -> None:
    """Fits that run at the same time in threads, in an event loop, or in threads of joblib or Dask
    write the same model files as fits one after the other."""
    _compare(_THREADS, rng)


@attack("concurrency", trials=50, seconds=120.0)
def model_files_of_processes(rng: np.random.Generator, folder: Path) -> None:
    """Fits in processes that are forked, spawned, or started by joblib or Dask write the same model
    files."""
    _compare(_PROCESSES, rng)
