"""Run benchmarks, write their records, and write the pages from the records.

`python -m benchmarks` runs all benchmarks. `python -m benchmarks suite` measures the speed of all
parts in less than ten minutes, and `python -m benchmarks guard` compares it with the record.
`python -m benchmarks pages` rewrites the pages without measuring anything. With
`--before CHECKOUT`, `speed` alternates between this revision and an earlier one.
"""

import json
import platform
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import (
    ablations,
    adaptation,
    beyond,
    boards,
    defaults,
    design,
    dysts,
    knowledge,
    measurements,
    residuals,
    scale,
    shape,
    speed,
    strengths,
    suite,
    sweeps,
    truth,
    unmeasured,
)
from benchmarks.guard import guard

BENCHMARKS = {
    "suite": suite,
    "speed": speed,
    "adaptation": adaptation,
    "strengths": strengths,
    "residuals": residuals,
    "defaults": defaults,
    "beyond": beyond,
    "measurements": measurements,
    "scale": scale,
    "knowledge": knowledge,
    "dysts": dysts,
    "truth": truth,
    "unmeasured": unmeasured,
    "design": design,
    "boards": boards,
    "ablations": ablations,
    "sweeps": sweeps,
    "shape": shape,
}
SECTIONS = ("suite", "speed", "measurements", "knowledge", "design", "adaptation")
"""Benchmarks with a section on the page of benchmarks, in the order of the page."""
PAGES = ("scale", "dysts", "boards", "truth", "unmeasured", "ablations", "shape")
"""Benchmarks with a page."""
INTRODUCTION = (
    "# Benchmarks\n\n"
    "Speed of all parts, and accuracy on measured and simulated systems. Written by "
    "`python -m benchmarks` from `benchmarks/records/`. Seconds are CPU seconds of a shared "
    "machine. Ratios compare measurements of the same run.\n\n"
    "Other pages have more measurements: [comparison with other tools](boards.md), [choice of the "
    "defaults](choosing.md), [large data](scale.md), [chaotic flows](dysts.md), [verdicts and "
    "intervals](truth.md), [hidden states, constants per run, delays and maps](unmeasured.md), "
    "[ablations and sweeps](ablations.md), and the [shape of the code](shape.md).\n"
)
RECORDS = Path(__file__).parent / "records"
DOCS = Path(__file__).parents[1] / "docs"
PAGE = DOCS / "benchmarks.md"


def main(names: list[str]) -> None:
    if names == ["guard"]:
        sys.exit("\n".join(guard(RECORDS / "suite.json")) or 0)
    if names == ["pages"]:
        return write_pages()
    before: Path | None = None
    if "--before" in names:
        index = names.index("--before")
        before = Path(names[index + 1])
        names = names[:index] + names[index + 2 :]
    unknown = set(names) - set(BENCHMARKS)
    if unknown:
        sys.exit(f"error: unknown benchmark {sorted(unknown)}; known are {sorted(BENCHMARKS)}.")
    RECORDS.mkdir(exist_ok=True)
    for name in names or BENCHMARKS:
        print(f"{name} ...", file=sys.stderr)
        record = {"machine": f"{platform.machine()}, Python {platform.python_version()}"}
        record |= speed.measure(before) if name == "speed" else BENCHMARKS[name].measure()
        (RECORDS / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")
    write_pages()
    print(PAGE.read_text())


def write_pages() -> None:
    """Write all pages from the records."""
    page = INTRODUCTION
    for name in SECTIONS:
        file = RECORDS / f"{name}.json"
        if file.exists():
            page += "\n" + BENCHMARKS[name].render(json.loads(file.read_text()))
    PAGE.write_text(page)
    write_tables("strengths", strengths.strengths_table)
    write_tables("residuals", residuals.residuals_table)
    write_tables("defaults", defaults.defaults_tables)
    write_tables("beyond", beyond.beyond_table)
    for name in PAGES:
        record = RECORDS / f"{name}.json"
        if record.exists():
            text = BENCHMARKS[name].page(json.loads(record.read_text()))
            earlier = RECORDS / f"{name}_before.json"
            if earlier.exists():
                text += "\n" + BENCHMARKS[name].before(json.loads(earlier.read_text()))
            swept = RECORDS / "sweeps.json"
            if name == "ablations" and swept.exists():
                text += "\n" + sweeps.page(json.loads(swept.read_text()))
            (DOCS / f"{name}.md").write_text(text)


def write_tables(name: str, tables: Callable[[list[dict[str, Any]]], str]) -> None:
    """Write the tables of a record between their markers in `docs/choosing.md`."""
    record = RECORDS / f"{name}.json"
    if not record.exists():
        return
    text = tables(json.loads(record.read_text())["rows"])
    choosing = DOCS / "choosing.md"
    written = re.sub(
        rf"(<!-- {name}: .*? -->\n).*?(<!-- end -->)",
        lambda match: f"{match[1]}\n{text}\n{match[2]}",
        choosing.read_text(),
        flags=re.DOTALL,
    )
    choosing.write_text(written)


if __name__ == "__main__":
    main(sys.argv[1:])
