"""`docs/scale.md` and its section on the benchmarks page, from the record."""

from typing import Any

import numpy as np

from . import _cost
from ._tables import GROUP_ROWS, RUN_ROWS
from ._wide import WIDE

_ABOUT = (
    "The default fit of a pendulum: runs of 100 rows in Parquet files of a million rows, read in "
    "chunks of 250,000 rows, on one thread. The peak memory is that of the process and includes "
    "all libraries. Imports are not timed."
)


def render(record: dict[str, Any]) -> str:
    """Return the section of the benchmarks page."""
    return f"## Beyond memory\n\n{_ABOUT} See [Scale](scale.md).\n\n" + _fits(record["pieces"])


def page(record: dict[str, Any]) -> str:
    """Return `docs/scale.md` with all recorded measurements."""
    pieces = record["pieces"]
    parts = [
        "# Scale\n\nWritten by `python -m benchmarks scale` from `benchmarks/records/scale.json`. "
        "Seconds are those of a machine with two cores.\n",
        f"## Rows\n\n{_ABOUT}\n\n{_fits(pieces)}",
        _workers(pieces.get("workers")),
        _moments(pieces.get("moments")),
        _wide(pieces.get("wide")),
        _paper(pieces),
    ]
    return "\n".join(part for part in parts if part)


def _sizes(pieces: dict[str, Any]) -> list[dict[str, Any]]:
    return [piece for name, piece in pieces.items() if name.startswith("rows_")]


def _line(fits: list[dict[str, Any]]) -> tuple[float, float]:
    """Return the fixed CPU seconds and the CPU seconds per row, by least squares of relative
    errors."""
    rows = np.array([fit["rows"] for fit in fits], dtype=float)
    cpu = np.array([fit["cpu"] for fit in fits])
    matrix = np.column_stack([np.ones(len(rows)), rows]) / cpu[:, None]
    (fixed, each), *_ = np.linalg.lstsq(matrix, np.ones(len(cpu)), rcond=None)
    return float(fixed), float(each)


def _fits(pieces: dict[str, Any]) -> str:
    fits = _sizes(pieces)
    text = "| rows | Parquet bytes | CPU s | peak MB | equations | revision |\n"
    text += "|---|---|---|---|---|---|\n"
    for fit in fits:
        text += (
            f"| {fit['rows']:.0e} | {fit['bytes']:.2g} | {fit['cpu']:.1f} | {fit['memory']:.0f} | "
            f"{'; '.join(fit['equations'])} | {fit['revision']} |\n"
        )
    if len(fits) > 2:
        fixed, each = _line(fits)
        error = max(abs(fixed + each * fit["rows"] - fit["cpu"]) / fit["cpu"] for fit in fits)
        text += (
            f"\nThe time is {fixed:.1f} s plus {1e6 * each:.2f} us per row, with an error of at "
            f"most {100 * error:.0f}%.\n"
        )
    return text


def _workers(piece: dict[str, Any] | None) -> str:
    if piece is None:
        return ""
    one, two, killed = piece["one"], piece["two"], piece["killed"]
    share = two["worker_cpu"] / (two["worker_cpu"] + two["cpu"])
    memory = max(two["worker_memory"], two["memory"])
    return (
        f"## Two workers\n\nOn {piece['rows']:.0e} rows, one worker takes {one['wall']:.1f} s of "
        f"wall time and two take {two['wall']:.1f} s, a factor of {one['wall'] / two['wall']:.2f}. "
        f"Workers use {100 * share:.0f}% of the CPU seconds, and no process uses more than "
        f"{memory:.0f} MB. Coefficients differ from those of a single process by at most "
        f"{piece['difference']:.1g}. If one of the two workers is killed after 40% of the time, "
        f"the fit takes {killed['wall']:.1f} s, and the difference is at most "
        f"{piece['killed_difference']:.1g}. Revision {piece['revision']}.\n"
    )


def _moments(piece: dict[str, Any] | None) -> str:
    if piece is None:
        return ""
    text = (
        "## Computing moments\n\nRows are in memory. Each product of two columns counts once, and "
        "the rate is relative to that of a matrix product measured at the same time. With few "
        "columns, most of the time is spent on evaluating the terms. The moments for selection are "
        f"summed in many cells. Revision {piece['revision']}.\n\n"
        "| moments | columns | ns per row | share of the matrix product's rate |\n"
        "|---|---|---|---|\n"
    )
    for part in piece["moments"]:
        each = 1e9 * part["seconds"] / part["rows"]
        share = f"{100 * part['share']:.0f}%"
        text += f"| {part['words']} | {part['columns']} | {each:.0f} | {share} |\n"
    return text


def _wide(piece: dict[str, Any] | None) -> str:
    if piece is None:
        return ""
    text = (
        f"## Many states and many terms\n\nDefault fits; revision {piece['revision']}.\n\n"
        "| system | library | states | terms | rows | CPU s | peak MB | wrong terms |\n"
        "|---|---|---|---|---|---|---|---|\n"
    )
    for name, case in piece["cases"].items():
        text += (
            f"| {WIDE[name].words} | `{WIDE[name].library}` | {case['states']} | {case['terms']} | "
            f"{case['rows']:,} | {case['cpu']:.0f} | {case['memory']:.0f} | "
            f"{case['wrong_terms']} |\n"
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
        f"## Predicted scaling\n\nA fit makes {passes} passes over the data, including those that "
        f"index runs and read a sample. A chunk of {GROUP_ROWS:,} rows returns "
        f"{cost['bytes']['measuring'] / 1e6:.1f} MB in the measuring pass and "
        f"{cost['bytes']['moments'] / 1e6:.1f} MB of moments. These sizes do not depend on the "
        "number of rows. Results are summed in a tree, eight at a time. A task costs the scheduler "
        f"{1e3 * task:.2f} ms, and a level of the tree costs {1e3 * level:.0f} ms, according to "
        "the simulated clusters below. The network is assumed to transfer one gigabit per second, "
        "and reading from a store to take as long as from the disk of this machine. The total is "
        "the larger of the time of the workers and that of the scheduler, plus the tree and the "
        f"part that runs on the client. Revision {cost['revision']}.\n\n"
        "| rows | workers | workers s | scheduler s | tree s | client s | total | transferred |\n"
        "|---|---|---|---|---|---|---|---|\n"
    )
    for rows in (1e9, 1e11):
        for workers in (10, 1000):
            prediction = _cost.predicted(cost, fixed, each, passes, rows, workers)
            text += (
                f"| {rows:.0e} | {workers} | {prediction['work']:.0f} | "
                f"{prediction['scheduler']:.0f} | {prediction['tree']:.1f} | "
                f"{prediction['alone']:.1f} | {prediction['total']:.0f} s | "
                f"{prediction['moved'] / 1e9:.1f} GB |\n"
            )
    if task:
        max_workers = each * GROUP_ROWS / (passes * task * 8 / 7)
        text += (
            f"\nWith chunks of {GROUP_ROWS:,} rows, a fit scales to about {max_workers:,.0f} "
            "workers. With more, they finish chunks faster than the scheduler assigns new ones. "
            "The limit grows in proportion to the size of the chunks, as far as memory permits. It "
            "is a lower bound, because scheduler, workers and tree share one process here. With "
            "few rows, the part that runs on the client dominates. The client and every worker "
            f"store eight bytes per run: {8e11 / RUN_ROWS / 1e9:.0f} GB for 1e11 rows in runs of "
            f"{RUN_ROWS}.\n"
        )
    text += (
        "\nThe simulated clusters run the real scheduler and tree in one process. Their workers "
        "sleep for 0.2 s per chunk and return 1 MB. The costs are fitted to some of the clusters "
        "and checked on the others:\n\n"
        "| workers | chunks | ideal s | measured s | predicted s | used for |\n"
        "|---|---|---|---|---|---|\n"
    )
    for run in cost["clusters"]:
        use = "check" if run["workers"] in _cost.CHECKED else "fit"
        text += (
            f"| {run['workers']} | {run['tasks']} | {run['ideal']:.2f} | {run['wall']:.2f} | "
            f"{_cost.expected(cost['clusters'], run):.2f} | {use} |\n"
        )
    return text
