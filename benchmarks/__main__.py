"""Runs the benchmarks, writes their records and the page made from them."""

import json
import platform
import sys
from pathlib import Path

from benchmarks import fit_pendulum, predict_row

BENCHMARKS = {"predict_row": predict_row, "fit_pendulum": fit_pendulum}
RECORDS = Path(__file__).parent / "records"
PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"


def main(names: list[str]) -> None:
    unknown = set(names) - set(BENCHMARKS)
    if unknown:
        sys.exit(f"error: unknown benchmark {sorted(unknown)}; known are {sorted(BENCHMARKS)}.")
    RECORDS.mkdir(exist_ok=True)
    for name in names or BENCHMARKS:
        print(f"{name} ...", file=sys.stderr)
        record = {"machine": f"{platform.machine()}, Python {platform.python_version()}"}
        record |= BENCHMARKS[name].measure()
        (RECORDS / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")
    page = "# Benchmarks\n\nWritten by `python -m benchmarks` from `benchmarks/records/`. "
    page += "Ratios were measured side by side in one run; seconds are those of a shared machine.\n"
    for name, benchmark in BENCHMARKS.items():
        file = RECORDS / f"{name}.json"
        if file.exists():
            page += "\n" + benchmark.render(json.loads(file.read_text()))
    PAGE.write_text(page)
    print(page)


if __name__ == "__main__":
    main(sys.argv[1:])
