"""Sensitivities of planned runs to constants and initial states, in units of the noise."""

from collections.abc import Mapping
from typing import NamedTuple, final

import numpy as np
from jaxtyping import Float

from ..data import Dataset
from ..field.hybrid import HybridField
from ..physics import Knowledge
from . import _limits as limits
from ._constants import Constants
from ._problem import Problem
from ._segments import cut, input_nodes
from ._sensitivities import follow


@final
class RunSensitivities(NamedTuple):
    """Derivatives of the measured values of segments, in standard deviations of the noise.

    They are taken with respect to the free constants (B, Y, P) and the start of the segment (B, Y,
    n).

    `run` (B,) is the run of each segment, and `predicted` (B, Y) are the predicted values.
    `free_by_estimate` (k, P) are the derivatives of the estimates at `places` and of the inner
    `parameters`. `growth` (R,) is the factor by which small errors of the start grow in each run.
    """

    by_constants: np.ndarray
    by_start: np.ndarray
    predicted: np.ndarray
    run: np.ndarray
    growth: np.ndarray
    places: tuple[tuple[int, int], ...]
    parameters: tuple[str, ...]
    free_by_estimate: np.ndarray
    constants: Constants


def run_sensitivities(
    field: HybridField,
    data: Dataset,
    interpolation: Mapping[str, str],
    noise: Float[np.ndarray, " n"],
    knowledge: Knowledge | None,
) -> RunSensitivities:
    """Return the sensitivities of runs that are trajectories of the field.

    They use the same segments as a match. States with infinite noise are not measured. The weights
    of the residual are fixed.
    """
    fixed = [data.state_names.index(name) for name in data.velocity_of]
    constants = Constants.of(field, fixed, residual=False, knowledge=knowledge)
    problem = Problem.of(field, constants, data, interpolation)
    length = min(int(data.run_lengths.max()) - 1, limits.FULL.max_length)
    segments = cut(data, length, data.n_samples + data.n_runs)
    states = np.moveaxis(data.states[segments.rows], 2, 1)
    p, size, n = problem.initial_constants, constants.size, data.n_states
    accuracy = np.where(np.isfinite(noise), noise, problem.sizes) * limits.TRAJECTORY_ACCURACY
    with np.errstate(all="ignore"):
        substeps = problem.substeps(p, states[0], states, segments, accuracy)
    per_group = max(1, limits.EVALUATION_BLOCK // ((segments.length + 1) * n * (size + n)))
    groups = []
    for i in range(0, segments.count, per_group):
        group = slice(i, i + per_group)
        part = segments.subset(group)
        nodes = input_nodes(data, problem.inputs, part, substeps)
        follows = follow(
            problem.field_at(p), size, states[:, :, group], states[0][:, group], part, nodes,
            substeps, problem.box, accuracy,
        )  # fmt: skip
        groups.append(follows[1])
    by = np.concatenate(groups)
    with np.errstate(all="ignore"):
        growth = np.abs(by[:, -1, :, size:] / problem.sizes[:, None] * problem.sizes).max((1, 2))
    measured = np.flatnonzero(np.isfinite(noise))
    weight = np.sqrt(segments.weight.T)[:, :, None]  # B T 1
    scale = weight / noise[measured]
    with np.errstate(all="ignore"):
        by = (by[:, :, measured] * scale[..., None]).reshape(segments.count, -1, size + n)
    by = np.where(np.isfinite(by).all(axis=(1, 2), keepdims=True), by, 0.0)
    predicted = np.moveaxis(states[:, measured], 2, 0) * scale
    run = data.run_of_row[segments.rows[0]]
    largest = np.zeros(data.n_runs)
    np.maximum.at(largest, run, np.nan_to_num(growth, nan=np.inf))
    return RunSensitivities(
        by[..., :size],
        by[..., size:],
        predicted.reshape(len(by), -1),
        run,
        largest,
        tuple(zip(constants.rows.tolist(), constants.columns.tolist(), strict=True)),
        tuple(field.features.parameters[i] for i in constants.inner),
        constants.derivatives(),
        constants,
    )
