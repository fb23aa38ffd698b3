"""Convert chart data to the JSON of a page: short numbers, None for undefined values."""

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from ..._common.notation import left_side
from ...export import unicode_formula
from ...findings import Findings
from ...findings.charts import Label, Portrait, ReportData
from .._flow import arrowheads, streamlines

_CHARTS = ("forecasts", "phase", "residual", "paths", "diagnostics")
_DIGITS = 5
_FEWER_DIGITS = {
    ("PathStep", "forecast"): 4, ("Against", "y"): 4, ("Against", "means"): 4,
    ("Against", "errors"): 4, ("Diagnostics", "correlation"): 3,
}  # fmt: skip
_MAP_DIGITS = 3  # digits of values on a grid
_CENTRAL_QUANTILES = (0.1, 0.9)
_ASPECT = 1.5  # width of a phase portrait over its height
_LINE_POINTS = 40  # of a streamline


def payload(data: ReportData) -> dict[str, Any]:
    """Return the charts of a report as dictionaries, lists, numbers and text."""
    charts = {name: plain_chart(getattr(data, name)) for name in _CHARTS}
    return charts | {"coefficients": _coefficients(data.summary)}


def plain_chart(value: Any, digits: int = _DIGITS) -> Any:
    """Return chart data as dictionaries, lists, numbers and text."""
    if isinstance(value, Label):
        return str(value)
    if isinstance(value, Portrait):
        return _portrait(value)
    if is_dataclass(value):
        kind = type(value).__name__
        return {
            field.name: plain_chart(
                getattr(value, field.name), _FEWER_DIGITS.get((kind, field.name), _DIGITS)
            )
            for field in fields(value)
        }
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "iu":
            return value.tolist()
        return short(value, digits if value.ndim < 2 else _MAP_DIGITS)
    if isinstance(value, tuple | list):
        return [plain_chart(item, digits) for item in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _coefficients(findings: Findings) -> list[dict[str, Any]]:
    """Return the terms of each equation, with intervals of the terms in use."""
    result = []
    for equation in dict.fromkeys(row.equation for row in findings.shown_terms):
        rows = [row for row in findings.shown_terms if row.equation == equation]
        result.append({
            "equation": left_side(equation),
            "labels": [unicode_formula(row.term) for row in rows],
            "values": [row.coefficient for row in rows],
            "low": plain_chart([row.low if row.coefficient else None for row in rows]),
            "high": plain_chart([row.high if row.coefficient else None for row in rows]),
            "share": [row.share for row in rows],
            "used": [bool(row.coefficient) for row in rows],
        })  # fmt: skip
    return result


def _portrait(portrait: Portrait) -> dict[str, Any]:
    """Return a portrait with its flows as polylines with gaps."""
    low, high = portrait.low, portrait.high

    def flow(velocity: np.ndarray | None) -> dict[str, Any] | None:
        if velocity is None:
            return None
        lines = streamlines(velocity)
        heads = arrowheads(lines, _ASPECT)
        thin = [low + line[:: max(len(line) // _LINE_POINTS, 1)] * (high - low) for line in lines]
        closed = [low + np.concatenate([head, head[:1]]) * (high - low) for head in heads]
        return {
            "x": _with_gaps(thin, 0), "y": _with_gaps(thin, 1),
            "heads_x": _with_gaps(closed, 0), "heads_y": _with_gaps(closed, 1),
        }  # fmt: skip

    return {
        "x_label": str(portrait.x_label),
        "y_label": str(portrait.y_label),
        "x_range": short([low[0], high[0]]),
        "y_range": short([low[1], high[1]]),
        "whole": flow(portrait.flow),
        "equations": flow(portrait.equations),
        "network": flow(portrait.network),
        "runs_x": _with_gaps(portrait.runs, 0),
        "runs_y": _with_gaps(portrait.runs, 1),
        "starts_x": short(portrait.starts[:, 0]),
        "starts_y": short(portrait.starts[:, 1]),
        "rests_x": short(portrait.equilibria[:, 0]),
        "rests_y": short(portrait.equilibria[:, 1]),
        "rests_kind": list(portrait.kinds),
        "rests_symbol": ["circle" if stable else "circle-open" for stable in portrait.is_stable],
    }


def short(values: Any, digits: int = _DIGITS) -> list[Any]:
    """Return the numbers of an array with `digits` digits of their range, regardless of their
    offset.

    Small numbers have one significant digit less, and numbers that are not finite become None.

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
    result = rounded.astype(object)
    result[~finite] = None
    return result.reshape(array.shape).tolist()


def _with_gaps(lines: Sequence[np.ndarray], coordinate: int) -> list[Any]:
    """Return one coordinate of polylines, with None between the lines."""
    return short([value for line in lines for value in (*line[:, coordinate], np.nan)])[:-1]


def _exponent(sizes: Any) -> Any:
    return np.floor(np.log10(sizes)).astype(int)


def _range(values: np.ndarray) -> float:
    """Return the range of most numbers, or of all numbers if that is zero.

    For a single number, return its size, and without numbers return 1.
    """
    if not len(values):
        return 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        ranges = [float(np.ptp(np.quantile(values, _CENTRAL_QUANTILES))), float(np.ptp(values))]
    sizes = [*ranges, float(np.abs(values).max())]
    return next((size for size in sizes if np.isfinite(size) and size > 1e-290), 1.0)
