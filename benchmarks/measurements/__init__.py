"""Measured machines and noisy data, compared with targets."""

import json
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any

from benchmarks.revision import revision

from . import (
    aphynity,
    correlated,
    coverage,
    double_pendulum,
    naming,
    odebench,
    oscillator,
    pendulum_noise,
    rlc,
    speed,
    stage,
)

CASES: dict[str, Any] = {
    "oscillator": oscillator,
    "stage": stage,
    "double_pendulum": double_pendulum,
    "aphynity": aphynity,
    "rlc": rlc,
    "naming": naming,
    "odebench": odebench,
    "pendulum_noise": pendulum_noise,
    "coverage": coverage,
    "correlated": correlated,
    "speed": speed,
}
_RECORD = Path(__file__).parents[1] / "records" / "measurements.json"


def measure() -> dict[str, Any]:
    """Measure all cases, or those named in ORTHOREG_MEASUREMENTS; keep the others' records."""
    wanted = [name for name in os.environ.get("ORTHOREG_MEASUREMENTS", "").split(",") if name]
    unknown = set(wanted) - set(CASES)
    if unknown:
        sys.exit(f"error: ORTHOREG_MEASUREMENTS names {sorted(unknown)}; known are {list(CASES)}.")
    known = json.loads(_RECORD.read_text())["cases"] if _RECORD.exists() else {}
    for name in wanted or CASES:
        print(f"  {name} ...", file=sys.stderr)
        known.pop(name, None)
        seeds = int(os.environ.get("ORTHOREG_SEEDS") or CASES[name].SEEDS)
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            lines = CASES[name].measure(seeds)
        if lines is None:
            print(f"  {name}: skipped, because its data are missing", file=sys.stderr)
            continue
        spent = round(time.process_time() - start)
        known[name] = {
            "revision": revision(),
            "seeds": seeds,
            "cpu_seconds": spent,
            "lines": [line.record() for line in lines],
        }
    return {"cases": {name: known[name] for name in CASES if name in known}}


def render(record: dict[str, Any]) -> str:
    page = (
        "## Measurements\n\nThese cases have positions without velocities, inputs, noise, dry "
        "friction, or data from public sources. With several seeds, a result is the median, "
        "followed by the worst value if there is a target, and otherwise by the range. The worst "
        "value must meet the target.\n"
    )
    for name, case in record["cases"].items():
        required = CASES[name].SEEDS
        few = case["seeds"] < required
        number = f"{case['seeds']} of {required} seeds" if few else _seeds(case["seeds"])
        page += f"\n**{CASES[name].TITLE}** {CASES[name].ABOUT} "
        when = (
            f"at revision {case['revision']}" if case.get("revision") else "at an earlier revision"
        )
        page += f"Measured {when} with {number} ({case['cpu_seconds']} s of CPU time).\n\n"
        page += table(case["lines"], few)
    return page


def _seeds(count: int) -> str:
    return "one seed" if count == 1 else f"{count} seeds"


def table(lines: list[dict[str, Any]], few: bool) -> str:
    rows = [["", "result", "target", "met"], ["---"] * 4]
    rows += [[line["what"], _reached(line), _target(line), _met(line, few)] for line in lines]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in rows)


def _reached(line: dict[str, Any]) -> str:
    if line["values"] is None:
        return line["text"]
    values, unit = sorted(line["values"]), line["unit"]
    middle = (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2
    text = _number(middle, unit)
    if values[0] == values[-1]:
        return text
    if not line["target"]:  # without a target, both ends are shown
        return f"{text} ({_number(values[0], unit)} to {_number(values[-1], unit)})"
    worst = values[0] if "at least" in line["target"] else values[-1]
    return text if worst == middle else f"{text}, worst {_number(worst, unit)}"


def _number(value: float, unit: str) -> str:
    return f"{value:.3g}{'' if unit in ('', '%') else ' '}{unit}"


def _target(line: dict[str, Any]) -> str:
    return " and ".join(
        f"{kind} {_number(value, line['unit'])}" for kind, value in line["target"].items()
    )


def _met(line: dict[str, Any], few: bool) -> str:
    """Return the verdict, which is preliminary with fewer seeds than required."""
    if line["met"] is None:
        return ""
    return ("yes" if line["met"] else "**no**") + " so far" * few
