"""Data for figures, and checks of figures."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

import orthoreg as og

TIMES = np.linspace(0, 6, 121)


def oscillator(amplitudes=(1.0, 2.0), **options) -> og.Dataset:
    """x' = v, v' = -x."""
    runs = [np.column_stack([a * np.cos(TIMES), -a * np.sin(TIMES)]) for a in amplitudes]
    return og.Dataset.from_arrays(runs, TIMES, names=["x", "v"], **options)


def said(figure: Figure) -> str:
    """Return all texts around the panels."""
    return "\n".join(text.get_text() for text in figure.texts)


def lines_of(axes, label: str) -> list:
    return [line for line in axes.get_lines() if line.get_label() == label]


def layout_faults(figure: Figure) -> list[str]:
    """Return texts that leave the figure or overlap, and legends that cover a panel."""
    figure.draw_without_rendering()
    renderer = figure.canvas.get_renderer()
    faults, boxes, hidden = [], [], _beyond(figure)
    for text in figure.findobj(Text):
        if id(text) in hidden or not (text.get_visible() and text.get_text().strip()):
            continue
        box = text.get_window_extent(renderer)
        if box.x0 < 0 or box.y0 < 0 or box.x1 > figure.bbox.x1 or box.y1 > figure.bbox.y1:
            faults.append(f"outside the figure: {text.get_text()!r}")
        for other, place in boxes:
            if box.padded(-1).overlaps(place):
                faults.append(f"{text.get_text()!r} lies on {other!r}")
        boxes.append((text.get_text(), box))
    for legend in figure.legends:
        box = legend.get_window_extent(renderer)
        if box.x1 > figure.bbox.x1:
            faults.append("the legend leaves the figure")
        faults += ["the legend lies on a panel" for axes in figure.axes if box.overlaps(axes.bbox)]
    return faults


def _beyond(figure: Figure) -> set[int]:
    """Return tick labels beyond the range of their axis, which Matplotlib keeps but does
    not draw."""
    found = set()
    for axes in figure.findobj(Axes):
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            slack = 1e-9 * (high - low)
            for tick in (*axis.majorTicks, *axis.minorTicks):
                if not low - slack <= tick.get_loc() <= high + slack:
                    found |= {id(tick.label1), id(tick.label2)}
    return found
