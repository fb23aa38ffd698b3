"""Whether equations of second order forecast short segments better than those of first order."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from ...terms import AbstractLibrary, FeatureMap
from .. import _limits as limits
from .._motion import Motion
from .._observations import Observations


def forecasts_better(
    seen: Observations, library: AbstractLibrary, found: Sequence[int], rate_names: tuple[str, ...]
) -> bool:
    """Return whether equations of second order for the states `found`, fitted to the first half of
    each run, forecast segments of the second half with at most half the error of equations of first
    order. All other columns are taken from the data."""
    motion, samples = seen.motion, seen.samples
    if motion is None:
        return False
    first_half, starts, horizon = _split(motion)
    if not len(starts):
        return False
    names = samples.names
    first = seen.bind(library, names, samples.outputs, samples.given)
    second = seen.bind(library, names + rate_names, samples.outputs, samples.given)
    both = np.hstack([motion.data.variables, motion.slopes])
    columns, places = list(found), np.array(found)
    rates = motion.data.variables.shape[1] + places
    slow = _fit(first, motion.data.variables[first_half], motion.slopes[first_half][:, columns])
    fast = _fit(second, both[first_half], motion.curvature[first_half][:, columns])

    def first_order(points: Float[np.ndarray, "S V"]) -> Float[np.ndarray, "S k"]:
        return first(points[:, : len(names)]) @ slow

    def second_order(points: Float[np.ndarray, "S V"]) -> Float[np.ndarray, "S k"]:
        return np.hstack([points[:, rates], second(points) @ fast])

    one = _errors(first_order, both, motion, starts, horizon, places, places)
    two = _errors(second_order, both, motion, starts, horizon, np.r_[places, rates], places)
    return bool((two < limits.MAX_REMAINING_ERROR * one).all())


def _split(motion: Motion) -> tuple[np.ndarray, np.ndarray, int]:
    """Return rows of the first half of each run, first rows of segments of the second half, and
    the rows of a segment."""
    period = float(np.min(motion.period))
    horizon = int(
        np.clip(period / 4 if np.isfinite(period) else limits.SEGMENT_ROWS[1], *limits.SEGMENT_ROWS)
    )
    data = motion.data
    position = np.arange(data.n_samples) - data.offsets[data.run_of_row]
    length = data.run_lengths[data.run_of_row]
    fitted = np.flatnonzero(motion.inner & (position < length / 2))
    starts = (position >= length / 2) & (position + horizon < length) & motion.inner
    starts = np.flatnonzero(starts & (position % horizon == 0))
    return _thin(fitted, limits.MAX_ROWS_ORDER_FIT), _thin(starts, limits.MAX_SEGMENTS), horizon


def _thin(rows: np.ndarray, most: int) -> np.ndarray:
    if len(rows) <= most:
        return rows
    return rows[np.linspace(0, len(rows) - 1, most).astype(int)]


def _fit(
    features: FeatureMap, points: Float[np.ndarray, "N V"], targets: Float[np.ndarray, "N k"]
) -> Float[np.ndarray, "K k"]:
    """Return least-squares coefficients; zero for terms that are not finite."""
    design = features(points)
    scale = np.sqrt(np.mean(design**2, axis=0))
    usable = np.isfinite(scale) & (scale > 0)
    coefficients = np.zeros((design.shape[1], targets.shape[1]))
    solved = np.linalg.lstsq(design[:, usable] / scale[usable], targets, rcond=1e-8)[0]
    coefficients[usable] = solved / scale[usable, None]
    return coefficients


def _errors(
    rule, both, motion: Motion, starts, horizon: int, moved, judged
) -> Float[np.ndarray, " k"]:
    """Return the root mean square error of each judged column at the end of the segments, over its
    standard deviation. `moved` columns are integrated by the rule, by Runge-Kutta steps between
    samples."""
    times, spread = motion.data.times, np.maximum(both.std(axis=0), 1e-300)
    reach = limits.DIVERGED_DISTANCE * spread
    low, high = both.mean(axis=0) - reach, both.mean(axis=0) + reach
    state = both[starts][:, moved]
    for step in range(horizon):
        here, there = both[starts + step], both[starts + step + 1]
        h = (times[starts + step + 1] - times[starts + step])[:, None]

        def slope(share, values, here=here, there=there):
            points = (1 - share) * here + share * there
            points[:, moved] = values
            return rule(points)

        with np.errstate(all="ignore"):
            k1 = slope(0.0, state)
            k2 = slope(0.5, state + h / 2 * k1)
            k3 = slope(0.5, state + h / 2 * k2)
            k4 = slope(1.0, state + h * k3)
            state = state + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        lost = np.where(np.isfinite(state), state, high[moved])
        state = np.clip(lost, low[moved], high[moved])
    error = state[:, : len(judged)] - both[starts + horizon][:, judged]
    return np.sqrt(np.mean(error**2, axis=0)) / spread[judged]
