"""Forecasts of a field: errors, comparisons on held-out data, initial states and variants."""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple, final

import numpy as np
from jaxtyping import Bool, Float, Int

from ..data import Dataset, Rows, held_out_rows
from ..field.hybrid import HybridField
from ..physics import Starts
from ..simulation import run_inputs
from ..terms import FeatureMap
from . import _limits as limits
from ._constants import Constants
from ._matching import Stage, match_starts
from ._problem import Problem
from ._segments import RunSegments, box_around, from_rows, input_nodes, shoot
from ._stages import match_stage


def forecast_error(field: HybridField, data: Dataset, interpolation: Mapping[str, str]) -> float:
    """Return the root mean squared error of forecasts that start at rows spread over the runs.

    The error is in standard deviations of the measured states. Forecasts start at smoothed states
    and run to the end of their run. The error of a state is capped at the error of its mean.
    """
    constants = Constants.of(field, residual=False)
    problem = Problem.of(field, constants, data, dict(interpolation), gated=True)
    latest = limits.LATEST_FORECAST * (data.run_lengths - 2)
    begins = np.unique(_spread_rows(data, latest, limits.FORECASTS))
    if not len(begins):
        return np.nan
    segments = from_rows(data, begins, limits.FORECAST_MAX_STEPS)
    p, starts = constants.read(field), data.plan.smoothed[begins].T
    weight = segments.weight[1:, None]

    def error(substeps: int) -> float:
        with np.errstate(all="ignore"):
            squares = _squared_errors(problem, p, starts, segments, substeps, weight)
        squares = np.where(np.isfinite(squares), squares, 1.0)
        return float(np.sqrt(squares[problem.measured].mean()))

    substeps, coarse, fine = 2, error(1), error(2)
    is_accurate = abs(fine - coarse) <= limits.FORECAST_ACCURACY * fine
    while not is_accurate and substeps < limits.FORECAST_MAX_SUBSTEPS:
        substeps *= 2
        coarse, fine = fine, error(substeps)
        is_accurate = abs(fine - coarse) <= limits.FORECAST_ACCURACY * fine
    return fine


def matched_forecast_errors(
    field: HybridField, data: Dataset, interpolation: Mapping[str, str], steps: int
) -> Float[np.ndarray, " n"]:
    """Return the root mean squared error of each state over forecasts of `steps` steps.

    Errors are in standard deviations, and NaN for states that were not measured. The error of a
    forecast is at most 1.

    The initial state is estimated from the first third of each forecast. This third is excluded
    from the error.
    """
    problem = Problem.of(field, Constants.none(), data, dict(interpolation))
    latest = data.run_lengths - 1.0 - steps
    begins = np.unique(_spread_rows(data, latest, limits.FORECASTS))
    segments, early = from_rows(data, begins, steps), from_rows(data, begins, max(steps // 3, 1))
    guess = np.moveaxis(data.plan.smoothed[early.rows], 2, 1)
    noise = np.maximum(data.plan.noise, limits.START_MIN_NOISE * problem.sizes)
    sigma = np.where(problem.measured, noise, np.inf)
    with np.errstate(all="ignore"):
        accuracy = limits.START_ACCURACY * problem.sizes
        substeps = problem.substeps(np.zeros(0), guess[0], guess, early, accuracy)
        starts = match_starts(
            problem, early, substeps, guess, sigma, max_steps=limits.START_EVALUATIONS
        )
        weight = segments.weight[1:, None].copy()
        weight[: early.length] = 0.0
        squares = _squared_errors(problem, np.zeros(0), starts, segments, substeps, weight)
    return np.where(problem.measured, np.sqrt(np.mean(squares, axis=1)), np.nan)


@final
class Comparison(NamedTuple):
    """Forecast errors on held-out data before and after a refinement on the remaining data.

    `difference` is the new minus the old error, in standard errors.
    """

    before: float
    after: float
    difference: float = 0.0

    @property
    def is_accepted(self) -> bool:
        is_significant = self.difference > limits.SIGNIFICANT_DIFFERENCE
        ratio = limits.MAX_ERROR_RATIO if is_significant else limits.MAX_ERROR_RATIO_CHANCE
        if self.after > limits.LOST_FORECAST:
            ratio = 1 / limits.MAX_ERROR_RATIO  # useless forecasts must at least improve
        return bool(self.after <= max(ratio * self.before, limits.EXACT_FORECAST))


@final
class HeldOutForecasts:
    """Held-out runs, or the end of a single run, and the remaining data for refinement."""

    def __init__(
        self,
        problem: Problem,
        states: Float[np.ndarray, "N n"],
        bounds: Float[np.ndarray, "2 P"],
    ):
        rows = _held_out_rows(problem)
        self._problem, self._bounds = problem, bounds
        self._states = states if rows is None else states[~rows]
        self._held_out_states = states if rows is None else states[rows]
        self._remainder = None if rows is None else problem.subset(~rows)
        self._held_out = problem if rows is None else problem.subset(rows)

    def compare(self, stage: Stage) -> Comparison:
        """Return forecast errors on held-out data before and after a refinement.

        The constants of a stage are refined without the held-out data.
        """
        p = stage.p
        if self._remainder is not None:
            p = match_stage(
                self._remainder, stage.length, p, self._states, stage.precision, self._bounds,
                sigma=stage.sigma, max_evaluations=limits.NEAR_EVALUATIONS,
            ).p  # fmt: skip
        before, after = (
            squared_forecast_errors(self._held_out, stage, constants, self._held_out_states)
            for constants in (self._problem.initial_constants, p)
        )
        if not len(before):
            return Comparison(np.nan, np.nan)
        change = after - before
        error = change.std() / np.sqrt(len(change))
        difference = float(change.mean() / error) if error > 0 else 0.0
        return Comparison(float(np.sqrt(before.mean())), float(np.sqrt(after.mean())), difference)


def squared_forecast_errors(
    problem: Problem, stage: Stage, p: Float[np.ndarray, " P"], states: Float[np.ndarray, "N n"]
) -> Float[np.ndarray, " B"]:
    """Return the mean squared errors of forecasts from rows spread over the runs.

    Errors are in variances of the states, and at most 1.

    The initial state is estimated from the first third of each forecast (at least `HELD_OUT_WINDOW`
    steps). This third is excluded from the error.
    """
    data = problem.data
    latest = limits.LATEST_START * (data.run_lengths - 1) - 1
    begins = _spread_rows(data, latest, limits.HELD_OUT_FORECASTS)
    if not len(begins):
        return np.zeros(0)
    # chaos would determine the result of forecasts that are much longer than the segments
    steps = min(limits.HELD_OUT_STEPS, max(2 * stage.length, 2 * limits.MIN_START_STEPS))
    segments = from_rows(data, begins, steps)
    window = max(limits.MIN_START_STEPS, segments.length // 3)
    early = from_rows(data, begins, min(window, max(1, segments.length // 2)))
    guess = np.moveaxis(states[early.rows], 2, 1)
    field = problem.constants.write(problem.field, p)
    fixed = replace(problem, field=field, constants=Constants.none())
    starts = match_starts(
        fixed, early, stage.substeps, guess, stage.sigma, max_steps=limits.NEAR_EVALUATIONS
    )
    weight = segments.weight[1:, None].copy()
    outlasts_window = segments.weight.sum(axis=0) > 2 * early.length
    weight[: early.length, :, outlasts_window] = 0.0
    # with the gate, as in forecasts for users
    gated = replace(fixed, gated=True)
    squares = _squared_errors(gated, np.zeros(0), starts, segments, stage.substeps, weight)
    return squares[problem.measured].mean(axis=0)


def starting_states(
    field: HybridField,
    data: Dataset,
    interpolation: Mapping[str, str],
    rules: Starts | None = None,
    row: int | None = None,
) -> tuple[Float[np.ndarray, "R n"], Int[np.ndarray, " R"]]:
    """Return the state of each run whose trajectory best fits the next rows, and the rows of these
    states.

    States are weighted by their noise.

    By default, these are the states at the first rows of all runs. If `row` is given, the state is
    before this row by as many rows as are fitted, or at the first row of its run. If the match
    fails, the state is smoothed. With hidden states, whole runs are fitted, as long as small errors
    of the initial state do not grow too much. The `rules` for first rows are satisfied.
    """
    problem = Problem.of(field, Constants.none(), data, dict(interpolation), starts=rules)
    noise = np.maximum(data.plan.noise, limits.START_MIN_NOISE * problem.sizes)
    sigma = np.where(problem.measured, noise, np.inf)
    length = limits.START_SHARE * data.run_lengths.max()
    length = int(np.clip(length, limits.MIN_START_STEPS, limits.MAX_START_STEPS))
    if data.hidden:
        length = _predictable_steps(problem)
    first = data.offsets[:-1]
    if row is not None:
        begin = first[data.run_of_row[row]]
        first = np.array([max(begin, row - length)])
    segments = from_rows(data, first, length)
    guess = np.moveaxis(data.plan.smoothed[segments.rows], 2, 1)
    accuracy = limits.START_ACCURACY * problem.sizes
    with np.errstate(all="ignore"):
        substeps = problem.substeps(np.zeros(0), guess[0], guess, segments, accuracy)
        starts = match_starts(
            problem, segments, substeps, guess, sigma, max_steps=limits.START_EVALUATIONS
        )
    return starts.T, first


def _predictable_steps(problem: Problem) -> int:
    """Return the largest number of steps along which errors do not grow too much.

    The length of the longest run is halved repeatedly.
    """
    data, length = problem.data, int(problem.data.run_lengths.max()) - 1
    while length > limits.MIN_START_STEPS:
        segments = from_rows(data, data.offsets[:-1], length)
        growth = problem.error_growth(np.zeros(0), data.plan.smoothed, segments)
        if growth <= limits.MATCH_GROWTH:
            break
        length //= 2
    return max(length, 1)


def forecast_variants(
    features: FeatureMap,
    coefficients: Float[np.ndarray, "M n K"],
    data: Dataset,
    runs: Int[np.ndarray, " R"],
    starts: Float[np.ndarray, "R n"],
    interpolation: Mapping[str, str],
) -> Float[np.ndarray, "M R T n"]:
    """Return forecasts of these runs for many sets of coefficients, without a residual.

    Forecasts have at most `VARIANT_MAX_STEPS` rows. Rows after a trajectory diverges or its run
    ends are NaN.

    The integration step is constant. It is small enough for the first set.
    """
    arguments = (data, runs, starts, interpolation)
    substeps, coarse = 1, _simulated_variants(features, coefficients[:1], *arguments, 1)[0]
    std = np.maximum(data.states.std(axis=0), 1e-300)
    while True:
        substeps *= 2
        variants = _simulated_variants(features, coefficients, *arguments, substeps)
        fine = variants[0]
        with np.errstate(invalid="ignore"):
            change = np.abs(fine - coarse) / std
        same_end = np.array_equal(np.isnan(fine), np.isnan(coarse))
        is_accurate = same_end and np.nanmax(change) < limits.VARIANT_ACCURACY
        if is_accurate or substeps >= limits.VARIANT_MAX_SUBSTEPS:
            return variants
        coarse = fine


def _simulated_variants(
    features: FeatureMap,
    coefficients: Float[np.ndarray, "M n K"],
    data: Dataset,
    runs: Int[np.ndarray, " R"],
    starts: Float[np.ndarray, "R n"],
    interpolation: Mapping[str, str],
    substeps: int,
) -> Float[np.ndarray, "M R T n"]:
    count = len(coefficients)
    segments = from_rows(data, np.tile(data.offsets[runs], count), limits.VARIANT_MAX_STEPS)
    nodes = input_nodes(data, run_inputs(data, interpolation), segments, substeps)
    used = np.flatnonzero((coefficients != 0).any(axis=(0, 1)))
    terms = features.only([int(k) for k in used])
    weights = np.repeat(np.moveaxis(coefficients[:, :, used], 0, 2), len(runs), axis=2)  # n K B

    def field(z: Float[np.ndarray, "V B"]) -> Float[np.ndarray, "n B"]:
        theta = np.empty((len(terms.terms), z.shape[1]))
        for row, column in zip(theta, terms.columns(z, np), strict=True):
            row[:] = column
        theta[~np.isfinite(theta)] = 1e300  # terms with coefficient zero may be infinite
        return np.einsum("nkb,kb->nb", weights, theta)

    box = box_around(data.states)
    states = shoot(field, np.tile(starts, (count, 1)).T, segments, nodes, substeps, box).states
    # trajectories that leave the box are moved to its middle
    middle = ((box.low + box.high) / 2)[None]
    has_diverged = np.cumsum((states == middle).all(axis=1), axis=0) > 0
    is_missing = has_diverged | (segments.weight == 0) | ~np.isfinite(states).all(axis=1)
    states = np.where(is_missing[:, None], np.nan, states)
    return np.moveaxis(states, (0, 1, 2), (1, 2, 0)).reshape(count, len(runs), *states.shape[:2])


def _squared_errors(
    problem: Problem,
    p: Float[np.ndarray, " P"],
    starts: Float[np.ndarray, "n B"],
    segments: RunSegments,
    substeps: int,
    weight: Float[np.ndarray, "L 1 B"],
) -> Float[np.ndarray, "n B"]:
    """Return the weighted mean squared errors of simulations, in variances of the states.

    Errors are at most 1; the error of a diverged simulation is 1.
    """
    states, is_valid = problem.simulate(p, starts, segments, substeps)
    errors = problem.residuals(states, segments)[1:] / problem.sizes[:, None]
    squares = (errors**2 * weight).sum(axis=0) / np.maximum(weight.sum(axis=0), 1)
    return np.where(is_valid, np.minimum(squares, 1.0), 1.0)


def _spread_rows(
    data: Dataset, latest: Float[np.ndarray, " R"], count: int
) -> Int[np.ndarray, " B"]:
    """Return up to `count` rows spread over the runs. No row is after the `latest` row of its
    run.
    """
    position = np.arange(data.n_samples) - data.offsets[data.run_of_row]
    rows = np.flatnonzero(position <= latest[data.run_of_row])
    if not len(rows):
        return rows
    return rows[np.linspace(0, len(rows) - 1, min(count, len(rows))).round().astype(int)]


def _held_out_rows(problem: Problem) -> Bool[np.ndarray, " N"] | None:
    """Return a mask of the held-out rows: some whole runs, or the end of a single run.

    If weights are free, hold out a stretch in the middle of every run, because a residual does not
    extrapolate. Return None if there are too few rows.
    """
    data = problem.data
    if data.n_samples < limits.HELD_OUT_ROWS:
        return None
    if problem.constants.weighted:
        length = data.run_lengths[data.run_of_row]
        position = (np.arange(data.n_samples) - data.offsets[data.run_of_row]) / length
        begin, share = limits.HELD_OUT_STRETCH_BEGIN, limits.HELD_OUT_SHARE
        is_long = length * share >= limits.MIN_START_STEPS / 2
        rows = (position >= begin) & (position < begin + share) & is_long
    else:
        zeros = np.zeros((data.n_samples, data.n_states))
        all_rows = Rows(
            data.variables, zeros, data.run_of_row, np.zeros(data.n_states), times=data.times
        )
        rows = held_out_rows(all_rows, limits.HELD_OUT_SHARE)
    return None if rows.all() or not rows.any() else rows
