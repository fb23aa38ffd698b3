"""Convert runs to the rows of a search: weak form, integral form, or unchanged rows."""

from dataclasses import replace
from typing import Any, NamedTuple, final

import numpy as np
from jaxtyping import Bool, Float, Int

from ...data import Dataset, Extent, Rows, grouping, thinned, windows_of
from ...losses import AbstractLoss, Automatic, NextState, Weak, measured_windows, moving
from .._proposals import antiderivative, stretch_of_row
from . import _limits as limits
from ._measurements import Measurements


def measurements(
    loss: AbstractLoss,
    data: Dataset,
    states: Float[np.ndarray, "N n"] | None = None,
) -> Measurements:
    """Return the rows of runs without outliers, in the weak form.

    Short runs and measured derivatives use the rows of the loss. `states` are the states of a model
    at all rows, which are less noisy than smoothed states. If they follow the measurements, the
    integral form is used, because it is more informative.
    """
    all_data, data = data, data.subsample(limits.MAX_SAMPLES, 2)
    if all_data.n_samples > data.n_samples:
        states = None
    if data.discrete:
        return map_rows(data, limits.MAX_ROWS, states)
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


def map_rows(data: Dataset, max_rows: int, states: Float[np.ndarray, "N n"] | None) -> Measurements:
    """Return the rows of a map with next states as targets. The rows are at `states` if given."""
    rows = NextState().observe(data)
    noise = data.plan.map_noise
    if states is not None and (Samples.of(data).misfit(states) < limits.MAX_INTEGRAL_MISFIT).all():
        points = states if data.inputs is None else np.hstack([states, data.inputs])
        kept = data.rows_with_next()
        return rows_as_measurements(
            replace(rows, points=points[kept], target_mse=noise.state**2), max_rows, data.n_samples
        )
    rows = replace(rows, target_mse=noise.prediction**2)
    return rows_as_measurements(rows, max_rows, data.n_samples)


def window_rows(
    loss: AbstractLoss,
    data: Dataset,
    max_rows: int,
    states: Float[np.ndarray, "N n"] | None,
) -> Measurements:
    """Return rows of the weak form.

    The width of windows depends on the noise. For noise-free data, windows are narrow; they are
    then more accurate than derivatives of the samples.
    """
    noisy = data.plan.is_noisy
    rule = loss.rule(data) if noisy else None
    if isinstance(rule, Weak) and isinstance(rule.widths, tuple):
        widths = rule.widths
    elif noisy:
        widths = data.plan.half_widths(Weak().order)
    else:
        step = float(np.median(data.step_of_run()))
        widths = tuple(step * samples for samples in limits.CLEAN_HALF_WIDTHS)
    # separately, because windows of different widths have different noise
    parts = [Weak(widths=h).observe(data) for h in widths]
    if states is not None:
        points = states if data.inputs is None else np.hstack([states, data.inputs])
        parts = [replace(rows, points=points) for rows in parts]
    noise = [np.tile(np.sqrt(rows.target_mse), (len(rows), 1)) for rows in parts]
    if noisy:
        noise = [row_noise(data, h, rows) for h, rows in zip(widths, parts, strict=True)]
    sign_changes = [_with_sign_changes(data, rows) for rows in parts]
    noise = [
        values
        + limits.SIGN_CHANGE_NOISE * np.outer(turn, np.sqrt(np.mean(rows.targets**2, axis=0)))
        for values, turn, rows in zip(noise, sign_changes, parts, strict=True)
    ]
    sides = sides_of(parts[0].points, data) if len(parts[0].points) == data.n_samples else None
    result = _joined(
        parts, data.n_samples, max_rows, noise, Automatic().slopes(data), sign_changes, sides
    )
    estimated_velocities = [data.state_names.index(name) for name in data.estimated]
    return replace(result, estimated_velocities=frozenset(estimated_velocities))


def sides_of(points: Float[np.ndarray, "N V"], data: Dataset) -> Float[np.ndarray, "N V"]:
    """Return signs in the step around each point.

    A value is the fraction of the step with the sign at the point, minus the fraction with the
    other sign, if variables are linear between points. It is 1 for velocities that were not
    measured.
    """
    step = np.diff(points, axis=0)
    crosses = (points[:-1] * points[1:] < 0) & (np.diff(data.run_of_row) == 0)[:, None]
    crosses[:, [data.state_names.index(name) for name in data.estimated]] = False
    safe = np.where(crosses, np.abs(step), 1.0)
    sides = np.ones_like(points)
    for values, side in ((points[:-1], sides[:-1]), (points[1:], sides[1:])):
        side -= np.where(crosses, np.maximum(1 - 2 * np.abs(values) / safe, 0.0), 0.0)
    return sides


def _with_sign_changes(data: Dataset, rows: Rows) -> Bool[np.ndarray, " R"]:
    """Return a mask of the windows in which a velocity that was not measured changes its sign.

    Dry friction jumps there, at a time that a smoothed velocity does not resolve.
    """
    changes = np.zeros(len(rows), dtype=bool)
    for name in data.estimated:
        forward = np.asarray(rows.windows @ (data.states[:, data.state_names.index(name)] > 0))
        changes |= (forward > limits.MIN_SIGN_CHANGE) & (forward < 1 - limits.MIN_SIGN_CHANGE)
    return changes


def row_noise(data: Dataset, width: float, rows: Rows) -> Float[np.ndarray, "R c"]:
    """Return the noise standard deviation of each window's target.

    It has two parts: the noise of the window's samples, and the effect of the noise that remains in
    smoothed states. The relative effect on the target is about the relative noise of the states.
    """
    windows = moving(data, windows_of(data, width, Weak().order))
    windows = measured_windows(windows, data.plan.is_lost)
    variance = data.plan.variance
    size = np.maximum(np.mean(data.states**2, axis=0), 1e-300)
    share = float(
        (
            limits.WINDOW_NOISE_FACTOR / data.plan.smoother.window * variance.mean(axis=0) / size
        ).sum()
    )
    slope, *higher = (rate.multiply(rate) for rate in windows.rates)
    result = np.asarray(slope @ variance)
    for v, (q, times) in data.schema.derivative_of.items():
        result[:, v] = higher[times - 1] @ variance[:, q]
    return np.sqrt(result + share * rows.targets**2)


def rows_as_measurements(
    rows: Rows, max_rows: int = limits.MAX_ROWS, samples: int | None = None
) -> Measurements:
    """Return rows unchanged, as measurements.

    `samples` is the number of samples from which they were computed.
    """
    return _joined([rows], samples or len(rows), max_rows)


def _joined(
    parts: list[Rows],
    samples: int,
    max_rows: int,
    noises: list[np.ndarray] | None = None,
    slopes: Float[np.ndarray, "N c"] | None = None,
    sign_changes: list[np.ndarray] | None = None,
    sides: Float[np.ndarray, "N V"] | None = None,
) -> Measurements:
    """Return the rows of all parts as one set of measurements, thinned to `max_rows` rows."""
    total = sum(map(len, parts))
    masks = [_thinned(rows, max(max_rows * len(rows) // total, 1)) for rows in parts]
    chosen = [rows.only(mask) for rows, mask in zip(parts, masks, strict=True)]
    first = parts[0]
    size = np.sqrt(np.mean(first.targets**2, axis=0))
    noises = noises or [np.tile(np.sqrt(rows.target_mse), (len(rows), 1)) for rows in parts]
    measured_noise = np.concatenate(
        [values[mask] for values, mask in zip(noises, masks, strict=True)]
    )
    noise = np.sqrt(measured_noise**2 + (limits.ROUNDING_FLOOR * size) ** 2)
    windows, points = None, np.concatenate([rows.points for rows in chosen])
    if first.windows is not None:
        import scipy.sparse as sparse

        stacked = sparse.vstack([rows.windows for rows in chosen]).tocsr()
        used = np.unique(stacked.indices)
        windows, points = stacked[:, used], first.points[used]
        slopes = None if slopes is None else slopes[used]
        sides = None if sides is None else sides[used]
    rows_kept = sum(map(len, chosen))
    return Measurements(
        points,
        windows,
        np.concatenate([rows.targets for rows in chosen]),
        np.where(noise > 0, noise, 1.0),
        np.concatenate([rows.variables for rows in chosen]),
        np.concatenate([grouping(rows).group for rows in chosen]),
        first.names,
        first.outputs,
        tuple(c for c in range(first.targets.shape[1]) if c not in first.given),
        float(min(rows_kept, samples)),
        first.extent,
        np.concatenate([rows.targets for rows in chosen]) if windows is None else slopes,
        first.time_index,
        None if sign_changes is None
        else np.concatenate([turn[mask] for turn, mask in zip(sign_changes, masks, strict=True)]),
        given=dict(first.given),
        sides=None if windows is None else sides,
    )  # fmt: skip


def _thinned(rows: Rows, max_rows: int) -> Bool[np.ndarray, " N"]:
    marked = np.zeros(len(rows), dtype=bool)
    marked[thinned(rows, max_rows)] = True
    return marked


@final
class Samples(NamedTuple):
    """Measured values, and the variance of their noise, which may grow with the state."""

    values: Float[np.ndarray, "N n"]
    variance: Float[np.ndarray, "N n"]

    @classmethod
    def of(cls, data: Dataset) -> "Samples":
        return cls(
            data.states, data.plan.variance + (limits.ROUNDING_FLOOR * data.states.std(axis=0)) ** 2
        )

    def misfit(self, states: Float[np.ndarray, "N n"]) -> Float[np.ndarray, " n"]:
        """Return the mean squared distance of states from the measurements, in noise variances."""
        return np.mean((self.values - states) ** 2 / self.variance, axis=0)


def integral_rows(
    data: Dataset, samples: Samples, states: Float[np.ndarray, "N n"], max_rows: int
) -> Measurements:
    """Return rows x(t) = x(t_0) + int f, one for each sample or for the mean of a few samples.

    The initial value is free in each stretch.

    Unlike in windows, noise is not correlated between rows, and small errors of a right-hand side
    accumulate until they are visible. Errors of the states accumulate too, so the states must not
    be smoothed measurements.
    """
    import scipy.sparse as sparse

    stretch = stretch_of_row(data)
    bounds = np.flatnonzero(np.diff(stretch, prepend=-1, append=stretch[-1] + 1))
    blocks = [
        antiderivative(data.times[i:j], np.eye(j - i))
        for i, j in zip(bounds[:-1], bounds[1:], strict=True)
    ]
    mean = _means(stretch, max(-(-data.n_samples // max_rows), 1))
    variance = samples.variance * samples.misfit(states)  # here, the residual of the model is noise
    points = states if data.inputs is None else np.hstack([states, data.inputs])
    stretch_of_mean = stretch[np.asarray(mean.argmax(axis=1)).ravel()]
    return Measurements(
        points,
        mean @ sparse.block_diag(blocks, format="csr"),
        np.asarray(mean @ samples.values),
        np.sqrt(np.asarray(mean.multiply(mean) @ variance)),
        np.asarray(mean @ points),
        stretch_of_mean,
        data.variable_names,
        data.state_names,
        tuple(c for c in range(data.n_states) if c not in data.given_rates),
        float(len(stretch_of_mean)),
        Extent.of(points),
        Automatic().slopes(data),
        data.schema.time_index,
        given=dict(data.given_rates),
        sides=sides_of(points, data),
        stretch=stretch_of_mean,
        reliable=float(len(stretch_of_mean)),
    )


def _means(stretch: Int[np.ndarray, " N"], size: int) -> Any:
    """Return the matrix that averages every `size` samples within their stretch."""
    import scipy.sparse as sparse

    starts = np.flatnonzero(np.diff(stretch, prepend=-1))
    position = np.arange(len(stretch)) - np.repeat(starts, np.diff(starts, append=len(stretch)))
    row = np.cumsum(position % size == 0) - 1
    count = np.bincount(row)
    return sparse.csr_array((1 / count[row], (row, np.arange(len(row)))), (len(count), len(row)))
