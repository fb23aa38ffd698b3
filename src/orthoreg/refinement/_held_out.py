"""Whether refined constants forecast data that they have not seen as well as the old ones."""

from dataclasses import replace
from typing import NamedTuple, final

import numpy as np
from jaxtyping import Bool, Float

from ..data import Rows, held_out_rows
from . import _limits as limits
from ._constants import Constants
from ._lifted import match_starts
from ._problem import Problem
from ._segments import from_rows
from ._stages import Stage, run_stage

WORSE, WORSE_BY_CHANCE = 1.05, 1.2
"""By how much held-out forecasts may be worse; where the difference may be chance."""
USELESS = 0.7
"""Forecast errors, in standard deviations, beyond which a forecast is none."""
SURE = 2.0
"""Standard errors of the difference; a smaller one is chance."""
EXACT = 1e-6
"""Forecast errors below this, in standard deviations, are as good as none."""


@final
class Comparison(NamedTuple):
    """Forecast errors with the old constants and with those refined on the other data; by how
    many standard errors of their difference the new ones are worse."""

    before: float
    after: float
    surprise: float = 0.0

    @property
    def holds(self) -> bool:
        worse = WORSE if self.surprise > SURE else WORSE_BY_CHANCE
        if self.after > USELESS:
            worse = 1 / WORSE  # no forecasts to speak of: they must at least gain
        return bool(self.after <= max(worse * self.before, EXACT))


@final
class HeldOut:
    """Runs, or the end of a single one, that are forecast by constants refined without them."""

    def __init__(
        self,
        problem: Problem,
        smooth: Float[np.ndarray, "N n"],
        bounds: Float[np.ndarray, "2 P"],
    ):
        data = problem.data
        held = _held_out(problem) if data.n_samples >= limits.HELD_OUT_ROWS else None
        if held is not None and (held.all() or not held.any()):
            held = None
        self._problem, self._bounds = problem, bounds
        self._smooth = smooth if held is None else smooth[~held]
        self._guess = smooth if held is None else smooth[held]
        self._rest = None if held is None else problem.only(~held)
        self._unseen = problem if held is None else problem.only(held)

    def __call__(self, stage: Stage) -> Comparison:
        """Refines once more without the held-out part, from where the stage ended, and forecasts
        it from several of its rows."""
        p = stage.p
        if self._rest is not None:
            p = run_stage(
                self._rest, stage.length, p, self._smooth, stage.precision, self._bounds,
                sigma=stage.sigma, most=limits.HELD_OUT_EVALUATIONS,
            ).p  # fmt: skip
        before = forecast_errors(self._unseen, stage, self._problem.old, self._guess)
        after = forecast_errors(self._unseen, stage, p, self._guess)
        if not len(before):
            return Comparison(np.nan, np.nan)
        change = after - before
        error = change.std() / np.sqrt(len(change))
        surprise = float(change.mean() / error) if error > 0 else 0.0
        return Comparison(float(np.sqrt(before.mean())), float(np.sqrt(after.mean())), surprise)


def forecast_errors(
    problem: Problem, stage: Stage, p: Float[np.ndarray, " P"], smooth: Float[np.ndarray, "N n"]
) -> Float[np.ndarray, " B"]:
    """The mean squared errors of forecasts from rows spread over the runs, in variances of the
    states; none counts as worse than the mean would be. The first third of each forecast, but at
    least ten steps, is where its initial state is estimated, and does not count."""
    data, none = problem.data, np.zeros(0)
    place = np.arange(data.n_samples) - data.offsets[data.run_of_row]
    possible = np.flatnonzero(
        place <= limits.LATEST_START * (data.run_lengths[data.run_of_row] - 1) - 1
    )
    if not len(possible):
        return np.zeros(0)
    few = (
        np.linspace(0, len(possible) - 1, min(limits.HELD_OUT_FORECASTS, len(possible)))
        .round()
        .astype(int)
    )
    begins = possible[few]
    # beyond what the segments could be followed for, chaos would decide
    steps = min(limits.HELD_OUT_STEPS, max(2 * stage.length, 2 * limits.HELD_OUT_WINDOW))
    segments = from_rows(data, begins, steps)
    window = max(limits.HELD_OUT_WINDOW, segments.length // 3)
    early = from_rows(data, begins, min(window, max(1, segments.length // 2)))
    guess = np.moveaxis(smooth[early.rows], 2, 1)
    field = problem.constants.write(problem.field, p)
    given = replace(problem, field=field, constants=Constants.none())
    starts = match_starts(
        given, early, stage.substeps, guess, stage.sigma, most=limits.HELD_OUT_EVALUATIONS
    )
    # as a user's forecast has it: with the gate
    forecast = replace(given, gated=True)
    states, sound = forecast.simulate(none, starts, segments, stage.substeps)
    weight = segments.weight[1:, None].copy()
    lasting = segments.weight.sum(axis=0) > 2 * early.length
    weight[: early.length, :, lasting] = 0.0
    apart = (states - problem.states_of(segments))[1:] / problem.sizes[:, None]
    squares = (apart**2 * weight).sum(axis=0) / np.maximum(weight.sum(axis=0), 1)
    return np.where(sound, np.minimum(squares, 1.0), 1.0)[problem.measured].mean(axis=0)


def _held_out(problem: Problem) -> Bool[np.ndarray, " N"]:
    """The rows of some whole runs; of a single run the end. Where weights are free, a stretch in
    the middle of every run: a residual knows nothing of states that it has not seen."""
    data = problem.data
    if problem.constants.weighted:
        length = data.run_lengths[data.run_of_row]
        place = (np.arange(data.n_samples) - data.offsets[data.run_of_row]) / length
        return (
            (place >= 0.4)
            & (place < 0.4 + limits.HELD_OUT_SHARE)
            & (length * limits.HELD_OUT_SHARE >= limits.HELD_OUT_WINDOW / 2)
        )
    none = np.zeros((data.n_samples, data.n_states))
    rows = Rows(data.variables, none, data.run_of_row, np.zeros(data.n_states), times=data.times)
    return held_out_rows(rows, limits.HELD_OUT_SHARE)
