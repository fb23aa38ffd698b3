"""One look for all plots: colours that colour-blind readers can tell apart, units on axes."""

import io
from collections.abc import Mapping
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

# Okabe and Ito's palette
DATA, MODEL, RESIDUAL = "#000000", "#0072B2", "#D55E00"
GREY = "#888888"


def new_figure(width: float, height: float) -> Figure:
    """A figure of its own: no global state of Matplotlib is touched."""
    figure = Figure(figsize=(width, height), layout="constrained", dpi=130)
    FigureCanvasAgg(figure)
    return figure


def tidy(axes: Any) -> None:
    """Fewer lines, readable numbers."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=9)
    axes.xaxis.label.set_size(10)
    axes.yaxis.label.set_size(10)


def labelled(name: str, units: Mapping[str, str]) -> str:
    """'theta [rad]', safe from Matplotlib's mathematics."""
    text = f"{name} [{units[name]}]" if units.get(name) else name
    return text.replace("$", r"\$")


def rendered(figure: Figure, format: str = "png") -> bytes:
    """The picture as the content of a file."""
    stream = io.BytesIO()
    figure.savefig(stream, format=format)
    return stream.getvalue()
