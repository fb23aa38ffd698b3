"""ODEBench systems, each with a training run and a run from another initial state."""

import csv
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from orthoreg.terms import evaluate, parse

_MOST_SLOPES = 20_000
_FARTHEST = 1e9


def odebench_runs(folder: Path) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """Return times and states of both runs of each system in the odd half, side by side. The result
    is empty if the folder does not contain the data."""
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


def odebench_truth(folder: Path, number: int) -> Callable[[np.ndarray], np.ndarray]:
    """Return the published right-hand side of a system."""
    known: list[dict[str, Any]] = json.loads((folder / "odebench_odd.json").read_text())
    texts: list[str] = next(one["substituted"] for one in known if int(one["id"]) == number)
    names = tuple(f"x_{c}" for c in range(len(texts)))
    sides = [parse(f"{text}".replace("cot(", "1/tan("), names) for text in texts]
    return lambda x: np.array([float(evaluate(side, list(x), np)) for side in sides])


def forecast(
    slope: Callable[[np.ndarray], np.ndarray], start: np.ndarray, times: np.ndarray
) -> np.ndarray:
    """Return the states at these times, not finite after the solver fails."""
    from scipy.integrate import solve_ivp

    nothing, used = np.full((len(times), len(start)), np.nan), 0

    def checked(_: float, x: np.ndarray) -> np.ndarray:
        nonlocal used
        used += 1
        if used > _MOST_SLOPES or not np.abs(x).max() < _FARTHEST:
            raise FloatingPointError
        return slope(x)

    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = solve_ivp(checked, (times[0], times[-1]), start, "LSODA", times,
                              rtol=1e-7, atol=1e-9).y.T  # fmt: skip
        except (FloatingPointError, ValueError):
            return nothing
    return found if len(found) == len(times) else nothing


def forecast_r2(x: np.ndarray, truth: np.ndarray) -> float:
    """Return R^2 of a forecast over all states, or minus infinity if it is not finite."""
    if not np.isfinite(x).all():
        return -np.inf
    return float(1 - ((x - truth) ** 2).sum() / ((truth - truth.mean(axis=0)) ** 2).sum())
