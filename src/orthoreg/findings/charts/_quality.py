"""Statistics of the data: steps, gaps, noise, outliers and repairs."""

import hashlib
from dataclasses import dataclass
from typing import final

import numpy as np

from ...data import Dataset
from .._words import counted, number, percent

_GAP = 10.0  # gap: a step longer than this many median steps
_COLUMNS = ("variable", "unit", "from", "to", "std. dev.", "noise", "outliers", "origin")


@final
@dataclass(frozen=True)
class Quality:
    """Statistics of the data: a table row per variable, facts, notes of the reader, and repairs."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    facts: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    repairs: tuple[str, ...]


def quality_of(data: Dataset) -> Quality:
    """Return the statistics of the data, which do not depend on a model."""
    plan = data.plan
    outliers = (plan.clean.states != data.states).sum(axis=0)
    rows = []
    for k, (name, column) in enumerate(zip(data.variable_names, data.variables.T, strict=True)):
        std = float(column.std())
        noise, count = "–", "–"
        origin = "input"
        if k < data.n_states:
            origin = "measured" if data.is_measured[k] else "estimated"
        if origin == "measured":
            share = plan.noise[k] / std if std > 0 else 0.0
            noise = percent(float(share)) if plan.is_noise[k] else "none seen"
            count = "–" if data.discrete else str(int(outliers[k]))
        unit = (data.units.get(name, ""),) if data.units else ()
        cells = (name, *unit, f"{column.min():.4g}", f"{column.max():.4g}")
        rows.append((*cells, f"{std:.3g}", noise, count, origin))
    repairs = tuple(str(note) for note in data.notes if note.is_repair)
    notes = tuple(str(note) for note in data.notes if not note.is_repair)
    columns = tuple(column for column in _COLUMNS if data.units or column != "unit")
    return Quality(columns, tuple(rows), _facts(data), notes, repairs)


def _facts(data: Dataset) -> tuple[tuple[str, str], ...]:
    low, high = int(data.run_lengths.min()), int(data.run_lengths.max())
    lengths = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    each = " each" if data.n_runs > 1 else ""
    facts = [
        ("Runs", f"{counted(data.n_runs, 'run')}, {lengths} rows{each}"),
        ("Rows", f"{data.n_samples:,}"),
    ]
    steps = np.diff(data.times)
    inside = np.ones(len(steps), dtype=bool)
    inside[data.offsets[1:-1] - 1] = False
    steps = steps[inside]
    unit = data.units.get(data.time_name, "")
    unit = f" {unit}" if unit else ""
    if len(steps):
        median = float(np.median(steps))
        gaps = int(np.count_nonzero(steps > _GAP * median))
        size = f"{median:.4g}{unit}"
        varied = f"{steps.min():.4g} to {steps.max():.4g}, median {size}"
        equal = bool(np.all(data.has_equal_steps()))
        facts.append(("Time steps", f"{size}, all equal" if equal else varied))
        facts.append(("Gaps", f"{gaps} longer than {_GAP:g} usual steps" if gaps else "none"))
        longest = float(np.max(data.times[data.offsets[1:] - 1] - data.times[data.offsets[:-1]]))
        facts.append(("Longest run", f"{number(longest)}{unit}"))
    if data.discrete:
        return (*facts, ("Equations", "a map from row to row"))
    facts.append(("Derivatives", "measured" if data.derivatives is not None else "not measured"))
    return tuple(facts)


def digest(data: Dataset) -> str:
    """Return the SHA-256 of names and numbers, which identifies the data."""
    result = hashlib.sha256()
    result.update(repr((data.state_names, data.input_names, data.n_runs)).encode())
    for array in (data.offsets, data.times, data.states, data.inputs, data.derivatives):
        if array is not None:
            kind = np.int64 if array.dtype.kind in "iu" else np.float64
            result.update(np.ascontiguousarray(array, dtype=kind).data)
    return result.hexdigest()
