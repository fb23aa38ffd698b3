"""Behaviour of the residual beyond the training data."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import orthoreg as og
from orthoreg.diagnostics import relative_error
from orthoreg.field.hybrid import HybridField

from .development import BEYOND, DEFAULT_LIBRARY, Development, Runs, generate

_SEEDS = (0, 1)
_STEPS = 4  # Runge-Kutta steps per step of the data
_LEAST, _MOST = 1e-6, 1e3  # errors are clipped to this range
_FARTHEST = 1e6
_HELD = "held"
_METRICS = ("near", "far", "near forecast", "far forecast")


def measure() -> dict[str, Any]:
    """Return errors of derivatives and forecasts, from near and far initial states, for
    each gate."""
    rows = []
    for (name, system), seed in itertools.product(BEYOND.items(), _SEEDS):
        runs = generate(system, seed)
        library = None if system.library == DEFAULT_LIBRARY else system.library
        model = og.OrthoReg(library, seed=seed).fit(list(runs.train), t=runs.times)
        for gate, field in _fields(model.field_).items():
            rows.append({"gate": gate, "system": name, "seed": seed})
            rows[-1] |= {key: float(f"{e:.4g}") for key, e in _errors(field, system, runs).items()}
    return {"rows": rows}


def _fields(field: HybridField) -> dict[str, HybridField]:
    """Return the same fit with each kind of gate."""
    region = field.region
    assert region is not None and region.held is not None
    bare = ~np.any(field.coefficients != 0, axis=1)
    return {
        _HELD: field,
        "gone": replace(field, region=replace(region, held=None)),
        "held in equations without terms": replace(
            field, region=replace(region, held=region.held * bare)
        ),
        "no gate": replace(field, region=None),
    }


def _errors(field: HybridField, system: Development, runs: Runs) -> dict[str, float]:
    errors = {}
    for kind, states in (("near", runs.near), ("far", runs.far)):
        rows = states.reshape(-1, states.shape[-1])
        errors[kind] = relative_error(field.values(rows), system.slopes(rows))
        forecast = _forecast(field, states[:, 0], runs.times)
        errors[f"{kind} forecast"] = relative_error(forecast.reshape(rows.shape), rows)
    return {key: min(float(errors[key]), _MOST) for key in _METRICS}


def _forecast(field: HybridField, states: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Return states (starts, times, n) by Runge-Kutta steps. Diverged states are clipped."""
    path = [states]
    for step in np.repeat(np.diff(times) / _STEPS, _STEPS):
        with np.errstate(all="ignore"):
            k1 = field.values(states)
            k2 = field.values(states + step / 2 * k1)
            k3 = field.values(states + step / 2 * k2)
            k4 = field.values(states + step * k3)
            states = np.nan_to_num(states + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4), nan=_FARTHEST)
        states = np.clip(states, -_FARTHEST, _FARTHEST)
        path.append(states)
    return np.stack(path[::_STEPS], axis=1)


def beyond_table(rows: Sequence[dict[str, Any]]) -> str:
    """Return geometric means over systems and seeds, and ratios to the held residual."""
    gates = list(dict.fromkeys(row["gate"] for row in rows))
    logs = {
        gate: np.log(
            [[max(row[key], _LEAST) for key in _METRICS] for row in rows if row["gate"] == gate]
        )
        for gate in gates
    }
    lines = [["residual beyond the data", *_METRICS, "far / held", "far forecast / held"]]
    lines.append(["---"] * len(lines[0]))
    for gate in gates:
        ratio = logs[gate] - logs[_HELD]
        means = [f"{value:.2g}" for value in np.exp(logs[gate].mean(axis=0))]
        ratios = [] if gate == _HELD else [_interval(ratio[:, i]) for i in (1, 3)]
        lines.append([gate, *means, *(ratios or ["", ""])])
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _interval(logs: np.ndarray) -> str:
    """Return the geometric mean, and one standard error over systems on each side."""
    means = logs.reshape(-1, len(_SEEDS)).mean(axis=1)
    middle, error = means.mean(), means.std(ddof=1) / np.sqrt(len(means))
    low, high = np.exp(middle - error), np.exp(middle + error)
    return f"{np.exp(middle):.2f} ({low:.2f} to {high:.2f})"
