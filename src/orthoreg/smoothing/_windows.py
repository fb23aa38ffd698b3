"""Integrals against bumps as weights of the samples, for both sides of a weak form.

phi(t) = (1 - s^2)^p with s = (t - centre) / h vanishes with p - 1 derivatives at the ends of its
window, so that integration by parts has no boundary terms: int phi x' = -int phi' x.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from jaxtyping import Float, Int
from numpy.polynomial import Polynomial

from . import _limits as limits
from ._polynomial import Offsets, Times, have_equal_steps


@final
@dataclass(frozen=True, eq=False)
class Windows:
    """Weights of samples (R x N, sparse) in R windows. The bumps satisfy int phi = 1.

    `mean` gives int phi f, and `rates` give int phi x', int phi x'' and so on, without derivatives
    of samples.
    """

    mean: Any
    rates: tuple[Any, ...]
    centres: Float[np.ndarray, " R"]
    run: Int[np.ndarray, " R"]

    def __len__(self) -> int:
        return len(self.centres)

    def only(self, rows: Int[np.ndarray, " S"]) -> "Windows":
        """Return the selected windows."""
        return Windows(
            self.mean[rows],
            tuple(weights[rows] for weights in self.rates),
            self.centres[rows],
            self.run[rows],
        )


def bump_windows(
    times: Times, offsets: Offsets, half_width: float, order: int, n_rates: int = 1
) -> Windows:
    """Return windows of this half-width in each run, with centres a quarter of the half-width
    apart, for the first `n_rates` derivatives.

    No window extends over a step longer than the half-width, because the motion within such a step
    is unknown. With equal steps, integrals are sums, which are accurate because the bump is smooth
    and vanishes at its ends. With other steps, a cubic between samples is integrated. In either
    case, the derivatives of polynomials up to the third degree are exact.
    """
    import scipy.sparse as sparse

    if len(offsets) > 2 and _repeat(times, offsets):
        first = bump_windows(times[: offsets[1]], offsets[:2], half_width, order, n_rates)
        return _tiled(first, len(offsets) - 1)
    # number of samples of an interpolating cubic
    n_points = min(4, int(np.diff(offsets).min(initial=4)))
    runs = offsets
    offsets = np.union1d(offsets, 1 + np.flatnonzero(np.diff(times) > half_width))
    centres, stretch = _centres(times, offsets, half_width)
    equal = have_equal_steps(times, offsets, limits.EQUAL_WINDOW_STEPS).all()
    points, weights, interpolation = (
        _trapezoid(times, offsets) if equal else _gauss(times, offsets, n_points)
    )
    rows, columns = _members(
        points, centres, half_width, stretch, offsets, len(points) // len(times)
    )
    s = (points[columns] - centres[rows]) / half_width
    inside = np.maximum(1 - s**2, 0.0)
    shape = (len(centres), len(points))
    starts = np.searchsorted(rows, np.arange(len(centres) + 1))  # members are sorted by window

    def weighted(values: np.ndarray) -> Any:
        matrix = sparse.csr_array((values * weights[columns], columns, starts), shape=shape)
        return matrix if interpolation is None else (matrix @ interpolation).tocsr()

    values = _bump_derivatives(s, inside, order, n_rates)
    mean = weighted(values[0])
    rates = [weighted(value / (-half_width) ** (m + 1)) for m, value in enumerate(values[1:])]
    run = np.searchsorted(runs, offsets[stretch], side="right") - 1
    return _exact(mean, rates, times, centres, half_width, run)


def _bump_derivatives(
    s: Float[np.ndarray, " E"], inside: Float[np.ndarray, " E"], order: int, n_rates: int
) -> list[Float[np.ndarray, " E"]]:
    """Return phi = (1 - s^2)^p and its first derivatives with respect to s.

    The m-th derivative is (1 - s^2)^(p - m) P_m(s) with P_(m+1) = (1 - s^2) P_m' - 2 (p - m) s P_m.
    """
    power = np.ones_like(inside)
    for _ in range(order - n_rates):  # NumPy's general power is slow
        power *= inside
    powers = [power]
    for _ in range(n_rates):
        powers.append(powers[-1] * inside)
    polynomial = Polynomial([1.0])
    values = [powers[-1]]
    for m in range(n_rates):
        steeper = Polynomial([0.0, -2.0 * (order - m)]) * polynomial
        polynomial = Polynomial([1.0, 0.0, -1.0]) * polynomial.deriv() + steeper
        values.append(powers[-2 - m] * polynomial(s))
    return values


def _repeat(times: Times, offsets: Offsets) -> bool:
    """Return whether all runs have the same times as the first run."""
    length = int(offsets[1])
    if (np.diff(offsets) != length).any():
        return False
    return bool((times.reshape(-1, length) == times[:length]).all())


def _tiled(windows: Windows, runs: int) -> Windows:
    """Return the windows of one run, repeated for several runs with the same times."""
    phi = windows.mean
    run_index = np.arange(runs)[:, None]
    indices = (phi.indices + run_index * phi.shape[1]).ravel()
    starts = (phi.indptr[:-1] + run_index * phi.nnz).ravel()
    shape = (runs * phi.shape[0], runs * phi.shape[1])
    mean = type(phi)(
        (np.tile(phi.data, runs), indices, np.append(starts, runs * phi.nnz)), shape=shape
    )
    return Windows(
        mean,
        tuple(_with_values(mean, np.tile(weights.data, runs)) for weights in windows.rates),
        np.tile(windows.centres, runs),
        np.repeat(np.arange(runs), len(windows.centres)),
    )


def _centres(
    times: Times, offsets: Offsets, h: float
) -> tuple[Float[np.ndarray, " R"], Int[np.ndarray, " R"]]:
    """Return evenly spaced centres of windows. No window extends beyond its run."""
    centres, runs = [], []
    for r, (first, last) in enumerate(zip(offsets[:-1], offsets[1:], strict=True)):
        low, high = times[first] + h, times[last - 1] - h
        if last - first < limits.MIN_WINDOW_SAMPLES or high < low - 1e-9 * h:
            continue
        count = 1 + max(int(np.floor((high - low) / (h / limits.WINDOWS_PER_HALF_WIDTH) + 1e-9)), 0)
        centres.append(np.linspace(low, max(high, low), count) if count > 1 else [low])
        runs += [r] * count
    if not centres:
        return np.zeros(0), np.zeros(0, dtype=np.int64)
    return np.concatenate(centres), np.array(runs)


def _trapezoid(times: Times, offsets: Offsets) -> tuple[np.ndarray, np.ndarray, None]:
    """Return the samples as points, each weighted by the mean of its adjacent steps."""
    steps = np.diff(times)
    steps[offsets[1:-1] - 1] = 0.0
    weights = np.zeros(len(times))
    weights[:-1] += steps / 2
    weights[1:] += steps / 2
    return times, weights, None


def _gauss(times: Times, offsets: Offsets, count: int) -> tuple[np.ndarray, np.ndarray, Any]:
    """Return Gauss points between samples, and the matrix of the interpolating polynomial.

    The polynomial of a step passes through samples at its two ends and on both sides (`_nodes`).
    Each sample has the same number of points; the points of the last sample of a run have weight
    zero.
    """
    import scipy.sparse as sparse

    last = np.repeat(offsets[1:], np.diff(offsets)) - 1
    first = np.repeat(offsets[:-1], np.diff(offsets))
    index = np.arange(len(times))
    following = np.minimum(index + 1, last)
    width = times[following] - times[index]
    nodes, share = np.polynomial.legendre.leggauss(limits.GAUSS_POINTS)
    points = times[index, None] + width[:, None] * (nodes + 1) / 2
    weights = width[:, None] * share / 2
    start = np.clip(index - 1, first, np.maximum(last - count + 1, first))
    start = np.minimum(start, len(times) - count)  # for runs that are too short for a window
    members = start[:, None] + np.arange(count)
    if count == 4:
        bounds = zip(offsets[:-1], offsets[1:], strict=True)
        apart = np.concatenate([_nodes(times[low:high]) for low, high in bounds])
        members = np.where(apart >= 0, first[:, None] + apart, members)
    nodes_times = times[members]
    lagrange = np.ones((len(times), limits.GAUSS_POINTS, count))
    for j in range(count):
        for m in range(count):
            if m != j:
                gap = (nodes_times[:, j] - nodes_times[:, m])[:, None]
                lagrange[:, :, j] *= (points - nodes_times[:, m, None]) / gap
    rows = np.repeat(np.arange(points.size), count)
    columns = np.repeat(members, limits.GAUSS_POINTS, axis=0).ravel()
    matrix = sparse.csr_array((lagrange.ravel(), (rows, columns)), shape=(points.size, len(times)))
    return points.ravel(), weights.ravel(), matrix


def _nodes(times: Times) -> Int[np.ndarray, "N 4"]:
    """Return four samples of a run for each step: its ends, and samples on both sides that are at
    least a quarter of the step away; -1 if there are none.

    A polynomial through samples that are much closer to each other than the step would amplify
    their noise without bound. At the ends of the run, both other samples are on one side.
    """
    count = len(times)
    left = np.arange(count)
    right = np.minimum(left + 1, count - 1)
    distance = limits.NODE_DISTANCE * (times[right] - times[left])
    before = np.searchsorted(times, times[left] - distance, side="right") - 1
    after = np.searchsorted(times, times[right] + distance)
    further_before = np.searchsorted(times, times[before] - distance, side="right") - 1
    further_after = np.searchsorted(times, times[np.minimum(after, count - 1)] + distance)
    nodes = np.stack([before, left, right, after], axis=1)
    is_first, is_last = before < 0, after >= count
    nodes[is_first] = np.stack([left, right, after, further_after], axis=1)[is_first]
    nodes[is_last] = np.stack([further_before, before, left, right], axis=1)[is_last]
    is_complete = ((nodes >= 0) & (nodes < count)).all(axis=1) & (left < right)
    return np.where(is_complete[:, None], nodes, -1)


def _members(
    points: Float[np.ndarray, " P"],
    centres: Float[np.ndarray, " R"],
    h: float,
    run: Int[np.ndarray, " R"],
    offsets: Offsets,
    points_per_sample: int,
) -> tuple[Int[np.ndarray, " E"], Int[np.ndarray, " E"]]:
    """Return (window, point) for each point inside a window."""
    low, high = np.zeros(len(centres), dtype=np.int64), np.zeros(len(centres), dtype=np.int64)
    for r in np.unique(run):
        is_in_run = run == r
        first, last = offsets[r] * points_per_sample, offsets[r + 1] * points_per_sample
        inside = points[first:last]
        low[is_in_run] = first + np.searchsorted(inside, centres[is_in_run] - h)
        high[is_in_run] = first + np.searchsorted(inside, centres[is_in_run] + h, side="right")
    counts = high - low
    rows = np.repeat(np.arange(len(centres)), counts)
    starts = np.repeat(low - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts)
    return rows, np.arange(counts.sum()) + starts


def _exact(
    phi: Any, rates: Sequence[Any], times: np.ndarray, centres: np.ndarray, h: float, run: Any
) -> Windows:
    """Return weights with int phi = 1 that differentiate low polynomials exactly.

    A weight w phi is changed by phi times a cubic. Its four coefficients solve sum_j w_j s_j^k =
    (d/ds)^m s^k averaged over phi, for k = 0 ... 3.
    """
    rows = np.repeat(np.arange(len(centres)), np.diff(phi.indptr))
    share = (1 / np.asarray(phi.sum(axis=1)).ravel())[rows]
    phi = _with_values(phi, phi.data * share)
    s = (times[phi.indices] - centres[rows]) / h
    powers = np.ones((2 * limits.EXACT_POWERS - 1, len(s)))
    for lower, power in zip(powers[:-1], powers[1:], strict=True):
        np.multiply(lower, s, out=power)

    def moments(values: np.ndarray, count: int) -> np.ndarray:
        sums = [np.bincount(rows, values * power, len(centres)) for power in powers[:count]]
        return np.stack(sums, axis=1)

    phi_moments = moments(phi.data, 2 * limits.EXACT_POWERS - 1)
    k = np.arange(limits.EXACT_POWERS)
    gram = phi_moments[:, k[:, None] + k]
    result = []
    for times_differentiated, matrix in enumerate(rates, start=1):
        has_same_places = np.array_equal(matrix.indices, phi.indices)
        values = share * (matrix.data if has_same_places else np.ravel(matrix[rows, phi.indices]))
        wanted = np.zeros((len(centres), limits.EXACT_POWERS))
        for power in range(times_differentiated, limits.EXACT_POWERS):
            factor = np.prod(np.arange(power, power - times_differentiated, -1.0))
            wanted[:, power] = factor * phi_moments[:, power - times_differentiated]
        error = moments(values, limits.EXACT_POWERS) - wanted / h**times_differentiated
        change = np.linalg.solve(gram, error[..., None])[..., 0]
        polynomial = change[rows, limits.EXACT_POWERS - 1]
        for power in range(limits.EXACT_POWERS - 2, -1, -1):
            polynomial *= s
            polynomial += change[rows, power]
        values = values - phi.data * polynomial
        result.append(_with_values(phi, values))
    return Windows(phi, tuple(result), centres, run)


def _with_values(matrix: Any, values: np.ndarray) -> Any:
    """Return a sparse matrix with the same sparsity pattern but other values."""
    return type(matrix)((values, matrix.indices, matrix.indptr), shape=matrix.shape)
