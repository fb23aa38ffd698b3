"""Style of figures: one style per method, fonts, and an empty figure."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Literal, final

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

Line = Literal["-", "--", ":"]


@final
@dataclass(frozen=True)
class Style:
    """The style of a method in all figures."""

    colour: str
    marker: str
    line: Line = "-"


# palette of Okabe and Ito, plus a grey
STYLES = {
    "pure@0.001": Style("#E69F00", "v"),
    "pure@0.003": Style("#888888", "^"),
    "stlsq": Style("#56B4E9", "P", ":"),
    "l2": Style("#CC79A7", "s"),
    "orthoreg": Style("#D55E00", "o"),
    "validated": Style("#0072B2", "D"),
    "projection": Style("#009E73", "X", "--"),
    "pinn": Style("#000000", "<", "--"),
    "universal-ode": Style("#F0E442", ">", "--"),
    "recommended": Style("#5D3A9B", "*"),
}

_SETTINGS: Any = {
    "font.size": 8.5, "axes.titlesize": 9, "axes.labelsize": 8.5, "xtick.labelsize": 8,
    "ytick.labelsize": 8, "legend.fontsize": 8, "axes.spines.top": False,
    "axes.spines.right": False, "lines.linewidth": 1.2, "lines.markersize": 4.5,
    "axes.linewidth": 0.7, "errorbar.capsize": 1.5, "svg.hashsalt": "orthoreg",
    "svg.fonttype": "path", "path.simplify": True,
}  # fmt: skip


def look() -> AbstractContextManager[None]:
    return matplotlib.rc_context(_SETTINGS)


def new_figure(width: float, height: float) -> Figure:
    figure = Figure(figsize=(width, height), layout="constrained", dpi=200)
    FigureCanvasAgg(figure)
    return figure
