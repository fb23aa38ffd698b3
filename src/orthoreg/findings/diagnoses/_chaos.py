"""Detect chaos: nearby states diverge so fast that long forecasts are impossible."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from ...data import Dataset
from .. import _limits as limits
from .._findings import Advice

Field = Callable[[Float[np.ndarray, "N V"]], Float[np.ndarray, "N n"]]


def chaotic(field: Field, data: Dataset, error: float) -> Advice | None:
    """Return advice if forecasts fail before the end of these runs although the field is
    accurate.

    `error` is the relative uncertainty of initial state and field. It reaches the level `lost`
    after the time t with lambda t = log(lost / error), where lambda is the largest Lyapunov
    exponent of the field along the measured runs, minus the growth rate of the motion itself.
    """
    exponent = chaotic_exponent(field, data)
    if exponent is None:
        return None
    lasts = _horizon(exponent, error)
    if lasts >= _span(data):
        return None
    unit = data.units.get(data.time_name, "time units")
    if data.discrete and data.time_name not in data.units:
        unit, step = "rows", data.schema.step or 1.0
        exponent, lasts = exponent * step, lasts / step
    # with inputs, the system may be unstable instead, for example stabilised by the inputs
    is_, under = ("is chaotic or unstable", " under the same inputs") if data.input_names else (
        "is chaotic", ""
    )  # fmt: skip
    return Advice(
        "chaotic",
        f"The system {is_}: nearby states{under} diverge by a factor of e in {1 / exponent:.2g} "
        f"{unit} (largest Lyapunov exponent {exponent:.2g}). Forecasts cannot last longer than "
        f"about {lasts:.2g} {unit}; restart forecasts from recent measurements.",
    )


def forecast_horizon(field: Field, data: Dataset) -> float | None:
    """Return the time for which forecasts are reliable, or None if the field is not chaotic
    here.

    The initial uncertainty is the noise of the states, relative to their standard deviation.
    """
    exponent = chaotic_exponent(field, data)
    if exponent is None:
        return None
    std = data.states.std(axis=0)
    noise = np.where(data.plan.is_noise & (std > 0), data.plan.noise / np.where(std > 0, std, 1), 0)
    return _horizon(exponent, float(noise.max(initial=0.0)))


def chaotic_exponent(field: Field, data: Dataset) -> float | None:
    """Return the largest Lyapunov exponent along the runs.

    Return None if the field cannot be chaotic, or if perturbations grow little during the longest
    run.
    """
    moving = int(np.count_nonzero(np.ptp(data.states, axis=0)))
    if moving < limits.MIN_STATES_CHAOS and not data.input_names and not data.discrete:
        return None
    exponent = lyapunov_exponent(field, data)
    if exponent is None or exponent * _span(data) < limits.MIN_CHAOS_GROWTH:
        return None
    return exponent


def _span(data: Dataset) -> float:
    """Return the duration of the longest run."""
    return float((data.times[data.offsets[1:] - 1] - data.times[data.offsets[:-1]]).max())


def _horizon(exponent: float, error: float) -> float:
    """Return the time after which a relative error has grown so much that the forecast is
    useless.
    """
    lost = limits.POOR_FORECAST_ERROR
    return float(np.log(lost / min(max(error, limits.MIN_INITIAL_ERROR), lost / 2)) / exponent)


def lyapunov_exponent(field: Field, data: Dataset) -> float | None:
    """Return the mean growth rate of a perturbation along the runs.

    Return None if it does not grow in both halves of the runs, or if the field is not finite.

    The perturbation follows d' = J(x(t)) d with the Jacobian J at the measured states, integrated
    by the fourth-order Runge-Kutta method. The growth of |x'| is subtracted from that of d. For a
    map, d[k+1] = J(x[k]) d[k], and |x[k+1] - x[k]| replaces |x'|.
    """
    rates = []
    spread = data.states.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    longest = np.argsort(-data.run_lengths, kind="stable")[: limits.MAX_RUNS_CHAOS]
    for run in longest:
        trajectory = data[int(run)]
        if trajectory.n_samples < 20:
            continue
        rows = slice(0, limits.MAX_ROWS_CHAOS)
        times, variables = trajectory.times[rows], trajectory.variables[rows]
        jacobians = _jacobians(field, variables, spread)
        if jacobians is None:
            return None
        steps = jacobians[:-1] if data.discrete else _flow_steps(jacobians, times)
        growth = _growth(steps)
        speed = np.linalg.norm(field(variables) / spread, axis=1)
        if data.discrete:
            moves = (field(variables) - trajectory.states[rows]) / spread
            speed = np.linalg.norm(moves, axis=1)
        half = len(times) // 2
        parts = [
            _rate(growth, speed, times, first, last)
            for first, last in ((0, half), (half, len(times) - 1))
        ]
        rates.append((times[-1] - times[0], _rate(growth, speed, times, 0, len(times) - 1), parts))
    if not rates:
        return None
    spans = np.array([span for span, _, _ in rates])
    mean = float(spans @ np.array([rate for _, rate, _ in rates]) / spans.sum())
    halves = spans @ np.array([parts for _, _, parts in rates]) / spans.sum()
    return mean if mean > 0 and (halves > limits.MIN_SUSTAINED_GROWTH * mean).all() else None


def _rate(
    growth: Float[np.ndarray, " T"],
    speed: Float[np.ndarray, " T"],
    times: Float[np.ndarray, " T"],
    first: int,
    last: int,
) -> float:
    """Return the growth rate of a perturbation minus that of the motion, with averaged speeds."""
    width = max((last - first) // 10, 1)
    start = float(np.mean(speed[first : first + width]))
    end = float(np.mean(speed[last - width : last]))
    moved = np.log(max(end, 1e-300) / max(start, 1e-300))
    return float((growth[last] - growth[first] - max(moved, 0.0)) / (times[last] - times[first]))


def _jacobians(
    field: Field, variables: Float[np.ndarray, "T V"], spread: Float[np.ndarray, " n"]
) -> Float[np.ndarray, "T n n"] | None:
    """Return the Jacobian of the field at each row, in standard deviations of the states."""
    columns = []
    for state in range(len(spread)):
        step = np.zeros(variables.shape[1])
        step[state] = limits.JACOBIAN_STEP * spread[state]
        with np.errstate(all="ignore"):  # terms may be undefined close to the data
            change = (field(variables + step) - field(variables - step)) / (2 * step[state])
        columns.append(change / spread * spread[state])
    result = np.stack(columns, axis=2)
    return result if np.isfinite(result).all() else None


def _flow_steps(
    jacobians: Float[np.ndarray, "T n n"], times: Float[np.ndarray, " T"]
) -> Float[np.ndarray, "L n n"]:
    """Return the matrices that advance a perturbation from row to row."""
    h = np.diff(times)[:, None, None]
    first, last = jacobians[:-1], jacobians[1:]
    middle = (first + last) / 2
    unit = np.eye(jacobians.shape[1])
    k1 = first
    k2 = middle @ (unit + h / 2 * k1)
    k3 = middle @ (unit + h / 2 * k2)
    k4 = last @ (unit + h * k3)
    return unit + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def _growth(steps: Float[np.ndarray, "L n n"]) -> Float[np.ndarray, " T"]:
    """Return the logarithm of a perturbation's size at each row."""
    n = steps.shape[1]
    direction = np.ones(n) / np.sqrt(n)
    sizes = np.zeros(len(steps) + 1)
    for i, step in enumerate(steps):
        direction = step @ direction
        size = float(np.linalg.norm(direction))
        if not np.isfinite(size) or size == 0:
            return np.zeros(len(steps) + 1)
        sizes[i + 1] = sizes[i] + np.log(size)
        direction = direction / size
    return sizes
