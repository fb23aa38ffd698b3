"""Run some of the cases: `python -m benchmarks.unmeasured --only Lorenz,flu --out out.json`.

Other rows of an existing record are kept.
"""

import json

from benchmarks import unmeasured
from benchmarks._jobs import options


def main() -> None:
    parser = options(__doc__ or "", "unmeasured.json")
    parser.set_defaults(seeds=unmeasured.SEEDS)
    chosen = parser.parse_args()
    record = unmeasured.measure(
        chosen.only, chosen.limit, chosen.seeds, chosen.workers, chosen.cpu_limit,
        chosen.out.with_suffix(".jsonl"), chosen.stored,
    )  # fmt: skip
    if chosen.only and chosen.out.exists():
        record = unmeasured.with_rows(json.loads(chosen.out.read_text()), record)
    chosen.out.write_text(json.dumps(record, indent=1) + "\n")
    print(unmeasured.page(record))


if __name__ == "__main__":
    main()
