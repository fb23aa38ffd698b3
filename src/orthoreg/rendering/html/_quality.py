"""The data in numbers: steps, gaps, noise, outliers, and what was repaired."""

import hashlib

import numpy as np

from ...data import Dataset
from ...findings import counted, number
from ...findings._words import percent
from ._data import Quality

_GAP = 10.0  # usual steps, that a gap is longer than
_COLUMNS = ("variable", "unit", "from", "to", "std. dev.", "noise", "outliers", "origin")


def quality_of(data: Dataset) -> Quality:
    """What can be said of the data without a model."""
    plan = data.plan
    outliers = (plan.clean.states != data.states).sum(axis=0)
    rows = []
    values = data.variables
    for k, name in enumerate(data.variable_names):
        column = values[:, k]
        spread = float(column.std())
        noise, odd = "–", "–"
        if k < data.n_states and data.is_measured[k]:
            share = plan.noise[k] / spread if spread > 0 else 0.0
            noise = percent(float(share)) if plan.is_noise[k] else "none seen"
            odd = str(int(outliers[k]))
        origin = "input" if k >= data.n_states else "measured"
        if k < data.n_states and not data.is_measured[k]:
            origin = "estimated"
        unit = (data.units.get(name, ""),) if data.units else ()
        cells = (name, *unit, f"{column.min():.4g}", f"{column.max():.4g}")
        rows.append((*cells, f"{spread:.3g}", noise, odd, origin))
    repairs = tuple(str(note) for note in data.notes if note.is_repair)
    notes = tuple(str(note) for note in data.notes if not note.is_repair)
    columns = _COLUMNS if data.units else tuple(one for one in _COLUMNS if one != "unit")
    return Quality(columns, tuple(rows), _facts(data), notes, repairs)


def _facts(data: Dataset) -> tuple[tuple[str, str], ...]:
    lengths = data.run_lengths
    steps = np.diff(data.times)
    inside = np.ones(len(steps), dtype=bool)
    inside[data.offsets[1:-1] - 1] = False
    steps = steps[inside]
    unit = data.units.get(data.time_name, "")
    facts = [
        (
            "Runs",
            _range(lengths, counted(data.n_runs, "run"), f"rows{' each' * (data.n_runs > 1)}"),
        ),
        ("Rows", f"{data.n_samples:,}"),
    ]
    if len(steps):
        usual = float(np.median(steps))
        equal = bool(np.all(data.has_equal_steps()))
        gaps = int(np.count_nonzero(steps > _GAP * usual))
        size = f"{usual:.4g}{f' {unit}' if unit else ''}"
        even = "equal" if equal else f"{steps.min():.4g} to {steps.max():.4g}, median {size}"
        facts.append(("Time steps", f"{size}, all equal" if equal else even))
        facts.append(("Gaps", f"{gaps} longer than {_GAP:g} usual steps" if gaps else "none"))
        span = float(np.max(data.times[data.offsets[1:] - 1] - data.times[data.offsets[:-1]]))
        facts.append(("Longest run", f"{number(span)}{f' {unit}' if unit else ''}"))
    facts.append(("Derivatives", "measured" if data.derivatives is not None else "not measured"))
    return tuple(facts)


def _range(lengths: np.ndarray, runs: str, words: str) -> str:
    low, high = int(lengths.min()), int(lengths.max())
    return f"{runs}, {low:,} {words}" if low == high else f"{runs}, {low:,} to {high:,} {words}"


def digest(data: Dataset) -> str:
    """SHA-256 of names and numbers: the same for the same measurements, however they came."""
    found = hashlib.sha256()
    found.update(repr((data.state_names, data.input_names, data.n_runs)).encode())
    for array in (data.offsets, data.times, data.states, data.inputs, data.derivatives):
        if array is not None:
            kind = np.int64 if array.dtype.kind in "iu" else np.float64
            found.update(np.ascontiguousarray(array, dtype=kind).data)
    return found.hexdigest()
