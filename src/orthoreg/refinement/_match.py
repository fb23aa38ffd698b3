"""Constants by trajectories in little time, for comparing many structures."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from .._field import HybridField
from ..data import Dataset
from ._constants import Constants
from ._levenberg import eliminated
from ._problem import Problem
from ._stages import Stage, first_precision, run_stage

_LENGTHS = (4, 25, 150)  # steps of segments, before whole runs
_LONGEST = 1000
_MOST_EVALUATIONS = 8
_MOST_EVALUATIONS_LONG = 3  # the same of segments longer than the last of these lengths
_SOUND = 0.5
_JUMP = 2.0  # by which the misfit may grow with the length of segments
_HARMLESS = 0.02  # of a state's spread: a misfit below this may grow
_UNDETERMINED = 1e-13


def match(
    field: HybridField,
    data: Dataset,
    *,
    interpolation: Mapping[str, str] | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    prune: bool = True,
) -> HybridField:
    """The field with constants that follow segments of a few lengths, as long as they are
    followed at all; terms nearer to zero than sqrt(log N) standard errors are left out, the
    weakest first. Unlike `refine` it asks no held-out data."""
    measured = data.is_measured
    spreads = data.states.std(axis=0)
    sizes = np.where(spreads > 0, spreads, 1.0)
    fixed = [data.state_names.index(name) for name in data.velocity_of]
    kinds = dict(interpolation or dict.fromkeys(data.input_names, "cubic"))
    smooth = np.array(data.states)
    least = np.sqrt(np.log(data.n_samples * max(measured.sum(), 1)))

    def problem_of(field: HybridField) -> Problem:
        constants = Constants.of(field, fixed, residual=False)
        return Problem(field, constants, data, kinds, sizes, measured)

    problem = problem_of(field)
    if not problem.constants.size:
        return field
    stage: Stage | None = None
    with np.errstate(all="ignore"):
        for length in _lengths(data):
            ends = problem.constants.bounds(problem.field, bounds or {})
            found = _stage(problem, length, stage, smooth, ends)
            if found is None:
                break
            stage = found
            problem = replace(problem, field=problem.constants.write(problem.field, stage.p))
        weak = _weakest(problem, stage, least) if prune and stage is not None else None
        while weak is not None and stage is not None:
            coefficients = np.array(problem.field.coefficients)
            coefficients[weak] = 0.0
            smaller = problem_of(replace(problem.field, coefficients=coefficients))
            ends = smaller.constants.bounds(smaller.field, bounds or {})
            found = _stage(smaller, stage.length, stage, smooth, ends)
            if found is None:
                break
            stage = found
            written = smaller.constants.write(smaller.field, stage.p)
            problem = replace(smaller, field=written)
            weak = _weakest(problem, stage, least)
    return problem.field


def _lengths(data: Dataset) -> list[int]:
    last = min(int(data.run_lengths.max()) - 1, _LONGEST)
    return [*(length for length in _LENGTHS if length < 0.7 * last), last]


def _stage(
    problem: Problem,
    length: int,
    before: Stage | None,
    smooth: Float[np.ndarray, "N n"],
    ends: Float[np.ndarray, "2 P"],
) -> Stage | None:
    """The best constants on segments of this length; None where they are not followed."""
    sigma = None if before is None else before.sigma
    try:
        stage = run_stage(
            problem, length, problem.old, smooth, first_precision(problem), ends, sigma=sigma,
            most=_MOST_EVALUATIONS if length <= _LENGTHS[-1] else _MOST_EVALUATIONS_LONG,
        )  # fmt: skip
    except np.linalg.LinAlgError:
        return None
    sound, m = stage.solution.normal.sound, problem.measured
    if sound.mean() < _SOUND or not np.isfinite(stage.p).all():
        return None
    if before is not None:
        limit = np.maximum(_JUMP * before.sigma[m], _HARMLESS * problem.sizes[m])
        if (stage.sigma[m] > limit).any():
            return None
    smooth[stage.segments.rows[:, sound]] = np.moveaxis(
        stage.solution.normal.states[:, :, sound], 1, 2
    )
    return stage


def _weakest(problem: Problem, stage: Stage, least: float) -> tuple[int, int] | None:
    """The place of the coefficient nearest to zero, if it is nearer than `least` errors."""
    constants = problem.constants
    count = len(constants.rows)
    H = eliminated(stage.solution.normal, stage.precision)[0]
    diagonal = np.diag(H)
    scale = np.sqrt(np.maximum(diagonal, _UNDETERMINED * max(float(diagonal.max()), 1e-100)))
    covariance = np.linalg.pinv(H / np.outer(scale, scale), _UNDETERMINED, hermitian=True)
    errors = np.sqrt(np.maximum(np.diag(covariance), 0.0)) / scale
    ratio = np.abs(stage.p[:count]) / np.maximum(errors[:count], 1e-300)
    alone = np.bincount(constants.rows)[constants.rows] < 2
    ratio = np.where(alone, np.inf, ratio)
    if not count or ratio.min() >= least:
        return None
    place = int(ratio.argmin())
    return int(constants.rows[place]), int(constants.columns[place])
