"""The page that compares orthoreg with other tools, from the records of all boards."""

import json
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple, final

from paper._store import from_table

from ._strogatz import EXACT, GOOD, NOISES, SYSTEMS

METHODS = {
    "discover": "orthoreg, `discover`",
    "library": "orthoreg, fixed library",
    "pysindy_validated": "PySINDy, validated",
    "pysindy_default": "PySINDy, defaults",
    "operon": "Operon",
}
_RECORDS = Path(__file__).parents[1] / "records"
_DISCOVERY = Path(__file__).parents[2] / "docs" / "discovery" / "records.csv"
_MACHINES = {
    "oscillator": ("1% noise: exactly the true terms, share of fits",),
    "naming": ("stage: sign(x_dot) named, share of fits",),
    "aphynity": ("sin(theta) and omega, refined", "omega withheld, refined"),
}


@final
class Row(NamedTuple):
    """Percentages of a board at a noise level, and medians of CPU seconds, by tool."""

    board: str
    noise: str
    percent: dict[str, float]
    seconds: dict[str, float]


def page(record: dict[str, Any]) -> str:
    """Return the page."""
    rows = [*_odebench(), *_flows(), *_strogatz(record), *_withheld()]
    return (
        "# Comparison with other tools\n\n"
        f"{_conclusion(rows)} `python -m benchmarks boards` wrote this page from the records of "
        "all boards.\n\n"
        f"{_shares(rows)}\n"
        "- **ODEBench** has 32 textbook systems (the odd half). The result is the share of systems "
        f"for which a fit of one run forecasts the second initial state with R^2 > {GOOD:g}. "
        "orthoreg is the first model of `discover`. PySINDy is the best of nine models, selected "
        "with the test run, which favors PySINDy. Operon has 100,000 evaluations per equation. All "
        "use the same derivatives ([Discovery](discovery.md)).\n"
        "- **Chaotic flows** has 39 flows of `dysts`. The result is the share of fits with all "
        "true terms and no others. orthoreg and PySINDy use the same library of polynomials. "
        "PySINDy has the better of its weak and strong forms, and a threshold chosen on a held-out "
        "run ([Chaotic flows](dysts.md)). Operon has no library and was not run.\n"
        "- **ODE-Strogatz** has seven systems with two states. The result is the share of systems "
        f"for which a fit of three runs forecasts the fourth run with R^2 > {GOOD:g}.\n"
        "- **Withheld term** has 25 systems whose library lacks one term. The result is the share "
        "of first proposals of `explain` that name this term. The other tools have no such "
        "function.\n\n"
        "## CPU time\n\nThe table shows median CPU seconds per fit, including the choice of "
        "settings but without imports. The times of PySINDy for ODEBench are those of nine models "
        "without a choice.\n\n"
        f"{_times(rows)}\n"
        f"{_strogatz_section(record)}\n{_lines_section(record)}\n{_machines_section()}\n{_LIMITS}"
    )


_LIMITS = """\
## What was in view

- **ODEBench**: settings of the search were chosen with these systems in view, and some features
  were added because of them. The even half was not available.
- **Chaotic flows**: constants of smoothing were chosen with these flows in view.
- **Withheld term, measured machines**: available during development, and defects that they showed
  were corrected.
- **ODE-Strogatz**: measured for the first time for this page, and no constant was changed
  afterwards. But the glider, the shear flow and the van der Pol oscillator are also in ODEBench,
  with other constants or in another form.

The settings of PySINDy and Operon are those of the programs above, or of the pages of the boards.
Experts in these tools may obtain better results.

## Not compared

- **PySR** can be installed, but it downloads Julia when it is first used. The machine of these
  measurements has no Julia and cannot download it.
- **ODEFormer** was not run. For forecasts from another initial state on all 63 systems of ODEBench,
  32.8% with R^2 > 0.9 are listed under its paper (d'Ascoli et al., arXiv:2310.05573) at
  wizwand.com. The noise and sampling of this number were not verified, so it is not in the table.
"""


def _conclusion(rows: list[Row]) -> str:
    compared = [row for row in rows if _peers(row.percent)]
    best = [row for row in compared if row.percent["orthoreg"] > max(_peers(row.percent).values())]
    others = [row for row in compared if row not in best]
    text = f"orthoreg has the best result in {len(best)} of {len(compared)} comparisons."
    if others:
        are = "The exception is" if len(others) == 1 else "The exceptions are"
        text += f" {are} " + "; ".join(_lost(row) for row in others) + "."
    timed = [row for row in rows if _peers(row.seconds)]
    slower = [row for row in timed if row.seconds["orthoreg"] > min(_peers(row.seconds).values())]
    return (
        f"{text} In {len(slower)} of {len(timed)} comparisons, another tool is faster. "
        "Most boards [were in view](#what-was-in-view) when orthoreg was developed."
    )


def _lost(row: Row) -> str:
    peers = _peers(row.percent)
    best = max(peers.values())
    names = " and ".join(name for name, value in peers.items() if value == best)
    return f"{row.board} at {row.noise} noise ({row.percent['orthoreg']:.0f}%, {names} {best:.0f}%)"


def _peers(values: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in values.items() if name != "orthoreg"}


def _odebench() -> list[Row]:
    metrics = {
        "orthoreg": ("discovery", "top_percent"),
        "PySINDy": ("pysindy", "list_percent"),
        "Operon": ("operon", "top_percent"),
    }
    records = from_table(_DISCOVERY.read_text())
    rows = []
    for noise in ("0%", "2%", "5%"):
        values = _by_metric(records, f"discovery/odebench/{noise}")
        percent = {
            name: sum(values[key]) / len(values[key])
            for name, key in metrics.items()
            if values.get(key)
        }
        seconds = {
            name: median(values[method, "seconds"])
            for name, (method, _) in metrics.items()
            if values.get((method, "seconds"))
        }
        rows.append(Row("ODEBench", noise, percent, seconds))
    return rows


def _withheld() -> list[Row]:
    records, rows = from_table(_DISCOVERY.read_text()), []
    for noise in ("0%", "2%"):
        values = _by_metric(records, f"discovery/withheld/{noise}")
        named = values["discovery", "named_percent"]
        seconds = {"orthoreg": median(values["discovery", "seconds"])}
        rows.append(Row("Withheld term", noise, {"orthoreg": sum(named) / len(named)}, seconds))
    return rows


def _by_metric(records: list[Any], setting: str) -> dict[tuple[str, str], list[float]]:
    values: dict[tuple[str, str], list[float]] = {}
    for record in records:
        if record["setting"] == setting and record["value"] is not None:
            key = record["method"], record["metric"]
            values.setdefault(key, []).append(record["value"])
    return values


def _flows() -> list[Row]:
    record = json.loads((_RECORDS / "dysts.json").read_text())
    groups: dict[float, dict[str, list[Any]]] = {}
    for row in [*record["rows"].values(), *record["peers"].values()]:
        method = row.get("method", "orthoreg")
        groups.setdefault(row["noise"], {}).setdefault(method, []).append(row)
    rows = []
    for noise, methods in sorted(groups.items()):
        percent = {name: _share(row.get("exact") for row in fits) for name, fits in methods.items()}
        seconds = {
            name: median(row.get("fit_seconds", row["cpu_seconds"]) for row in fits)
            for name, fits in methods.items()
        }
        for values in (percent, seconds):
            form = max(("weak", "strong"), key=lambda form: percent.get(form, -1.0))
            if form in values:
                values["PySINDy"] = values[form]
        rows.append(
            Row("Chaotic flows", f"{100 * noise:g}%", *(_named(v) for v in (percent, seconds)))
        )
    return rows


def _named(values: dict[str, float]) -> dict[str, float]:
    return {name: values[name] for name in ("orthoreg", "PySINDy") if name in values}


def _strogatz(record: dict[str, Any]) -> list[Row]:
    tools = {"orthoreg": "discover", "PySINDy": "pysindy_validated", "Operon": "operon"}
    rows = []
    for noise in sorted({row["noise"] for row in record["rows"]}):
        if len({row["system"] for row in record["rows"] if row["noise"] == noise}) < len(SYSTEMS):
            continue  # the share of a few systems is not that of the board
        fits = {name: _fits(record, noise, method) for name, method in tools.items()}
        fits = {name: some for name, some in fits.items() if some}
        percent = {name: _share(_is_good(row) for row in some) for name, some in fits.items()}
        seconds = {name: _seconds(some) for name, some in fits.items()}
        rows.append(Row("ODE-Strogatz", f"{100 * noise:g}%", percent, seconds))
    return rows


def _fits(record: dict[str, Any], noise: float, method: str) -> list[dict[str, Any]]:
    return [row for row in record["rows"] if row["noise"] == noise and row["method"] == method]


def _is_good(row: dict[str, Any]) -> bool:
    return row.get("r2") is not None and row["r2"] > GOOD


def _is_exact(row: dict[str, Any]) -> bool:
    return row.get("error") is not None and row["error"] < EXACT


def _seconds(fits: list[dict[str, Any]]) -> float:
    """Return the median CPU time of fits that did not fail."""
    return median([row["seconds"] for row in fits if row["seconds"] is not None] or [float("nan")])


def _share(flags: Any) -> float:
    values = [bool(flag) for flag in flags]
    return 100 * sum(values) / len(values)


def _shares(rows: list[Row]) -> str:
    tools = ("orthoreg", "PySINDy", "Operon")
    lines = [["board", "noise", *tools]]
    for row in rows:
        best = max(row.percent.values())
        cells = []
        for tool in tools:
            text = f"{row.percent[tool]:.0f}%" if tool in row.percent else "-"
            is_best = len(row.percent) > 1 and row.percent.get(tool) == best
            cells.append(f"**{text}**" if is_best else text)
        lines.append([row.board, row.noise, *cells])
    return _table(lines)


def _times(rows: list[Row]) -> str:
    tools = ("orthoreg", "PySINDy", "Operon")
    lines = [["board", "noise", *tools]]
    for row in rows:
        cells = [f"{row.seconds[tool]:.2g} s" if tool in row.seconds else "-" for tool in tools]
        lines.append([row.board, row.noise, *cells])
    return _table(lines)


def _strogatz_section(record: dict[str, Any]) -> str:
    lines = [["noise", "method", "forecasts", "derivatives", "median error", "CPU"]]
    for noise in sorted({row["noise"] for row in record["rows"]}):
        for method, name in METHODS.items():
            fits = _fits(record, noise, method)
            if not fits:
                continue
            errors = [row["error"] if row.get("error") is not None else 1e300 for row in fits]
            error = median(errors)
            lines.append([
                f"{100 * noise:g}%", name,
                f"{sum(map(_is_good, fits))} of {len(fits)}",
                f"{sum(map(_is_exact, fits))} of {len(fits)}",
                f"{100 * error:.2g}%" if error < 1e300 else "-",
                f"{_seconds(fits):.2g} s",
            ])  # fmt: skip
    done = len({(row["system"], row["noise"]) for row in record["rows"]})
    total = len(SYSTEMS) * len(NOISES)
    partial = f" So far, {done} of {total} data sets were run." * (done < total)
    return (
        "## ODE-Strogatz\n\n"
        "The systems, constants, initial states and times are those of La Cava, Danai and Spector "
        "(2016, doi:10.1016/j.engappai.2016.07.004; repository `lacava/ode-strogatz`): "
        f"{', '.join(SYSTEMS)}. Each has four runs of 100 rows. The runs are integrated anew, "
        "because the published tables contain errors of a solver with steps of 0.1. Published "
        "results on this benchmark use exact derivatives. Here, the tools have only three runs, "
        "with Gaussian noise relative to the standard deviation of each state.\n\n"
        f"**Forecasts** counts systems whose fourth run is forecast with R^2 > {GOOD:g}, "
        f"**derivatives** those whose derivatives on this run have a relative error below "
        f"{100 * EXACT:g}%. The median error is that of these derivatives. orthoreg was at "
        f"revision {record['revision']}.{partial}\n\n"
        f"{_table(lines)}\n{_failures(record)}"
    )


def _failures(record: dict[str, Any]) -> str:
    """Return the systems that each tool does not forecast."""
    lines = []
    for method, name in METHODS.items():
        missed = [
            f"{row['system']} ({100 * row['noise']:g}%)"
            for row in record["rows"]
            if row["method"] == method and not _is_good(row)
        ]
        lines.append(f"- {name}: {', '.join(missed) or 'none'}.\n")
    return "Systems that are not forecast:\n\n" + "".join(lines)


def _lines_section(record: dict[str, Any]) -> str:
    lines = [["program", "lines of code"]]
    for method, count in record["lines"].items():
        lines.append([METHODS[method], str(count)])
    return (
        "## Lines of user code\n\nThe programs that were run on ODE-Strogatz, in "
        "`benchmarks/boards/snippets/`, without blank lines, comments and docstrings. They return "
        "a function that computes derivatives. The validated programs of PySINDy and Operon "
        "contain the choice of settings, which orthoreg makes itself.\n\n" + _table(lines)
    )


def _machines_section() -> str:
    cases = json.loads((_RECORDS / "measurements.json").read_text())["cases"]
    lines = [["case", "result", "target", "met"]]
    for name, chosen in _MACHINES.items():
        for line in cases.get(name, {}).get("lines", []):
            is_pendulum = "double pendulum" in line["what"] and "piece" in line["what"]
            if line["what"] not in chosen and not is_pendulum:
                continue
            met = {True: "yes", False: "**no**", None: ""}[line["met"]]
            target = ", ".join(f"{kind} {value:g}" for kind, value in line["target"].items())
            result = line["text"] or f"{median(line['values']):.3g} {line['unit']}".strip()
            lines.append([f"{name}: {line['what']}", result, target, met])
    return (
        "## Measured machines\n\n"
        "Only orthoreg was run. `naming` finds missing terms without known physics. Targets for "
        "the double pendulum and for APHYNITY's pendulum are "
        "published results of others. With several seeds, the result is the median, and the worst "
        "value must meet the target. [Benchmarks](benchmarks.md#measurements) has the details, "
        "and all lines.\n\n" + _table(lines)
    )


def _table(lines: list[list[str]]) -> str:
    head, *rest = lines
    rule = ["---"] * len(head)
    return "".join(f"| {' | '.join(line)} |\n" for line in [head, rule, *rest])
