"""CPU seconds of this process and its children. Waiting on a shared machine does not count."""

import cProfile
import pstats
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any


def cpu_seconds() -> float:
    """Return the user and system seconds of this process and of its finished children."""
    total = 0.0
    for processes in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        usage = resource.getrusage(processes)
        total += usage.ru_utime + usage.ru_stime
    return total


def once(run: Callable[[], Any]) -> float:
    start = cpu_seconds()
    run()
    return cpu_seconds() - start


def best(
    run: Callable[[], Any], *, repeats: int = 5, min_seconds: float = 0.05, max_total: float = 8.0
) -> float:
    """Return the minimum seconds per call.

    Each of `repeats` measurements takes at least `min_seconds`. Measurements stop after `max_total`
    seconds.
    """
    first = once(run)
    calls = max(1, int(min_seconds / max(first, 1e-6)))
    if first > max_total / 2:
        return first
    results, spent = [], first
    while len(results) < repeats and spent < max_total:
        seconds = once(lambda: [run() for _ in range(calls)])
        results.append(seconds / calls)
        spent += seconds
    return min(results)


def hot_spots(run: Callable[[], Any], count: int = 3) -> list[str]:
    """Return the functions with the largest fraction of the time of a call, without callees."""
    profile = cProfile.Profile()
    profile.runcall(run)
    statistics: Any = pstats.Stats(profile)
    total = max(statistics.total_tt, 1e-9)
    by_time = sorted(statistics.stats.items(), key=lambda item: item[1][2], reverse=True)
    return [
        f"{_label(file, name)} {100 * times[2] / total:.0f}%"
        for (file, _, name), times in by_time[:count]
    ]


def _label(file: str, name: str) -> str:
    """Return `module.function`."""
    name = name.strip("<>").removeprefix("built-in method ").removeprefix("method ")
    name = name.split(" of ")[0].strip("'")
    if file in ("~", ""):
        return name.rsplit(".", 1)[-1]
    return f"{Path(file).stem}.{name}"
