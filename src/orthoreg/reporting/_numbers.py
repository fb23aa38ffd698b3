"""Arrays as short lists of numbers for a page."""

from typing import Any

import numpy as np

_DIGITS = 5
_MIDDLE = (0.1, 0.9)  # quantiles between which most numbers lie


def short(values: Any, digits: int = _DIGITS) -> list[Any]:
    """The numbers of an array, rounded to so many digits of the range of most of them, whatever
    they are offset by; None where one is not finite.

    >>> short([1.23456789, float("nan"), -0.000123456789])
    [1.23457, None, -0.00012]
    >>> short([1700000000.25, 1700000003.5])
    [1700000000.25, 1700000003.5]
    """
    array = np.asarray(values, dtype=float)
    flat = array.ravel()
    known = flat[np.isfinite(flat)]
    places = digits - 1 - int(np.floor(np.log10(_range(known))))
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = np.round(flat, int(np.clip(places, -300, 300)))
    rounded = np.where(np.isfinite(rounded), rounded, flat) + 0.0  # no negative zeros
    kept = rounded.astype(object)
    kept[~np.isfinite(flat)] = None
    return kept.reshape(array.shape).tolist()


def with_gaps(lines: list[np.ndarray], place: int) -> list[Any]:
    """One coordinate of polylines, with None between them."""
    return short([value for line in lines for value in (*line[:, place], np.nan)])[:-1]


def _range(values: np.ndarray) -> float:
    """How far most numbers lie apart, or all; the size of a single one; 1 of none."""
    if not len(values):
        return 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        found = (float(np.ptp(np.quantile(values, _MIDDLE))), float(np.ptp(values)))
    sizes = [*found, float(np.abs(values).max())]
    return next((one for one in sizes if np.isfinite(one) and one > 1e-290), 1.0)
