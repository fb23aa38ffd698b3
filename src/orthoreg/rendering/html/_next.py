"""The section on what to measure next: the reason, runs with their expected course, a command."""

import math
from collections.abc import Sequence

from ..._common.html import escape
from ...export import typeset_sentence
from ...findings._findings import NextRuns, PlannedRun
from ...findings.charts import ReportData
from ._pieces import copy_button, legend, quiet, table

_WIDTH, _PANEL, _GAP, _LEFT, _BOTTOM = 440.0, 74.0, 22.0, 52.0, 26.0  # of a drawing, in its units
_MOST_CURVES = 6  # of a drawing


def next_section(data: ReportData) -> str:
    """Return the section, '' if nothing suggests an experiment."""
    planned = data.summary.next_runs
    if planned is None:
        return ""
    cards = "".join(
        f'<div class="card"><h3>Run {i}</h3><p>{typeset_sentence(run.text, data.names)}</p>'
        f"{_drawing(planned, run)}</div>"
        for i, run in enumerate(planned.runs, start=1)
    )
    keys = [
        ("forecast", "line", "expected states and planned inputs"),
        ("band", "area", "range in the training data"),
    ]
    widths = ""
    if planned.widths:
        rows = [(name, f"{100 * width:.0f}%") for name, width in planned.widths]
        widths = "<h3>Expected widths of intervals, relative to now</h3>" + table(
            ("constant", "width"), rows
        )
    return (
        f"<h2>What to measure next</h2><p>{typeset_sentence(planned.reason, data.names)}</p>"
        f'{legend(keys)}<div class="grid">{cards}</div>{widths}'
        f"<h3>Plan such runs within your own limits</h3><pre>{escape(planned.command)}</pre>"
        f"{copy_button(planned.command, 'Copy command')}{quiet(planned.assumption)}"
    )


def _drawing(planned: NextRuns, run: PlannedRun) -> str:
    """Return the expected course of a run as small charts above each other."""
    count = min(len(planned.names), _MOST_CURVES)
    height = count * (_PANEL + _GAP) + _BOTTOM
    end = run.times[-1] or 1.0
    parts = []
    for j in range(count):
        top, band = j * (_PANEL + _GAP) + _GAP, planned.ranges[j]
        values = [value for other in planned.runs for value in other.curves[j]] + list(band)
        parts.append(_panel(planned.names[j], run.times, run.curves[j], band, values, top, end))
    bottom = height - _BOTTOM + 4
    parts += [
        _text(_LEFT, bottom + 12, "0", "start"),
        _text((_LEFT + _WIDTH) / 2, bottom + 12, "time", "middle"),
        _text(_WIDTH, bottom + 12, f"{end:g}", "end"),
    ]
    label = f"Expected course of {', '.join(planned.names[:count])} over time"
    return (
        f'<svg class="course" viewBox="0 0 {_WIDTH:g} {height:g}" role="img" '
        f'aria-label="{escape(label)}">{"".join(parts)}</svg>'
    )


def _panel(
    name: str,
    times: Sequence[float],
    curve: Sequence[float],
    band: tuple[float, float],
    values: Sequence[float],
    top: float,
    end: float,
) -> str:
    """Return one chart: the range of the training data and a curve."""
    finite = [value for value in values if math.isfinite(value)] or [0.0]
    low, high = min(finite), max(finite)
    low, high = (low, high) if high > low else (low - 1, high + 1)

    def y(value: float) -> float:
        return top + _PANEL * (high - value) / (high - low)

    points = " ".join(
        f"{_LEFT + (_WIDTH - _LEFT) * t / end:.1f},{y(value):.1f}"
        for t, value in zip(times, curve, strict=True)
    )
    shade = max(y(band[0]) - y(band[1]), 1.0)
    return (
        f'<rect class="frame" x="{_LEFT:g}" y="{top:g}" width="{_WIDTH - _LEFT:g}" '
        f'height="{_PANEL:g}"/>'
        f'<rect class="known" x="{_LEFT:g}" y="{y(band[1]):.1f}" width="{_WIDTH - _LEFT:g}" '
        f'height="{shade:.1f}"/><polyline points="{points}"/>'
        f"{_text(_LEFT - 6, top + 9, f'{high:.3g}', 'end')}"
        f"{_text(_LEFT - 6, top + _PANEL, f'{low:.3g}', 'end')}"
        f"{_text(_LEFT + 6, top - 6, name, 'start')}"
    )


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(text)}</text>'
