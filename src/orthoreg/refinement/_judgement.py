"""Whether a field's trajectories leave more than noise, from which verdict and advice follow."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from jaxtyping import Bool, Float

from ..data import Dataset
from ..field.hybrid import HybridField, switched
from . import _limits as limits
from ._constants import Constants
from ._levenberg import Prior, Solution
from ._lifted import match_segments
from ._problem import Problem
from ._segments import Segments, cut
from ._stages import lengths


@final
@dataclass(frozen=True)
class Misfit:
    """What trajectories leave of one measured state, in its standard deviation: `error` in all,
    `noise` what varies at random from row to row, `systematic` what does not. Noise alone makes a
    systematic misfit of up to `chance`; one smaller than `detectable` is also what integrators and
    files leave. `motion` is how far the state moves along the segments."""

    error: float
    noise: float
    systematic: float
    chance: float
    detectable: float
    motion: float = 1.0

    @property
    def share_of_motion(self) -> float:
        """The systematic misfit, of the motion along the segments that it was seen on."""
        return self.systematic / max(self.motion, self.systematic, 1e-300)

    @property
    def exceeds_noise(self) -> bool:
        return self.systematic > self.detectable

    def is_explained_by(self, other: "Misfit") -> bool:
        """Whether a model with this misfit lacks what a model with the other one has. Integrators
        and files leave the same of both, so that smaller differences show than single misfits."""
        least = max(self.chance, limits.TRIFLE, limits.CLEARLY_LESS * other.systematic)
        return self.exceeds_noise or self.systematic > least


@final
@dataclass(frozen=True)
class Judgement:
    """The misfit of each state (None where it was not measured) over segments of so many `rows`
    and so much `time`; `errors_grow` says that over longer ones small errors of the initial state
    grow more than `HORIZON_GROWTH` times."""

    states: tuple[Misfit | None, ...]
    rows: int
    time: float
    errors_grow: bool = False

    def of_equations(self, data: Dataset) -> tuple[Misfit | None, ...]:
        """The misfit that judges each equation: of a velocity that was not measured, the one of
        its position."""
        place = {name: c for c, name in enumerate(data.state_names)}
        shown_by = {place[v]: place[q] for q, v in data.velocity_of.items() if v in data.estimated}
        return tuple(self.states[shown_by.get(c, c)] for c in range(len(place)))

    @property
    def exceeds_noise(self) -> bool:
        return any(one is not None and one.exceeds_noise for one in self.states)


def judge(
    field: HybridField, data: Dataset, interpolation: Mapping[str, str] | None = None
) -> Judgement | None:
    """The misfit of trajectories over the longest segments within the forecast horizon, or over the
    shortest ones that show more than noise.

    Segments start at the states that fit them best, and constants may move by `CONSTANT_MARGIN`:
    the question is whether the equations are right. Residuals of a right model are as random as
    the noise. Those of a wrong one are alike from row to row: their covariance at a lag of one row
    is the systematic part of their variance, and under white noise it is normal with standard
    deviation noise^2 / sqrt(rows). A misfit where no match was found says nothing if a match to
    longer segments leaves noise only. Segments grow until small errors of the initial state grow
    more than `HORIZON_GROWTH` times along them. None where trajectories cannot be followed.
    """
    rows = limits.JUDGED_ROWS_RESIDUAL if np.any(field.weights) else limits.SEARCH_ROWS
    some = data.subsample_rows(rows)
    problem = _problem(field, some, interpolation)
    if problem is None:
        return None
    states, result, failed = some.plan.smoothed, None, None
    p, sigma = problem.old, _first_sigma(problem)
    with np.errstate(all="ignore"):
        for length in lengths(problem, limits.JUDGED):
            segments = cut(some, length, 10 * limits.SEARCH_ROWS)
            growth = problem.growth_along(p, states, segments)
            if growth > limits.HORIZON_GROWTH and (result or failed) is not None:
                result = None if result is None else replace(result, errors_grow=True)
                break
            found = _matched(problem, segments, p, states, sigma)
            if found is None:
                break
            solution = found[0]
            time = float(np.median(segments.steps.sum(axis=0)))
            judged = Judgement(_misfits(problem, segments, solution), segments.length + 1, time)
            if judged.exceeds_noise and not solution.converged:
                failed = failed or judged
                continue
            result, failed, p, sigma = judged, None, solution.p, found[1]
            if result.exceeds_noise:
                break
            states = np.array(states)
            states[segments.rows] = np.moveaxis(solution.normal.states, 1, 2)
        else:
            whole = cut(some, int(some.run_lengths.max()), 10 * limits.SEARCH_ROWS)
            growth = problem.growth_along(p, states, whole)
            if result is not None and growth > limits.HORIZON_GROWTH:
                result = replace(result, errors_grow=True)
    return failed or result


def _problem(
    field: HybridField, data: Dataset, interpolation: Mapping[str, str] | None
) -> Problem | None:
    measured, sizes = data.is_measured, data.states.std(axis=0)
    if int(data.run_lengths.max()) < limits.JUDGED_ROWS or not sizes[measured].any():
        return None
    fixed = [data.state_names.index(name) for name in data.velocity_of]
    return Problem(
        field,
        Constants.of(field, fixed, residual=False),
        data,
        dict(interpolation or dict.fromkeys(data.input_names, "cubic")),
        np.where(sizes > 0, sizes, 1.0),
        measured,
        growing_noise=True,
    )


def _floor(field: HybridField) -> float:
    """The systematic misfit, in standard deviations of a state, that counts as none."""
    if np.any(np.asarray(field.weights)):
        return limits.MISFIT_FLOOR_RESIDUAL
    return limits.MISFIT_FLOOR if switched(field) is None else limits.MISFIT_FLOOR_SWITCHED


def _first_sigma(problem: Problem) -> Float[np.ndarray, " n"]:
    """What smoothing took away, but at least the floor; infinite where a state was not measured."""
    left = (problem.data.states - problem.data.plan.smoothed).std(axis=0)
    least = _floor(problem.field) * problem.sizes
    return np.where(problem.measured, np.maximum(left, least), np.inf)


def _matched(
    problem: Problem,
    segments: Segments,
    p: Float[np.ndarray, " P"],
    states: Float[np.ndarray, "N n"],
    sigma: Float[np.ndarray, " n"],
) -> tuple[Solution, Float[np.ndarray, " n"]] | None:
    """The segments from their best starts, and the standard deviation of each state's residuals;
    None where some are not followed."""
    guess = np.moveaxis(states[segments.rows], 2, 1)
    floor = _floor(problem.field) * problem.sizes
    accuracy = limits.JUDGED_ACCURACY * floor
    substeps = problem.substeps(p, guess[0], guess, segments, accuracy)
    margin = limits.CONSTANT_MARGIN * np.abs(problem.old)
    bounds = np.stack([problem.old - margin, problem.old + margin])
    prior = Prior(problem.old, np.zeros(len(p)))
    solution: Solution | None = None
    rounds = 2 if np.any(problem.field.weights) else limits.JUDGED_ROUNDS
    for number in range(rounds):  # the weights of the states are those that the last match left
        if number > 1 and solution is not None and solution.converged:
            break
        try:
            solution = match_segments(
                problem, segments, substeps, p, guess, sigma, prior, bounds,
                most=limits.JUDGED.evaluations, tolerance=limits.JUDGED.tolerance,
                is_measured=True,
            )  # fmt: skip
        except np.linalg.LinAlgError:
            return None
        if solution.normal.sound.mean() < limits.JUDGED_SHARE:
            return None
        p, guess = solution.p, solution.normal.states
        sigma = problem.noise(guess, segments, solution.normal.sound, 0.0)
        sigma = np.maximum(sigma, floor)
    assert solution is not None
    return solution, sigma


def _misfits(problem: Problem, segments: Segments, solution: Solution) -> tuple[Misfit | None, ...]:
    normal = solution.normal
    relative = problem.relative(segments)
    residuals = (problem.states_of(segments) - normal.states) / relative
    motion = _motion(problem.states_of(segments) / problem.sizes[:, None], segments.weight > 0)
    counted = (segments.weight > 0) & normal.sound
    floor = _floor(problem.field)
    spread = np.broadcast_to(relative, residuals.shape)
    every = np.isfinite(spread)
    return tuple(
        _misfit(
            residuals[:, c] / problem.sizes[c],
            spread[:, c],
            counted & every[:, c],
            floor,
            motion[c],
        )
        if measured
        else None
        for c, measured in enumerate(problem.measured)
    )


def _motion(
    states: Float[np.ndarray, "T n B"], counted: Bool[np.ndarray, "T B"]
) -> Float[np.ndarray, " n"]:
    """The standard deviation of each state about its mean along a segment, over all segments."""
    weight = counted[:, None] / np.maximum(counted.sum(axis=0), 1)
    means = (weight * states).sum(axis=0)
    return np.sqrt((weight * (states - means) ** 2).sum(axis=0).mean(axis=1))


def _misfit(
    residuals: Float[np.ndarray, "T B"],
    relative: Float[np.ndarray, "T B"],
    counted: Bool[np.ndarray, "T B"],
    floor: float,
    motion: float,
) -> Misfit:
    """The misfit of one state, from residuals of which those beyond four times their median size
    count as that. Where noise grows with the state they are in units of it, `relative`; `error` and
    `noise` are not."""
    r = np.where(counted, residuals, 0.0)
    scale = float(np.median(np.abs(r[counted]))) / 0.6745 if counted.any() else 0.0
    r = np.clip(r, -4 * scale, 4 * scale) if scale > 0 else r
    pairs = counted[1:] & counted[:-1]
    count = max(int(pairs.sum()), 1)
    together = float((r[1:] * r[:-1] * pairs).sum()) / count
    steps = float(((r[1:] - r[:-1]) ** 2 * pairs).sum()) / (2 * count)
    square = float((r**2).sum()) / max(int(counted.sum()), 1)
    plain = float(((r * np.where(counted, relative, 0.0)) ** 2).sum()) / max(int(counted.sum()), 1)
    error = float(np.sqrt(plain))
    chance = limits.MISFIT_QUANTILE * steps / np.sqrt(count)
    return Misfit(
        error=error,
        noise=error * float(np.sqrt(steps / square)) if square > 0 else 0.0,
        systematic=float(np.sqrt(max(together, 0.0))),
        chance=float(np.sqrt(chance)),
        detectable=float(np.sqrt(chance + floor**2)),
        motion=float(np.sqrt(max(motion**2 - error**2 * steps / square, 0.0)))
        if square > 0
        else motion,
    )
