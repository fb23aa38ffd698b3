"""ODEBench's systems: a training run and one from another start each."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np


def odebench_runs(folder: Path) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """For each system of the odd half times and states of both runs, side by side; none where the
    folder does not hold them."""
    file, table = folder / "odebench_odd.json", folder / "odebench_odd.csv"
    if not (file.exists() and table.exists()):
        return {}
    rows: dict[tuple[int, int], list[list[float]]] = {}
    with table.open() as lines:
        for row in list(csv.reader(lines))[1:]:
            values = [float(value) for value in row[2:] if value]
            rows.setdefault((int(row[0]), int(row[1])), []).append(values)
    known: list[dict[str, Any]] = json.loads(file.read_text())
    numbers = [int(one["id"]) for one in known]
    return {n: (np.array(rows[n, 0]), np.array(rows[n, 1])) for n in numbers}


def forecast_r2(x: np.ndarray, truth: np.ndarray) -> float:
    """R^2 over all states of a forecast; minus infinity where it is not finite."""
    if not np.isfinite(x).all():
        return -np.inf
    return float(1 - ((x - truth) ** 2).sum() / ((truth - truth.mean(axis=0)) ** 2).sum())
