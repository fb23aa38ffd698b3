"""From runs to the rows that a search fits: weak form, integral form, or rows as they are."""

from dataclasses import replace
from typing import Any, NamedTuple, final

import numpy as np
from jaxtyping import Bool, Float, Int

from ...data import Dataset, Extent, Rows, grouping, thinned
from ...losses import AbstractLoss, Automatic, Weak, moving
from ...smoothing import bump_windows
from .._proposals import antiderivative, stretch_of_row
from . import _limits as limits
from ._measurements import Measurements


def measurements(
    loss: AbstractLoss,
    data: Dataset,
    states: Float[np.ndarray, "N n"] | None = None,
) -> Measurements:
    """The weak form of these runs without outliers; short ones, and derivatives that were measured,
    go by the rule of the loss. `states` are those of all rows as a model has them, if one is known:
    they have less noise than what smoothing leaves. Where they are what was measured but for noise,
    the integral form, which tells more."""
    whole, data = data, data.subsample(limits.MAX_SAMPLES, 2)
    if whole.n_samples > data.n_samples:
        states = None
    if data.derivatives is not None or int(np.median(data.run_lengths)) < limits.MIN_WINDOW_SAMPLES:
        return rows_as_measurements(loss.observe(data), limits.MAX_ROWS, data.n_samples)
    data = data.plan.clean
    smoothed = data.plan.smoothed
    smoothed = smoothed if data.inputs is None else np.hstack([smoothed, data.inputs])
    noise = np.sqrt(data.plan.variance.mean(axis=0))
    if states is not None and not data.estimated:
        samples = Samples.of(data)
        if (samples.misfit(states) < limits.MAX_INTEGRAL_MISFIT).all():
            return integral_rows(data, samples, states, limits.MAX_ROWS).signed(smoothed, noise)
    return window_rows(loss, data, limits.MAX_ROWS, states).signed(smoothed, noise)


def window_rows(
    loss: AbstractLoss,
    data: Dataset,
    most: int,
    states: Float[np.ndarray, "N n"] | None,
) -> Measurements:
    """The weak form: windows as noise asks, or narrow ones where there is none, which beat any
    derivative of the samples."""
    noisy = data.plan.is_noisy
    rule = loss.rule(data) if noisy else None
    if isinstance(rule, Weak) and isinstance(rule.widths, tuple):
        widths = rule.widths
    elif noisy:
        widths = data.plan.half_widths(Weak().order)
    else:
        step = float(np.median(data.step_of_run()))
        widths = tuple(step * samples for samples in limits.CLEAN_HALF_WIDTHS)
    # windows of different widths have different noise, and so are made apart
    parts = [Weak(widths=h).observe(data) for h in widths]
    if states is not None:
        points = states if data.inputs is None else np.hstack([states, data.inputs])
        parts = [replace(rows, points=points) for rows in parts]
    noise = [np.tile(np.sqrt(rows.target_mse), (len(rows), 1)) for rows in parts]
    if noisy:
        noise = [row_noise(data, h, rows) for h, rows in zip(widths, parts, strict=True)]
    turns = [_at_turns(data, rows) for rows in parts]
    noise = [
        one + limits.SIGN_CHANGE_NOISE * np.outer(turn, np.sqrt(np.mean(rows.targets**2, axis=0)))
        for one, turn, rows in zip(noise, turns, parts, strict=True)
    ]
    sides = sides_of(parts[0].points, data) if len(parts[0].points) == data.n_samples else None
    found = _joined(parts, data.n_samples, most, noise, Automatic().slopes(data), turns, sides)
    speeds = [data.state_names.index(name) for name in data.estimated]
    return replace(found, speeds=frozenset(speeds))


def sides_of(points: Float[np.ndarray, "N V"], data: Dataset) -> Float[np.ndarray, "N V"]:
    """By how much the step around each point is on its side of zero, if variables go straight from
    point to point. Velocities that were not measured are left as they are."""
    step = np.diff(points, axis=0)
    crosses = (points[:-1] * points[1:] < 0) & (np.diff(data.run_of_row) == 0)[:, None]
    crosses[:, [data.state_names.index(name) for name in data.estimated]] = False
    safe = np.where(crosses, np.abs(step), 1.0)
    sides = np.ones_like(points)
    for near, own in ((points[:-1], sides[:-1]), (points[1:], sides[1:])):
        own -= np.where(crosses, np.maximum(1 - 2 * np.abs(near) / safe, 0.0), 0.0)
    return sides


def _at_turns(data: Dataset, rows: Rows) -> Bool[np.ndarray, " R"]:
    """The windows in which a velocity that was not measured changes its sign: dry friction jumps
    there, at a time that a smooth velocity hardly knows."""
    turns = np.zeros(len(rows), dtype=bool)
    for name in data.estimated:
        forward = np.asarray(rows.windows @ (data.states[:, data.state_names.index(name)] > 0))
        turns |= (forward > limits.MIN_SIGN_CHANGE) & (forward < 1 - limits.MIN_SIGN_CHANGE)
    return turns


def row_noise(data: Dataset, width: float, rows: Rows) -> Float[np.ndarray, "R c"]:
    """The standard deviation of each window's target, from that of its samples, which may grow
    with them. To it comes what the noise left in smoothed states makes of
    the other side, about as large a share of the target as of the states."""
    windows = moving(data, bump_windows(data.times, data.offsets, width, Weak().order))
    variance = data.plan.variance
    size = np.maximum(np.mean(data.states**2, axis=0), 1e-300)
    share = float(
        (
            limits.WINDOW_NOISE_FACTOR / data.plan.smoother.window * variance.mean(axis=0) / size
        ).sum()
    )
    result = np.asarray(windows.slope.multiply(windows.slope) @ variance)
    place = {name: c for c, name in enumerate(data.state_names)}
    bent = windows.curvature.multiply(windows.curvature)
    for position, velocity in data.velocity_of.items():
        if velocity in data.estimated:
            result[:, place[velocity]] = bent @ variance[:, place[position]]
    return np.sqrt(result + share * rows.targets**2)


def rows_as_measurements(
    rows: Rows, most: int = limits.MAX_ROWS, samples: int | None = None
) -> Measurements:
    """Rows as they are, of so many samples."""
    return _joined([rows], samples or len(rows), most)


def _joined(
    parts: list[Rows],
    samples: int,
    most: int,
    noises: list[np.ndarray] | None = None,
    slopes: Float[np.ndarray, "N c"] | None = None,
    turns: list[np.ndarray] | None = None,
    sides: Float[np.ndarray, "N V"] | None = None,
) -> Measurements:
    total = sum(map(len, parts))
    marked = [_thinned(rows, max(most * len(rows) // total, 1)) for rows in parts]
    kept = [rows.only(mask) for rows, mask in zip(parts, marked, strict=True)]
    first = parts[0]
    size = np.sqrt(np.mean(first.targets**2, axis=0))
    noises = noises or [np.tile(np.sqrt(rows.target_mse), (len(rows), 1)) for rows in parts]
    known = np.concatenate([one[mask] for one, mask in zip(noises, marked, strict=True)])
    noise = np.sqrt(known**2 + (limits.ROUNDING_FLOOR * size) ** 2)
    windows, points = None, np.concatenate([rows.points for rows in kept])
    if first.windows is not None:
        import scipy.sparse as sparse

        stacked = sparse.vstack([rows.windows for rows in kept]).tocsr()
        used = np.unique(stacked.indices)
        windows, points = stacked[:, used], first.points[used]
        slopes = None if slopes is None else slopes[used]
        sides = None if sides is None else sides[used]
    rows_kept = sum(map(len, kept))
    return Measurements(
        points,
        windows,
        np.concatenate([rows.targets for rows in kept]),
        np.where(noise > 0, noise, 1.0),
        np.concatenate([rows.variables for rows in kept]),
        np.concatenate([grouping(rows).group for rows in kept]),
        first.names,
        first.outputs,
        tuple(c for c in range(first.targets.shape[1]) if c not in first.given),
        float(min(rows_kept, samples)),
        first.extent,
        np.concatenate([rows.targets for rows in kept]) if windows is None else slopes,
        first.time_index,
        None if turns is None
        else np.concatenate([one[mask] for one, mask in zip(turns, marked, strict=True)]),
        given=dict(first.given),
        sides=None if windows is None else sides,
    )  # fmt: skip


def _thinned(rows: Rows, most: int) -> Bool[np.ndarray, " N"]:
    marked = np.zeros(len(rows), dtype=bool)
    marked[thinned(rows, most)] = True
    return marked


@final
class Samples(NamedTuple):
    """What was measured, and the variance of its noise, which may grow with the state."""

    values: Float[np.ndarray, "N n"]
    variance: Float[np.ndarray, "N n"]

    @classmethod
    def of(cls, data: Dataset) -> "Samples":
        return cls(
            data.states, data.plan.variance + (limits.ROUNDING_FLOOR * data.states.std(axis=0)) ** 2
        )

    def misfit(self, states: Float[np.ndarray, "N n"]) -> Float[np.ndarray, " n"]:
        """How far states are from what was measured, in variances of the noise."""
        return np.mean((self.values - states) ** 2 / self.variance, axis=0)


def integral_rows(
    data: Dataset, samples: Samples, states: Float[np.ndarray, "N n"], most: int
) -> Measurements:
    """Every sample, or means of a few, as a row: what was measured against the integral of a
    function of these states since the begin of its stretch, whose start is free.

    Unlike in windows, noise is not correlated from row to row, and small errors of a right-hand
    side add up to what can be seen. So do errors of the states, which therefore must not be those
    that smoothing leaves.
    """
    import scipy.sparse as sparse

    stretch = stretch_of_row(data)
    bounds = np.flatnonzero(np.diff(stretch, prepend=-1, append=stretch[-1] + 1))
    blocks = [
        antiderivative(data.times[i:j], np.eye(j - i))
        for i, j in zip(bounds[:-1], bounds[1:], strict=True)
    ]
    mean = _means(stretch, max(-(-data.n_samples // most), 1))
    variance = samples.variance * samples.misfit(states)  # what the model leaves is noise
    points = states if data.inputs is None else np.hstack([states, data.inputs])
    own = stretch[np.asarray(mean.argmax(axis=1)).ravel()]
    return Measurements(
        points,
        mean @ sparse.block_diag(blocks, format="csr"),
        np.asarray(mean @ samples.values),
        np.sqrt(np.asarray(mean.multiply(mean) @ variance)),
        np.asarray(mean @ points),
        own,
        data.variable_names,
        data.state_names,
        tuple(c for c in range(data.n_states) if c not in data.given_rates),
        float(len(own)),
        Extent.of(points),
        Automatic().slopes(data),
        data.schema.time_index,
        given=dict(data.given_rates),
        sides=sides_of(points, data),
        stretch=own,
        reliable=float(len(own)),
    )


def _means(stretch: Int[np.ndarray, " N"], each: int) -> Any:
    """The matrix that takes the mean of every few samples, within their stretch."""
    import scipy.sparse as sparse

    begin = np.flatnonzero(np.diff(stretch, prepend=-1))
    place = np.arange(len(stretch)) - np.repeat(begin, np.diff(begin, append=len(stretch)))
    row = np.cumsum(place % each == 0) - 1
    count = np.bincount(row)
    return sparse.csr_array((1 / count[row], (row, np.arange(len(row)))), (len(count), len(row)))
