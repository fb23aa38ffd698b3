"""Judge models: does the misfit of simulated trajectories exceed the noise?"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from jaxtyping import Bool, Float, Int

from ..data import Dataset
from ..field.hybrid import HybridField, switched
from ..physics import Starts
from . import _limits as limits
from ._censoring import expected_noise
from ._constants import Constants
from ._matching import MatchSolution, Prior, match_segments, match_starts
from ._noise import residual_std
from ._problem import Problem
from ._segments import RunSegments, cut, from_rows, input_nodes
from ._sensitivities import step_maps
from ._stages import segment_lengths


@final
@dataclass(frozen=True)
class Misfit:
    """The misfit of the trajectories of one measured state, in standard deviations of that
    state.

    `error` is the root mean square of the residuals, `noise` their random part and `systematic`
    their correlated part. Noise alone causes a systematic misfit of up to `chance`; rounding by
    integrators and files causes up to `detectable`. `motion` is the standard deviation of the state
    along segments.
    """

    error: float
    noise: float
    systematic: float
    chance: float
    detectable: float
    motion: float = 1.0

    @property
    def share_of_motion(self) -> float:
        """The systematic misfit, relative to the motion along the segments."""
        return self.systematic / max(self.motion, self.systematic, 1e-300)

    @property
    def exceeds_noise(self) -> bool:
        return self.systematic > self.detectable

    def is_explained_by(self, other: "Misfit") -> bool:
        """Return whether a model with the misfit `other` is clearly better.

        Rounding by integrators and files affects both models equally, so differences below
        `detectable` count.
        """
        threshold = max(self.chance, limits.ROUNDING_FLOOR, limits.CLEARLY_LESS * other.systematic)
        return self.exceeds_noise or self.systematic > threshold


@final
@dataclass(frozen=True)
class Judgement:
    """The misfit of each state over segments of `rows` rows and duration `time`.

    The misfit is None for states that were not measured. `errors_grow` is true if small errors of
    the initial state grow by more than `HORIZON_GROWTH` along longer segments.
    """

    states: tuple[Misfit | None, ...]
    rows: int
    time: float
    errors_grow: bool = False

    def of_equations(self, data: Dataset) -> tuple[Misfit | None, ...]:
        """Return the misfit of each equation, which is that of the state by which it is judged."""
        return tuple(self.states[c] for c in self.judged_by(data))

    def judged_by(self, data: Dataset) -> list[int]:
        """Return the state by which each equation is judged.

        The equation of a derivative that was not measured is judged by its position, and that of a
        hidden state by the measured state with the largest excess over the noise.
        """
        index = {name: c for c, name in enumerate(data.state_names)}
        judges = {v: q for v, (q, _) in data.schema.derivative_of.items()}
        measured = [(misfit, c) for c, misfit in enumerate(self.states) if misfit is not None]
        if measured:
            worst = max(measured, key=lambda item: item[0].systematic / max(item[0].chance, 1e-300))
            judges |= {index[name]: worst[1] for name in data.hidden}
        return [judges.get(c, c) for c in range(len(index))]

    @property
    def exceeds_noise(self) -> bool:
        return any(misfit is not None and misfit.exceeds_noise for misfit in self.states)


def judge(
    field: HybridField,
    data: Dataset,
    interpolation: Mapping[str, str] | None = None,
    starts: Starts | None = None,
) -> Judgement | None:
    """Return the misfit of trajectories, or None if they do not follow the data.

    Segments grow until the misfit exceeds the noise, or up to the forecast horizon, where small
    errors of the initial state grow by more than `HORIZON_GROWTH`. They start at the states with
    the smallest misfit. Constants may move by `CONSTANT_MARGIN`, because the form of the equations
    is judged, not the constants.

    Residuals of a correct model are as random as the noise. Residuals of a wrong model are
    correlated between rows: their covariance at a lag of one row is the systematic part of their
    variance. Under white noise, this covariance is normal with standard deviation noise^2 /
    sqrt(rows). The misfit of a match that did not converge is ignored if the misfit of a match to
    longer segments is only noise.

    Neighbouring rows of a map are unrelated. The misfit of a map is therefore that of the next
    states (`map_misfits`), and segments only show for how long trajectories follow the data.
    """
    rows = limits.JUDGED_ROWS_RESIDUAL if np.any(field.weights) else limits.SEARCH_ROWS
    data = data.subsample_rows(rows)
    problem = _problem(field, data, interpolation, starts)
    if problem is None:
        return None
    if data.discrete:
        return judge_map(problem, map_misfits(problem, _misfit_floor(field)))
    states, result, failed = data.plan.smoothed, None, None
    p, sigma = problem.initial_constants, _initial_sigma(problem)
    with np.errstate(all="ignore"):
        for length in segment_lengths(problem, limits.JUDGED):
            segments = cut(data, length, 10 * limits.SEARCH_ROWS)
            growth = problem.error_growth(p, states, segments)
            if growth > limits.HORIZON_GROWTH and (result or failed) is not None:
                result = None if result is None else replace(result, errors_grow=True)
                break
            match = _match(problem, segments, p, states, sigma)
            if match is None:
                break
            solution, new_sigma = match
            time = float(np.median(segments.steps.sum(axis=0)))
            misfits = _misfits(problem, segments, solution, new_sigma)
            judgement = Judgement(misfits, segments.length + 1, time)
            if judgement.exceeds_noise and not solution.converged:
                failed = failed or judgement
                continue
            result, failed, p, sigma = judgement, None, solution.p, new_sigma
            if result.exceeds_noise:
                break
            states = np.array(states)
            states[segments.rows] = np.moveaxis(solution.normal.states, 1, 2)
        else:
            whole = cut(data, int(data.run_lengths.max()), 10 * limits.SEARCH_ROWS)
            growth = problem.error_growth(p, states, whole)
            if result is not None and growth > limits.HORIZON_GROWTH:
                result = replace(result, errors_grow=True)
    return failed or result


def judge_map(problem: Problem, misfits: tuple[Misfit | None, ...]) -> Judgement:
    """Return the judgement of a map with these misfits.

    Errors are the root mean squared residuals of trajectories up to the forecast horizon.
    """
    data, p = problem.data, np.zeros(0)
    fixed = replace(problem, constants=Constants.none())
    sigma = np.where(problem.measured, np.maximum(data.plan.noise, 1e-300), np.inf)
    sigma = np.maximum(sigma, _misfit_floor(problem.field) * problem.sizes)
    judgement, errors_grow = Judgement(misfits, 2, float(data.schema.step or 0.0)), False
    with np.errstate(all="ignore"):
        for length in segment_lengths(problem, limits.JUDGED):
            segments = cut(data, length, 10 * limits.SEARCH_ROWS)
            if (
                judgement.rows > 2
                and fixed.error_growth(p, data.states, segments) > limits.HORIZON_GROWTH
            ):
                errors_grow = True
                break
            guess = np.moveaxis(data.states[segments.rows], 2, 1)
            starts = match_starts(
                fixed, segments, 1, guess, sigma, max_steps=limits.JUDGED.max_evaluations
            )
            states, is_valid = fixed.simulate(p, starts, segments, 1)
            if is_valid.mean() < limits.JUDGED_SHARE:
                break
            std = residual_std(fixed, states, segments, is_valid)
            shown = tuple(
                None if misfit is None else _with_error(misfit, float(std[c] / problem.sizes[c]))
                for c, misfit in enumerate(misfits)
            )
            time = float(np.median(segments.steps.sum(axis=0)))
            judgement = Judgement(shown, segments.length + 1, time)
            if judgement.exceeds_noise:
                break
    return replace(judgement, errors_grow=errors_grow)


def _with_error(misfit: Misfit, error: float) -> Misfit:
    """Return the misfit with another error. The share of noise in it does not change."""
    share = misfit.noise / misfit.error if misfit.error > 0 else 0.0
    return replace(misfit, error=error, noise=share * error)


def map_misfits(problem: Problem, floor: float) -> tuple[Misfit | None, ...]:
    """Return the misfit of the next state that a map predicts from each row.

    Rows that are near each other in state space have the same systematic misfit but independent
    noise. If a variable is missing, the same applies to rows two steps apart. The larger covariance
    of residuals between such rows is the systematic part of their variance. Noise of the state
    makes the residual of a row depend on the row. Neighbours are therefore those of the states x +
    dx that also account for the next row; the residual is independent of these states. [total least
    squares]
    """
    data, sizes = problem.data, problem.sizes
    rows = data.rows_with_next()
    if len(rows) < limits.JUDGED_ROWS:
        return (None,) * data.n_states
    segments = from_rows(data, rows, 1)
    nodes = input_nodes(data, problem.inputs, segments, 1)
    with np.errstate(all="ignore"):
        field = problem.field_at(problem.initial_constants)
        states = np.moveaxis(data.states[segments.rows], 2, 1)
        maps = step_maps(field, 0, states, segments, nodes, 1)
    residuals = (data.states[rows + 1] - maps.ends[:, 0]) / sizes  # N n
    F = maps.by[:, 0] * sizes / sizes[:, None]
    is_finite = np.isfinite(residuals).all(axis=1) & np.isfinite(F).all(axis=(1, 2))
    is_finite = np.asarray(is_finite)
    if is_finite.sum() < limits.JUDGED_ROWS:
        return tuple(Misfit(1.0, 0.0, 1.0, 0.0, floor) if m else None for m in problem.measured)
    residuals = np.where(is_finite[:, None], residuals, 0.0)
    F = np.where(is_finite[:, None, None], F, 0.0)
    # assumes that all states have the same noise relative to their size
    S = np.eye(data.n_states) + F @ np.swapaxes(F, 1, 2)
    moves = (np.swapaxes(F, 1, 2) @ np.linalg.solve(S, residuals[..., None]))[..., 0]
    points = np.array(data.variables[rows])
    points[:, : data.n_states] += moves * sizes
    pairs = _map_pairs(data, rows, points)
    return tuple(
        _map_misfit(residuals[:, c], pairs, floor) if measured else None
        for c, measured in enumerate(problem.measured)
    )


def _map_pairs(
    data: Dataset, rows: Int[np.ndarray, " M"], points: Float[np.ndarray, "M V"]
) -> list[tuple[Int[np.ndarray, " _"], Int[np.ndarray, " _"]]]:
    """Return pairs of rows near each other in state space, and pairs of rows two steps apart.

    The residuals of a pair share no noise.
    """
    from scipy.spatial import KDTree

    scale = points.std(axis=0)
    varies = scale > 0
    pairs = []
    if varies.any() and len(rows) > limits.MAP_NEAR_ROWS:
        scaled = points[:, varies] / scale[varies]
        near = np.asarray(KDTree(scaled).query(scaled, limits.MAP_NEAR_ROWS + 1)[1])[:, 1:]
        own = np.broadcast_to(np.arange(len(rows))[:, None], near.shape)
        is_apart = np.abs(rows[near] - rows[own]) > 1
        first = np.argmax(is_apart, axis=1)
        found = np.flatnonzero(is_apart.any(axis=1))
        pairs.append((found, near[found, first[found]]))
    run = data.run_of_row[rows]
    later = np.searchsorted(rows, rows + 2)
    later = np.minimum(later, len(rows) - 1)
    is_pair = (rows[later] == rows + 2) & (run[later] == run)
    pairs.append((np.flatnonzero(is_pair), later[is_pair]))
    return [pair for pair in pairs if len(pair[0]) >= limits.JUDGED_ROWS]


def _map_misfit(
    residuals: Float[np.ndarray, " M"],
    pairs: list[tuple[Int[np.ndarray, " _"], Int[np.ndarray, " _"]]],
    floor: float,
) -> Misfit:
    """Return the misfit of one next state, from the covariances of its residuals in these pairs."""
    scale = float(np.median(np.abs(residuals))) / 0.6745
    r = residuals
    if scale > 0:
        r = np.clip(r, -limits.MAX_RESIDUAL * scale, limits.MAX_RESIDUAL * scale)
    square = float(np.mean(r**2))
    covariance, chance = 0.0, 0.0
    for first, second in pairs:
        products = r[first] * r[second]
        value = abs(float(products.mean()))
        # each row may be in two pairs, and the noise may differ between rows
        error = limits.MISFIT_QUANTILE * float(np.sqrt(2 * np.mean(products**2) / len(first)))
        if value - error > covariance - chance or not chance:
            covariance, chance = value, error
    error = float(np.sqrt(np.mean(residuals**2)))
    share = min(covariance / square, 1.0) if covariance > chance + floor**2 else 0.0
    return Misfit(
        error=error,
        noise=error * float(np.sqrt(1 - share)),
        systematic=float(np.sqrt(covariance)),
        chance=float(np.sqrt(chance)),
        detectable=float(np.sqrt(chance + floor**2)),
    )


def _problem(
    field: HybridField,
    data: Dataset,
    interpolation: Mapping[str, str] | None,
    starts: Starts | None,
) -> Problem | None:
    moves = data.states.std(axis=0)[data.is_measured].any()
    if int(data.run_lengths.max()) < limits.JUDGED_ROWS or not moves:
        return None
    fixed = [data.state_names.index(name) for name in data.velocity_of]
    constants = Constants.of(field, fixed, residual=False)
    kinds = dict(interpolation or dict.fromkeys(data.input_names, "cubic"))
    return Problem.of(field, constants, data, kinds, growing_noise=True, starts=starts)


def _misfit_floor(field: HybridField) -> float:
    """Return the systematic misfit that counts as zero, in standard deviations of a state."""
    if np.any(np.asarray(field.weights)):
        return limits.MISFIT_FLOOR_RESIDUAL
    return limits.MISFIT_FLOOR if switched(field) is None else limits.MISFIT_FLOOR_SWITCHED


def _initial_sigma(problem: Problem) -> Float[np.ndarray, " n"]:
    """Return the standard deviation of the difference between raw and smoothed states, at least the
    floor.

    It is infinite for states that were not measured.
    """
    plan = problem.data.plan
    removed = (problem.data.states - plan.smoothed)[~plan.is_lost].std(axis=0)
    floor = _misfit_floor(problem.field) * problem.sizes
    return np.where(problem.measured, np.maximum(removed, floor), np.inf)


def _match(
    problem: Problem,
    segments: RunSegments,
    p: Float[np.ndarray, " P"],
    states: Float[np.ndarray, "N n"],
    sigma: Float[np.ndarray, " n"],
) -> tuple[MatchSolution, Float[np.ndarray, " n"]] | None:
    """Return the match from the best starts, and the residual standard deviation of each state.

    Return None if too many segments diverge.
    """
    guess = np.moveaxis(states[segments.rows], 2, 1)
    floor = _misfit_floor(problem.field) * problem.sizes
    accuracy = limits.JUDGED_ACCURACY * floor
    substeps = problem.substeps(p, guess[0], guess, segments, accuracy)
    initial = problem.initial_constants
    margin = limits.CONSTANT_MARGIN * np.abs(initial)
    bounds = np.stack([initial - margin, initial + margin])
    prior = Prior(initial, np.zeros(len(p)))
    solution: MatchSolution | None = None
    rounds = 2 if np.any(problem.field.weights) else limits.JUDGED_ROUNDS
    for i in range(rounds):  # states are weighted by the residuals of the previous match
        if i > 1 and solution is not None and solution.converged:
            break
        try:
            solution = match_segments(
                problem, segments, substeps, p, guess, sigma, prior, bounds,
                max_steps=limits.JUDGED.max_evaluations, tolerance=limits.JUDGED.tolerance,
                is_measured=True,
            )  # fmt: skip
        except np.linalg.LinAlgError:
            return None
        if solution.normal.is_valid.mean() < limits.JUDGED_SHARE:
            return None
        p, guess = solution.p, solution.normal.states
        sigma = residual_std(problem, guess, segments, solution.normal.is_valid)
        sigma = np.maximum(sigma, floor)
    assert solution is not None
    return solution, sigma


def _misfits(
    problem: Problem,
    segments: RunSegments,
    solution: MatchSolution,
    sigma: Float[np.ndarray, " n"],
) -> tuple[Misfit | None, ...]:
    """Return the misfit of each state.

    A value at the limit of a sensor has its expected residual, so that the residuals of a correct
    model have mean zero. [generalised residuals, Gourieroux et al. 1987]
    """
    normal = solution.normal
    relative = problem.likelihood_std(np.ones(len(sigma)), segments)
    measured_states = problem.measured_states(segments)
    residuals = (measured_states - normal.states) / relative
    if (clipped := problem.clipped(segments)) is not None:
        distance = np.where(clipped != 0, -clipped * residuals / sigma[:, None], 0.0)
        expected = clipped * sigma[:, None] * expected_noise(distance)
        residuals = np.where(clipped != 0, expected, residuals)
        relative = np.where(distance > limits.HUBER, np.inf, relative)
    motion = _motion(measured_states / problem.sizes[:, None], segments.weight > 0)
    counted = (segments.weight > 0) & normal.is_valid
    floor, known = _misfit_floor(problem.field), problem.data.plan.noise / problem.sizes
    relative = np.broadcast_to(relative, residuals.shape)
    return tuple(
        _misfit(
            residuals[:, c] / problem.sizes[c],
            relative[:, c],
            counted & np.isfinite(relative[:, c]),
            floor,
            motion[c],
            known[c],
        )
        if measured
        else None
        for c, measured in enumerate(problem.measured)
    )


def _motion(
    states: Float[np.ndarray, "T n B"], counted: Bool[np.ndarray, "T B"]
) -> Float[np.ndarray, " n"]:
    """Return the standard deviation of each state around its mean along a segment."""
    weight = counted[:, None] / np.maximum(counted.sum(axis=0), 1)
    means = (weight * states).sum(axis=0)
    return np.sqrt((weight * (states - means) ** 2).sum(axis=0).mean(axis=1))


def _misfit(
    residuals: Float[np.ndarray, "T B"],
    relative: Float[np.ndarray, "T B"],
    counted: Bool[np.ndarray, "T B"],
    floor: float,
    motion: float,
    known_noise: float,
) -> Misfit:
    """Return the misfit of one state. If noise grows with the state, residuals are divided by the
    relative noise, except in `error` and `noise`. If the misfit is not random, `noise` is at most
    `known_noise`, because a wrong model also varies from row to row."""
    r = _without_outliers(np.where(counted, residuals, 0.0), counted)
    pairs = counted[1:] & counted[:-1]
    count = max(int(pairs.sum()), 1)
    covariance = float((r[1:] * r[:-1] * pairs).sum()) / count
    random = float(((r[1:] - r[:-1]) ** 2 * pairs).sum()) / (2 * count)
    square = float((r**2).sum()) / max(int(counted.sum()), 1)
    absolute = r * np.where(counted, relative, 0.0)
    error = float(np.sqrt(float((absolute**2).sum()) / max(int(counted.sum()), 1)))
    chance = limits.MISFIT_QUANTILE * random / np.sqrt(count)
    noise = error * float(np.sqrt(random / square)) if square > 0 else 0.0
    misfit = Misfit(
        error=error,
        noise=noise,
        systematic=min(float(np.sqrt(max(covariance, 0.0))), error),  # weights may exceed one
        chance=float(np.sqrt(chance)),
        detectable=float(np.sqrt(chance + floor**2)),
        motion=float(np.sqrt(max(motion**2 - noise**2, 0.0))),
    )
    is_random = misfit.systematic <= misfit.chance
    return misfit if is_random else replace(misfit, noise=min(noise, known_noise))


def _without_outliers(
    residuals: Float[np.ndarray, "T B"], counted: Bool[np.ndarray, "T B"]
) -> Float[np.ndarray, "T B"]:
    """Return residuals clipped to `MAX_RESIDUAL` robust standard deviations, unless a neighbour has
    a residual as large. Outliers are isolated; the misfit of a wrong model is not, even if it is
    concentrated in short bursts."""
    if not counted.any():
        return residuals
    limit = np.full(
        residuals.shape,
        limits.MAX_RESIDUAL * float(np.median(np.abs(residuals[counted]))) / 0.6745,
    )
    sign = np.sign(residuals)
    limit[1:] = np.maximum(limit[1:], sign[1:] * residuals[:-1])
    limit[:-1] = np.maximum(limit[:-1], sign[:-1] * residuals[1:])
    return np.clip(residuals, -limit, limit)
