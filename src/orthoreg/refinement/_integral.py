"""The integral form of an equation: which terms, integrated, are what was measured."""

from collections.abc import Callable
from typing import NamedTuple, final

import numpy as np
from jaxtyping import Bool, Float, Int

from ..data import Dataset
from . import _limits as limits

_DEPENDENT = 1e-20  # of a squared norm: what rounding leaves of a function that others give


@final
class NormalEquations(NamedTuple):
    """min_w w'Qw - 2 r'w + yy over `rows` values, of which `offsets` are spent."""

    Q: np.ndarray
    r: np.ndarray
    yy: float
    rows: int
    offsets: int


def without_given(equations: NormalEquations, w: Float[np.ndarray, " K"]) -> NormalEquations:
    """The equations for what these coefficients leave."""
    Q, r = equations.Q, equations.r
    yy = equations.yy - 2 * float(r @ w) + float(w @ Q @ w)
    return equations._replace(r=r - Q @ w, yy=max(yy, 0.0))


def integral_form(
    data: Dataset,
    smoothed: Float[np.ndarray, "N n"],
    features: Callable[[np.ndarray], np.ndarray],
    variance: Float[np.ndarray, "N n"],
    longest: int = limits.STRETCH_STEPS,
) -> dict[int, NormalEquations]:
    """For each equation that is to be learned: x(t) = x(t_0) + int theta(x) w, weighted by what
    the noise of x leaves; x(t_0) is free in every stretch of a run, of
    at most about `longest` rows.

    Of a velocity that was not measured it is the position: q(t) = q_0 + v_0 t + int int theta w.
    Noise is not correlated from row to row, unlike in derivatives or windows, so that likelihoods
    can be compared. Inside theta the states are smoothed.
    """
    variables = smoothed if data.inputs is None else np.hstack([smoothed, data.inputs])
    with np.errstate(all="ignore"):
        theta = np.asarray(features(variables))
        usable = np.isfinite(theta).all(axis=0) & _is_resolved(data, theta)
    theta = np.where(usable, theta, 0.0)
    once = _integrated(data, theta)
    stretch = stretches_of(data, longest)
    place = {name: c for c, name in enumerate(data.state_names)}
    position = {place[v]: place[q] for q, v in data.velocity_of.items() if v in data.estimated}
    twice = _integrated(data, once) if position else once
    found = {}
    for c in range(data.n_states):
        if c in data.given_rates:
            continue
        measured = position.get(c, c)
        free = np.ones((data.n_samples, 1))
        if c in position:
            free = np.column_stack([free, data.times])
        whole = np.column_stack([data.states[:, measured], twice if c in position else once])
        root = 1 / np.sqrt(variance[:, measured])[:, None]
        left, spent = _without_offsets(whole * root, free * root, stretch)
        y, columns = left[:, 0], left[:, 1:]
        found[c] = NormalEquations(
            columns.T @ columns, columns.T @ y, float(y @ y), data.n_samples, spent
        )
    return found


def _integrated(data: Dataset, values: Float[np.ndarray, "N K"]) -> Float[np.ndarray, "N K"]:
    """Integrals from the start of each run: of cubic splines, of lines where rows are few."""
    result = np.empty_like(values)
    for begin, end in zip(data.offsets[:-1], data.offsets[1:], strict=True):
        result[begin:end] = antiderivative(data.times[begin:end], values[begin:end])
    return result


def antiderivative(
    times: Float[np.ndarray, " N"], values: Float[np.ndarray, "N K"]
) -> Float[np.ndarray, "N K"]:
    """Integrals from the first time to each: of cubic splines, of lines where there are few."""
    from scipy.interpolate import CubicSpline

    if len(times) < 4:
        areas = np.diff(times)[:, None] * (values[1:] + values[:-1]) / 2
        return np.cumsum(np.concatenate([np.zeros((1, values.shape[1])), areas]), axis=0)
    return np.asarray(CubicSpline(times, values).antiderivative()(times))


def _is_resolved(data: Dataset, values: Float[np.ndarray, "N K"]) -> Bool[np.ndarray, " K"]:
    """Whether a function changes little from row to row; a sine of many radians a step does not,
    and cannot be integrated."""
    steps = np.diff(values, axis=0)[np.diff(data.run_of_row) == 0]
    return np.sqrt((steps**2).mean(axis=0)) <= limits.ROUGH_FUNCTION * values.std(axis=0) + 1e-300


def stretches_of(data: Dataset, longest: int = limits.STRETCH_STEPS) -> Int[np.ndarray, " N"]:
    """The stretch that each row is in."""
    result = np.empty(data.n_samples, dtype=int)
    count = 0
    for begin, end in zip(data.offsets[:-1], data.offsets[1:], strict=True):
        rows = int(end - begin)
        length = min(max(rows // limits.STRETCHES_OF_A_RUN, limits.STRETCH_LEAST_STEPS), longest)
        parts = max(rows // length, 1)
        result[begin:end] = count + np.arange(rows) * parts // rows
        count += parts
    return result


def _without_offsets(
    values: Float[np.ndarray, "N k"], free: Float[np.ndarray, "N o"], stretch: Int[np.ndarray, " N"]
) -> tuple[Float[np.ndarray, "N k"], int]:
    """The part orthogonal to the `free` functions in every stretch, and how many these are."""
    begins = np.flatnonzero(np.diff(stretch, prepend=-1))
    rows = np.diff(begins, append=len(stretch))
    count = free.shape[1]
    left, spent = np.concatenate([free, values], axis=1), 0
    for k in range(count):  # Gram and Schmidt, all stretches at once
        one, others = left[:, [k]], left[:, k + 1 :]
        square = np.add.reduceat(one**2, begins)
        is_free = square > _DEPENDENT * np.add.reduceat(free[:, [k]] ** 2, begins)
        share = np.add.reduceat(one * others, begins) / np.where(is_free, square, np.inf)
        others -= one * np.repeat(share, rows, axis=0)
        spent += int(is_free.sum())
    return left[:, count:], spent
