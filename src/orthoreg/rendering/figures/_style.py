"""The style of all figures: colours, numbers, names as written, and image files."""

import io
import math
import warnings
from typing import Any

from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import MaxNLocator

# Okabe and Ito's palette, which colour-blind readers can distinguish, with greys. In print without
# colour, the kind of mark (dots, solid, dashed, shaded) makes the same distinctions.
MEASURED, FORECAST, FITTED, RESIDUAL, INPUT = (
    "#979797", "#0072B2", "#0072B2", "#D55E00", "#009E73",
)  # fmt: skip
INK, NOTE, GRID, FLOW, SHADE = "#1A1A1A", "#555555", "#E3E3E3", "#A9C3D6", "#EFEFEF"
# from pale to dark, also when printed in grey; the palest colour is visible on white
MAP = LinearSegmentedColormap.from_list(
    "orthoreg", ("#F6E7CF", "#F3C07B", "#E98B3A", "#C4520C", "#7F2A04", "#3D1402")
)

TITLE, LABEL, SMALL = 11.0, 9.5, 8.5  # sizes of text in points


def number(value: float) -> str:
    """Return a number with two significant digits.

    >>> number(0.2512), number(0.0000312), number(1.0), number(0.0), number(float("nan"))
    ('0.25', '3.1e-5', '1.0', '0', 'not known')
    """
    if math.isnan(value):
        return "not known"
    return f"{value:#.2g}".rstrip(".").replace("e-0", "e-") if value else "0"


def tick(value: float, _: Any = None) -> str:
    """Return a short tick label.

    >>> tick(0.25), tick(0.0004), tick(1.5e-7), tick(0.0)
    ('0.25', '4e-4', '1.5e-7', '0')
    """
    text = f"{value:.2g}" if value == 0 or abs(value) >= 1e-3 else f"{value:.1e}"
    return text.replace(".0e", "e").replace("e-0", "e-").replace("e+0", "e")


def tidy(axes: Axes, across: int = 6, up: int = 5) -> None:
    """Reduce lines and ticks, and prevent names from being typeset as mathematics."""
    axes.spines[["top", "right"]].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_linewidth(0.7)
        axes.spines[side].set_color(NOTE)
    axes.tick_params(labelsize=SMALL, width=0.7, color=NOTE)
    for axis, ticks in ((axes.xaxis, across), (axes.yaxis, up)):
        axis.label.set_fontsize(LABEL)
        as_written(axis.label)
        if axis.get_scale() == "linear":
            axis.set_major_locator(MaxNLocator(ticks, steps=[1, 2, 2.5, 5, 10]))


def panel_title(axes: Axes, text: str, **options: Any) -> None:
    """Write the small title of a panel."""
    options = {"fontsize": SMALL, "color": NOTE, "y": 1.0, "pad": 5} | options
    as_written(axes.set_title(text, **options))


def as_written(text: Text) -> Text:
    """Turn off mathematical typesetting, because a column may be called '$x_1$'. Return the
    text.
    """
    text.set_parse_math(False)
    text.set_usetex(False)
    return text


def rendered(figure: Figure, format: str = "png") -> bytes:
    """Return the figure as the bytes of an image file."""
    stream = io.BytesIO()
    options: dict[str, Any] = {"facecolor": "white"}
    if format == "png":  # the default level reduces the size by 10% but takes as long as drawing
        options["pil_kwargs"] = {"compress_level": 3}
    with warnings.catch_warnings():
        # characters that the font lacks are drawn as boxes
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from font")
        figure.savefig(stream, format=format, **options)
    return stream.getvalue()
