"""Run some of the cases: `python -m benchmarks.dysts --only Lorenz84,SprottB --out out.json`."""

import json

from benchmarks import dysts
from benchmarks._jobs import options


def main() -> None:
    chosen = options(__doc__ or "", "dysts.json").parse_args()
    record = dysts.measure(
        chosen.only, chosen.limit, chosen.seeds, chosen.workers, chosen.cpu_limit,
        chosen.out.with_suffix(".jsonl"), chosen.stored,
    )  # fmt: skip
    chosen.out.write_text(json.dumps(record, indent=1) + "\n")
    chosen.out.with_suffix(".md").write_text(dysts.page(record))
    print(dysts.page(record))


if __name__ == "__main__":
    main()
