"""The suite: every part of a fit compared with peers and the limits of the machine, in one run."""

import sys
from typing import Any

from .cases import CASES, Case
from .limits import LIMITS, disk, measure_limit, seconds_at_limit
from .timing import best, hot_spots


def measure() -> dict[str, Any]:
    """Measure all cases, one after the other, in this process with one thread."""
    limits = {name: measure_limit(name) for name in LIMITS} | disk()
    rows = []
    for case in CASES:
        print(f"  {case.name}", file=sys.stderr, flush=True)
        rows.append(measure_case(case))
    return {"limits": limits, "rows": rows}


def measure_case(case: Case) -> dict[str, Any]:
    work = case.prepare(True)
    ratio, seconds = times_limit(case, work, case.repeats)
    spots = hot_spots(work.run) if case.part != "commands" and seconds < _PROFILED else []
    peers = {}
    for name, peer in work.peers.items():
        theirs = peer.times * best(peer.run, repeats=3)
        peers[name] = {"seconds": theirs, "ratio": theirs / seconds}
    return {
        "part": case.part,
        "case": case.name,
        "seconds": seconds,
        "count": case.count,
        "unit": case.unit,
        "times_limit": ratio,
        "is_limit": bool(work.limit),
        "guarded": case.guarded,
        "peers": peers,
        "checked": dict(work.checked()) if work.checked is not None else {},
        "hot_spots": spots,
    }


def times_limit(case: Case, work: Any, repeats: int) -> tuple[float | None, float]:
    """Return the CPU seconds relative to the limit of the machine, and the seconds.

    If the limit is unknown, the yardstick of the case replaces it, for example 1e9 operations of a
    matrix product. The limit or yardstick is measured at the same time.
    """
    seconds = best(work.run, repeats=repeats)
    limit = dict(work.limit)
    if not limit and case.yardstick is not None:
        limit = {case.yardstick: _YARDS[case.yardstick]}
    return (seconds / seconds_at_limit(limit, seconds) if limit else None), seconds


_PROFILED = 20.0  # seconds. Longer calls are not profiled
_YARDS = {"gemm": 1e9, "sine": 1e6, "copy": 1e8, "call": 1e4, "start": 1.0}


def render(record: dict[str, Any]) -> str:
    limits = record["limits"]
    lines = [
        "## Speed of the parts\n",
        "Times are the minimum of several calls, on one thread. A peer is another program that "
        "does the same work in the same process. The limit is the time that this machine needs for "
        "the necessary operations, measured together with each case. Code at 100% of the limit "
        "cannot become faster.\n",
        "| limit of this machine | per second |\n|---|---|",
        *(f"| {words} | {_amount(limits[name])} |" for name, (words, _) in LIMITS.items()),
        f"| bytes written to the disk (wall time) | {_amount(limits['disk_write'])} |",
        f"| bytes read from the disk (wall time) | {_amount(limits['disk_read'])} |",
    ]
    for part in dict.fromkeys(row["part"] for row in record["rows"]):
        lines.append(f"\n### {part.capitalize()}\n")
        lines.append("| case | CPU time | per unit | share of limit | peer | peer / orthoreg |")
        lines.append("|---|---|---|---|---|---|")
        lines += [_line(row) for row in record["rows"] if row["part"] == part]
    lines.append("\n### Differences from peers and from the true equations\n")
    lines.append("| case | quantity | value |\n|---|---|---|")
    for row in record["rows"]:
        for what, value in row["checked"].items():
            lines.append(f"| {row['case']} | {what} | {value:.2g} |")
    lines.append("\n### Profiles\n")
    lines.append("The three functions that take the largest share of the time of each case:\n")
    lines.append("| case | functions |\n|---|---|")
    for row in record["rows"]:
        if row["hot_spots"]:
            spots = ", ".join(f"`{spot}`" for spot in row["hot_spots"])
            lines.append(f"| {row['case']} | {spots} |")
    return "\n".join(lines) + "\n"


def _line(row: dict[str, Any]) -> str:
    each = f"{_time(row['seconds'] / row['count'])} / {row['unit']}" if row["unit"] else ""
    share = f"{100 / row['times_limit']:.0f}%" if row["is_limit"] else ""
    peers = "<br>".join(f"{name}: {_time(peer['seconds'])}" for name, peer in row["peers"].items())
    ratios = "<br>".join(f"{peer['ratio']:.2g}" for peer in row["peers"].values())
    return f"| {row['case']} | {_time(row['seconds'])} | {each} | {share} | {peers} | {ratios} |"


def _time(seconds: float) -> str:
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def _amount(value: float) -> str:
    for letter, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:.3g} {letter}"
    return f"{value:.3g}"
