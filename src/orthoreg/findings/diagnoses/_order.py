"""States that obey an equation of second order."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from ...data import folds
from ...terms import AbstractLibrary, FeatureMap
from .. import _limits as limits
from .._findings import Advice
from .._held_out import held_out_errors
from .._motion import Motion
from .._observations import Determination, Observations
from .._scores import spaced
from .._words import listed, rates


def second_order(
    seen: Observations,
    library: AbstractLibrary,
    failing: Sequence[int],
    first: Determination | None,
) -> tuple[Advice | None, list[int]]:
    """Return advice and the states concerned: states among `failing` whose rates the columns do not
    determine (`first`), while columns and rates together determine the second derivatives.

    Neighbours, or the library's terms on held-out rows, show that a function exists. If rows have
    no neighbours, as with many columns, the library alone decides, with a stricter limit on the
    unexplained share. The advice is verified: second-order equations must forecast segments of the
    runs better than first-order equations.
    """
    if seen.curvature is None or not failing:
        return None, []
    known = first is not None and first.enough
    rate_share = first.share if first is not None and known else _rate_share(seen, library)
    velocities = seen.samples.given.values()  # which already have second-order equations
    free = [c for c in failing if rate_share[c] > limits.FREE_RATE_SHARE and c not in velocities]
    if not free:
        return None, []
    share = _curvature_share(seen, library)
    second = seen.second_order()
    if second is not None and second.enough:
        share = np.fmin(share, second.share)
    threshold = limits.DETERMINED_SHARE if known else limits.DETERMINED_SHARE_LIBRARY
    determined = [c for c in free if share[c] < threshold]
    if not determined or not forecasts_better(seen, library, determined, _rate_names(seen)):
        return None, []
    states = [seen.labels[c] for c in determined]
    single = len(determined) == 1
    explained = 100 * (1 - float(np.max(share[determined])))
    return Advice(
        "second-order",
        f"{rates(states)} {'is' if single else 'are'} not a function of the given columns, "
        f"but columns and rates together explain {explained:.0f}% of the second derivative of "
        f"{listed(states)}: in these columns the system is of second order. Give {listed(states)} "
        f"as {'a position, whose velocity' if single else 'positions, whose velocities'} need not "
        f"be measured: --positions {','.join(states)} on the command line, Dataset.from_positions "
        f"or read_table(positions={states}) in Python.",
    ), determined


def _rate_share(seen: Observations, library: AbstractLibrary) -> Float[np.ndarray, " c"]:
    """The share of each rate that the library does not explain on held-out rows, less noise."""
    samples = seen.samples
    return _share(library, seen, samples.names, samples.variables, samples.targets, seen.noise)


def _curvature_share(seen: Observations, library: AbstractLibrary) -> Float[np.ndarray, " c"]:
    """The same for each second derivative, with the library in columns and rates."""
    samples = seen.samples
    assert seen.curvature is not None and seen.curvature_noise is not None
    names = samples.names + _rate_names(seen)
    points = np.hstack([samples.variables, samples.targets])
    return _share(library, seen, names, points, seen.curvature, seen.curvature_noise)


def _rate_names(seen: Observations) -> tuple[str, ...]:
    """Return names for the rates that differ from all column names."""
    samples, mark = seen.samples, "_dot"
    while any(f"{name}{mark}" in samples.names for name in samples.outputs):
        mark += "_"
    return tuple(f"{name}{mark}" for name in samples.outputs)


def _share(
    library: AbstractLibrary,
    seen: Observations,
    names: tuple[str, ...],
    points: Float[np.ndarray, "N V"],
    targets: Float[np.ndarray, "N c"],
    noise: Float[np.ndarray, " c"],
) -> Float[np.ndarray, " c"]:
    """The unexplained share; NaN if there are too few rows for the library or terms are not
    finite."""
    unknown = np.full(targets.shape[1], np.nan)
    if len(targets) < limits.MIN_ROWS_PER_TERM * len(library.terms(names)):
        return unknown
    terms = seen.bind(library, names, seen.samples.outputs, seen.samples.given)(points)
    if not np.isfinite(terms).all():
        return unknown
    size = np.mean(targets**2, axis=0)
    error = held_out_errors(terms, targets, folds(seen.samples, limits.FOLDS)) ** 2 * size
    variance = np.maximum(targets.var(axis=0), 1e-300)
    return np.maximum(error - limits.NOISE_MARGIN**2 * noise, 0.0) / variance


def forecasts_better(
    seen: Observations, library: AbstractLibrary, found: Sequence[int], rate_names: tuple[str, ...]
) -> bool:
    """Return whether second-order equations for the states `found`, fitted to the first half of
    each run, forecast segments of the second half with less than half the error of first-order
    equations. All other columns are taken from the data."""
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

    first_errors = _errors(first_order, both, motion, starts, horizon, places, places)
    second_errors = _errors(
        second_order, both, motion, starts, horizon, np.r_[places, rates], places
    )
    return bool((second_errors < limits.MAX_REMAINING_ERROR * first_errors).all())


def _split(motion: Motion) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the rows of the first half of each run, the first rows of segments of the second half,
    and the length of a segment."""
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


def _thin(rows: np.ndarray, max_rows: int) -> np.ndarray:
    return rows if len(rows) <= max_rows else rows[spaced(len(rows), max_rows)]


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
