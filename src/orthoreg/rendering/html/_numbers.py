"""Arrays as short lists of numbers for a page."""

from typing import Any

import numpy as np

_DIGITS = 5
_MIDDLE = (0.1, 0.9)  # quantiles between which most numbers lie


def short(values: Any, digits: int = _DIGITS) -> list[Any]:
    """The numbers of an array with so many digits of their range, whatever they are offset by,
    and small ones with one significant digit less; None where one is not finite.

    >>> short([1.23456789, float("nan"), -0.000123456789])
    [1.23457, None, -0.0001235]
    >>> short([1700000000.25, 1700000003.5])
    [1700000000.25, 1700000003.5]
    """
    array = np.asarray(values, dtype=float)
    flat = array.ravel()
    finite = np.isfinite(flat)
    sizes = np.abs(np.where(finite & (flat != 0), flat, 1.0))
    places = np.maximum(digits - 2 - _exponent(sizes), digits - 1 - _exponent(_range(flat[finite])))
    places = np.clip(places, -300, 300)
    up = np.power(10.0, np.abs(places))
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = np.where(places >= 0, np.round(flat * up) / up, np.round(flat / up) * up)
    rounded = np.where(finite & ~np.isfinite(rounded), flat, rounded)
    kept = rounded.astype(object)
    kept[~finite] = None
    return kept.reshape(array.shape).tolist()


def with_gaps(lines: list[np.ndarray], place: int) -> list[Any]:
    """One coordinate of polylines, with None between them."""
    return short([value for line in lines for value in (*line[:, place], np.nan)])[:-1]


def _exponent(sizes: Any) -> Any:
    return np.floor(np.log10(sizes)).astype(int)


def _range(values: np.ndarray) -> float:
    """How far most numbers lie apart, or all; the size of a single one; 1 of none."""
    if not len(values):
        return 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        found = (float(np.ptp(np.quantile(values, _MIDDLE))), float(np.ptp(values)))
    sizes = [*found, float(np.abs(values).max())]
    return next((one for one in sizes if np.isfinite(one) and one > 1e-290), 1.0)
