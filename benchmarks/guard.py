"""The guard: no case may have become twice as slow as its record says.

What is compared are CPU seconds over those of the same machine's limits, measured beside them, so
that a slower or a busy machine changes little. A case that fails is measured again: only one that
fails each time counts.
"""

import json
import sys
from pathlib import Path

from .cases import CASES
from .suite import times_limit
from .timing import cpu_seconds

MOST = 2.0
_ATTEMPTS = 4


def guard(record: Path) -> list[str]:
    """A sentence for each case that has become too slow."""
    known = {row["case"]: row for row in json.loads(record.read_text())["rows"]}
    failed = []
    for case in CASES:
        row = known.get(case.name)
        if not case.guarded or row is None or row["times_limit"] is None:
            continue
        began, work, least = cpu_seconds(), case.prepare(False), float("inf")
        for attempt in range(_ATTEMPTS):
            ratio, _ = times_limit(case, work, repeats=3 + 2 * attempt)
            assert ratio is not None
            least = min(least, ratio / row["times_limit"])
            if least < MOST:
                break
        print(f"  {least:6.2f} of the record  {case.name}  ({cpu_seconds() - began:.1f} s)",
              file=sys.stderr, flush=True)  # fmt: skip
        if least >= MOST:
            failed.append(
                f"{case.name}: {least:.1f} times the record's CPU time, relative to the limits of "
                f"the machine; at most {MOST:g} are allowed."
            )
    return failed
