"""Fits of tables that do not fit into memory: time and memory by rows, one and two workers, a
worker that is killed, wide problems, and the predicted cost of 1e9 and 1e11 rows.

`ORTHOREG_SCALE` names the pieces to measure (all by default). Records of other pieces are kept,
each with its revision, and each piece is written as soon as it is done. The tables are created in
`ORTHOREG_SCALE_FOLDER` and removed afterwards; 1e8 rows take 10 GB there.
"""

import json
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.revision import revision

from . import _cost
from ._page import page as page
from ._tables import difference, fitted, in_process, size_of, tables
from ._wide import WIDE

_RECORD = Path(__file__).parents[1] / "records" / "scale.json"
_SHARED = 10**7  # rows that are divided between two workers


def measure() -> dict[str, Any]:
    """Measure all pieces, or those named in ORTHOREG_SCALE; keep the records of the others."""
    wanted = [name for name in os.environ.get("ORTHOREG_SCALE", "").split(",") if name]
    unknown = set(wanted) - set(PIECES)
    if unknown:
        sys.exit(f"error: ORTHOREG_SCALE names {sorted(unknown)}; known are {list(PIECES)}.")
    known = json.loads(_RECORD.read_text())["pieces"] if _RECORD.exists() else {}
    measured = revision()  # before records change
    for name in wanted or PIECES:
        print(f"  {name} ...", file=sys.stderr)
        known[name] = {"revision": measured, **PIECES[name]()}
        _RECORD.write_text(json.dumps(_ordered(known), indent=1) + "\n")
    return _ordered(known)


def _ordered(known: dict[str, Any]) -> dict[str, Any]:
    return {"pieces": {name: known[name] for name in PIECES if name in known}}


def _rows(count: int) -> dict[str, Any]:
    with tables(count) as folder:
        return {"bytes": size_of(folder), **fitted(folder, count)}


def _workers() -> dict[str, Any]:
    """Compare one worker, two workers, and two workers with one killed, with a single process."""
    with tables(_SHARED) as folder:
        plain = fitted(folder, _SHARED)
        one, two = (fitted(folder, _SHARED, workers=count) for count in (1, 2))
        killed = fitted(folder, _SHARED, workers=2, kill=0.4 * two["wall"])
    return {
        "rows": _SHARED, "one": one, "two": two, "killed": killed,
        "difference": max(difference(fit, plain) for fit in (one, two)),
        "killed_difference": difference(killed, plain),
    }  # fmt: skip


def _wide() -> dict[str, Any]:
    return {"cases": {name: in_process("benchmarks.scale._one_wide", name) for name in WIDE}}


PIECES: dict[str, Callable[[], dict[str, Any]]] = {
    **{f"rows_1e{power}": partial(_rows, 10**power) for power in (5, 6, 7, 8)},
    "workers": _workers,
    "moments": partial(in_process, "benchmarks.scale._rates"),
    "wide": _wide,
    "cluster": _cost.measure,
}
