"""The guard: no case may take twice as long as its record.

CPU seconds are compared relative to the limits of the machine, measured at the same time, so that
a slower or busy machine has little effect. A slow case is measured again, and fails only if all
attempts are slow.
"""

import json
import sys
from pathlib import Path

from .cases import CASES
from .suite import times_limit
from .timing import cpu_seconds

MAX_RATIO = 2.0
_ATTEMPTS = 4


def guard(record: Path) -> list[str]:
    """Return a sentence for each case that has become too slow."""
    known = {row["case"]: row for row in json.loads(record.read_text())["rows"]}
    failed = []
    for case in CASES:
        row = known.get(case.name)
        if not case.guarded or row is None or row["times_limit"] is None:
            continue
        start, work, slowdown = cpu_seconds(), case.prepare(False), float("inf")
        for attempt in range(_ATTEMPTS):
            ratio, _ = times_limit(case, work, repeats=3 + 2 * attempt)
            assert ratio is not None
            slowdown = min(slowdown, ratio / row["times_limit"])
            if slowdown < MAX_RATIO:
                break
        print(f"  {slowdown:6.2f} of the record  {case.name}  ({cpu_seconds() - start:.1f} s)",
              file=sys.stderr, flush=True)  # fmt: skip
        if slowdown >= MAX_RATIO:
            failed.append(
                f"{case.name}: {slowdown:.1f} times the CPU time of the record, relative to the "
                f"limits of the machine. The maximum is {MAX_RATIO:g}."
            )
    return failed
