"""Run some of the cases: `python -m benchmarks.truth --only chaos,steps --out out.json`."""

import json

from benchmarks import truth
from benchmarks._jobs import options


def main() -> None:
    chosen = options(__doc__ or "", "truth.json").parse_args()
    record = truth.measure(
        chosen.only, chosen.limit, chosen.seeds, chosen.workers, chosen.cpu_limit,
        chosen.out.with_suffix(".jsonl"), chosen.stored,
    )  # fmt: skip
    chosen.out.write_text(json.dumps(record, indent=1) + "\n")
    chosen.out.with_suffix(".md").write_text(truth.page(record))
    print(truth.page(record))


if __name__ == "__main__":
    main()
