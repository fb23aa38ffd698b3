"""One style for all plots: colours, names as they were written, and the picture as a file."""

import io
import warnings
from typing import Any

from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import MaxNLocator

from ..views import HEAT, NOTE

# from pale to dark in print as well; its palest is still seen on white
MAP = LinearSegmentedColormap.from_list("orthoreg", HEAT)

TITLE, LABEL, SMALL = 11.0, 9.5, 8.5  # sizes of text in points


def tidy(axes: Axes, across: int = 6, up: int = 5) -> None:
    """Fewer lines, a few readable numbers, and names that are not set as mathematics."""
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


def as_written(text: Text) -> Text:
    """The text without mathematics: a column may be called '$x_1$'."""
    text.set_parse_math(False)
    text.set_usetex(False)
    return text


def rendered(figure: Figure, format: str = "png") -> bytes:
    """The picture as the content of a file."""
    stream = io.BytesIO()
    options: dict[str, Any] = {"facecolor": "white"}
    if format == "png":  # the usual level takes as long as drawing, for a tenth of the size
        options["pil_kwargs"] = {"compress_level": 3}
    with warnings.catch_warnings():
        # a name in letters that the font lacks is drawn as boxes; the picture is still good
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from font")
        figure.savefig(stream, format=format, **options)
    return stream.getvalue()
