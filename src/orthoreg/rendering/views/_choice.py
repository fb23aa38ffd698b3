"""What a picture shows of much: states, runs, rows. Each choice comes with its sentence."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from ..._common.errors import InputError, quoted, suggestion
from ...data import Dataset
from ...export import equation_names
from ...model.model import AbstractModel

_STRETCH = 500  # rows in a row that are taken from a long run


def chosen_names(given: Any, names: Sequence[str], who: str, what: str) -> list[int] | None:
    """The places of the names that the caller chose, in that order; None where none were given."""
    if given is None:
        return None
    if isinstance(given, str):
        given = [given]
    wanted = list(given)
    for name in wanted:
        if name not in names:
            raise InputError(
                f"{who}(states=...) names {name!r}, which is none of the {what} {quoted(names)}."
                f"{suggestion(str(name), names)}"
            )
    if not wanted or len(set(wanted)) < len(wanted):
        raise InputError(
            f"{who}(states=...) must name at least one of the {what}, each once; got {wanted}."
        )
    return [list(names).index(name) for name in wanted]


def largest(scores: Float[np.ndarray, " n"], most: int) -> list[int]:
    """The places of the largest scores, in their own order; all where there are not more."""
    order = np.argsort(-np.nan_to_num(scores, nan=np.inf), kind="stable")[:most]
    return sorted(int(i) for i in order)


def not_measured(data: Dataset) -> str:
    """That velocities are estimates, where they are; nothing where all was measured."""
    if not data.estimated:
        return ""
    shown = dict(
        zip(data.state_names, equation_names(data.state_names, data.velocity_of), strict=True)
    )
    return f"{', '.join(shown[name] for name in data.estimated)} estimated from positions"


def share_shown(shown: int, of: int, what: str, which: str) -> str:
    """'6 of 20 states: those ...', or nothing where all are shown."""
    return f"{shown:,} of {of:,} {what}{which}" if shown < of else ""


def evenly(count: int, most: int) -> Int[np.ndarray, " _"]:
    """At most `most` of the numbers below `count`, evenly spaced, the first and last among them."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(np.int64))


def check_columns(model: AbstractModel, data: Dataset, who: str, *, closed: bool = False) -> None:
    """Refuses data in other columns than the model's; with `closed`, a model that does not have
    one equation for each state."""
    known = model.state_names_ + model.input_names_
    if data.variable_names != known:
        raise InputError(
            f"{who}: the model knows {quoted(known)}; the data have {quoted(data.variable_names)}. "
            f"Choose the same columns in that order."
        )
    if closed and model.output_names_ != model.state_names_:
        raise InputError(
            f"{who} needs a model with one equation for each of its {len(model.state_names_)} "
            f"states; it was fitted to {len(model.output_names_)} targets."
        )


def rows_of(data: Dataset, most: int) -> Dataset:
    """At most about `most` rows: whole runs, or stretches of long ones, evenly spaced.

    A stretch stands as a run of its own, so that derivatives can be estimated in it.
    """
    if data.n_samples <= most:
        return data
    pieces = -(-data.run_lengths // _STRETCH)
    ends = np.cumsum(pieces)
    total = int(ends[-1])
    size = data.n_samples / total
    taken = evenly(total, max(int(most / size), 1))
    run = np.searchsorted(ends, taken, side="right")
    place = taken - (ends - pieces)[run]
    length = data.run_lengths[run]
    first = data.offsets[run] + place * length // pieces[run]
    last = data.offsets[run] + (place + 1) * length // pieces[run]
    rows = np.concatenate([np.arange(a, b) for a, b in zip(first, last, strict=True)])
    return data.at(rows, np.concatenate([[0], np.cumsum(last - first)]), run)


def at_states(data: Dataset, states: Float[np.ndarray, "N n"]) -> Dataset:
    """Rows at these states with the inputs at their mean, to ask a model about."""
    rows = len(states)
    inputs = None if data.inputs is None else np.tile(data.inputs.mean(axis=0), (rows, 1))
    return replace(
        data, times=np.arange(float(rows)), states=states, inputs=inputs, derivatives=None,
        offsets=np.array([0, rows]), labels=("",),
    )  # fmt: skip


def steps(values: Float[np.ndarray, " N"], most: int) -> Int[np.ndarray, " M"]:
    """The rows at which a held value changes, and both ends; the envelope of more than `most`."""
    changes = np.flatnonzero(np.diff(values)) + 1
    rows = np.unique(np.concatenate([[0], changes, [len(values) - 1]]))
    return rows if len(rows) <= most else envelope(values, most)


def envelope(values: Float[np.ndarray, " N"], most: int) -> Int[np.ndarray, " M"]:
    """About `most` rows of a curve that look like all of them: the least and the largest value of
    each of many equal parts, and both ends. NaN are left out."""
    rows = np.flatnonzero(np.isfinite(values))
    if len(rows) <= most:
        return rows
    parts = max(most // 2 - 1, 1)
    size = -(-len(rows) // parts)
    padded = np.append(rows, np.full(parts * size - len(rows), rows[-1])).reshape(parts, size)
    curve = values[padded]
    line = np.arange(parts)
    extremes = [padded[line, curve.argmin(axis=1)], padded[line, curve.argmax(axis=1)]]
    return np.unique(np.concatenate([rows[[0, -1]], *extremes]))
