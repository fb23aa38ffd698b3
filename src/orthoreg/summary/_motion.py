"""Rows of the runs with first and second derivatives, and how noisy each of these is."""

from dataclasses import dataclass, replace
from typing import final

import numpy as np
from jaxtyping import Bool, Float, Int

from ..data import Dataset
from ..differentiation import AbstractDifferentiator

MOST_ROWS = 4000  # that are differentiated
_RULED_ROWS = 1000  # that a rule of differentiation is chosen on
_STRETCHES = 10  # that a long run is cut into, when not all of it is looked at
_SHORTEST = 5  # rows of a run that has a second derivative
_DRAWS = 1  # of noise, to see what differentiation makes of it
_ORDERS = range(3, 9)  # of the differences that show noise
_WINDOWS = 1000
_LEVEL_OF_MEDIAN = 0.6745  # the median of |z| for standard normal z
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
    def noise_level(self) -> Float[np.ndarray, " n"]:
        """The noise of each state over its standard deviation; zero where that is not noise."""
        spread = self.data.states.std(axis=0)
        return np.where(self.is_white & (spread > 0), self.noise / np.maximum(spread, 1e-300), 0.0)


def motion_of(data: Dataset, differentiation: AbstractDifferentiator) -> Motion | None:
    """The motion that these runs show; None where every run is too short to show one."""
    long = data.run_lengths >= max(_SHORTEST, differentiation.min_points)
    if not long.any():
        return None
    data, run = stretches(data[long], MOST_ROWS)
    rule = differentiation.rule(stretches(data, _RULED_ROWS)[0])
    noise, is_white = noise_level(data)
    own = None if data.derivatives is None else replace(data, states=data.derivatives)
    slopes = rule.slopes(data) if data.derivatives is None else np.array(data.derivatives)
    curvature = rule.slopes(replace(data, states=slopes))
    slope_noise, curvature_noise = _after(rule, data, slopes, curvature, noise)
    if own is not None:  # the given derivatives have a noise of their own
        level, _ = noise_level(own)
        slope_noise = level**2
        curvature_noise = _after(rule, own, curvature, curvature, level)[0]
    elif data.run_lengths.min() >= rule.min_points:
        slope_noise = slope_noise + _bias(rule, data, slopes)
    return Motion(
        data=data,
        run=run[data.run_of_row],
        slopes=slopes,
        curvature=curvature,
        inner=_inner(data, rule.min_points),
        noise=noise,
        is_white=is_white,
        slope_noise=slope_noise,
        curvature_noise=curvature_noise,
        period=rows_per_period(data),
    )


def stretches(data: Dataset, most: int) -> tuple[Dataset, Int[np.ndarray, " R"]]:
    """At most so many rows: all runs, or some of them, or stretches of some of them, each whole.

    With them comes the number of the run that each is from.
    """
    if data.n_samples <= most:
        return data, np.arange(data.n_runs)
    mean = data.n_samples / data.n_runs
    count = min(data.n_runs, max(int(most / mean), _STRETCHES))
    chosen = np.unique(np.linspace(0, data.n_runs - 1, count).astype(int))
    each = -(-_STRETCHES // len(chosen))
    length = max(most // (each * len(chosen)), _SHORTEST)
    rows, origin = [], []
    for run in chosen:
        first, last = int(data.offsets[run]), int(data.offsets[run + 1])
        if last - first <= each * length:
            pieces = [np.arange(first, last)]
        else:
            starts = np.linspace(first, last - length, each).astype(int)
            pieces = [np.arange(start, start + length) for start in starts]
        rows += pieces
        origin += [run] * len(pieces)
    kept = np.concatenate(rows)
    return replace(
        data,
        times=data.times[kept],
        states=data.states[kept],
        inputs=None if data.inputs is None else data.inputs[kept],
        derivatives=None if data.derivatives is None else data.derivatives[kept],
        offsets=np.cumsum([0, *(len(piece) for piece in rows)]),
        labels=tuple(data.labels[run] for run in origin),
    ), np.unique(origin, return_inverse=True)[1]


def noise_level(data: Dataset) -> tuple[Float[np.ndarray, " n"], Bool[np.ndarray, " n"]]:
    """The standard deviation of each state's noise, from differences that leave nothing else.

    The difference of order k with weights of unit norm, sum_j w_j x_j with w_j proportional to
    1 / prod_m (t_j - t_m), has the standard deviation of the noise and kills polynomials below
    degree k. Smooth motion shrinks from order to order, noise does not: that is the second answer.
    """
    from ._thresholds import NOISE_PLATEAU

    levels = [_difference_level(data, order) for order in _ORDERS]
    found = [level for level in levels if level is not None]
    if not found:
        return np.zeros(data.n_states), np.zeros(data.n_states, dtype=bool)
    least = np.min(found, axis=0)
    if len(found) < len(_ORDERS):
        return least, np.zeros(data.n_states, dtype=bool)
    return least, found[-1] > NOISE_PLATEAU * found[1]


def _difference_level(data: Dataset, order: int) -> Float[np.ndarray, " n"] | None:
    """The median size of differences of an order over that of a unit normal variable."""
    last = data.offsets[1:][data.run_of_row]
    starts = np.flatnonzero(np.arange(data.n_samples) + order < last)
    if len(starts) < 10:
        return None
    starts = starts[np.unique(np.linspace(0, len(starts) - 1, _WINDOWS).astype(int))]
    members = starts[:, None] + np.arange(order + 1)
    times = data.times[members]
    times = (times - times[:, :1]) / (times[:, -1:] - times[:, :1])
    gaps = times[:, :, None] - times[:, None, :] + np.eye(order + 1)
    weights = 1 / gaps.prod(axis=2)
    weights /= np.linalg.norm(weights, axis=1, keepdims=True)
    sizes = np.abs(np.einsum("bw,bwn->bn", weights, data.states[members]))
    return np.median(sizes, axis=0) / _LEVEL_OF_MEDIAN


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
    first, second = [], []
    base = slopes if data.derivatives is None else rule.slopes(data)
    for _ in range(_DRAWS):
        noisy = data.states + noise * rng.standard_normal(data.states.shape)
        once = rule.slopes(replace(data, states=noisy))
        first.append(np.mean((once - base) ** 2, axis=0))
        twice = rule.slopes(replace(data, states=once))
        again = curvature if base is slopes else rule.slopes(replace(data, states=base))
        second.append(np.mean((twice - again) ** 2, axis=0))
    return np.mean(first, axis=0), np.mean(second, axis=0)


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
