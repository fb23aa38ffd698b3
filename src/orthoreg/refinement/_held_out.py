"""Whether refined constants forecast data that they have not seen as well as the old ones."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from ..data import Dataset, Rows, held_out_rows
from ._levenberg import descend
from ._problem import Problem
from ._segments import from_rows
from ._stages import Stage, run_stage

_SHARE = 0.25
_FEWEST_ROWS = 20  # with fewer, forecasts are compared on the data themselves
_FORECASTS = 48
_MOST_STEPS = 1000
_MOST_EVALUATIONS = 8
_WINDOW = 10  # steps that tell where a forecast begins
_ANY = [[-np.inf], [np.inf]]
WORSE = 1.05
"""By how much held-out forecasts may be worse, which is within their own errors."""
EXACT = 1e-6
"""Forecast errors below this, in standard deviations, are as good as none."""


class Comparison(NamedTuple):
    """Forecast errors with the old constants and with those refined on the other data."""

    before: float
    after: float

    @property
    def holds(self) -> bool:
        return bool(self.after <= max(WORSE * self.before, EXACT))


def compare(
    problem: Problem,
    stage: Stage,
    old: Float[np.ndarray, " P"],
    smooth: Float[np.ndarray, "N n"],
    bounds: Float[np.ndarray, "2 P"],
) -> Comparison:
    """Refines once more without the held-out part, from where the stage ended, and forecasts it
    from several of its rows."""
    data = problem.data
    if data.n_samples < _FEWEST_ROWS:
        return Comparison(
            forecast_error(problem, stage, old, data), forecast_error(problem, stage, stage.p, data)
        )
    held = _held_out(data)
    rest = replace(problem, data=_rows(data, ~held))
    stage_of_rest = run_stage(
        rest, stage.length, stage.p, smooth[~held], stage.precision, bounds, sigma=stage.sigma,
        most=_MOST_EVALUATIONS,
    )  # fmt: skip
    unseen = _rows(data, held)
    return Comparison(
        forecast_error(problem, stage, old, unseen),
        forecast_error(problem, stage, stage_of_rest.p, unseen),
    )


def forecast_error(
    problem: Problem, stage: Stage, p: Float[np.ndarray, " P"], data: Dataset
) -> float:
    """The root mean squared error of forecasts from rows spread over the runs, in standard
    deviations of the states; no state of a forecast counts as worse than its mean would be. Each
    begins with the state that follows its first ten steps best."""
    own = replace(problem, data=data, gated=True)  # as a user's forecast has it
    place = np.arange(data.n_samples) - data.offsets[data.run_of_row]
    possible = np.flatnonzero(place <= 0.75 * (data.run_lengths[data.run_of_row] - 2))
    if not len(possible):
        return np.nan
    few = np.linspace(0, len(possible) - 1, min(_FORECASTS, len(possible))).round().astype(int)
    begins = np.unique(np.concatenate([possible[few], data.offsets[:-1][:_FORECASTS]]))
    segments = from_rows(data, begins, _MOST_STEPS)
    early = from_rows(data, begins, _WINDOW)
    evaluate = own.evaluator(early, stage.substeps)
    starts = descend(
        evaluate, p, data.states[begins].T, stage.sigma, np.zeros(len(p)), np.array(_ANY),
        most=_MOST_EVALUATIONS, tolerance=1.0, free=False,
    ).starts  # fmt: skip
    states, sound = own.simulate(p, starts, segments, stage.substeps)
    weight = segments.weight[1:, None]
    apart = (states - own.states_of(segments))[1:] / problem.sizes[:, None]
    squares = (apart**2 * weight).sum(axis=0) / np.maximum(weight.sum(axis=0), 1)
    squares = np.where(sound, np.minimum(squares, 1.0), 1.0)[problem.measured]
    return float(np.sqrt(squares.mean()))


def _held_out(data: Dataset) -> Bool[np.ndarray, " N"]:
    """The rows of some whole runs; of a single run the end."""
    none = np.zeros((data.n_samples, data.n_states))
    rows = Rows(
        data.variables, none, data.run_of_row, np.zeros(data.n_states), times=data.times
    )
    return held_out_rows(rows, _SHARE)


def _rows(data: Dataset, chosen: Bool[np.ndarray, " N"]) -> Dataset:
    """These rows; those of a run follow each other."""
    lengths = np.bincount(data.run_of_row[chosen], minlength=data.n_runs)
    kept = np.flatnonzero(lengths)
    return replace(
        data,
        times=data.times[chosen],
        states=data.states[chosen],
        inputs=None if data.inputs is None else data.inputs[chosen],
        derivatives=None,
        offsets=np.concatenate([[0], np.cumsum(lengths[kept])]),
        labels=tuple(data.labels[r] for r in kept),
    )
