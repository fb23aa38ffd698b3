"""Recovery of chaotic flows with polynomial equations, compared with PySINDy."""

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks._jobs import run_jobs, selected, with_results
from benchmarks.revision import source_revision

from ._flows import names
from ._page import before, page, render

__all__ = ["before", "measure", "page", "render"]

NOISES = (0.0, 0.01, 0.05)
CPU_LIMIT = 300.0  # seconds for a fit with its summary
_RECORDS = Path(__file__).parents[1] / "records"
PEERS = _RECORDS / "dysts_peers.json"
STORE = _RECORDS / "partial" / "dysts.jsonl"


def measure(
    only: str = "",
    limit: int | None = None,
    seeds: int = 1,
    workers: int = 1,
    cpu_limit: float = CPU_LIMIT,
    store: Path = STORE,
    peers: bool = False,
    stored: bool = False,
) -> dict[str, Any]:
    """Return the record of our fits and of the peers' on the same runs, which are fitted again if
    `peers` is set and read from their own record otherwise. If `stored` is set, nothing is fitted:
    the record is that of the cases that have results already."""
    flows = names()
    if flows is None:
        sys.exit("error: dysts_half.json is not in the folder named by ORTHOREG_DATA.")
    cases = [
        {"id": f"{name}/{100 * noise:g}%/{seed}", "flow": name, "noise": noise, "seed": seed}
        for seed in range(seeds)
        for name in flows
        for noise in NOISES
    ]
    cases = selected(cases, only, limit)
    if stored:
        cases = with_results(cases, store)
    done = run_jobs(
        "benchmarks.dysts._ours:our_case", cases, store, workers=workers, cpu_limit=cpu_limit
    )
    if peers or not (stored or PEERS.exists()):
        measure_peers(cases, workers, store.with_name(store.stem + "_peers.jsonl"))
    wanted = {case["id"] for case in cases}
    known = json.loads(PEERS.read_text())["rows"] if PEERS.exists() else {}
    beside = {key: row for key, row in known.items() if key.rpartition("/")[0] in wanted}
    rows = {case["id"]: case | done[case["id"]] for case in cases}
    return {"revision": source_revision(), "cpu_limit": cpu_limit, "rows": rows, "peers": beside}


def measure_peers(cases: list[dict[str, Any]], workers: int, store: Path) -> None:
    """Fit PySINDy's strong and weak form to the same runs, and write their record."""
    import pysindy

    version = f"PySINDy {pysindy.__version__}"
    every = [
        case | {"id": f"{case['id']}/{method}", "method": method}
        for case in cases
        for method in ("strong", "weak")
    ]
    done = run_jobs(
        "benchmarks.dysts._peers:peer_case", every, store, workers=workers, revision=version
    )
    known = json.loads(PEERS.read_text()) if PEERS.exists() else {}
    rows = known.get("rows", {}) if known.get("version") == version else {}
    rows |= {case["id"]: case | done[case["id"]] for case in every}
    PEERS.write_text(json.dumps({"version": version, "rows": rows}, indent=1) + "\n")
