"""Single rows that neighbours on both sides contradict."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool, Float, Int

_REACH = 3  # rows on each side that predict one
_NEAR = 8  # rows on each side whose surprise is usual there
_FAR = 10.0  # standard deviations
_SHARP = 0.25  # of the distance from lines, that from a cubic at least
_WORST = 0.8  # of the largest surprise nearby
_ROUNDS = 4
_MOST = 0.02  # of the rows; more are no outliers
_FEWEST = 30  # rows of a run that is looked at
_MEDIAN = 0.6745  # of |z| for standard normal z
_AT_ONCE = 65_536  # rows


def outliers(
    times: Float[np.ndarray, " N"],
    values: Float[np.ndarray, "N n"],
    offsets: Int[np.ndarray, " bounds"],
    columns: Bool[np.ndarray, " n"] | None = None,
) -> Bool[np.ndarray, "N n"]:
    """Values far from where lines between rows on both sides say, the median over such lines;
    far in what is usual in all rows and in those nearby, and from cubics too, so that fast motion
    is none. Columns with many are left alone, or all but these `columns`."""
    found = np.zeros(values.shape, dtype=bool)
    for rows in _runs_of_a_length(np.asarray(offsets)):
        found[rows] = _of_runs(times[rows], values[rows])
    few = found.mean(axis=0) <= _MOST if columns is None else columns
    found[:, ~few] = False
    return found


def outlier_columns(
    times: Float[np.ndarray, " N"],
    values: Float[np.ndarray, "N n"],
    offsets: Int[np.ndarray, " bounds"],
) -> Bool[np.ndarray, " n"]:
    """The columns in which so few values are far off that these are outliers."""
    every = np.ones(values.shape[1], dtype=bool)
    return outliers(times, values, offsets, every).mean(axis=0) <= _MOST


def without_outliers(
    times: Float[np.ndarray, " N"],
    values: Float[np.ndarray, "N n"],
    offsets: Int[np.ndarray, " bounds"],
    columns: Bool[np.ndarray, " n"] | None = None,
) -> Float[np.ndarray, "N n"]:
    """The values with outliers replaced by lines between their neighbours."""
    wrong = outliers(times, values, offsets, columns)
    if not wrong.any():
        return values
    result = np.array(values)
    for begin, end in zip(offsets[:-1], offsets[1:], strict=True):
        for c in np.flatnonzero(wrong[begin:end].any(axis=0)):
            bad = wrong[begin:end, c]
            t = times[begin:end]
            result[begin:end, c][bad] = np.interp(t[bad], t[~bad], values[begin:end, c][~bad])
    return result


def _runs_of_a_length(offsets: Int[np.ndarray, " bounds"]) -> Iterator[Int[np.ndarray, "R L"]]:
    """The rows of runs that are looked at, those of one length together, not too many at once."""
    lengths = np.diff(offsets)
    for length in np.unique(lengths[lengths >= _FEWEST]).tolist():
        starts = offsets[:-1][lengths == length]
        each = max(_AT_ONCE // length, 1)
        for i in range(0, len(starts), each):
            yield starts[i : i + each, None] + np.arange(length)


def _of_runs(
    times: Float[np.ndarray, "R L"], values: Float[np.ndarray, "R L n"]
) -> Bool[np.ndarray, "R L n"]:
    """The worst rows first: what they did to their neighbours is seen once they are mended."""
    found, mended = np.zeros(values.shape, dtype=bool), np.array(values)
    for _ in range(_ROUNDS):
        apart, between = _surprise(times, mended)
        inner = apart[:, _REACH:-_REACH]
        nearby = np.zeros_like(apart)
        nearby[:, _REACH:-_REACH] = _in_the_middle(inner, _NEAR)
        usual = np.maximum(_usual(inner), nearby)
        far = apart > _FAR / _MEDIAN * np.maximum(usual, 1e-300)
        if not far.any():
            break
        far &= _cubic_surprise(times, mended) > _SHARP * apart
        worst = far & (apart > _WORST * _largest(apart, _REACH))
        worst &= np.ptp(values, axis=1, keepdims=True) > 0
        if not worst.any():
            break
        found |= worst
        mended = np.where(worst, between, mended)
    return found


def _usual(apart: Float[np.ndarray, "R L n"]) -> Float[np.ndarray, "R 1 n"]:
    """The median surprise of each run and column, of the rows that are surprised at all: rounded
    values that rest are not, and one step of rounding is no outlier."""
    ordered = np.sort(apart, axis=1)
    length, resting = apart.shape[1], (apart <= 0).sum(axis=1, keepdims=True)
    middle = resting + length - 1  # twice the place of the median of the others
    below = np.take_along_axis(ordered, np.minimum(middle // 2, length - 1), axis=1)
    above = np.take_along_axis(ordered, np.minimum((middle + 1) // 2, length - 1), axis=1)
    return (below + above) / 2


def _surprise(
    times: Float[np.ndarray, "R L"], values: Float[np.ndarray, "R L n"]
) -> tuple[Float[np.ndarray, "R L n"], Float[np.ndarray, "R L n"]]:
    """How far each value is from the median of the lines over it, and that median; zero at the
    ends."""
    inner = slice(_REACH, times.shape[1] - _REACH)
    count = times.shape[1] - 2 * _REACH
    lines = []
    for before in range(1, _REACH + 1):
        for after in range(1, _REACH + 1):
            left = slice(_REACH - before, _REACH - before + count)
            right = slice(_REACH + after, _REACH + after + count)
            share = (times[:, inner] - times[:, left]) / (times[:, right] - times[:, left])
            lines.append(values[:, left] + share[..., None] * (values[:, right] - values[:, left]))
    between = np.array(values)
    middle = len(lines) // 2  # of an odd number
    between[:, inner] = np.partition(np.array(lines), middle, axis=0)[middle]
    return np.abs(values - between), between


def _cubic_surprise(
    times: Float[np.ndarray, "R L"], values: Float[np.ndarray, "R L n"]
) -> Float[np.ndarray, "R L n"]:
    """How far each value is from the cubic through two rows on each side, zero at the ends: little
    at a peak that several rows resolve."""
    count = times.shape[1] - 4
    near = [slice(i, i + count) for i in (0, 1, 3, 4)]
    here = times[:, 2:-2]
    between = np.zeros_like(values[:, 2:-2])
    for one in near:
        weight = np.ones_like(here)
        for other in near:
            if other is not one:
                weight *= (here - times[:, other]) / (times[:, one] - times[:, other])
        between += weight[..., None] * values[:, one]
    found = np.zeros_like(values)
    found[:, 2:-2] = np.abs(values[:, 2:-2] - between)
    return found


def _in_the_middle(values: Float[np.ndarray, "R L n"], reach: int) -> Float[np.ndarray, "R L n"]:
    from scipy.ndimage import median_filter

    return median_filter(values, size=(1, 2 * reach + 1, 1), mode="reflect")


def _largest(values: Float[np.ndarray, "R L n"], reach: int) -> Float[np.ndarray, "R L n"]:
    from scipy.ndimage import maximum_filter

    return maximum_filter(values, size=(1, 2 * reach + 1, 1), mode="nearest")
