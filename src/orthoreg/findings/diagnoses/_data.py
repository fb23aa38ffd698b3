"""Diagnose data: too few rows, noise, a lag between position and velocity."""

from itertools import permutations
from typing import NamedTuple, final

import numpy as np
from jaxtyping import Float

from ..._common.notation import left_side
from ...data import Dataset
from ...losses import Weak
from ...smoothing import bump_windows
from .. import _limits as limits
from .._findings import Advice
from .._words import counted, listed, percent


def few_rows(
    data: Dataset, n_terms: int, period: Float[np.ndarray, " n"] | None = None
) -> Advice | None:
    """Return advice if there are too few rows.

    There should be at least five rows for each of `n_terms` candidate terms, eight per `period` (in
    rows, of each state), and six in most runs.
    """
    reasons = []
    are = "is" if data.n_samples == 1 else "are"
    if data.n_samples < limits.MIN_ROWS_PER_TERM * n_terms:
        reasons.append(
            f"{counted(data.n_samples, 'row')} {are} few for {counted(n_terms, 'candidate term')}: "
            f"measure at least {limits.MIN_ROWS_PER_TERM * n_terms}, or choose a smaller library"
        )
    coarse = [] if period is None else [
        f"{name} (about {rows:.0f})"
        for name, rows in zip(data.state_names, period, strict=True)
        if rows < limits.MIN_SAMPLES_PER_PERIOD and name not in data.estimated
    ]  # fmt: skip
    if coarse:
        reasons.append(
            f"too few rows per period to resolve derivatives: {listed(coarse)}; sample at "
            f"least {limits.MIN_SAMPLES_PER_PERIOD} times per period, preferably 20 times"
        )
    if np.median(data.run_lengths) < limits.MIN_ROWS_PER_RUN:
        reasons.append(
            f"runs of {int(np.median(data.run_lengths))} rows contain little information on how "
            f"states change; measure longer runs{', or derivatives' * (not data.discrete)}"
        )
    if not reasons:
        return None
    text = "; ".join(reasons)
    return Advice("few-rows", f"{text[0].upper()}{text[1:]}.")


def noise(
    names: tuple[str, ...],
    level: Float[np.ndarray, " n"],
    slope_noise: Float[np.ndarray, " n"],
    rates: tuple[str, ...] | None = None,
) -> Advice | None:
    """Return advice if the noise of a state, or of its derivative, is large.

    `level` is the noise of each state in standard deviations of the state. `slope_noise` is the
    resulting error of the estimated derivative relative to its size, and `rates` are the labels of
    the derivatives. If the differences of a state contain more noise than motion, it is not called
    noisy: its consecutive values are unrelated at this time step, as in a discrete map.
    """
    unrelated = np.flatnonzero(level > limits.UNRELATED_NOISE)
    if unrelated.size:
        states = listed([names[i] for i in unrelated])
        return Advice(
            "few-rows",
            f"Consecutive values of {states} are hardly related: the samples are too far apart "
            "for a differential equation, or the values come from a discrete map. Sample more "
            "often, or fit a map (discrete=True).",
        )
    loud = np.flatnonzero(
        (level > limits.LARGE_NOISE)
        | ((slope_noise > limits.LARGE_SLOPE_NOISE) & (level > limits.MIN_NOISE))
    )
    if not loud.size:
        return None
    loud = loud[np.argsort(-level[loud], kind="stable")]
    states = listed([f"{names[i]} ({percent(float(level[i]))})" for i in loud])
    worst = int(max(loud, key=lambda i: slope_noise[i]))
    return Advice(
        "noise",
        f"The noise in {states}, relative to the standard deviation, causes an uncertainty of "
        f"{percent(float(slope_noise[worst]))} in the estimated "
        f"{left_side((rates or names)[worst])}. Measure more runs, or repeat runs and average "
        "them.",
    )


@final
class Lag(NamedTuple):
    """A velocity that is the delayed derivative of a position.

    `lag` is the delay of `velocity` in units of time, and `error` its standard error.
    """

    position: str
    velocity: str
    lag: float
    error: float


def lags(data: Dataset) -> list[Lag]:
    """Return pairs of measured states in which one state is the time-shifted derivative of the
    other.

    To first order, v(t) = q'(t - lag) is v = q' - lag q''. Integrals against test functions need no
    derivative of the data. The standard error is estimated from separate parts of the data.
    """
    steps = np.diff(data.times)[np.diff(data.run_of_row) == 0]
    if not len(steps) or data.n_states < 2 or data.derivatives is not None:
        return []
    step = float(np.median(steps))
    measured = np.flatnonzero(data.is_measured)
    order = Weak().order
    widest = max(data.plan.half_widths(order))
    windows = bump_windows(data.times, data.offsets, widest, order, n_rates=2)
    if len(windows) < limits.MIN_LAG_WINDOWS:
        return []
    slope, bend = (rate @ data.states for rate in windows.rates)
    mean = windows.mean @ data.states
    result = []
    for q, v in permutations(measured, 2):
        estimate = _lag(slope[:, q], bend[:, q], mean[:, v])
        if estimate is None or _is_equation(slope[:, q], bend[:, q], mean[:, [q, v]]):
            continue
        if abs(estimate[0]) > max(limits.LAG_STANDARD_ERRORS * estimate[1], limits.MIN_LAG * step):
            result.append(Lag(data.state_names[q], data.state_names[v], *estimate))
    return result


def _lag(
    slope: Float[np.ndarray, " R"], bend: Float[np.ndarray, " R"], velocity: Float[np.ndarray, " R"]
) -> tuple[float, float] | None:
    """Return the lag and its standard error, or None if the velocity is not the derivative."""
    design = np.column_stack([slope, bend])
    (factor, minus), *_ = np.linalg.lstsq(design, velocity, rcond=None)
    residual = velocity - design @ [factor, minus]
    variance = float(np.var(velocity))
    if (
        variance == 0
        or residual @ residual / len(residual) > (1 - limits.LAG_EXPLAINED_SHARE) * variance
    ):
        return None
    if abs(factor - 1) > limits.LAG_FACTOR_TOLERANCE:
        return None
    parts = np.array_split(np.arange(len(slope)), min(limits.LAG_GROUPS, len(slope) // 4))
    each = [np.linalg.lstsq(design[rows], velocity[rows], rcond=None)[0] for rows in parts]
    estimates = np.array([-b / a for a, b in each if a != 0])
    return float(-minus / factor), float(estimates.std(ddof=1) / np.sqrt(len(estimates)))


def _is_equation(
    slope: Float[np.ndarray, " R"], bend: Float[np.ndarray, " R"], pair: Float[np.ndarray, "R 2"]
) -> bool:
    """Return whether q' = a v + b q, with the columns q and v of `pair`, fits clearly better than a
    lag.

    For a harmonic oscillation, both are equivalent.
    """

    def squares(design: Float[np.ndarray, "R 2"], target: Float[np.ndarray, " R"]) -> float:
        residual = target - design @ np.linalg.lstsq(design, target, rcond=None)[0]
        return float(residual @ residual)

    lagged = squares(np.column_stack([slope, bend]), pair[:, 1])
    return (
        squares(np.column_stack([slope, pair[:, 0]]), pair[:, 1]) < limits.CLEARLY_BETTER * lagged
    )


def lag(data: Dataset) -> Advice | None:
    """Return advice if a velocity lags behind its position, or vice versa."""
    pairs = lags(data)
    if not pairs:
        return None
    sentences = "; ".join(
        f"{pair.velocity} {'lags' if pair.lag > 0 else 'leads'} the derivative of {pair.position} "
        f"by {abs(pair.lag):.2g} (standard error {pair.error:.1g}, in the unit of "
        f"{data.time_name})"
        for pair in pairs
    )
    names = list(dict.fromkeys(pair.position for pair in pairs))
    return Advice(
        "lag",
        f"Positions and velocities are not synchronous: {sentences}. Such a lag acts like damping "
        f"that does not exist. Fit the positions alone: --positions {','.join(names)} on the "
        f"command line, Dataset.from_positions or read_table(positions={names!r}) in Python.",
    )
