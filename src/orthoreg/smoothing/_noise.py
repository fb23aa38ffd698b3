"""Noise and outliers of samples.

A value, or two in a row, is an outlier if a polynomial through the rows around it predicts these
rows well and the value badly: its externally studentised residual exceeds a quantile of Student's
t, and the prediction errors of the neighbours are small. Motion fails this test, because a peak or
a jump is visible in the neighbours too. A value is also motion if an input jumps or another state
moves there.
"""

from typing import NamedTuple, final

import numpy as np
from jaxtyping import Bool, Float, Int

from . import _limits as limits
from ._polynomial import Offsets, Times, Values, have_equal_steps

_TINY = 1e-300
_BATCH = 20_000  # local fits that are held in memory


# -- noise -------------------------------------------------------------------------------------


def estimate_noise(
    times: Times, values: Values, offsets: Offsets
) -> tuple[Float[np.ndarray, " n"], Bool[np.ndarray, " n"]]:
    """Return the standard deviation of each column's noise, and whether it is noise, not motion.

    The difference of order k, sum_j w_j x_j with weights of unit norm proportional to 1 / prod_m
    (t_j - t_m), has the standard deviation of the noise and annihilates polynomials below degree k.
    With increasing order, differences of smooth motion shrink and differences of noise do not.
    """
    equal = bool(have_equal_steps(times, offsets, limits.EQUAL_STEPS).all())
    levels = [
        _difference_level(times, values, offsets, order, equal)
        for order in limits.DIFFERENCE_ORDERS
    ]
    available = [level for level in levels if level is not None]
    if not available:
        return np.zeros(values.shape[1]), np.zeros(values.shape[1], dtype=bool)
    levels = np.array(available)
    # the lowest order without motion has the smallest statistical error
    first = np.argmax(levels <= limits.EQUAL_LEVELS * levels.min(axis=0), axis=0)
    level = levels[first, np.arange(values.shape[1])]
    if len(available) < limits.MIN_ORDERS:
        return level, np.zeros(values.shape[1], dtype=bool)
    rounding = limits.ROUNDING_NOISE * np.abs(values).max(axis=0)
    is_noise = levels[-1] > np.maximum(limits.NOISE_PLATEAU * levels[-3], rounding)
    steps = np.array([resolution(column) for column in values.T]) / np.sqrt(12)
    # neighbouring values are often rounded alike, so that their differences do not show the error;
    # values without any error are on a grid only if they are polynomials of time
    is_rounded = (steps > level) & (level > limits.EXACT_LEVEL * steps)
    return np.where(is_rounded, steps, level), is_noise | is_rounded


def resolution(values: Float[np.ndarray, " N"]) -> float:
    """Return the step of the grid on which all values are, such as 0.01 for two decimals, or 0 if
    there is none. Values on a few levels are switched, not rounded."""
    levels = np.unique(values)
    if len(levels) < limits.MIN_GRID_LEVELS:
        return 0.0
    gaps, extent = np.diff(levels), float(levels[-1] - levels[0])
    step = extent / max(round(extent / float(gaps.min())), 1)
    if limits.GRID_TOLERANCE * step <= np.finfo(float).eps * float(np.abs(levels).max()):
        return 0.0
    offset = (levels - levels[0]) / step
    is_on_grid = np.abs(offset - np.round(offset)).max() <= limits.GRID_TOLERANCE
    return step if is_on_grid else 0.0


def _difference_level(
    times: Times, values: Values, offsets: Offsets, order: int, equal: bool
) -> Float[np.ndarray, " n"] | None:
    """Return the noise level from the median difference of an order, or None if there are few
    samples.

    With equal time steps all windows have the same weights.
    """
    last = np.repeat(offsets[1:], np.diff(offsets))
    starts = np.flatnonzero(np.arange(len(times)) + order < last)
    if len(starts) < limits.MIN_DIFFERENCES:
        return None
    starts = starts[np.unique(np.linspace(0, len(starts) - 1, limits.MAX_DIFFERENCES).astype(int))]
    members = starts[:, None] + np.arange(order + 1)
    inside = times[members[:1] if equal else members]
    inside = (inside - inside[:, :1]) / (inside[:, -1:] - inside[:, :1])
    gaps = inside[:, :, None] - inside[:, None, :] + np.eye(order + 1)
    weights = 1 / gaps.prod(axis=2)
    weights /= np.linalg.norm(weights, axis=1, keepdims=True)
    sampled = values[members]
    sizes = np.abs(np.einsum("bw,bwn->bn", weights, sampled))
    moving = (sampled != sampled[:, :1]).any(axis=1)  # constant samples do not show noise
    medians = [
        np.median(size[is_moving]) if is_moving.any() else 0.0
        for size, is_moving in zip(sizes.T, moving.T, strict=True)
    ]
    return np.array(medians) / limits.NORMAL_MEDIAN


def estimate_noise_growth(
    states: Values, smoothed: Float[np.ndarray, "N n"]
) -> Float[np.ndarray, " n"]:
    """Return the share g of each state's noise variance that grows with the square of the state.

    The variance is sigma^2 (1 - g + g x^2 / mean(x^2)); g is zero without clear evidence. Rows are
    grouped by the size of the state. The noise of a group is the median residual of smoothing,
    which is robust to a few outliers.
    """
    result = np.zeros(states.shape[1])
    for c, residual in enumerate((states - smoothed).T):
        order = np.argsort(np.abs(smoothed[:, c]))
        groups = np.array_split(order, min(limits.GROWTH_GROUPS, len(order)))
        levels = np.array(
            [np.median(np.abs(residual[rows])) / limits.NORMAL_MEDIAN for rows in groups]
        )
        if len(groups) < 2 or not (levels > 0).all():
            continue
        count = np.array([len(rows) for rows in groups])
        # rows of a group are sorted by variance, so the middle rows have the median
        middle = [rows[k // 2] for rows in groups for k in (len(rows) - 1, len(rows))]
        sizes = np.repeat(smoothed[middle, c][:, None], len(limits.GROWTH_SHARES), axis=1)
        mean = np.full(len(limits.GROWTH_SHARES), np.mean(smoothed[:, c] ** 2))
        relative = (
            relative_variance(sizes, limits.GROWTH_SHARES, mean)
            .reshape(len(groups), 2, -1)
            .mean(axis=1)
        )
        difference = 2 * np.log(levels)[:, None] - np.log(relative)
        difference -= np.average(difference, axis=0, weights=count)
        values = (count[:, None] * difference**2).sum(axis=0) / limits.LOG_VARIANCE
        best = int(np.argmin(values))
        if values[best] < values[0] - limits.GROWTH_EVIDENCE:
            result[c] = limits.GROWTH_SHARES[best]
    return result


def relative_variance(
    smoothed: Float[np.ndarray, "N n"],
    growth: Float[np.ndarray, " n"],
    mean_square: Float[np.ndarray, " n"] | None = None,
) -> Values:
    """Return 1 - g + g x^2 / mean(x^2) for each value, by default with the mean over these
    values."""
    squares = smoothed**2
    mean = np.maximum(squares.mean(axis=0) if mean_square is None else mean_square, 1e-300)
    return np.maximum(1 - growth + growth * squares / mean, limits.MIN_RELATIVE_VARIANCE)


# -- outliers ----------------------------------------------------------------------------------


@final
class _Blocks(NamedTuple):
    """Candidate outliers: block i is rows `first[i]:first[i] + length[i]` of a column."""

    first: Int[np.ndarray, " B"]
    length: Int[np.ndarray, " B"]

    def only(self, chosen: Bool[np.ndarray, " B"] | Int[np.ndarray, " b"]) -> "_Blocks":
        return _Blocks(self.first[chosen], self.length[chosen])


@final
class _Table(NamedTuple):
    """Columns of measurements, with first row and end of the run of each row."""

    times: Float[np.ndarray, " N"]
    values: Float[np.ndarray, "N n"]
    start_row: Int[np.ndarray, " N"]
    end_row: Int[np.ndarray, " N"]


@final
class Outliers(NamedTuple):
    """The outliers of a table.

    `repaired` contains the values with outliers replaced by local polynomials, and `columns` marks
    the columns in which outliers are rare.
    """

    is_outlier: Bool[np.ndarray, "N n"]
    repaired: Float[np.ndarray, "N n"]
    columns: Bool[np.ndarray, " n"]


def find_outliers(
    times: Times,
    values: Values,
    offsets: Offsets,
    columns: Bool[np.ndarray, " n"] | None = None,
    inputs: Float[np.ndarray, "N q"] | None = None,
) -> Outliers:
    """Return the outliers in all columns, or only in `columns`.

    Without `columns`, a column with many outliers is treated as having none, because they are part
    of its motion. Values next to a jump of an input are motion.
    """
    offsets = np.asarray(offsets)
    lengths = np.diff(offsets)
    is_outlier, repaired = np.zeros(values.shape, dtype=bool), np.array(values)
    table = _Table(
        times, repaired, np.repeat(offsets[:-1], lengths), np.repeat(offsets[1:], lengths)
    )
    searched = np.repeat(lengths >= limits.OUTLIER_MIN_ROWS, lengths)
    if inputs is not None and inputs.shape[1] and len(inputs):
        searched = searched & ~_next_to_jumps(inputs, table)
    chosen = np.arange(values.shape[1]) if columns is None else np.flatnonzero(columns)
    for _ in range(limits.OUTLIER_ROUNDS if searched.any() else 0):
        if not _search_once(table, chosen, searched, is_outlier):
            break
    if columns is not None:
        return Outliers(is_outlier, repaired, columns)
    moving = is_outlier.sum(axis=0) > limits.OUTLIER_MAX_SHARE * len(is_outlier)
    is_outlier[:, moving], repaired[:, moving] = False, values[:, moving]
    return Outliers(is_outlier, repaired, np.logical_not(moving))


def _search_once(
    table: _Table,
    columns: Int[np.ndarray, " k"],
    searched: Bool[np.ndarray, " N"],
    is_outlier: Bool[np.ndarray, "N n"],
) -> bool:
    """Mark outliers in `is_outlier` and replace them in the table. Return whether there are any."""
    quantile = _quantiles(np.array([10**9]), table.values.size)
    noise = np.zeros(table.values.shape[1])
    suspects: dict[int, tuple[_Blocks, Float[np.ndarray, "B 2"]]] = {}
    for c in columns.tolist():
        distance = _median_distance(table.values[:, c], table)
        noise[c] = _noise_level(table.values[:, c], distance, table)
        candidate = searched & (distance > quantile * noise[c])
        if candidate.any():
            candidate &= distance > limits.OUTLIER_DOMINANCE * _neighbourhood_max(distance, 2)
            blocks = _blocks(candidate, table)
            is_candidate, between = _test_blocks(table, c, blocks, float(noise[c]))
            if is_candidate.any():
                suspects[c] = blocks.only(is_candidate), between[is_candidate]
    rows = {
        c: _rows_outside(suspects[c][0] if c in suspects else None, table) for c in columns.tolist()
    }
    outlier_blocks = {
        c: ~_other_column_moves(table, c, *suspects[c], rows, noise) for c in suspects
    }
    for c, is_candidate in outlier_blocks.items():
        blocks, between = suspects[c][0].only(is_candidate), suspects[c][1][is_candidate]
        for offset in range(limits.OUTLIER_MAX_ROWS):
            longer = blocks.length > offset
            is_outlier[blocks.first[longer] + offset, c] = True
            table.values[blocks.first[longer] + offset, c] = between[longer, offset]
    return any(is_candidate.any() for is_candidate in outlier_blocks.values())


def _test_blocks(
    table: _Table, column: int, blocks: _Blocks, noise: float
) -> tuple[Bool[np.ndarray, " B"], Float[np.ndarray, "B 2"]]:
    """Return a mask of the blocks that are outliers, and values to replace them."""
    rows = _rows_outside(blocks, table)
    is_outlier = np.zeros(len(blocks.first), dtype=bool)
    between = np.zeros((len(is_outlier), limits.OUTLIER_MAX_ROWS))
    for window in limits.OUTLIER_WINDOWS:  # widest first, because more rows predict better
        undecided = np.flatnonzero(~is_outlier)
        for batch in np.array_split(undecided, len(undecided) // _BATCH + 1):
            if not len(batch):
                continue
            batch_blocks = blocks.only(batch)
            fits = _local_fits(table, column, batch_blocks, rows, window)
            block_rows = np.minimum(
                batch_blocks.first[:, None] + np.arange(limits.OUTLIER_MAX_ROWS),
                len(table.times) - 1,
            )
            distance = np.abs(table.values[block_rows, column] - fits.between)
            distance[batch_blocks.length == 1, 1] = np.inf
            inflation = np.where(
                batch_blocks.length[:, None] == 1, fits.inflation[:, :1], fits.inflation
            )
            scale = np.maximum(fits.sigma, noise)
            freedom = np.where(fits.freedom > 0, fits.freedom + limits.OUTLIER_PRIOR, 0)
            threshold = _quantiles(freedom, table.values.size) * scale
            is_outlying = (distance > threshold[:, None] * inflation).all(axis=1)
            is_outlying &= (distance > limits.OUTLIER_CONTRAST * fits.next_to[:, None]).all(axis=1)
            is_outlier[batch], between[batch] = is_outlying, fits.between
    return is_outlier, between


def _quantiles(freedom: Int[np.ndarray, " B"], values: int) -> Float[np.ndarray, " B"]:
    """Return, by degrees of freedom, the threshold that the largest of some values rarely exceeds.

    The threshold is in units of Student's t, with a rate of exceedance of `limits.FALSE_OUTLIERS`.
    """
    from scipy.special import stdtrit

    tail = limits.FALSE_OUTLIERS / (2 * len(limits.OUTLIER_WINDOWS) * max(values, 1))
    kinds, kind_of_value = np.unique(freedom, return_inverse=True)
    sizes = np.array([-stdtrit(kind, tail) if kind > 0 else np.inf for kind in kinds])
    return sizes[kind_of_value]


def _other_column_moves(
    table: _Table,
    column: int,
    blocks: _Blocks,
    between: Float[np.ndarray, "B 2"],
    rows: dict[int, Int[np.ndarray, " G"]],
    noise: Float[np.ndarray, " n"],
) -> Bool[np.ndarray, " B"]:
    """Return a mask of the blocks at which another column moves.

    Rows of that column around the block are then poorly predicted.

    Only its reliable `rows` count, so that a simultaneous fault of all sensors is not taken for
    motion.
    """
    moving = np.zeros(len(blocks.first), dtype=bool)
    std = table.values.std(axis=0)
    size = np.abs(table.values[blocks.first, column] - between[:, 0]) / std[column]
    for other, reliable in rows.items():
        if other != column and std[other] > 0:
            fits = _local_fits(table, other, blocks, reliable, limits.OUTLIER_WINDOWS[-1])
            threshold = np.maximum(
                limits.EVENT_NOISE * noise[other], limits.EVENT_SHARE * size * std[other]
            )
            moving |= fits.sigma > threshold
    return moving


def _next_to_jumps(inputs: Float[np.ndarray, "N q"], table: _Table) -> Bool[np.ndarray, " N"]:
    """Return a mask of the rows next to a jump of an input. Derivatives have two values there."""
    inner = table.start_row[1:] == table.start_row[:-1]
    steps = np.where(inner[:, None], np.abs(np.diff(inputs, axis=0)), 0.0)
    jump = np.any(steps > limits.INPUT_JUMP * np.median(steps, axis=0), axis=1)
    result = np.zeros(len(inputs), dtype=bool)
    result[:-1] |= jump
    result[1:] |= jump
    result[2:] |= jump[:-1]  # the response may follow one row later
    return result


def _rows_outside(blocks: _Blocks | None, table: _Table) -> Int[np.ndarray, " G"]:
    """Return the rows outside all blocks."""
    outside = np.ones(len(table.times), dtype=bool)
    if blocks is not None:
        outside[blocks.first] = False
        outside[blocks.first[blocks.length > 1] + 1] = False
    return np.flatnonzero(outside)


def _neighbourhood_max(values: Float[np.ndarray, " N"], reach: int) -> Float[np.ndarray, " N"]:
    result = np.array(values)
    for shift in range(1, reach + 1):
        np.maximum(result[shift:], values[:-shift], out=result[shift:])
        np.maximum(result[:-shift], values[shift:], out=result[:-shift])
    return result


def _median_distance(values: Float[np.ndarray, " N"], table: _Table) -> Float[np.ndarray, " N"]:
    """Return the distance of each value from the median of five values, or zero at the ends of
    runs.
    """
    distance = np.zeros_like(values)
    if len(values) < 5:
        return distance
    a, b, e, c, d = (values[i : len(values) - 4 + i] for i in range(5))
    low = np.maximum(np.minimum(a, b), np.minimum(c, d))
    high = np.minimum(np.maximum(a, b), np.maximum(c, d))
    low, high = np.minimum(low, high), np.maximum(low, high)
    distance[2:-2] = np.abs(e - np.maximum(low, np.minimum(high, e)))
    rows = np.arange(len(values))
    distance[
        (rows < table.start_row + limits.OUTLIER_MIN_SIDE)
        | (rows >= table.end_row - limits.OUTLIER_MIN_SIDE)
    ] = 0
    return distance


def _noise_level(
    values: Float[np.ndarray, " N"], distance: Float[np.ndarray, " N"], table: _Table
) -> float:
    """Return the standard deviation of normal noise with this median distance or median step.

    The smaller of the two estimates is used, because distances of monotone motion are zero except
    next to outliers. Zeros do not count, because constant values show no noise; rounding steps
    count as noise.
    """
    steps = np.abs(np.diff(values))[table.start_row[1:] == table.start_row[:-1]]
    levels = [
        float(np.median(sizes[sizes > 0])) / normal
        for sizes, normal in ((distance, limits.MEDIAN_DISTANCE), (steps, limits.MEDIAN_STEP))
        if (sizes > 0).any()
    ]
    return min(levels, default=0.0)


def _blocks(candidate: Bool[np.ndarray, " N"], table: _Table) -> _Blocks:
    """Return the candidates of one or two rows. Longer candidates are motion."""
    rows = np.flatnonzero(candidate)
    same_block = (np.diff(rows) == 1) & (table.start_row[rows[1:]] == table.start_row[rows[:-1]])
    starts = np.flatnonzero(np.r_[np.ones(len(rows[:1]), dtype=bool), ~same_block])
    lengths = np.diff(np.r_[starts, len(rows)])
    blocks = _Blocks(rows[starts], lengths)
    return blocks.only(lengths <= limits.OUTLIER_MAX_ROWS)


@final
class _LocalFits(NamedTuple):
    """Polynomials through the rows around each block."""

    between: Float[np.ndarray, "B 2"]  # predictions for the rows of the block
    inflation: Float[np.ndarray, "B 2"]  # standard errors of the predictions, in units of `sigma`
    sigma: Float[np.ndarray, " B"]
    freedom: Int[np.ndarray, " B"]
    next_to: Float[np.ndarray, " B"]  # largest prediction error of the two neighbouring rows


def _local_fits(
    table: _Table,
    column: int,
    blocks: _Blocks,
    rows: Int[np.ndarray, " G"],
    window: tuple[int, int],
) -> _LocalFits:
    """Fit a polynomial to the nearest of these `rows` on each side of each block."""
    reach, degree = window
    position = np.searchsorted(rows, blocks.first)[:, None]
    steps = np.arange(-reach, reach)
    index = rows[np.clip(position + steps, 0, len(rows) - 1)]
    inside = (position + steps >= 0) & (position + steps < len(rows))
    inside &= (index >= table.start_row[blocks.first][:, None]) & (
        index < table.end_row[blocks.first][:, None]
    )
    block_rows = np.minimum(
        blocks.first[:, None] + np.arange(limits.OUTLIER_MAX_ROWS), len(table.times) - 1
    )
    middle = table.times[blocks.first][:, None]
    width = np.max(np.abs(table.times[index] - middle) * inside, axis=1, keepdims=True)
    width = np.maximum(width, _TINY)
    powers = np.arange(degree + 1)
    basis = ((table.times[index] - middle) / width)[..., None] ** powers * inside[..., None]
    # of a neighbour, because a value in the block may be 1e30
    level = table.values[index[:, reach], column]
    centred = np.where(inside, table.values[index, column] - level[:, None], 0.0)
    q, r = np.linalg.qr(basis)
    ok = np.abs(np.einsum("bii->bi", r)).min(axis=1) > 1e-12
    r = np.where(ok[:, None, None], r, np.eye(degree + 1))
    moments = np.einsum("bwk,bw->bk", q, centred)
    leverage = np.minimum(np.einsum("bwk,bwk->bw", q, q), 1 - 1e-9)
    error = centred - np.einsum("bwk,bk->bw", q, moments)
    freedom = np.where(ok, inside.sum(axis=1) - degree - 1, 0)
    sigma = np.sqrt(np.einsum("bw,bw->b", error, error) / np.maximum(freedom, 1))
    block_basis = (((table.times[block_rows] - middle) / width)[..., None] ** powers).transpose(
        0, 2, 1
    )
    weights = np.linalg.solve(r.transpose(0, 2, 1), block_basis)
    between = level[:, None] + np.einsum("bkl,bk->bl", weights, moments)
    inflation = np.sqrt(1 + np.einsum("bkl,bkl->bl", weights, weights))
    predicted = np.abs(error / (1 - leverage))[:, reach - 1 : reach + 1]
    sides = inside.reshape(len(inside), 2, reach).sum(axis=2).min(axis=1) >= limits.OUTLIER_MIN_SIDE
    return _LocalFits(between, inflation, sigma, np.where(sides, freedom, 0), predicted.max(axis=1))
