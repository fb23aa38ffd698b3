"""CPU seconds of this process and its children: waiting for a shared machine does not count."""

import cProfile
import pstats
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any


def cpu_seconds() -> float:
    """User and system seconds so far, of this process and of the children that it waited for."""
    total = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        usage = resource.getrusage(who)
        total += usage.ru_utime + usage.ru_stime
    return total


def once(run: Callable[[], Any]) -> float:
    start = cpu_seconds()
    run()
    return cpu_seconds() - start


def best(
    run: Callable[[], Any], *, repeats: int = 5, least: float = 0.05, longest: float = 8.0
) -> float:
    """The least seconds of a call, each measured over as many calls as take `least` seconds. It is
    not called again after `longest` seconds in all."""
    first = once(run)
    calls = max(1, int(least / max(first, 1e-6)))
    if first > longest / 2:
        return first
    found, spent = [], first
    while len(found) < repeats and spent < longest:
        taken = once(lambda: [run() for _ in range(calls)])
        found.append(taken / calls)
        spent += taken
    return min(found)


def hot_spots(run: Callable[[], Any], count: int = 3) -> list[str]:
    """The functions that take most of a call by themselves, and their share of it."""
    profile = cProfile.Profile()
    profile.runcall(run)
    found: Any = pstats.Stats(profile)
    total = max(found.total_tt, 1e-9)
    by_own = sorted(found.stats.items(), key=lambda item: item[1][2], reverse=True)
    return [
        f"{_place(file, name)} {100 * times[2] / total:.0f}%"
        for (file, _, name), times in by_own[:count]
    ]


def _place(file: str, name: str) -> str:
    """`module.function`, short enough for a table."""
    name = name.strip("<>").removeprefix("built-in method ").removeprefix("method ")
    name = name.split(" of ")[0].strip("'")
    if file in ("~", ""):
        return name.rsplit(".", 1)[-1]
    return f"{Path(file).stem}.{name}"
