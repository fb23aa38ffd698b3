"""The page on chaotic flows."""

from collections.abc import Sequence
from statistics import median
from typing import Any

_METHODS = {"orthoreg": "orthoreg", "weak": "PySINDy, weak form", "strong": "PySINDy, strong form"}


def page(record: dict[str, Any]) -> str:
    """Return the page with all flows."""
    flows = sorted({row["flow"] for row in record["rows"].values()})
    text = (
        "# Chaotic flows\n\n"
        f"{_conclusion(record)} `python -m benchmarks dysts` wrote this page at revision "
        f"{record['revision']}.\n\n"
        f"{_summary_table(record)}\n"
        "- **exact**: fits in which all equations have the true terms.\n"
        "- **coefficient error**: the relative error of the true coefficients. A missing term has "
        "an error of 100%. The next two columns include only exact models, and only flows for "
        "which orthoreg and the weak form of PySINDy are both exact.\n"
        "- **field error**: the relative RMS error of the derivatives in the worst equation, at "
        "states of clean test runs.\n"
        "- **forecast**: the number of Lyapunov times until the error of a forecast reaches 20% of "
        "the standard deviation.\n"
        "- **called correct**: exact models with the verdict `explained`.\n\n"
        "Errors, forecasts and times are medians over all fits.\n\n"
        "## Settings\n\n"
        f"The {len(flows)} flows of dysts have three or four states and polynomial equations of "
        "degree 2 to 4. Each has five training runs of ten periods, with 30 samples per period. "
        "The noise is relative to the standard deviation of each state. orthoreg has its default "
        "settings, with the library `poly(degree)`.\n\n"
        "The strong form of PySINDy uses `SmoothedFiniteDifference`, and the weak form "
        "`WeakPDELibrary` with 200 test functions per run. Both use `STLSQ`. Of 13 thresholds from "
        "0.005 to 5, those whose error on the fifth run is within 5% of the minimum are compared, "
        "and the one with the fewest terms is used for all five runs. The times include this "
        f"selection. A fit that takes more than {record['cpu_limit']:g} CPU seconds with its "
        "summary does not count as exact.\n\n"
        f"## Every flow\n\n{_flow_table(record)}"
    )
    return text + "\n## Exact, but not called correct\n\n" + _misjudged(record)


def _conclusion(record: dict[str, Any]) -> str:
    groups = _groups(record)
    noises = [f"{100 * noise:g}%" for noise, method in groups if method == "orthoreg"]

    def shares(name: str) -> str:
        return _listed(
            [
                _percent(sum(bool(row.get("exact")) for row in rows.values()), len(rows))
                for (_, method), rows in groups.items()
                if method == name
            ]
        )

    return (
        f"With {_listed(noises)} noise, orthoreg finds all true terms and no others for "
        f"{shares('orthoreg')} of the flows, and the weak form of PySINDy for {shares('weak')}."
    )


def _listed(parts: Sequence[str]) -> str:
    return f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else "".join(parts)


def _groups(record: dict[str, Any]) -> dict[tuple[float, str], dict[str, dict[str, Any]]]:
    """Return the results by noise and method, then by the id of the case."""
    groups: dict[tuple[float, str], dict[str, dict[str, Any]]] = {}
    for noise in sorted({row["noise"] for row in record["rows"].values()}):
        for method in _METHODS:
            rows = record["rows"] if method == "orthoreg" else record["peers"]
            chosen = {
                key.removesuffix(f"/{method}"): row
                for key, row in rows.items()
                if row["noise"] == noise and row.get("method", "orthoreg") == method
            }
            if chosen:
                groups[noise, method] = chosen
    return groups


def _summary_table(record: dict[str, Any]) -> str:
    lines = [
        ["noise", "method", "fits", "exact", "F1", "coefficient error", "if exact",
         "if both exact", "field error", "forecast", "CPU of the fit", "its maximum",
         "CPU of the summary", "its maximum", "called correct"],
    ]  # fmt: skip
    lines.append(["---"] * len(lines[0]))
    groups = _groups(record)
    for (noise, method), rows in groups.items():
        pair = [groups.get((noise, other), {}) for other in ("orthoreg", "weak")]
        common = [key for key in rows if all(group.get(key, {}).get("exact") for group in pair)]
        lines.append([f"{100 * noise:g}%", _METHODS[method], *_cells(rows, common)])
    return _table(lines)


def _cells(rows: dict[str, dict[str, Any]], common: Sequence[str]) -> list[str]:
    exact = [row for row in rows.values() if row.get("exact")]
    judged = [row for row in exact if "verdict" in row]
    right = sum(row["verdict"] == "explained" for row in judged)
    fits = [row.get("fit_seconds", row["cpu_seconds"]) for row in rows.values()]
    sums = [row["summary_seconds"] for row in rows.values() if "summary_seconds" in row]
    return [
        str(len(rows)),
        f"{_percent(len(exact), len(rows))} ({len(exact)})",
        _number([row.get("f1", 0.0) for row in rows.values()], "{:.2f}"),
        _number([100 * row.get("coefficient_error", 1.0) for row in rows.values()], "{:.2g}%"),
        _number([100 * row["coefficient_error"] for row in exact], "{:.2g}%"),
        _number([100 * rows[key]["coefficient_error"] for key in common], "{:.2g}%"),
        _number([100 * row.get("field_error", float("inf")) for row in rows.values()], "{:.2g}%"),
        _number([row.get("lyapunov_times", 0.0) for row in rows.values()], "{:.2g}"),
        _number(fits, "{:.1f} s"),
        f"{max(fits):.0f} s",
        _number(sums, "{:.1f} s"),
        f"{max(sums):.0f} s" if sums else "",
        f"{_percent(right, len(judged))} ({right} of {len(judged)})" if judged else "",
    ]


def _flow_table(record: dict[str, Any]) -> str:
    groups = _groups(record)
    flows = sorted({row["flow"] for row in record["rows"].values()})
    columns = list(groups)
    lines = [["flow", *(f"{100 * noise:g}%, {method}" for noise, method in columns)]]
    lines.append(["---"] * len(lines[0]))
    for name in flows:
        cells = []
        for column in columns:
            rows = [row for row in groups[column].values() if row["flow"] == name]
            cells.append(", ".join(_mark(row) for row in rows))
        lines.append([name, *cells])
    note = (
        "Each cell shows *exact*, or the number of missing (-) and spurious (+) terms. The cells "
        "of orthoreg also show the verdict and the CPU seconds.\n\n"
    )
    return note + _table(lines)


def _mark(row: dict[str, Any]) -> str:
    if row["status"] != "done":
        return row["status"]
    mark = "exact" if row["exact"] else f"-{row['missed']} +{row['spurious']}"
    verdict = f", {row['verdict']}, {row['cpu_seconds']:.0f} s" if "verdict" in row else ""
    return mark + verdict


def _misjudged(record: dict[str, Any]) -> str:
    lines = [
        f"- {key}: {row['text']}"
        for key, row in record["rows"].items()
        if row.get("exact") and row["verdict"] != "explained"
    ]
    return "\n".join(lines or ["None."]) + "\n"


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f}%" if whole else "-"


def _number(values: Sequence[float], form: str) -> str:
    return form.format(median(values)) if values else "-"


def _table(lines: Sequence[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
