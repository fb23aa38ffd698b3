"""`docs/scale.md`, and its short form for the page of all benchmarks, from the record."""

from typing import Any

import numpy as np

from . import _cost
from ._tables import GROUP_ROWS, RUN_ROWS
from ._wide import WIDE

_ABOUT = (
    "The default fit of a pendulum's runs of 100 rows in Parquet files of a million, read in "
    "chunks of 250,000 rows; one thread, peak memory of the process with all libraries. Processes "
    "have loaded what they need when time begins."
)


def render(record: dict[str, Any]) -> str:
    """The section of the page."""
    return f"## Beyond memory\n\n{_ABOUT} More in [Scale](scale.md).\n\n" + _fits(record["pieces"])


def page(record: dict[str, Any]) -> str:
    """`docs/scale.md`, with what has been measured so far."""
    pieces = record["pieces"]
    parts = [
        "# Scale\n\nWritten by `python -m benchmarks scale` from `benchmarks/records/scale.json`. "
        "Seconds are those of one machine of two cores.\n",
        f"## Rows\n\n{_ABOUT}\n\n{_fits(pieces)}",
        _workers(pieces.get("workers")),
        _moments(pieces.get("moments")),
        _wide(pieces.get("wide")),
        _paper(pieces),
    ]
    return "\n".join(part for part in parts if part)


def _sizes(pieces: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for name, one in pieces.items() if name.startswith("rows_")]


def _line(fits: list[dict[str, Any]]) -> tuple[float, float]:
    """Seconds of CPU that do not depend on rows, and those of a row: least squares of relative
    errors."""
    rows = np.array([one["rows"] for one in fits], dtype=float)
    cpu = np.array([one["cpu"] for one in fits])
    matrix = np.column_stack([np.ones(len(rows)), rows]) / cpu[:, None]
    (fixed, each), *_ = np.linalg.lstsq(matrix, np.ones(len(cpu)), rcond=None)
    return float(fixed), float(each)


def _fits(pieces: dict[str, Any]) -> str:
    fits = _sizes(pieces)
    text = "| rows | bytes of Parquet | CPU s | peak MB | equations | revision |\n"
    text += "|---|---|---|---|---|---|\n"
    for one in fits:
        text += (
            f"| {one['rows']:.0e} | {one['bytes']:.2g} | {one['cpu']:.1f} | {one['memory']:.0f} | "
            f"{'; '.join(one['equations'])} | {one['revision']} |\n"
        )
    if len(fits) > 2:
        fixed, each = _line(fits)
        off = max(abs(fixed + each * one["rows"] - one["cpu"]) / one["cpu"] for one in fits)
        text += (
            f"\nTime is linear in rows: {fixed:.1f} s and {1e6 * each:.2f} us a row, off by at "
            f"most {100 * off:.0f}%.\n"
        )
    return text


def _workers(piece: dict[str, Any] | None) -> str:
    if piece is None:
        return ""
    one, two, killed = piece["one"], piece["two"], piece["killed"]
    share = two["worker_cpu"] / (two["worker_cpu"] + two["cpu"])
    memory = max(two["worker_memory"], two["memory"])
    return (
        f"## Two workers\n\nOn {piece['rows']:.0e} rows one worker takes {one['wall']:.1f} s of "
        f"wall time, two {two['wall']:.1f} s: {one['wall'] / two['wall']:.2f} times. Of the CPU "
        f"seconds workers do {100 * share:.0f}%, and no process holds more than {memory:.0f} MB. "
        f"Coefficients differ from those of one process by at most {piece['difference']:.1g}; with "
        f"one of two workers killed after 40% of the time, by {piece['killed_difference']:.1g} "
        f"({killed['wall']:.1f} s). Revision {piece['revision']}.\n"
    )


def _moments(piece: dict[str, Any] | None) -> str:
    if piece is None:
        return ""
    text = (
        "## The pass of moments\n\nRows in memory; the share of the rate of a matrix product that "
        "is measured beside it, counting the products of all columns once. Of few columns most of "
        "the time goes into the terms themselves; those of selection are added up in many cells. "
        f"Revision {piece['revision']}.\n\n"
        "| moments | columns | ns a row | share of the product's rate |\n|---|---|---|---|\n"
    )
    for one in piece["moments"]:
        each = 1e9 * one["seconds"] / one["rows"]
        text += f"| {one['words']} | {one['columns']} | {each:.0f} | {100 * one['share']:.0f}% |\n"
    return text


def _wide(piece: dict[str, Any] | None) -> str:
    if piece is None:
        return ""
    text = (
        f"## Many states and many terms\n\nDefault fits; revision {piece['revision']}.\n\n"
        "| system | library | states | terms | rows | CPU s | peak MB | wrong terms |\n"
        "|---|---|---|---|---|---|---|---|\n"
    )
    for name, one in piece["cases"].items():
        text += (
            f"| {WIDE[name].words} | `{WIDE[name].library}` | {one['states']} | {one['terms']} | "
            f"{one['rows']:,} | {one['cpu']:.0f} | {one['memory']:.0f} | {one['wrong_terms']} |\n"
        )
    return text


def _paper(pieces: dict[str, Any]) -> str:
    fits, cost = _sizes(pieces), pieces.get("cluster")
    if cost is None or len(fits) < 3:
        return ""
    fixed, each = _line(fits)
    task, level = _cost.overhead(cost["clusters"])
    passes = sum(len(own) for own in fits[-1]["passes"].values()) + 2  # index and sample
    text = (
        f"## On paper\n\nA fit makes {passes} passes over the data, those that index runs and read "
        f"a sample among them. A chunk of {GROUP_ROWS:,} rows hands on "
        f"{cost['bytes']['measuring'] / 1e6:.1f} MB where data are measured and "
        f"{cost['bytes']['moments'] / 1e6:.1f} MB of moments, whatever its rows; eight are added "
        f"up at a time. A task costs the scheduler {1e3 * task:.2f} ms and a level of the tree "
        f"{1e3 * level:.0f} ms, by the simulated clusters below; machines are taken to be joined "
        f"by one gigabit a second. A fit takes the longer of work shared by workers and tasks "
        f"handed out by one scheduler, the tree, and what the client does alone. The time to read "
        f"from a store is that of this machine's disk. Revision {cost['revision']}.\n\n"
        "| rows | workers | work s | scheduler s | tree s | alone s | together | moved |\n"
        "|---|---|---|---|---|---|---|---|\n"
    )
    for rows in (1e9, 1e11):
        for workers in (10, 1000):
            one = _cost.predicted(cost, fixed, each, passes, rows, workers)
            text += (
                f"| {rows:.0e} | {workers} | {one['work']:.0f} | {one['scheduler']:.0f} | "
                f"{one['tree']:.1f} | {one['alone']:.1f} | {one['total']:.0f} s | "
                f"{one['moved'] / 1e9:.1f} GB |\n"
            )
    if task:
        most = each * GROUP_ROWS / (passes * task * 8 / 7)
        text += (
            f"\nIt stops scaling where the scheduler hands out chunks more slowly than workers "
            f"finish them: at about {most:,.0f} workers with chunks of {GROUP_ROWS:,} rows, and at "
            f"proportionally more with larger ones, until memory ends that. Scheduler, workers and "
            f"tree share one process here, so this is a lower bound. With fewer rows the part that "
            f"the client does alone decides. The client and every worker hold eight bytes for each "
            f"run: {8e11 / RUN_ROWS / 1e9:.0f} GB for 1e11 rows in runs of {RUN_ROWS}.\n"
        )
    text += (
        "\nWorkers that sleep 0.2 s a chunk and hand on 1 MB, on the real scheduler and tree, in "
        "one process; costs are fitted to some clusters, and the others check them:\n\n"
        "| workers | chunks | ideal s | measured s | by these costs s | |\n"
        "|---|---|---|---|---|---|\n"
    )
    for one in cost["clusters"]:
        use = "check" if one["workers"] in _cost.CHECKED else "fitted"
        text += (
            f"| {one['workers']} | {one['tasks']} | {one['ideal']:.2f} | {one['wall']:.2f} | "
            f"{_cost.expected(cost['clusters'], one):.2f} | {use} |\n"
        )
    return text
