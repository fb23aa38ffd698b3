"""Rows of the runs with first and second derivatives, and how noisy each of these is."""

from dataclasses import dataclass, replace
from typing import final

import numpy as np
from jaxtyping import Bool, Float, Int

from ..data import Dataset
from ..differentiation import AbstractDifferentiator
from ..smoothing import noise_level

MOST_ROWS = 4000  # that are differentiated
_RULED_ROWS, _RULED_STRETCHES = 600, 5  # that a rule of differentiation is chosen on
_STRETCHES = 10  # that a long run is cut into, when not all of it is looked at
_SHORTEST = 5  # rows of a run that has a second derivative
_UNORDERED = 0.5  # of a column's standard deviation: more is no noise, the rows are in no order
_CROSSING = 0.25  # standard deviations beyond the mean that a crossing must reach


@final
@dataclass(frozen=True, eq=False)
class Motion:
    """The runs as they move: states, inputs, and two derivatives of each state, row by row.

    `run` numbers the runs; `inner` marks the rows away from the ends of a run, where derivatives
    are good. `noise` is the standard deviation of each state's noise, `is_white` whether what was
    seen is noise at all and no coarse sampling, and the other two are the variances that it leaves
    in the derivatives. `period` is the number of rows in which each state comes back.
    """

    data: Dataset
    run: Int[np.ndarray, " N"]
    slopes: Float[np.ndarray, "N n"]
    curvature: Float[np.ndarray, "N n"]
    inner: Bool[np.ndarray, " N"]
    noise: Float[np.ndarray, " n"]
    is_white: Bool[np.ndarray, " n"]
    slope_noise: Float[np.ndarray, " n"]
    curvature_noise: Float[np.ndarray, " n"]
    period: Float[np.ndarray, " n"]

    @property
    def rows_per_period(data: Dataset) -> Float[np.ndarray, " n"]:
    """Rows from one crossing of the mean to the second next; infinite where a state hardly turns.

    A crossing counts once the state is a quarter of its standard deviation beyond the mean, so
    that noise makes none.
    """
    spread = data.states.std(axis=0)
    side = np.where(np.abs(data.states - data.states.mean(axis=0)) > _CROSSING * spread,
                    np.sign(data.states - data.states.mean(axis=0)), 0.0)  # fmt: skip
    periods = np.full(data.n_states, np.inf)
    for state in range(data.n_states):
        decided = np.flatnonzero(side[:, state])
        turns = side[decided[1:], state] != side[decided[:-1], state]
        same_run = data.run_of_row[decided[1:]] == data.run_of_row[decided[:-1]]
        crossings = int((turns & same_run).sum())
        if crossings >= 2:
            periods[state] = 2 * data.n_samples / crossings
    return periods


def _after(
    rule: AbstractDifferentiator,
    data: Dataset,
    slopes: Float[np.ndarray, "N n"],
    curvature: Float[np.ndarray, "N n"],
    noise: Float[np.ndarray, " n"],
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """The variances that noise of this size in the states leaves in both derivatives."""
    if not noise.any():
        return np.zeros(data.n_states), np.zeros(data.n_states)
    rng = np.random.default_rng(0)
    noisy = data.states + noise * rng.standard_normal(data.states.shape)
    once = rule.slopes(replace(data, states=noisy))
    twice = rule.slopes(replace(data, states=once))
    return np.mean((once - slopes) ** 2, axis=0), np.mean((twice - curvature) ** 2, axis=0)


def _bias(
    rule: AbstractDifferentiator, data: Dataset, slopes: Float[np.ndarray, "N n"]
) -> Float[np.ndarray, " n"]:
    """The mean squared error of smoothing: a quarter of the squared change by a rule whose window
    is a quarter longer."""
    coarser = rule
    for _ in range(max(rule.min_points // 8, 1)):
        following = coarser.coarser()
        if following is None or data.run_lengths.min() < following.min_points:
            break
        coarser = following
    if coarser is rule:
        return np.zeros(data.n_states)
    return np.mean((coarser.slopes(data) - slopes) ** 2, axis=0) / 4


def _inner(data: Dataset, window: int) -> Bool[np.ndarray, " N"]:
    """Rows at least half a window from the ends of their run, or a sixth of it if that is less."""
    run = data.run_of_row
    margin = np.minimum(window // 2 + 1, data.run_lengths // 6)[run]
    place = np.arange(data.n_samples) - data.offsets[run]
    return (place >= margin) & (place < data.run_lengths[run] - margin)
