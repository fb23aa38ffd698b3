"""`docs/scale.md`, from the record."""

from typing import Any

import numpy as np

from . import _cost
from ._tables import GROUP_ROWS, RUN_ROWS
from ._wide import WIDE

_ABOUT = (
    "A default fit of a pendulum, on one thread. The data are runs of 100 rows in Parquet files of "
    "a million rows, read in chunks of 250,000 rows. The peak memory includes all imported "
    "packages. The time does not include imports."
)


def page(record: dict[str, Any]) -> str:
    """Return `docs/scale.md` with all recorded measurements."""
    pieces = record["pieces"]
    parts = [
        f"# Scale\n\n{_conclusion(pieces)}`python -m benchmarks scale` wrote this page, on a "
        "machine with two cores.\n",
        f"## Rows\n\n{_ABOUT}\n\n{_fits(pieces)}",
        _workers(pieces.get("workers")),
        _moments(pieces.get("moments")),
        _wide(pieces.get("wide")),
        _paper(pieces),
    ]
    return "\n".join(part for part in parts if part)


def _conclusion(pieces: dict[str, Any]) -> str:
    fits = _sizes(pieces)
    if not fits:
        return ""
    last = fits[-1]
    return (
        f"A default fit of {last['rows']:.0e} rows takes {last['cpu']:.0f} CPU seconds and "
        f"{last['memory']:.0f} MB. The time grows linearly with the rows, and the memory hardly "
        "grows. "
    )


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
            f"\nThe time is {fixed:.1f} s plus {1e6 * each:.2f} us per row. This formula has an "
            f"error of at most {100 * error:.0f}%.\n"
        )
    return text


def _workers(piece: dict[str, Any] | None) -> str:
    if piece is None:
        return ""
    one, two, killed = piece["one"], piece["two"], piece["killed"]
    share = two["worker_cpu"] / (two["worker_cpu"] + two["cpu"])
    memory = max(two["worker_memory"], two["memory"])
    return (
        f"## Two workers\n\nA fit of {piece['rows']:.0e} rows takes {one['wall']:.1f} s of wall "
        f"time with one worker and {two['wall']:.1f} s with two, which is a speedup of "
        f"{one['wall'] / two['wall']:.2f}. The workers use {100 * share:.0f}% of the CPU seconds, "
        f"and no process uses more than {memory:.0f} MB. If one of the two workers is killed after "
        f"40% of the time, the fit takes {killed['wall']:.1f} s. {_differences(piece)} Measured at "
        f"revision {piece['revision']}.\n"
    )


def _differences(piece: dict[str, Any]) -> str:
    largest = max(piece["difference"], piece["killed_difference"])
    if largest == 0:
        return "In both cases, the coefficients equal those of a single process."
    return f"Coefficients differ from those of a single process by at most {largest:.1g}."


def _moments(piece: dict[str, Any] | None) -> str:
    if piece is None:
        return ""
    text = (
        "## Computing moments\n\nMost of a fit consists of sums of products of columns (moments). "
        "The table compares their rate, with rows in memory, with the rate of a matrix product. "
        "With few columns, most of the time is spent on evaluating the terms. Measured at revision "
        f"{piece['revision']}.\n\n"
        "| moments | columns | ns per row | share of the rate of a matrix product |\n"
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
        "## Many states and many terms\n\nDefault fits, measured at revision "
        f"{piece['revision']}:\n\n"
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
    passes = (
        sum(len(own) for own in fits[-1]["passes"].values()) + 2
    )  # two more passes: index and sample
    text = (
        "## Predicted scaling\n\nThe table predicts the time of fits on a cluster from "
        f"measurements at revision {cost['revision']}. A fit makes {passes} passes over the data. "
        f"A chunk of {GROUP_ROWS:,} rows returns {cost['bytes']['measuring'] / 1e6:.1f} MB in the "
        f"first pass and {cost['bytes']['moments'] / 1e6:.1f} MB of moments. Results are summed in "
        f"a tree, eight at a time. Each task costs the scheduler {1e3 * task:.2f} ms, and each "
        f"level of the tree takes {1e3 * level:.0f} ms. The prediction assumes that the network "
        "transfers one gigabit per second, and that the store is as fast as a local disk. The "
        "total is the larger of the times of workers and scheduler, plus the times of tree and "
        "client.\n\n"
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
            "workers. More workers finish chunks faster than the scheduler assigns new ones. "
            "Larger chunks raise this limit in proportion. The client and every worker store eight "
            f"bytes per run, which is {8e11 / RUN_ROWS / 1e9:.0f} GB for 1e11 rows in runs of "
            f"{RUN_ROWS}.\n"
        )
    text += (
        "\nThe costs of tasks and tree come from simulated clusters: the real scheduler and tree "
        "in one process, with workers that sleep for 0.2 s per chunk and return 1 MB. Some of the "
        "clusters were not used for the fit and check the prediction:\n\n"
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
