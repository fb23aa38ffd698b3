"""Arrays as short lists of numbers for a page."""

from typing import Any

import numpy as np

_DIGITS = 5


def short(values: Any, digits: int = _DIGITS) -> list[Any]:
    """The numbers of an array with so many significant digits, None where one is not finite.

    >>> short([1.23456789, float("nan"), -0.000123456789])
    [1.2346, None, -0.00012346]
    """
    array = np.asarray(values, dtype=float)
    flat = array.ravel()
    finite = np.isfinite(flat)
    sizes = np.abs(np.where(finite & (flat != 0), flat, 1.0))
    places = digits - 1 - np.floor(np.log10(sizes)).astype(int)
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
    result: list[Any] = []
    for line in lines:
        result += [*short(line[:, place]), None]
    return result[:-1]
